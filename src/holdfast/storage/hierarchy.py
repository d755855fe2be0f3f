"""Hierarchy -> plain arrays and JSON, and back; see docs/file_format.md."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from holdfast._machine.jit import Ints32, Words, read_only
from holdfast.centers.medoids import METRICS
from holdfast.grid.place import BLOCKS, ROOT_EXPONENTS, Grid
from holdfast.hierarchy.locate import (
    CellLocator,
    DistanceLocator,
    MeansLocator,
    PlaneLocator,
    SparsePlaneLocator,
    SplitLocator,
)
from holdfast.hierarchy.model import Hierarchy, Locator, Naming

_ALL_SPACE = 64
_EXPONENTS = range(-1100, 1101)  # a little more than float64 needs

_ARRAYS = {"center_indices", "costs", "parent", "finest", "names"}
# The arrays of each kind of locator, and of a grid, which are attributes of the same name.
_PARTS = {
    "cells": ("cell", "coordinates", "order"),
    "grid": ("anchor", "lowest", "origin", "shift"),
    "splits": ("centers", "rivals"),
    "planes": ("normals", "points"),
    "means": ("label", "path", "points", "scale"),
    "distances": (),
}
_LOCATORS: dict[type, str] = {
    CellLocator: "cells", SplitLocator: "splits", PlaneLocator: "planes", MeansLocator: "means",
    DistanceLocator: "distances",
}  # fmt: skip

Arrays = Mapping[str, NDArray[Any]]


def hierarchy_to_arrays(hierarchy: Hierarchy) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert a hierarchy to plain JSON and arrays; what the locator shares is stored once."""
    names = ("center_indices", "costs", "parent", "finest")
    arrays: dict[str, NDArray[Any]] = {name: getattr(hierarchy, name) for name in names}
    described = {}
    if hierarchy.naming is not None:
        arrays["names"] = np.concatenate(hierarchy.naming.names)
        levels, following = list(hierarchy.naming.levels), hierarchy.naming.next_name
        described = {"levels": levels, "next_name": following}
    metadata, own = _locator_to_arrays(hierarchy.locator)
    return metadata | described, arrays | own


