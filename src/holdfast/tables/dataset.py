"""Tables -> prepared rows with their ids and weights, whole or in parts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine import pa
from holdfast.tables.columns import (
    ColumnChoice,
    DistinctIds,
    choose_candidates,
    describe_text,
    find_names,
    find_rounded,
    restore_prepared,
    take_ids,
    take_weight,
)
from holdfast.tables.errors import (
    Notify,
    TableError,
    count,
    ignore,
    list_columns,
    list_names,
    show_name,
)
from holdfast.tables.preparation import (
    Input,
    Missing,
    Preparation,
    encode,
    find_kind,
    to_doubles,
)
from holdfast.tables.read import DataTable
from holdfast.tables.summary import Treatment, count_columns, settle
from holdfast.tables.write import build_label_table

_AT_FIT = "Leave those rows out with `drop_missing`, or fill the gaps with `impute='median'`."
IN_PYTHON = 'Fill the gaps with missing="indicate" or missing="median", or leave those rows out.'
_AT_PREDICT = (
    "The model does not know how to treat them: fit it with `drop_missing` or `impute='median'`, "
    "or fill them in the table."
)


OpenParts = Callable[[tuple[str, ...] | None], Iterator[DataTable]]
"""Reads a table in parts: the columns given, or all of them."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows that are ready to be clustered."""

    table: DataTable  # or a part of it
    rows: NDArray[np.float64]  # (n_used, n_columns), prepared
    values: NDArray[np.float64]  # as in the file; NaN where missing
    used: NDArray[np.bool_]  # which rows of the file these are
    ids: "pa.ChunkedArray | None"  # one for each row of the file
    id_name: str | None
    weight: NDArray[np.float64] | None
    preparation: Preparation
    treatments: tuple[Treatment, ...] = ()  # of each column; empty where a preparation was repeated

    @property
    def used_ids(self) -> Any:
        """Ids of the rows, int64 or str objects, or None."""
        return None if self.ids is None else self.ids.to_numpy()[self.used]

    def label(self, labels: Any, center_indices: Any = None) -> "pa.Table":
        """Put labels of the rows into a table of all rows; see `build_label_table`."""
        first = self.table.first_row
        return build_label_table(self.id_name, self.ids, self.used, labels, center_indices, first)

    def check_ids(self) -> None:
        """Refuse ids that occur twice."""
        distinct = DistinctIds()
        distinct.see(self.ids)
        distinct.check(self.table.source, self.id_name)


def take_distances(table: DataTable, choice: ColumnChoice) -> NDArray[np.float64]:
    """Values of a table of distances as they are: all columns but the id."""
    choice = find_names(table, choice)
    names = choose_candidates(table, choice)
    for name in names:
        if find_kind(table.data.column(name)) != "number":
            raise TableError(
                f"column {show_name(name)} of {table.source} holds no distances; expected numbers. "
                "Leave it out with `id` or `ignore`."
            )
    found = np.column_stack([to_doubles(table.data.column(name)) for name in names])
    if found.shape[0] != found.shape[1]:
        raise TableError(
            f"{table.source} has {count(found.shape[0], 'row')} and {count(found.shape[1], 'column')}; "
            "a table of distances needs one column for each row."
        )
    return found


def prepare_table(
    table: DataTable, choice: ColumnChoice, *, notify: Notify = ignore, **how: Any
) -> Dataset:
    """Choose columns, encode categories, treat gaps and scale, as asked."""
    choice = find_names(table, choice)
    preparation, treatments = find_preparation(
        lambda names: iter([table]), choice, notify=notify, **how
    )
    dataset = prepare_like(
        table, preparation, id_name=choice.id, weights=choice.weights, at_fit=True, notify=notify
    )
    if dataset.weight is not None and not dataset.weight.any():
        raise TableError(f"`weights`: all values of {choice.weights} are zero.")
    return replace(dataset, treatments=treatments)


