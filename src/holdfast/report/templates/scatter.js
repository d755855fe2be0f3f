// Rows as points, on principal axes or on two columns.
function makeScatter(report, state) {
  const { points } = report.explorer, { names, columns } = report.data;
  const choices = [
    ...points.axes.map((values, i) => ({ name: `principal axis ${i + 1} (${percent(points.explained[i])})`, values })),
    ...columns.map((column, j) => ({ name: names[column], values: points.values[j] })),
  ];
  const picked = [0, 1];
  const idOf = (i) => rowName(points.rows[i], points.ids && points.ids[i]);
  const place = new Map(points.rows.map((row, i) => [row, i]));
  let view = null;

  function draw(width) {
    const height = Math.round(Math.max(300, Math.min(460, width * 0.78)));
    const [X, Y] = picked.map((j) => choices[j].values);
    const axis = (values, from, to) => {
      const present = values.filter((v) => v !== null);
      const low = Math.min(...present), high = Math.max(...present), pad = (high - low || 1) * 0.04;
      return { low: low - pad, high: high + pad, at: scale(low - pad, high + pad, from, to) };
    };
    const x = axis(X, MARGIN.left, width - MARGIN.right), y = axis(Y, height - MARGIN.bottom, MARGIN.top + 6);
    const spec = { x: { label: choices[picked[0]].name, format: (v) => number(v, 3) }, y: { format: (v) => number(v, 3) } };
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", tabindex: 0, "aria-label":
      `Scatter plot of ${whole.format(points.rows.length)} rows, ${choices[picked[0]].name} against ${choices[picked[1]].name}. Arrow keys go from row to row.` },
    frame(width, height, thin(roundTicks(x.low, x.high, 6), x.at, 52), roundTicks(y.low, y.high, 6), x.at, y.at, spec));
    root.append(svg("text", { class: "axis", x: 4, y: 8, "aria-hidden": "true" }, choices[picked[1]].name));
    const r = points.rows.length > 1500 ? 2.6 : points.rows.length > 500 ? 3.3 : 4.2;
    const at = points.rows.map((_, i) => [x.at(X[i] ?? x.low), y.at(Y[i] ?? y.low)]);
    const marks = at.map(([a, b]) => svg("path", { transform: `translate(${a.toFixed(1)} ${b.toFixed(1)})` }));
    const centers = svg("g", { "aria-hidden": "true" }), ring = svg("circle", { class: "ring", r: r + 4, visibility: "hidden" });
    root.append(svg("g", { "aria-hidden": "true" }, marks), centers, ring);
    view = { root, at, marks, centers, ring, r, width, height, walk: at.map((_, i) => i).sort((a, b) => at[a][0] - at[b][0]), now: -1 };
    listen();
    paint();
    return root;
  }
  function paint() {
    if (!view) return;
    const owner = report.hierarchy.cut(state.k), { marks, r } = view;
    points.labels.forEach((last, i) => {
      const cluster = owner[last], faded = state.chosen && !state.chosen.inside.has(last);
      marks[i].setAttribute("class", `point ${colorOf(cluster)}${faded ? " faded" : ""}`);
      marks[i].setAttribute("d", shapePath(groupOf(cluster), state.chosen && !faded ? r * 1.25 : r));
    });
    view.centers.replaceChildren(...report.explorer.centers.slice(0, state.k).flatMap((center, cluster) => {
      const [a, b] = view.at[place.get(center.row)];
      return [svg("circle", { class: "center", cx: a, cy: b, r: r + 2.5 }), svg("text", { class: "halo strong", x: a + r + 5, y: b + 4 }, cluster)];
    }));
  }
  function show(i, x, y) {
    const owner = report.hierarchy.cut(state.k), box = view.root.getBoundingClientRect(), [a, b] = view.at[i];
    view.ring.setAttribute("cx", a);
    view.ring.setAttribute("cy", b);
    view.ring.setAttribute("visibility", "visible");
    tip.show([html("b", {}, idOf(i)), html("span", {}, `cluster ${owner[points.labels[i]]} of ${state.k}`),
      pairs(columns.map((column, j) => [names[column], number(points.values[j][i])]))],
    x ?? box.left + (a / view.width) * box.width, y ?? box.top + (b / view.height) * box.height);
  }
  function hide() { view.ring.setAttribute("visibility", "hidden"); view.now = -1; tip.hide(); }
  function listen() {
    const { root } = view;
    root.addEventListener("pointermove", (event) => {
      const box = root.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * view.width, y = ((event.clientY - box.top) / box.height) * view.height;
      let best = -1, least = 18 ** 2;
      view.at.forEach(([a, b], i) => { const d = (a - x) ** 2 + (b - y) ** 2; if (d < least) { least = d; best = i; } });
      if (best < 0) hide(); else show(best, event.clientX, event.clientY);
    });
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      view.now = Math.max(0, Math.min(view.walk.length - 1, view.now + step));
      show(view.walk[view.now]);
    });
  }
  const selector = (which, label) => {
    const select = html("select", { onchange: (event) => {
      picked[which] = Number(event.target.value);
      find("scatter").replaceChildren(draw(Math.floor(find("scatter").clientWidth)));
    } }, choices.map((choice, j) => html("option", { value: j, selected: j === picked[which] }, choice.name)));
    return html("label", {}, label, select);
  };
  find("axes").append(selector(0, "across"), selector(1, "up"));
  const shown = points.rows.length;
  find("scatter-note").textContent = shown < points.n_rows
    ? `${whole.format(shown)} of ${whole.format(points.n_rows)} rows are drawn: a sample keyed by content, with all centers and all rows named below. Every count is of all rows. Rings are centers.`
    : "Every row is drawn. Rings are centers.";
  redraw(find("scatter"), draw);
  return { paint, showRow(row) {
    const i = place.get(row);
    if (i === undefined) return;
    view.root.scrollIntoView({ block: "center" });
    requestAnimationFrame(() => show(i));
  } };
}
