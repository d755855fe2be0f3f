"""Tables -> prepared rows with their ids and weights, whole or in parts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.tables.columns import (
    EMPTY,
    ColumnChoice,
    DistinctIds,
    choose_columns,
    take_ids,
    take_weight,
    to_matrix,
    why_not_numeric,
)
from holdfast.tables.errors import Notify, TableError, count, ignore, list_names
from holdfast.tables.preparation import ColumnSpread, Missing, Preparation, measure_spread
from holdfast.tables.read import DataTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Dataset", "prepare_like", "prepare_parts", "prepare_table"]

_AT_FIT = "Leave those rows out with `drop_missing`, or fill the gaps with `impute='median'`."
_AT_PREDICT = (
    "The model does not know how to treat them: fit it with `drop_missing` or `impute='median'`, "
    "or fill them in the table."
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows that are ready to be clustered.

    Attributes
    ----------
    rows : ndarray of shape (n_used, n_columns), dtype float64
        Prepared.
    values : ndarray of shape (n_used, n_columns), dtype float64
        The same rows as they were in the file; NaN where missing.
    used : ndarray of shape (n_rows,), dtype bool
        Which rows of the file these are.
    ids : pyarrow.ChunkedArray or None
        One for each row of the file.
    id_name : str or None
    weight : ndarray of shape (n_used,), dtype float64, or None
    preparation : Preparation
    table : DataTable
        The table, or a part of it.
    """

    table: DataTable
    rows: NDArray[np.float64]
    values: NDArray[np.float64]
    used: NDArray[np.bool_]
    ids: "pa.ChunkedArray | None"
    id_name: str | None
    weight: NDArray[np.float64] | None
    preparation: Preparation

    @property
    def first_row(self) -> int:
        """Number of the first row in the file."""
        return self.table.first_row

    def check_ids(self) -> None:
        """Refuse ids that occur twice."""
        distinct = DistinctIds()
        distinct.see(self.ids)
        distinct.check(self.table.source, self.id_name)


def prepare_table(
    table: DataTable,
    choice: ColumnChoice,
    *,
    standardize: bool = True,
    missing: Missing = "error",
    notify: Notify = ignore,
) -> Dataset:
    """Choose columns, treat gaps and scale, as asked.

    Where columns are scaled, each is divided by its standard deviation rounded to a power of two
    (1 where it is constant). The exact value changes with each row that is added or removed, and
    then moves every row; the rounded one mostly stays. Where a column lies near the edge between
    two powers it jumps, and then more moves than with the exact value: to fit again, repeat a
    preparation with `prepare_like`.
    """
    names = choose_columns(table, choice, notify)
    values = to_matrix(table, names, notify)
    used = _check_gaps(values, names, missing, table, notify, _AT_FIT)
    kept = values[used]
    fill = _find_medians(kept, names) if missing == "median" else None
    preparation = Preparation(names, missing, fill)
    spread = measure_spread([preparation.apply(kept)], len(names))
    preparation = _scale(preparation, spread, standardize, notify)
    weight = _check_weight(take_weight(table, choice.weights), choice.weights)
    return Dataset(
        table=table,
        rows=preparation.apply(kept),
        values=kept,
        used=used,
        ids=take_ids(table, choice.id),
        id_name=choice.id,
        weight=None if weight is None else weight[used],
        preparation=preparation,
    )


def prepare_parts(
    open_parts: Callable[[tuple[str, ...] | None], Iterator[DataTable]],
    choice: ColumnChoice,
    *,
    standardize: bool = True,
    missing: Missing = "error",
    notify: Notify = ignore,
) -> Preparation:
    """Find the preparation of a table that is read in parts: that of the whole table.

    Parts have the types of the whole table. Scales take a pass over all parts.

    Parameters
    ----------
    open_parts : callable
        Reads the table: the columns given, or all of them.
    choice, standardize, missing, notify
        As for `prepare_table`.
    """
    if missing == "median":
        raise TableError(
            "`impute='median'` needs the whole table in memory; use `drop_missing`, or leave out "
            "`chunked`."
        )
    first = next(open_parts(None), None)
    if first is None:
        raise TableError("there are columns but no rows; expected at least one row.")
    names = choose_columns(first, choice, notify)
    preparation = Preparation(names, missing)
    if not standardize:
        return preparation

    def read_values() -> Iterator[NDArray[np.float64]]:
        for table in open_parts(names):
            values = to_matrix(table, names)
            yield values[_check_gaps(values, names, missing, table, ignore, _AT_FIT)]

    spread = measure_spread(read_values(), len(names))
    return _scale(preparation, spread, standardize, notify)


