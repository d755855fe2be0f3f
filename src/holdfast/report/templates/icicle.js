// The hierarchy: a block for each cluster, as wide as its rows, from the cut where it appears to the one that splits it.
function makeIcicle(report, state) {
  const { hierarchy } = report, { maxK, nodes, total } = hierarchy;
  let view = null;
  const describe = (n) => `Cluster ${n.cluster}: ${whole.format(n.size)} rows, for k = ${n.since}${n.until > n.since ? ` to ${n.until}` : ""}`;

  function draw(width) {
    const left = 26, step = Math.max(9, Math.min(20, 400 / maxK)), height = step * maxK + 12;
    const px = scale(0, total, left, width - 2);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Hierarchy of clusters. Arrow keys go from block to block." }, hatches());
    const every = step < 13 ? 5 : maxK > 20 ? 2 : 1;
    for (let k = 1; k <= maxK; k++) if (k === 1 || k % every === 0) root.append(svg("text", { class: "tick", x: left - 6, y: (k - 0.5) * step + 4, "text-anchor": "end", "aria-hidden": "true" }, k));
    const blocks = nodes.map((n) => {
      const box = { x: px(n.left), y: (n.since - 1) * step, width: Math.max(1, px(n.left + n.size) - px(n.left)), height: (n.until - n.since + 1) * step };
      const group = groupOf(n.cluster);
      const g = svg("g", { tabindex: -1, role: "button", "aria-label": describe(n), onclick: () => state.toggle(n),
        onkeydown: (event) => move(event, n), onfocus: () => rove(n),
        onpointermove: (event) => tip.show([html("b", {}, `Cluster ${n.cluster}`), html("span", {}, describe(n).split(": ")[1])], event.clientX, event.clientY), onpointerleave: tip.hide },
      svg("rect", { class: "fill", ...box }), group ? svg("rect", { class: "hatch", ...box, fill: `url(#hatch${group})` }) : null, svg("rect", { class: "edge", ...box }));
      if (box.width > 18 && box.height > 8.5) g.append(svg("text", { x: box.x + box.width / 2, y: box.y + Math.min(box.height, 24) / 2 + 4, "text-anchor": "middle" }, n.cluster));
      root.append(g);
      return g;
    });
    const level = svg("line", { class: "level", x1: left - 4, x2: width });
    root.append(level);
    view = { blocks, level, step };
    blocks[0].setAttribute("tabindex", 0);
    paint();
    return root;
  }
  function rove(n) { view.blocks.forEach((b, i) => b.setAttribute("tabindex", i === n.id ? 0 : -1)); }
  function move(event, n) {
    const beside = (step) => {
      const same = hierarchy.at(Math.min(n.until, Math.max(n.since, state.k))).sort((a, b) => a.left - b.left);
      return same[same.indexOf(n) + step];
    };
    const next = { ArrowUp: () => nodes[n.above], ArrowDown: () => nodes[n.below[0]], ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) }[event.key];
    if (next) {
      event.preventDefault();
      const to = next();
      if (to) view.blocks[to.id].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      state.toggle(n);
    } else if (event.key === "Escape") state.toggle(null);
  }
  function paint() {
    if (!view) return;
    nodes.forEach((n, i) => {
      const chosen = state.chosen === n;
      const inside = !state.chosen || [...n.inside].every((last) => state.chosen.inside.has(last));
      view.blocks[i].setAttribute("class", `block ${colorOf(n.cluster)}${n.since > state.k ? " beyond" : ""}${chosen ? " chosen" : ""}${inside || chosen ? "" : " faded"}`);
      view.blocks[i].setAttribute("aria-pressed", String(chosen));
    });
    for (const name of ["y1", "y2"]) view.level.setAttribute(name, state.k * view.step);
  }
  redraw(find("icicle"), draw);
  return { paint };
}
