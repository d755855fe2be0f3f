// Dots with names: cost across, movement up.

const NAME_HEIGHT = 14;
const MAX_STACKED = 10; // names above or below each other
const LETTER_WIDTH = 6.8; // pixels of one letter at 12 px, on average
const STRONG_WIDTH = 7.8; // and in bold

const nameWidth = ({ name, strong }) => name.length * (strong ? STRONG_WIDTH : LETTER_WIDTH) + 4;

const overlaps = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

// Where a name may stand around its dot, best first: offsets of the text's left end and baseline.
// Dots at the same place get their names above each other.
function namePlaces(width) {
  const places = [
    [10, 4],
    [-10 - width, 4],
    [-width / 2, -12],
    [-width / 2, 21],
  ];
  for (let line = 1; line <= MAX_STACKED; line++) {
    for (const left of [10, -10 - width, 34, -34 - width]) {
      places.push([left, 4 - NAME_HEIGHT * line], [left, 4 + NAME_HEIGHT * line]);
    }
  }
  return places;
}

// Chooses for each dot the first place whose name covers fewest dots, names placed before it, and bars;
// a bar is the least that can be covered. Strong dots choose first. Returns offsets in the order of the
// dots.
function placeNames(dots, size) {
  const taken = dots.map(({ x, y }) => ({ x: x - 7, y: y - 7, width: 14, height: 14, price: 3 }));
  for (const { x, top, bottom } of dots) {
    if (top !== undefined)
      taken.push({ x: x - 1, y: top, width: 2, height: bottom - top, price: 1 });
  }
  const chosen = new Array(dots.length);
  const order = [...dots.keys()].sort(
    (a, b) => (dots[b].strong ? 1 : 0) - (dots[a].strong ? 1 : 0),
  );
  for (const i of order) {
    const { x, y } = dots[i];
    const width = nameWidth(dots[i]);
    const boxAt = ([dx, dy]) => ({ x: x + dx, y: y + dy - 11, width, height: NAME_HEIGHT });
    const conflicts = (place) => {
      const box = boxAt(place);
      const outside =
        box.x < MARGIN.left - 4 ||
        box.x + width > size.width - 2 ||
        box.y < 0 ||
        box.y + NAME_HEIGHT > size.height - MARGIN.bottom;
      const covered = taken.filter((other) => overlaps(box, other));
      return covered.reduce((sum, other) => sum + other.price, outside ? 9 : 0);
    };
    const places = namePlaces(width);
    chosen[i] = places.reduce((best, place) => (conflicts(place) < conflicts(best) ? place : best));
    taken.push({ ...boxAt(chosen[i]), price: 3 });
  }
  return chosen;
}

// A thin line from a dot to its name, where the name had to move away from it.
function drawLeader(dot, [dx, dy]) {
  const { x, y } = dot;
  const width = nameWidth(dot);
  if (Math.abs(dy - 4) < NAME_HEIGHT || (dx === -width / 2 && Math.abs(dy) < 22)) return null;
  const end = { x2: x + (dx > 0 ? dx - 2 : dx + width), y2: y + dy - 4 };
  return svg("line", { class: "leader", x1: x, y1: y, ...end, "aria-hidden": "true" });
}

function drawDots(spec, width) {
  const size = { width, height: spec.height || 360 };
  const xs = spec.dots.map((dot) => dot.x);
  const spread = Math.max(...xs) - Math.min(...xs) || Math.max(...xs) * 0.1 || 1;
  const low = Math.min(...xs) - 0.12 * spread;
  const high = Math.max(...xs) + 0.12 * spread;
  const top = Math.max(...spec.dots.map((dot) => dot.high ?? dot.y)) || 0.01;
  const position = {
    x: linearScale(low, high, MARGIN.left, width - MARGIN.right),
    y: linearScale(-0.1 * top, top * 1.05, size.height - MARGIN.bottom, MARGIN.top),
  };
  const ticks = {
    x: thinTicks(roundTicks(low, high, 6), position.x, 48),
    y: roundTicks(0, top, 5),
  };
  const placed = spec.dots.map((dot) => ({
    ...dot,
    x: position.x(dot.x),
    y: position.y(dot.y),
    top: dot.low === null ? undefined : position.y(dot.high),
    bottom: dot.low === null ? undefined : position.y(dot.low),
  }));
  const offsets = placeNames(placed, size);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${size.height}`, role: "img", "aria-label": spec.title },
    drawFrame(size, ticks, position, spec),
    placed.map((dot, i) => drawLeader(dot, offsets[i])),
    placed.map((dot, i) => drawDot(dot, offsets[i])),
  );
}

function drawDot(dot, [dx, dy]) {
  const showTooltip = (event) =>
    tooltip.show([html("b", {}, dot.name), pairTable(dot.lines)], event.clientX, event.clientY);
  const whisker =
    dot.top === undefined
      ? null
      : svg("line", { class: "whisker", x1: dot.x, x2: dot.x, y1: dot.bottom, y2: dot.top });
  return [
    svg(
      "g",
      { class: colorClass(dot.mark) },
      whisker,
      svg("path", {
        class: "dot",
        transform: `translate(${dot.x} ${dot.y})`,
        d: shapePath(dot.shape || 0, dot.strong ? 7 : 5.5),
        onpointermove: showTooltip,
        onpointerleave: tooltip.hide,
      }),
    ),
    svg(
      "text",
      { class: dot.strong ? "halo strong" : "halo", x: dot.x + dx, y: dot.y + dy },
      dot.name,
    ),
  ];
}
