// Lines with bands. Every chart can be walked through with the arrow keys and read as a table.
//
// A chart is described by `title`, `x` and `y` (`label`, `format`, and for x `name`, `log`;
// for y `tick`, `fromZero`), `series` (`name`, `mark`, `shape`, `dash`, `strong`, `points` of
// x, y, low, high) and `marks` (vertical lines: `x`, `label`).

const LINE_HEIGHT = 15;

const hasBand = (point) => point.low !== undefined && point.low !== null;
const knownPoints = (series) => series.points.filter((point) => point.y !== null);

function formatWithInterval(point, format, separator = " to ") {
  const value = format(point.y);
  if (!hasBand(point)) return value;
  return `${value} (${format(point.low)}${separator}${format(point.high)})`;
}

// All x of all series, ascending, each once.
function allPositions(series) {
  const xs = new Set(series.flatMap((one) => one.points.map((point) => point.x)));
  return [...xs].sort((a, b) => a - b);
}

function drawLines(spec, width) {
  const height = 300;
  const points = spec.series.flatMap(knownPoints);
  const xs = allPositions(spec.series);
  const { format, tick = format, fromZero = true } = spec.y;
  const top = Math.max(...points.map((point) => point.high ?? point.y), 0);
  const bottom = fromZero ? 0 : Math.min(...points.map((point) => point.low ?? point.y));
  const yTicks = roundTicks(bottom, top, 5).map((value) => ({ value, text: tick(value) }));
  const marks = mergeMarks(spec.marks || []);
  const header = LINE_HEIGHT * Math.max(0, marks.length);
  const plot = plotArea(width, height, yTicks.map(({ text }) => text), header);
  const xScale = spec.x.log ? logScale : linearScale;
  const position = {
    x: xScale(xs[0], xs.at(-1), plot.left + 8, plot.right - 8),
    y: linearScale(bottom, top + (top - bottom || 1) * 0.04, plot.bottom, plot.top),
  };
  const xTicks = { values: xs, format: spec.x.format };
  const root = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      tabindex: 0,
      "aria-label": `${spec.title}. Arrow keys move along the horizontal axis.`,
    },
    drawFrame({ width, height, plot }, xTicks, yTicks, position, spec.x.label),
    spec.series.map((series) => drawSeries(series, position)),
    drawMarks(marks, position, plot, width),
  );
  addCursor(root, xs, position.x, { width, plot }, (x) => describeAt(spec, x));
  return root;
}

function drawSeries(series, position) {
  const place = (x, y) => `${position.x(x)} ${position.y(y)}`;
  const points = knownPoints(series);
  const banded = points.filter(hasBand);
  const group = svg("g", { class: colorClass(series.mark) });
  if (banded.length > 1) {
    const there = banded.map((point) => place(point.x, point.high));
    const back = banded.map((point) => place(point.x, point.low)).reverse();
    group.append(
      svg("path", {
        class: series.strong ? "band strong" : "band",
        d: `M${[...there, ...back].join("L")}z`,
      }),
    );
  }
  group.append(
    svg("path", {
      class: series.strong ? "line strong" : "line",
      "stroke-dasharray": series.dash,
      d: `M${points.map((point) => place(point.x, point.y)).join("L")}`,
    }),
  );
  for (const point of points) {
    group.append(
      svg("path", {
        class: "dot",
        transform: `translate(${place(point.x, point.y)})`,
        d: shapePath(series.shape || 0, series.strong ? 4.6 : 3.8),
      }),
    );
  }
  return group;
}

// Marks at the same x become one.
function mergeMarks(marks) {
  const byX = new Map();
  for (const { x, label } of marks) {
    if (x === null || x === undefined) continue;
    byX.set(x, byX.has(x) ? `${byX.get(x)}, ${label}` : label);
  }
  return [...byX].map(([x, label]) => ({ x, label }));
}

