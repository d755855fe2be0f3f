"""Which columns of a table are numbers, and these numbers."""

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.cli.console import Console, count, list_names
from holdfast.cli.options import ColumnOptions
from holdfast.cli.parse import parse_names
from holdfast.cli.problems import InputProblem
from holdfast.cli.tables import DataTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EMPTY", "choose_columns", "to_matrix", "why_not_numeric"]

EMPTY = "empty"
"""Why a column without any value is not numeric."""

_EXACT_INTEGERS = 1 << 53


def choose_columns(
    table: DataTable, options: ColumnOptions, weights: str | None, console: Console
) -> tuple[str, ...]:
    """Names of the columns to cluster by; says which are left out, and why."""
    present = table.data.column_names
    chosen = parse_names("--columns", options.columns)
    dropped = parse_names("--drop", options.drop)
    if chosen and dropped:
        raise InputProblem("give --columns or --drop, not both.")
    asked = [("--columns", chosen), ("--drop", dropped), ("--id", (options.id,))]
    asked.append(("--weights", (weights,)))
    for option, names in asked:
        for name in names:
            if name is not None and name not in present:
                raise InputProblem(
                    f"{option}: {table.source} has no column {name!r}; it has "
                    f"{list_names(present)}."
                )
    special = {options.id, weights, *dropped}
    candidates = chosen or tuple(name for name in present if name not in special)
    overlap = [name for name in chosen if name in special]
    if overlap:
        raise InputProblem(f"{overlap[0]!r} is both in --columns and an id or a weight.")
    reasons = {name: why_not_numeric(table.data.column(name)) for name in candidates}
    left_out = {name: why for name, why in reasons.items() if why}
    if "" in candidates and "" not in chosen:
        left_out.setdefault("", "it has no name (a row index?)")
    if left_out:
        _report_left_out(left_out, strict=options.strict or bool(chosen), console=console)
    names_left = tuple(name for name in candidates if name not in left_out)
    if not names_left:
        raise InputProblem(
            f"{table.source} has no numeric column to cluster by; it has {list_names(present)}."
        )
    return names_left


def _report_left_out(left_out: dict[str, str], *, strict: bool, console: Console) -> None:
    described = [f"{name or '(no name)'} ({why})" for name, why in left_out.items()]
    if strict:
        raise InputProblem(
            f"not numeric: {list_names(described)}. Convert or drop what should not be used, with "
            "--columns or --drop."
        )
    console.notice(f"left out, not numeric: {list_names(described)}.")


def why_not_numeric(column: "pa.ChunkedArray") -> str:
    """Say why a column is not numbers; nothing where it is."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return ""
    if pa.types.is_decimal(kind):
        return ""
    if pa.types.is_null(kind):
        return EMPTY
    if pa.types.is_dictionary(kind):
        return "categories"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _describe_text(column)
    if pa.types.is_temporal(kind):
        return "dates or times"
    return str(kind)


def _describe_text(column: "pa.ChunkedArray") -> str:
    """Show the value that keeps a column from being numeric, where most are numbers."""
    sample = [v for v in column.slice(0, 10_000).to_pylist() if v is not None]
    commas = [v for v in sample if re.fullmatch(r"\s*-?\d+,\d+\s*", v)]
    if commas and len(commas) > len(sample) // 2:
        return f"text such as {commas[0]!r}: for decimal commas add --decimal ','"
    others = [v for v in sample if not re.fullmatch(r"\s*[-+]?\d*\.?\d*([eE][-+]?\d+)?\s*", v)]
    if others and len(others) < len(sample) // 2:
        return f"text such as {others[0][:30]!r} among numbers"
    return "text"


def to_matrix(table: DataTable, names: tuple[str, ...], console: Console) -> NDArray[np.float64]:
    """Numbers of the columns, NaN where missing."""
    import pyarrow as pa

    values = np.empty((table.data.num_rows, len(names)), dtype=np.float64)
    rounded = []
    for j, name in enumerate(names):
        column = table.data.column(name)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        elif pa.types.is_integer(column.type) and _beyond_doubles(column):
            rounded.append(name)
        values[:, j] = column.cast(pa.float64(), safe=False).to_numpy()
        if np.isinf(values[:, j]).any():
            wrong = np.isinf(values[:, j])
            raise InputProblem(
                f"column {name} of {table.source} has {count(wrong.sum(), 'infinite value')}, the first "
                f"in row {wrong.argmax()} (rows count from 0). Replace them."
            )
    if rounded:
        console.notice(
            f"integers beyond 2^53 are rounded to doubles in: {list_names(rounded)}. If they name "
            "rows, give them as --id or --drop."
        )
    return values


def _beyond_doubles(column: "pa.ChunkedArray") -> bool:
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return ends["max"] is not None and (
        ends["max"] > _EXACT_INTEGERS or ends["min"] < -_EXACT_INTEGERS
    )
