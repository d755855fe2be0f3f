"""Tables -> prepared rows, with their ids and weights."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.cli.columns import EMPTY, choose_columns, to_matrix, why_not_numeric
from holdfast.cli.console import Console, count, list_names
from holdfast.cli.options import ColumnOptions
from holdfast.cli.problems import InputProblem
from holdfast.cli.tables import DataTable
from holdfast.tables.preparation import Missing, Preparation, fit_preparation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Dataset", "announce", "prepare_like", "prepare_table"]

_AT_FIT = "Leave those rows out with --drop-missing, or fill the gaps with --impute median."
_AT_PREDICT = (
    "The model knows no way to treat them: fit it with --drop-missing or --impute median, or fill "
    "them in the table."
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows ready to be clustered.

    Attributes
    ----------
    source : str
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
    """

    source: str
    rows: NDArray[np.float64]
    values: NDArray[np.float64]
    used: NDArray[np.bool_]
    ids: "pa.ChunkedArray | None"
    id_name: str | None
    weight: NDArray[np.float64] | None
    preparation: Preparation


def announce(dataset: Dataset, console: Console) -> None:
    """Say what takes part and what was done to it."""
    rows = count(dataset.rows.shape[0], "row")
    columns = count(dataset.rows.shape[1], "column")
    scaled = "each divided by a power of two near its standard deviation"
    console.notice(
        f"{rows}, {columns}: {list_names(dataset.preparation.columns)}; "
        f"{scaled if dataset.preparation.scale else 'not scaled'}."
    )


def prepare_table(
    table: DataTable, options: ColumnOptions, console: Console, weights: str | None = None
) -> Dataset:
    """Choose columns, treat gaps, scale: as the options say."""
    missing = _choose_missing(options)
    names = choose_columns(table, options, weights, console)
    values = to_matrix(table, names, console)
    used = _check_gaps(values, names, missing, table.source, console, _AT_FIT)
    weight = _take_weight(table, weights)
    kept = values[used]
    _check_columns(kept, names, console)
    preparation = fit_preparation(kept, names, standardize=options.standardize, missing=missing)
    return Dataset(
        source=table.source,
        rows=preparation.apply(kept),
        values=kept,
        used=used,
        ids=_take_ids(table, options.id),
        id_name=options.id,
        weight=None if weight is None else weight[used],
        preparation=preparation,
    )


def prepare_like(
    table: DataTable,
    preparation: Preparation,
    console: Console,
    *,
    id_name: str | None,
    weights: str | None = None,
    positional: bool = False,
) -> Dataset:
    """Repeat a preparation; columns are found by name, or by position where there are no names."""
    names = preparation.columns
    present = table.data.column_names
    if positional:
        if len(present) != len(names):
            raise InputProblem(
                f"{table.source} has {len(present)} columns without names; the model needs "
                f"{len(names)}: {list_names(names)}."
            )
        table = DataTable(table.source, table.data.rename_columns(list(names)), True)
    else:
        there, needed = set(present), {*names, id_name, weights}
        absent = [name for name in names if name not in there]
        if absent:
            raise InputProblem(
                f"{table.source} lacks {len(absent)} of the {len(names)} columns that the model "
                f"needs: {list_names(absent)}. It has {list_names(present)}."
            )
        extra = [name for name in present if name not in needed]
        if extra:
            console.notice(f"columns that the model does not use: {list_names(extra)}.")
    for name in names:
        why = why_not_numeric(table.data.column(name))
        if why not in ("", EMPTY):  # without any value, it is as missing as a gap
            raise InputProblem(f"column {name} of {table.source} is not numeric: {why}.")
    values = to_matrix(table, names, console)
    used = _check_gaps(values, names, preparation.missing, table.source, console, _AT_PREDICT)
    weight = _take_weight(table, weights)
    rows = preparation.apply(values[used])
    if not np.isfinite(rows).all():
        raise InputProblem(f"{table.source} has values too large for the scales of the model.")
    return Dataset(
        source=table.source,
        rows=rows,
        values=values[used],
        used=used,
        ids=_take_ids(table, id_name),
        id_name=id_name,
        weight=None if weight is None else weight[used],
        preparation=preparation,
    )


