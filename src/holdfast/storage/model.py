"""Fitted model -> file and back: hierarchy, parameters, rows, and information about a table."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from holdfast.centers.medoids import METRICS
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import DepartedRows, check_unique, pack_ids, unpack_ids
from holdfast.storage.archive import DamagedFile, read_archive, write_archive
from holdfast.storage.hierarchy import (
    hierarchy_from_arrays,
    hierarchy_to_arrays,
    rows_from_arrays,
    rows_to_arrays,
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
    # (n_rows,): rows that were fitted; the others were dropped because of missing values
    used: NDArray[np.bool_]
    cuts: tuple[int, ...]  # the requested numbers of clusters


@dataclass(frozen=True, eq=False)
class ModelRecord:
    """Everything that a file stores of a fitted model."""

    hierarchy: Hierarchy
    # `method`, `metric`, `epsilon` (the value used), `max_centers`, `n_clusters` and `seed`;
    # `column_scale` if it was used. Empty for a file that contains only a hierarchy
    parameters: dict[str, Any] = field(default_factory=dict)
    rows: Any = None  # (n_rows, n_features)
    weight: NDArray[np.float64] | None = None  # (n_rows,)
    centers: Any = None  # (n_clusters, n_features)
    reach: float | None = None  # the largest distance from a row to the center of its cluster
    columns: tuple[str, ...] | None = None  # names of the columns
    # If the rows represent others: `max_cells`, `exponent`, `lower`, `upper`
    cap: dict[str, Any] | None = None
    table: TableRecord | None = None
    ids: NDArray[Any] | None = None  # (n_rows,): ids of the rows; not stored if `table` has them
    left: DepartedRows | None = None  # rows that left while the model was followed
    bound: bool = False  # whether a budget has held rows back
    # For a model that follows another one: by how much a change of structure must pay
    least: float | None = None


def write_model(path: str | os.PathLike[str], model: ModelRecord) -> None:
    """Write a model to a file, completely or not at all."""
    write_archive(path, "model", *model_to_arrays(model))


def model_to_arrays(model: ModelRecord) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert a model to plain JSON and arrays."""
    metadata, arrays = hierarchy_to_arrays(model.hierarchy)
    stored: dict[str, NDArray[Any]] = {_PREFIX + name: array for name, array in arrays.items()}
    epsilon = model.parameters["epsilon"]
    record: dict[str, Any] = {
        "hierarchy": metadata,
        "parameters": {
            **model.parameters,
            "epsilon": "inf" if math.isinf(epsilon) else float(epsilon),
        },
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
    if centers is not None and (
        centers.dtype != np.float64
        or centers.shape != (parameters["n_clusters"], d)
        or not np.isfinite(centers.data if issparse(centers) else centers).all()
    ):
        raise ValueError("its centers are not finite, or not one row per cluster")
    reach = metadata.get("reach")
    if reach is not None and not (type(reach) is float and 0.0 <= reach < math.inf):
        raise ValueError("its reach is not a finite, non-negative number")
    columns = metadata.get("columns")
    if columns is not None and not (_is_names(columns) and len(columns) == d):
        raise ValueError("it does not have one distinct name per column")
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
        least=_check_least(metadata.get("least")),
    )


def _check_least(least: Any) -> float | None:
    if least is not None and not (type(least) is float and 0.0 <= least < math.inf):
        raise ValueError("the price of a change is not a finite, non-negative number")
    return least


