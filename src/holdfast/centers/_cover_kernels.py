"""Which nodes have a center below, and what that leaves to gain."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._jit import kernel
from holdfast.tree._kernels import DISTANCE

__all__ = ["COVERED", "HEAVY", "INSIDE", "LIGHT", "Cover", "Nodes"]

INSIDE = np.uint8(0)  # no center below, and none below the parent
LIGHT = np.uint8(1)  # a top: no center below, but below the parent; best gain <= the threshold
HEAVY = np.uint8(2)  # a top with its best gain above the threshold
COVERED = np.uint8(3)  # a center lies below, or is the node itself

_WORD = 18446744073709551616.0


class Nodes(NamedTuple):
    """The fields of a tree that kernels read; see `holdfast.tree.Tree`."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    bit: NDArray[np.uint8]
    parent: NDArray[np.int32]
    weight: NDArray[np.float64]
    best: NDArray[np.float64]


class Cover(NamedTuple):
    """What changes as centers are chosen.

    For covered inner nodes: the cluster that owns the cell they are in, and the weight and best
    gain of the heavy tops below. The cost is a 128-bit integer (low word, high word) in units of
    2^-63 of the root's distance: sums and differences are exact after any number of rounds. The
    clock is the time of the race, and how many arrivals of the queue are over, how many redrawn.
    `looked` is empty, or marks with ``run[0]`` the inner nodes on which the outcome depended other
    than through their weight and best gain.
    """

    state: NDArray[np.uint8]
    owner: NDArray[np.int32]
    heavy_weight: NDArray[np.float64]
    heavy_best: NDArray[np.float64]
    cost: NDArray[np.uint64]
    clock: NDArray[np.float64]
    looked: NDArray[np.int32]
    run: NDArray[np.int32]


@kernel
def change_cost(cover, weight, bit):
    """Add ``weight * 2^bit`` to the cost; a negative weight subtracts."""
    cost = cover.cost
    word = np.uint64(abs(weight))
    low = word << np.uint64(bit)
    high = np.uint64(0)
    if bit > 0:
        high = word >> np.uint64(64 - bit)
    if weight >= 0.0:
        total = cost[0] + low
        carry = np.uint64(1) if total < low else np.uint64(0)
        cost[1] = cost[1] + high + carry
    else:
        total = cost[0] - low
        carry = np.uint64(1) if cost[0] < low else np.uint64(0)
        cost[1] = cost[1] - high - carry
    cost[0] = total


@kernel
def current_cost(cover):
    """Cost in units of the root's distance."""
    return (np.float64(cover.cost[1]) * _WORD + np.float64(cover.cost[0])) * 2.0**-63


