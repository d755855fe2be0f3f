"""Text as it is written in a file -> types of columns, by all their values, whole or in parts."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GuessedTypes", "convert_text"]

NULL_WORDS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
"""What stands for a missing value, as in pandas and Arrow."""

_BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "0"), False),
}
_ORDER = ("integer", "boolean", "date", "time", "zoned", "number", "grouped")
_INSIDE = {"integer": {"integer", "number", "grouped"}, "number": {"number", "grouped"},
           "date": {"date", "time"}}  # fmt: skip
"""Kinds that also hold what another kind holds."""


@dataclass
class GuessedTypes:
    """What each column of a text file can be, after all parts that were seen.

    A column is the first of these kinds that fits all its values: integers, booleans, dates, times,
    times with a zone, numbers, numbers with grouped digits such as 1,234,567.8; or else text.

    Parameters
    ----------
    decimal : str
        Decimal point of numbers.
    """

    decimal: str = "."
    _possible: dict[str, set[str]] = field(default_factory=dict)
    _grouped: set[str] = field(default_factory=set)  # columns that show that they group digits

    def see(self, table: "pa.Table | pa.RecordBatch") -> None:
        """Narrow the kinds of all columns by the values of a part."""
        for name, column in zip(table.schema.names, table.columns, strict=True):
            possible = self._possible.get(name, set(_ORDER))
            if possible:
                found = self._fit_kinds(name, column, possible)
                if found is not None:
                    self._possible[name] = possible & found

    def kinds(self) -> dict[str, str]:
        """Return the kind of each column; "empty" where it has no value, "text" for the rest."""
        found = {}
        for name, possible in self._possible.items():
            fitting = [kind for kind in _ORDER if kind in possible]
            if fitting == ["grouped"] and name not in self._grouped:
                fitting = []  # 1,234 may also be a decimal comma
            found[name] = fitting[0] if fitting else "text"
        return found

    def _fit_kinds(self, name: str, column: Any, possible: set[str]) -> set[str] | None:
        """Kinds that fit the values of a part; None if it has no values."""
        for marked in (False, True):
            values = _mark_missing(column) if marked else column
            if values.null_count == len(values):
                return None
            for kind in ("integer", "number", "date", "time", "zoned"):
                if kind in possible and _cast(values, kind, self.decimal) is not None:
                    fitting = _INSIDE.get(kind, {kind})
                    either = "boolean" in possible and _all_booleans(values)
                    return fitting | {"boolean"} if either else fitting
        if "boolean" in possible and _all_booleans(values):
            return {"boolean"}
        if "grouped" in possible and self._is_grouped(name, values):
            return {"grouped"}
        return set()

    def _is_grouped(self, name: str, values: Any) -> bool:
        """Whether all values are numbers with or without grouped digits; note what shows it."""
        import pyarrow.compute as pc

        group, point = (r",", r"\.") if self.decimal == "." else (r"\.", ",")
        plain = rf"^[-+]?(\d+|\d{{1,3}}({group}\d{{3}})+)({point}\d+)?$"
        shown = rf"\d{group}\d{{3}}({group}|{point})"
        if not pc.all(pc.match_substring_regex(values, plain)).as_py():
            return False
        if pc.any(pc.match_substring_regex(values, shown)).as_py():
            self._grouped.add(name)
        return True


def convert_text(
    table: "pa.Table", kinds: dict[str, str], decimal: str, exact: tuple[str, ...] = ()
) -> "pa.Table":
    """Convert columns of text to what they hold; `exact` ones stay as they are written."""
    import pyarrow as pa

    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = kinds.get(name, "empty")
        if name in exact:
            columns.append(column)
        elif kind == "empty":
            columns.append(pa.nulls(len(column)))
        elif kind == "text":
            columns.append(_mark_missing(column, trim=False))
        else:
            found = _cast(column, kind, decimal)
            columns.append(_cast(_mark_missing(column), kind, decimal) if found is None else found)
    return pa.table(columns, names=table.column_names)


def _mark_missing(column: Any, trim: bool = True) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, value_set=pa.array(NULL_WORDS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed if trim else column)


def _cast(values: Any, kind: str, decimal: str) -> Any:
    """Convert text; None where a value does not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = {
        "integer": pa.int64(),
        "date": pa.date32(),
        "time": pa.timestamp("us"),
        "zoned": pa.timestamp("us", "UTC"),
    }
    try:
        if kind == "boolean":
            known = pa.array(list(_BOOLEANS))
            meant = pa.array(list(_BOOLEANS.values()))
            return pc.take(meant, pc.index_in(values, value_set=known))
        if kind in types:
            return values.cast(types[kind])
        if kind == "grouped":
            values = pc.replace_substring(values, "," if decimal == "." else ".", "")
        if decimal != ".":
            if pc.any(pc.match_substring(values, ".")).as_py():
                return None
            values = pc.replace_substring(values, decimal, ".")
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _all_booleans(values: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.is_in(values, value_set=pa.array([*_BOOLEANS, None], pa.string()))
    return bool(pc.all(known).as_py()) and values.null_count < len(values)
