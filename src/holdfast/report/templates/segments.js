// The segments of one cut: size, profile, quality; the slider that chooses the cut.

const GIANT = 0.8; // fraction of the rows; as in verdict.py

// Words must agree with the two digits that the reader sees beside them.
const asShown = (value) => Number(value.toFixed(2));

// How well a cluster is found again, in words. A giant cluster is found again by any method.
function judgeJaccard(measured, fraction) {
  if (measured === null || measured === undefined) return { word: "", tone: "" };
  const jaccard = asShown(measured);
  if (fraction >= GIANT) return { word: "says little", tone: "muted" };
  if (jaccard >= 0.85) return { word: "stable", tone: "good" };
  if (jaccard >= 0.75) return { word: "a pattern", tone: "good" };
  if (jaccard >= 0.6) return { word: "doubtful", tone: "fair" };
  return { word: "not reliable", tone: "poor" };
}

function judgeSeparation(measured) {
  if (measured === null || measured === undefined) return { word: "", tone: "" };
  const silhouette = asShown(measured);
  if (silhouette >= 0.5) return { word: "clear", tone: "good" };
  if (silhouette >= 0.25) return { word: "partial", tone: "fair" };
  return { word: "hardly any", tone: "poor" };
}

// From -3 to 3: how far a mean is from that of all rows, for the color of its cell.
function heatLevel(difference) {
  const size = Math.abs(difference);
  const level = size >= 1.5 ? 3 : size >= 0.8 ? 2 : size >= 0.3 ? 1 : 0;
  return difference < 0 ? -level : level;
}

// The same for readers who see no colors.
function heatArrow(difference) {
  const level = heatLevel(difference);
  if (Math.abs(level) < 2) return "";
  return level > 0 ? " ▲" : " ▼";
}

function formatDifference(difference) {
  return `${difference < 0 ? "−" : "+"}${Math.abs(difference)} sd`;
}

// A name from what distinguishes a cluster, such as "high alcohol, low hue".
function suggestName(distinguishing, names) {
  if (distinguishing === null) return "not described: few rows";
  if (!distinguishing.length) return "close to average";
  return distinguishing
    .slice(0, 2)
    .map(([column, difference]) => `${difference > 0 ? "high" : "low"} ${names[column]}`)
    .join(", ");
}

function describeDistinguishing(distinguishing, names) {
  const parts = (distinguishing || []).map(([column, difference, mean]) => {
    const where = mean === null ? "" : `mean ${formatNumber(mean)}, `;
    return `${names[column]}: ${where}${formatDifference(difference)}`;
  });
  return parts.join("; ") || null;
}

// Names that the reader gives to segments, kept by the browser for this page.
function openNames(report) {
  const key = `holdfast names: ${report.title} ${report.provenance.seed}`;
  let names = {};
  try {
    names = JSON.parse(localStorage.getItem(key)) || {};
  } catch {
    // No storage, as in the frame of a notebook: names last as long as the page.
  }
  return {
    get: (node) => names[node.id] || "",
    set(node, name) {
      names[node.id] = name;
      try {
        localStorage.setItem(key, JSON.stringify(names));
      } catch {
        // As above.
      }
    },
  };
}

function qualityCell(label, value, { word, tone }) {
  const shown = value === null || value === undefined ? MISSING : value.toFixed(2);
  const content = [html("b", {}, shown), html("span", { class: `word ${tone}` }, word)];
  return { class: "num quality", label, node: html("span", {}, content) };
}

function profileCells(profile, data) {
  return data.columns.map((column, j) => {
    const label = data.names[column];
    if (profile === null) return { text: MISSING, class: "num heat", label };
    const difference = profile.differences[j];
    const shown =
      profile.means === null ? formatDifference(difference) : formatNumber(profile.means[j]);
    const missing = profile.means !== null && profile.means[j] === null;
    return {
      text: missing ? MISSING : `${shown}${heatArrow(difference)}`,
      class: `num heat h${missing ? 0 : heatLevel(difference)}`,
      title: missing ? null : `${label}: ${formatDifference(difference)} from the mean of all rows`,
      label,
    };
  });
}

function segmentCell(node, report, state) {
  const chosen = state.chosen === node;
  const mark = () => {
    state.toggle(node);
    document.querySelector(`[data-cluster="${node.cluster}"]`)?.focus();
  };
  const distinguishing = report.segments.distinguishing[node.id];
  const suggestion = suggestName(distinguishing, report.data.names);
  const button = html(
    "button",
    {
      type: "button",
      class: "pick",
      "aria-pressed": String(chosen),
      "aria-label": `Mark segment ${node.cluster}`,
      "data-cluster": node.cluster,
      onclick: mark,
    },
    clusterSwatch(node.cluster),
    node.cluster,
  );
  const input = html("input", {
    class: "segment-name",
    type: "text",
    value: report.names.get(node),
    placeholder: suggestion,
    "aria-label": `Name of segment ${node.cluster}`,
    title: describeDistinguishing(distinguishing, report.data.names),
    oninput: (event) => report.names.set(node, event.target.value),
  });
  return { class: "segment", node: html("span", { class: "segment-head" }, button, input) };
}

