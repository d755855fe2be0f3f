// What every page has: the theme, and parts that the table of contents lists.

const block = (title, ...content) =>
  html("div", { class: "block-of" }, html("h3", {}, title), content);

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

function definitionList(title, entries) {
  const items = Object.entries(entries).flatMap(([name, value]) => [
    html("dt", {}, name),
    html("dd", {}, value),
  ]);
  return block(title, html("dl", {}, items));
}

function finishPage() {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") tooltip.hide();
  });
  document.documentElement.dataset.ready = "true";
}
