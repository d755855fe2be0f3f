// Names of points, placed together so that they cover nothing.
//
// Every name has a list of places: next to its point, then anywhere in the plot with a line between
// the two. A place is a `box`, a `leader` (that line, or null) and a `cost`. The search chooses a place
// for each name such that no box and no line covers another, at the least cost that it finds. It has no
// random numbers: the same points always have the same names at the same places.

const POINT_RADIUS = 7; // pixels, of the largest mark of a point
const GAP = 3; // pixels between a mark and its name
const AMBIGUOUS = 14; // pixels from a name without a line to a point that it might seem to belong to
const GRID = { x: 10, y: 8 }; // pixels between places that are tried
const REACH = 70; // pixels, of a line to a name; a longer one is hard to follow
const LEADER_COST = 12; // of a line of any length; each pixel of it costs a quarter
const CROSSED_COST = 30; // of a mark or bar that a line passes through, where that is allowed
const CONFLICT = 1e6;
const STEPS = 200;

// Width, ascent and descent of text in the charts' font.
const measureText = (() => {
  const known = new Map();
  let context = null;
  return (text, strong = false) => {
    const key = `${strong}${text}`;
    if (!known.has(key)) {
      context ??= document.createElement("canvas").getContext("2d");
      context.font = `${strong ? 680 : 400} 12px ${getComputedStyle(document.body).fontFamily}`;
      const { width, fontBoundingBoxAscent, fontBoundingBoxDescent } = context.measureText(text);
      known.set(key, { width, ascent: fontBoundingBoxAscent, descent: fontBoundingBoxDescent });
    }
    return known.get(key);
  };
})();

