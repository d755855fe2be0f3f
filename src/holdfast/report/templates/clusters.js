// The table of the clusters of one cut.
function judge(jaccard) {
  if (jaccard === null || jaccard === undefined) return ["–", ""];
  if (jaccard >= 0.85) return ["stable", "good"];
  if (jaccard >= 0.75) return ["a pattern", "good"];
  return jaccard >= 0.6 ? ["doubtful", "fair"] : ["do not trust", "poor"];
}
function tellApart(told, names) {
  if (told === null) return "not described: too few rows";
  if (!told.length) return "close to the average of all rows";
  return told.map(([column, difference, mean]) => {
    const text = `${names[column]} ${difference > 0 ? "+" : "−"}${Math.abs(difference)} sd${mean === null ? "" : `, mean ${number(mean)}`}`;
    return html("div", { title: text }, text);
  });
}
function clusterTable(report, state) {
  const { explorer, hierarchy, data } = report, stability = explorer.stability[state.k - 1];
  const listed = explorer.centers !== null;
  const head = ["Cluster", { text: "Rows", cls: "num" }, "Found again", "What distinguishes it",
    ...(listed ? ["Center row", ...data.columns.map((c) => columnHead(data.names[c]))] : [])];
  const body = hierarchy.at(state.k).map((n) => {
    const jaccard = stability[n.cluster], [word, cls] = judge(jaccard), chosen = state.chosen === n;
    const fill = html("span", {});
    fill.style.width = `${100 * (jaccard || 0)}%`;
    const center = listed ? explorer.centers[n.cluster] : null;
    return { attributes: { class: chosen ? "chosen" : null }, cells: [
      { node: html("button", { type: "button", class: "pick", "aria-pressed": String(chosen), "aria-label": `Mark cluster ${n.cluster}`, "data-cluster": n.cluster,
        onclick: () => { state.toggle(n); document.querySelector(`[data-cluster="${n.cluster}"]`)?.focus(); } }, swatch(n.cluster), n.cluster) },
      { text: `${whole.format(n.size)} (${percent(n.size / hierarchy.total)})`, cls: "num" },
      { cls: "found", node: html("span", {}, html("span", { class: "meter", "aria-hidden": "true" }, fill), `${jaccard === null ? "–" : jaccard.toFixed(2)} `, html("span", { class: `word ${cls}` }, word)) },
      { text: tellApart(explorer.distinguishing[n.id], data.names), cls: "text" },
      ...(listed ? [{ text: report.idOf(center.row), cls: "id", title: report.idOf(center.row) }, ...center.values.map((v) => ({ text: number(v), cls: "num" }))] : []),
    ] };
  });
  return table(head, body, `Clusters of the cut into ${state.k}`);
}
function makeExplorer(report) {
  const { explorer, hierarchy } = report;
  const slider = find("k");
  const state = { k: explorer.k, chosen: null, toggle(n) { state.chosen = n === state.chosen ? null : n; update(); } };
  slider.max = explorer.max_k;
  slider.value = explorer.k;
  let scatter = null;
  if (explorer.points) scatter = makeScatter(report, state);
  else {
    find("scatter-figure").hidden = true;
    find("scatter-figure").parentElement.classList.add("single");
  }
  const icicle = makeIcicle(report, state);
  function update() {
    const { k } = state;
    find("k-now").textContent = k;
    slider.setAttribute("aria-valuetext", `${k} clusters`);
    find("step").textContent = k === 1 ? "All rows are one cluster." : `The step to k = ${k} splits cluster ${k - 1} off cluster ${hierarchy.parent[k - 1]}; the cost falls from ${number(explorer.costs[k - 2])} to ${number(explorer.costs[k - 1])}.`;
    find("clear").hidden = !state.chosen;
    if (scatter) scatter.paint();
    icicle.paint();
    const old = document.querySelector("#clusters .scroll"), across = old ? old.scrollLeft : 0;
    find("clusters").replaceChildren(clusterTable(report, state));
    document.querySelector("#clusters .scroll").scrollLeft = across;
  }
  const go = (k) => {
    state.k = Math.max(1, Math.min(explorer.max_k, k));
    slider.value = state.k;
    update();
  };
  slider.addEventListener("input", () => go(Number(slider.value)));
  find("fewer").addEventListener("click", () => go(state.k - 1));
  find("more").addEventListener("click", () => go(state.k + 1));
  find("clear").addEventListener("click", () => state.toggle(null));
  find("clusters-note").textContent = `Found again: the Jaccard index of a cluster with its closest relative when rows are drawn anew with replacement, mean of ${explorer.stability_trials} draws. From 0.85 stable, from 0.75 a pattern, below 0.6 not to be trusted. sd: standard deviations of the column.`
    + (explorer.least_described ? ` This page holds nothing about single rows; clusters of fewer than ${explorer.least_described} rows are not described.` : "");
  update();
  return scatter;
}
