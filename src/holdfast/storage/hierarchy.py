"""Hierarchy -> plain arrays and JSON, and back; see docs/file_format.md."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast.centers.medoids import METRICS
from holdfast.grid.place import BLOCKS, ROOT_EXPONENTS, Grid
from holdfast.hierarchy.locate import CellLocator
from holdfast.hierarchy.model import Hierarchy, Locator, Naming
from holdfast.hierarchy.nearest import MeansLocator
from holdfast.hierarchy.replay import (
    DistanceLocator,
    PlaneLocator,
    SplitLocator,
    build_plane_locator,
    build_split_locator,
)
from holdfast.storage.sparse import names_of, rows_to_arrays, sparse_planes_from

__all__ = ["hierarchy_from_arrays", "hierarchy_to_arrays"]

_ALL_SPACE = 64
_EXPONENTS = range(-1100, 1101)  # a little more than float64 needs

_ARRAYS = {"center_indices", "costs", "parent", "finest", "names"}
_GRID_ARRAYS = {"grid.anchor", "grid.lowest", "grid.origin", "grid.shift"}
_CELL_ARRAYS = {"cells.cell", "cells.coordinates", "cells.order"} | _GRID_ARRAYS
_SPLIT_ARRAYS = {"splits.centers", "splits.rivals"}
_PLANE_ARRAYS = {"planes.normals", "planes.points"}
_MEANS_ARRAYS = {"means.label", "means.path", "means.points", "means.scale"}
_KINDS = {
    "cells": _CELL_ARRAYS,
    "splits": _SPLIT_ARRAYS,
    "planes": _PLANE_ARRAYS,
    "means": _MEANS_ARRAYS,
    "distances": set(),
    "sparse planes": names_of("planes") | {"planes.offsets"},
}

Arrays = Mapping[str, NDArray[Any]]


def hierarchy_to_arrays(hierarchy: Hierarchy) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert a hierarchy to arrays and metadata.

    Returns
    -------
    metadata : dict
        Plain JSON.
    arrays : dict of str to ndarray
        Tables that the locator shares with the hierarchy are stored once.
    """
    arrays: dict[str, NDArray[Any]] = {
        "center_indices": hierarchy.center_indices,
        "costs": hierarchy.costs,
        "parent": hierarchy.parent,
        "finest": hierarchy.finest,
    }
    described = {}
    if hierarchy.naming is not None:
        arrays["names"] = np.concatenate(hierarchy.naming.names)
        levels, following = list(hierarchy.naming.levels), hierarchy.naming.next_name
        described = {"levels": levels, "next_name": following}
    metadata, own = _locator_to_arrays(hierarchy.locator)
    return metadata | described, arrays | own


def _locator_to_arrays(locator: Locator) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(locator, MeansLocator):
        arrays = {
            "means.label": locator.label,
            "means.path": locator.path,
            "means.points": locator.points,
            "means.scale": locator.scale,
        }
        metric = METRICS[locator.metric]
        return {"locator": "means", "metric": metric, "exponent": locator.exponent}, arrays
    if isinstance(locator, SplitLocator):
        arrays["splits.centers"] = locator.centers
        metric = METRICS[locator.metric]
        if locator.rivals is not None:
            arrays["splits.rivals"] = locator.rivals
        return {"locator": "splits", "metric": metric, "exponent": locator.exponent}, arrays
    if isinstance(locator, PlaneLocator):
        arrays |= {"planes.points": locator.points, "planes.normals": locator.normals}
        metric = METRICS[locator.metric]
        return {"locator": "planes", "metric": metric, "exponent": locator.exponent}, arrays
    if isinstance(locator, DistanceLocator):  # its columns are the rows of the centers
        size, exponent = locator.columns.size, locator.exponent
        return {"locator": "distances", "centers": size, "exponent": exponent}, arrays
    if getattr(locator, "sparse", False):
        planes: Any = locator
        arrays = {"planes.offsets": planes.offsets, **rows_to_arrays("planes", planes.normals)}
        metadata = {"locator": "sparse planes", "n_features": planes.n_features}
        return metadata | {"metric": METRICS[planes.metric], "exponent": planes.exponent}, arrays
    if not isinstance(locator, CellLocator):
        raise TypeError(
            f"Only hierarchies that holdfast fitted can be saved; got one with a locator of type "
            f"{type(locator).__name__}."
        )
    grid = locator.grid
    arrays |= {
        "cells.cell": locator.cell,
        "cells.coordinates": locator.coordinates,
        "cells.order": locator.order,
        "grid.anchor": grid.anchor,
        "grid.lowest": grid.lowest,
        "grid.origin": grid.origin,
        "grid.shift": grid.shift,
    }
    metadata = {
        "locator": "cells",
        "scale": float(grid.scale),
        "root_exponent": int(grid.root_exponent),
    }
    return metadata, arrays


