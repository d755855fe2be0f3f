"""Sorted leaves -> compressed binary trie, in one pass with a stack."""

import numpy as np

from holdfast._jit import kernel
from holdfast._seeding_kernels import combine
from holdfast.grid._kernels import first_difference, highest_bit

__all__ = ["DISTANCE", "branch_keys", "link_nodes", "split_positions"]

DISTANCE = np.ldexp(1.0, np.arange(-63, 1))
"""DIST_T of two leaves that part at bit b, in units of the root's distance."""


@kernel
def split_positions(coordinates, bit):
    """Bit (filled in) and dimension (returned) at which each leaf parts from the next one."""
    inner = coordinates.shape[0] - 1
    dim = np.empty(inner, np.int32)
    for i in range(inner):
        differ, where = first_difference(coordinates[i], coordinates[i + 1])
        bit[i] = highest_bit(differ)
        dim[i] = where
    return dim


@kernel
def link_nodes(dim, weight, bit, left, right, parent, count, best):
    """Cartesian tree of the split positions, with counts and best gains.

    Leaf i is node 2 i, the split between leaves i and i + 1 is node 2 i + 1. Given `bit`, `dim` and
    `weight`, fills `left`, `right`, `parent`, `count` and `best`. An inner node is closed when its
    right side is complete; returns the order in which they close, children first.
    """
    leaves = weight.size
    inner = leaves - 1
    closing = np.empty(inner, np.int32)
    open_splits = np.empty(inner + 1, np.int32)
    waiting = 0
    closed = 0
    for i in range(leaves):
        count[2 * i] = weight[i]
        best[2 * i] = 0.0
        last = 2 * i
        while waiting > 0:
            j = open_splits[waiting - 1]
            if i < inner and (bit[j] > bit[i] or (bit[j] == bit[i] and dim[j] < dim[i])):
                break
            waiting -= 1
            right[j] = last
            node = 2 * j + 1
            count[node] = 0.0
            for child in (left[j], right[j]):
                parent[child] = node
                count[node] += count[child]
                below = 0.0 if child % 2 == 0 else DISTANCE[bit[child // 2]]
                best[child] += count[child] * (DISTANCE[bit[j]] - below)
            best[node] = max(best[left[j]], best[right[j]])
            closing[closed] = j
            closed += 1
            last = node
        if i < inner:
            left[i] = last
            open_splits[waiting] = i
            waiting += 1
        else:
            parent[last] = -1
            below = 0.0 if last % 2 == 0 else DISTANCE[bit[last // 2]]
            best[last] += count[last] * (1.0 - below)
    return closing


@kernel
def branch_keys(coordinates, bit, dim, anchor, root_exponent, key):
    """Key of every inner node: its absolute level, splitting dimension and prefix bits.

    The prefix in a dimension is the absolute index, modulo 2^64, of the cell at the node's level;
    dimensions before the splitting one are one bit further. The root has no prefix to speak of.
    """
    inner = bit.size
    d = coordinates.shape[1]
    keys = np.empty(inner, np.uint64)
    for i in range(inner):
        b = np.int64(bit[i])
        h = combine(key, np.uint64(np.int64(root_exponent - 63) + b))
        h = combine(h, np.uint64(dim[i]))
        for j in range(d):
            low = b if j < dim[i] else b + 1
            if low < 64:
                prefix = anchor[j] << np.uint64(63 - low)
                h = combine(h, prefix + (coordinates[i, j] >> np.uint64(low)))
        keys[i] = h
    return keys
