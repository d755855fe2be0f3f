"""Sparse rows and planes -> plain arrays, and back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

if TYPE_CHECKING:
    from holdfast.hierarchy.sparse import SparsePlaneLocator

__all__ = ["names_of", "rows_from_arrays", "rows_to_arrays", "sparse_planes_from"]

Arrays = Mapping[str, NDArray[Any]]


def names_of(name: str) -> set[str]:
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
    """Read what `rows_to_arrays` stored, None if nothing; sparse rows are checked.

    Raises
    ------
    ValueError
        If columns or rows are out of range or not in order.
    """
    if not names_of(name) & arrays.keys():
        return arrays.get(name)
    if name in arrays or not names_of(name) <= arrays.keys():
        raise ValueError(f"it has only some of the arrays of its sparse {name}")
    data, indices, starts = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    types = data.dtype in (np.float64, np.float32) and indices.dtype == np.int32
    if not (types and starts.dtype == np.int64 and data.ndim == indices.ndim == starts.ndim == 1):
        raise ValueError(f"the arrays of its sparse {name} have the wrong types")
    if not (
        starts.size == n_rows + 1
        and starts[0] == 0
        and starts[-1] == data.size == indices.size
        and (np.diff(starts) >= 0).all()
    ):
        raise ValueError(f"its sparse {name} do not begin where those before end")
    new_row = np.zeros(indices.size + 1, dtype=np.bool_)
    new_row[starts] = True
    rising = (np.diff(indices) > 0) | new_row[1:-1]
    inside = indices.size == 0 or (indices.min() >= 0 and indices.max() < n_columns)
    if not (inside and rising.all()):
        raise ValueError(f"the columns of its sparse {name} are out of range or not in order")
    if not np.isfinite(data).all():
        raise ValueError(f"its {name} are not finite")
    return csr_array((data, indices, starts), shape=(n_rows, n_columns))


def sparse_planes_from(
    metadata: Mapping[str, Any],
    arrays: Arrays,
    parent: NDArray[np.int32],
    metric: int,
    exponent: int,
) -> "SparsePlaneLocator":
    """Read the planes of sparse rows."""
    from holdfast.hierarchy.sparse import SparsePlaneLocator

    d, offsets = metadata.get("n_features"), arrays.get("planes.offsets")
    if type(d) is not int or not 1 <= d < 1 << 31:
        raise ValueError("its number of columns is out of range")
    if offsets is None or offsets.dtype != np.float64 or offsets.ndim != 1:
        raise ValueError("it has no offsets of planes")
    if not (1 <= offsets.size <= parent.size and np.isfinite(offsets).all()):
        raise ValueError("it has too many planes, or one without a place")
    normals = rows_from_arrays("planes", arrays, offsets.size, d)
    if normals is None or normals.dtype != np.float64 or not (np.abs(normals.data) <= 1.0).all():
        raise ValueError("a plane has no direction")
    return SparsePlaneLocator(normals, offsets, parent[: offsets.size], metric, exponent)
