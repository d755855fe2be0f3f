// Dots with names: cost across, movement up.

const NAME_HEIGHT = 14;
const STEP = 6; // pixels between places that are tried
const LEAST_LEADER = 14; // pixels from a dot to its name without a line between them
const LETTER_WIDTH = 6.8; // pixels of one letter at 12 px, on average
const STRONG_WIDTH = 7.8; // and in bold

const nameWidth = ({ name, strong }) => name.length * (strong ? STRONG_WIDTH : LETTER_WIDTH) + 4;

const overlaps = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

// The box of a name whose left end and baseline are moved from its dot by an offset.
const boxOf = (dot, [dx, dy]) => ({
  x: dot.x + dx,
  y: dot.y + dy - 11,
  width: nameWidth(dot),
  height: NAME_HEIGHT,
});

// The line from a dot to the nearest point of its name, or null where the name is next to the dot.
function leaderOf(dot, offset) {
  const box = boxOf(dot, offset);
  const x2 = Math.min(Math.max(dot.x, box.x), box.x + box.width);
  const y2 = Math.min(Math.max(dot.y, box.y + 2), box.y + box.height - 2);
  const length = Math.hypot(x2 - dot.x, y2 - dot.y);
  return length < LEAST_LEADER ? null : { x1: dot.x, y1: dot.y, x2, y2, length };
}

function crosses(leader, box) {
  const count = Math.ceil(leader.length / 4);
  for (let i = 1; i < count; i++) {
    const x = leader.x1 + ((leader.x2 - leader.x1) * i) / count;
    const y = leader.y1 + ((leader.y2 - leader.y1) * i) / count;
    if (x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height) return true;
  }
  return false;
}

// Where a name may stand, best first: beside, above or below its dot, then anywhere in the plot, near
// places first. Places are offsets of the text's left end and baseline from the dot.
function namePlaces(dot, size) {
  const width = nameWidth(dot);
  const beside = [
    [10, 4],
    [-10 - width, 4],
    [-width / 2, -12],
    [-width / 2, 21],
  ];
  const others = [];
  for (let x = MARGIN.left; x + width <= size.width - 2; x += STEP) {
    for (let y = 12; y + 4 <= size.height - MARGIN.bottom; y += STEP) {
      others.push([x - dot.x, y - dot.y]);
    }
  }
  const far = new Map(others.map((place) => [place, leaderOf(dot, place)?.length ?? 0]));
  const inside = beside.filter((place) => {
    const box = boxOf(dot, place);
    return (
      box.x >= MARGIN.left - 4 &&
      box.x + width <= size.width - 2 &&
      box.y >= 0 &&
      box.y + NAME_HEIGHT <= size.height - MARGIN.bottom
    );
  });
  return [...inside, ...others.sort((a, b) => far.get(a) - far.get(b))];
}

// Chooses for each dot the first place whose name covers fewest dots, bars, names and lines to names,
// and whose own line passes through no other name. Strong dots choose first. Returns offsets in the
// order of the dots.
function placeNames(dots, size) {
  const taken = dots.map(({ x, y }) => ({ x: x - 7, y: y - 7, width: 14, height: 14 }));
  for (const { x, top, bottom } of dots) {
    if (top !== undefined) taken.push({ x: x - 2, y: top, width: 4, height: bottom - top });
  }
  const names = [];
  const leaders = [];
  const chosen = new Array(dots.length);
  const order = [...dots.keys()].sort(
    (a, b) => (dots[b].strong ? 1 : 0) - (dots[a].strong ? 1 : 0),
  );
  for (const i of order) {
    const dot = dots[i];
    const obstacles = [...taken, ...names];
    let fewest = Infinity;
    for (const place of namePlaces(dot, size)) {
      const box = boxOf(dot, place);
      const leader = leaderOf(dot, place);
      const conflicts =
        obstacles.filter((other) => overlaps(box, other)).length +
        leaders.filter((other) => crosses(other, box)).length +
        (leader ? names.filter((other) => crosses(leader, other)).length : 0);
      if (conflicts < fewest) {
        fewest = conflicts;
        chosen[i] = place;
      }
      if (fewest === 0) break;
    }
    names.push(boxOf(dot, chosen[i]));
    const leader = leaderOf(dot, chosen[i]);
    if (leader) leaders.push(leader);
  }
  return chosen;
}

// A thin line from a dot to its name, where the name had to move away from it.
function drawLeader(dot, offset) {
  const leader = leaderOf(dot, offset);
  if (leader === null) return null;
  const { x1, y1, x2, y2 } = leader;
  return svg("line", { class: "leader", x1, y1, x2, y2, "aria-hidden": "true" });
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