def find_preparation(
    open_parts: OpenParts,
    choice: ColumnChoice,
    *,
    missing: Missing = "indicate",
    scale: str | None = "core",
    manhattan: bool = False,
    notify: Notify = ignore,
) -> tuple[Preparation, tuple[Treatment, ...]]:
    """Decide how columns are prepared, from a table that is read whole or in parts.

    The decision is that of the whole table, bit for bit, for any parts and any order of the rows.
    Parts have the types of the whole table.
    """
    first = next(open_parts(None), None)
    if first is None:
        raise TableError("there are columns but no rows; expected at least one row.")
    choice = find_names(first, choice)
    sources, left_out = plan_columns(first, choice)
    names = tuple(source.name for source in sources)

    def read() -> Iterator[DataTable]:
        for part in open_parts(names) if names else ():
            if missing == "drop":  # rows with gaps are left out
                gaps = np.logical_or.reduce(find_gaps(part, sources))
                part = replace(part, data=part.data.filter(~gaps)) if gaps.any() else part
            yield part

    facts = count_columns(read(), sources)
    reasons = {name: found.why_left_out(choice) for name, found in facts.items()}
    left_out |= {name: why for name, why in reasons.items() if why}
    facts = {name: found for name, found in facts.items() if not reasons[name]}
    if left_out:
        _report_left_out(left_out, choice, notify)
    if not facts:
        described = [f"{name} ({why})" for name, why in left_out.items()]
        raise TableError(
            f"{first.source} has no numeric column to cluster by, and no categories; it has "
            f"{list_names(described or first.data.column_names)}."
        )
    preparation, treatments = settle(facts, missing, scale, manhattan)
    constant = [t.name for t in treatments if t.how.endswith("no influence")]
    if constant and max(found.present for found in facts.values()) > 1:
        notify(f"constant columns have no influence: {list_names(constant)}.")
    unused = [Treatment(name, "-", f"not used: {why}") for name, why in left_out.items()]
    return preparation, (*treatments, *unused)


def _report_left_out(left_out: dict[str, str], choice: ColumnChoice, notify: Notify) -> None:
    described = [f"{show_name(name) or '(no name)'} ({why})" for name, why in left_out.items()]
    if choice.strict or choice.columns:
        raise TableError(
            f"not numeric: {list_names(described)}. Convert these columns, or leave them out with "
            "`columns` or `ignore`."
        )
    notify(f"ignoring columns: {list_names(described)}.")


def plan_columns(table: DataTable, choice: ColumnChoice) -> tuple[list[Input], dict[str, str]]:
    """Choose columns by their types; also return why others are left out."""
    sources, left_out = [], {}
    for name in choose_candidates(table, choice):
        column = table.data.column(name)
        found = find_kind(column)
        kind: Any = "date" if name in choice.dates else found
        if name in choice.categories or kind == "text":
            kind = "category"
        if name == "" and not choice.columns:
            left_out[name] = "it has no name (a row index?)"
        elif found in ("", "empty"):
            left_out[name] = found or str(column.type)
        else:
            levels: tuple[str, ...] = ()
            if kind == "ordered":
                chunk = column.chunk(0) if column.num_chunks else column.combine_chunks()
                levels = tuple(str(level) for level in chunk.dictionary.to_pylist())
            cycles = choice.cycles if kind == "date" else ()
            sources.append(Input(name, kind, levels, log=name in choice.logs, cycles=cycles))
    wrong = [s.name for s in sources if s.log and s.kind != "number"]
    if wrong:
        raise TableError(f"`transform`: column {show_name(wrong[0])} holds no numbers.")
    return sources, left_out


def prepare_like(
    table: DataTable,
    preparation: Preparation,
    *,
    id_name: str | None = None,
    weights: str | None = None,
    at_fit: bool = False,
    by_name: bool = False,
    notify: Notify = ignore,
    advice: str = "",
    only_rows: bool = False,
) -> Dataset:
    """Repeat a preparation. Columns are found by name, or by position in files without names.

    With `only_rows`, the values before preparation are not kept, which saves their memory.
    """
    if not at_fit and (table.named or not by_name):
        table = _find_columns(table, preparation, {id_name, weights}, notify)
    sources = preparation.sources
    for source in () if at_fit else sources:
        _check_kind(table, source)
    rounded = find_rounded(table, tuple(s.name for s in sources if s.kind == "number"))
    if rounded:
        notify(
            f"rounding integers beyond 2^53 to doubles in: {list_names(rounded)}. If they identify "
            "rows, use `id` or `ignore`."
        )
    advice = advice or (_AT_FIT if at_fit else _AT_PREDICT)
    used = _report_gaps(table, preparation, notify, advice)
    values = encode(table, preparation)
    if not used.all():
        values = values[used]
    prepared = preparation.apply(values, in_place=only_rows)
    rows = restore_prepared(prepared, preparation.scale)
    if not np.isfinite(rows).all():
        raise TableError(f"{table.source} has values too large for the scales of the model.")
    weight = take_weight(table, weights)
    if weight is not None:
        weight = weight[used]
    ids = take_ids(table, id_name)
    return Dataset(table, rows, values, used, ids, id_name, weight, preparation)


