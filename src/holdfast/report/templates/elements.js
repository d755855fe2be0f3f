// Elements and text. Nothing on this page is ever parsed as HTML: strings become text nodes.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

// No line ends inside "k = 10".
const keepTogether = (text) => text.replace(/\bk = (?=\d)/g, "k\u00a0=\u00a0");

// Attributes that start with "on" become listeners; null, undefined and false are left out.
function fillElement(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(keepTogether(String(child))));
  }
  return element;
}

function html(tag, attributes, ...children) {
  return fillElement(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fillElement(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

const MISSING = "–";

const integerFormat = new Intl.NumberFormat("en-US");

// A hyphen before digits is shown as a minus sign.
const withMinus = (text) => text.replace(/^-/, "−");

const formatCount = (count) => withMinus(integerFormat.format(count));

const plural = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

function formatNumber(value, digits = 4) {
  if (value === null || value === undefined) return MISSING;
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return formatCount(value);
  if (size >= 1e6) return withMinus(value.toPrecision(digits));
  if (size < 1e-4) return withMinus(String(Number(value.toPrecision(digits))));
  const format = new Intl.NumberFormat("en-US", { maximumSignificantDigits: digits });
  return withMinus(format.format(value));
}

// A value of a row: numbers of four digits, such as years, are not grouped unless others of its column
// are. `decimals` are those of the means of its column; two more are enough, unless nothing would be left.
function formatValue(exact, decimals = null, grouped = false) {
  const rounded = exact === null || decimals === null ? exact : Number(exact.toFixed(decimals + 2));
  const value = rounded === 0 ? exact : rounded;
  const isShort = !grouped && value !== null && Math.abs(value) >= 1000 && Math.abs(value) < 10000;
  return isShort ? withMinus(String(Number(value.toPrecision(5)))) : formatNumber(value);
}

// Seconds since 1970.
function formatDate(seconds) {
  if (seconds === null || seconds === undefined) return MISSING;
  const date = new Date(1000 * seconds);
  return Number.isNaN(date.getTime()) ? formatNumber(seconds) : date.toISOString().slice(0, 10);
}

// As `format_fraction` in page.py: only an exact zero is shown as 0%.
function formatFraction(fraction) {
  if (fraction === null || fraction === undefined) return MISSING;
  const percent = 100 * fraction;
  const size = Math.abs(percent);
  if (percent === 0) return "0%";
  if (size < 0.01) return percent > 0 ? "<0.01%" : ">−0.01%";
  const decimals = size < 0.1 ? 2 : size < 9.95 ? 1 : 0;
  return withMinus(`${percent.toFixed(decimals)}%`);
}

const formatPercentTick = (fraction) =>
  withMinus(`${Number((100 * fraction).toPrecision(4))}%`);

const rowName = (row, id) => (id === null || id === undefined ? `row ${row}` : id);

const LONG_PART = 11; // characters; longer parts of a name get hyphens where they break

// A long name may break after a punctuation mark inside it, and a long part with a hyphen.
function breakable(name) {
  const parts = name.split(/(?<=[_/.,:;-])/).flatMap((part) => {
    if (part.length <= LONG_PART || /\s/.test(part)) return [part];
    const pieces = Math.ceil(part.length / (LONG_PART - 2));
    const size = Math.ceil(part.length / pieces);
    const cuts = Array.from({ length: pieces }, (_, i) => part.slice(i * size, (i + 1) * size));
    return [cuts.join("\u00ad")];
  });
  return parts.flatMap((part) => [part, document.createElement("wbr")]);
}

const LONG_NAME = 16; // characters; longer names of columns get a wider column

function columnHead(name) {
  return { text: name, class: name.length > LONG_NAME ? "num name long" : "num name" };
}

// A cell is text, or an object of `text` or `node`, `class`, `title` and `label`. The label stands
// before the value where a narrow screen shows each line of the table as a card.
function tableCell(tag, item) {
  const cell = item !== null && typeof item === "object" ? item : { text: item };
  const isHead = tag === "th";
  const text = isHead && typeof cell.text === "string" ? breakable(cell.text) : cell.text;
  const attributes = {
    class: cell.class,
    scope: isHead ? "col" : null,
    title: cell.title,
    "data-label": cell.label,
  };
  return html(tag, attributes, cell.node || text);
}

function buildTable(head, body, caption, { className, foot = [] } = {}) {
  const headRow = html(
    "tr",
    {},
    head.map((item) => tableCell("th", item)),
  );
  const lines = (rows) =>
    rows.map((row) =>
      html(
        "tr",
        row.attributes,
        row.cells.map((item) => tableCell("td", item)),
      ),
    );
  const table = html(
    "table",
    {},
    html("thead", {}, headRow),
    html("tbody", {}, lines(body)),
    foot.length ? html("tfoot", {}, lines(foot)) : null,
  );
  const region = { tabindex: 0, role: "region", "aria-label": caption };
  return html("div", { class: className ? `scroll ${className}` : "scroll", ...region }, table);
}

// One box that follows the pointer or the keyboard.
const tooltip = {
  show(lines, x, y) {
    const box = byId("tip");
    box.replaceChildren(...lines);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const fitsRight = x + 14 + width <= innerWidth;
    const left = fitsRight ? x + 14 : x - 14 - width;
    box.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    box.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - height - 4))}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};

// Attributes of an element that shows lines beside the pointer.
const withTip = (describe) => ({
  onpointermove: (event) => tooltip.show(describe(), event.clientX, event.clientY),
  onpointerleave: tooltip.hide,
});

// Calls `step` with 1 or -1 for the right and left arrow keys.
function stepWithKeys(root, step) {
  root.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    step(by);
  });
}

function pairTable(pairs) {
  const rows = pairs.map(([name, value]) =>
    html("tr", {}, html("td", {}, name), html("td", {}, value)),
  );
  return html("table", {}, html("tbody", {}, rows));
}

const MIN_WIDTH = 40; // pixels; nothing is drawn into a holder that is hidden

// Draws at the width there is, and again whenever that changes.
function drawToFit(holder, draw, onDrawn = () => {}) {
  let drawnWidth = 0;
  const check = () => {
    const width = Math.floor(holder.clientWidth);
    if (width < MIN_WIDTH || width === drawnWidth) return;
    drawnWidth = width;
    holder.replaceChildren(draw(width));
    onDrawn();
  };
  new ResizeObserver(() => requestAnimationFrame(check)).observe(holder);
  check();
}

// What every page has: parts that the table of contents lists.

const block = (title, ...content) =>
  html("div", { class: "block-of" }, html("h3", {}, title), content);

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
