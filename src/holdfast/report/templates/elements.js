// Elements and text. Nothing on this page is ever parsed as HTML: strings become text nodes.
const SVG = "http://www.w3.org/2000/svg";
const find = (id) => document.getElementById(id);

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const html = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => put(document.createElementNS(SVG, tag), attributes, children);

const whole = new Intl.NumberFormat("en-US");
function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return Math.abs(value) < 1e7 ? whole.format(value) : value.toPrecision(digits);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toPrecision(digits);
  return whole.format(Number(value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size)))))) === "0"
    ? value.toPrecision(digits)
    : new Intl.NumberFormat("en-US", { maximumSignificantDigits: digits }).format(value);
}
function percent(share) {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  if (value !== 0 && Math.abs(value) < 0.01) return "<0.01%";
  return `${value.toFixed(value === 0 || Math.abs(value) >= 9.95 ? 0 : Math.abs(value) < 0.1 ? 2 : 1)}%`;
}
const percentTick = (share) => `${Number((100 * share).toPrecision(4))}%`;
// A long name may break after a mark inside it.
const breakable = (name) => name.split(/(?<=[_/.,:;-])/).flatMap((part) => [part, document.createElement("wbr")]);
const columnHead = (name) => ({ text: name, cls: name.length > 16 ? "num name long" : "num name" });
const rowName = (row, id) => (id === null || id === undefined ? `row ${row}` : id);

function table(head, body, caption) {
  const cell = (tag, item) => {
    const { text, cls, node, title } = item !== null && typeof item === "object" ? item : { text: item };
    return html(tag, { class: cls, scope: tag === "th" ? "col" : null, title }, node || (tag === "th" && typeof text === "string" ? breakable(text) : text));
  };
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    html("table", {},
      html("thead", {}, html("tr", {}, head.map((item) => cell("th", item)))),
      html("tbody", {}, body.map((row) => html("tr", row.attributes, row.cells.map((item) => cell("td", item)))))));
}

// One box that follows the pointer or the keyboard.
const tip = {
  show(lines, x, y) {
    const box = find("tip");
    box.replaceChildren(...lines);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    box.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    box.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - height - 4))}px`;
  },
  hide() { find("tip").hidden = true; },
};
const pairs = (rows) => html("table", {}, html("tbody", {}, rows.map(([name, value]) =>
  html("tr", {}, html("td", {}, name), html("td", {}, value)))));

// Draws at the width there is, and again when that changes.
function redraw(holder, draw) {
  let width = 0;
  const check = () => {
    const now = Math.floor(holder.clientWidth);
    if (now < 40 || now === width) return;
    width = now;
    holder.replaceChildren(draw(now));
  };
  new ResizeObserver(() => requestAnimationFrame(check)).observe(holder);
  check();
}
