"""Tree -> centers in order, for every k at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import portable_log, purpose_key
from holdfast._machine.jit import Floats, Ints32, Words, read_only
from holdfast._machine.work import cut_rows, share_parts, share_rows
from holdfast.centers._cover_kernels import (
    LIGHT,
    NOW,
    empty_heap,
    fill_ancestors,
    find_champions,
    label_leaves,
    name_cells,
    name_parents,
    order_ties,
    rank_leaves,
    remaining_costs,
)
from holdfast.centers._race_kernels import early_arrivals, first_arrivals, largest_gains, run_rounds
from holdfast.grid.cells import z_order
from holdfast.tree import Tree
from holdfast.tree._kernels import sum_up

_LONG_RUN = 24


@dataclass(frozen=True)
class CenterSequence:
    """Centers as leaves of the tree, in the order in which they were chosen."""

    leaf: Ints32  # (n_centers,)
    cost: Floats  # (n_centers,): COST_T after each center, in units of the data
    parent: Ints32  # (n_centers,): the cluster that each center splits; -1 for the first
    cell: NDArray[np.uint8]  # (n_centers,): owns leaves that agree in every bit >= cell; 64: all
    label: Ints32  # (n_leaves,): the cluster of each leaf after the last center


def choose_centers(tree: Tree, epsilon: float, max_centers: int, seed: int) -> CenterSequence:
    """Choose `max_centers` centers, or all leaves if there are fewer.

    `epsilon` 0 is the greedy algorithm of [LHBP25], Alg. 1. A positive `epsilon` is the exponential
    mechanism of Alg. 2. Infinity draws leaves in proportion to their weight. The race overwrites
    the weights and best gains of the tree; a second call restores them first.
    """
    n_centers = min(max_centers, tree.n_leaves)
    if float(tree.nodes["weight"][tree.root]) * tree.weight_unit != tree.total_weight:
        sum_up(tree.nodes, tree.root)
    if epsilon == 0.0:
        return _choose_greedily(tree, n_centers)
    return _choose_by_race(tree, epsilon, n_centers, seed)


def ancestors_among(parent: Ints32, n_clusters: int) -> Ints32:
    """Cluster of the cut into `n_clusters` clusters that contains each cluster."""
    ancestor = np.empty(parent.size, dtype=np.int32)
    fill_ancestors(read_only(parent), n_clusters, ancestor)
    return ancestor


def _choose_greedily(tree: Tree, n_centers: int) -> CenterSequence:
    """Greedy for all k: the gain of a leaf when it is chosen is static, so one sort is enough."""
    gain, above, cell, _ = champions_of(tree)
    n, order = tree.n_leaves, _sort_falling(gain)
    runs = np.empty((n // _LONG_RUN + 1, 2), dtype=np.int64)
    count = order_ties(order, gain, tree.leaf_key, _LONG_RUN, runs)

    def sort_ties(i: int) -> None:
        run = order[runs[i, 0] : runs[i, 1]]
        run[:] = run[z_order(~tree.leaf_key[run][:, None])]

    share_parts(count, sort_ties)
    rank, parent = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    cost, cells = np.empty(n), np.empty(n, dtype=np.uint8)
    share_rows(n, lambda part: rank_leaves(order, part.start, part.stop, rank))
    ends = cut_rows(n)

    def describe(i: int) -> None:
        if i == 0:
            remaining_costs(gain, order, cost)
        else:
            name_parents(order, rank, above, cell, ends[i - 1], ends[i], parent, cells)

    share_parts(len(ends), describe)
    label = rank
    if n_centers < n:
        label = ancestors_among(parent, n_centers)[rank]
        order, parent = order[:n_centers], parent[:n_centers].copy()
        cost, cells = cost[:n_centers].copy(), cells[:n_centers].copy()
    return CenterSequence(order, _in_data_units(cost, tree), parent, cells, label)


def champions_of(tree: Tree) -> tuple[Floats, Ints32, NDArray[np.uint8], Ints32]:
    """Allocate and fill `gain`, `above`, `cell` and `champion`; see `find_champions`, `name_cells`."""
    champion = np.empty(tree.splits.size, dtype=np.int32)
    gain, above = np.empty(tree.n_leaves), np.empty(tree.n_leaves, dtype=np.int32)
    cell = np.empty(tree.n_leaves, dtype=np.uint8)
    find_champions(tree.nodes, tree.root, tree.leaf_key, champion, gain, above)
    share_rows(
        tree.n_leaves,
        lambda part: name_cells(tree.nodes, champion, part.start, part.stop, above, cell),
    )
    return gain, above, cell, champion


def _choose_by_race(tree: Tree, epsilon: float, n_centers: int, seed: int) -> CenterSequence:
    """Exponential mechanism by a race of clocks; docs/how_it_works.md explains why it is exact."""
    rounds, share = 0, 64 * n_centers + 1024
    # Two arrays: a hierarchy keeps the second one only.
    center, parent = np.empty(n_centers, dtype=np.int32), np.empty(n_centers, dtype=np.int32)
    cost, cell = np.empty(n_centers), np.empty(n_centers, dtype=np.uint8)
    while rounds < n_centers:
        # A few centers need only the largest gains and the first arrivals.
        rank = rank_gains(tree, share)
        queue, times = first_in_queue(tree, share)
        state, now = start_cover(tree)
        rounds = run_rounds(
            temperature_rate(epsilon, tree.total_weight), tree.root, round_keys(seed), tree.source,
            tree.splits, tree.place, tree.leaf_key, rank, queue, times, tree.nodes, state, now,
            np.empty(0, dtype=np.int64), empty_heap(tree.n_leaves), empty_heap(tree.n_leaves),
            center, cost, parent, cell,
        )  # fmt: skip
        share *= 64
        if rounds < n_centers:
            sum_up(tree.nodes, tree.root)
    label = np.empty(tree.n_leaves, dtype=np.int32)
    if n_centers == tree.n_leaves:
        label[center] = np.arange(n_centers, dtype=np.int32)
    else:
        todo = np.empty(n_centers + 1, dtype=np.int32)
        label_leaves(tree.root, center, tree.nodes, state, todo, label)
    return CenterSequence(center, _in_data_units(cost, tree), parent, cell, label)


def rank_gains(tree: Tree, share: int) -> Ints32:
    """Sort nodes by best gain, largest first; return the first `share` of them, or all."""
    if share >= tree.nodes["weight"].size // 8:
        return _sort_falling(tree.nodes["best"])
    rank = np.empty(share, dtype=np.int32)
    largest_gains(tree.root, tree.nodes, rank, empty_heap(share + 1))
    return rank


def _sort_falling(gain: Floats) -> Ints32:
    """Sort by gain, largest first, and equal gains by number."""
    # Doubles that are not negative sort like integers.
    falling = np.empty(gain.size, dtype=np.uint64)
    words = gain.view(np.uint64)
    share_rows(gain.size, lambda part: np.invert(words[part], out=falling[part]))
    return z_order(falling[:, None])


def first_in_queue(tree: Tree, share: int) -> tuple[Ints32, Floats]:
    """Sort leaves by their first arrival; return about `share` of them, or all, with arrivals."""
    if share < tree.n_leaves // 8:
        leaves, times = np.empty(4 * share, dtype=np.int32), np.empty(4 * share)
        before = (
            2.0 * share / tree.nodes["weight"][tree.root]
        )  # twice as many as needed, on average
        found = early_arrivals(tree.leaf_key, tree.nodes, before, leaves, times)
        if found <= leaves.size:
            order = np.argsort(times[:found])
            return leaves[order], times[order]
    times = np.empty(tree.n_leaves)
    share_rows(
        tree.n_leaves,
        lambda part: first_arrivals(tree.leaf_key, tree.nodes, part.start, part.stop, times),
    )
    queue = z_order(times.view(np.uint64)[:, None])  # positive doubles sort like integers
    return queue, times[queue]


def temperature_rate(epsilon: float, total_weight: float) -> float:
    """Return the smallest lambda of a round, divided by the cost of its greedy choice."""
    return min(epsilon, 1e300) / (6.0 * float(portable_log(max(total_weight, 2.0))))


def round_keys(seed: int) -> Words:
    """Return the keys of the temperatures and of the heavy race."""
    return np.array([purpose_key(seed, "temperature"), purpose_key(seed, "race")])


def start_cover(tree: Tree) -> tuple[NDArray[np.uint8], NDArray[np.void]]:
    """Return `state` and `now` of `_cover_kernels` without centers: the root is the only top."""
    state = np.zeros(tree.nodes.size, dtype=np.uint8)  # INSIDE; untouched pages use no memory
    state[tree.root] = LIGHT
    now = np.zeros(1, dtype=NOW)
    total = int(tree.nodes["weight"][tree.root]) << 63
    now["cost_low"], now["cost_high"] = total & ((1 << 64) - 1), total >> 64
    return state, now


def _in_data_units(cost: Floats, tree: Tree) -> Floats:
    """Convert the cost in place."""
    cost *= tree.weight_unit
    cost *= tree.unit
    return cost
