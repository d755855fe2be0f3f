"""CSV and its relatives -> Arrow tables, whole or in parts."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.tables.errors import Notify, TableError, TextError, ignore, list_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TextFormat", "choose_names", "read_text", "settle_format", "stream_text"]

_BLOCK_BYTES = 1 << 24  # of a file that is read in parts
_SMALL_BLOCK = 1 << 20  # of one that is read at once, by several threads
_LARGEST_BLOCK = (1 << 31) - 1


@dataclass(frozen=True)
class TextFormat:
    r"""How a text file is written.

    Attributes
    ----------
    separator : str or None
        Between columns, one character or "tab". None is a tab for .tsv files; in others it is found
        in the first line: a comma or, where there is none, a semicolon, a tab or "|".
    decimal : str or None
        Decimal point of numbers. None is a point; where commas do not separate columns, it is the
        comma if the first lines have numbers such as 1,5 and none such as 1.5.
    encoding : str
    header : bool
        Whether the first line names the columns. Otherwise they are column_0, column_1, ...
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str = "utf-8"
    header: bool = True


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
        raise TextError(
            f"{source} has NUL bytes, so it is not plain text.",
            "If it is UTF-16, add `encoding='utf-16'`; otherwise check how it was made.",
            "If it is UTF-16, convert it to UTF-8, or use `holdfast fit --chunked --encoding "
            "utf-16`; otherwise check how it was made.",
        )
    lines = head.decode(text.encoding, errors="replace").lstrip("\ufeff").splitlines()
    separator = {"\\t": "\t", "tab": "\t"}.get(text.separator or "", text.separator)
    if separator is None:
        separator = "\t" if tabs else _find_separator(lines[0] if lines else "")
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


def _find_separator(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)
    return next((other for other in (",", ";", "\t", "|") if other in bare), ",")


def _find_decimal(lines: list[str], separator: str) -> str:
    if separator == ",":
        return "."
    values = [v.strip(' "') for line in lines[:1000] for v in line.split(separator)]
    commas = any(re.fullmatch(r"-?\d+,\d+", value) for value in values)
    points = any(re.fullmatch(r"-?\d+\.\d+", value) for value in values)
    return "," if commas and not points else "."


def read_text(file: Any, source: str, text: TextFormat) -> "pa.Table":
    """Read a whole text file of a settled format; every value stays as it is written."""
    from pyarrow import csv as arrow_csv

    block, names, raw = _read_names(file, source, text)

    def read(use_threads: bool, block_size: int) -> "pa.Table":
        file.seek(0)
        how = arrow_csv.ReadOptions(
            encoding=text.encoding,
            autogenerate_column_names=not text.header,
            use_threads=use_threads,
            block_size=block_size,
        )
        parse, convert = _options(text, raw)
        return arrow_csv.read_csv(
            file, read_options=how, parse_options=parse, convert_options=convert
        )

    try:
        table = read(True, block)
    except ValueError as error:
        if "straddling" in str(error):  # a line longer than a block: all is one block
            table = read(True, _LARGEST_BLOCK)
        elif "Expected" in str(error):
            table = read(False, block)  # fails again, and then knows the line
        else:
            raise
    table = table.rename_columns(names)
    _check_quotes(table, source)
    return table


def stream_text(
    file: Any, source: str, text: TextFormat, columns: tuple[str, ...] | None
) -> "Iterator[pa.RecordBatch]":
    """Read a text file of a settled format in parts; every value stays as it is written."""
    from pyarrow import csv as arrow_csv

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
            f"{source} has no column {list_names(absent)}; it has {list_names(present)}."
        )
    return present if columns is None else list(columns)


def _options(
    text: TextFormat, names: list[str], included: list[str] | None = None
) -> tuple[Any, Any]:
    """Parse by the format, and leave the named columns as text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    assert text.separator is not None
    parse = arrow_csv.ParseOptions(delimiter=text.separator, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        strings_can_be_null=False,
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=included,
    )
    return parse, convert


def _check_quotes(table: Any, source: str) -> None:
    """Refuse a value that swallowed the rest of the file because its quote is never closed."""
    import pyarrow as pa

    for j in range(table.num_columns if table.num_rows else 0):
        column = table.column(j)
        if pa.types.is_string(column.type):
            last = column[-1].as_py()
            if last is not None and last.endswith("\n"):
                raise TableError(
                    f"{source}: a quote opens in the last row of column {table.schema.names[j]} "
                    "and never closes. Check the quotes."
                )
