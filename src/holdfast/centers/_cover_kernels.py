"""Which nodes have a center below, and the gains that remain; the heap of the race; greedy centers.

Three arrays change as centers are chosen:

- `nodes`, the records of the tree (see `holdfast.tree.Tree`): for covered inner nodes, `weight` and
  `best` become the weight and best gain of the heavy tops below, as their values of the whole subtree
  are no longer needed; the record of the leaf before gets their `owner`, the cluster of their cell;
- `state`: one of the four states below for each node;
- `now`: one record. The cost is a 128-bit integer in units of 2^-63 of the distance at the root, so
  sums and differences are exact after any number of rounds. The clock is the time of the race.
  `arrived` counts the past arrivals of the queue, and `late` the redrawn arrivals.
"""

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import inlined_kernel, inner_kernel, prefetch, writing_kernel
from holdfast.tree._kernels import DISTANCE

INSIDE = np.uint8(0)  # no center below, and none below the parent
LIGHT = np.uint8(1)  # a top: no center below, but below the parent; best gain <= the threshold
HEAVY = np.uint8(2)  # a top with its best gain above the threshold
COVERED = np.uint8(3)  # a center lies below, or is the node itself

NOW = np.dtype(
    [
        ("cost_low", np.uint64),
        ("cost_high", np.uint64),
        ("clock", np.float64),
        ("arrived", np.int64),
        ("late", np.int64),
        ("run", np.int64),
    ]
)

_AHEAD = 16  # leaves to prefetch
_WORD = 18446744073709551616.0
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


# Entries of a binary heap, largest score first; the caller stores its size.
_ENTRY = np.dtype(
    [("score", np.float64), ("time", np.float64), ("deficit", np.float64), ("number", np.int64)]
)


@inner_kernel
def change_cost(now, weight, bit):
    """Add ``weight * 2^bit`` to the cost; a negative weight subtracts."""
    word = np.uint64(abs(weight))
    low = word << np.uint64(bit)
    high = _ZERO
    if bit > 0:
        high = word >> np.uint64(64 - bit)
    before = now[0]["cost_low"]
    if weight >= 0.0:
        total = before + low
        now[0]["cost_high"] += high + (_ONE if total < low else _ZERO)
    else:
        total = before - low
        now[0]["cost_high"] -= high + (_ONE if before < low else _ZERO)
    now[0]["cost_low"] = total


@inner_kernel
def current_cost(now):
    """Cost in units of the distance at the root."""
    return (np.float64(now[0]["cost_high"]) * _WORD + np.float64(now[0]["cost_low"])) * 2.0**-63


@inner_kernel
def bit_above(node, nodes):
    """Bit at which a node's parent splits; 63 above the root."""
    p = nodes[node]["parent"]
    return np.int64(63) if p < 0 else np.int64(nodes[p]["bit"])


@inner_kernel
def heavy_below(node, nodes, state):
    """Weight and best gain of the heavy tops at or below a node; (0, 0) if there are none."""
    if state[node] == HEAVY or (state[node] == COVERED and node % 2 == 1):
        return nodes[node]["weight"], nodes[node]["best"]
    return 0.0, 0.0


@inner_kernel
def refresh_heavy(node, nodes, state):
    """Sum the heavy tops below a covered inner node from its children; return whether it changed."""
    weight_a, best_a = heavy_below(np.int64(nodes[node]["left"]), nodes, state)
    weight_b, best_b = heavy_below(np.int64(nodes[node]["right"]), nodes, state)
    weight, best = weight_a + weight_b, max(best_a, best_b)
    changed = weight != nodes[node]["weight"] or best != nodes[node]["best"]
    nodes[node]["weight"] = weight
    nodes[node]["best"] = best
    return changed


@inner_kernel
def refresh_above(node, nodes, state):
    """Update the sums of heavy tops on the path above a node, as far up as they change."""
    p = np.int64(nodes[node]["parent"])
    while p >= 0 and refresh_heavy(p, nodes, state):
        p = np.int64(nodes[p]["parent"])


@inner_kernel
def top_above(node, nodes, state):
    """Highest node at or above an uncovered node that has no center below."""
    top = np.int64(node)
    p = np.int64(nodes[top]["parent"])
    while p >= 0 and state[p] != COVERED:
        top = p
        p = np.int64(nodes[top]["parent"])
    return top


