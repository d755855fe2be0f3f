"""Every single deletion, exactly, without refitting: Eq. 1 of [LHBP25] for the tree cost.

Deleting one row changes counts and best gains on one root path (and lambda, through ln n and the
cost); everything else keeps its keys. So: change the path, run the first k rounds, restore. And
rows share a run: below a subtree into which a run never looked, it depends on the row only through
what the subtree's best gain becomes. The run itself tells whether it looked.

Flow: base run -> group rows by (subtree, its best gain without the row) -> one run a group -> groups
whose run looked into their subtree go one level down -> overlaps of two cuts from their intervals.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from holdfast._machine.jit import Floats, unwrap_interrupts
from holdfast.centers._cover_kernels import empty_heap
from holdfast.centers.choose import (
    champions_of,
    first_in_queue,
    round_keys,
    start_cover,
    temperature_rate,
)
from holdfast.estimator import HierarchicalKMedian
from holdfast.follow.report import match_clusters
from holdfast.grid import Cells, Grid, collect_cells, place_grid
from holdfast.grid.place import bounds_of
from holdfast.parameters import Settings
from holdfast.pipeline import cluster_rows
from holdfast.stability._deletion_kernels import (
    SAVED,
    deepest_path,
    effects_at,
    run_without,
    step_down,
)
from holdfast.tree import Tree, build_tree

Leaves = NDArray[np.int32]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Runs:
    """Cells of the first centers, run by run, as intervals of leaves; run 0 removes nothing."""

    low: Leaves
    high: Leaves
    of_leaf: Counts  # the run that tells what removing a row of this leaf does; or -1


def matched_after_deletions(
    estimator: HierarchicalKMedian, X: Floats, ks: list[int], seed: int
) -> Counts:
    """Count as `match_deletions` for the parameters of an estimator with ``random_state=seed``."""
    model = clone(estimator).set_params(random_state=seed, n_clusters=1, max_centers=None)
    return match_deletions(X, ks, model._settings_for(X))


@unwrap_interrupts()
def match_deletions(
    X: Floats, ks: list[int], settings: Settings, *, fixed_root: bool = False
) -> Counts:
    """Count the rows that stay in their cluster when one row is removed, for every row and k.

    Equal to refitting without each row in turn and matching the clusters of the two cuts: the largest
    total overlap, at most n - 1, of shape (n, len(ks)). Needs two rows, and each k below their number.
    `fixed_root` keeps the root's level that all rows have, also where it would change without an
    extreme row: what a deletion does to the centers on one and the same tree.

    A few hundred runs of max(ks) rounds instead of n fits. Rows that move the root's level,
    rows that the grid cannot tell apart, and all rows if max(ks) is too large, are refitted.
    """
    n_rows = X.shape[0]
    settings = replace(settings, max_centers=max(ks))
    lower, upper = bounds_of(X)
    grid = place_grid(
        lower, upper, settings.seed, random_shift=settings.random_shift, root_box=settings.root_box
    )
    cells = collect_cells(X, None, grid, settings.seed)
    matched = np.full((n_rows, len(ks)), n_rows - 1, dtype=np.int64)
    if max(ks) >= cells.n_leaves:
        refit = np.arange(n_rows)
    else:
        runs = _run_all(build_tree(cells, grid, settings.seed), max(ks), settings)
        leaf_of_row = np.empty(n_rows, dtype=np.int64)
        leaf_of_row[cells.order] = np.repeat(
            np.arange(cells.n_leaves), np.diff(cells.start).astype(np.int64)
        )
        _fill_matched(matched, ks, runs, leaf_of_row, cells)
        unsettled = runs.of_leaf[leaf_of_row] < 0
        if not fixed_root:
            unsettled[_rows_that_move_the_root(X, grid, settings)] = True
        if cells.n_merged:
            unsettled[cells.first_rows[np.diff(cells.start) > 1]] = True
        refit = np.flatnonzero(unsettled)
    if refit.size:
        if fixed_root:
            raise ValueError(
                f"fixed_root needs fewer clusters than distinct rows, and rows that the grid can "
                f"tell apart; {refit.size} rows would have to be refitted."
            )
        base = cluster_rows(X, None, settings)
        cuts = [base.cut(k) for k in ks]
        for row in refit:
            without = cluster_rows(np.delete(X, row, axis=0), None, settings)
            for j, k in enumerate(ks):
                table = np.zeros((k, k), dtype=np.int64)
                np.add.at(table, (np.delete(cuts[j], row), without.cut(k)), 1)
                matched[row, j] = match_clusters(table).matched
    return matched


def _run_all(tree: Tree, rounds: int, settings: Settings) -> _Runs:
    """Run the first rounds for every group of rows that could differ from another."""
    nodes, champion = tree.nodes.copy(), champions_of(tree)[3]  # runs change and restore them
    queue, times = first_in_queue(tree, 64 * rounds + 1024)
    looked, cover = np.zeros(tree.splits.size, dtype=np.int64), start_cover(tree)
    heaps = empty_heap(tree.n_leaves), empty_heap(tree.n_leaves)
    depth = int(deepest_path(tree.closing, tree.nodes))
    saved = np.empty(depth + 2, dtype=SAVED)
    tops = np.empty(2 * rounds * (depth + 2) + 2, dtype=np.int64)
    lows: list[Leaves] = []
    highs: list[Leaves] = []

    def run(removed: Leaves, watched: Leaves, total: float) -> tuple[Any, Any]:
        """Run the rounds without one row of each leaf in turn; see `run_without`."""
        lows.append(np.empty((removed.size, rounds), np.int32))
        highs.append(np.empty((removed.size, rounds), np.int32))
        seen, enough = run_without(
            removed, watched, temperature_rate(settings.epsilon, total), tree.root,
            round_keys(settings.seed), tree.source, tree.splits, tree.place, tree.leaf_key, queue,
            times, champion, tree.nodes, nodes, *cover, looked, *heaps, saved, tops, lows[-1],
            highs[-1],
        )  # fmt: skip
        return seen, enough

    run(np.array([-1], dtype=np.int32), np.zeros(1, dtype=np.int32), tree.total_weight)
    done = 1
    # Groups start below what the run with all rows looked at: a guess that only saves runs.
    looked_at = looked == 1
    of_leaf = np.full(tree.n_leaves, -1, dtype=np.int64)
    pending = np.arange(tree.n_leaves, dtype=np.int32)
    at = np.full(tree.n_leaves, tree.root, dtype=np.int32)
    step_down(pending, at, nodes, looked_at)
    while pending.size:
        best, first = effects_at(pending, at, nodes, champion, tree.leaf_key)
        if settings.epsilon > 0.0:
            first = np.minimum(first, 0)  # champions matter to the greedy alone
        keys = np.empty(pending.size, dtype=[("at", "i4"), ("best", "f8"), ("first", "i8")])
        keys["at"], keys["best"], keys["first"] = at, best, first
        _, picked, group = np.unique(keys, return_index=True, return_inverse=True)
        seen, enough = run(pending[picked], at[picked], tree.total_weight - 1.0)
        number = np.where(enough, done + np.arange(picked.size), -1)
        done += picked.size
        settled = ~(seen & enough)[group]
        of_leaf[pending[settled]] = number[group[settled]]
        pending, at = pending[~settled], at[~settled]
        step_down(pending, at, nodes, looked_at)
    return _Runs(np.concatenate(lows), np.concatenate(highs), of_leaf)


def _fill_matched(
    matched: Counts, ks: list[int], runs: _Runs, leaf_of_row: Counts, cells: Cells
) -> None:
    """Overwrite the rows of `matched` whose removal changes a cut."""
    run_of_row = runs.of_leaf[leaf_of_row]
    start = cells.start.astype(np.int64)
    for j, k in enumerate(ks):
        low, high = runs.low[:, :k], runs.high[:, :k]
        moved = ((low != low[0]) | (high != high[0])).any(axis=1)
        rows = np.flatnonzero((run_of_row >= 0) & moved[run_of_row])
        cells_of = np.concatenate((low, high), axis=1)[run_of_row[rows]]
        patterns, which = np.unique(cells_of, axis=0, return_inverse=True)
        old = _labels_at(low[0], high[0], leaf_of_row[rows])
        for i, pattern in enumerate(patterns):
            chosen = which.ravel() == i
            table = _overlap(low[0], high[0], pattern[:k], pattern[k:], start)
            new = _labels_at(pattern[:k], pattern[k:], leaf_of_row[rows[chosen]])
            pairs, back = np.unique(
                np.stack((old[chosen], new), axis=1), axis=0, return_inverse=True
            )
            values = np.empty(pairs.shape[0], dtype=np.int64)
            for p, (a, b) in enumerate(pairs):
                table[a, b] -= 1
                values[p] = match_clusters(table).matched
                table[a, b] += 1
            matched[rows[chosen], j] = values[back.ravel()]


def _labels_at(low: Leaves, high: Leaves, leaves: Counts) -> Counts:
    """Cluster of each leaf: the last center whose cell contains it."""
    label = np.zeros(leaves.size, dtype=np.int64)
    for t in range(1, low.size):
        label[(leaves >= low[t]) & (leaves < high[t])] = t
    return label


def _overlap(low_a: Leaves, high_a: Leaves, low_b: Leaves, high_b: Leaves, start: Counts) -> Counts:
    """Count the rows in each pair of clusters of two cuts from the ends of their intervals."""
    ends = np.unique(np.concatenate((low_a, high_a, low_b, high_b, [0, start.size - 1])))
    segments = ends[:-1].astype(np.int64)
    table = np.zeros((low_a.size, low_b.size), dtype=np.int64)
    pair = (_labels_at(low_a, high_a, segments), _labels_at(low_b, high_b, segments))
    np.add.at(table, pair, np.diff(start[ends]))
    return table


def _rows_that_move_the_root(X: Floats, grid: Grid, settings: Settings) -> list[int]:
    """Rows without which the bounding box is so much smaller that the root's level changes."""
    if settings.root_box is not None or X.shape[0] < 3:
        return []
    lowest_two = np.partition(X, 1, axis=0)[:2]
    highest_two = np.partition(X, -2, axis=0)[-2:]
    rows = set(X.argmin(axis=0).tolist()) | set(X.argmax(axis=0).tolist())
    movers = []
    for row in rows:
        lower = np.where(X[row] == lowest_two[0], lowest_two[1], lowest_two[0])
        upper = np.where(X[row] == highest_two[1], highest_two[0], highest_two[1])
        smaller = place_grid(lower, upper, settings.seed, random_shift=settings.random_shift)
        if smaller.root_exponent != grid.root_exponent:
            movers.append(row)
    return movers
