"""A fit as a file: hierarchy, preparation, parameters, ids and, where wanted, the rows."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.hierarchy import Hierarchy
from holdfast.storage.archive import write_archive
from holdfast.storage.hierarchy import hierarchy_from_arrays, hierarchy_to_arrays
from holdfast.tables.preparation import Preparation

__all__ = ["FittedModel", "StoredRows", "collect_rows", "model_from_arrays", "save_model"]

_PREFIX = "hierarchy."
_PARAMETERS = ("cost", "epsilon", "max_centers", "seed")


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The prepared rows of a fit, each distinct one once.

    Attributes
    ----------
    rows : ndarray of shape (n_distinct, n_columns), dtype float64
    weight : ndarray of shape (n_distinct,), dtype float64
        The sum of the weights of equal rows: how often each occurs where the fit had no weights.
    index : ndarray of shape (n_used,), dtype int64
        Which of them each row of the fit is.
    """

    rows: NDArray[np.float64]
    weight: NDArray[np.float64]
    index: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What ``holdfast fit --model`` stores and :func:`holdfast.load` gives back.

    Attributes
    ----------
    hierarchy : Hierarchy
        Of the rows that took part.
    preparation : Preparation
    parameters : dict
        `cost` ("refined" for the Euclidean one with `refine`), `epsilon` (the value used), `max_centers` and `seed`.
    n_clusters : tuple of int
        The cuts that were asked for.
    id_name : str or None
        The column that names rows, also where the model itself has no ids (after an update).
    ids : ndarray of shape (n_rows,), dtype int64 or str, or None
        Of all rows of the file; None where rows are known by their number.
    used : ndarray of shape (n_rows,), dtype bool
        Rows that took part; all but those left out for missing values.
    stored : StoredRows or None
    """

    hierarchy: Hierarchy
    preparation: Preparation
    parameters: dict[str, Any]
    n_clusters: tuple[int, ...]
    id_name: str | None
    ids: NDArray[Any] | None
    used: NDArray[np.bool_]
    stored: StoredRows | None


def collect_rows(rows: NDArray[np.float64], weight: NDArray[np.float64] | None) -> StoredRows:
    """Find the distinct rows, and which of them each row is."""
    distinct, index, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    index = index.reshape(-1).astype(np.int64)
    if weight is None:
        return StoredRows(distinct, counts.astype(np.float64), index)
    total = np.bincount(index, weights=weight, minlength=distinct.shape[0])
    return StoredRows(distinct, total.astype(np.float64), index)


def save_model(path: str | os.PathLike[str], model: FittedModel) -> None:
    """Write a model to a file of kind "model", whole or not at all."""
    metadata, arrays = hierarchy_to_arrays(model.hierarchy)
    stored: dict[str, NDArray[Any]] = {_PREFIX + name: array for name, array in arrays.items()}
    epsilon = model.parameters["epsilon"]
    record = {
        "hierarchy": metadata,
        "preparation": model.preparation.to_json(),
        "parameters": {
            **model.parameters,
            "epsilon": "inf" if math.isinf(epsilon) else float(epsilon),
        },
        "n_clusters": list(model.n_clusters),
        "id_name": model.id_name,
        "ids": "none",
    }
    if model.ids is not None and model.ids.dtype.kind == "i":
        record["ids"] = "integers"
        stored["ids.integers"] = model.ids.astype(np.int64)
    elif model.ids is not None:
        record["ids"] = "texts"
        stored |= _pack_texts(model.ids)
    if not model.used.all():
        stored["used"] = model.used
    if model.stored is not None:
        stored["rows.values"] = model.stored.rows
        stored["rows.weight"] = model.stored.weight
        stored["rows.index"] = model.stored.index
    write_archive(path, "model", record, stored)


def model_from_arrays(
    metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> FittedModel:
    """Put a model together again; ValueError says what does not fit."""
    inside = {n.removeprefix(_PREFIX): a for n, a in arrays.items() if n.startswith(_PREFIX)}
    hierarchy = hierarchy_from_arrays(_record(metadata, "hierarchy"), inside)
    preparation = Preparation.from_json(_record(metadata, "preparation"))
    if hierarchy.locator.n_features != len(preparation.columns):
        raise ValueError("the hierarchy and the preparation have different numbers of columns")
    used = arrays.get("used", np.ones(hierarchy.n_rows, dtype=np.bool_))
    if used.dtype != np.bool_ or used.ndim != 1 or np.count_nonzero(used) != hierarchy.n_rows:
        raise ValueError("the rows that took part are not as many as the hierarchy has")
    ks = metadata.get("n_clusters")
    if not isinstance(ks, list) or not ks or not all(type(k) is int and k >= 1 for k in ks):
        raise ValueError("the numbers of clusters must be positive integers")
    if max(ks) > hierarchy.n_centers:
        raise ValueError("more clusters were asked for than the hierarchy has centers")
    id_name = metadata.get("id_name")
    if id_name is not None and not isinstance(id_name, str):
        raise ValueError("the name of the ids must be text")
    return FittedModel(
        hierarchy=hierarchy,
        preparation=preparation,
        parameters=_check_parameters(_record(metadata, "parameters")),
        n_clusters=tuple(ks),
        id_name=id_name,
        ids=_unpack_ids(metadata.get("ids"), arrays, used.size),
        used=used,
        stored=_rows_from(arrays, hierarchy.n_rows, len(preparation.columns)),
    )


def _record(metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = metadata.get(name)
    if not isinstance(found, dict):
        raise ValueError(f"it does not describe its {name}")  # noqa: TRY004 - one kind of error
    return found


def _check_parameters(record: Mapping[str, Any]) -> dict[str, Any]:
    if set(record) != set(_PARAMETERS):
        raise ValueError(f"its parameters must be {', '.join(_PARAMETERS)}")
    epsilon = math.inf if record["epsilon"] == "inf" else record["epsilon"]
    if not isinstance(epsilon, float) or not epsilon >= 0.0:
        raise ValueError("epsilon must be at least 0")
    if record["cost"] not in ("tree", "euclidean", "refined"):
        raise ValueError("the cost must be tree, euclidean or refined")
    if type(record["seed"]) is not int or not 0 <= record["seed"] < 1 << 64:
        raise ValueError("the seed must have 64 bits")
    most = record["max_centers"]
    if most not in (None, "all") and (type(most) is not int or most < 1):
        raise ValueError("max_centers must be a positive integer, all or nothing")
    return {**record, "epsilon": epsilon}


def _pack_texts(ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Texts one after the other in UTF-8, and where each ends."""
    encoded = [str(text).encode() for text in ids.tolist()]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {
        "ids.texts": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "ids.ends": ends,
    }