def hierarchy_from_arrays(metadata: Mapping[str, Any], arrays: Arrays) -> Hierarchy:
    """Convert arrays and metadata back to the same hierarchy, bit for bit.

    Nothing is trusted. Arrays that :func:`hierarchy_to_arrays` did not create give an error, or a
    hierarchy whose clusters may be wrong but in which every index is in range and every walk ends.
    The hierarchy shares the memory of the arrays.

    Raises
    ------
    ValueError
        If the arrays are not valid.
    """
    center_indices = _take(arrays, "center_indices", np.int64, 1)
    costs = _take(arrays, "costs", np.float64, 1)
    parent = _take(arrays, "parent", np.int32, 1)
    finest = _take(arrays, "finest", np.int32, 1)
    n_centers, n_rows = center_indices.size, finest.size
    _require(1 <= n_centers <= n_rows, "it has no centers, or more centers than rows")
    _require(costs.size == parent.size == n_centers, "its tables have different lengths")
    _require(_in_range(finest, n_centers), "a label is out of range")
    _require(_in_range(center_indices, n_rows), "the row of a center is out of range")
    _require(
        np.array_equal(finest[center_indices], np.arange(n_centers)),
        "a center is not in its own cluster",
    )
    numbers = np.arange(n_centers, dtype=np.int32)
    _require(
        bool(parent[0] == -1 and (parent[1:] >= 0).all() and (parent[1:] < numbers[1:]).all()),
        "a cluster does not come after the cluster it was split from",
    )
    _require(
        bool(np.isfinite(costs).all() and costs[-1] >= 0.0 and (costs[1:] <= costs[:-1]).all()),
        "its costs are not finite, or they rise",
    )
    kind = metadata.get("locator")
    _require(isinstance(kind, str) and kind in _KINDS, "it finds clusters in an unknown way")
    # An unknown array could change the meaning of the others.
    unknown = arrays.keys() - _KINDS[str(kind)] - _ARRAYS
    _require(not unknown, f"it has unknown arrays: {sorted(unknown)}")
    locator: Locator
    if kind == "cells":
        locator = _cells_from(metadata, arrays, parent)
    elif kind == "planes":
        locator = _planes_from(metadata, arrays, parent)
    elif kind == "sparse planes":
        locator = sparse_planes_from(metadata, arrays, parent, *_metric_from(metadata))
    elif kind == "means":
        locator = _means_from(metadata, arrays, parent)
    elif kind == "distances":
        size, exponent = metadata.get("centers"), metadata.get("exponent")
        if type(size) is not int or not 1 <= size <= n_centers:
            raise ValueError("the number of centers is out of range")
        if type(exponent) is not int or exponent not in _EXPONENTS:
            raise ValueError("the exponent of the distances is out of range")
        locator = DistanceLocator(center_indices[:size], parent[:size], n_rows, exponent)
    else:
        locator = _splits_from(metadata, arrays, parent)
    return Hierarchy(
        read_only(center_indices), read_only(costs), read_only(parent), read_only(finest), locator,
        _naming_from(metadata, arrays, n_centers),
    )  # fmt: skip


