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
