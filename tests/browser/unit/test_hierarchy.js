// Cluster 1 splits off 0, 2 off 1, 3 off 0.
const PARENT = [-1, 0, 1, 0];
const SIZES = [5, 3, 2, 7];
const tree = () => readHierarchy({ parent: PARENT, sizes: SIZES, max_k: 4 });

test("every cut follows from the parents", () => {
  assertEqual(
    [1, 2, 3, 4].map((k) => ownersAt(PARENT, k)),
    [
      [0, 0, 0, 0],
      [0, 1, 1, 0],
      [0, 1, 2, 0],
      [0, 1, 2, 3],
    ],
  );
});

test("nodes have the sizes and lives of their clusters", () => {
  const nodes = tree().nodes;
  assertEqual(
    nodes.map((node) => [node.cluster, node.size, node.since, node.until]),
    [
      [0, 17, 1, 1],
      [0, 12, 2, 3],
      [1, 5, 2, 2],
      [1, 3, 3, 4],
      [2, 2, 3, 4],
      [0, 5, 4, 4],
      [3, 7, 4, 4],
    ],
  );
  assertEqual(nodes[1].below, [5, 6]);
  assertEqual(nodes[6].above, 1);
});

test("each cut has its clusters in order, with all rows", () => {
  const { nodesAt, total } = tree();
  for (const k of [1, 2, 3, 4]) {
    const present = nodesAt(k);
    assertEqual(
      present.map((node) => node.cluster),
      [...Array(k).keys()],
    );
    assertEqual(
      present.reduce((sum, node) => sum + node.size, 0),
      total,
    );
  }
});

test("the clusters of every cut lie side by side without gaps", () => {
  const { nodesAt } = tree();
  for (const k of [1, 2, 3, 4]) {
    let left = 0;
    for (const node of nodesAt(k).sort((a, b) => a.left - b.left)) {
      assertEqual(node.left, left);
      left += node.size;
    }
  }
});