@inlined_kernel
def take(leaf, t, threshold, nodes, state, now):
    """Make `leaf` center t: cover the path above it, so that the siblings on the path become tops.

    Returns the cluster that it splits (-1 for the first) and the bit of its new cell, which is the
    highest cell above it without a center, one level below its lowest covered ancestor.
    """
    top = top_above(2 * leaf, nodes, state)
    ancestor = np.int64(nodes[top]["parent"])
    split_from, cell = np.int64(-1), np.int64(64)
    if ancestor >= 0:
        split_from = np.int64(nodes[ancestor - 1]["owner"])
        cell = np.int64(nodes[ancestor]["bit"])
    change_cost(now, -nodes[top]["weight"], min(cell, 63))
    was_heavy = state[top] == HEAVY
    below = False  # whether there are heavy tops below the current path
    node = np.int64(2 * leaf)
    state[node] = COVERED
    while node != top:
        p = np.int64(nodes[node]["parent"])
        bit = np.int64(nodes[p]["bit"])
        sibling = np.int64(nodes[p]["left"]) + np.int64(nodes[p]["right"]) - node
        state[sibling] = HEAVY if nodes[sibling]["best"] > threshold else LIGHT
        change_cost(now, nodes[sibling]["weight"], bit)
        state[p] = COVERED
        # A grouping node belongs to the cluster of its cell.
        nodes[p - 1]["owner"] = split_from if bit == cell else t
        nodes[p]["weight"] = nodes[p]["best"] = 0.0
        if below or state[sibling] == HEAVY:
            below = refresh_heavy(p, nodes, state)
        node = p
    if was_heavy or below:
        refresh_above(top, nodes, state)
    return split_from, cell