def _locator_to_arrays(locator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if getattr(locator, "sparse", False):
        arrays = {"planes.offsets": locator.offsets, **rows_to_arrays("planes", locator.normals)}
        metadata = {"locator": "sparse planes", "n_features": locator.n_features}
        return metadata | _describe_metric(locator), arrays
    kind = _LOCATORS.get(type(locator))
    if kind is None:
        raise TypeError(
            f"Only hierarchies that holdfast fitted can be saved; got one with a locator of type "
            f"{type(locator).__name__}."
        )
    arrays = _take_parts(kind, locator)
    if kind == "distances":  # its columns are the rows of the centers
        placed = {"centers": locator.columns.size, "exponent": locator.exponent}
        return {"locator": kind, **placed}, arrays
    if kind == "cells":
        grid = locator.grid
        placed = {"scale": float(grid.scale), "root_exponent": int(grid.root_exponent)}
        return {"locator": kind, **placed}, arrays | _take_parts("grid", grid)
    return {"locator": kind, **_describe_metric(locator)}, arrays


def _take_parts(kind: str, source: Any) -> dict[str, NDArray[Any]]:
    found = {f"{kind}.{part}": getattr(source, part) for part in _PARTS[kind]}
    return {name: array for name, array in found.items() if array is not None}


def _describe_metric(locator: Any) -> dict[str, Any]:
    return {"metric": METRICS[locator.metric], "exponent": locator.exponent}


def hierarchy_from_arrays(metadata: Mapping[str, Any], arrays: Arrays) -> Hierarchy:
    """Convert arrays and metadata back to the same hierarchy, bit for bit.

    Nothing is trusted. Arrays that :func:`hierarchy_to_arrays` did not create give a ValueError, or
    a hierarchy whose clusters may be wrong but in which every index is in range and every walk ends.
    The hierarchy shares the memory of the arrays.
    """
    center_indices = take(arrays, "center_indices", np.int64, 1)
    costs = take(arrays, "costs", np.float64, 1)
    parent = take(arrays, "parent", np.int32, 1)
    finest = take(arrays, "finest", np.int32, 1)
    n_centers, n_rows = center_indices.size, finest.size
    require(1 <= n_centers <= n_rows, "it has no centers, or more centers than rows")
    require(costs.size == parent.size == n_centers, "its arrays have different lengths")
    require(_in_range(finest, n_centers), "a label is out of range")
    require(_in_range(center_indices, n_rows), "the row of a center is out of range")
    numbers = np.arange(n_centers, dtype=np.int32)
    inside = np.array_equal(finest[center_indices], numbers)
    require(inside, "a center is not in its own cluster")
    after = parent[0] == -1 and (parent[1:] >= 0).all() and (parent[1:] < numbers[1:]).all()
    require(after, "a cluster does not come after the cluster it was split from")
    falling = np.isfinite(costs).all() and costs[-1] >= 0.0 and (costs[1:] <= costs[:-1]).all()
    require(falling, "its costs are not finite, or they rise")
    kind = metadata.get("locator")
    known = {name: {f"{name}.{part}" for part in parts} for name, parts in _PARTS.items()}
    known["cells"] |= known.pop("grid")
    known["sparse planes"] = _sparse_names("planes") | {"planes.offsets"}
    require(isinstance(kind, str) and kind in known, "its locator is unknown")
    # An unknown array could change the meaning of the others.
    unknown = arrays.keys() - known[str(kind)] - _ARRAYS
    require(not unknown, f"it has unknown arrays: {sorted(unknown)}")
    locator: Locator
    if kind == "distances":
        size: Any = metadata.get("centers")
        require(
            type(size) is int and 1 <= size <= n_centers, "the number of centers is out of range"
        )
        exponent = _exponent_from(metadata)
        locator = DistanceLocator(center_indices[:size], parent[:size], n_rows, exponent)
    else:
        locator = _READERS[str(kind)](metadata, arrays, parent)
    return Hierarchy(
        read_only(center_indices), read_only(costs), read_only(parent), read_only(finest), locator,
        _naming_from(metadata, arrays, n_centers),
    )  # fmt: skip


def _naming_from(metadata: Mapping[str, Any], arrays: Arrays, n_centers: int) -> Naming | None:
    levels: Any = metadata.get("levels")
    following: Any = metadata.get("next_name")
    if levels is None and following is None and "names" not in arrays:
        return None
    names = take(arrays, "names", np.int64, 1)
    rising = isinstance(levels, list) and levels and all(type(k) is int for k in levels)
    rising = rising and levels == sorted(set(levels)) and 1 <= levels[0] <= levels[-1] == n_centers
    require(rising, "its levels are not increasing numbers of clusters up to the number of centers")
    require(type(following) is int and 0 < following < 1 << 62, "its next name is out of range")
    require(names.size == sum(levels), "it does not have one name for each cluster")
    require(_in_range(names, following), "the name of a cluster is out of range")
    parts = np.split(names, np.cumsum(levels)[:-1])
    require(all(np.unique(part).size == part.size for part in parts), "two clusters share a name")
    return Naming(tuple(levels), tuple(map(read_only, parts)), following)


def _means_from(metadata: Mapping[str, Any], arrays: Arrays, parent: Ints32) -> MeansLocator:
    points = take(arrays, "means.points", np.float64, 2)
    path = take(arrays, "means.path", np.int32, 2)
    scale = take(arrays, "means.scale", np.float64, 1)
    label = take(arrays, "means.label", np.int32, 1)
    require(min(*points.shape, *path.shape) >= 1, "it has no means")
    require(scale.size == points.shape[0], "it does not have one scale for each mean")
    require(label.size == path.shape[0], "it does not have one label for each leaf")
    require(_in_range(path, points.shape[0]), "the number of a mean is out of range")
    require(_in_range(label, parent.size), "the label of a leaf is out of range")
    finite = np.isfinite(points).all() and np.isfinite(scale).all() and (scale >= 0.0).all()
    require(finite, "a mean or a scale is not finite")
    return MeansLocator(points, path, scale, label, read_only(parent), *_metric_from(metadata))


def _cells_from(metadata: Mapping[str, Any], arrays: Arrays, parent: Ints32) -> CellLocator:
    coordinates = take(arrays, "cells.coordinates", np.uint64, 2)
    order = take(arrays, "cells.order", np.int32, 1)
    cell = take(arrays, "cells.cell", np.uint8, 1)
    n, d = coordinates.shape
    require(1 <= n <= parent.size and d >= 1, "it has no cells, or more cells than centers")
    require(order.size == cell.size == n, "the arrays of cells have different lengths")
    parent = parent[:n]
    require(_in_range(order, n), "the number of a cell's center is out of range")
    require(np.unique(order).size == n, "a center has two cells")
    # Cells shrink from parent to child, so a walk up has at most 64 steps and ends at 0.
    inside = cell[0] == _ALL_SPACE and (cell[1:] < cell[parent[1:]]).all()
    require(inside, "the cell of a cluster is not inside the cell of the cluster it was split from")
    require(_is_z_ordered(coordinates), "the cells are not in Z-order")
    return CellLocator(_grid_from(metadata, arrays, d), coordinates, order, cell, read_only(parent))


def _grid_from(metadata: Mapping[str, Any], arrays: Arrays, d: int) -> Grid:
    scale: Any = metadata.get("scale")
    root_exponent: Any = metadata.get("root_exponent")
    positive = isinstance(scale, float) and 0.0 < scale < math.inf
    require(positive, "the scale of the grid must be positive and finite")
    inside = type(root_exponent) is int and root_exponent in ROOT_EXPONENTS
    require(inside, "the root of the grid is out of range")
    anchor = take(arrays, "grid.anchor", np.uint64, 1)
    lowest = take(arrays, "grid.lowest", np.float64, 1)
    origin = take(arrays, "grid.origin", np.float64, 1)
    shift = take(arrays, "grid.shift", np.uint64, 2)
    fits = anchor.size == lowest.size == origin.size == d and shift.shape == (BLOCKS, d)
    require(fits, "the arrays of the grid have different numbers of columns")
    finite = np.isfinite(lowest).all() and np.isfinite(origin).all()
    require(finite, "the position of the grid is not finite")
    return Grid(origin, scale, shift, root_exponent, anchor, lowest)


def _splits_from(metadata: Mapping[str, Any], arrays: Arrays, parent: Ints32) -> SplitLocator:
    centers = take(arrays, "splits.centers", np.float64, 2)
    n, d = centers.shape
    require(1 <= n <= parent.size and d >= 1, "it has no coordinates of centers, or too many")
    require((np.abs(centers) <= 1.0).all(), "a coordinate of a center is not within [-1, 1]")
    rivals = None
    if "splits.rivals" in arrays:
        rivals = take(arrays, "splits.rivals", np.float64, 2)
        require(rivals.shape == centers.shape, "its arrays of points have different shapes")
        require((np.abs(rivals) <= 1.0).all(), "a point is not within [-1, 1]")
    return SplitLocator(centers, parent[:n], *_metric_from(metadata), rivals)


def _planes_from(metadata: Mapping[str, Any], arrays: Arrays, parent: Ints32) -> PlaneLocator:
    points = take(arrays, "planes.points", np.float64, 2)
    normals = take(arrays, "planes.normals", np.float64, 2)
    n, d = points.shape
    require(1 <= n <= parent.size and d >= 1, "it has no planes, or too many")
    require(normals.shape == points.shape, "its arrays of planes have different shapes")
    finite = np.isfinite(points).all() and (np.abs(normals) <= 1.0).all()
    require(finite, "a plane has no position or no direction")
    return PlaneLocator(points, normals, parent[:n], *_metric_from(metadata))


def _sparse_planes_from(
    metadata: Mapping[str, Any], arrays: Arrays, parent: Ints32
) -> SparsePlaneLocator:
    d: Any = metadata.get("n_features")
    require(type(d) is int and 1 <= d < 1 << 31, "its number of columns is out of range")
    offsets = take(arrays, "planes.offsets", np.float64, 1)
    known = 1 <= offsets.size <= parent.size and np.isfinite(offsets).all()
    require(known, "it has too many planes, or one without a position")
    normals = rows_from_arrays("planes", arrays, offsets.size, d)
    known = normals is not None and normals.dtype == np.float64
    require(known and (np.abs(normals.data) <= 1.0).all(), "a plane has no direction")
    return SparsePlaneLocator(normals, offsets, parent[: offsets.size], *_metric_from(metadata))


def _metric_from(metadata: Mapping[str, Any]) -> tuple[int, int]:
    metric, known = metadata.get("metric"), METRICS[:-1]  # distances have a locator of their own
    require(metric in known, f"the metric must be one of {list(known)}")
    return METRICS.index(str(metric)), _exponent_from(metadata)


def _exponent_from(metadata: Mapping[str, Any]) -> int:
    exponent: Any = metadata.get("exponent")
    inside = type(exponent) is int and exponent in _EXPONENTS
    require(inside, "the exponent of the centers or distances is out of range")
    return int(exponent)


def take(arrays: Arrays, name: str, dtype: type[np.generic], ndim: int) -> NDArray[Any]:
    """Return an array of the right type and number of dimensions, or raise an error."""
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.ndim != ndim:
        raise ValueError(
            f"it must have an array {name!r} of dtype {np.dtype(dtype)} with {ndim} dimensions"
        )
    return np.ascontiguousarray(array)


def require(holds: Any, otherwise: str) -> None:
    """Raise an error that says what is wrong with a file, unless something holds."""
    if not holds:
        raise ValueError(otherwise)


def _in_range(values: NDArray[np.integer], stop: int) -> bool:
    return bool(values.min() >= 0 and values.max() < stop)


def _is_z_ordered(coordinates: Words) -> bool:
    """Whether each row precedes the next: the highest bit in which they differ decides."""
    most = np.zeros(coordinates.shape[0] - 1, dtype=np.uint64)
    rises = np.zeros(most.size, dtype=np.bool_)
    for column in coordinates.T:
        differ = column[:-1] ^ column[1:]
        higher = (most < differ) & (most < (most ^ differ))
        most = np.where(higher, differ, most)
        rises = np.where(higher, column[:-1] < column[1:], rises)
    return bool(rises.all())


def _sparse_names(name: str) -> set[str]:
    """Name the arrays of sparse rows."""
    return {f"{name}.data", f"{name}.indices", f"{name}.indptr"}


def rows_to_arrays(name: str, rows: Any) -> dict[str, NDArray[Any]]:
    """Store dense rows as one array and sparse ones as three."""
    if not issparse(rows):
        return {name: rows}
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices.astype(np.int32),
        f"{name}.indptr": rows.indptr.astype(np.int64),
    }


