"""All greedy centers at once: the champions of subtrees, bottom up."""

import numpy as np

from holdfast._machine.jit import kernel

__all__ = ["find_champions", "order_ties", "remaining_costs"]


@kernel
def find_champions(nodes, closing, leaf_key):
    """Gain, split-off cluster and cell of every leaf when the greedy algorithm chooses it.

    The champion of a subtree is the leaf that is chosen first in it: the leaf with the largest gain,
    with ties broken by key. A leaf is chosen with gain M(v), where v is the highest node whose
    champion it is.

    Returns
    -------
    gain : float64 (n_leaves,)
    above : int32 (n_leaves,), the leaf whose cluster it splits, -1 for the first center
    cell : uint8 (n_leaves,), its new cell is where all bits >= this one agree; 64 for all space
    champion : int32 (n_leaves - 1,), the champion of each inner node
    """
    leaves = leaf_key.size
    gain = np.empty(leaves, np.float64)
    beaten_by = np.full(leaves, -1, np.int32)  # inner node where a leaf lost
    champion = np.empty(leaves - 1, np.int32)
    first = 0
    for c in range(leaves - 1):
        i = closing[c]
        a, b = np.int64(nodes[2 * i + 1]["left"]), np.int64(nodes[2 * i + 1]["right"])
        best_a, best_b = nodes[a]["best"], nodes[b]["best"]
        leaf_a = a // 2 if a % 2 == 0 else np.int64(champion[a // 2])
        leaf_b = b // 2 if b % 2 == 0 else np.int64(champion[b // 2])
        if best_b > best_a or (best_b == best_a and leaf_key[leaf_b] > leaf_key[leaf_a]):
            leaf_a, leaf_b = leaf_b, leaf_a
            best_b = best_a
        champion[i] = leaf_a
        gain[leaf_b] = best_b
        beaten_by[leaf_b] = i
        first = leaf_a
    root = 2 * closing[leaves - 2] + 1 if leaves > 1 else 0
    gain[first] = nodes[root]["best"]
    # The cluster that a grouping node belongs to is that of the cell it is in.
    owner = champion.copy()
    for c in range(leaves - 2, -1, -1):
        i = closing[c]
        p = np.int64(nodes[2 * i + 1]["parent"])
        if p >= 0 and nodes[p]["bit"] == nodes[2 * i + 1]["bit"]:
            owner[i] = owner[p // 2]
    above = np.empty(leaves, np.int32)
    cell = np.empty(leaves, np.uint8)
    for leaf in range(leaves):
        i = beaten_by[leaf]
        above[leaf] = owner[i] if i >= 0 else -1
        cell[leaf] = nodes[2 * i + 1]["bit"] if i >= 0 else 64
    return gain, above, cell, champion


@kernel
def order_ties(order, gain, leaf_key, longest):
    """Sort runs of equal gain by key, largest first; return the runs longer than `longest`."""
    n = order.size
    long_runs = np.empty((n // longest + 1, 2), np.int64)
    found = 0
    start = 0
    for i in range(1, n + 1):
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
    return long_runs[:found]


@kernel
def remaining_costs(gain, order):
    """Cost after each center: the sum of the later gains, from the end, in double-double."""
    n = order.size
    cost = np.empty(n, np.float64)
    high, low = 0.0, 0.0
    for t in range(n - 1, -1, -1):
        cost[t] = high
        x = gain[order[t]]
        total = high + x
        back = total - high
        low += (high - (total - back)) + (x - back)
        high = total + low
        low -= high - total
    return cost
