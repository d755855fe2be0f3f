"""Clusters of all levels -> one hierarchy: an order of splits, costs of every cut, centers, names."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.follow._kernels import closest_units
from holdfast.follow.match import Today, Yesterday, key_rows
from holdfast.follow.state import NEW, Floats, Ints, Levels, Numbers, Problem, Solution
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.locate import MeansLocator
from holdfast.hierarchy.model import Naming


@dataclass(frozen=True, eq=False)
class _Order:
    """In which order leaves split off: the label of each leaf, and the parent of each label."""

    label: Numbers
    parent: Numbers


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
    parent: Numbers | None,
) -> Hierarchy:
    """Build the hierarchy of a solution; rows of no weight get the label that they would be predicted."""
    same = np.array_equal(before.names, found.levels.names)
    if parent is None and same and np.array_equal(before.path, found.levels.path):
        parent = yesterday.hierarchy.parent[: before.sizes[-1]]
    hierarchy = _build_followed(
        problem, found, parent, today.of_row, today.first_row, next_name,
        today.table.exponent, today.table.weight_unit,
    )  # fmt: skip
    if today.numbers.size == rows.shape[0]:
        return hierarchy
    finest = np.empty(rows.shape[0], dtype=np.int32)
    finest[today.numbers] = hierarchy.finest
    absent = np.ones(rows.shape[0], dtype=np.bool_)
    absent[today.numbers] = False
    finest[absent] = hierarchy.locator.finest(rows[absent])
    finest.flags.writeable = False
    return replace(hierarchy, finest=finest)


def build_unchanged(
    yesterday: Yesterday, today: Today, before: Levels, start: Solution, rows: Floats
) -> Hierarchy:
    """Yesterday's hierarchy for the same rows, perhaps in another order."""
    hierarchy = yesterday.hierarchy.first(before.sizes[-1])
    label = np.empty(rows.shape[0], dtype=np.int32)
    label[today.numbers] = start.leaf[today.of_row]
    center = np.empty(hierarchy.n_centers, dtype=np.int64)
    keys = key_rows(
        yesterday.rows[hierarchy.center_indices], None, yesterday.spherical, yesterday.seed
    ).key
    order = np.lexsort((today.units.origin, today.units.key))
    pairs = list(
        zip(today.units.key[order].tolist(), today.units.origin[order].tolist(), strict=True)
    )
    place = {pair: int(u) for pair, u in zip(pairs, order, strict=True)}
    for t, key in enumerate(keys.tolist()):
        center[t] = today.first_row[place[key, t]]
    absent = np.ones(rows.shape[0], dtype=np.bool_)
    absent[today.numbers] = False
    if absent.any():
        label[absent] = hierarchy.locator.finest(rows[absent])
    for array in (label, center):
        array.flags.writeable = False
    names = tuple(hierarchy.names(k) for k in before.sizes)
    naming = Naming(before.sizes, names, next_name_of(hierarchy, before))
    return replace(hierarchy, center_indices=center, finest=label, naming=naming)


def next_name_of(hierarchy: Hierarchy, levels: Levels) -> int:
    """Return the first name that no cluster of a followed level has had; labels are names of a fit."""
    return levels.sizes[-1] if hierarchy.naming is None else hierarchy.naming.next_name


def _build_followed(
    problem: Problem,
    found: Solution,
    parent: Numbers | None,
    of_row: Numbers,
    first_row: Ints,
    next_name: int,
    exponent: int,
    unit: float,
) -> Hierarchy:
    """Build the hierarchy of a solution, whose clusters all have names.

    `parent` is the order of splits if leaves are labels already: that of yesterday if no cluster
    began, ended or changed its parent. Otherwise clusters between two levels are those of Ward's
    method on the means of the finer one.
    """
    levels, units = found.levels, problem.units
    if parent is None:
        order = _order_splits(found)
    else:
        order = _Order(np.arange(levels.sizes[-1], dtype=np.int32), parent.copy())
    leaf = order.label[found.leaf]
    center = _centers(problem, found)
    center_unit = np.empty_like(center)
    center_unit[order.label] = center
    path = np.empty_like(levels.path)
    path[order.label] = levels.path
    naming = names_by_label(levels, path, next_name)
    with np.errstate(over="ignore"):
        costs = np.ldexp(_costs_of_cuts(problem, found, leaf, order) * unit, -exponent)
    if not np.isfinite(costs).all():
        raise ValueError("The cost of X overflows float64. Rescale X or the weights.")
    locator = MeansLocator(
        found.points,
        path,
        (1.0 / problem.ref)[levels.level_of],
        np.arange(levels.sizes[-1], dtype=np.int32),
        order.parent,
        2 if units.spherical else 0,
        exponent,
    )
    arrays = first_row[center_unit], costs, order.parent, leaf[of_row]
    for array in arrays:
        array.flags.writeable = False
    return Hierarchy(*arrays, locator, naming)


def _order_splits(found: Solution) -> _Order:
    """Order splits: level by level, and within a level the merge of Ward's method that costs most."""
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
    return _Order(np.array(leaves, dtype=np.int32), np.array(parent, dtype=np.int32))


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
    problem: Problem, found: Solution, leaf: Numbers, order: _Order
) -> NDArray[np.float64]:
    """Sum of distances to the means of the clusters, for every cut."""
    units, count = problem.units, found.levels.sizes[-1]
    last = found.levels.offsets[-2]
    sums, weights = np.empty((count, units.rows.shape[1])), np.empty(count, dtype=np.int64)
    sums[order.label], weights[order.label] = found.sums[last:], found.weights[last:]
    # Nodes: first the finest clusters by label, then what they merge to, the finest merge first.
    node = list(range(count))
    up = np.full(2 * count - 1, -1, dtype=np.int32)
    all_sums, all_weights = [*sums], [*weights.tolist()]
    alive = []
    for t in range(count - 1, 0, -1):
        p = int(order.parent[t])
        new = len(all_sums)
        up[node[p]] = up[node[t]] = new
        alive.append((node[p], node[t], new))
        all_sums.append(all_sums[node[p]] + all_sums[node[t]])
        all_weights.append(all_weights[node[p]] + all_weights[node[t]])
        node[p] = new
    chains = []
    for q in range(count):
        chain = [q]
        while up[chain[-1]] >= 0:
            chain.append(int(up[chain[-1]]))
        chains.append(chain)
    path = np.full((count, max(map(len, chains))), -1, dtype=np.int32)
    for q, chain in enumerate(chains):
        path[q, : len(chain)] = chain
    points = units.means(np.array(all_sums), np.array(all_weights))
    node_cost = units.costs(leaf, path, points).tolist()
    present = set(range(count))
    costs = [sum(node_cost[c] for c in sorted(present))]
    for a, b, merged in alive:
        present -= {a, b}
        present.add(merged)
        costs.append(sum(node_cost[c] for c in sorted(present)))
    return np.minimum.accumulate(np.array(costs[::-1]))


def names_by_label(levels: Levels, path: Numbers, next_name: int) -> Naming:
    """Names of the labels of every level: label t of a level is the cluster that holds leaf t."""
    names = tuple(levels.names[path[:k, level]] for level, k in enumerate(levels.sizes))
    for array in names:
        array.flags.writeable = False
    return Naming(levels.sizes, names, next_name)
