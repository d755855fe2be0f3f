"""Sorted leaves -> compressed binary trie, in one pass with a stack for each range of leaves.

Also the linkage matrix of SciPy, the tree that others read.
"""

import numpy as np

from holdfast._machine.hash import combine
from holdfast._machine.jit import inner_kernel, kernel, writing_kernel
from holdfast.grid._kernels import DIMENSION_BITS, shifted_word
from holdfast.grid.place import DEPTH

DISTANCE = np.ldexp(1.0, np.arange(-63, 1))
"""DIST_T of two leaves that differ first at bit b, in units of the distance at the root."""

_DIMENSION = np.int64((1 << DIMENSION_BITS) - 1)


@inner_kernel
def own_distance(node, nodes):
    """Distance between leaves that a node separates; 0 for a leaf."""
    return 0.0 if node % 2 == 0 else DISTANCE[nodes[node]["bit"]]


@inner_kernel
def _close(node, nodes):
    """Sum the weights of the children of an inner node, and settle their best gains."""
    a, b = np.int64(nodes[node]["left"]), np.int64(nodes[node]["right"])
    distance = DISTANCE[nodes[node]["bit"]]
    nodes[a]["best"] += nodes[a]["weight"] * (distance - own_distance(a, nodes))
    nodes[b]["best"] += nodes[b]["weight"] * (distance - own_distance(b, nodes))
    nodes[node]["weight"] = nodes[a]["weight"] + nodes[b]["weight"]
    nodes[node]["best"] = max(nodes[a]["best"], nodes[b]["best"])


@inner_kernel
def _close_until(limit, last, splits, nodes, open_splits, waiting):
    """Close nodes until one splits above `limit`; return the subtree and how many are open."""
    while waiting > 0:
        j = open_splits[waiting - 1]
        if splits[j] < limit:
            break
        waiting -= 1
        node = np.int64(2 * j + 1)
        nodes[node]["right"] = last
        nodes[nodes[node]["left"]]["parent"] = node
        nodes[last]["parent"] = node
        _close(node, nodes)
        last = node
    return last, waiting


@inner_kernel
def _open(i, last, splits, nodes, open_splits, waiting):
    """Open the split after leaf i, with `last` as its left side."""
    nodes[2 * i + 1]["left"] = last
    nodes[2 * i + 1]["bit"] = 63 - (splits[i] >> DIMENSION_BITS)
    open_splits[waiting] = i
    return waiting + 1


@writing_kernel
def link_ranges(splits, weight, ends, start, stop, nodes, open_splits, roots):
    """Cartesian trees of the split positions, with weights and best gains, of ranges of leaves.

    Leaf i is node 2 i, the split between leaves i and i + 1 is node 2 i + 1. The leaves of range r
    are ``ends[r] .. ends[r + 1]``, its tree has the root ``roots[r]``; those of ``start .. stop``
    are built. An inner node is closed when its right side is complete. `weight` has one element if
    it is the same for all leaves. `open_splits` is work space for one number per leaf of a range.
    """
    for r in range(start, stop):
        waiting, last = np.int64(0), np.int64(0)
        for i in range(ends[r], ends[r + 1]):
            last = np.int64(2 * i)
            nodes[last]["weight"] = weight[min(i, weight.size - 1)]
            nodes[last]["best"] = 0.0
            ending = i == ends[r + 1] - 1
            limit = np.int64(-1) if ending else np.int64(splits[i])
            last, waiting = _close_until(limit, last, splits, nodes, open_splits, waiting)
            if not ending:
                waiting = _open(i, last, splits, nodes, open_splits, waiting)
        roots[r] = last


@writing_kernel
def link_roots(splits, ends, roots, nodes, open_splits):
    """Link ranges of leaves by the splits between them, which are further up. Returns the root."""
    waiting, last = np.int64(0), np.int64(0)
    for r in range(roots.size):
        ending = r == roots.size - 1
        i = np.int64(ends[r + 1] - 1)
        limit = np.int64(-1) if ending else np.int64(splits[i])
        last, waiting = _close_until(limit, np.int64(roots[r]), splits, nodes, open_splits, waiting)
        if not ending:
            waiting = _open(i, last, splits, nodes, open_splits, waiting)
    nodes[last]["parent"] = -1
    nodes[last]["best"] += nodes[last]["weight"] * (1.0 - own_distance(last, nodes))
    return last


@writing_kernel
def list_closing(nodes, closing):
    """Fill `closing` with the inner nodes (as i) in the order in which they close, children first."""
    found = 0
    for leaf in range(closing.size + 1):
        node = np.int64(2 * leaf)
        p = np.int64(nodes[node]["parent"])
        while p >= 0 and nodes[p]["right"] == node:
            closing[found] = p // 2
            found += 1
            node, p = p, np.int64(nodes[p]["parent"])


@writing_kernel
def sum_up(nodes, root):
    """Restore the weights and best gains of inner nodes from those of the leaves."""
    for leaf in range((nodes.size + 1) // 2):
        node = np.int64(2 * leaf)
        nodes[node]["best"] = 0.0
        p = np.int64(nodes[node]["parent"])
        while p >= 0 and nodes[p]["right"] == node:
            _close(p, nodes)
            node, p = p, np.int64(nodes[p]["parent"])
    nodes[root]["best"] += nodes[root]["weight"] * (1.0 - own_distance(root, nodes))


@inner_kernel
def branch_key_at(i, source, splits, place):
    """Key of inner node 2 i + 1: its absolute level, splitting dimension and prefix bits.

    The prefix in a dimension is the absolute index, modulo 2^64, of the cell at the node's level;
    dimensions before the splitting one include one more bit. The root has no prefix. See `Tree` for
    `source`, from which the coordinates of leaf i are computed, and `place`.
    """
    rows, first_rows, frame, shift = source
    d = rows.shape[1]
    row = np.int64(first_rows[i])
    b, dim = np.int64(63) - (splits[i] >> DIMENSION_BITS), splits[i] & _DIMENSION
    lowest = np.int64(place[d]) - DEPTH
    h = combine(place[d + 1], place[d] + np.uint64(b - 63))
    h = combine(h, np.uint64(dim))
    for j in range(d):
        low = b if j < dim else b + 1
        if low < 64:
            word = shifted_word(rows[row, j], frame[j], frame[d], shift, j, lowest)
            word -= place[j] << np.uint64(DEPTH)
            prefix = place[j] << np.uint64(63 - low)
            h = combine(h, prefix + (word >> np.uint64(low)))
    return h


@kernel
def merge_rows(finest, center_row, parent, costs):
    """Linkage matrix: rows join the center of their finest cluster, then splits are reversed."""
    n = finest.size
    n_centers = center_row.size
    merges = np.empty((n - 1, 4), np.float64)
    name = np.empty(n_centers, np.int64)
    size = np.ones(n_centers, np.int64)
    for t in range(n_centers):
        name[t] = center_row[t]
    done = 0
    for step in range(n + n_centers - 1):
        if step < n:
            into, height = np.int64(finest[step]), 0.0
            if center_row[into] == step:
                continue
            other, joining = np.int64(step), 1
        else:
            t = n_centers - 1 - (step - n)
            into, height = np.int64(parent[t]), costs[t - 1]
            other, joining = name[t], size[t]
        merges[done, 0] = min(name[into], other)
        merges[done, 1] = max(name[into], other)
        merges[done, 2] = height
        size[into] += joining
        merges[done, 3] = size[into]
        name[into] = n + done
        done += 1
    return merges
