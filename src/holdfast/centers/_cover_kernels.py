"""Which nodes have a center below, and the gains that remain.

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

from holdfast._machine.jit import inlined_kernel, inner_kernel, prefetch, writing_kernel
from holdfast.tree._kernels import DISTANCE

__all__ = ["COVERED", "HEAVY", "INSIDE", "LIGHT", "NOW", "label_leaves", "take"]

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

_WORD = 18446744073709551616.0
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


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

    The exact cost of all other leaves, plus what is left below the top: a difference that loses at
    most a factor of its number of leaves in precision, as something is left at the top's own
    distance (or the top is a leaf).
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
