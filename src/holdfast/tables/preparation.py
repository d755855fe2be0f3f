"""How a table becomes rows of comparable numbers: chosen once, stored, repeated for new rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from holdfast._machine import pa, pc
from holdfast._machine.hash import log_each
from holdfast.tables.errors import TableError, count, show_name
from holdfast.tables.read import DataTable

Missing = Literal["error", "drop", "median", "indicate"]
"""What happens to missing values."""

Kind = Literal["number", "boolean", "category", "ordered", "date"]
"""What a column of a table holds."""

Rows = NDArray[np.float64]

_CYCLES = ("hour", "weekday")
_DAY = 86_400
# Points on the unit circle for 7 and 24 steps; the sines of pi/14 multiples are stored, since no
# library function computes them alike everywhere.
_SEVENTH = (0.0, 0.7818314824680298, 0.9749279121818236, 0.4338837391175582)
_SEVENTH_X = (1.0, 0.6234898018587336, -0.2225209339563144, -0.9009688679024191)


@dataclass(frozen=True)
class Input:
    """A column of a table, and which prepared columns come from it."""

    name: str
    kind: Kind = "number"
    levels: tuple[str, ...] = ()  # with a column each; of an ordered category, all, in order
    other: bool = False  # whether all other levels share a prepared column
    gaps: bool = False  # whether a prepared column marks missing values
    log: bool = False  # whether the logarithm of the number is taken
    # "hour" and "weekday" of a date: points on a circle, two columns each
    cycles: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the prepared columns."""
        if self.kind == "category":
            found = [f"{self.name}={level}" for level in self.levels]
            found += [f"{self.name}=(other)"] * self.other
            return (*found, *[f"{self.name}=(missing)"] * self.gaps)
        found = [f"log {self.name}" if self.log else self.name]
        found += [f"{self.name} {cycle} {axis}" for cycle in self.cycles for axis in ("x", "y")]
        return (*found, *[f"{self.name} is missing"] * self.gaps)


@dataclass(frozen=True)
class Preparation:
    """Prepared columns, what fills gaps in them, and what each is divided by.

    Columns are never centered: distances do not depend on it, and a center that moves with the
    data would move every row against the grid.
    """

    columns: tuple[str, ...]  # names of the prepared columns, in their order
    missing: Missing = "error"  # reject gaps, leave their rows out, fill them, or also mark them
    fill: tuple[float, ...] | None = None  # what stands for a gap, if gaps are filled
    scale: tuple[float, ...] | None = None  # what columns are divided by; None leaves them alone
    # None if the columns of the table are these, and numbers
    inputs: tuple[Input, ...] | None = None

    @property
    def sources(self) -> tuple[Input, ...]:
        """The columns of the table, also where they are the prepared ones."""
        return self.inputs or tuple(Input(name) for name in self.columns)

    def apply(self, values: Rows, *, in_place: bool = False) -> Rows:
        """Fill and scale values in the order of `columns`; NaN stays where there is no `fill`.

        With `in_place`, `values` are overwritten instead of making a second array of their size.
        """
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"values must have {len(self.columns)} columns; got an array of shape "
                f"{values.shape}."
            )
        rows = values if in_place else np.array(values, dtype=np.float64, order="C")
        for j, fill in enumerate(self.fill or ()):
            column = rows[:, j]
            column[np.isnan(column)] = fill
        if self.scale is not None:
            with np.errstate(over="ignore"):  # what overflows is no longer finite: seen later
                rows /= np.array(self.scale)
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that `from_json` reads."""
        record: dict[str, Any] = {
            "columns": list(self.columns),
            "missing": self.missing,
            "fill": None if self.fill is None else list(self.fill),
            "scale": None if self.scale is None else list(self.scale),
        }
        if self.inputs is not None:
            record["inputs"] = [_describe(source) for source in self.inputs]
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Preparation":
        """Read what `to_json` wrote; ValueError where it is something else."""
        columns: Any = record.get("columns")
        missing: Any = record.get("missing")
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise ValueError("the columns of the preparation must be a list of names")
        if not columns or len(set(columns)) < len(columns):
            raise ValueError("the preparation must have columns, each once")
        if missing not in get_args(Missing):
            raise ValueError(f"the preparation knows no way called {missing!r} to treat gaps")
        fill = _numbers(record, "fill", len(columns))
        scale = _numbers(record, "scale", len(columns))
        if (fill is None) == (missing in ("median", "indicate")):
            raise ValueError("the preparation must have fill values if and only if gaps are filled")
        if scale is not None and min(scale) <= 0.0:
            raise ValueError("the scales of the preparation must be positive")
        inputs = _read_inputs(record.get("inputs"), len(columns))
        return cls(tuple(columns), missing, fill, scale, inputs)


def _describe(source: Input) -> dict[str, Any]:
    """Write what differs from a plain number."""
    record: dict[str, Any] = {"name": source.name, "kind": source.kind}
    for name in ("levels", "other", "gaps", "log", "cycles"):
        value = getattr(source, name)
        if value:
            record[name] = list(value) if isinstance(value, tuple) else value
    return record


def _read_inputs(record: Any, n_columns: int) -> tuple[Input, ...] | None:
    if record is None:
        return None
    if not isinstance(record, list) or not all(isinstance(source, dict) for source in record):
        raise ValueError("the preparation must describe the columns of the table")
    known = {"name": str, "kind": str, "levels": list, "other": bool, "gaps": bool, "log": bool}
    known["cycles"] = list
    found = []
    for source in record:
        texts = [source.get("name"), *source.get("levels", ()), *source.get("cycles", ())]
        if (
            not set(source) <= set(known)
            or not all(isinstance(value, known[name]) for name, value in source.items())
            or not all(isinstance(text, str) for text in texts)
            or source.get("kind") not in get_args(Kind)
            or not set(source.get("cycles", ())) <= set(_CYCLES)
            or len(set(source.get("levels", ()))) < len(source.get("levels", ()))
        ):
            raise ValueError("the preparation has a column of an unknown kind")
        lists = {name: tuple(source.get(name, ())) for name in ("levels", "cycles")}
        found.append(Input(**{**source, **lists}))
    if len({source.name for source in found}) < len(found):
        raise ValueError("the preparation must have each column of the table once")
    if sum(len(source.features) for source in found) != n_columns:
        raise ValueError("the prepared columns are not those of the columns of the table")
    return tuple(found)


def _numbers(record: Mapping[str, Any], name: str, count: int) -> tuple[float, ...] | None:
    values = record.get(name)
    if values is None:
        return None
    if (
        not isinstance(values, list)
        or len(values) != count
        or not all(isinstance(value, float) and math.isfinite(value) for value in values)
    ):
        raise ValueError(f"the {name} of the preparation must be {count} finite numbers")
    return tuple(values)


def find_kind(column: "pa.ChunkedArray") -> str:
    """Say what a column holds by its type: a kind, "text", "empty", or "" for nothing known."""
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


def to_doubles(column: "pa.ChunkedArray") -> Rows:
    """Numbers, true and false as 1 and 0, dates and times as seconds; NaN where missing."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        column = _to_seconds(column)
    values: Rows = column.cast(pa.float64(), safe=False).to_numpy()
    return values


