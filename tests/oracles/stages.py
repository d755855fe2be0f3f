"""The pipeline stage by stage, keeping what each stage made, so that laws can look inside."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.centers import CenterSequence, choose_centers
from holdfast.grid import Cells, Grid, collect_cells, place_grid
from holdfast.grid._kernels import DIMENSION_BITS
from holdfast.hierarchy import Hierarchy, build_hierarchy
from holdfast.tree import Tree, build_tree


class Splits:
    """Children, bit and dimension of inner node 2 i + 1 of a tree, at i."""

    def __init__(self, tree: Tree) -> None:
        self.left, self.right, self.bit = (tree.nodes[n][1::2] for n in ("left", "right", "bit"))
        self.dim = tree.splits & np.int32((1 << DIMENSION_BITS) - 1)


@dataclass(frozen=True)
class Planted:
    """Rows on their tree."""

    grid: Grid
    cells: Cells
    tree: Tree

    @property
    def leaf_of_row(self) -> np.ndarray:
        leaf = np.empty(self.cells.order.size, dtype=np.int64)
        sizes = np.diff(self.cells.start)
        leaf[self.cells.order] = np.repeat(np.arange(sizes.size), sizes)
        return leaf


@dataclass(frozen=True)
class Grown(Planted):
    """Rows on their tree, with the centers and the hierarchy."""

    centers: CenterSequence
    hierarchy: Hierarchy


def plant(
    X: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    seed: int = 0,
    random_shift: bool = True,
    root_box: tuple[Any, float] | None = None,
) -> Planted:
    """Grid, cells and tree of the rows."""
    grid = place_grid(
        X.min(axis=0), X.max(axis=0), seed, random_shift=random_shift, root_box=root_box
    )
    cells = collect_cells(X, weight, grid, seed)
    return Planted(grid, cells, build_tree(cells, grid, seed))


def grow(
    X: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    epsilon: float,
    seed: int = 0,
    max_centers: int | None = None,
    **placing: Any,
) -> Grown:
    """All stages for the rows."""
    planted = plant(X, weight, seed=seed, **placing)
    most = X.shape[0] if max_centers is None else min(max_centers, X.shape[0])
    centers = choose_centers(planted.tree, epsilon, most, seed)
    hierarchy = build_hierarchy(centers, planted.cells, planted.grid, most)
    return Grown(planted.grid, planted.cells, planted.tree, centers, hierarchy)
