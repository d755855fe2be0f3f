// Reads the data, shows the parts that are there, minds the theme.
const report = JSON.parse(find("data").textContent);

function startTheme() {
  const button = find("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    const other = theme === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Switch to ${other} colors`);
  };
  const follow = () => use(system.matches ? "dark" : "light");
  button.addEventListener("click", () => {
    system.removeEventListener("change", follow);
    use(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
  system.addEventListener("change", follow);
  follow();
}
function startPart(id, make) {
  const part = find(id);
  part.hidden = false;
  find("contents").append(html("a", { href: `#${id}` }, part.dataset.name));
  return make();
}
function startPage() {
  startTheme();
  const { data } = report;
  if (data) {
    find("subtitle").textContent = `${whole.format(data.n_rows)} rows, ${whole.format(data.n_columns)} ${data.n_columns === 1 ? "column" : "columns"}.`;
    if (!data.shows_rows) find("subtitle").textContent += " This page holds no values, names or points of single rows.";
  }
  let scatter = null;
  if (report.verdict) startPart("verdict", () => makeVerdict(report));
  if (report.explorer) {
    report.hierarchy = readHierarchy(report.explorer);
    const points = report.explorer.points;
    const ids = new Map(points && points.ids ? points.rows.map((row, i) => [row, points.ids[i]]) : []);
    report.idOf = (row) => rowName(row, ids.get(row));
    scatter = startPart("explorer", () => makeExplorer(report));
  }
  if (report.stability) startPart("stability", () => makeStability(report));
  if (report.sensitivity) startPart("stability", () => makeSensitivity(report));
  if (report.rows) startPart("rows", () => makeRows(report, scatter));
  if (report.choosing) startPart("choosing", () => makeChoosing(report));
  if (report.made) startPart("made", () => makeMaking(report));
  document.querySelectorAll("section:not([hidden]) h2 .number").forEach((number, i) => { number.textContent = i + 1; });
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hide(); });
  document.documentElement.dataset.ready = "true";
}
startPage();
