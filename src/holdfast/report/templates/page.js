// Reads the data, shows the parts that are there, and follows the theme.

const report = JSON.parse(byId("data").textContent);

function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  function apply(theme) {
    const other = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Switch to ${other} colors`);
  }
  const follow = () => apply(system.matches ? "dark" : "light");
  button.addEventListener("click", () => {
    system.removeEventListener("change", follow);
    apply(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
  system.addEventListener("change", follow);
  follow();
}

function startPart(id, make) {
  const part = byId(id);
  part.hidden = false;
  byId("contents").append(html("a", { href: `#${id}` }, part.dataset.name));
  return make();
}

function describeData({ data }) {
  const size = `${plural(data.n_rows, "row")}, ${plural(data.n_columns, "column")}.`;
  if (data.shows_rows) return size;
  return `${size} This page contains no values, names or points of single rows.`;
}

function definitionList(title, entries) {
  const items = Object.entries(entries).flatMap(([name, value]) => [
    html("dt", {}, name),
    html("dd", {}, value),
  ]);
  return block(title, html("dl", {}, items));
}

function makeProvenance({ provenance, data }) {
  const { command, seed, parameters, measurements, versions } = provenance;
  const parts = [];
  if (data && data.preparation.length) {
    const sentences = data.preparation.map((sentence) => html("li", {}, sentence));
    parts.push(block("What was done to the data", html("ul", {}, sentences)));
  }
  if (command !== null) parts.push(block("Command", html("pre", { tabindex: 0 }, command)));
  const measured = seed === null ? measurements : { "random state": seed, ...measurements };
  parts.push(
    html(
      "div",
      { class: "grid" },
      definitionList("Parameters", parameters),
      html(
        "div",
        {},
        definitionList("Measurements", measured),
        definitionList("Versions", versions),
      ),
    ),
  );
  byId("provenance-parts").append(...parts);
}

function startPage() {
  startTheme();
  if (report.data) byId("subtitle").textContent = describeData(report);
  if (report.verdict.headline) byId("headline").textContent = report.verdict.headline;
  byId("headline").hidden = !report.verdict.headline;
  let scatter = null;
  if (report.segments) {
    const { points } = report.segments;
    const ids = points && points.ids ? points.rows.map((row, i) => [row, points.ids[i]]) : [];
    const idOfRow = new Map(ids);
    report.hierarchy = readHierarchy(report.segments);
    report.idOf = (row) => rowName(row, idOfRow.get(row));
    scatter = startPart("segments", () => makeSegments(report));
  }
  startPart("stability", () => {
    makeVerdict(report);
    if (report.comparison) makeComparison(report);
    if (report.sensitivity) makeSensitivity(report);
  });
  if (report.rows) startPart("rows", () => makeRows(report, scatter));
  if (report.choosing) startPart("choosing", () => makeChoosing(report));
  startPart("provenance", () => makeProvenance(report));
  if (report.choosing) startPart("appendix", () => makeEpsilon(report));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") tooltip.hide();
  });
  document.documentElement.dataset.ready = "true";
}

startPage();
