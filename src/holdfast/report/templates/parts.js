// The other parts of the page.
function makeVerdict({ verdict }) {
  find("sentence").textContent = verdict.sentence;
  find("numbers").append(...verdict.numbers.map((n) => html("div", { class: "card" },
    html("div", { class: "value" }, n.value), html("p", { class: "label" }, n.label), html("p", { class: "detail" }, n.detail))));
}
// Ours in the first color; peers tell apart by color, shape and dashes.
function styleMethods(methods) {
  const dashes = [null, "7 4", "2 3", "9 3 2 3", "12 4", "4 4", "1 4", "6 2 1 2"];
  let peers = 0;
  return methods.map((m, i) => ({ ...m, mark: i % 8, shape: m.ours ? 0 : 1 + (peers++ % 3), dash: m.ours && i === 0 ? null : dashes[i % 8], strong: m.ours }));
}
function makeStability({ stability }) {
  const methods = styleMethods(stability.methods), holder = find("stability-charts");
  find("stability-lead").textContent = `Rows are deleted at random and every method is fitted again with the same seed. What counts is the share of the rows that stay which change cluster (${stability.trials} trials for each number; bands and bars are 95% intervals).`;
  const order = stability.deletes.map((_, i) => i);
  const line = (m, xs, part, y = part.mean) => ({ name: m.name, mark: m.mark, shape: m.shape, dash: m.dash, strong: m.strong, points: xs.map((x, i) => ({ x, y: y[i], low: y === part.mean ? part.low[i] : null, high: y === part.mean ? part.high[i] : null })) });
  const names = (i) => `${stability.deletes[i].name}${stability.deletes[i].name.endsWith("%") ? "" : stability.deletes[i].rows === 1 ? " row" : " rows"}`;
  const main = names(stability.deletes.findIndex((d) => d.name === stability.main));
  const share = { label: "share of the remaining rows that change cluster (low is steadier)", format: percent, tick: percentTick };
  const charts = [
    { title: `Stability and cost at k = ${stability.k}, ${main} deleted`, plane: true, y: { ...share }, x: { label: "k-median cost (left is closer)", format: (v) => number(v) },
      dots: methods.map((m) => ({ ...m, x: m.cost, y: m.moved, lines: [["moved", `${percent(m.moved)} (${percent(m.low)} to ${percent(m.high)})`], ["k-median cost", number(m.cost)]] })),
      table: () => table(["Method", { text: "Rows that change cluster", cls: "num" }, { text: "95% interval", cls: "num" }, { text: "k-median cost", cls: "num" }],
        methods.map((m) => ({ cells: [m.name, { text: percent(m.moved), cls: "num" }, { text: `${percent(m.low)} to ${percent(m.high)}`, cls: "num" }, { text: number(m.cost), cls: "num" }] })), "Stability and cost") },
    { title: `Against deletions, k = ${stability.k}`, x: { label: "rows deleted", format: names, gap: 44 }, y: share, series: methods.map((m) => line(m, order, m.against_deletions)) },
    { title: `Against k, ${main} deleted`, x: { label: "number of clusters k", name: "k", format: (v) => String(v), gap: 24 }, y: share, series: methods.map((m) => line(m, m.against_k.k, m.against_k)) },
    { title: "Cost against k", x: { label: "number of clusters k", name: "k", format: (v) => String(v), gap: 24 }, y: { label: "k-median cost, best medoid of each cluster (low is closer)", format: (v) => number(v), fromZero: false }, series: methods.map((m) => line(m, m.against_k.k, m.against_k, m.against_k.cost)) },
  ];
  for (const spec of charts) {
    if (!spec.table) spec.table = () => lineTable(spec);
    holder.append(chart(spec, spec.plane ? drawDots : drawLines));
  }
  const notes = [];
  if (stability.sampled_from) notes.push(`Methods are compared on ${whole.format(stability.n_rows)} of ${whole.format(stability.sampled_from)} rows, a sample keyed by their content: several of them need time or memory that grows with the square of the rows. The first number of the verdict is of all rows.`);
  for (const m of stability.left_out) notes.push(`${m.name} is left out: ${m.reason}`);
  find("stability-notes").append(...notes.map((text) => html("p", { class: "note" }, text)));
}
function makeRows({ rows, data, explorer }, scatter) {
  const columns = data.columns.map((c) => columnHead(data.names[c]));
  const left = data.n_columns - data.columns.length;
  find("rows-lead").textContent = `At k = ${rows.k}, on average over ${rows.n_seeds} seeds. ${whole.format(rows.n_influential)} of ${whole.format(rows.n_measured)} rows move any other row when they go; ${whole.format(rows.n_restless)} of ${whole.format(rows.n_rows)} ever change cluster when another one goes.${left > 0 ? ` ${data.columns.length} of ${whole.format(data.n_columns)} columns are shown: those that differ most between clusters.` : ""}`;
  const list = (title, text, value, entries, empty) => html("div", { class: "block-of" }, html("h3", {}, title), html("p", { class: "muted small" }, text),
    !entries.length ? html("p", { class: "note" }, empty) : table(["Row", { text: value, cls: "num" }, "Cluster", ...columns], entries.map((e) => ({ cells: [
      { cls: "id", title: rowName(e.row, e.id), node: scatter ? html("button", { type: "button", class: "pick", title: "Show it in the scatter plot", onclick: () => scatter.showRow(e.row) }, rowName(e.row, e.id)) : html("span", {}, rowName(e.row, e.id)) },
      { text: value === "Restless" ? percent(e.value) : number(e.value, 3), cls: "num" },
      { node: html("span", { class: "pick" }, swatch(e.cluster), e.cluster) }, ...e.values.map((v) => ({ text: number(v), cls: "num" }))] })), title));
  find("rows-tables").append(
    list("Most influential", "Other rows that change cluster when this one goes.", "Rows moved", rows.influential, "No row moves any other row when it goes."),
    list("Most restless", `Share of the deletions of other rows after which this row is in another cluster (${whole.format(rows.n_left_out)} deletions, ${rows.n_seeds} seeds).`, "Restless", rows.restless, "No row changed cluster in any trial."));
}
function makeChoosing({ choosing: { k, epsilon } }) {
  const one = (points) => [{ name: "holdfast", mark: 0, strong: true, points }];
  const curves = {
    k: { title: "Movement against k", x: { label: "number of clusters k", name: "k", format: (v) => String(v), gap: 24 }, y: { label: "share of the remaining rows that change cluster", format: percent, tick: percentTick },
      series: one(k.k.map((x, i) => ({ x, y: k.mean[i], low: k.low[i], high: k.high[i] }))), marks: [{ x: k.chosen, label: `used: ${k.chosen}` }, { x: k.suggested, label: `suggested: ${k.suggested}`, line: 1 }] },
    moved: { title: "Movement against epsilon", x: { label: "epsilon (logarithmic)", name: "epsilon", log: true, format: (v) => number(v, 3), gap: 44 }, y: { label: "other rows that change cluster when one row goes", format: (v) => number(v, 3) },
      series: one(epsilon.epsilon.map((x, i) => ({ x, y: epsilon.moved[i], low: Math.max(0, epsilon.moved[i] - 2 * epsilon.standard_error[i]), high: epsilon.moved[i] + 2 * epsilon.standard_error[i] }))) },
    cost: { title: "Cost against epsilon", x: { label: "epsilon (logarithmic)", name: "epsilon", log: true, format: (v) => number(v, 3), gap: 44 }, y: { label: "k-median cost as a multiple of that of epsilon 0", format: (v) => number(v, 4), fromZero: false, least: epsilon.limit, limit: { y: epsilon.limit, label: `limit ${epsilon.limit}` } },
      series: one(epsilon.epsilon.map((x, i) => ({ x, y: epsilon.cost_ratio[i] }))) },
  };
  const marks = [{ x: epsilon.used, label: `used: ${number(epsilon.used, 3)}` }, { x: epsilon.suggested, label: `suggested: ${number(epsilon.suggested, 3)}`, line: 1 }];
  for (const name of ["moved", "cost"]) curves[name].marks = marks.filter((m) => m.x >= epsilon.epsilon[0] && m.x <= epsilon.epsilon.at(-1));
  for (const spec of Object.values(curves)) spec.table = () => lineTable(spec);
  find("choosing-parts").append(
    html("div", { class: "block-of" }, html("h3", {}, k.suggested === null ? "k: nothing stands out" : `k: ${k.suggested} stands out`), html("p", { class: "lead" }, k.reason), chart(curves.k, drawLines, "wide")),
    html("div", { class: "block-of" }, html("h3", {}, epsilon.suggested === null ? "epsilon: none meets the limit" : `epsilon: ${number(epsilon.suggested, 3)}`), html("p", { class: "lead" }, `${epsilon.reason} Measured on ${whole.format(epsilon.n_rows)} rows. The curve need not fall steadily: trust a difference only beyond its band.`),
      html("div", { class: "grid" }, chart(curves.moved, drawLines), chart(curves.cost, drawLines))));
}
function makeSensitivity({ sensitivity: s }) {
  const share = s.measure === "moved_fraction", format = share ? percent : (v) => number(v);
  const label = { moved_fraction: "share of the remaining rows that change cluster", moved: "rows lost from matched clusters", symmetric_difference: "symmetric difference, in rows" }[s.measure];
  const many = s.n_clusters.length > 1;
  const point = (x, l, i) => ({ x, y: l.mean[i], low: l.low[i], high: l.high[i] });
  const series = many ? s.changes.map((name, c) => ({ name, mark: c, shape: c % 4, strong: c === 0, points: s.n_clusters.map((k, i) => point(k, s.lines[c], i)) }))
    : [{ name: s.clusterer, mark: 0, strong: true, points: s.changes.map((_, c) => point(c, s.lines[c], 0)) }];
  const x = many ? { label: "number of clusters k", name: "k", format: (v) => String(v), gap: 24 } : { label: `change, k = ${s.n_clusters[0]}`, name: "change", format: (c) => s.changes[c], gap: 70 };
  const spec = { title: s.clusterer, x, y: { label, format, tick: share ? percentTick : format }, series };
  spec.table = () => lineTable(spec);
  find("stability-lead").textContent = `How far ${s.clusterer} moves, with 95% intervals.`;
  find("stability-charts").append(chart(spec, drawLines, "wide"));
}
function makeMaking({ made }) {
  const list = (title, entries) => html("div", { class: "block-of" }, html("h3", {}, title), html("dl", {}, Object.entries(entries).flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)])));
  const command = made.command === null ? null : html("div", { class: "block-of" }, html("h3", {}, "Command"), html("pre", { tabindex: 0 }, made.command));
  const measurements = made.seed === null ? made.measurements : { seed: made.seed, ...made.measurements };
  find("made-parts").append(command || "", html("div", { class: "grid" }, list("Parameters", made.parameters),
    html("div", {}, list("Measurements", measurements), list("Versions", made.versions))));
}
