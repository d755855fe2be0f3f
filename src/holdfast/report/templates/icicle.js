// The hierarchy: a block for each cluster, as wide as its rows, from the cut where it appears to the
// one that splits it.

const ICICLE_LEFT = 26; // pixels, for the numbers k

function describeNode(node) {
  const range = node.until > node.since ? `${node.since} to ${node.until}` : `${node.since}`;
  return `${plural(node.size, "row")}, for k = ${range}`;
}

function makeIcicle(report, state) {
  const { hierarchy } = report;
  const { maxK, nodes, total } = hierarchy;
  let view = null;

  function draw(width) {
    const step = Math.max(9, Math.min(20, 400 / maxK));
    const position = linearScale(0, total, ICICLE_LEFT, width - 2);
    const blocks = nodes.map((node) => drawBlock(node, position, step));
    const numbers = nodes.map((node) => drawNumber(node, position, step));
    const level = svg("line", { class: "level", x1: ICICLE_LEFT - 4, x2: width });
    const root = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${step * maxK + 12}`,
        role: "group",
        "aria-label": "Hierarchy of clusters. Arrow keys go from block to block.",
      },
      hatchPatterns(),
      drawLevels(step),
      blocks,
      level,
      numbers, // their halos interrupt the line of the cut
    );
    view = { blocks, numbers, level, step };
    blocks[0].setAttribute("tabindex", 0);
    paint();
    return root;
  }

  function drawLevels(step) {
    const every = step < 13 ? 5 : maxK > 20 ? 2 : 1;
    const numbers = [];
    for (let k = 1; k <= maxK; k++) {
      if (k !== 1 && k % every !== 0) continue;
      const place = { x: ICICLE_LEFT - 6, y: (k - 0.5) * step + 4, "text-anchor": "end" };
      numbers.push(svg("text", { class: "tick", "aria-hidden": "true", ...place }, k));
    }
    return numbers;
  }

  function boxOf(node, position, step) {
    const x = position(node.left);
    return {
      x,
      y: (node.since - 1) * step,
      width: Math.max(1, position(node.left + node.size) - x),
      height: (node.until - node.since + 1) * step,
    };
  }

  function drawNumber(node, position, step) {
    const { x, y, width, height } = boxOf(node, position, step);
    const fits = width > 18 && height > 8.5;
    const place = {
      x: x + width / 2,
      y: y + Math.min(height, 24) / 2 + 4,
      "text-anchor": "middle",
    };
    return svg("g", { "aria-hidden": "true" }, fits ? svg("text", place, node.cluster) : null);
  }

  function drawBlock(node, position, step) {
    const box = boxOf(node, position, step);
    const shape = shapeNumber(node.cluster);
    const describe = (event) =>
      tooltip.show(
        [html("b", {}, `Segment ${node.cluster}`), html("span", {}, describeNode(node))],
        event.clientX,
        event.clientY,
      );
    return svg(
      "g",
      {
        tabindex: -1,
        role: "button",
        "aria-label": `Segment ${node.cluster}: ${describeNode(node)}`,
        onclick: () => state.toggle(node),
        onkeydown: (event) => handleKey(event, node),
        onfocus: () => makeTabStop(node),
        onpointermove: describe,
        onpointerleave: tooltip.hide,
      },
      svg("rect", { class: "fill", ...box }),
      shape ? svg("rect", { class: "hatch", ...box, fill: `url(#hatch${shape})` }) : null,
      svg("rect", { class: "edge", ...box }),
    );
  }

  // All blocks are one stop of the tab key.
  function makeTabStop(node) {
    view.blocks.forEach((block, i) => block.setAttribute("tabindex", i === node.id ? 0 : -1));
  }

  function neighbor(node, step) {
    const k = Math.min(node.until, Math.max(node.since, state.k));
    const row = hierarchy.nodesAt(k).sort((a, b) => a.left - b.left);
    return row[row.indexOf(node) + step];
  }

  function handleKey(event, node) {
    const targets = {
      ArrowUp: () => nodes[node.above],
      ArrowDown: () => nodes[node.below[0]],
      ArrowLeft: () => neighbor(node, -1),
      ArrowRight: () => neighbor(node, 1),
    };
    if (targets[event.key]) {
      event.preventDefault();
      const target = targets[event.key]();
      if (target) view.blocks[target.id].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      state.toggle(node);
    } else if (event.key === "Escape") {
      state.toggle(null);
    }
  }

  function paint() {
    if (!view) return;
    nodes.forEach((node, i) => {
      const chosen = state.chosen === node;
      const isInside = (last) => state.chosen.inside.has(last);
      const faded = state.chosen && !chosen && ![...node.inside].every(isInside);
      const classes = ["block", colorClass(node.cluster)];
      if (node.since > state.k) classes.push("beyond");
      if (chosen) classes.push("chosen");
      if (faded) classes.push("faded");
      view.blocks[i].setAttribute("class", classes.join(" "));
      view.numbers[i].setAttribute("class", classes.join(" ").replace("block", "number"));
      view.blocks[i].setAttribute("aria-pressed", String(chosen));
    });
    view.level.setAttribute("y1", state.k * view.step);
    view.level.setAttribute("y2", state.k * view.step);
  }

  drawToFit(byId("icicle"), draw);
  return { paint };
}