def _check_kind(table: DataTable, source: Input) -> None:
    column = table.data.column(source.name)
    found = find_kind(column)
    fitting = {
        "category": ("category", "text", "number", "boolean", "ordered", "date", "empty"),
        "ordered": ("ordered", "category", "text", "empty"),
        "date": ("date", "text", "empty"),
    }.get(source.kind, ("number", "boolean", "empty"))
    if found not in fitting:
        told = describe_text(column) if found == "text" else str(column.type)
        wanted = {"date": "dates", "ordered": "categories"}.get(source.kind, "numeric")
        raise TableError(
            f"column {show_name(source.name)} of {table.source} is not {wanted}: {told}."
        )


def _find_columns(
    table: DataTable, preparation: Preparation, others: set[str | None], notify: Notify
) -> DataTable:
    names = [source.name for source in preparation.sources]
    present = table.data.column_names
    if not table.named:
        if len(present) != len(names):
            raise TableError(
                f"{table.source} has {len(present)} columns without names; the model needs "
                f"{len(names)}: {list_names(names)}."
            )
        return replace(table, data=table.data.rename_columns(names), named=True)
    there, wanted = set(present), {*names, *others}
    absent = [name for name in names if name not in there]
    if absent:
        raise TableError(
            f"{table.source} lacks {len(absent)} of the {len(names)} columns that the model needs: "
            f"{list_columns(absent)}. It has {list_columns(present)}."
        )
    for name in others - there - {None}:
        raise TableError(f"{table.source} has no column {name!r}; it has {list_columns(present)}.")
    extra = [name for name in present if name not in wanted]
    if extra:
        notify(f"ignoring columns that the model does not use: {list_names(extra)}.")
    return table


def find_gaps(table: DataTable, sources: Sequence[Input]) -> list[NDArray[np.bool_]]:
    """Where the values of each column are missing; NaN is missing too."""
    columns = [table.data.column(source.name) for source in sources]
    return [c.is_null(nan_is_null=True).to_numpy().astype(np.bool_) for c in columns]


def _report_gaps(
    table: DataTable, preparation: Preparation, notify: Notify, advice: str
) -> NDArray[np.bool_]:
    """Count missing values, and find the rows that take part."""
    sources, missing = preparation.sources, preparation.missing
    gaps = find_gaps(table, sources)
    everything: NDArray[np.bool_] = np.ones(table.data.num_rows, dtype=np.bool_)
    incomplete = np.logical_or.reduce(gaps)
    if not incomplete.any():
        return everything
    counts = [int(gap.sum()) for gap in gaps]
    listed = list_names([f"{s.name} {n:,}" for s, n in zip(sources, counts, strict=True) if n])
    total = f"{count(sum(counts), 'value')} missing in {count(int(incomplete.sum()), 'row')}"
    if missing == "error":
        first = f"first in row {table.first_row + int(incomplete.argmax()):,} (from 0)"
        raise TableError(
            f"{table.source}: {total} of {incomplete.size:,} (by column: {listed}), {first}. {advice}"
        )
    if missing == "drop":
        if incomplete.all() and table.whole:
            raise TableError(f"{table.source}: every row has missing values ({listed}).")
        notify(f"{total}; these rows are left out and get no labels ({listed}).")
        everything[incomplete] = False
        return everything
    numbers = [s for s, n in zip(sources, counts, strict=True) if s.kind != "category" and n]
    marked = " and marked in columns of their own" if all(s.gaps for s in numbers) else ""
    done = f"numbers are filled with the median of their column{marked}"
    notify(f"{total}; {done if numbers else 'a gap is a category of its own'} ({listed}).")
    return everything