def _to_seconds(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    kind, unit = column.type, pa.duration("us")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        unit = pa.timestamp("us", getattr(kind, "tz", None))
    elif pa.types.is_time(kind):
        unit = pa.time64("us")
    return pc.divide(column.cast(unit).cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)


def to_texts(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Rows as text, null where missing."""
    if pa.types.is_dictionary(column.type):  # a cast does not know all types of text
        parts = [part.dictionary.cast(pa.string()).take(part.indices) for part in column.chunks]
        return pa.chunked_array(parts, pa.string())
    return column.cast(pa.string())


def encode(table: DataTable, preparation: Preparation) -> Rows:
    """Rows of the prepared columns, before gaps are filled and columns are scaled.

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


def _encode_column(table: DataTable, source: Input, out: Rows) -> None:
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
    for zone in (None, "UTC"):
        try:
            return column.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            pass
    for row, value in enumerate(column):
        try:
            value.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            why = "expected dates such as 2024-05-31 or 2024-05-31 14:30:00. Convert the column."
            raise table.wrong_value(name, repr(value.as_py()[:30]), row, why, "dates") from None
    raise TableError(
        f"`dates`: column {show_name(name)} of {table.source} has dates with and without a zone."
    )


def _encode_levels(column: "pa.ChunkedArray", source: Input, out: Rows) -> None:
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
    if find_kind(column) == "empty":
        return np.full(len(column), -1, dtype=np.int64)
    found = pc.index_in(to_texts(column), value_set=pa.array(levels, pa.string()))
    codes: NDArray[np.int64] = found.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _positions(column: "pa.ChunkedArray", source: Input, table: DataTable) -> Rows:
    codes = _codes(column, source.levels)
    positions = np.where(codes >= 0, codes, np.nan)
    unknown = (codes < 0) & column.is_valid().to_numpy().astype(np.bool_)
    if unknown.any():
        row = unknown.argmax()
        why = "expected one of its ordered levels."
        raise table.wrong_value(source.name, repr(column[row].as_py()), row, why)
    return positions


def _check_finite(values: Rows, name: str, table: DataTable) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        found = f"{count(int(infinite.sum()), 'infinite value')}, the first"
        raise table.wrong_value(
            name, found, infinite.argmax(), "expected finite ones. Replace them."
        )


def _logarithms(values: Rows, name: str, table: DataTable) -> Rows:
    """Logarithms of 1 + x, alike on every processor."""
    wrong = values < 0.0
    if wrong.any():
        row, why = wrong.argmax(), "a logarithm needs numbers of at least 0."
        raise table.wrong_value(name, values[row], row, why, "transform")
    missing = np.isnan(values)
    found = np.empty(values.size)
    log_each(np.where(missing, 1.0, 1.0 + values), found)
    found[missing] = np.nan
    return found


def _encode_cycle(seconds: Rows, cycle: str, out: Rows) -> None:
    """Points on a circle of diameter 1 for the hour of the day or the day of the week."""
    known = ~np.isnan(seconds)
    whole = np.where(known, seconds, 0.0).astype(np.int64)
    hours, days = (whole % _DAY) // 3600, (whole // _DAY + 3) % 7  # 1970-01-01 was a Thursday
    points = _HOURS[hours] if cycle == "hour" else _WEEK[days]
    out[:] = np.where(known[:, None], points / 2.0, np.nan)


def _circle_of_hours() -> Rows:
    """Multiples of 15 degrees, by square roots."""
    six, two = math.sqrt(6), math.sqrt(2)
    sine = np.array([0.0, (six - two) / 4, 0.5, math.sqrt(0.5), math.sqrt(0.75), (six + two) / 4])
    quarter = np.column_stack((np.append(1.0, sine[:0:-1]), sine))
    turns = [quarter]
    for _ in range(3):
        x, y = turns[-1][:, 0], turns[-1][:, 1]
        turns.append(np.column_stack((-y, x)))
    return np.vstack(turns)


_HOURS = _circle_of_hours()
_WEEK = np.column_stack(
    ((*_SEVENTH_X, *_SEVENTH_X[:0:-1]), (*_SEVENTH, *(-y for y in _SEVENTH[:0:-1])))
)