def _naming_from(metadata: Mapping[str, Any], arrays: Arrays, n_centers: int) -> Naming | None:
    levels, following = metadata.get("levels"), metadata.get("next_name")
    if levels is None and following is None and "names" not in arrays:
        return None
    names = _take(arrays, "names", np.int64, 1)
    _require(
        isinstance(levels, list)
        and all(type(k) is int for k in levels)
        and bool(levels)
        and levels == sorted(set(levels))
        and levels[0] >= 1
        and levels[-1] == n_centers,
        "its levels are not rising numbers of clusters that end at the number of centers",
    )
    assert isinstance(levels, list)
    _require(type(following) is int and 0 < following < 1 << 62, "its next name is out of range")
    assert isinstance(following, int)
    _require(names.size == sum(levels), "it does not have one name for each cluster")
    _require(_in_range(names, following), "the name of a cluster is out of range")
    parts = np.split(names, np.cumsum(levels)[:-1])
    _require(all(np.unique(part).size == part.size for part in parts), "two clusters share a name")
    return Naming(tuple(levels), tuple(map(read_only, parts)), following)


def _means_from(
    metadata: Mapping[str, Any], arrays: Arrays, parent: NDArray[np.int32]
) -> MeansLocator:
    points = _take(arrays, "means.points", np.float64, 2)
    path = _take(arrays, "means.path", np.int32, 2)
    scale = _take(arrays, "means.scale", np.float64, 1)
    label = _take(arrays, "means.label", np.int32, 1)
    _require(min(*points.shape, *path.shape) >= 1, "it has no means")
    _require(scale.size == points.shape[0], "it does not have one scale for each mean")
    _require(label.size == path.shape[0], "it does not have one label for each leaf")
    _require(_in_range(path, points.shape[0]), "the number of a mean is out of range")
    _require(_in_range(label, parent.size), "the label of a leaf is out of range")
    finite = np.isfinite(points).all() and np.isfinite(scale).all() and (scale >= 0.0).all()
    _require(bool(finite), "a mean or a scale is not finite")
    return MeansLocator(points, path, scale, label, read_only(parent), *_metric_from(metadata))


def _cells_from(
    metadata: Mapping[str, Any], arrays: Arrays, parent: NDArray[np.int32]
) -> CellLocator:
    coordinates = _take(arrays, "cells.coordinates", np.uint64, 2)
    order = _take(arrays, "cells.order", np.int32, 1)
    cell = _take(arrays, "cells.cell", np.uint8, 1)
    n, d = coordinates.shape
    _require(1 <= n <= parent.size and d >= 1, "it has no cells, or more cells than centers")
    _require(order.size == cell.size == n, "the tables of cells have different lengths")
    parent = parent[:n]
    _require(_in_range(order, n), "the number of a cell's center is out of range")
    seen = np.zeros(n, dtype=np.bool_)
    seen[order] = True
    _require(bool(seen.all()), "a center has two cells")
    # Cells shrink from parent to child, so a walk up has at most 64 steps and ends at 0.
    _require(
        bool(cell[0] == _ALL_SPACE and (cell[1:] < cell[parent[1:]]).all()),
        "the cell of a cluster is not inside the cell of the cluster it was split from",
    )
    _require(_is_z_ordered(coordinates), "the cells are not in Z-order")
    return CellLocator(_grid_from(metadata, arrays, d), coordinates, order, cell, read_only(parent))