def _choose_missing(options: ColumnOptions) -> Missing:
    if options.impute not in (None, "median"):
        raise InputProblem(f"--impute knows only median; got {options.impute!r}.")
    if options.impute and options.drop_missing:
        raise InputProblem("give --drop-missing or --impute median, not both.")
    if options.impute:
        return "median"
    return "drop" if options.drop_missing else "error"


def _check_gaps(
    values: NDArray[np.float64],
    names: tuple[str, ...],
    missing: Missing,
    source: str,
    console: Console,
    advice: str,
) -> NDArray[np.bool_]:
    """Count missing values, and find the rows that take part."""
    gaps = np.isnan(values)
    counts = gaps.sum(axis=0)
    complete: NDArray[np.bool_] = np.logical_not(gaps.any(axis=1))
    everything = np.ones(values.shape[0], dtype=np.bool_)
    if complete.all():
        return everything
    listed = list_names([f"{name} {n:,}" for name, n in zip(names, counts, strict=True) if n])
    total = f"{count(counts.sum(), 'value')} missing in {count((~complete).sum(), 'row')}"
    if missing == "error":
        raise InputProblem(
            f"{source}: {total} of {values.shape[0]:,} (by column: {listed}). {advice}"
        )
    if missing == "median":
        console.notice(f"{total}; filled with medians of columns ({listed}).")
        return everything
    if not complete.any():
        raise InputProblem(f"{source}: every row has missing values ({listed}).")
    console.notice(f"{total}; these rows take no part and have no labels ({listed}).")
    return complete


def _check_columns(values: NDArray[np.float64], names: tuple[str, ...], console: Console) -> None:
    """Speak about columns that say nothing."""
    present = ~np.isnan(values)
    counts = present.sum(axis=0)
    if not counts.all():
        empty = [name for name, count in zip(names, counts, strict=True) if not count]
        raise InputProblem(f"columns without any value: {list_names(empty)}. Use --drop.")
    low = np.where(present, values, np.inf).min(axis=0)
    high = np.where(present, values, -np.inf).max(axis=0)
    constant = [name for name, same in zip(names, low == high, strict=True) if same]
    if constant and values.shape[0] > 1:
        console.notice(f"constant, so of no influence: {list_names(constant)}.")


def _take_ids(table: DataTable, name: str | None) -> "pa.ChunkedArray | None":
    import pyarrow as pa

    if name is None:
        return None
    if name not in table.data.column_names:
        raise InputProblem(f"--id: {table.source} has no column {name!r}.")
    ids = table.data.column(name)
    if ids.null_count:
        raise InputProblem(
            f"column {name} of {table.source} cannot be --id: "
            f"{count(ids.null_count, 'value')} missing."
        )
    if pa.types.is_integer(ids.type):
        return ids.cast(pa.int64()) if ids.type != pa.uint64() else ids.cast(pa.string())
    return ids.cast(pa.string())


def _take_weight(table: DataTable, name: str | None) -> NDArray[np.float64] | None:
    import pyarrow as pa

    if name is None:
        return None
    column = table.data.column(name)
    why = why_not_numeric(column)
    if why:
        raise InputProblem(f"--weights: column {name} is not numeric ({why}).")
    if column.null_count:
        raise InputProblem(f"--weights: {count(column.null_count, 'value')} of {name} missing.")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    weight: NDArray[Any] = column.cast(pa.float64(), safe=False).to_numpy()
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        raise InputProblem(
            f"--weights: column {name} must be finite and at least 0; row {wrong.argmax()} (from "
            f"0) has {weight[wrong.argmax()]}."
        )
    if not weight.any():
        raise InputProblem(f"--weights: all values of {name} are zero.")
    return weight