@kernel
def heavy_below(node, nodes, cover):
    """Weight and best gain of the heavy tops at or below a node; (0, -1) where there are none."""
    if cover.state[node] == HEAVY:
        return nodes.weight[node], nodes.best[node]
    if cover.state[node] == COVERED and node % 2 == 1:
        return cover.heavy_weight[node // 2], cover.heavy_best[node // 2]
    return 0.0, -1.0


@kernel
def refresh_heavy(w, nodes, cover):
    """Sum up the heavy tops below inner node 2 w + 1 from its children; returns any change."""
    weight_a, best_a = heavy_below(np.int64(nodes.left[w]), nodes, cover)
    weight_b, best_b = heavy_below(np.int64(nodes.right[w]), nodes, cover)
    weight, best = weight_a + weight_b, max(best_a, best_b)
    changed = weight != cover.heavy_weight[w] or best != cover.heavy_best[w]
    cover.heavy_weight[w], cover.heavy_best[w] = weight, best
    return changed


@kernel
def refresh_above(node, nodes, cover):
    """Refresh the sums of heavy tops on the path above a node, as far up as they change."""
    p = np.int64(nodes.parent[node])
    while p >= 0 and refresh_heavy(p // 2, nodes, cover):
        p = np.int64(nodes.parent[p])


@kernel
def take(leaf, t, threshold, nodes, cover):
    """Make `leaf` center t: cover the path above it; the siblings along it become tops.

    Returns the cluster that it splits (-1 for the first) and the bit of its new cell: the highest
    cell above it without a center, one level below its lowest covered ancestor.
    """
    top = np.int64(2 * leaf)
    while nodes.parent[top] >= 0 and cover.state[nodes.parent[top]] != COVERED:
        top = np.int64(nodes.parent[top])
    ancestor = nodes.parent[top]
    split_from, cell = np.int64(-1), np.int64(64)
    if ancestor >= 0:
        split_from, cell = np.int64(cover.owner[ancestor // 2]), np.int64(nodes.bit[ancestor // 2])
    change_cost(cover, -nodes.weight[top], min(cell, 63))
    was_heavy = cover.state[top] == HEAVY
    below = False  # whether there are heavy tops below the path so far
    node = np.int64(2 * leaf)
    cover.state[node] = COVERED
    while node != top:
        p = np.int64(nodes.parent[node])
        w = p // 2
        sibling = np.int64(nodes.left[w]) + np.int64(nodes.right[w]) - node
        cover.state[sibling] = HEAVY if nodes.best[sibling] > threshold else LIGHT
        change_cost(cover, nodes.weight[sibling], np.int64(nodes.bit[w]))
        cover.state[p] = COVERED
        # a grouping node belongs to the cluster of the cell it is in
        cover.owner[w] = split_from if np.int64(nodes.bit[w]) == cell else t
        if below or cover.state[sibling] == HEAVY:
            below = refresh_heavy(w, nodes, cover)
        node = p
    if was_heavy or below:
        refresh_above(top, nodes, cover)
    return split_from, cell


@kernel
def look_above(leaf, nodes, cover):
    """Mark the path above a leaf as looked at, where marks are kept."""
    if cover.looked.size > 0:
        p = np.int64(nodes.parent[2 * leaf])
        while p >= 0:
            cover.looked[p // 2] = cover.run[0]
            p = np.int64(nodes.parent[p])


@kernel
def gain_of(leaf, nodes, cover):
    """Gain of a free leaf, and the state of its top."""
    node = np.int64(2 * leaf)
    below, gain = 0.0, 0.0
    while True:
        p = np.int64(nodes.parent[node])
        above = 1.0 if p < 0 else DISTANCE[nodes.bit[p // 2]]
        gain += nodes.weight[node] * (above - below)
        if p < 0 or cover.state[p] == COVERED:
            return gain, cover.state[node]
        node, below = p, above


@kernel
def cost_left(node, nodes):
    """Cost of the leaves below an uncovered node once its best leaf is a center.

    The difference loses at most a factor of the number of leaves in precision: something is left
    at the node's own distance, or it is a leaf.
    """
    if node % 2 == 0:
        return 0.0
    w = node // 2
    best_below = max(nodes.best[nodes.left[w]], nodes.best[nodes.right[w]])
    return nodes.weight[node] * DISTANCE[nodes.bit[w]] - best_below


@kernel
def cost_without(top, nodes, cover):
    """Cost of all leaves but those below a top."""
    above = np.int64(63)
    if nodes.parent[top] >= 0:
        above = np.int64(nodes.bit[nodes.parent[top] // 2])
    change_cost(cover, -nodes.weight[top], above)
    cost = current_cost(cover)
    change_cost(cover, nodes.weight[top], above)
    return cost


@kernel
def label_leaves(center, closing, nodes, cover):
    """Cluster of every leaf once all centers are chosen."""
    label = np.zeros(closing.size + 1, np.int32)
    for c in range(closing.size - 1, -1, -1):
        w = closing[c]
        for child in (nodes.left[w], nodes.right[w]):
            if child % 2 == 0:
                label[child // 2] = cover.owner[w]
            elif cover.state[child] != COVERED:
                cover.owner[child // 2] = cover.owner[w]
    for t in range(center.size):
        label[center[t]] = t
    return label
