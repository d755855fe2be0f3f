"""All greedy centers at once: the champions of subtrees, bottom up."""

import numpy as np

from holdfast._machine.jit import kernel, writing_kernel

__all__ = ["find_champions", "order_ties", "remaining_costs"]


@writing_kernel
def find_champions(nodes, root, leaf_key, champion, gain, above, cell):
    """Gain, split-off cluster and cell of every leaf when the greedy algorithm chooses it.

    The champion of a subtree is the leaf that is chosen first in it: the leaf with the largest gain,
    with ties broken by key. A leaf is chosen with gain M(v), where v is the highest node whose
    champion it is.

    Fills
    -----
    champion : int32 (n_leaves - 1,), the champion of each inner node
    gain : float64 (n_leaves,)
    above : int32 (n_leaves,), the leaf whose cluster it splits, -1 for the first center
    cell : uint8 (n_leaves,), its new cell is where all bits >= this one agree; 64 for all space
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
    for leaf in range(leaves):
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


@writing_kernel
def remaining_costs(gain, order, cost):
    """Fill in the cost after each center: the sum of the later gains, from the end, in double-double."""
    high, low = 0.0, 0.0
    for t in range(order.size - 1, -1, -1):
        cost[t] = high
        x = gain[order[t]]
        total = high + x
        back = total - high
        low += (high - (total - back)) + (x - back)
        high = total + low
        low -= high - total
