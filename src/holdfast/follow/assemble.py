"""Clusters of all levels -> one hierarchy: an order of splits, costs of every cut, centers, names."""

from dataclasses import replace

import numpy as np

from holdfast._machine.jit import Floats, Ints, Ints32, read_only
from holdfast.follow._kernels import closest_units
from holdfast.follow.match import Today, Yesterday, key_rows
from holdfast.follow.state import NEW, Levels, Problem, Solution
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.locate import MeansLocator
from holdfast.hierarchy.model import Locator, Naming


def give_names(levels: Levels, next_name: int) -> tuple[Levels, int]:
    """Give new clusters the next names, level by level."""
    names = levels.names.copy()
    for c in np.flatnonzero(names == NEW).tolist():
        names[c] = next_name
        next_name += 1
    return Levels(levels.sizes, levels.path, names), next_name


def build_changed(
    yesterday: Yesterday,
    today: Today,
    before: Levels,
    problem: Problem,
    rows: Floats,
    found: Solution,
    next_name: int,
    parent: Ints32 | None,
) -> Hierarchy:
    """Build the hierarchy of a solution, whose clusters all have names.

    `parent` is the order of splits if leaves are the labels of a new fit. It is that of yesterday if no
    cluster began, ended or changed its parent. Otherwise clusters between two levels are those of Ward's
    method on the means of the finer one.
    """
    levels, units, table = found.levels, problem.units, today.table
    same = np.array_equal(before.names, levels.names) and np.array_equal(before.path, levels.path)
    if parent is None and same:
        parent = yesterday.hierarchy.parent[: before.sizes[-1]]
    if parent is None:
        label, parent = _order_splits(found)
    else:
        label, parent = np.arange(levels.sizes[-1], dtype=np.int32), parent.copy()
    leaf, center, path = label[found.leaf], _centers(problem, found), np.empty_like(levels.path)
    center[label], path[label] = center.copy(), levels.path
    with np.errstate(over="ignore"):
        costs = _costs_of_cuts(problem, found, leaf, label, parent) * table.weight_unit
        costs = np.ldexp(costs, -table.exponent)
    if not np.isfinite(costs).all():
        raise ValueError("The cost of X overflows float64. Rescale X or the weights.")
    metric, order = 2 if units.spherical else 0, np.arange(levels.sizes[-1], dtype=np.int32)
    scale = (1.0 / problem.ref)[levels.level_of]
    locator = MeansLocator(found.points, path, scale, order, parent, metric, table.exponent)
    finest = _label_all(today, rows, leaf[today.of_row], locator)
    arrays = today.first_row[center], costs, parent, finest
    for array in arrays:
        array.flags.writeable = False
    return Hierarchy(*arrays, locator, names_by_label(levels, path, next_name))


def _label_all(today: Today, rows: Floats, label: Ints32, locator: Locator) -> Ints32:
    """Give rows of no weight the label that they would be predicted."""
    if today.numbers.size == rows.shape[0]:
        return label
    finest = np.empty(rows.shape[0], dtype=np.int32)
    absent = np.ones(rows.shape[0], dtype=np.bool_)
    absent[today.numbers] = False
    finest[today.numbers], finest[absent] = label, locator.finest(rows[absent])
    return finest


def build_unchanged(
    yesterday: Yesterday, today: Today, before: Levels, start: Solution, rows: Floats
) -> Hierarchy:
    """Yesterday's hierarchy for the same rows, perhaps in another order."""
    hierarchy, units = yesterday.hierarchy.first(before.sizes[-1]), today.units
    label = _label_all(today, rows, start.leaf[today.of_row], hierarchy.locator)
    centers = yesterday.rows[hierarchy.center_indices]
    keys = key_rows(centers, None, yesterday.spherical, yesterday.seed).key
    pairs = zip(units.key.tolist(), units.origin.tolist(), strict=True)
    place = {pair: u for u, pair in enumerate(pairs)}
    center = today.first_row[[place[key, t] for t, key in enumerate(keys.tolist())]]
    names = tuple(hierarchy.names(k) for k in before.sizes)
    naming = Naming(before.sizes, names, next_name_of(hierarchy, before))
    return replace(
        hierarchy, center_indices=read_only(center), finest=read_only(label), naming=naming
    )


def next_name_of(hierarchy: Hierarchy, levels: Levels) -> int:
    """Return the first name that no cluster of a followed level has had; labels are names of a fit."""
    return levels.sizes[-1] if hierarchy.naming is None else hierarchy.naming.next_name