// The text, or as much of its beginning as fits.
function shortenText(text, width) {
  if (measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
  return `${text.slice(0, length).trimEnd()}…`;
}

const overlaps = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const isInside = (box, { left, right, top, bottom }) =>
  box.x >= left && box.x + box.width <= right && box.y >= top && box.y + box.height <= bottom;

// Whether a line passes through a box: what is left of it after all four sides have cut it.
function crosses({ x1, y1, x2, y2 }, box) {
  let [from, to] = [0, 1];
  for (const [start, step, low, high] of [
    [x1, x2 - x1, box.x, box.x + box.width],
    [y1, y2 - y1, box.y, box.y + box.height],
  ]) {
    if (step === 0) {
      if (start <= low || start >= high) return false;
      continue;
    }
    const ends = [(low - start) / step, (high - start) / step];
    from = Math.max(from, Math.min(...ends));
    to = Math.min(to, Math.max(...ends));
  }
  return from < to;
}

// Whether two lines meet or nearly do. Lines of points that cover each other may start together.
function meet(a, b) {
  const side = ({ x1, y1, x2, y2 }, x, y) => (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1);
  if (
    side(a, b.x1, b.y1) * side(a, b.x2, b.y2) < 0 &&
    side(b, a.x1, a.y1) * side(b, a.x2, a.y2) < 0
  ) {
    return true;
  }
  const isClose = (x, y, line) => {
    const [dx, dy] = [line.x2 - line.x1, line.y2 - line.y1];
    const along = ((x - line.x1) * dx + (y - line.y1) * dy) / (dx * dx + dy * dy || 1);
    const part = Math.min(1, Math.max(0, along));
    return Math.hypot(line.x1 + part * dx - x, line.y1 + part * dy - y) < GAP;
  };
  if (isClose(a.x2, a.y2, b) || isClose(b.x2, b.y2, a)) return true;
  if (Math.hypot(a.x1 - b.x1, a.y1 - b.y1) < 2 * POINT_RADIUS) return false;
  return isClose(a.x1, a.y1, b) || isClose(b.x1, b.y1, a);
}

// The line from a point to the nearest place of a box. It starts `radius` away from the point.
function leaderTo({ x, y }, box, radius) {
  const x2 = Math.min(Math.max(x, box.x), box.x + box.width);
  const y2 = Math.min(Math.max(y, box.y), box.y + box.height);
  const length = Math.hypot(x2 - x, y2 - y);
  const part = Math.min(1, radius / length);
  return { x1: x + part * (x2 - x), y1: y + part * (y2 - y), x2, y2, length };
}

// Corners of the boxes that touch a point or the ends of its bar, the best first.
function nearCorners({ x, y, top, bottom }, { width, height }) {
  const away = POINT_RADIUS + GAP;
  const near = away * 0.75;
  const [left, middle, right] = [x - away - width, x - width / 2, x + away];
  const corners = [
    [right, y - height / 2],
    [left, y - height / 2],
    [middle, y - away - height],
    [middle, y + away],
    [x + near, y - near - height],
    [x + near, y + near],
    [x - near - width, y - near - height],
    [x - near - width, y + near],
  ];
  if (top === undefined) return corners;
  for (const across of [middle, x - away, x + away - width]) {
    corners.push([across, Math.min(top, y - away) - height - 1]);
    corners.push([across, Math.max(bottom, y + away) + 1]);
  }
  return corners;
}

// Corners of boxes all over the plot, as far as a line reaches.
function farCorners({ x, y }, { width, height }, plot, reach) {
  const corners = [];
  for (let across = plot.left; across + width <= plot.right; across += GRID.x) {
    if (across > x + reach || across + width < x - reach) continue;
    for (let down = plot.top; down + height <= plot.bottom; down += GRID.y) {
      if (down <= y + reach && down + height >= y - reach) corners.push([across, down]);
    }
  }
  return corners;
}

const markBox = ({ x, y }) => ({
  x: x - POINT_RADIUS,
  y: y - POINT_RADIUS,
  width: 2 * POINT_RADIUS,
  height: 2 * POINT_RADIUS,
});

const barBox = ({ x, top, bottom }) => ({ x: x - 2, y: top, width: 4, height: bottom - top });

// The parts of a point's own bar that stick out of its mark: a line along them would look like more bar.
function barEnds({ x, y, top, bottom }) {
  if (top === undefined) return [];
  const ends = [
    { x, top, bottom: y - POINT_RADIUS - GAP },
    { x, top: y + POINT_RADIUS + GAP, bottom },
  ];
  return ends.filter((end) => end.bottom > end.top).map(barBox);
}

const distanceTo = (box, { x, y }) =>
  Math.hypot(
    Math.max(box.x - x, 0, x - box.x - box.width),
    Math.max(box.y - y, 0, y - box.y - box.height),
  );

// The places of a name, the cheapest first. Its box covers no mark and no bar, and is clear of other
// points. Unless `loose`, its line passes through no mark and no bar but its own, and is short.
// `costOf` adds to the cost of a box, such as for what it hides.
function listPlaces(point, points, plot, { loose = false, reach = REACH, costOf = () => 0 }) {
  const size = measureText(point.name, point.strong);
  const outer = { width: size.width + 2 * GAP, height: size.ascent + size.descent };
  const own = markBox(point);
  const others = points.filter((other) => other !== point);
  const marks = others.map(markBox);
  const bars = points.filter(({ top }) => top !== undefined).map(barBox);
  const covered = [own, ...marks, ...bars];
  // Lines cannot avoid what covers the point itself. They start at its middle to tell which it is.
  const avoided = covered.filter((other) => !overlaps(other, own)).concat(barEnds(point));
  const radius = marks.some((mark) => overlaps(mark, own)) ? 0 : POINT_RADIUS;
  const near = nearCorners(point, outer);
  const places = [];
  [...near, ...farCorners(point, outer, plot, reach)].forEach(([x, y], i) => {
    const box = { x, y, ...outer };
    if (!isInside(box, plot) || covered.some((other) => overlaps(box, other))) return;
    if (i < near.length) {
      if (others.some((other) => distanceTo(box, other) < AMBIGUOUS)) return;
      places.push({ box, leader: null, cost: Math.min(i, LEADER_COST - 1) + costOf(box) });
      return;
    }
    const leader = leaderTo(point, box, radius);
    if (leader.length < AMBIGUOUS || leader.length > reach) return;
    const crossed = avoided.filter((other) => crosses(leader, other)).length;
    if (crossed && !loose) return;
    const cost = LEADER_COST + leader.length / 4 + CROSSED_COST * crossed;
    places.push({ box, leader, cost: cost + costOf(box) });
  });
  return places.sort((a, b) => a.cost - b.cost);
}

const conflict = (a, b) =>
  overlaps(a.box, b.box) ||
  (a.leader !== null && crosses(a.leader, b.box)) ||
  (b.leader !== null && crosses(b.leader, a.box)) ||
  (a.leader !== null && b.leader !== null && !a.mayMeet && meet(a.leader, b.leader));

// The cheapest place beside those that the others have. `weights` are the costs of conflicts with each.
function choosePlace(places, chosen, i, weights) {
  let best = null;
  let least = Infinity;
  for (const place of places) {
    if (place.cost >= least) break; // places are sorted: all that follow cost more
    let cost = place.cost;
    for (let j = 0; j < chosen.length && cost < least; j++) {
      if (j !== i && chosen[j] && conflict(place, chosen[j])) cost += CONFLICT * weights[j];
    }
    if (cost < least) [best, least] = [place, cost];
  }
  return best;
}

const conflictsOf = (chosen, i) =>
  [...chosen.keys()].filter((j) => j !== i && chosen[i] && chosen[j] && conflict(chosen[i], chosen[j]));

// Lets each name choose again until none gains.
function settle(lists, chosen) {
  const equal = new Array(lists.length).fill(1);
  for (let pass = 0, changed = true; changed && pass < 8; pass++) {
    changed = false;
    chosen.forEach((place, i) => {
      if (!place) return;
      chosen[i] = choosePlace(lists[i], chosen, i, equal);
      changed ||= chosen[i] !== place;
    });
  }
}

// Chooses one of the places of each name. While names are in conflict, one of them moves, and conflicts
// that last weigh more and more. Names that find no room in the end get null.
function chooseJointly(lists) {
  const order = [...lists.keys()].sort((a, b) => lists[a].length - lists[b].length || a - b);
  const weights = lists.map(() => new Array(lists.length).fill(1));
  const chosen = new Array(lists.length).fill(null);
  for (const i of order) chosen[i] = choosePlace(lists[i], chosen, i, weights[i]);
  settle(lists, chosen);
  for (let step = 0; step < STEPS; step++) {
    const stuck = order.filter((i) => conflictsOf(chosen, i).length);
    if (!stuck.length) break;
    const i = stuck[step % stuck.length];
    for (const j of conflictsOf(chosen, i)) {
      weights[i][j] += 1;
      weights[j][i] += 1;
    }
    chosen[i] = choosePlace(lists[i], chosen, i, weights[i]);
  }
  for (;;) {
    const counts = chosen.map((_, i) => conflictsOf(chosen, i).length);
    const worst = counts.lastIndexOf(Math.max(...counts));
    if (!counts.length || !counts[worst]) break;
    chosen[worst] = null;
  }
  settle(lists, chosen);
  return chosen;
}

// Places for the names of points inside a plot, each null if there is no room for it.
// A point has `x`, `y`, `name`, and maybe `strong` and a bar from `top` to `bottom`.
function placeNames(points, plot, options = {}) {
  return chooseJointly(points.map((point) => listPlaces(point, points, plot, options)));
}

function drawLeader(place) {
  if (!place?.leader) return null;
  const { x1, y1, x2, y2 } = place.leader;
  return svg("line", { class: "leader", x1, y1, x2, y2, "aria-hidden": "true" });
}

function drawName({ name, strong }, place) {
  if (!place) return null;
  const { x, y } = place.box;
  const at = { x: x + GAP, y: y + measureText(name, strong).ascent };
  return svg("text", { class: strong ? "halo strong" : "halo", ...at }, name);
}
