"""Rows as they are given, dense, sparse, distances or a table -> checked rows of a model."""

from __future__ import annotations  # short names in help()

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

from holdfast.centers.keyed_table import as_csr
from holdfast.parameters import check_column_scale, check_distances
from holdfast.storage.model import TableRecord
from holdfast.tables.columns import scale_of_rows
from holdfast.tables.preparation import Preparation


def _check_sparse(model: Any, X: Any, reset: bool) -> csr_array:
    """Validate sparse rows of any format; as CSR with sorted columns, copied only if needed."""
    if model.method != "means":
        raise TypeError(
            f'X is sparse, which method="{model.method}" does not support; it needs dense rows. Use '
            'method="means", which takes sparse rows, or X.toarray().'
        )
    if not reset and model.table_ is not None:
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
        raise ValueError(f"{_describe_value(rows.data[e], row, rows.indices[e])}.")
    return rows


def _describe_value(value: float, row: int, column: Any) -> str:
    return (
        f"Input X contains {'NaN' if np.isnan(value) else 'infinity'} in row {row}, column {column}; "
        "X must be finite numbers. Remove or replace such values"
    )


def refuse_sparse(what: str, *rows: Any) -> None:
    """Raise an error if any of the rows are sparse."""
    if any(issparse(some) for some in rows):
        raise TypeError(
            f"{what} needs dense rows; got sparse ones, or a model that was fitted to some. Use dense "
            "rows for both, such as X.toarray() or the result of TruncatedSVD."
        )


class CheckedRows:
    """Mixin for an estimator: rows of any kind -> arrays that can be clustered."""

    table_: TableRecord | None = None
    column_scale_: tuple[float, ...] | None

    def _check_rows(self: Any, X: Any, reset: bool = False) -> Any:
        """Validate rows; for a model that was fitted to a table, prepare them like the table."""
        if issparse(X):
            self.column_scale_ = None if reset else self.column_scale_
            return _check_sparse(self, X, reset)
        table = None if reset else self.table_
        if table is not None and table.preparation.inputs is not None and hasattr(X, "columns"):
            from holdfast.tables.preparer import prepare_frame

            prepared = prepare_frame(X, table.preparation)  # columns are found by name
            return self._apply(prepared, table.preparation)
        gaps = table is not None and table.preparation.fill is not None
        by_distance = self._by_distance(reset)
        try:
            # scikit-learn sums all values; the sum may overflow even if each value is finite.
            with np.errstate(invalid="ignore"):
                rows: NDArray[np.float64] = validate_data(
                    self,
                    X,
                    dtype=self._dtypes,
                    order="C",
                    reset=reset,
                    ensure_all_finite="allow-nan" if gaps else True,
                )
        except OverflowError:
            raise ValueError(
                "X has an integer too large for float64; X must be finite numbers. Rescale X."
            ) from None
        except (TypeError, ValueError) as error:
            if by_distance and str(error).startswith("Input X contains"):
                check_distances(np.asarray(X, dtype=np.float64), square=False)  # says where
            _explain_values(X, str(error))
            raise
        if not rows.dtype.isnative:  # scikit-learn leaves the byte order of a frame as it is
            rows = rows.astype(rows.dtype.newbyteorder("="))
        if reset:
            given = self.column_scale
            if given is None and not by_distance:
                given = scale_of_rows(X)
            self.column_scale_ = check_column_scale(given, rows, self.metric)
        if by_distance:
            return check_distances(rows, square=reset)
        return rows if table is None else self._apply(rows, table.preparation)

    def _by_distance(self: Any, reset: bool) -> bool:
        """Whether rows are precomputed distances: those of the next fit, or of this model."""
        if reset or "hierarchy_" not in vars(self):
            return bool(self.metric == "precomputed" and self.method == "medoids")
        return bool(self._fitted_metric == "precomputed")

    def _need_features(self, why: str) -> None:
        if self._by_distance(reset=False):
            raise ValueError(
                f'{why[0].upper()}{why[1:]}; this model has metric="precomputed". Fit it to features.'
            )

    def _apply(self, values: NDArray[np.float64], preparation: Preparation) -> NDArray[np.float64]:
        rows = preparation.apply(values)
        if not np.isfinite(rows).all():
            raise ValueError(
                "X overflows when it is scaled like the table that the model was fitted to; scaled "
                "values must be finite. Remove outliers from X."
            )
        return rows

    @property
    def _dtypes(self: Any) -> list[type[np.floating]] | type[np.floating]:
        """What rows are converted to: means take 32-bit rows as they are."""
        means = self.method == "means" and self.table_ is None
        return [np.float64, np.float32] if means else np.float64


def _explain_values(X: Any, error: str) -> None:
    """Say which column or value of a table is no number; return if `error` is about another thing."""
    names = list(getattr(X, "columns", ()))
    if error.startswith("could not convert string"):
        dtypes = getattr(X, "dtypes", ())
        text = [
            str(n) for n, t in zip(names, dtypes, strict=False) if getattr(t, "kind", "O") in "OSUV"
        ]
        where = f" (column {text[0]})" if text else ""
        raise ValueError(
            f"X must be numeric: {error}{where}. Drop text columns, or encode them as numbers; "
            "holdfast.TablePreparer does that."
        ) from None
    missing = "NAType" in error and hasattr(X, "columns")
    if not missing and not error.startswith("Input X contains"):
        return
    values: Any = X
    if missing:  # of pandas, among Python objects, which are no numbers
        values = np.where(X.isna(), np.nan, 0.0)
    elif hasattr(X, "iloc"):
        values = X.to_numpy(np.float64, na_value=np.nan)
    values = np.asarray(values, dtype=np.float64)
    row, column = map(int, np.argwhere(~np.isfinite(values))[0])
    found = _describe_value(values[row, column], row, names[column] if names else column)
    raise ValueError(f"{found}; holdfast.TablePreparer fills gaps.") from None