def _order_splits(found: Solution) -> tuple[Ints32, Ints32]:
    """Order splits by level, then by the cost of Ward's merge: labels of leaves, parents of labels."""
    levels = found.levels
    label_of = {-1: 0}  # of the clusters of the level above; -1 is the cluster of all rows
    parent, count = [-1], 1
    for level in range(len(levels.sizes)):
        above, first = levels.above(level), levels.offsets[level]
        merges = []
        for p in sorted(set(above.tolist())):
            family = (first + np.flatnonzero(above == p)).tolist()
            merges += [
                (height, p, i, pair) for i, (height, pair) in enumerate(_ward(found, family))
            ]
        # Of equal heights within a family, the later merge is undone first.
        merges.sort(key=lambda merge: (-merge[0], merge[1], -merge[2]))
        holder = {}
        for p in set(above.tolist()):
            holder[frozenset((first + np.flatnonzero(above == p)).tolist())] = label_of[p]
        for _, _, _, (stay, go) in merges:
            label = holder.pop(stay | go)
            holder[stay], holder[go] = label, count
            parent.append(label)
            count += 1
        label_of = {next(iter(group)): label for group, label in holder.items()}
    last = levels.offsets[-2]
    leaves = [label_of[last + q] for q in range(levels.sizes[-1])]
    return np.array(leaves, dtype=np.int32), np.array(parent, dtype=np.int32)


def _ward(
    found: Solution, family: list[int]
) -> list[tuple[float, tuple[frozenset[int], frozenset[int]]]]:
    """Merge siblings: the pair that costs least, again and again; heights never fall.

    The heavier part comes first.
    """
    groups = [frozenset([c]) for c in family]
    sums = [found.sums[c] for c in family]
    weights = [int(found.weights[c]) for c in family]
    merges: list[tuple[float, tuple[frozenset[int], frozenset[int]]]] = []
    height = 0.0
    while len(groups) > 1:
        cost, i, j = min(
            (_ward_cost(sums[i], weights[i], sums[j], weights[j]), i, j)
            for i in range(len(groups))
            for j in range(i + 1, len(groups))
        )
        height = max(height, cost)
        pair = (groups[i], groups[j])
        merges.append((height, pair if weights[i] >= weights[j] else pair[::-1]))
        groups[i] = groups[i] | groups[j]
        sums[i], weights[i] = sums[i] + sums[j], weights[i] + weights[j]
        del groups[j], sums[j], weights[j]
    return merges


def _ward_cost(a: Floats, n_a: int, b: Floats, n_b: int) -> float:
    square = 0.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        square += (x / n_a - y / n_b) ** 2
    return square * n_a * n_b / (n_a + n_b)


def _centers(problem: Problem, found: Solution) -> Ints:
    """Find the unit closest to the mean of each leaf; ties are settled by key."""
    units, count = problem.units, found.levels.sizes[-1]
    centers, square = np.full(count, -1, dtype=np.int64), np.full(count, np.inf)
    last = found.levels.offsets[-2]
    closest_units(units.rows, units.key, found.leaf, found.points, last, centers, square)
    return centers


def _costs_of_cuts(
    problem: Problem, found: Solution, leaf: Ints32, label: Ints32, parent: Ints32
) -> Floats:
    """Sum of distances to the means of the clusters, for every cut."""
    units, count = problem.units, found.levels.sizes[-1]
    # Nodes: first the finest clusters by label, then what they merge to, the finest merge first.
    of_label = np.argsort(label) + found.levels.offsets[-2]
    sums, weights = [*found.sums[of_label]], found.weights[of_label].tolist()
    node, above, merges = list(range(count)), {}, []
    for t in range(count - 1, 0, -1):
        a, b, new = node[parent[t]], node[t], len(sums)
        above[a] = above[b] = new
        merges.append((a, b, new))
        sums.append(sums[a] + sums[b])
        weights.append(weights[a] + weights[b])
        node[parent[t]] = new
    chains = [[q] for q in range(count)]
    for chain in chains:
        while chain[-1] in above:
            chain.append(above[chain[-1]])
    path = np.full((count, max(map(len, chains))), -1, dtype=np.int32)
    for q, chain in enumerate(chains):
        path[q, : len(chain)] = chain
    points = units.means(np.array(sums), np.array(weights))
    node_cost = units.costs(leaf, path, points).tolist()
    present = set(range(count))
    costs = [sum(node_cost[c] for c in sorted(present))]
    for a, b, merged in merges:
        present = present - {a, b} | {merged}
        costs.append(sum(node_cost[c] for c in sorted(present)))
    return np.minimum.accumulate(np.array(costs[::-1]))


def names_by_label(levels: Levels, path: Ints32, next_name: int) -> Naming:
    """Names of the labels of every level: label t of a level is the cluster that holds leaf t."""
    names = (read_only(levels.names[path[:k, level]]) for level, k in enumerate(levels.sizes))
    return Naming(levels.sizes, tuple(names), next_name)
