"""Algorithm 2 and CLNSS on the tree of all rows, whichever rows are left.

The protocol of the released scripts of [LHBP25]: the tree is built once, and a deletion only lowers
counts. In a tree with all its nodes kept, a node without rows adds nothing to any gain and a leaf
without rows is never drawn, so the law of the centers depends on the cells that hold rows, on the
distances of the tree and on the counts alone. In the seeded grid, cells and distances below the
root are the same whichever rows are there; only the root's level depends on them, through the
bounding box. Pinning the root's level to the bounding box of all rows is therefore the same as
keeping the whole tree, and that is what is done here. n in ln n is the number of rows left.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import seed_from
from holdfast.centers import choose_centers
from holdfast.clusterers.protocol import Rows
from holdfast.grid import collect_cells, place_grid
from holdfast.hierarchy import Hierarchy, build_hierarchy
from holdfast.parameters import Settings
from holdfast.pipeline import cluster_rows
from holdfast.tree import build_tree

__all__ = ["FixedTreeClusterer", "RebuiltTreeClusterer"]


@dataclass(frozen=True, eq=False)
class RebuiltTreeClusterer:
    """The tree cost with the tree of whatever rows are fitted.

    `HierarchicalKMedian` without its checks of rows, which take as long as a small fit.

    Attributes
    ----------
    settings : Settings
        The seed in them gives way to that of each fit.
    name : str
    """

    settings: Settings
    name: str
    hierarchical: bool = field(default=True, init=False, kw_only=True)

    @property
    def randomized(self) -> bool:
        """False only for the greedy choice on the tree without a random shift."""
        return self.settings.random_shift or self.settings.epsilon != 0.0

    def fit(self, X: Rows, seed: int) -> Hierarchy:
        """Build the hierarchy of the rows of `X`."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        return cluster_rows(rows, None, replace(self.settings, seed=seed_from(seed)))


@dataclass(frozen=True, eq=False)
class FixedTreeClusterer(RebuiltTreeClusterer):
    """The tree cost, with the root's level that a given bounding box has.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_features,), dtype float64
        The bounding box; rows that are fitted must lie in it.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def fit(self, X: Rows, seed: int) -> Hierarchy:
        """Build the hierarchy of the rows of `X` on the fixed tree."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if (rows < self.lower).any() or (rows > self.upper).any():
            raise ValueError("X has rows outside of the bounding box of the fixed tree.")
        settings = replace(self.settings, seed=seed_from(seed))
        grid = place_grid(
            self.lower,
            self.upper,
            settings.seed,
            random_shift=settings.random_shift,
            root_box=settings.root_box,
        )
        cells = collect_cells(rows, None, grid, settings.seed)
        tree = build_tree(cells, grid, settings.seed)
        centers = choose_centers(tree, settings.epsilon, settings.max_centers, settings.seed)
        return build_hierarchy(centers, cells, grid, settings.max_centers)
