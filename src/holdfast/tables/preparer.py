"""Mixed tables in Python: a transformer with the preparation of the command line."""

from functools import wraps
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from holdfast._machine import pa
from holdfast.tables.columns import (
    ColumnChoice,
    DistinctIds,
    label_frame,
    restore_prepared,
    take_ids,
)
from holdfast.tables.dataset import IN_PYTHON, find_preparation, prepare_like
from holdfast.tables.errors import TableError, show_name
from holdfast.tables.preparation import Preparation
from holdfast.tables.read import DataTable


class TablePreparer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Prepare a table of mixed columns for clustering, as ``holdfast fit`` does.

    Numbers and dates are divided by a robust scale, categories get one column for each level, and
    missing values are filled and marked; see docs/tables.md. The result does not depend on the order
    of the rows.

    Parameters
    ----------
    categories : list of str, default=()
        Columns to treat as categories, even if they hold numbers.
    dates : list of str, default=()
        Text columns that hold dates or times, as in ISO 8601. Date columns are recognized.
    ignore : list of str, default=()
        Columns to leave out.
    log : list of str, default=()
        Columns of numbers to transform by log(1 + x).
    id : str, default=None
        The column with the ids of the rows, which are handed on with them. None takes the index of a
        pandas table, unless it only counts rows.
    cycles : list of {"hour", "weekday"}, default=()
        Parts of dates to add, as points on a circle.
    scale : {"core", "steps", "range"} or None, default="core"
        What numbers are divided by: the deviation of their core, or their range, as in Gower's
        coefficient. None leaves them as they are. "steps" rounds the deviation to 2^(i/4), for
        ``method="tree"``, whose grid is fixed.
    missing : {"indicate", "median", "error"}, default="indicate"
        Fill missing values and mark them in an additional column, only fill them, or raise an error.
    metric : {"euclidean", "manhattan"}, default="euclidean"
        The distance in which a mismatch of categories weighs like sqrt(2) deviations of a number,
        or with ``scale="range"`` like its range.

    Attributes
    ----------
    preparation_ : Preparation
        The fitted preparation; `to_json` and `from_json` store it without pickle.
    treatments_ : tuple of Treatment
        What is done with each column, in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if the table has any.

    Examples
    --------
    >>> import pandas as pd
    >>> from holdfast import TablePreparer
    >>> table = pd.DataFrame({"town": ["Ulm", "Bern", "Ulm"], "age": [20.0, None, 40.0]})
    >>> preparer = TablePreparer().fit(table)
    >>> preparer.get_feature_names_out().tolist()
    ['town=Bern', 'town=Ulm', 'age', 'age is missing']
    """

    def __init__(
        self,
        *,
        categories: Any = (),
        dates: Any = (),
        ignore: Any = (),
        log: Any = (),
        id: str | None = None,
        cycles: Any = (),
        scale: str | None = "core",
        missing: str = "indicate",
        metric: str = "euclidean",
    ) -> None:
        self.categories = categories
        self.dates = dates
        self.ignore = ignore
        self.log = log
        self.id = id
        self.cycles = cycles
        self.scale = scale
        self.missing = missing
        self.metric = metric

    def fit(self, X: Any, y: object = None) -> Self:
        """Decide how each column of a table is prepared.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            A pandas, polars or pyarrow table, anything with the dataframe interchange protocol, or
            an array of numbers.
        y : Ignored

        Returns
        -------
        self
        """
        for name, known in (
            ("scale", ("core", "steps", "range", None)),
            ("missing", ("indicate", "median", "error")),
            ("metric", ("euclidean", "manhattan")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}; got {getattr(self, name)!r}.")
        table = to_table(X)
        names = table.data.column_names
        choice = ColumnChoice(
            drop=tuple(self.ignore),
            id=self.id,
            categories=tuple(self.categories),
            dates=tuple(self.dates),
            logs=tuple(self.log),
            cycles=tuple(self.cycles),
        )
        self.preparation_, self.treatments_ = find_preparation(
            lambda columns: iter([table]),
            choice,
            missing=self.missing,  # type: ignore[arg-type]  # checked above
            scale=self.scale,
            manhattan=self.metric == "manhattan",
        )
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if table.named:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Prepare a table like that of the fit; columns are found by name, in any order.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, n_prepared_columns), dtype float64
            With the attributes `column_scale`, from which `HierarchicalKMedian` knows the values before
            they were divided, and `ids`; so has a polars frame. A pandas frame has them in `attrs` and as its
            index.
        """
        check_is_fitted(self)
        table = to_table(X)
        if not table.named and table.data.num_columns != self.n_features_in_:
            raise ValueError(
                f"X has {table.data.num_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if not table.named and hasattr(self, "feature_names_in_"):
            renamed = table.data.rename_columns(list(self.feature_names_in_))
            table = DataTable(table.source, renamed, named=True)
        rows = prepare_like(
            table, self.preparation_, by_name=True, advice=IN_PYTHON, only_rows=True
        ).rows
        return restore_prepared(rows, self.preparation_.scale, self._ids(X, table))

    def _ids(self, X: Any, table: DataTable) -> Any:
        """Ids of rows: a column, which new rows need not have, or the index of a pandas table."""
        if self.id is None:
            return getattr(X, "index", None) if hasattr(X, "iloc") else None
        if self.id not in table.data.column_names:
            return None
        ids, distinct = take_ids(table, self.id), DistinctIds()
        distinct.see(ids)
        distinct.check(table.source, self.id)
        return None if ids is None else ids.to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the prepared columns."""
        check_is_fitted(self)
        return np.array(self.preparation_.columns, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Say what the input may hold."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


_to_rows_or_frame = TablePreparer.transform


@wraps(_to_rows_or_frame)
def _transform(self: TablePreparer, X: Any) -> Any:
    found: Any = _to_rows_or_frame(self, X)
    if not isinstance(found, np.ndarray):  # scikit-learn has made a frame of the rows
        label_frame(found, self.preparation_.scale, self._ids(X, to_table(X)))
    return found


TablePreparer.transform = _transform  # type: ignore[method-assign]


def to_table(X: Any) -> DataTable:
    """Convert a frame of any library, or an array, to a table; an error names column and row."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(
            "Mixed tables need pyarrow; install it with `pip install 'holdfast[cli]'`."
        ) from None
    if isinstance(X, DataTable):
        return X
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas: one column at a time, to name it
        columns = [_to_column(X.iloc[:, j], str(name)) for j, name in enumerate(X.columns)]
        data = pa.table(columns, names=[str(name) for name in X.columns])
    elif isinstance(X, pa.Table):
        data = X
    elif hasattr(X, "__arrow_c_stream__"):
        data = pa.table(X)
    elif hasattr(X, "to_arrow"):
        data = X.to_arrow()
    elif hasattr(X, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        data = from_dataframe(X)
    else:
        rows = check_array(X, dtype="numeric", ensure_all_finite="allow-nan", ensure_min_samples=1)
        names = [f"x{j}" for j in range(rows.shape[1])]
        data = pa.table([pa.array(np.ascontiguousarray(c)) for c in rows.T], names=names)
        return DataTable("X", data, named=False)
    if any(str(kind) == "string_view" for kind in data.schema.types):  # of Polars; lacks functions
        plain = [f.with_type(pa.large_string()) if str(f.type) == "string_view" else f
                 for f in data.schema]  # fmt: skip
        data = data.cast(pa.schema(plain))
    if len(set(data.column_names)) < data.num_columns:
        raise TableError("X has several columns with the same name. Rename them.")
    if not data.num_rows or not data.num_columns:
        raise ValueError(
            f"Found array with {data.num_rows} sample(s) and {data.num_columns} feature(s) while a "
            "minimum of 1 is required."
        )
    return DataTable("X", data, named=True)


def _to_column(column: Any, name: str) -> Any:
    if isinstance(column.dtype, np.dtype) and not column.dtype.isnative:
        column = column.astype(column.dtype.newbyteorder("="))
    try:
        found = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        found = None
    if found is not None:
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    present = [(i, v) for i, v in enumerate(column) if not _is_missing(v)]
    first = type(present[0][1]) if present else object
    row = next((i for i, v in present if not isinstance(v, first)), 0)
    raise TableError(
        f"column {show_name(name)} of X mixes types: row {row} (from 0) has {column.iloc[row]!r}, "
        f"and earlier rows have {first.__name__}. Convert the column to one type, or leave it out "
        "with `ignore`."
    )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def prepare_frame(X: Any, preparation: Preparation) -> NDArray[np.float64]:
    """Values of the prepared columns of a frame, before they are filled and scaled."""
    return prepare_like(to_table(X), preparation, by_name=True).values