def _unpack_ids(kind: Any, arrays: Mapping[str, NDArray[Any]], n_rows: int) -> NDArray[Any] | None:
    if kind == "none":
        return None
    if kind == "integers":
        ids = arrays.get("ids.integers")
        if ids is None or ids.dtype != np.int64 or ids.shape != (n_rows,):
            raise ValueError("it has not one id for each row")
        return ids
    if kind != "texts":
        raise ValueError("it names rows in a way that is not known")
    texts, ends = arrays.get("ids.texts"), arrays.get("ids.ends")
    if texts is None or ends is None or texts.dtype != np.uint8 or texts.ndim != 1:
        raise ValueError("it has no ids")
    if ends.dtype != np.int64 or ends.shape != (n_rows,):
        raise ValueError("it has not one id for each row")
    starts = np.concatenate(([0], ends[:-1]))
    if (ends < starts).any() or ends[-1] != texts.size:
        raise ValueError("its ids do not end where the next ones start")
    whole = texts.tobytes()
    try:
        words = [whole[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    except UnicodeDecodeError:
        raise ValueError("an id is not UTF-8") from None
    return np.array(words, dtype=object)


def _rows_from(
    arrays: Mapping[str, NDArray[Any]], n_used: int, n_columns: int
) -> StoredRows | None:
    if "rows.values" not in arrays:
        return None
    values, weight = arrays["rows.values"], arrays.get("rows.weight")
    index = arrays.get("rows.index")
    if weight is None or index is None:
        raise ValueError("its rows have no weights")
    shapes = values.ndim == 2 and values.shape[1] == n_columns and weight.shape == values.shape[:1]
    types = values.dtype == weight.dtype == np.float64 and index.dtype == np.int64
    if not (shapes and types and index.shape == (n_used,)):
        raise ValueError("its rows, their weights and their numbers do not fit each other")
    if not (np.isfinite(values).all() and np.isfinite(weight).all() and (weight >= 0.0).all()):
        raise ValueError("its rows or their weights are not finite")
    if index.min() < 0 or index.max() >= values.shape[0]:
        raise ValueError("the number of a row is out of range")
    return StoredRows(values, weight, index)
