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

const MANY_HEADS = 12; // columns of the table of segments; with more of them, it is set closer
const LONG_SUGGESTION = 28; // characters

// A name from what distinguishes a segment most, such as "high alcohol, low hue".
function suggestName(distinguishing, { names, indicators = [] }) {
  if (distinguishing === null) return "not described: few rows";
  if (!distinguishing.length) return "close to average";
  const [first, second] = distinguishing.map(([column, difference]) => {
    if (indicators.includes(column)) return names[column];
    const degree = Math.abs(heatLevel(difference)) === 3 ? "very " : "";
    return `${degree}${difference > 0 ? "high" : "low"} ${names[column]}`;
  });
  const both = second ? `${first}, ${second}` : first;
  return both.length > LONG_SUGGESTION ? first : both;
}

function describeDistinguishing(distinguishing, { names, indicators, dates }) {
  const parts = (distinguishing || []).map(([column, difference, mean]) => {
    if (indicators.includes(column)) {
      return `${names[column]}${mean === null ? "" : `: ${formatFraction(mean)} of the rows`}`;
    }
    const shown = dates.includes(column) ? formatDate(mean) : formatValue(mean);
    const where = mean === null ? "" : `mean ${shown}, `;
    return `${names[column]}: ${where}${formatDifference(difference)}`;
  });
  return parts.join("; ") || null;
}

// Names that the reader gives to segments: kept by the browser for this page, or saved in a copy of it.
function openNames(report) {
  const { segments, title, provenance } = report;
  const key = `holdfast names: ${title} ${provenance.seed} ${segments.sizes.join(" ")}`;
  let names = { ...segments.names };
  try {
    names = { ...names, ...JSON.parse(localStorage.getItem(key)) };
  } catch {
    // No storage, as in the frame of a notebook: names last as long as the page.
  }
  return {
    get: (node) => names[node.id] || "",
    all: () => names,
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

// The page as it was loaded, before any script changed it.
const loadedPage = document.documentElement.outerHTML;

// As `embed_json` in page.py: JSON that cannot leave its element.
function embedJson(content) {
  const escape = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(content).replace(/[<>&\u2028\u2029]/g, escape);
}

// The loaded page with names in its data. Style and script stay as they are, so their hashes do too.
function pageWithNames(page, names) {
  // Written so that they do not begin or end an element of this page.
  const opening = '\u003cscript type="application/json" id="data">';
  const start = page.indexOf(opening) + opening.length;
  const end = page.indexOf("\u003c/script>", start);
  const content = JSON.parse(page.slice(start, end));
  content.segments.names = names;
  return `<!DOCTYPE html>\n${page.slice(0, start)}${embedJson(content)}${page.slice(end)}`;
}

function saveWithNames(report) {
  const text = pageWithNames(loadedPage, report.names.all());
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  const name = decodeURIComponent(location.pathname.split("/").pop()) || "report.html";
  html("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function qualityCell(label, value, { word, tone }) {
  const shown = value === null || value === undefined ? MISSING : withMinus(asShown(value).toFixed(2));
  const content = [html("b", {}, shown), html("span", { class: `word ${tone}` }, word)];
  return { class: "num quality", label, node: html("span", {}, content) };
}

// Digits behind the point that the means of each column have, so that they line up.
function countDecimals(profiles, count) {
  const decimalsOf = (value) => (/\.(\d+)$/.exec(String(value ?? "")) || ["", ""])[1].length;
  return Array.from({ length: count }, (_, j) =>
    Math.max(...profiles.map((profile) => decimalsOf(profile?.means?.[j]))),
  );
}

// Whether the means of each column are grouped, as 12,005 and 2,005; years such as 2005 are not.
function needGrouping(profiles, count) {
  return Array.from({ length: count }, (_, j) =>
    profiles.some((profile) => Math.abs(profile?.means?.[j] ?? 0) >= 10000),
  );
}

function formatMean(mean, decimals, grouped) {
  if (Math.abs(mean) >= 1e7) return formatNumber(mean);
  const digits = {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    useGrouping: grouped,
  };
  return withMinus(new Intl.NumberFormat("en-US", digits).format(mean));
}

function profileCells(profile, data) {
  return data.columns.map((column, j) => {
    const label = data.names[column];
    if (profile === null) return { text: MISSING, class: "num heat", label };
    const difference = profile.differences[j];
    const formatted = () =>
      data.dates.includes(column)
        ? formatDate(profile.means[j])
        : formatMean(profile.means[j], data.decimals[j], data.grouped[j]);
    const shown = profile.means === null ? formatDifference(difference) : formatted();
    const missing = profile.means !== null && profile.means[j] === null;
    return {
      text: missing ? MISSING : `${shown}${heatArrow(difference)}`,
      class: `num heat h${missing ? 0 : heatLevel(difference)}`,
      title: missing ? null : `${label}: ${formatDifference(difference)} from the mean of all rows`,
      label,
    };
  });
}

// From 0 to 3: how much more frequent a category is here than in all rows.
function categoryLevel(fraction, overall) {
  const excess = fraction - overall;
  return excess >= 0.4 ? 3 : excess >= 0.2 ? 2 : excess >= 0.1 ? 1 : 0;
}

// The most frequent category of a segment, and in its title the next ones.
function categoryCells(categories, node) {
  return categories.map(({ name, levels, overall, most }) => {
    const [first] = most[node.id];
    const all = most[node.id].map(
      ([i, fraction]) =>
        `${levels[i]} ${formatFraction(fraction)} (of all rows ${formatFraction(overall[i])})`,
    );
    return {
      node: html(
        "span",
        {},
        html("span", { class: "level-name" }, levels[first[0]]),
        " ",
        html("b", {}, formatFraction(first[1])),
      ),
      class: `heat category h${categoryLevel(first[1], overall[first[0]])}`,
      title: `${name}: ${all.join(", ")}`,
      label: name,
    };
  });
}

// The first rule describes most of the segment. The next ones describe other parts of it, or the same by
// other columns. Where there are fewer than two, the page says so.
function describeRules(rules) {
  const lines = rules.map(({ text, coverage, others, by_other_columns: isOther }, i) => {
    const start = i ? html("span", { class: "muted" }, isOther ? "also " : "or ") : null;
    const covered = `${formatFraction(coverage)} of the segment, ${formatFraction(others)} of the others`;
    const shown = text.replace(/(?<=^|[ <=>])-(?=\d)/g, "−");
    return html("div", {}, start, shown, html("span", { class: "muted" }, `: ${covered}`));
  });
  const few = ["No short rule tells it apart.", "No other columns tell it apart."][rules.length];
  return html("div", { class: "rule-text" }, lines, few && html("div", { class: "muted" }, few));
}

function segmentCell(node, report, state) {
  const chosen = state.chosen === node;
  const mark = () => {
    state.toggle(node);
    document.querySelector(`[data-cluster="${node.cluster}"]`)?.focus();
  };
  const distinguishing = report.segments.distinguishing[node.id];
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
    placeholder: suggestName(distinguishing, report.data),
    "aria-label": `Name of segment ${node.cluster}`,
    title: describeDistinguishing(distinguishing, report.data),
    oninput: (event) => {
      report.names.set(node, event.target.value);
      byId("save-names").hidden = false;
    },
  });
  const head = html("span", { class: "segment-head" }, button, input);
  const isDescribed = node.above !== null && report.segments.min_described === null;
  const rules = isDescribed ? describeRules(report.segments.rules[node.id]) : null;
  return { class: "segment", node: html("div", { class: "segment-about" }, head, rules) };
}

// What the rows of all segments have in common, to compare with.
function overallLine(report) {
  const { segments, hierarchy, data } = report;
  const [all] = hierarchy.nodesAt(1);
  return {
    attributes: { class: "all" },
    cells: [
      { class: "segment", text: "All rows" },
      { class: "num quality", label: "Rows", text: formatCount(all.size) },
      { class: "num", text: "" },
      { class: "num", text: "" },
      ...categoryCells(segments.categories, all),
      ...profileCells(segments.profiles[all.id], data),
    ],
  };
}

function segmentTable(report, state) {
  const { segments, hierarchy, data } = report;
  const head = [
    "Segment",
    { text: "Rows", class: "num" },
    { text: "Found again", class: "num" },
    { text: "Separation", class: "num" },
    ...valueHeads(report),
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
        ...categoryCells(segments.categories, node),
        ...profileCells(segments.profiles[node.id], data),
      ],
    };
  });
  const caption = `Segments of the cut into ${state.k}`;
  const className = head.length > MANY_HEADS ? "cards dense" : "cards";
  return buildTable(head, body, caption, { className, foot: [overallLine(report)] });
}

