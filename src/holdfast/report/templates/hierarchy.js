// All cuts, from `parent` and the sizes of the last clusters. Split t makes node 2t - 1, what is
// left of the cluster that it splits, and node 2t, the new cluster t. Node 0 is all rows.

// For each last cluster, its cluster in the cut into k.
function ownersAt(parent, k) {
  const owners = [];
  for (let t = 0; t < parent.length; t++) owners.push(t < k ? t : owners[parent[t]]);
  return owners;
}

// The last clusters in an order that keeps every cluster of every cut together: each cluster is
// followed by what was split from it, latest first.
function nestedOrder(parent) {
  const children = parent.map(() => []);
  for (let t = 1; t < parent.length; t++) children[parent[t]].push(t);
  const order = [];
  const stack = [0];
  while (stack.length) {
    const cluster = stack.pop();
    order.push(cluster);
    stack.push(...children[cluster]);
  }
  return order;
}

function readHierarchy({ parent, sizes, max_k: maxK }) {
  const cuts = new Map();
  function cut(k) {
    if (!cuts.has(k)) cuts.set(k, ownersAt(parent, k));
    return cuts.get(k);
  }

  function makeNode(id, cluster, since, above) {
    const owners = cut(since);
    const inside = new Set();
    owners.forEach((owner, last) => {
      if (owner === cluster) inside.add(last);
    });
    let size = 0;
    for (const last of inside) size += sizes[last];
    return { id, cluster, since, until: maxK, above, below: [], inside, size };
  }

  const nodes = [makeNode(0, 0, 1, null)];
  const current = [0]; // the node that each cluster is at present
  for (let t = 1; t < maxK; t++) {
    const split = nodes[current[parent[t]]];
    split.until = t;
    split.below = [2 * t - 1, 2 * t];
    nodes.push(makeNode(2 * t - 1, parent[t], t + 1, split.id));
    nodes.push(makeNode(2 * t, t, t + 1, split.id));
    current[parent[t]] = 2 * t - 1;
    current[t] = 2 * t;
  }

  const start = new Map();
  let total = 0;
  for (const last of nestedOrder(parent)) {
    start.set(last, total);
    total += sizes[last];
  }
  for (const node of nodes) {
    node.left = Math.min(...[...node.inside].map((last) => start.get(last)));
  }

  function nodesAt(k) {
    const present = nodes.filter((node) => node.since <= k && k <= node.until);
    return present.sort((a, b) => a.cluster - b.cluster);
  }
  return { parent, maxK, cut, nodes, nodesAt, total };
}

// The hierarchy: a block for each cluster, as wide as its rows, from the cut where it appears to the
// one that splits it.

const ICICLE_LEFT = 26; // pixels, for the numbers k
const LEAST_STEP = 14; // pixels from one k to the next: the height of a number

function describeNode(node) {
  const range = node.until > node.since ? `${node.since} to ${node.until}` : `${node.since}`;
  return `${plural(node.size, "row")}, for k = ${range}`;
}

function makeIcicle(report, state) {
  const { hierarchy } = report;
  const { maxK, nodes, total } = hierarchy;
  let view = null;

  function draw(width) {
    const step = Math.max(LEAST_STEP, Math.min(20, 400 / maxK));
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
    const every = step < LINE_HEIGHT ? 5 : maxK > 20 ? 2 : 1;
    const numbers = [];
    for (let k = 1; k <= maxK; k++) {
      if (k !== 1 && (k % every !== 0 || (k - 1) * step < LINE_HEIGHT)) continue;
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

  // In the first row of a block, where the line of no cut passes.
  function drawNumber(node, position, step) {
    const { x, y, width } = boxOf(node, position, step);
    const fits = width > measureText(String(node.cluster), true).width + 4;
    const place = { x: x + width / 2, y: y + step / 2 + 4, "text-anchor": "middle" };
    return svg("g", { "aria-hidden": "true" }, fits ? svg("text", place, node.cluster) : null);
  }

  function drawBlock(node, position, step) {
    const box = boxOf(node, position, step);
    const shape = shapeNumber(node.cluster);
    const name = `Segment ${node.cluster}`;
    return svg(
      "g",
      {
        tabindex: -1,
        role: "button",
        "aria-label": `${name}: ${describeNode(node)}`,
        onclick: () => state.toggle(node),
        onkeydown: (event) => handleKey(event, node),
        onfocus: () => makeTabStop(node),
        ...withTip(() => [html("b", {}, name), html("span", {}, describeNode(node))]),
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