def rows_from_arrays(name: str, arrays: Arrays, n_rows: int, n_columns: int) -> Any:
    """Read what `rows_to_arrays` stored, None if nothing; sparse rows are checked."""
    if not _sparse_names(name) & arrays.keys():
        return arrays.get(name)
    whole = name not in arrays and _sparse_names(name) <= arrays.keys()
    require(whole, f"it has only some of the arrays of its sparse {name}")
    data, indices, starts = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    types = data.dtype in (np.float64, np.float32) and indices.dtype == np.int32
    types = types and starts.dtype == np.int64 and data.ndim == indices.ndim == starts.ndim == 1
    require(types, f"the arrays of its sparse {name} have the wrong types")
    placed = starts.size == n_rows + 1 and starts[0] == 0
    placed = placed and starts[-1] == data.size == indices.size and (np.diff(starts) >= 0).all()
    require(placed, f"its sparse {name} do not start where the previous ones end")
    new_row = np.zeros(indices.size + 1, dtype=np.bool_)
    new_row[starts] = True
    rising = (np.diff(indices) > 0) | new_row[1:-1]
    inside = rising.all() and (indices.size == 0 or _in_range(indices, n_columns))
    require(inside, f"the columns of its sparse {name} are out of range or not in order")
    require(np.isfinite(data).all(), f"its {name} are not finite")
    return csr_array((data, indices, starts), shape=(n_rows, n_columns))


_READERS: dict[str, Callable[[Mapping[str, Any], Arrays, Ints32], Any]] = {
    "cells": _cells_from,
    "splits": _splits_from,
    "planes": _planes_from,
    "means": _means_from,
    "sparse planes": _sparse_planes_from,
}
