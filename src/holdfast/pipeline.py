"""The whole data flow, from points to a hierarchy, for both costs."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.interrupts import keep_interrupts
from holdfast._machine.jit import read_only
from holdfast.centers import choose_centers
from holdfast.centers.means import choose_refined
from holdfast.centers.medoids import (
    METRICS,
    KeyPlaces,
    choose_by_distance,
    collect_locations,
    prepare_rows,
)
from holdfast.grid import collect_cells, place_grid
from holdfast.grid._kernels import column_bounds, count_merged
from holdfast.grid.place import Extent
from holdfast.hierarchy import Hierarchy, assemble_hierarchy, build_hierarchy
from holdfast.hierarchy.replay import build_split_locator
from holdfast.rows.order import CellPlaces, RowOrder
from holdfast.tree import build_tree

__all__ = ["Clustering", "Settings", "cluster_and_order", "cluster_rows"]


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
    cost : {"tree", "euclidean"}
    metric : {"euclidean", "manhattan", "cosine"}
        Only for the Euclidean cost, as is the next.
    max_candidates : int
    refine : bool
        Whether clusters are split between means.
    """

    seed: int
    epsilon: float
    random_shift: bool
    root_box: tuple[Any, float] | None
    max_centers: int
    cost: str = "tree"
    metric: str = "euclidean"
    max_candidates: int = 4096
    refine: bool = False


@dataclass(frozen=True, eq=False)
class Clustering:
    """What comes out: the hierarchy, and the order that the rows were brought into for it."""

    hierarchy: Hierarchy
    row_order: RowOrder


def cluster_rows(
    X: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    settings: Settings,
    extent: Extent | None = None,
) -> Hierarchy:
    """Build the hierarchy of the rows of `X`, each counting as often as its positive weight says.

    `extent` is for rows that stand for others (a capped sketch): the others place the grid.
    """
    return cluster_and_order(X, weight, settings, extent).hierarchy


def cluster_and_order(
    X: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    settings: Settings,
    extent: Extent | None = None,
) -> Clustering:
    """Build the hierarchy as `cluster_rows` does, and keep the order of the rows."""
    with keep_interrupts():
        if settings.cost == "euclidean":
            return _cluster_by_distance(X, weight, settings)
        return _cluster_on_tree(X, weight, settings, extent)


def _cluster_on_tree(
    X: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    settings: Settings,
    extent: Extent | None,
) -> Clustering:
    """Points -> cells -> tree -> centers -> hierarchy, in O(n d + n log n) time."""
    seed = settings.seed
    lower, upper = column_bounds(read_only(X)) if extent is None else (extent.lower, extent.upper)
    grid = place_grid(
        lower,
        upper,
        seed,
        random_shift=settings.random_shift,
        root_box=settings.root_box,
        least_exponent=None if extent is None else extent.exponent,
    )
    cells = collect_cells(X, weight, grid, seed)
    if not np.isfinite(grid.unit * cells.total_weight):
        _refuse_overflow(lower.min(), upper.max(), weight)
    if cells.n_merged:
        limit = "the grid can tell apart (2^-63 of the data's diameter, or the rounding of values)"
        _warn_of_merged(cells.n_merged, limit)
    tree = build_tree(cells, grid, seed)
    centers = choose_centers(tree, settings.epsilon, settings.max_centers, seed)
    hierarchy = build_hierarchy(centers, cells, grid, settings.max_centers)
    return Clustering(hierarchy, RowOrder(cells.order, CellPlaces(grid), cells.n_merged == 0))


def _refuse_overflow(lower: float, upper: float, weight: NDArray[np.float64] | None) -> NoReturn:
    weights = "" if weight is None else f" and sample_weight goes up to {weight.max():g}"
    raise ValueError(
        f"X spans values from {lower:g} to {upper:g}{weights}: the cost of "
        "clustering them overflows a double. Rescale X or the weights."
    )


def _warn_of_merged(n: int, limit: str) -> None:
    rows = "1 row" if n == 1 else f"{n} rows"
    warnings.warn(
        f"{rows} of X differ from another row by less than {limit}. They are clustered as "
        "repeats of it. Remove outliers or rescale if that matters.",
        stacklevel=7,
    )


def _cluster_by_distance(
    X: NDArray[np.float64], weight: NDArray[np.float64] | None, settings: Settings
) -> Clustering:
    """Points -> distinct locations -> centers -> hierarchy, without a grid.

    O(s^2 d log k) time for s candidates and k centers, and O(n d) times the splits that a row sees.
    """
    metric = METRICS.index(settings.metric)
    exponent = math.frexp(float(np.abs(X).max()))[1]
    rows = prepare_rows(X, metric, exponent)
    locations = collect_locations(rows, weight, settings.seed, metric, exponent)
    merged = int(count_merged(read_only(X), locations.order, locations.start).sum())
    if merged and settings.metric != "cosine":
        _warn_of_merged(merged, "doubles can tell apart once the largest is scaled to 1")
    epsilon, limits = settings.epsilon, (settings.max_centers, settings.max_candidates)
    if settings.refine:
        splits = choose_refined(locations, epsilon, *limits, settings.seed)
        center, parent = splits.center, splits.parent
        locator = build_split_locator(splits.mover, parent, metric, exponent, splits.rival)
    else:
        center, parent = choose_by_distance(locations, epsilon, *limits, metric, settings.seed)
        places = rows[locations.first_rows[center]]
        locator = build_split_locator(places, parent, metric, exponent)
    center_rows = locations.first_rows[center].astype(np.int64)
    label, costs = locator.replay(rows[locations.first_rows], locations.weight)
    label[center] = np.arange(center.size)  # also where a distance has underflowed to 0
    finest = np.empty(X.shape[0], dtype=np.int32)
    finest[locations.order] = np.repeat(label, np.diff(locations.start))
    # Both units at once: one alone may overflow where their product does not.
    unit = math.frexp(locations.weight_unit)[1] - 1
    with np.errstate(over="ignore"):
        costs = np.ldexp(costs, unit if settings.metric == "cosine" else unit + exponent)
    if not np.isfinite(costs).all():
        _refuse_overflow(X.min(), X.max(), weight)
    order, start = locations.order, locations.start
    hierarchy = assemble_hierarchy(
        center_rows, parent, costs, finest, locator, order, start, settings.max_centers
    )
    keys = KeyPlaces(metric, exponent, settings.seed)
    return Clustering(hierarchy, RowOrder(order, keys, merged == 0))
