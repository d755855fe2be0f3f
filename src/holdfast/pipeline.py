"""The whole data flow: points -> cells -> tree -> centers -> hierarchy."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.centers import choose_centers
from holdfast.grid import collect_cells, place_grid
from holdfast.grid._kernels import column_bounds
from holdfast.hierarchy import Hierarchy, build_hierarchy
from holdfast.tree import build_tree

__all__ = ["Settings", "cluster_rows"]


@dataclass(frozen=True)
class Settings:
    """What decides a hierarchy besides the rows.

    Attributes
    ----------
    seed : int
        64 bits.
    epsilon : float
        0 is greedy, infinity uniform choice.
    random_shift : bool
    root_box : tuple of (corner, side) or None
    max_centers : int
    """

    seed: int
    epsilon: float
    random_shift: bool
    root_box: tuple[Any, float] | None
    max_centers: int


def cluster_rows(
    X: NDArray[np.float64], weight: NDArray[np.float64] | None, settings: Settings
) -> Hierarchy:
    """Build the hierarchy of the rows of `X`, each counting as often as its positive weight says.

    O(n d + n log n) time for fixed precision; see docs/how_it_works.md.
    """
    seed = settings.seed
    lower, upper = column_bounds(X)
    grid = place_grid(
        lower, upper, seed, random_shift=settings.random_shift, root_box=settings.root_box
    )
    cells = collect_cells(X, weight, grid, seed)
    if not np.isfinite(grid.unit * cells.total_weight):
        raise ValueError(
            f"X spans values from {lower.min():g} to {upper.max():g}: the cost of clustering them "
            "overflows a double. Rescale X or the weights."
        )
    if cells.n_merged:
        warnings.warn(
            f"{cells.n_merged} rows of X differ from another row by less than the grid can tell "
            "apart (2^-63 of the data's diameter, or the rounding of their values); they are "
            "clustered as repeats of it. Remove outliers or rescale if they matter.",
            stacklevel=4,
        )
    tree = build_tree(cells, grid, seed)
    centers = choose_centers(tree, settings.epsilon, settings.max_centers, seed)
    return build_hierarchy(centers, cells, grid, settings.max_centers)
