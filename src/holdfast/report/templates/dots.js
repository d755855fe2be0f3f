// Dots with names: cost across, movement up.

const SAME = 4; // pixels; dots that are closer have one label

// Such as "1–3, 5".
function listRanges(numbers) {
  const ranges = [];
  for (const number of numbers) {
    if (ranges.at(-1)?.[1] === number - 1) ranges.at(-1)[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

// One point for all dots at the same place, named by their numbers, with a bar as long as the longest.
function numberDots(dots) {
  const groups = [];
  dots.forEach((dot, i) => {
    const group = groups.find(([{ x, y }]) => Math.hypot(x - dot.x, y - dot.y) < SAME);
    const entry = { ...dot, number: i + 1 };
    if (group) group.push(entry);
    else groups.push([entry]);
  });
  return groups.map((group) => {
    const bars = group.filter(({ top }) => top !== undefined);
    const ends = bars.length && {
      top: Math.min(...bars.map(({ top }) => top)),
      bottom: Math.max(...bars.map(({ bottom }) => bottom)),
    };
    return { ...group[0], ...ends, name: listRanges(group.map(({ number }) => number)) };
  });
}

// Where the names have no room, numbers stand at the dots, and the names in a list below the chart.
function nameDots(dots, plot) {
  const places = placeNames(dots, plot);
  if (!places.includes(null)) return { named: dots, places, list: null };
  const named = numberDots(dots);
  const items = dots.map((dot, i) =>
    html("li", {}, clusterSwatch(dot.mark, dot.shape), `${i + 1} ${dot.name}`),
  );
  const list = html("ul", { class: "legend" }, items);
  return { named, places: placeNames(named, plot, { loose: true, reach: Infinity }), list };
}

function drawDots(spec, width) {
  const height = 360;
  const xs = spec.dots.map((dot) => dot.x);
  const spread = Math.max(...xs) - Math.min(...xs) || Math.max(...xs) * 0.1 || 1;
  const low = Math.min(...xs) - 0.12 * spread;
  const high = Math.max(...xs) + 0.12 * spread;
  const top = Math.max(...spec.dots.map((dot) => dot.high ?? dot.y)) || 0.01;
  const yTicks = roundTicks(0, top, 5).map((value) => ({ value, text: spec.y.tick(value) }));
  const plot = plotArea(width, height, yTicks.map(({ text }) => text));
  const position = {
    x: linearScale(low, high, plot.left, plot.right),
    y: linearScale(-0.1 * top, top * 1.05, plot.bottom, plot.top),
  };
  const placed = spec.dots.map((dot) => ({
    ...dot,
    x: position.x(dot.x),
    y: position.y(dot.y),
    top: dot.low === null ? undefined : position.y(dot.high),
    bottom: dot.low === null ? undefined : position.y(dot.low),
  }));
  const room = { ...plot, top: 0, right: width }; // nothing is drawn above the plot and right of it
  const { named, places, list } = nameDots(placed, room);
  const xTicks = { values: roundTicks(low, high, 6), format: spec.x.format };
  const root = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spec.title },
    drawFrame({ width, height, plot }, xTicks, yTicks, position, spec.x.label),
    placed.map(drawDot),
    places.map(drawLeader),
    named.map((dot, i) => drawName(dot, places[i])),
  );
  return html("div", {}, root, list);
}

function drawDot(dot) {
  const { x, y, top, bottom } = dot;
  return svg(
    "g",
    { class: colorClass(dot.mark) },
    top === undefined ? null : svg("line", { class: "whisker", x1: x, x2: x, y1: bottom, y2: top }),
    svg("path", {
      class: "dot",
      transform: `translate(${x} ${y})`,
      d: shapePath(dot.shape || 0, dot.strong ? 7 : 5.5),
      ...withTip(() => [html("b", {}, dot.name), pairTable(dot.lines)]),
    }),
  );
}
