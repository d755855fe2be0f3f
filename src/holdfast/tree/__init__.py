"""Cells -> the compressed trie on which the cost of the tree is defined.

It is binary, on the interleaved bits of the coordinates of the leaves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import purpose_key
from holdfast._machine.jit import Floats, Ints32, Words, read_only
from holdfast._machine.work import cut_rows, share_parts
from holdfast.grid import Cells, Grid
from holdfast.grid.place import DEPTH
from holdfast.tree._kernels import link_ranges, link_roots, list_closing

__all__ = ["Tree", "build_tree"]

_SAMPLED, _FAR_UP = 4096, 8  # splits that are looked at, and how many of them count as far up

# One record of 32 bytes per node, with a leaf and the next split in one cache line. Most of the time
# is spent on walks up from random leaves. A leaf has no children, so the record of leaf i has room
# for the owner of node 2 i + 1 (see `_cover_kernels`).
_NODE = np.dtype(
    {
        "names": ["weight", "best", "parent", "left", "right", "bit", "owner"],
        "formats": [np.float64, np.float64, np.int32, np.int32, np.int32, np.uint8, np.int32],
        "offsets": [0, 8, 16, 20, 24, 28, 20],
        "itemsize": 32,
    }
)


@dataclass(frozen=True)
class Tree:
    """A 2-RHST ([LHBP25], Def. 2.1) without its chains, and with its wide nodes made binary.

    Node 2 i is leaf i. Node 2 i + 1 separates leaf i from leaf i + 1 in Z-order. Every subtree is
    an interval of the leaves. Two leaves whose lowest common node splits at bit b are at distance
    ``2**(b - 63)`` times `unit`. A node at the same bit as its parent only groups siblings of the
    tree in the paper; all other nodes are cells of the grid.
    """

    # (2 n_leaves - 1,): the fields of each node: `parent` (-1 for the root), the children `left`
    # and `right` and the `bit` of inner nodes, the `weight` below in units of `weight_unit`, and
    # the `best` gain: M(v), the largest gain of any leaf below v while no center lies below v.
    # Choosing centers overwrites the last two; `sum_up` restores them
    nodes: NDArray[np.void]
    root: int  # node of the root
    # What determines the coordinates of leaves: all rows, the row of each leaf, origin and scale of
    # the grid, and its shift; see `shifted_word`. Few of them are ever needed
    source: tuple[NDArray[Any], ...]
    splits: Ints32  # (n_leaves - 1,): bit and dimension of each split; see `gather_leaves`
    place: Words  # (n_features + 2,): what determines the keys of inner nodes; see `branch_key_at`
    leaf_key: Words  # (n_leaves,): hash of the seed and the content of each leaf
    unit: float  # COST_T of a row at the distance of the root, ``4 sqrt(d) s_R``
    weight_unit: float
    total_weight: float  # in the units of the given weights

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.leaf_key.size

    @property
    def closing(self) -> Ints32:
        """Inner nodes (as i), children before parents."""
        closing = np.empty(self.splits.size, dtype=np.int32)
        list_closing(self.nodes, closing)
        return closing


def _make_room(cells: Cells) -> NDArray[np.void]:
    """Allocate the nodes, in the room that sorting the rows has left unless it is much too large."""
    n_nodes = 2 * cells.n_leaves - 1
    room = cells.room.pop() if cells.room else np.empty(0, dtype=np.uint64)
    if room.nbytes > 4 * n_nodes * _NODE.itemsize or room.nbytes < n_nodes * _NODE.itemsize:
        return np.empty(n_nodes, dtype=_NODE)
    return np.asarray(room[: n_nodes * (_NODE.itemsize // 8)].view(_NODE))


def _link_nodes(splits: Ints32, weight: Floats, nodes: NDArray[np.void]) -> int:
    """Fill `nodes` and return the root; ranges of leaves between splits far up are independent."""
    n = splits.size + 1
    parts, cuts = len(cut_rows(n)) - 1, np.empty(0, dtype=np.int64)
    if parts > 1:
        sample = np.sort(splits[:: n // _SAMPLED + 1])
        cuts = np.flatnonzero(splits < sample[min(_FAR_UP, sample.size - 1)]) + 1
    ends = np.concatenate(([0], cuts, [n]))
    roots = np.empty(ends.size - 1, dtype=np.int32)
    # Ranges are of unequal sizes: a thread that is done takes the next few.
    firsts = np.searchsorted(ends, np.linspace(0, n, 8 * parts + 1 if parts > 1 else 2)).tolist()
    longest = int(np.diff(ends).max())

    def link(p: int) -> None:
        open_splits = np.empty(longest, dtype=np.int32)  # of which a tree's depth is used
        link_ranges(splits, weight, ends, firsts[p], firsts[p + 1], nodes, open_splits, roots)

    share_parts(len(firsts) - 1, link)
    return int(link_roots(splits, ends, roots, nodes, np.empty(roots.size, dtype=np.int32)))


def build_tree(cells: Cells, grid: Grid, seed: int) -> Tree:
    """Build the tree of the cells in O(n d) time, for any depth."""
    nodes = _make_room(cells)
    alike = cells.begins is None and cells.given_weight is None
    weight = np.ones(1) if alike else cells.weight
    splits = read_only(cells.splits)
    root = _link_nodes(splits, weight, nodes)
    exponent = np.array([grid.root_exponent]).astype(np.uint64)
    place = np.concatenate((grid.anchor, exponent, [purpose_key(seed, "branch")]))
    source = (
        read_only(cells.rows),
        read_only(cells.first_rows),
        np.append(grid.origin, grid.scale),
        grid.shift_words(grid.root_exponent - DEPTH),
    )
    return Tree(
        nodes=nodes,
        root=root,
        source=source,
        splits=splits,
        place=place,
        leaf_key=cells.key,
        unit=grid.unit,
        weight_unit=cells.weight_unit,
        total_weight=cells.total_weight,
    )