// Heads and cells for the values of single rows: categories first, as in the table of segments.
function valueHeads({ segments, data }) {
  return [
    ...segments.categories.map(({ name }) => ({ text: name, class: "name" })),
    ...data.columns.map((column) => columnHead(data.names[column])),
  ];
}

function valueCells({ values, levels }, { segments, data }) {
  const categories = segments.categories.map(({ name }, i) => ({ text: levels[i], label: name }));
  const numbers = values.map((value, j) => {
    const column = data.columns[j];
    const isDate = data.dates.includes(column);
    const text = isDate ? formatDate(value) : formatValue(value, data.decimals[j], data.grouped[j]);
    return { text, class: "num", label: data.names[column] };
  });
  return [...categories, ...numbers];
}

// The center of a cluster is a row of the data: its values are not means.
function centerTable(report, state) {
  const { segments } = report;
  const head = ["Segment", "Row", ...valueHeads(report)];
  const body = segments.centers.slice(0, state.k).map((center, cluster) => {
    const name = report.idOf(center.row);
    return {
      cells: [
        { node: html("span", { class: "pick" }, clusterSwatch(cluster), cluster) },
        { text: name, class: "id", title: name },
        ...valueCells(center, report),
      ],
    };
  });
  return buildTable(head, body, "The row at the center of each segment");
}

const isCostSampled = ({ cost_rows: measured, sizes }) => measured < sizes.reduce((a, b) => a + b);

function describeStep(segments, parent, k) {
  const { costs } = segments;
  const relative = formatFraction(costs[0] > 0 ? costs[k - 1] / costs[0] : 0);
  const about = isCostSampled(segments) ? "about " : "";
  const cost = `k-median cost ${about}${formatNumber(costs[k - 1])}`;
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
      (isCostSampled(segments) ? `, from a sample of ${plural(segments.cost_rows, "row")}.` : "."),
  ];
  if (segments.rules.some((rules) => rules.length)) {
    sentences.splice(1, 0, "Rules describe segments; they do not decide them.");
  }
  if (segments.categories.length) {
    sentences.splice(1, 0, "Categories: the most frequent one.");
  }
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
  report.data.decimals = countDecimals(segments.profiles, report.data.columns.length);
  report.data.grouped = needGrouping(segments.profiles, report.data.columns.length);
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
  byId("save-names").addEventListener("click", () => saveWithNames(report));
  byId("save-names").hidden = !Object.values(report.names.all()).some(Boolean);
  byId("clusters-note").textContent = segmentNote(report);
  update();
  return scatter;
}
