"""The tree: a compressed binary trie on the interleaved bits of the leaves' coordinates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import purpose_key
from holdfast.grid import Cells, Grid
from holdfast.tree._kernels import branch_keys, link_nodes, split_positions

__all__ = ["Tree", "build_tree"]

# One record of 32 bytes per node, with a leaf and the next split in one cache line. The fields of
# `Tree` are views of these columns. Most of the time is spent on walks up from random leaves.
_NODE = np.dtype(
    [
        ("weight", np.float64),
        ("best", np.float64),
        ("parent", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("bit", np.uint8),
    ],
    align=True,
)


@dataclass(frozen=True)
class Tree:
    """A 2-RHST ([LHBP25], Def. 2.1) without its chains, and with its wide nodes made binary.

    Node 2 i is leaf i. Node 2 i + 1 separates leaf i from leaf i + 1 in Z-order. Every subtree is
    an interval of the leaves. Two leaves whose lowest common node splits at bit b are at distance
    ``2**(b - 63)`` times `unit`. A node at the same bit as its parent only groups siblings of the
    tree in the paper; all other nodes are cells of the grid.

    Attributes
    ----------
    nodes : ndarray of shape (2 n_leaves - 1,), structured
        The fields `weight`, `best`, `parent`, `left`, `right` and `bit` of each node. The
        attributes up to `best` are views of it.
    left, right : ndarray of shape (n_leaves - 1,), dtype int32
        Children (nodes) of inner node 2 i + 1, at i.
    bit, dim : ndarray of shape (n_leaves - 1,), dtype uint8 and int32
        Where inner node 2 i + 1 splits.
    closing : ndarray of shape (n_leaves - 1,), dtype int32
        Inner nodes (as i), children before parents.
    parent : ndarray of shape (2 n_leaves - 1,), dtype int32
        -1 for the root.
    count : ndarray of shape (2 n_leaves - 1,), dtype float64
        Weight below each node, integer-valued, in units of `weight_unit`.
    best : ndarray of shape (2 n_leaves - 1,), dtype float64
        M(v): the largest gain of any leaf below v while no center lies below v.
    leaf_key : ndarray of shape (n_leaves,), dtype uint64
        Hash of the seed and the content of each leaf.
    branch_key : ndarray of shape (n_leaves - 1,), dtype uint64
        Hash of the seed and the position of each inner node.
    unit : float
        COST_T of one row at the distance of the root, ``4 sqrt(d) s_R``, in units of the data.
    weight_unit : float
    total_weight : float
        In the units of the given weights.
    """

    nodes: NDArray[np.void]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    bit: NDArray[np.uint8]
    dim: NDArray[np.int32]
    closing: NDArray[np.int32]
    parent: NDArray[np.int32]
    count: NDArray[np.float64]
    best: NDArray[np.float64]
    leaf_key: NDArray[np.uint64]
    branch_key: NDArray[np.uint64]
    unit: float
    weight_unit: float
    total_weight: float

    @property
    def root(self) -> int:
        """Node of the root."""
        return int(np.argmin(self.parent))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.leaf_key.size


def build_tree(cells: Cells, grid: Grid, seed: int) -> Tree:
    """Build the tree of the cells in O(n d) time, for any depth."""
    nodes = np.empty(2 * cells.weight.size - 1, dtype=_NODE)
    inner = nodes[1::2]
    left, right, bit = inner["left"], inner["right"], inner["bit"]
    parent, count, best = nodes["parent"], nodes["weight"], nodes["best"]
    closing, dim = np.empty((2, left.size), dtype=np.int32)
    split_positions(cells.coordinates, nodes, dim)
    link_nodes(dim, cells.weight, nodes, np.empty(cells.weight.size, dtype=np.int32), closing)
    branch_key = np.empty(left.size, dtype=np.uint64)
    place = purpose_key(seed, "branch")
    branch_keys(cells.coordinates, nodes, dim, grid.anchor, grid.root_exponent, place, branch_key)
    return Tree(
        nodes=nodes,
        left=left,
        right=right,
        bit=bit,
        dim=dim,
        closing=closing,
        parent=parent,
        count=count,
        best=best,
        leaf_key=cells.key,
        branch_key=branch_key,
        unit=grid.unit,
        weight_unit=cells.weight_unit,
        total_weight=cells.total_weight,
    )
