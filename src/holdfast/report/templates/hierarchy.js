// All cuts from `parent` and the sizes of the last clusters. Split t makes node 2t - 1, what is left of the
// cluster it splits, and node 2t, the new cluster t. Node 0 is all rows.
function readHierarchy(explorer) {
  const { parent, sizes, max_k: maxK } = explorer;
  const cuts = new Map();
  function cut(k) { // for each last cluster, its cluster among the first k
    if (!cuts.has(k)) {
      const above = [];
      for (let t = 0; t < maxK; t++) above.push(t < k ? t : above[parent[t]]);
      cuts.set(k, above);
    }
    return cuts.get(k);
  }
  const node = (id, cluster, since, above) => {
    const inside = new Set();
    cut(since).forEach((owner, last) => { if (owner === cluster) inside.add(last); });
    let size = 0;
    for (const last of inside) size += sizes[last];
    return { id, cluster, since, until: maxK, above, below: [], inside, size };
  };
  const nodes = [node(0, 0, 1, null)];
  const now = [0]; // the node that each cluster is at present
  for (let t = 1; t < maxK; t++) {
    const split = nodes[now[parent[t]]];
    split.until = t;
    split.below = [2 * t - 1, 2 * t];
    nodes.push(node(2 * t - 1, parent[t], t + 1, split.id), node(2 * t, t, t + 1, split.id));
    now[parent[t]] = 2 * t - 1;
    now[t] = 2 * t;
  }
  // Every coarser cut has its rows together: each cluster is followed by what split from it, latest first.
  const children = parent.map(() => []);
  for (let t = 1; t < maxK; t++) children[parent[t]].push(t);
  const order = [], todo = [0];
  while (todo.length) { const t = todo.pop(); order.push(t); todo.push(...children[t]); }
  const start = new Map();
  let left = 0;
  for (const t of order) { start.set(t, left); left += sizes[t]; }
  for (const n of nodes) n.left = Math.min(...[...n.inside].map((last) => start.get(last)));
  const at = (k) => nodes.filter((n) => n.since <= k && k <= n.until).sort((a, b) => a.cluster - b.cluster);
  return { parent, maxK, cut, nodes, at, total: left };
}
