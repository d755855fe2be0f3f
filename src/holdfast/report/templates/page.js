// Reads the data and shows the parts that are there.

const report = JSON.parse(byId("data").textContent);

function describeData({ data }) {
  const size = `${plural(data.n_rows, "row")}, ${plural(data.n_columns, "column")}.`;
  if (data.shows_rows) return size;
  return `${size} This page contains no values, names or points of single rows.`;
}

function makeProvenance({ provenance, data }) {
  const { command, seed, parameters, measurements, versions } = provenance;
  const parts = [];
  if (data.preparation.length) {
    const sentences = data.preparation.map((sentence) => html("li", {}, sentence));
    parts.push(block("What was done to the data", html("ul", {}, sentences)));
  }
  parts.push(
    block("Command", html("pre", { tabindex: 0 }, command)),
    html(
      "div",
      { class: "grid" },
      definitionList("Parameters", parameters),
      html(
        "div",
        {},
        definitionList("Measurements", { "random state": seed, ...measurements }),
        definitionList("Versions", versions),
      ),
    ),
  );
  byId("provenance-parts").append(...parts);
}

function startPage() {
  byId("subtitle").textContent = describeData(report);
  byId("headline").textContent = report.verdict.headline;
  const { points } = report.segments;
  const ids = points && points.ids ? points.rows.map((row, i) => [row, points.ids[i]]) : [];
  const idOfRow = new Map(ids);
  report.hierarchy = readHierarchy(report.segments);
  report.idOf = (row) => rowName(row, idOfRow.get(row));
  const scatter = startPart("segments", () => makeSegments(report));
  startPart("stability", () => {
    makeVerdict(report);
    makeComparison(report);
  });
  if (report.rows) startPart("rows", () => makeRows(report, scatter));
  startPart("choosing", () => makeChoosing(report));
  startPart("provenance", () => makeProvenance(report));
  startPart("appendix", () => makeEpsilon(report));
  finishPage();
}

startPage();
