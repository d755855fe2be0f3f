"""The whole data flow, from points to a hierarchy: one function per method."""

import math
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from holdfast._machine.jit import read_only, unwrap_interrupts
from holdfast._machine.work import ProgressOption
from holdfast.centers import choose_centers
from holdfast.centers.keyed_table import collect_table, key_undivided, sort_locations
from holdfast.centers.means import choose_means
from holdfast.centers.medoids import (
    METRICS,
    choose_by_distance,
    collect_locations,
    prepare_rows,
)
from holdfast.grid import collect_cells, place_grid
from holdfast.grid._kernels import count_merged
from holdfast.grid.place import Extent, bounds_of
from holdfast.hierarchy import Hierarchy, assemble_hierarchy, build_hierarchy
from holdfast.hierarchy.locate import (
    DistanceLocator,
    PlaneLocator,
    SplitLocator,
    build_sparse_locator,
)
from holdfast.hierarchy.model import Locator
from holdfast.parameters import Settings, warn_user
from holdfast.rows.log import CellOrder, order_of
from holdfast.tree import build_tree

FIRST = 256
"""Clusters that are built after an update before more are asked for."""

Rows = NDArray[np.float64]
Weights = NDArray[np.float64] | None
Keys = NDArray[np.uint64] | None


@dataclass(frozen=True, eq=False)
class Clustering:
    """The hierarchy, and the order in which the tree has sorted the rows, if it can be kept."""

    hierarchy: Hierarchy
    order: CellOrder | None = None


def cluster_rows(X: Rows, weight: Weights, settings: Settings) -> Hierarchy:
    """Build the hierarchy of weighted rows; those of weight 0 are labeled as by `predict`."""
    return cluster_and_order(X, weight, settings).hierarchy


def cluster_first(
    X: Rows,
    weight: Weights,
    settings: Settings,
    extent: Extent | None,
    order: CellOrder | None,
    n_clusters: int,
) -> Clustering:
    """Build the first clusters of the hierarchy, at least `n_clusters`, and the rest when asked to.

    The race of the tree chooses one center after the other, and the first ones do not depend on how
    many follow: they take a fraction of the time. `X` and `weight` must not change.
    """
    n_rows = X.shape[0] if weight is None else int(np.count_nonzero(weight))
    first, n_centers = max(FIRST, n_clusters), min(settings.max_centers, n_rows)
    if settings.method != "tree" or settings.epsilon == 0.0 or n_centers <= first:
        return cluster_and_order(X, weight, settings, extent, order=order)
    few = replace(settings, max_centers=first)
    clustering = cluster_and_order(X, weight, few, extent, order=order)
    order = clustering.order

    def finish() -> Hierarchy:
        return cluster_and_order(X, weight, settings, extent, order=order).hierarchy

    return Clustering(Hierarchy.in_part(clustering.hierarchy, n_centers, finish), order)


def cluster_and_order(
    X: Rows,
    weight: Weights,
    settings: Settings,
    extent: Extent | None = None,
    shown: ProgressOption = False,
    keys: Keys = None,
    order: CellOrder | None = None,
) -> Clustering:
    """Build the hierarchy as `cluster_rows` does, and keep the order of the rows.

    If the rows represent others (a capped sketch), `extent` describes the others, which determine
    the grid. Means report their splits to `shown`. `keys` are the keys of rows of precomputed
    distances, which have no content of their own. An `order` of the rows on the same grid saves the
    tree the time to sort them.
    """
    if settings.column_scale is not None and settings.method != "tree":
        scale = np.array(settings.column_scale)
        keys = key_undivided(X, scale, settings.metric == "cosine", settings.seed)
    if weight is not None and not weight.all():
        return _cluster_present(X, weight, settings, extent, shown, keys)
    with unwrap_interrupts():
        if settings.method == "tree":
            return _cluster_by_tree(X, weight, settings, extent, order)
        if settings.method == "medoids":
            return _cluster_by_medoids(X, weight, settings, keys)
        return _cluster_by_means(X, weight, settings, shown, keys)


def _cluster_by_tree(
    X: Rows, weight: Weights, settings: Settings, extent: Extent | None, order: CellOrder | None
) -> Clustering:
    """Points -> cells -> tree -> centers -> hierarchy, in O(n d + n log n) time."""
    seed = settings.seed
    lower, upper = bounds_of(X) if extent is None else (extent.lower, extent.upper)
    grid = place_grid(
        lower,
        upper,
        seed,
        random_shift=settings.random_shift,
        root_box=settings.root_box,
        least_exponent=None if extent is None else extent.exponent,
    )
    cells = None if order is None else order.cells(X, weight, grid, seed)
    if cells is None:
        cells = collect_cells(X, weight, grid, seed)
    if not np.isfinite(grid.unit * cells.total_weight):
        _refuse_overflow(lower.min(), upper.max(), weight)
    _warn_of_merged(
        cells.n_merged,
        "the grid can resolve (2^-63 of the data's diameter, or the rounding of values)",
    )
    tree = build_tree(cells, grid, seed)
    centers = choose_centers(tree, settings.epsilon, settings.max_centers, seed)
    del tree  # before the labels of rows need memory
    hierarchy = build_hierarchy(centers, cells, grid, settings.max_centers)
    return Clustering(hierarchy, order_of(cells))


