"""CSV and its relatives -> Arrow tables, whole or in parts; types of columns by all their values."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast._machine import arrow_csv, pa, pc
from holdfast.tables.errors import Notify, TableError, ignore, list_columns

_BLOCK_BYTES = 1 << 24  # of a file that is read in parts
_SMALL_BLOCK = 1 << 20  # of one that is read at once, by several threads
_LARGEST_BLOCK = (1 << 31) - 1


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written.

    A separator of None is a tab for .tsv files; in others it is found in the first line: a comma
    or, where there is none, a semicolon, a tab or "|". A decimal point of None is a point; where
    commas do not separate columns, it is the comma if the first lines have numbers such as 1,5 and
    none such as 1.5.
    """

    separator: str | None = None  # one character or "tab"
    decimal: str | None = None
    encoding: str = "utf-8"
    header: bool = True  # whether the first line names the columns


def settle_format(
    head: bytes, source: str, text: TextFormat, tabs: bool, notify: Notify = ignore
) -> TextFormat:
    """Check the format against the first bytes of a file, and find what it leaves open."""
    try:
        codecs.lookup(text.encoding)
    except LookupError:
        raise TableError(
            f"there is no encoding {text.encoding!r}; try utf-8, latin-1 or utf-16."
        ) from None
    wide = text.encoding.lower().replace("-", "").replace("_", "").startswith(("utf16", "utf32"))
    if b"\0" in head and not wide:
        raise TableError(
            f"{source} has NUL bytes, so it is not plain text. If it is UTF-16, convert it to UTF-8, "
            "or add --encoding utf-16 to a command; otherwise check how it was made."
        )
    lines = head.decode(text.encoding, errors="replace").lstrip("\ufeff").splitlines()
    separator = {"\\t": "\t", "tab": "\t"}.get(text.separator or "", text.separator)
    if separator is None:
        bare = re.sub(r'"[^"]*"', "", lines[0] if lines else "")
        found = (other for other in (",", ";", "\t", "|") if other in bare)
        separator = "\t" if tabs else next(found, ",")
    decimal = text.decimal or _find_decimal(lines[1 if text.header else 0 :], separator)
    for name, value in (("separator", separator), ("decimal", decimal)):
        if len(value) != 1 or not value.isascii() or value in '"\r\n':
            raise TableError(f"`{name}` must be one ASCII character; got {value!r}.")
    if (text.separator is None and not tabs and separator != ",") or (
        text.decimal is None and decimal != "."
    ):
        written = "tabs" if separator == "\t" else repr(separator)
        commas = " and numbers have decimal commas" if decimal == "," else ""
        notify(f"{source}: columns are separated by {written}{commas}.")
    return TextFormat(separator, decimal, text.encoding, text.header)


def _find_decimal(lines: list[str], separator: str) -> str:
    if separator == ",":
        return "."
    values = [v.strip(' "') for line in lines[:1000] for v in line.split(separator)]
    commas = any(re.fullmatch(r"-?\d+,\d+", value) for value in values)
    points = any(re.fullmatch(r"-?\d+\.\d+", value) for value in values)
    return "," if commas and not points else "."


def read_text(file: Any, source: str, text: TextFormat) -> "pa.Table":
    """Read a whole text file of a settled format; every value stays as it is written."""
    block, names, raw = _read_names(file, source, text)
    parse, convert = _options(text, raw)

    def read(block_size: int, **how: Any) -> "pa.Table":
        file.seek(0)
        options = arrow_csv.ReadOptions(
            encoding=text.encoding, autogenerate_column_names=not text.header,
            block_size=block_size, **how,
        )  # fmt: skip
        return arrow_csv.read_csv(file, options, parse, convert)

    try:
        table = read(block)
    except ValueError as error:
        if "straddling" in str(error):  # a line longer than a block: all is one block
            table = read(_LARGEST_BLOCK)
        elif "Expected" in str(error):
            table = read(block, use_threads=False)  # fails again, and then knows the line
        else:
            raise
    table = table.rename_columns(names)
    _check_quotes(table, source)
    return table


