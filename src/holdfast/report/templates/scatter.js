// Rows as points: on the columns themselves where there are one or two, otherwise on principal axes.

const HOVER_DISTANCE = 18; // pixels
const AXIS_NAME_HEIGHT = 12; // pixels, above the plot
const HIDDEN_COST = 0.5; // of a point that the number of a segment hides

// What can be drawn on an axis: principal axes first, then the columns shown.
function axisChoices({ points }, { names, columns, dates }) {
  const principal = points.axes.map((axis, i) => ({
    name: `principal axis ${i + 1} (${formatFraction(axis.explained)} of the variance)`,
    short: `principal axis ${i + 1}`,
    values: axis.values,
  }));
  const own = columns.map((column, j) => ({
    name: names[column],
    values: points.values[j],
    isDate: dates.includes(column),
  }));
  const choices = [...principal, ...own];
  if (choices.length === 1) choices.push({ name: "", values: points.rows.map(() => 0) });
  return choices;
}

const FAR = 2.5; // ranges of the middle 99% of the points, beyond which far points are at the edge

function axisRange(values) {
  const present = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (!present.length) return { low: 0, high: 1 };
  const end = Math.floor(present.length / 200);
  const [least, most] = [present[0], present.at(-1)];
  const [low, high] = [present[end], present[present.length - 1 - end]];
  const padding = (high - low) * 0.04;
  if (high > low && most - least > FAR * (high - low)) {
    return { low: Math.max(least, low - 4 * padding), high: Math.min(most, high + 4 * padding) };
  }
  const margin = (most - least || 1) * 0.04;
  return { low: least - margin, high: most + margin };
}

const clamp = (value, { low, high }) => Math.min(Math.max(value ?? low, low), high);

function pointRadius(count) {
  if (count > 1500) return 2.6;
  return count > 500 ? 3.3 : 4.2;
}

// The point closest to a place, or -1 if none is near.
function nearestPoint(places, x, y) {
  let best = -1;
  let least = HOVER_DISTANCE ** 2;
  places.forEach(([px, py], i) => {
    const distance = (px - x) ** 2 + (py - y) ** 2;
    if (distance < least) {
      least = distance;
      best = i;
    }
  });
  return best;
}

// What it costs a box to hide points, from the sums of all points above and left of a pixel.
function hidingCost(places, { width, height }) {
  const row = Math.ceil(width) + 2;
  const sums = new Uint32Array(row * (Math.ceil(height) + 2));
  for (const [x, y] of places) sums[(Math.floor(y) + 1) * row + Math.floor(x) + 1] += 1;
  for (let i = row + 1; i < sums.length; i++) {
    if (i % row) sums[i] += sums[i - 1] + sums[i - row] - sums[i - row - 1];
  }
  const upTo = (x, y) => sums[Math.floor(y) * row + Math.floor(x)];
  return (box) => {
    const [right, bottom] = [box.x + box.width, box.y + box.height];
    const count = upTo(right, bottom) - upTo(box.x, bottom) - upTo(right, box.y) + upTo(box.x, box.y);
    return HIDDEN_COST * count;
  };
}

