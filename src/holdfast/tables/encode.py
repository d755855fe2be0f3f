"""Columns of a table -> numbers: what a column holds, and its values in prepared columns."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import log_each
from holdfast.tables.errors import TableError, count, show_name
from holdfast.tables.preparation import Input, Preparation
from holdfast.tables.read import DataTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["encode", "find_kind", "to_doubles", "to_texts"]

Values = NDArray[np.float64]

_DAY = 86_400
# Points on the unit circle for 7 and 24 steps; the sines of pi/14 multiples are stored, since no
# library function computes them alike everywhere.
_SEVENTH = (0.0, 0.7818314824680298, 0.9749279121818236, 0.4338837391175582)
_SEVENTH_X = (1.0, 0.6234898018587336, -0.2225209339563144, -0.9009688679024191)


def find_kind(column: "pa.ChunkedArray") -> str:
    """Say what a column holds by its type: a kind, "text", "empty", or "" for nothing known."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return "ordered" if kind.ordered else "category"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_null(kind):
        return "empty"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or "string_view" in str(kind):
        return "text"
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return "date"
    return ""


def to_doubles(column: "pa.ChunkedArray") -> Values:
    """Numbers, true and false as 1 and 0, dates and times as seconds; NaN where missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        column = _to_seconds(column)
    values: Values = column.cast(pa.float64(), safe=False).to_numpy()
    return values


def _to_seconds(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column, per_second = column.cast(pa.timestamp("us", getattr(kind, "tz", None))), 1e6
    elif pa.types.is_time(kind):
        column, per_second = column.cast(pa.time64("us")), 1e6
    else:
        column, per_second = column.cast(pa.duration("us")), 1e6
    return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), per_second)


def to_texts(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Values as text, null where missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):  # a cast does not know all types of text
        parts = [part.dictionary.cast(pa.string()).take(part.indices) for part in column.chunks]
        return pa.chunked_array(parts, pa.string())
    return column.cast(pa.string())


def encode(table: DataTable, preparation: Preparation) -> Values:
    """Values of the prepared columns, before gaps are filled and columns are scaled.

    Numbers are as in the table, and so are dates, in seconds. A level of a category is 1 or 0 in
    its own column; a level that is not known is 0 in all.
    """
    n = table.data.num_rows
    values = np.empty((n, len(preparation.columns)), dtype=np.float64)
    at = 0
    for source in preparation.sources:
        width = len(source.features)
        _encode_column(table, source, values[:, at : at + width])
        at += width
    return values


def _encode_column(table: DataTable, source: Input, out: Values) -> None:
    column = table.data.column(source.name)
    if source.kind == "category":
        _encode_levels(column, source, out)
        return
    if source.kind == "ordered":
        out[:, 0] = _positions(column, source, table)
    elif find_kind(column) == "empty":
        out[:, 0] = np.nan
    elif source.kind == "date" and find_kind(column) == "text":
        out[:, 0] = to_doubles(_parse_dates(column, source.name, table))
    else:
        out[:, 0] = to_doubles(column)
    _check_finite(out[:, 0], source.name, table)
    if source.log:
        out[:, 0] = _logarithms(out[:, 0], source.name, table)
    for i, cycle in enumerate(source.cycles):
        _encode_cycle(out[:, 0], cycle, out[:, 1 + 2 * i : 3 + 2 * i])
    if source.gaps:
        out[:, -1] = np.isnan(out[:, 0])


def _parse_dates(column: "pa.ChunkedArray", name: str, table: DataTable) -> "pa.ChunkedArray":
    import pyarrow as pa

    for zone in (None, "UTC"):
        try:
            return column.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            pass
    for row, value in enumerate(column):
        try:
            value.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            raise TableError(
                f"`dates`: column {show_name(name)} of {table.source} has {value.as_py()[:30]!r} in "
                f"row {table.first_row + row:,} (from 0); expected dates such as 2024-05-31 or "
                "2024-05-31 14:30:00. Convert the column."
            ) from None
    raise TableError(
        f"`dates`: column {show_name(name)} of {table.source} has dates with and without a zone."
    )


def _encode_levels(column: "pa.ChunkedArray", source: Input, out: Values) -> None:
    codes = _codes(column, source.levels)
    out[:] = 0.0
    known = codes >= 0
    out[np.flatnonzero(known), codes[known]] = 1.0
    missing = column.is_null().to_numpy().astype(np.bool_)
    if source.other:
        out[~known & ~missing, len(source.levels)] = 1.0
    if source.gaps:
        out[missing, -1] = 1.0


def _codes(column: "pa.ChunkedArray", levels: tuple[str, ...]) -> NDArray[np.int64]:
    """Positions of values among the levels; -1 for other values and gaps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if find_kind(column) == "empty":
        return np.full(len(column), -1, dtype=np.int64)
    found = pc.index_in(to_texts(column), value_set=pa.array(levels, pa.string()))
    codes: NDArray[np.int64] = found.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _positions(column: "pa.ChunkedArray", source: Input, table: DataTable) -> Values:
    codes = _codes(column, source.levels)
    positions = np.where(codes >= 0, codes, np.nan)
    unknown = (codes < 0) & column.is_valid().to_numpy().astype(np.bool_)
    if unknown.any():
        row = int(unknown.argmax())
        raise TableError(
            f"column {show_name(source.name)} of {table.source} has {column[row].as_py()!r} in row "
            f"{table.first_row + row:,} (from 0); expected one of its ordered levels."
        )
    return positions