function segmentTable(report, state) {
  const { segments, hierarchy, data } = report;
  const head = [
    "Segment",
    { text: "Rows", class: "num" },
    { text: "Found again", class: "num" },
    { text: "Separation", class: "num" },
    ...data.columns.map((column) => columnHead(data.names[column])),
  ];
  const body = hierarchy.nodesAt(state.k).map((node) => {
    const fraction = node.size / hierarchy.total;
    const jaccard = segments.stability[state.k - 1][node.cluster];
    const silhouette = segments.cluster_separation[state.k - 1][node.cluster];
    const size = [
      html("b", {}, formatCount(node.size)),
      html("span", {}, formatFraction(fraction)),
    ];
    return {
      attributes: { class: state.chosen === node ? "chosen" : null },
      cells: [
        segmentCell(node, report, state),
        { class: "num quality", label: "Rows", node: html("span", {}, size) },
        qualityCell("Found again", jaccard, judgeJaccard(jaccard, fraction)),
        qualityCell("Separation", silhouette, judgeSeparation(silhouette)),
        ...profileCells(segments.profiles[node.id], data),
      ],
    };
  });
  return buildTable(head, body, `Segments of the cut into ${state.k}`, "cards");
}

// The center of a cluster is a row of the data: its values are not means.
function centerTable(report, state) {
  const { segments, data } = report;
  const head = ["Segment", "Row", ...data.columns.map((column) => columnHead(data.names[column]))];
  const body = segments.centers.slice(0, state.k).map((center, cluster) => {
    const name = report.idOf(center.row);
    return {
      cells: [
        { node: html("span", { class: "pick" }, clusterSwatch(cluster), cluster) },
        { text: name, class: "id", title: name },
        ...center.values.map((value) => ({ text: formatNumber(value), class: "num" })),
      ],
    };
  });
  return buildTable(head, body, "The row at the center of each segment");
}

function describeStep({ costs }, parent, k) {
  const relative = formatFraction(costs[0] > 0 ? costs[k - 1] / costs[0] : 0);
  const cost = `k-median cost ${formatNumber(costs[k - 1])}`;
  if (k === 1) return `All rows are one segment; ${cost}.`;
  return (
    `The step to k = ${k} splits segment ${k - 1} off segment ${parent[k - 1]}; ${cost}, ` +
    `${relative} of that of one segment.`
  );
}

function segmentNote({ segments }) {
  const sentences = [
    "Cells show means in the original units, colored by their distance from the mean of all rows; " +
      "▲ and ▼: at least 0.8 standard deviations (sd).",
    "Found again: Jaccard index of a segment with its closest match when rows are drawn with " +
      `replacement, mean of ${plural(segments.stability_trials, "draw")}. From 0.85 stable, from ` +
      "0.75 a pattern, below 0.6 not reliable.",
    `Separation: mean silhouette of ${plural(segments.separation_rows, "row")}, from −1 to 1.`,
    "k-median cost: sum of the distances of the prepared rows to the best medoid of their segment" +
      (segments.cost_rows < segments.sizes.reduce((a, b) => a + b)
        ? `, on a sample of ${plural(segments.cost_rows, "row")}.`
        : "."),
  ];
  if (segments.min_described) {
    sentences.push(
      "This page contains nothing about single rows; segments of fewer than " +
        `${segments.min_described} rows are not described.`,
    );
  }
  return sentences.join(" ");
}

function makeSegments(report) {
  const { segments, hierarchy } = report;
  const slider = byId("k");
  report.names = openNames(report);
  const state = {
    k: segments.k,
    chosen: null,
    toggle(node) {
      state.chosen = node === state.chosen ? null : node;
      update();
    },
  };
  slider.max = segments.max_k;
  slider.value = segments.k;
  let scatter = null;
  if (segments.points) {
    scatter = makeScatter(report, state);
  } else {
    byId("scatter-figure").hidden = true;
    byId("scatter-figure").parentElement.classList.add("single");
  }
  byId("centers").hidden = segments.centers === null;
  const icicle = makeIcicle(report, state);

  function update() {
    const { k } = state;
    byId("k-now").textContent = k;
    slider.setAttribute("aria-valuetext", `${k} segments`);
    byId("step").textContent = describeStep(segments, hierarchy.parent, k);
    byId("clear").hidden = !state.chosen;
    if (scatter) scatter.paint();
    icicle.paint();
    const scrolled = document.querySelector("#clusters .scroll")?.scrollLeft || 0;
    byId("clusters").replaceChildren(segmentTable(report, state));
    document.querySelector("#clusters .scroll").scrollLeft = scrolled;
    if (segments.centers) byId("center-table").replaceChildren(centerTable(report, state));
  }
  function goTo(k) {
    state.k = Math.max(1, Math.min(segments.max_k, k));
    slider.value = state.k;
    update();
  }

  slider.addEventListener("input", () => goTo(Number(slider.value)));
  byId("fewer").addEventListener("click", () => goTo(state.k - 1));
  byId("more").addEventListener("click", () => goTo(state.k + 1));
  byId("clear").addEventListener("click", () => state.toggle(null));
  byId("clusters-note").textContent = segmentNote(report);
  update();
  return scatter;
}