@inner_kernel
def look_above(leaf, nodes, looked, now):
    """Mark the path above a leaf as visited, if marks are kept."""
    if looked.size > 0:
        p = np.int64(nodes[2 * leaf]["parent"])
        while p >= 0:
            looked[p // 2] = now[0]["run"]
            p = np.int64(nodes[p]["parent"])


@inlined_kernel
def gain_of(leaf, nodes, state):
    """Gain of a free leaf, and the state of its top."""
    node = np.int64(2 * leaf)
    below, gain = 0.0, 0.0
    while True:
        above = DISTANCE[bit_above(node, nodes)]
        gain += nodes[node]["weight"] * (above - below)
        p = np.int64(nodes[node]["parent"])
        if p < 0 or state[p] == COVERED:
            return gain, state[node]
        # `take` needs the sibling if the leaf wins.
        prefetch(nodes, np.int64(nodes[p]["left"]) + np.int64(nodes[p]["right"]) - node)
        node, below = p, above


@inlined_kernel
def cost_with_best(top, nodes, now):
    """Cost after the best leaf below a top becomes a center.

    The exact cost of all other leaves, plus what is left below the top: a difference that loses
    little precision, as something is left at the top's own distance (or the top is a leaf).
    """
    above = bit_above(top, nodes)
    change_cost(now, -nodes[top]["weight"], above)
    cost = current_cost(now)
    change_cost(now, nodes[top]["weight"], above)
    if top % 2 == 1:
        best_left = nodes[nodes[top]["left"]]["best"]
        best_right = nodes[nodes[top]["right"]]["best"]
        below = nodes[top]["weight"] * DISTANCE[nodes[top]["bit"]]
        cost += below - max(best_left, best_right)
    return cost


@writing_kernel
def label_leaves(root, center, nodes, state, todo, label):
    """Fill `label` with the cluster of every leaf after all centers are chosen.

    Visits only covered nodes; an uncovered subtree is an interval of leaves with one owner. `todo`
    is work space for the covered nodes whose subtrees do not overlap, one per center and one more.
    """
    todo[0] = root
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = np.int64(todo[waiting])
        owner = nodes[node - 1]["owner"]
        for child in (np.int64(nodes[node]["left"]), np.int64(nodes[node]["right"])):
            if state[child] == COVERED and child % 2 == 1:
                todo[waiting] = child
                waiting += 1
                continue
            low = high = child
            while low % 2 == 1:
                low = np.int64(nodes[low]["left"])
            while high % 2 == 1:
                high = np.int64(nodes[high]["right"])
            for leaf in range(low // 2, high // 2 + 1):
                label[leaf] = owner
    for t in range(center.size):
        label[center[t]] = t


def empty_heap(n_leaves: int) -> NDArray[np.void]:
    """Allocate a heap for nodes with disjoint leaves; untouched entries use no memory."""
    return np.empty(n_leaves + 2, dtype=_ENTRY)


@inner_kernel
def _move(heap, source, target):
    heap[target]["score"] = heap[source]["score"]
    heap[target]["time"] = heap[source]["time"]
    heap[target]["deficit"] = heap[source]["deficit"]
    heap[target]["number"] = heap[source]["number"]


@inner_kernel
def push(heap, size, score, number, time, deficit):
    """Add an entry to a heap of `size` entries."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if heap[up]["score"] >= score:
            break
        _move(heap, up, k)
        k = up
    heap[k]["score"] = score
    heap[k]["time"] = time
    heap[k]["deficit"] = deficit
    heap[k]["number"] = number


@inner_kernel
def drop_first(heap, size):
    """Remove the first entry of a heap; `size` is the size after that."""
    score = heap[size]["score"]
    k = np.int64(0)
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1]["score"] > heap[child]["score"]:
            child += 1
        if heap[child]["score"] <= score:
            break
        _move(heap, child, k)
        k = child
    _move(heap, size, k)


@writing_kernel
def find_champions(nodes, root, leaf_key, champion, gain, above):
    """Gain of every leaf when the greedy algorithm chooses it, and the node where it lost.

    The champion of an inner node is the leaf that is chosen first below it: that with the largest
    gain, ties by key. A leaf is chosen with gain M(v) of the highest node v whose champion it is;
    `above` is the lowest node (as i) with another champion, -1 for the first center.
    """
    leaves = leaf_key.size
    for last in range(leaves):  # inner nodes close, children first, when their last leaf is reached
        node = np.int64(2 * last)
        p = np.int64(nodes[node]["parent"])
        while p >= 0 and nodes[p]["right"] == node:
            a, b = np.int64(nodes[p]["left"]), node
            best_a, best_b = nodes[a]["best"], nodes[b]["best"]
            leaf_a = a // 2 if a % 2 == 0 else np.int64(champion[a // 2])
            leaf_b = b // 2 if b % 2 == 0 else np.int64(champion[b // 2])
            if best_b > best_a or (best_b == best_a and leaf_key[leaf_b] > leaf_key[leaf_a]):
                leaf_a, leaf_b = leaf_b, leaf_a
                best_b = best_a
            champion[p // 2] = leaf_a
            gain[leaf_b] = best_b
            above[leaf_b] = p // 2  # where it lost
            node, p = p, np.int64(nodes[p]["parent"])
    first = root // 2 if root % 2 == 0 else np.int64(champion[root // 2])
    gain[first] = nodes[root]["best"]
    above[first] = -1


@writing_kernel
def name_cells(nodes, champion, start, stop, above, cell):
    """From where the leaves ``start .. stop`` lost to the leaves whose clusters they split.

    The new cell of a leaf is where all bits >= `cell` agree; 64 for all space.
    """
    for leaf in range(start, stop):
        cell[leaf] = 64
        if above[leaf] >= 0:
            # The cluster that a grouping node belongs to is that of the cell it is in.
            node = np.int64(2 * above[leaf] + 1)
            bit = nodes[node]["bit"]
            p = np.int64(nodes[node]["parent"])
            while p >= 0 and nodes[p]["bit"] == bit:
                node, p = p, np.int64(nodes[p]["parent"])
            above[leaf] = champion[node // 2]
            cell[leaf] = bit


@writing_kernel
def name_parents(order, rank, above, cell, start, stop, parent, cells):
    """Clusters that the centers ``start .. stop`` of the order split, and their cells."""
    for t in range(start, stop):
        soon = np.int64(order[min(t + _AHEAD, stop - 1)])
        prefetch(above, soon)
        prefetch(cell, soon)
        leaf = np.int64(order[t])
        parent[t] = rank[above[leaf]] if above[leaf] >= 0 else -1
        cells[t] = cell[leaf]


@writing_kernel
def rank_leaves(order, start, stop, rank):
    """Places of leaves in the order."""
    for t in range(start, stop):
        rank[order[t]] = t


@writing_kernel
def order_ties(order, gain, leaf_key, longest, long_runs):
    """Sort runs of equal gain by key, largest first; list the longer runs and return how many."""
    n, found, start = order.size, 0, 0
    for i in range(1, n + 1):
        prefetch(gain, np.int64(order[min(i + _AHEAD, n - 1)]))
        if i < n and gain[order[i]] == gain[order[start]]:
            continue
        if i - start > longest:
            long_runs[found, 0], long_runs[found, 1] = start, i
            found += 1
        else:
            for a in range(start + 1, i):
                leaf = order[a]
                k = a
                while k > start and leaf_key[leaf] > leaf_key[order[k - 1]]:
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = leaf
        start = i
    return found


@writing_kernel
def remaining_costs(gain, order, cost):
    """Fill in the cost after each center: the sum of the later gains, from the end, in double-double."""
    high, low = 0.0, 0.0
    for t in range(order.size - 1, -1, -1):
        prefetch(gain, np.int64(order[max(t - _AHEAD, 0)]))
        cost[t] = high
        x = gain[order[t]]
        total = high + x
        back = total - high
        low += (high - (total - back)) + (x - back)
        high = total + low
        low -= high - total


@writing_kernel
def fill_ancestors(parent, n_clusters, ancestor):
    """Cluster of the cut into `n_clusters` that contains each cluster; parents come first."""
    for t in range(parent.size):
        ancestor[t] = t if t < n_clusters else ancestor[parent[t]]
