"""Fitted model -> file and back: hierarchy, parameters, rows, and information about a table."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from holdfast._machine.jit import Floats, Mask
from holdfast.centers.medoids import METRICS
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import DepartedRows, check_unique, normal_ids, pack_ids, unpack_ids
from holdfast.storage.archive import DamagedFile, read_archive, write_archive
from holdfast.storage.hierarchy import (
    hierarchy_from_arrays,
    hierarchy_to_arrays,
    require,
    rows_from_arrays,
    rows_to_arrays,
    take,
)
from holdfast.tables.preparation import Preparation

_PREFIX = "hierarchy."
_PARAMETERS = {"epsilon", "max_centers", "method", "metric", "n_clusters", "seed"}
_OLD_PARAMETERS = {"cost", "epsilon", "max_centers", "seed"}
_OLD_COSTS = {"tree": "tree", "euclidean": "medoids", "refined": "means"}
"""The names of the methods in early files."""


@dataclass(frozen=True, eq=False)
class TableRecord:
    """What a model knows about the table that it was fitted to."""

    preparation: Preparation  # how the columns of the table become columns of the model
    id_name: str | None  # the column with the ids of the rows
    # (n_rows,): ids of all rows of the table; None if rows are identified by their number
    ids: NDArray[Any] | None
    used: Mask  # (n_rows,): rows that were fitted; others had missing values
    cuts: tuple[int, ...]  # the requested numbers of clusters

    @property
    def used_ids(self) -> NDArray[Any] | None:
        """Ids of the rows that were fitted, or None."""
        return None if self.ids is None else normal_ids(self.ids)[self.used]


@dataclass(frozen=True, eq=False)
class ModelRecord:
    """Everything that a file stores of a fitted model."""

    hierarchy: Hierarchy
    parameters: dict[str, Any] = field(default_factory=dict)  # none in a file with only a hierarchy
    rows: Any = None  # (n_rows, n_features)
    weight: Floats | None = None  # (n_rows,)
    centers: Any = None  # (n_clusters, n_features)
    reach: float | None = None  # the largest distance from a row to the center of its cluster
    columns: tuple[str, ...] | None = None  # names of the columns
    cap: dict[str, Any] | None = None  # of rows that represent others
    table: TableRecord | None = None
    ids: NDArray[Any] | None = None  # (n_rows,): ids of the rows; not stored if `table` has them
    left: DepartedRows | None = None  # rows that left while the model was followed
    bound: bool = False  # whether a budget has held rows back
    least: float | None = None  # of a followed model: what a change of structure must pay


def write_model(path: str | os.PathLike[str], model: ModelRecord) -> None:
    """Write a model to a file, completely or not at all."""
    write_archive(path, "model", *model_to_arrays(model))


def model_to_arrays(model: ModelRecord) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert a model to plain JSON and arrays."""
    metadata, arrays = hierarchy_to_arrays(model.hierarchy)
    stored: dict[str, NDArray[Any]] = {_PREFIX + name: array for name, array in arrays.items()}
    epsilon = model.parameters["epsilon"]
    epsilon = "inf" if math.isinf(epsilon) else float(epsilon)
    record: dict[str, Any] = {
        "hierarchy": metadata,
        "parameters": {**model.parameters, "epsilon": epsilon},
        "reach": model.reach,
        "columns": None if model.columns is None else list(model.columns),
        "cap": model.cap,
        "table": None,
    }
    for name in ("rows", "weight", "centers"):
        array = getattr(model, name)
        if array is not None:
            stored |= rows_to_arrays(name, array)
    if model.table is not None:
        described, named = _table_to_arrays(model.table)
        record["table"] = described
        stored |= named
    if model.ids is not None and (model.table is None or model.table.ids is None):
        record["ids"], named = pack_ids(model.ids)
        stored |= named
    if model.bound:
        record["bound"] = True
    if model.least is not None:
        record["least"] = float(model.least)
    if model.left is not None:
        kind, named = pack_ids(model.left.ids, "left")
        record["left"] = {"ids": kind, "level": model.left.level}
        stored |= named | {"left.names": model.left.names}
    return record, stored


def _table_to_arrays(table: TableRecord) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    kind, arrays = pack_ids(table.ids)
    if not table.used.all():
        arrays["used"] = table.used
    record = {
        "preparation": table.preparation.to_json(),
        "id_name": table.id_name,
        "ids": kind,
        "cuts": list(table.cuts),
    }
    return record, arrays


def read_model(path: str | os.PathLike[str]) -> ModelRecord:
    """Read a holdfast file of this or an earlier format, and check all of it."""
    archive = read_archive(path, _READERS)
    try:
        return _READERS[archive.kind](archive.metadata, archive.arrays)
    except ValueError as error:
        raise DamagedFile(path, str(error)) from None