def stream_text(
    file: Any, source: str, text: TextFormat, columns: tuple[str, ...] | None
) -> "Iterator[pa.RecordBatch]":
    """Read a text file of a settled format in parts; every value stays as it is written."""
    block, names, raw = _read_names(file, source, text)
    chosen, included = names, None
    if len(set(names)) == len(names):  # otherwise, whoever reads the parts will tell
        chosen = choose_names(source, columns, names)
        written = dict(zip(names, raw if text.header else names, strict=True))
        included = [written[name] for name in chosen] if columns is not None else None
    how = arrow_csv.ReadOptions(
        column_names=None if text.header else names,
        encoding=text.encoding,
        block_size=max(block, _BLOCK_BYTES),
        use_threads=False,  # so that errors know the line
    )
    parse, convert = _options(text, raw if text.header else names, included)
    with arrow_csv.open_csv(file, how, parse, convert) as reader:
        for batch in reader:
            batch = batch.rename_columns(chosen)
            _check_quotes(batch, source)
            yield batch


def _read_names(file: Any, source: str, text: TextFormat) -> tuple[int, list[str], list[str]]:
    """Return a size of blocks that holds the header, the names of columns, and these as written.

    Blanks around names, as after the commas of "a, b", are no part of them.
    """
    file.seek(0)
    decode = codecs.getincrementaldecoder(text.encoding)().decode
    head, size, raw = "", 0, None
    while raw is None:
        part = bytes(file.read(_SMALL_BLOCK))
        size += len(part)
        head += decode(part, final=not part)
        raw = _first_record(head, source, text, whole=not part)
    file.seek(0)
    block = min(max(_SMALL_BLOCK, 8 * size if size > _SMALL_BLOCK else 0), _LARGEST_BLOCK)
    if not text.header:
        return block, [f"column_{j}" for j in range(len(raw))], [f"f{j}" for j in range(len(raw))]
    return block, [name.strip() for name in raw], raw


def _first_record(head: str, source: str, text: TextFormat, whole: bool) -> list[str] | None:
    """Split the first line that is not empty; None if `head` may not hold all of it."""
    lines = io.StringIO(head.lstrip("\ufeff"), newline="")
    try:
        record = next(filter(None, csv.reader(lines, delimiter=text.separator or ",")), [])
    except csv.Error as error:
        raise TableError(f"{source} cannot be read: its header is damaged ({error}).") from None
    return record if whole or lines.tell() < len(head) - 1 else None


def choose_names(source: str, columns: tuple[str, ...] | None, present: list[str]) -> list[str]:
    """List the columns to read, all of which must be there; None for all."""
    there = set(present)
    absent = [repr(name) for name in columns or () if name not in there]
    if absent:
        raise TableError(
            f"{source} has no column {list_columns(absent)}; it has {list_columns(present)}."
        )
    return present if columns is None else list(columns)


def _options(
    text: TextFormat, names: list[str], included: list[str] | None = None
) -> tuple[Any, Any]:
    """Parse by the format, and leave the named columns as text."""
    parse = arrow_csv.ParseOptions(delimiter=text.separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        strings_can_be_null=False,
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=included,
    )
    return parse, convert


def _check_quotes(table: Any, source: str) -> None:
    """Refuse a value that swallowed the rest of the file because its quote is never closed."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if len(column) and (column[-1].as_py() or "").endswith("\n"):  # all columns are text
            raise TableError(
                f"{source}: a quote opens in the last row of column {name} and never closes. Check "
                "the quotes."
            )


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
        group, point = (r",", r"\.") if self.decimal == "." else (r"\.", ",")
        plain = rf"^[-+]?(\d+|\d{{1,3}}({group}\d{{3}})+)({point}\d+)?$"
        shown = rf"\d{group}\d{{3}}({group}|{point})"
        if not pc.all(pc.match_substring_regex(values, plain)).as_py():
            return False
        if pc.any(pc.match_substring_regex(values, shown)).as_py():
            self._grouped.add(name)
        return True


def convert_text(
    table: "pa.Table", kinds: dict[str, str], decimal: str, exact: tuple[str | None, ...] = ()
) -> "pa.Table":
    """Convert columns of text to what they hold; `exact` ones stay as they are written."""
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
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, value_set=pa.array(NULL_WORDS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed if trim else column)


def _cast(values: Any, kind: str, decimal: str) -> Any:
    """Convert text; None where a value does not fit."""
    types = {"integer": pa.int64(), "date": pa.date32()}
    types |= {"time": pa.timestamp("us"), "zoned": pa.timestamp("us", "UTC")}
    try:
        if kind == "boolean":
            known, meant = pa.array(list(_BOOLEANS)), pa.array(list(_BOOLEANS.values()))
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
    known = pc.is_in(values, value_set=pa.array([*_BOOLEANS, None], pa.string()))
    return bool(pc.all(known).as_py()) and values.null_count < len(values)
