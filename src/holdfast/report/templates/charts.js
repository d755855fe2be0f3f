// Lines with bands, and dots with names. Every chart can be walked through with the arrow keys and read as a table.
const MARGIN = { left: 58, right: 16, top: 14, bottom: 44 };

function scale(low, high, from, to, log) {
  const f = log ? Math.log : (v) => v;
  const span = f(high) - f(low) || 1;
  return (v) => from + ((f(v) - f(low)) / span) * (to - from);
}
function roundTicks(low, high, count) {
  const raw = (high - low || 1) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999);
  const found = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) found.push(Number(v.toPrecision(12)));
  return found;
}
function frame(width, height, x, y, px, py, spec) {
  const bottom = height - MARGIN.bottom;
  return svg("g", { "aria-hidden": "true" },
    y.map((v) => [svg("line", { class: "rule", x1: MARGIN.left, x2: width - MARGIN.right, y1: py(v), y2: py(v) }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: py(v) + 4, "text-anchor": "end" }, (spec.y.tick || spec.y.format)(v))]),
    x.map((v) => svg("text", { class: "tick", x: px(v), y: bottom + 17, "text-anchor": "middle" }, spec.x.format(v))),
    svg("line", { class: "base", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    svg("text", { class: "axis", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, spec.x.label));
}
function thin(ticks, px, gap) { // leave out ticks whose labels would touch
  let last = -Infinity;
  return ticks.filter((v) => { if (px(v) - last < gap) return false; last = px(v); return true; });
}
const runs = (points) => points.filter((p) => p.y !== null);

function drawLines(spec, width) {
  const height = spec.height || 300, all = spec.series.flatMap((s) => runs(s.points));
  const xs = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  const top = Math.max(...all.map((p) => p.high ?? p.y), spec.y.least || 0);
  const floor = spec.y.fromZero === false ? Math.min(...all.map((p) => p.low ?? p.y)) : 0;
  const px = scale(xs[0], xs.at(-1), MARGIN.left + 8, width - MARGIN.right - 8, spec.x.log);
  const py = scale(floor, top + (top - floor || 1) * 0.04, height - MARGIN.bottom, MARGIN.top);
  const ticks = thin(spec.x.ticks || xs, px, spec.x.gap || 30);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", tabindex: 0,
    "aria-label": `${spec.title}. Arrow keys move along the horizontal axis.` },
  frame(width, height, ticks, roundTicks(floor, top, 5), px, py, spec));
  for (const s of spec.series) {
    const points = runs(s.points), g = svg("g", { class: colorOf(s.mark) });
    const banded = points.filter((p) => p.low !== undefined && p.low !== null);
    if (banded.length > 1) g.append(svg("path", { class: s.strong ? "band strong" : "band", d:
      `M${banded.map((p) => `${px(p.x)} ${py(p.high)}`).join("L")}L${banded.toReversed().map((p) => `${px(p.x)} ${py(p.low)}`).join("L")}z` }));
    g.append(svg("path", { class: s.strong ? "line strong" : "line", "stroke-dasharray": s.dash, d: `M${points.map((p) => `${px(p.x)} ${py(p.y)}`).join("L")}` }));
    for (const p of points) g.append(svg("path", { class: "dot", transform: `translate(${px(p.x)} ${py(p.y)})`, d: shapePath(s.shape || 0, s.strong ? 4.6 : 3.8) }));
    root.append(g);
  }
  for (const m of spec.marks || []) {
    if (m.x === null || m.x === undefined) continue;
    const end = px(m.x) > width * 0.7;
    root.append(svg("line", { class: "cursor", x1: px(m.x), x2: px(m.x), y1: MARGIN.top, y2: height - MARGIN.bottom }),
      svg("text", { class: "halo", x: px(m.x) + (end ? -5 : 5), y: MARGIN.top + 10 + 15 * (m.line || 0), "text-anchor": end ? "end" : "start" }, m.label));
  }
  if (spec.y.limit) root.append(svg("line", { class: "cursor", x1: MARGIN.left, x2: width - MARGIN.right, y1: py(spec.y.limit.y), y2: py(spec.y.limit.y) }),
    svg("text", { class: "halo", x: MARGIN.left + 4, y: py(spec.y.limit.y) + 14 }, spec.y.limit.label));
  walk(root, xs, px, width, height, (x) => [html("b", {}, `${spec.x.name || spec.x.label}: ${spec.x.format(x)}`),
    pairs(spec.series.flatMap((s) => s.points.filter((p) => p.x === x && p.y !== null).map((p) =>
      [s.name, p.low === undefined || p.low === null ? spec.y.format(p.y) : `${spec.y.format(p.y)} (${spec.y.format(p.low)} to ${spec.y.format(p.high)})`])))]);
  return root;
}
// A cursor along the horizontal axis, by pointer or by keys.
function walk(root, xs, px, width, height, describe) {
  const line = svg("line", { class: "cursor", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden" });
  root.append(line);
  let at = -1;
  const show = (index, clientX, clientY) => {
    at = Math.max(0, Math.min(xs.length - 1, index));
    const x = px(xs[at]), box = root.getBoundingClientRect();
    for (const name of ["x1", "x2"]) line.setAttribute(name, x);
    line.setAttribute("visibility", "visible");
    tip.show(describe(xs[at]), clientX ?? box.left + (x / width) * box.width, clientY ?? box.top + box.height / 3);
  };
  const hide = () => { line.setAttribute("visibility", "hidden"); tip.hide(); };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * width;
    show(xs.reduce((best, v, i) => (Math.abs(px(v) - x) < Math.abs(px(xs[best]) - x) ? i : best), 0), event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("blur", hide);
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    show(at < 0 ? 0 : at + step);
  });
}
function drawDots(spec, width) {
  const height = spec.height || 360, all = spec.dots;
  const xs = all.map((d) => d.x), pad = (Math.max(...xs) - Math.min(...xs) || Math.max(...xs) * 0.1 || 1) * 0.12;
  const low = Math.min(...xs) - pad, high = Math.max(...xs) + pad, top = Math.max(...all.map((d) => d.high));
  const px = scale(low, high, MARGIN.left, width - MARGIN.right), py = scale(-0.05 * top, top * 1.05 || 1, height - MARGIN.bottom, MARGIN.top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spec.title },
    frame(width, height, thin(roundTicks(low, high, 6), px, 48), roundTicks(0, top, 5), px, py, spec));
  const taken = all.map((d) => ({ x: px(d.x) - 7, y: py(d.y) - 7, w: 14, h: 14 }));
  for (const d of all.toSorted((a, b) => (b.strong ? 1 : 0) - (a.strong ? 1 : 0))) {
    const x = px(d.x), y = py(d.y), w = d.name.length * 6.6 + 4;
    const places = [[10, 4], [-10 - w, 4], [-w / 2, -12], [-w / 2, 21], [10, -10], [10, 18], [-10 - w, -10], [-10 - w, 18]];
    const hits = ([dx, dy]) => {
      const box = { x: x + dx, y: y + dy - 11, w, h: 14 };
      const out = box.x < MARGIN.left - 40 || box.x + w > width - 2 ? 3 : 0;
      return out + taken.filter((o) => box.x < o.x + o.w && o.x < box.x + box.w && box.y < o.y + o.h && o.y < box.y + box.h).length;
    };
    const best = places.reduce((a, b) => (hits(b) < hits(a) ? b : a));
    taken.push({ x: x + best[0], y: y + best[1] - 11, w, h: 14 });
    root.append(svg("g", { class: colorOf(d.mark) },
      svg("line", { class: "whisker", x1: x, x2: x, y1: py(d.low), y2: py(d.high) }),
      svg("path", { class: "dot", transform: `translate(${x} ${y})`, d: shapePath(d.shape || 0, d.strong ? 7 : 5.5),
        onpointermove: (event) => tip.show([html("b", {}, d.name), pairs(d.lines)], event.clientX, event.clientY), onpointerleave: tip.hide })),
    svg("text", { class: d.strong ? "halo strong" : "halo", x: x + best[0], y: y + best[1] }, d.name));
  }
  return root;
}
function legend(series) {
  return html("ul", { class: "legend" }, series.map((s) => html("li", {},
    svg("svg", { class: `swatch ${colorOf(s.mark)}`, viewBox: "0 0 26 18", "aria-hidden": "true", width: 26 },
      svg("path", { class: s.strong ? "line strong" : "line", d: "M0 9H26", "stroke-dasharray": s.dash }),
      svg("path", { class: "dot", transform: "translate(13 9)", d: shapePath(s.shape || 0, 4.5) })), s.name)));
}
function chart(spec, draw, cls) {
  const holder = html("div", { class: "chart" });
  const figure = html("figure", { class: cls }, html("figcaption", {}, html("h3", {}, spec.title)),
    spec.y.label ? html("p", { class: "muted small" }, spec.y.label) : null, holder,
    spec.series && spec.series.length > 1 ? legend(spec.series) : null, spec.table ? html("details", {}, html("summary", {}, "The same as a table"), spec.table()) : null);
  requestAnimationFrame(() => redraw(holder, (width) => draw(spec, width)));
  return figure;
}
function lineTable(spec) {
  const xs = [...new Set(spec.series.flatMap((s) => s.points.map((p) => p.x)))].sort((a, b) => a - b);
  const shown = (p) => (!p || p.y === null ? "" : p.low === undefined || p.low === null ? spec.y.format(p.y) : `${spec.y.format(p.y)} (${spec.y.format(p.low)}–${spec.y.format(p.high)})`);
  return table([spec.x.name || spec.x.label, ...spec.series.map((s) => ({ text: s.name, cls: "num" }))],
    xs.map((x) => ({ cells: [spec.x.format(x), ...spec.series.map((s) => ({ text: shown(s.points.find((p) => p.x === x)), cls: "num" }))] })), spec.title);
}
