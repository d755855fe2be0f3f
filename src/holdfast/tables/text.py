"""CSV and its relatives -> Arrow tables, whole or in parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.tables.errors import TableError, TextError, list_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TextFormat", "check_text", "choose_names", "read_text", "stream_text"]

_BLOCK_BYTES = 1 << 24  # of a file that is read in parts; the first block decides the types


@dataclass(frozen=True)
class TextFormat:
    r"""How a text file is written.

    Attributes
    ----------
    separator : str or None
        Between columns, one character or "tab". None is a tab for .tsv files, else a comma.
    decimal : str
        Decimal point of numbers.
    encoding : str
    header : bool
        Whether the first line names the columns. Otherwise they are column_0, column_1, ...
    """

    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True


def check_text(head: bytes, source: str, text: TextFormat, tabs: bool) -> None:
    """Check the format, and the first bytes of a file against it."""
    import codecs

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
    _check_header(head, source, text, _choose_separator(text, tabs))


def read_text(file: Any, source: str, text: TextFormat, tabs: bool) -> "pa.Table":
    """Read a whole text file."""
    from pyarrow import csv

    separator = _choose_separator(text, tabs)
    parse, convert = _options(text, separator)

    def read(use_threads: bool) -> "pa.Table":
        how = csv.ReadOptions(
            encoding=text.encoding,
            autogenerate_column_names=not text.header,
            use_threads=use_threads,
        )
        return csv.read_csv(file, read_options=how, parse_options=parse, convert_options=convert)

    try:
        table = read(use_threads=True)
    except ValueError as error:
        if "Expected" not in str(error):
            raise
        file.seek(0)
        table = read(use_threads=False)  # fails again, and then knows the line
    if not text.header:
        table = table.rename_columns([f"column_{j}" for j in range(table.num_columns)])
    _check_quotes(table, source)
    return table


def stream_text(
    file: Any,
    source: str,
    text: TextFormat,
    tabs: bool,
    columns: tuple[str, ...] | None,
    exact: tuple[str, ...],
) -> "Iterator[pa.RecordBatch]":
    """Read a text file in parts, numbers as doubles except in the columns `exact`."""
    from pyarrow import csv

    separator = _choose_separator(text, tabs)
    how = {
        "encoding": text.encoding,
        "block_size": _BLOCK_BYTES,
        "use_threads": False,  # so that errors know the line
    }
    first = csv.ReadOptions(autogenerate_column_names=not text.header, **how)
    parse, convert = _options(text, separator)
    with csv.open_csv(_Lent(file), first, parse, convert) as reader:
        found = reader.schema
    file.seek(0)
    names = found.names if text.header else [f"column_{j}" for j in range(len(found.names))]
    types, chosen = None, None
    if len(set(names)) == len(names):  # otherwise, whoever reads the parts will tell
        types = _choose_types(names, found.types, exact)
        chosen = choose_names(source, columns, names)
    read = csv.ReadOptions(column_names=None if text.header else names, **how)
    parse, convert = _options(text, separator, types, chosen)
    with csv.open_csv(file, read, parse, convert) as reader:
        for batch in reader:
            _check_quotes(batch, source)
            yield batch


def choose_names(source: str, columns: tuple[str, ...] | None, present: list[str]) -> list[str]:
    """List the columns to read, all of which must be there; None for all."""
    absent = [repr(name) for name in columns or () if name not in present]
    if absent:
        raise TableError(
            f"{source} has no column {list_names(absent)}; it has {list_names(present)}."
        )
    return present if columns is None else list(columns)


def _choose_types(
    names: list[str], types: "list[pa.DataType]", exact: tuple[str, ...]
) -> "dict[str, pa.DataType]":
    import pyarrow as pa

    return {
        name: pa.float64()
        for name, kind in zip(names, types, strict=True)
        if name not in exact and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    }


class _Lent:
    """A file that stays open when a reader of its first part is closed."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._file.read(size)
        return found

    def close(self) -> None:
        pass


def _choose_separator(text: TextFormat, tabs: bool) -> str:
    separator = text.separator or ("\t" if tabs else ",")
    separator = {"\\t": "\t", "tab": "\t"}.get(separator, separator)
    for name, value in (("separator", separator), ("decimal", text.decimal)):
        if len(value) != 1 or not value.isascii() or value in '"\r\n':
            raise TableError(f"`{name}` must be one ASCII character; got {value!r}.")
    return separator


def _options(
    text: TextFormat,
    separator: str,
    types: "dict[str, pa.DataType] | None" = None,
    chosen: list[str] | None = None,
) -> tuple[Any, Any]:
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = csv.ConvertOptions(
        decimal_point=text.decimal,
        strings_can_be_null=True,
        column_types=types,
        include_columns=chosen,
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


def _check_header(head: bytes, source: str, text: TextFormat, separator: str) -> None:
    """Refuse what is one column only because another character separates."""
    line = head.decode(text.encoding, errors="replace").lstrip("\ufeff").splitlines()[0]
    if not text.header or separator in line:
        return
    for other, written in ((";", ";"), ("\t", "tab"), ("|", "|"), (",", ",")):
        if other in line:
            raise TextError(
                f"{source} has one column, called {line[:60]!r}: its columns seem to be separated "
                f"by {written!r}.",
                f"Add `separator={written!r}`"
                + (" (and `decimal=','` if numbers look like 1,5)." if other == ";" else "."),
                "Separate them by commas, or use `holdfast fit --chunked --separator`.",
            )