def prepare_like(
    table: DataTable,
    preparation: Preparation,
    *,
    id_name: str | None = None,
    weights: str | None = None,
    notify: Notify = ignore,
) -> Dataset:
    """Repeat a preparation. Columns are found by name, or by position in files without names."""
    table = _find_columns(table, preparation, {id_name, weights}, notify)
    names = preparation.columns
    for name in names:
        why = why_not_numeric(table.data.column(name))
        if why not in ("", EMPTY):  # without any value, it is as missing as a gap
            raise TableError(f"column {name} of {table.source} is not numeric: {why}.")
    values = to_matrix(table, names, notify)
    used = _check_gaps(values, names, preparation.missing, table, notify, _AT_PREDICT)
    rows = preparation.apply(values[used])
    if not np.isfinite(rows).all():
        raise TableError(f"{table.source} has values too large for the scales of the model.")
    weight = take_weight(table, weights)
    return Dataset(
        table=table,
        rows=rows,
        values=values[used],
        used=used,
        ids=take_ids(table, id_name),
        id_name=id_name,
        weight=None if weight is None else weight[used],
        preparation=preparation,
    )


def _find_columns(
    table: DataTable, preparation: Preparation, others: set[str | None], notify: Notify
) -> DataTable:
    names, present = preparation.columns, table.data.column_names
    if not table.named:
        if len(present) != len(names):
            raise TableError(
                f"{table.source} has {len(present)} columns without names; the model needs "
                f"{len(names)}: {list_names(names)}."
            )
        return replace(table, data=table.data.rename_columns(list(names)), named=True)
    there = set(present)
    absent = [name for name in names if name not in there]
    if absent:
        raise TableError(
            f"{table.source} lacks {len(absent)} of the {len(names)} columns that the model needs: "
            f"{list_names(absent)}. It has {list_names(present)}."
        )
    for name in others:
        if name is not None and name not in there:
            raise TableError(
                f"{table.source} has no column {name!r}; it has {list_names(present)}."
            )
    wanted = {*names, *others}
    extra = [name for name in present if name not in wanted]
    if extra:
        notify(f"ignoring columns that the model does not use: {list_names(extra)}.")
    return table


def _scale(
    preparation: Preparation, spread: ColumnSpread, standardize: bool, notify: Notify
) -> Preparation:
    constant = [n for n, same in zip(preparation.columns, spread.constant, strict=True) if same]
    if constant and spread.n_rows > 1:
        notify(f"constant columns have no influence: {list_names(constant)}.")
    if not standardize:
        return preparation
    return replace(preparation, scale=tuple(spread.scale.tolist()))


def _find_medians(values: NDArray[np.float64], names: tuple[str, ...]) -> tuple[float, ...]:
    empty = [name for j, name in enumerate(names) if np.isnan(values[:, j]).all()]
    if empty:
        raise TableError(f"columns without any value: {list_names(empty)}. Use `drop`.")
    return tuple(np.nanmedian(values, axis=0).tolist())


def _check_weight(
    weight: NDArray[np.float64] | None, name: str | None
) -> NDArray[np.float64] | None:
    if weight is not None and not weight.any():
        raise TableError(f"`weights`: all values of {name} are zero.")
    return weight


def _check_gaps(
    values: NDArray[np.float64],
    names: tuple[str, ...],
    missing: Missing,
    table: DataTable,
    notify: Notify,
    advice: str,
) -> NDArray[np.bool_]:
    """Count missing values, and find the rows that take part."""
    gaps = np.isnan(values)
    complete: NDArray[np.bool_] = np.logical_not(gaps.any(axis=1))
    if complete.all():
        return complete
    counts = gaps.sum(axis=0)
    listed = list_names([f"{name} {n:,}" for name, n in zip(names, counts, strict=True) if n])
    total = f"{count(counts.sum(), 'value')} missing in {count((~complete).sum(), 'row')}"
    if missing == "error":
        first = f"first in row {table.first_row + int(complete.argmin()):,} (from 0)"
        raise TableError(
            f"{table.source}: {total} of {values.shape[0]:,} (by column: {listed}), {first}. {advice}"
        )
    if missing == "median":
        notify(f"{total}; filling them with the medians of their columns ({listed}).")
        return np.ones(values.shape[0], dtype=np.bool_)
    if not complete.any() and table.whole:
        raise TableError(f"{table.source}: every row has missing values ({listed}).")
    notify(f"{total}; these rows are left out and get no labels ({listed}).")
    return complete
