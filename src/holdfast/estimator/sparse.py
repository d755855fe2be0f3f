"""Sparse rows of a model: checked, and held as they are."""

from __future__ import annotations  # short names in help()

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

from holdfast.centers.keyed_table import as_csr
from holdfast.rows.sketch import Sketch

__all__ = ["SparseRows", "check_sparse", "refuse_sparse"]


def check_sparse(model: Any, X: Any, reset: bool) -> csr_array:
    """Validate sparse rows of any format; as CSR with sorted columns, copied only if needed.

    Raises
    ------
    TypeError
        If the model cannot take sparse rows.
    ValueError
        If a value is not finite; names its row and column.
    """
    if model.method != "means":
        raise TypeError(
            f'X is sparse, which method="{model.method}" does not support; it needs dense rows. Use '
            'method="means", which takes sparse rows, or X.toarray().'
        )
    if not reset and getattr(model, "table_", None) is not None:
        raise TypeError(
            "X is sparse, but this model was fitted to a table with a preparation; it needs rows of "
            "that table. Use X.toarray()."
        )
    if X.ndim == 2 and max(X.shape) >= 1 << 31:
        raise ValueError(
            f"X must have fewer than 2^31 rows and columns; got {X.shape}. Number only the columns "
            "that are used."
        )
    types = [np.float64, np.float32]
    found = validate_data(
        model, X, accept_sparse="csr", dtype=types, reset=reset, ensure_all_finite=False
    )
    rows = as_csr(found)
    if not rows.data.dtype.isnative:
        rows.data = rows.data.astype(rows.data.dtype.newbyteorder("="))
    wrong = ~np.isfinite(rows.data)
    if wrong.any():
        e = int(np.argmax(wrong))
        row = int(np.searchsorted(rows.indptr, e, side="right")) - 1
        what = "NaN" if np.isnan(rows.data[e]) else "infinity"
        raise ValueError(
            f"Input X contains {what} in row {row}, column {rows.indices[e]}; X must be finite "
            "numbers. Remove or replace such values."
        )
    return rows


def refuse_sparse(what: str, *rows: Any) -> None:
    """Raise an error if any of the rows are sparse."""
    if any(issparse(some) for some in rows):
        raise TypeError(
            f"{what} needs dense rows; got sparse ones, or a model that was fitted to some. Use dense "
            "rows for both, such as X.toarray() or the result of TruncatedSVD."
        )


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The sparse rows of a model, which cannot change. See `HeldRows`."""

    rows: csr_array
    weight: NDArray[np.float64] | None
    extent: None = None

    def add(self, sketch: Sketch) -> NoReturn:
        """Refuse: rows that come and go are counted as dense ones."""
        refuse_sparse("partial_fit", self.rows)
        raise AssertionError

    def remove(self, sketch: Sketch) -> NoReturn:
        """Refuse: rows that come and go are counted as dense ones."""
        refuse_sparse("forget", self.rows)
        raise AssertionError

    def settle(self) -> SparseRows:
        """There are no pending changes."""
        return self

    def content(self) -> tuple[Any, NDArray[np.float64]]:
        """Return the rows and the weight of each."""
        return self.rows, np.ones(self.rows.shape[0]) if self.weight is None else self.weight