function makeScatter(report, state) {
  const { points, centers } = report.segments;
  const { names, columns, dates } = report.data;
  const choices = axisChoices(report.segments, report.data);
  const picked = [0, 1];
  const indexOfRow = new Map(points.rows.map((row, i) => [row, i]));
  const pointName = (i) => rowName(points.rows[i], points.ids && points.ids[i]);
  let view = null;

  function describePoints(nFar, nBare) {
    const shown = points.rows.length;
    const which =
      shown < points.n_rows
        ? `${formatCount(shown)} of ${plural(points.n_rows, "row")} are drawn: a sample, with all ` +
          "centers and all rows named below. Every count is of all rows."
        : "Every row is drawn.";
    const far = nFar ? ` Far away, and drawn at the edge: ${plural(nFar, "row")}.` : "";
    const bare = nBare ? ` ${formatCount(nBare)} of them have no number, for lack of room.` : "";
    return `${which}${far} Rings are centers.${bare}`;
  }

  function draw(width) {
    const height = Math.round(Math.max(300, Math.min(460, width * 0.78)));
    const [across, up] = picked.map((choice) => choices[choice]);
    const x = axisRange(across.values);
    const y = axisRange(up.values);
    const formatOf = ({ isDate }) => (isDate ? formatDate : (value) => formatNumber(value, 3));
    const yTicks = up.name
      ? roundTicks(y.low, y.high, 6).map((value) => ({ value, text: formatOf(up)(value) }))
      : [];
    const plot = plotArea(width, height, yTicks.map(({ text }) => text), AXIS_NAME_HEIGHT);
    const size = { width, height, plot };
    const position = {
      x: linearScale(x.low, x.high, plot.left, plot.right),
      y: linearScale(y.low, y.high, plot.bottom, plot.top),
    };
    const xTicks = { values: roundTicks(x.low, x.high, 6), format: formatOf(across) };
    const radius = pointRadius(points.rows.length);
    // Missing values and far values are drawn at the edge.
    const places = points.rows.map((_, i) => [
      position.x(clamp(across.values[i], x)),
      position.y(clamp(up.values[i], y)),
    ]);
    const isFar = (value, range) => value !== null && value !== clamp(value, range);
    const far = points.rows.filter((_, i) => isFar(across.values[i], x) || isFar(up.values[i], y));
    const marks = places.map(([px, py]) =>
      svg("path", { transform: `translate(${px.toFixed(1)} ${py.toFixed(1)})` }),
    );
    const centerMarks = svg("g", { "aria-hidden": "true" });
    const ring = svg("circle", { class: "ring", r: radius + 4, visibility: "hidden" });
    const root = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "group",
        tabindex: 0,
        "aria-label":
          `Scatter plot of ${plural(points.rows.length, "row")}, ${across.name} against ` +
          `${up.name || "nothing"}. Arrow keys go from row to row.`,
      },
      drawFrame(size, xTicks, yTicks, position, across.name),
      svg(
        "text",
        { class: "axis", x: 4, y: 12, "aria-hidden": "true" },
        shortenText(up.name, width - 8),
      ),
      svg("g", { "aria-hidden": "true" }, marks),
      centerMarks,
      ring,
    );
    const order = [...places.keys()].sort((a, b) => places[a][0] - places[b][0]);
    const costOfHiding = hidingCost(places, size);
    view = { root, places, marks, centerMarks, ring, radius, size, order, costOfHiding, nFar: far.length, current: -1 };
    listen();
    paint();
    return root;
  }

  function paint() {
    if (!view) return;
    const owners = report.hierarchy.cut(state.k);
    const { marks, radius } = view;
    points.labels.forEach((last, i) => {
      const cluster = owners[last];
      const faded = state.chosen && !state.chosen.inside.has(last);
      const enlarged = state.chosen && !faded;
      marks[i].setAttribute("class", `point ${colorClass(cluster)}${faded ? " faded" : ""}`);
      marks[i].setAttribute(
        "d",
        shapePath(shapeNumber(cluster), enlarged ? radius * 1.25 : radius),
      );
    });
    const rings = centers.slice(0, state.k).map((center, cluster) => {
      const [x, y] = view.places[indexOfRow.get(center.row)];
      return { x, y, name: String(cluster), strong: true };
    });
    const options = { loose: true, reach: 120, costOf: view.costOfHiding };
    const places = placeNames(rings, view.size.plot, options);
    const nBare = places.filter((place) => place === null).length;
    byId("scatter-note").textContent = describePoints(view.nFar, nBare);
    const drawn = rings.map((ring, i) => [
      svg("circle", { class: "center", cx: ring.x, cy: ring.y, r: radius + 2.5 }),
      drawLeader(places[i]),
      places[i] && svg("rect", { class: "badge", rx: 4, ...places[i].box }),
      drawName(ring, places[i]),
    ]);
    view.centerMarks.replaceChildren(...drawn.flat().filter(Boolean));
  }

  function showPoint(i, clientX, clientY) {
    const cluster = report.hierarchy.cut(state.k)[points.labels[i]];
    const box = view.root.getBoundingClientRect();
    const [x, y] = view.places[i];
    view.ring.setAttribute("cx", x);
    view.ring.setAttribute("cy", y);
    view.ring.setAttribute("visibility", "visible");
    const values = columns.map((column, j) => {
      const format = dates.includes(column) ? formatDate : formatValue;
      return [names[column], format(points.values[j][i])];
    });
    tooltip.show(
      [
        html("b", {}, pointName(i)),
        html("span", {}, `segment ${cluster} of ${state.k}`),
        pairTable(values),
      ],
      clientX ?? box.left + (x / view.size.width) * box.width,
      clientY ?? box.top + (y / view.size.height) * box.height,
    );
  }

  function hide() {
    view.ring.setAttribute("visibility", "hidden");
    view.current = -1;
    tooltip.hide();
  }

  function listen() {
    const { root, size } = view;
    root.addEventListener("pointermove", (event) => {
      const box = root.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * size.width;
      const y = ((event.clientY - box.top) / box.height) * size.height;
      const nearest = nearestPoint(view.places, x, y);
      if (nearest < 0) hide();
      else showPoint(nearest, event.clientX, event.clientY);
    });
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
    });
    stepWithKeys(root, (by) => {
      view.current = Math.max(0, Math.min(view.order.length - 1, view.current + by));
      showPoint(view.order[view.current]);
    });
  }

  function axisSelector(which, label) {
    const options = choices.map((choice, j) =>
      html("option", { value: j, selected: j === picked[which] }, choice.short || choice.name),
    );
    const onchange = (event) => {
      picked[which] = Number(event.target.value);
      byId("scatter").replaceChildren(draw(Math.floor(byId("scatter").clientWidth)));
    };
    return html("label", {}, html("span", {}, label), html("select", { onchange }, options));
  }

  byId("axes").append(axisSelector(0, "across"), axisSelector(1, "up"));
  drawToFit(byId("scatter"), draw);

  function showRow(row) {
    const i = indexOfRow.get(row);
    if (i === undefined) return;
    view.root.scrollIntoView({ block: "center" });
    requestAnimationFrame(() => showPoint(i));
  }
  return { paint, showRow };
}