// Vertical lines with labels above the plot: beside the line, in a row where no other line passes.
function drawMarks(marks, position, plot, width) {
  const lists = marks.map((mark) => {
    const x = position.x(mark.x);
    const size = measureText(mark.label);
    const places = [];
    for (let row = 0; row < marks.length; row++) {
      const y = plot.top - LINE_HEIGHT * (row + 1);
      const leader = { x1: x, x2: x, y1: y + 2, y2: plot.bottom };
      for (const left of [x + 4, x - 4 - size.width]) {
        const box = { x: left, y, width: size.width, height: LINE_HEIGHT };
        const isOutside = left < 0 || left + size.width > width;
        const cost = places.length + (isOutside ? CONFLICT : 0);
        places.push({ box, leader, mayMeet: true, cost });
      }
    }
    return places.sort((a, b) => a.cost - b.cost);
  });
  return chooseJointly(lists).map(({ box, leader: { x1, x2, y1, y2 } }, i) => [
    svg("line", { class: "cursor", x1, x2, y1, y2 }),
    svg("text", { x: box.x, y: box.y + 11 }, marks[i].label),
  ]);
}

function describeAt(spec, x) {
  const pairs = [];
  for (const series of spec.series) {
    const point = knownPoints(series).find((one) => one.x === x);
    if (point) pairs.push([series.name, formatWithInterval(point, spec.y.format)]);
  }
  return [html("b", {}, `${spec.x.name || spec.x.label}: ${spec.x.format(x)}`), pairTable(pairs)];
}

function nearestIndex(values, position, target) {
  const distance = (i) => Math.abs(position(values[i]) - target);
  return values.reduce((best, _, i) => (distance(i) < distance(best) ? i : best), 0);
}

// A line along the horizontal axis that follows the pointer or the arrow keys.
function addCursor(root, xs, position, size, describe) {
  const line = svg("line", {
    class: "cursor",
    y1: size.plot.top,
    y2: size.plot.bottom,
    visibility: "hidden",
  });
  root.append(line);
  let current = -1;

  function show(index, clientX, clientY) {
    current = Math.max(0, Math.min(xs.length - 1, index));
    const x = position(xs[current]);
    const box = root.getBoundingClientRect();
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    line.setAttribute("visibility", "visible");
    tooltip.show(
      describe(xs[current]),
      clientX ?? box.left + (x / size.width) * box.width,
      clientY ?? box.top + box.height / 3,
    );
  }
  function hide() {
    line.setAttribute("visibility", "hidden");
    tooltip.hide();
  }

  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * size.width;
    show(nearestIndex(xs, position, x), event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("blur", hide);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  stepWithKeys(root, (by) => show(current < 0 ? 0 : current + by));
}

function lineTable(spec) {
  const head = [spec.x.name || spec.x.label];
  for (const series of spec.series) head.push({ text: series.name, class: "num" });
  const body = allPositions(spec.series).map((x) => {
    const cells = spec.series.map((series) => {
      const point = knownPoints(series).find((one) => one.x === x);
      return { text: point ? formatWithInterval(point, spec.y.format, "–") : "", class: "num" };
    });
    return { cells: [spec.x.format(x), ...cells] };
  });
  return buildTable(head, body, spec.title);
}

// A figure with a title, the chart, and the same numbers as a table. `update` draws it again.
function buildChart(spec, draw, buildDataTable, className) {
  const holder = html("div", { class: "chart" });
  const figure = html(
    "figure",
    { class: className },
    html("figcaption", {}, html("h3", {}, spec.title)),
    spec.y.label ? html("p", { class: "muted small" }, spec.y.label) : null,
    holder,
    html("details", {}, html("summary", {}, "Show as a table"), buildDataTable()),
  );
  requestAnimationFrame(() => drawToFit(holder, (width) => draw(width)));
  const update = () => {
    const width = Math.floor(holder.clientWidth);
    if (width >= MIN_WIDTH) holder.replaceChildren(draw(width));
  };
  return { figure, update };
}

function lineChart(spec, className) {
  const draw = (width) => drawLines(spec, width);
  return buildChart(spec, draw, () => lineTable(spec), className).figure;
}

function chartWithLegend(spec, className) {
  const figure = lineChart(spec, className);
  const items = spec.series.map((one) => html("li", {}, lineSwatch(one), one.name));
  figure.append(html("ul", { class: "legend" }, items));
  return figure;
}