def _cluster_by_medoids(X: Rows, weight: Weights, settings: Settings, keys: Keys) -> Clustering:
    """Points -> distinct rows in the order of their keys -> centers -> hierarchy.

    O(s^2 d log k) time for s candidates and k centers, and O(n d) times the splits that a row sees.
    """
    metric, exponent = METRICS.index(settings.metric), math.frexp(float(np.abs(X).max()))[1]
    rows = prepare_rows(X, metric, exponent)
    found = collect_locations(rows, weight, settings.seed, metric, exponent, keys)
    if settings.metric != "cosine":
        merged = int(count_merged(read_only(X), found.order, found.start).sum())
        _warn_of_merged(merged, "float64 can resolve if the largest value is scaled to 1")
    center, parent = choose_by_distance(
        found,
        settings.epsilon,
        settings.max_centers,
        settings.max_candidates,
        metric,
        settings.seed,
    )
    chosen = found.first_rows[center].astype(np.int64)
    locator: SplitLocator | DistanceLocator
    if settings.metric == "precomputed":
        locator = DistanceLocator(chosen, parent, X.shape[1], exponent)
    else:
        locator = SplitLocator(rows[chosen], parent, metric, exponent)
    label, costs = locator.replay(rows[found.first_rows], found.weight)
    label[center] = np.arange(center.size)  # also where a distance has underflowed to 0
    finest = np.empty(X.shape[0], dtype=np.int32)
    finest[found.order] = np.repeat(label, np.diff(found.start))
    exponent = 0 if settings.metric == "cosine" else exponent
    costs = _in_data_units(costs, found.weight_unit, exponent, X, weight)
    hierarchy = assemble_hierarchy(
        chosen, parent, costs, finest, locator, found.order, found.start, settings.max_centers
    )
    return Clustering(hierarchy)


def _cluster_by_means(
    X: Rows, weight: Weights, settings: Settings, shown: ProgressOption, keys: Keys
) -> Clustering:
    """Points -> clusters split between means -> hierarchy; O(n d) time for each of its levels."""
    metric = METRICS.index(settings.metric)
    table = collect_table(X, weight, settings.metric == "cosine", settings.seed, keys)
    splits = choose_means(table, settings.epsilon, settings.max_centers, settings.seed, shown)
    locator: Locator
    if issparse(X):
        planes: Any = splits.planes
        locator = build_sparse_locator(planes, splits.parent, X.shape[1], metric, table.exponent)
    else:
        points, normals = np.ascontiguousarray(np.moveaxis(np.array(splits.planes), 1, 0))
        locator = PlaneLocator(points, normals, splits.parent, metric, table.exponent)
    costs = _in_data_units(splits.costs, table.weight_unit, -table.exponent, X, weight)
    order, start = sort_locations(table, splits.exhausted)
    hierarchy = assemble_hierarchy(
        splits.center,
        splits.parent,
        costs,
        splits.label,
        locator,
        order,
        start,
        settings.max_centers,
    )
    return Clustering(hierarchy)


def _cluster_present(
    X: Rows,
    weight: Rows,
    settings: Settings,
    extent: Extent | None,
    shown: ProgressOption,
    keys: Keys,
) -> Clustering:
    """Cluster the rows of positive weight; label the others as by `predict`."""
    present = weight > 0.0
    numbers = np.flatnonzero(present)
    by_distance = settings.metric == "precomputed"
    clustering = cluster_and_order(
        X[np.ix_(numbers, numbers)] if by_distance else X[present],
        weight[present],
        settings,
        extent,
        shown,
        None if keys is None else keys[present],
    )
    hierarchy = clustering.hierarchy
    if isinstance(hierarchy.locator, DistanceLocator):
        hierarchy = replace(hierarchy, locator=hierarchy.locator.among(numbers, X.shape[1]))
    finest = np.empty(X.shape[0], dtype=np.int32)
    finest[present] = hierarchy.finest
    finest[~present] = hierarchy.locator.finest(X[~present])
    centers = read_only(numbers[hierarchy.center_indices])
    return Clustering(replace(hierarchy, finest=read_only(finest), center_indices=centers))


def _in_data_units(
    costs: Rows, weight_unit: float, exponent: int, X: Rows, weight: Weights
) -> Rows:
    """Multiply costs by the units of weights and distances, powers of two."""
    # Both at once: one alone may overflow where their product does not.
    with np.errstate(over="ignore"):
        scaled: Rows = np.ldexp(costs, math.frexp(weight_unit)[1] - 1 + exponent)
    if not np.isfinite(scaled).all():
        _refuse_overflow(float(X.min()), float(X.max()), weight)
    return scaled


def _refuse_overflow(lower: float, upper: float, weight: Weights) -> NoReturn:
    weights = "" if weight is None else f" and sample_weight goes up to {weight.max():g}"
    raise ValueError(
        f"X has values from {lower:g} to {upper:g}{weights}; their cost overflows float64. Rescale X "
        "or the weights."
    )


def _warn_of_merged(n: int, limit: str) -> None:
    if n == 0:
        return
    rows = "1 row" if n == 1 else f"{n} rows"
    warn_user(
        f"{rows} of X differ from another row by less than {limit}. They are treated as repeats "
        "of that row. To separate them, remove outliers or rescale X."
    )