def _grid_from(metadata: Mapping[str, Any], arrays: Arrays, d: int) -> Grid:
    scale, root_exponent = metadata.get("scale"), metadata.get("root_exponent")
    if not isinstance(scale, float) or not (math.isfinite(scale) and scale > 0.0):
        raise ValueError("the scale of the grid must be positive and finite")
    if type(root_exponent) is not int or root_exponent not in ROOT_EXPONENTS:
        raise ValueError("the root of the grid is out of range")
    anchor = _take(arrays, "grid.anchor", np.uint64, 1)
    lowest = _take(arrays, "grid.lowest", np.float64, 1)
    origin = _take(arrays, "grid.origin", np.float64, 1)
    shift = _take(arrays, "grid.shift", np.uint64, 2)
    _require(
        anchor.size == lowest.size == origin.size == d and shift.shape == (BLOCKS, d),
        "the tables of the grid have different numbers of columns",
    )
    _require(
        bool(np.isfinite(lowest).all() and np.isfinite(origin).all()),
        "the position of the grid is not finite",
    )
    return Grid(origin, scale, shift, root_exponent, anchor, lowest)


def _splits_from(
    metadata: Mapping[str, Any], arrays: Arrays, parent: NDArray[np.int32]
) -> SplitLocator:
    centers = _take(arrays, "splits.centers", np.float64, 2)
    n, d = centers.shape
    _require(1 <= n <= parent.size and d >= 1, "it has no places of centers, or too many")
    _require(bool((np.abs(centers) <= 1.0).all()), "the place of a center is not within [-1, 1]")
    rivals = None
    if "splits.rivals" in arrays:
        rivals = _take(arrays, "splits.rivals", np.float64, 2)
        _require(rivals.shape == centers.shape, "its tables of points have different shapes")
        _require(bool((np.abs(rivals) <= 1.0).all()), "a point is not within [-1, 1]")
    return build_split_locator(centers, parent[:n], *_metric_from(metadata), rivals)


def _planes_from(
    metadata: Mapping[str, Any], arrays: Arrays, parent: NDArray[np.int32]
) -> PlaneLocator:
    points = _take(arrays, "planes.points", np.float64, 2)
    normals = _take(arrays, "planes.normals", np.float64, 2)
    n, d = points.shape
    _require(1 <= n <= parent.size and d >= 1, "it has no planes, or too many")
    _require(normals.shape == points.shape, "its tables of planes have different shapes")
    finite = np.isfinite(points).all() and (np.abs(normals) <= 1.0).all()
    _require(bool(finite), "a plane has no place or no direction")
    return build_plane_locator(points, normals, parent[:n], *_metric_from(metadata))


def _metric_from(metadata: Mapping[str, Any]) -> tuple[int, int]:
    metric, exponent = metadata.get("metric"), metadata.get("exponent")
    if metric not in METRICS[:-1]:  # precomputed distances have a locator of their own
        raise ValueError(f"the metric must be one of {list(METRICS[:-1])}")
    if type(exponent) is not int or exponent not in _EXPONENTS:
        raise ValueError("the exponent of the centers is out of range")
    return METRICS.index(metric), exponent


def _take(arrays: Arrays, name: str, dtype: type[np.generic], ndim: int) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.ndim != ndim:
        raise ValueError(
            f"it must have an array {name!r} of dtype {np.dtype(dtype)} with {ndim} dimensions"
        )
    return np.ascontiguousarray(array)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _in_range(values: NDArray[np.integer], stop: int) -> bool:
    return bool(values.min() >= 0 and values.max() < stop)


def _is_z_ordered(coordinates: NDArray[np.uint64]) -> bool:
    """Whether each row precedes the next: the highest bit in which they differ decides."""
    most = np.zeros(coordinates.shape[0] - 1, dtype=np.uint64)
    rises = np.zeros(most.size, dtype=np.bool_)
    for column in coordinates.T:
        differ = column[:-1] ^ column[1:]
        higher = (most < differ) & (most < (most ^ differ))
        most = np.where(higher, differ, most)
        rises = np.where(higher, column[:-1] < column[1:], rises)
    return bool(rises.all())
