// Lists what covers a text in the charts of a page, from the boxes that the browser has drawn.
// Rules of the background may pass behind a text. In the scatter plot, a number has a ground of its own.

const LETTERS = 1.5; // pixels of a text's box above and below its letters
const TOLERANCE = 1; // pixels

function boxOf(element, shrink = 0) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return { left, right, top: top + shrink, bottom: bottom - shrink };
}

const apart = (a, b, slack = 0) =>
  a.left >= b.right - slack || b.left >= a.right - slack || a.top >= b.bottom - slack || b.top >= a.bottom - slack;

const contains = (outer, inner) =>
  inner.left >= outer.left - TOLERANCE && inner.right <= outer.right + TOLERANCE &&
  inner.top >= outer.top - TOLERANCE && inner.bottom <= outer.bottom + TOLERANCE;

const holds = (box, { x, y }, slack = 0) =>
  x > box.left - slack && x < box.right + slack && y > box.top - slack && y < box.bottom + slack;

// Points along a line or the outline of a path, on the screen.
const known = new Map();
function pointsAlong(element) {
  if (!known.has(element)) known.set(element, samplePoints(element));
  return known.get(element);
}

function samplePoints(element) {
  const matrix = element.getScreenCTM();
  const length = element.getTotalLength();
  const count = Math.max(2, Math.ceil(length / 2));
  return Array.from({ length: count + 1 }, (_, i) =>
    element.getPointAtLength((length * i) / count).matrixTransform(matrix),
  );
}

const isLine = (element) => element.matches("line, path.line");
const isArea = (element) => element.matches(".band, .flow");

function covers(element, outline, box) {
  if (apart(outline, box, -TOLERANCE)) return false;
  if (isLine(element)) return pointsAlong(element).some((point) => holds(box, point));
  if (!isArea(element)) return !apart(outline, box, TOLERANCE);
  const inverse = element.getScreenCTM().inverse();
  for (let x = box.left + 1; x < box.right; x += 4) {
    for (let y = box.top + 1; y < box.bottom; y += 4) {
      if (element.isPointInFill(new DOMPoint(x, y).matrixTransform(inverse))) return true;
    }
  }
  return false;
}

const isShown = (element) =>
  element.getClientRects().length > 0 && getComputedStyle(element).visibility === "visible";
const all = (root, selector) => [...root.querySelectorAll(selector)].filter(isShown);

const MARKS =
  ".dot, .whisker, .center, .leader, .cursor, .line, .band, .flow, .level, .base, .segment-bar .fill";
const name = (element) =>
  element.matches("text") ? `"${element.textContent}"` : element.getAttribute("class") || element.tagName;

function collisionsOf(chart) {
  const found = [];
  const frame = boxOf(chart);
  const texts = all(chart, "text").filter((text) => text.textContent.trim());
  const boxes = new Map(texts.map((text) => [text, boxOf(text, LETTERS)]));
  const badges = all(chart, ".badge");
  const blocks = all(chart, ".block rect.fill").map((block) => boxOf(block));
  const points = all(chart, ".point").map((point) => boxOf(point));
  const marks = all(chart, MARKS).map((mark) => [mark, boxOf(mark)]);
  texts.forEach((text, i) => {
    const box = boxes.get(text);
    if (!contains(frame, boxOf(text))) found.push(`${name(text)} outside`);
    for (const other of texts.slice(0, i)) {
      if (!apart(box, boxes.get(other))) found.push(`${name(text)} on ${name(other)}`);
    }
    for (const [mark, outline] of marks) {
      if (covers(mark, outline, box)) found.push(`${name(text)} on ${name(mark)}`);
    }
    if (text.closest(".number")) {
      if (!blocks.some((block) => contains(block, box))) found.push(`${name(text)} beyond its block`);
    } else if (!badges.some((badge) => contains(boxOf(badge), box))) {
      if (points.some((point) => !apart(point, box, TOLERANCE))) found.push(`${name(text)} on a point`);
    }
  });
  badges.forEach((badge, i) => {
    const box = boxOf(badge);
    if (!contains(frame, box)) found.push(`badge ${i} outside`);
    for (const other of [...badges.slice(0, i), ...all(chart, ".center")]) {
      if (!apart(box, boxOf(other), TOLERANCE)) found.push(`badge ${i} on ${name(other)}`);
    }
  });
  return [...found, ...badLeaders(chart, texts, badges, boxes)];
}

// A line to a name starts at a mark, ends at the name, and passes through no other name, badge or line.
function badLeaders(chart, texts, badges, boxes) {
  const found = [];
  const starts = all(chart, ".dot, .center, .segment-bar .fill").map((mark) => boxOf(mark));
  const targets = badges.length ? badges.map((badge) => boxOf(badge)) : [...boxes.values()];
  const bars = all(chart, ".whisker").map((bar) => boxOf(bar));
  const leaders = all(chart, ".leader").map(pointsAlong);
  leaders.forEach((points, i) => {
    if (!starts.some((box) => holds(box, points[0], 4))) found.push(`leader ${i} starts nowhere`);
    const ends = targets.filter((box) => holds(box, points.at(-1), 4));
    if (!ends.length) found.push(`leader ${i} ends nowhere`);
    const isAlong = (bar) => points.slice(5).filter((point) => holds(bar, point, 1)).length > 8;
    if (bars.some(isAlong)) found.push(`leader ${i} along a bar`);
    for (const box of targets) {
      if (points.slice(0, -3).some((point) => holds(box, point, -1)) && !ends.includes(box)) {
        found.push(`leader ${i} through a name`);
      }
    }
    for (const other of leaders.slice(0, i)) {
      const meets = points.slice(1, -1).some(({ x, y }) =>
        other.slice(1, -1).some((point) => Math.hypot(point.x - x, point.y - y) < 0.7));
      const sameStart = Math.hypot(points[0].x - other[0].x, points[0].y - other[0].y) < 14;
      if (meets && !sameStart) found.push(`leader ${i} over another`);
    }
  });
  return found;
}

const charts = all(document, ".chart svg:not(.swatch)");
return {
  charts: charts.length,
  texts: charts.reduce((sum, chart) => sum + all(chart, "text").length, 0),
  found: charts.flatMap((chart) => collisionsOf(chart).map((text) =>
    `${chart.getAttribute("aria-label").slice(0, 40)}: ${text}`)),
};