def _check_finite(values: Values, name: str, table: DataTable) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        raise TableError(
            f"column {show_name(name)} of {table.source} has "
            f"{count(int(infinite.sum()), 'infinite value')}, the first in row "
            f"{table.first_row + int(infinite.argmax())} (rows count from 0). Replace them."
        )


def _logarithms(values: Values, name: str, table: DataTable) -> Values:
    """Logarithms of 1 + x, alike on every processor."""
    wrong = values < 0.0
    if wrong.any():
        row = int(wrong.argmax())
        raise TableError(
            f"`transform`: column {show_name(name)} of {table.source} has {values[row]} in row "
            f"{table.first_row + row:,} (from 0); a logarithm needs numbers of at least 0."
        )
    missing = np.isnan(values)
    found = np.empty(values.size)
    log_each(np.where(missing, 1.0, 1.0 + values), found)
    found[missing] = np.nan
    return found


def _encode_cycle(seconds: Values, cycle: str, out: Values) -> None:
    """Points on a circle of diameter 1 for the hour of the day or the day of the week."""
    known = ~np.isnan(seconds)
    whole = np.where(known, seconds, 0.0).astype(np.int64)
    if cycle == "hour":
        hours = (whole % _DAY) // 3600
        x, y = _HOURS[hours, 0], _HOURS[hours, 1]
    else:
        days = (whole // _DAY + 3) % 7  # 1970-01-01 was a Thursday
        x, y = _WEEK[days, 0], _WEEK[days, 1]
    out[:, 0] = np.where(known, x / 2.0, np.nan)
    out[:, 1] = np.where(known, y / 2.0, np.nan)


def _circle_of_hours() -> Values:
    """Multiples of 15 degrees, by square roots."""
    sine = np.array(
        [
            0.0,
            (math.sqrt(6) - math.sqrt(2)) / 4,
            0.5,
            math.sqrt(0.5),
            math.sqrt(0.75),
            (math.sqrt(6) + math.sqrt(2)) / 4,
        ]
    )
    quarter = np.column_stack((np.append(1.0, sine[:0:-1]), sine))
    turns = [quarter]
    for _ in range(3):
        x, y = turns[-1][:, 0], turns[-1][:, 1]
        turns.append(np.column_stack((-y, x)))
    return np.vstack(turns)


def _circle_of_days() -> Values:
    x = np.array([*_SEVENTH_X, *_SEVENTH_X[:0:-1]])
    y = np.array([*_SEVENTH, *(-v for v in _SEVENTH[:0:-1])])
    return np.column_stack((x, y))


_HOURS, _WEEK = _circle_of_hours(), _circle_of_days()
