"""Sorted leaves -> compressed binary trie, in one pass with a stack."""

import numpy as np

from holdfast._machine._hash_kernels import combine
from holdfast._machine.jit import kernel
from holdfast.grid._kernels import first_difference, highest_bit

__all__ = ["DISTANCE", "branch_keys", "link_nodes", "split_positions"]

DISTANCE = np.ldexp(1.0, np.arange(-63, 1))
"""DIST_T of two leaves that differ first at bit b, in units of the distance at the root."""


@kernel
def split_positions(coordinates, nodes, dim):
    """Fill in the bit and the dimension at which each leaf first differs from the next leaf."""
    for i in range(dim.size):
        differ, where = first_difference(coordinates[i], coordinates[i + 1])
        nodes[2 * i + 1]["bit"] = highest_bit(differ)
        dim[i] = where


@kernel
def _own_distance(node, nodes):
    return 0.0 if node % 2 == 0 else DISTANCE[nodes[node]["bit"]]


@kernel
def link_nodes(dim, weight, nodes, open_splits, closing):
    """Cartesian tree of the split positions, with weights and best gains.

    Leaf i is node 2 i, the split between leaves i and i + 1 is node 2 i + 1. Given the bits, `dim`
    and `weight`, fills the other fields of `nodes`. An inner node is closed when its right side is
    complete; fills `closing` with the order in which they close (as i), children first.
    `open_splits` is work space for one number per leaf.
    """
    leaves = weight.size
    inner = leaves - 1
    waiting = 0
    closed = 0
    for i in range(leaves):
        last = np.int64(2 * i)
        nodes[last]["weight"] = weight[i]
        nodes[last]["best"] = 0.0
        while waiting > 0:
            j = open_splits[waiting - 1]
            node = np.int64(2 * j + 1)
            bit = nodes[node]["bit"]
            if i < inner:
                next_bit = nodes[2 * i + 1]["bit"]
                if bit > next_bit or (bit == next_bit and dim[j] < dim[i]):
                    break
            waiting -= 1
            nodes[node]["right"] = last
            total, best = 0.0, 0.0
            for child in (np.int64(nodes[node]["left"]), last):
                drop = DISTANCE[bit] - _own_distance(child, nodes)
                nodes[child]["parent"] = node
                nodes[child]["best"] += nodes[child]["weight"] * drop
                total += nodes[child]["weight"]
                best = max(best, nodes[child]["best"])
            nodes[node]["weight"] = total
            nodes[node]["best"] = best
            closing[closed] = j
            closed += 1
            last = node
        if i < inner:
            nodes[2 * i + 1]["left"] = last
            open_splits[waiting] = i
            waiting += 1
        else:
            nodes[last]["parent"] = -1
            nodes[last]["best"] += nodes[last]["weight"] * (1.0 - _own_distance(last, nodes))


@kernel
def branch_keys(coordinates, nodes, dim, anchor, root_exponent, key, keys):
    """Key of every inner node: its absolute level, splitting dimension and prefix bits.

    The prefix in a dimension is the absolute index, modulo 2^64, of the cell at the node's level;
    dimensions before the splitting one include one more bit. The root has no prefix.
    """
    d = coordinates.shape[1]
    for i in range(dim.size):
        b = np.int64(nodes[2 * i + 1]["bit"])
        h = combine(key, np.uint64(np.int64(root_exponent - 63) + b))
        h = combine(h, np.uint64(dim[i]))
        for j in range(d):
            low = b if j < dim[i] else b + 1
            if low < 64:
                prefix = anchor[j] << np.uint64(63 - low)
                h = combine(h, prefix + (coordinates[i, j] >> np.uint64(low)))
        keys[i] = h