def _read_left(metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> DepartedRows:
    record, names = _record(metadata, "left"), arrays.get("left.names")
    if names is None or names.dtype != np.int64 or names.ndim != 1 or (names < 0).any():
        raise ValueError("it has no cluster names of the rows that left")
    level = record.get("level")
    if type(level) is not int or level < 1:
        raise ValueError("the level of the rows that left is not a positive integer")
    ids = unpack_ids(record.get("ids"), arrays, names.size, "left")
    if ids is None:
        raise ValueError("it has no ids of the rows that left")
    return DepartedRows(check_unique(ids), names, level)


def _read_first_format(
    hierarchy: Hierarchy, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> ModelRecord:
    """Read an early file of ``holdfast fit --model`` under the current names."""
    old = _record(metadata, "parameters")
    if set(old) != _OLD_PARAMETERS or old["cost"] not in _OLD_COSTS:
        raise ValueError(f"its parameters must be {', '.join(sorted(_OLD_PARAMETERS))}")
    record = {
        "preparation": metadata.get("preparation"),
        "id_name": metadata.get("id_name"),
        "ids": metadata.get("ids"),
        "cuts": metadata.get("n_clusters"),
    }
    table = _read_table(record, arrays, hierarchy)
    rest = {name: old[name] for name in ("epsilon", "max_centers", "seed")}
    method = {"method": _OLD_COSTS[old["cost"]], "metric": "euclidean"}
    parameters = _check_parameters(rest | method | {"n_clusters": max(table.cuts)}, hierarchy)
    columns = table.preparation.columns
    rows, weight = _rows_of_first_format(arrays, hierarchy.n_rows, len(columns))
    return ModelRecord(hierarchy, parameters, rows, weight, columns=columns, table=table)


def _rows_of_first_format(
    arrays: Mapping[str, NDArray[Any]], n_rows: int, n_columns: int
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Expand distinct rows; the first of equal rows gets all their weight."""
    if "rows.values" not in arrays:
        return None, None
    values, weight = arrays["rows.values"], arrays.get("rows.weight")
    index = arrays.get("rows.index")
    if weight is None or index is None:
        raise ValueError("its rows have no weights")
    shapes = values.ndim == 2 and values.shape[1] == n_columns and weight.shape == values.shape[:1]
    types = values.dtype == weight.dtype == np.float64 and index.dtype == np.int64
    if not (shapes and types and index.shape == (n_rows,)):
        raise ValueError("its rows, weights and row numbers do not match")
    if not (np.isfinite(values).all() and np.isfinite(weight).all() and (weight >= 0.0).all()):
        raise ValueError("its rows or weights are not finite")
    if index.min() < 0 or index.max() >= values.shape[0]:
        raise ValueError("a row number is out of range")
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
    if hierarchy.locator.n_features != len(preparation.columns):
        raise ValueError("the hierarchy and the preparation have different numbers of columns")
    used = arrays.get("used", np.ones(hierarchy.n_rows, dtype=np.bool_))
    if used.dtype != np.bool_ or used.ndim != 1 or np.count_nonzero(used) != hierarchy.n_rows:
        raise ValueError("the number of fitted rows differs from that of the hierarchy")
    cuts = record.get("cuts")
    if not isinstance(cuts, list) or not cuts or not all(type(k) is int and k >= 1 for k in cuts):
        raise ValueError("its numbers of clusters are not positive integers")
    if max(cuts) > hierarchy.n_centers:
        raise ValueError("a number of clusters is larger than the number of centers")
    id_name = record.get("id_name")
    if id_name is not None and not isinstance(id_name, str):
        raise ValueError("the name of the id column is not text")
    ids = unpack_ids(record.get("ids"), arrays, used.size)
    return TableRecord(preparation, id_name, ids, used, tuple(cuts))


def _record(metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = metadata.get(name)
    if not isinstance(found, dict):
        raise ValueError(f"it has no description of its {name}")  # noqa: TRY004 - one kind of error
    return found


def _check_parameters(record: Mapping[str, Any], hierarchy: Hierarchy) -> dict[str, Any]:
    scale = record.get("column_scale")
    if set(record) - {"column_scale"} != _PARAMETERS:
        raise ValueError(f"its parameters must be {', '.join(sorted(_PARAMETERS))}")
    epsilon = math.inf if record["epsilon"] == "inf" else record["epsilon"]
    if not isinstance(epsilon, float) or not epsilon >= 0.0:
        raise ValueError("its epsilon is not a non-negative number")
    if record["method"] not in _OLD_COSTS.values():
        raise ValueError("its method is not means, medoids or tree")
    if record["metric"] not in METRICS:
        raise ValueError(f"its metric is not one of {', '.join(METRICS)}")
    if type(record["seed"]) is not int or not 0 <= record["seed"] < 1 << 64:
        raise ValueError("its seed is not a 64-bit integer")
    most, count = record["max_centers"], record["n_clusters"]
    if most not in (None, "all") and (type(most) is not int or most < 1):
        raise ValueError('its max_centers is not a positive integer, "all" or null')
    if type(count) is not int or not 1 <= count <= hierarchy.n_centers:
        raise ValueError("its n_clusters is not from 1 to the number of centers")
    if scale is not None and not (
        isinstance(scale, list)
        and len(scale) == hierarchy.locator.n_features
        and all(isinstance(value, float) and 0.0 < value < math.inf for value in scale)
    ):
        raise ValueError("its column_scale is not a positive number for each column")
    return {**record, "epsilon": epsilon}


def _check_rows(
    arrays: Mapping[str, NDArray[Any]], n_rows: int, n_columns: int
) -> tuple[Any, NDArray[np.float64] | None]:
    rows, weight = rows_from_arrays("rows", arrays, n_rows, n_columns), arrays.get("weight")
    if rows is None:
        return None, None
    if rows.shape != (n_rows, n_columns) or rows.dtype not in (np.float64, np.float32):
        raise ValueError("its rows are not floating-point numbers, or not one per label")
    if not np.isfinite(rows.data if issparse(rows) else rows).all():
        raise ValueError("its rows are not finite")
    if weight is not None and (
        weight.dtype != np.float64
        or weight.shape != (n_rows,)
        or not (np.isfinite(weight).all() and (weight >= 0.0).all() and weight.any())
    ):
        raise ValueError("its weights are not one finite, non-negative number per row")
    return rows, weight


def _check_cap(record: Any, n_columns: int) -> dict[str, Any] | None:
    if record is None:
        return None
    if not isinstance(record, dict) or set(record) != {"max_cells", "exponent", "lower", "upper"}:
        raise ValueError("it has no valid description of the cells of its rows")
    numbers = record["max_cells"], record["exponent"]
    if not all(type(n) is int for n in numbers) or numbers[0] < 1 or not abs(numbers[1]) <= 1200:
        raise ValueError("the cells of its rows are out of range")
    bounds = record["lower"], record["upper"]
    for bound in bounds:
        if (
            not isinstance(bound, list)
            or len(bound) != n_columns
            or not all(type(x) is float and math.isfinite(x) for x in bound)
        ):
            raise ValueError("the bounds of its rows are not finite numbers")
    if any(low > high for low, high in zip(*bounds, strict=True)):
        raise ValueError("the bounds of its rows are in the wrong order")
    return record


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