def _read_hierarchy(metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ModelRecord:
    """Read a file that contains only a hierarchy."""
    return ModelRecord(hierarchy_from_arrays(metadata, arrays))


def model_from_arrays(
    metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> ModelRecord:
    """Read what `model_to_arrays` returned, and check all of it; ValueError where it is wrong."""
    inside = {n.removeprefix(_PREFIX): a for n, a in arrays.items() if n.startswith(_PREFIX)}
    hierarchy = hierarchy_from_arrays(_record(metadata, "hierarchy"), inside)
    if "cost" in _record(metadata, "parameters"):
        return _read_first_format(hierarchy, metadata, arrays)
    parameters = _check_parameters(_record(metadata, "parameters"), hierarchy)
    d = hierarchy.locator.n_features
    rows, weight = _check_rows(arrays, hierarchy.n_rows, d)
    centers = rows_from_arrays("centers", arrays, parameters["n_clusters"], d)
    if centers is not None:
        fits = centers.dtype == np.float64 and centers.shape == (parameters["n_clusters"], d)
        require(fits and _is_finite(centers), "its centers are not finite, or not one per cluster")
    reach, least = metadata.get("reach"), metadata.get("least")
    require(_is_size(reach), "its reach is not a finite, non-negative number")
    require(_is_size(least), "the price of a change is not a finite, non-negative number")
    columns = metadata.get("columns")
    named = columns is None or (_is_names(columns) and len(columns) == d)
    require(named, "it does not have one distinct name per column")
    table, ids = metadata.get("table"), metadata.get("ids")
    return ModelRecord(
        hierarchy=hierarchy,
        parameters=parameters,
        rows=rows,
        weight=weight,
        centers=centers,
        reach=reach,
        columns=None if columns is None else tuple(columns),
        cap=_check_cap(metadata.get("cap"), d),
        table=None if table is None else _read_table(_record(metadata, "table"), arrays, hierarchy),
        ids=None if ids is None else check_unique(unpack_ids(ids, arrays, hierarchy.n_rows)),
        left=None if metadata.get("left") is None else _read_left(metadata, arrays),
        bound=metadata.get("bound", False) is True,
        least=least,
    )


def _is_size(value: Any) -> bool:
    return value is None or (type(value) is float and 0.0 <= value < math.inf)


def _is_finite(rows: Any) -> bool:
    return bool(np.isfinite(rows.data if issparse(rows) else rows).all())


def _read_left(metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> DepartedRows:
    record, names = _record(metadata, "left"), take(arrays, "left.names", np.int64, 1)
    require((names >= 0).all(), "it has no cluster names of the rows that left")
    level: Any = record.get("level")
    positive = type(level) is int and level >= 1
    require(positive, "the level of the rows that left is not a positive integer")
    ids = unpack_ids(record.get("ids"), arrays, names.size, "left")
    keyed = record.get("ids") == "keys"  # of equal rows, which early files list more than once
    return DepartedRows(ids if ids is not None and keyed else check_unique(ids), names, level)


def _read_first_format(
    hierarchy: Hierarchy, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> ModelRecord:
    """Read an early file of ``holdfast fit --model`` under the current names."""
    old = _record(metadata, "parameters")
    known = set(old) == _OLD_PARAMETERS and old["cost"] in _OLD_COSTS
    require(known, f"its parameters must be {', '.join(sorted(_OLD_PARAMETERS))}")
    table = _read_table({**metadata, "cuts": metadata.get("n_clusters")}, arrays, hierarchy)
    rest = {name: old[name] for name in ("epsilon", "max_centers", "seed")}
    method = {"method": _OLD_COSTS[old["cost"]], "metric": "euclidean"}
    parameters = _check_parameters(rest | method | {"n_clusters": max(table.cuts)}, hierarchy)
    columns = table.preparation.columns
    rows, weight = _rows_of_first_format(arrays, hierarchy.n_rows, len(columns))
    return ModelRecord(hierarchy, parameters, rows, weight, columns=columns, table=table)


def _rows_of_first_format(
    arrays: Mapping[str, NDArray[Any]], n_rows: int, n_columns: int
) -> tuple[Floats | None, Floats | None]:
    """Expand distinct rows; the first of equal rows gets all their weight."""
    if "rows.values" not in arrays:
        return None, None
    values = take(arrays, "rows.values", np.float64, 2)
    weight = take(arrays, "rows.weight", np.float64, 1)
    index = take(arrays, "rows.index", np.int64, 1)
    shapes = values.shape[1] == n_columns and weight.size == values.shape[0]
    require(shapes and index.size == n_rows, "its rows, weights and row numbers do not match")
    finite = np.isfinite(values).all() and np.isfinite(weight).all() and (weight >= 0.0).all()
    require(finite, "its rows or weights are not finite")
    inside = index.min() >= 0 and index.max() < values.shape[0]
    require(inside, "a row number is out of range")
    if np.array_equal(np.bincount(index, minlength=weight.size), weight):
        return values[index], None
    total = np.zeros(n_rows)
    present, first = np.unique(index, return_index=True)
    total[first] = weight[present]
    return values[index], total


def _read_table(
    record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], hierarchy: Hierarchy
) -> TableRecord:
    preparation = Preparation.from_json(_record(record, "preparation"))
    fits = hierarchy.locator.n_features == len(preparation.columns)
    require(fits, "the hierarchy and the preparation have different numbers of columns")
    used = arrays.get("used", np.ones(hierarchy.n_rows, dtype=np.bool_))
    fits = used.dtype == np.bool_ and used.ndim == 1 and used.sum() == hierarchy.n_rows
    require(fits, "the number of fitted rows differs from that of the hierarchy")
    cuts: Any = record.get("cuts")
    numbers = isinstance(cuts, list) and cuts and all(type(k) is int and k >= 1 for k in cuts)
    require(numbers, "its numbers of clusters are not positive integers")
    fits = max(cuts) <= hierarchy.n_centers
    require(fits, "a number of clusters is larger than the number of centers")
    id_name = record.get("id_name")
    require(isinstance(id_name, str | None), "the name of the id column is not text")
    ids = unpack_ids(record.get("ids"), arrays, used.size)
    return TableRecord(preparation, id_name, ids, used, tuple(cuts))


def _record(metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = metadata.get(name)
    if not isinstance(found, dict):
        raise ValueError(f"it has no description of its {name}")  # noqa: TRY004 - one kind of error
    return found


def _check_parameters(record: Mapping[str, Any], hierarchy: Hierarchy) -> dict[str, Any]:
    known = set(record) - {"column_scale"} == _PARAMETERS
    require(known, f"its parameters must be {', '.join(sorted(_PARAMETERS))}")
    epsilon = math.inf if record["epsilon"] == "inf" else record["epsilon"]
    number = isinstance(epsilon, float) and epsilon >= 0.0
    require(number, "its epsilon is not a non-negative number")
    known = record["method"] in _OLD_COSTS.values()
    require(known, "its method is not means, medoids or tree")
    require(record["metric"] in METRICS, f"its metric is not one of {', '.join(METRICS)}")
    seed, most, count = record["seed"], record["max_centers"], record["n_clusters"]
    require(type(seed) is int and 0 <= seed < 1 << 64, "its seed is not a 64-bit integer")
    number = most in (None, "all") or (type(most) is int and most >= 1)
    require(number, 'its max_centers is not a positive integer, "all" or null')
    number = type(count) is int and 1 <= count <= hierarchy.n_centers
    require(number, "its n_clusters is not from 1 to the number of centers")
    scale, d = record.get("column_scale"), hierarchy.locator.n_features
    numbers = scale is None or (isinstance(scale, list) and len(scale) == d)
    numbers = numbers and all(isinstance(x, float) and 0.0 < x < math.inf for x in scale or ())
    require(numbers, "its column_scale is not a positive number for each column")
    return {**record, "epsilon": epsilon}


def _check_rows(
    arrays: Mapping[str, NDArray[Any]], n_rows: int, n_columns: int
) -> tuple[Any, Floats | None]:
    rows, weight = rows_from_arrays("rows", arrays, n_rows, n_columns), arrays.get("weight")
    if rows is None:
        return None, None
    fits = rows.shape == (n_rows, n_columns) and rows.dtype in (np.float64, np.float32)
    require(fits, "its rows are not floating-point numbers, or not one per label")
    require(_is_finite(rows), "its rows are not finite")
    if weight is not None:
        fits = weight.dtype == np.float64 and weight.shape == (n_rows,)
        fits = fits and np.isfinite(weight).all() and (weight >= 0.0).all() and weight.any()
        require(fits, "its weights are not one finite, non-negative number per row")
    return rows, weight


def _check_cap(record: Any, n_columns: int) -> dict[str, Any] | None:
    if record is None:
        return None
    known = isinstance(record, dict) and set(record) == {"max_cells", "exponent", "lower", "upper"}
    require(known, "it has no valid description of the cells of its rows")
    most, exponent, *bounds = (record[n] for n in ("max_cells", "exponent", "lower", "upper"))
    inside = type(most) is int and most >= 1 and type(exponent) is int and abs(exponent) <= 1200
    require(inside, "the cells of its rows are out of range")
    for bound in bounds:
        numbers = isinstance(bound, list) and len(bound) == n_columns
        numbers = numbers and all(type(x) is float and math.isfinite(x) for x in bound)
        require(numbers, "the bounds of its rows are not finite numbers")
    rising = all(low <= high for low, high in zip(*bounds, strict=True))
    require(rising, "the bounds of its rows are in the wrong order")
    return dict(record)


def _is_names(names: Any) -> bool:
    return (
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names)
    )


_READERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, NDArray[Any]]], ModelRecord]] = {
    "hierarchy": _read_hierarchy,
    "model": model_from_arrays,
}
