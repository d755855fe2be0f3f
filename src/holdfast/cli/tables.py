"""Files -> Arrow tables. Whatever is wrong with a file becomes one InputProblem."""

import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from holdfast.cli.console import Console, list_names
from holdfast.cli.options import ReadOptions
from holdfast.cli.problems import InputProblem

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DataTable", "describe_reason", "read_table"]

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy", b"\x1f\x8b": "gzip"}
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
}
_HEAD = 1 << 16  # bytes looked at to tell what a file is


@dataclass(frozen=True, eq=False)
class DataTable:
    """A table and where it comes from.

    Attributes
    ----------
    source : str
        The file, as the user wrote it, or "standard input".
    data : pyarrow.Table
        At least one row and one column, names that differ.
    named : bool
        Whether the file itself names its columns.
    """

    source: str
    data: "pa.Table"
    named: bool


def read_table(path: str, options: ReadOptions, console: Console) -> DataTable:
    """Read a table by the ending of its name, or by its first bytes."""
    source = "standard input" if path == "-" else path
    with _open(path) as file, console.bar(f"reading {source}") as bar:
        head = file.read(_HEAD)
        if not head:
            raise InputProblem(f"{source} is empty; expected a table.")
        kind = _tell_kind(path, head)
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        with _explain(source):
            data = _parse(kind, _Watched(file, size, bar), head, source, options, console)
    _check_shape(data, source, kind, head)
    named = kind != "npy" and not (kind in ("csv", "tsv") and options.no_header)
    return DataTable(source, data, named)


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    """Open a file in which one can go back; what comes through a pipe is read whole."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InputProblem("standard input is a terminal; pipe a table into it.")
        yield io.BytesIO(sys.stdin.buffer.read())
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below, errors of opening told here
    except FileNotFoundError:
        raise InputProblem(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise InputProblem(f"{path} is a folder; expected a file.") from None
    except (OSError, ValueError) as error:
        raise InputProblem(f"{path} cannot be read: {describe_reason(error)}.") from None
    with file:
        yield file if file.seekable() else io.BytesIO(file.read())


class _Watched(io.RawIOBase):
    """A file that moves a bar as it is read."""

    def __init__(self, file: IO[bytes], size: int, bar: Any) -> None:
        self._file, self._size, self._bar = file, size, bar

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        found = self._file.read(-1 if size is None else size)
        self._bar.update(self._file.tell(), self._size)
        return found

    def readall(self) -> bytes:
        return self.read()


def _tell_kind(path: str, head: bytes) -> str:
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    name = path.lower().removesuffix(".gz")
    kind = _ENDINGS.get(Path(name).suffix, "csv")
    if kind in ("csv", "tsv"):
        first = head.split(b"\n", 1)[0]
        if path == "-" and b"\t" in first and b"," not in first:
            return "tsv"
        return kind
    raise InputProblem(f"{path} is not a {kind} file, though its name says so.")


def _parse(
    kind: str, file: Any, head: bytes, source: str, options: ReadOptions, console: Console
) -> "pa.Table":
    if kind == "npy":
        return _parse_npy(file, source)
    if kind == "parquet":
        import pyarrow.parquet as pq

        return _drop_index(pq.read_table(file), source, console)
    if kind == "arrow":
        from pyarrow import feather

        found = feather.read_table(file)
        found.validate(full=True)  # Arrow trusts the offsets in a file unless it is asked
        return _drop_index(found, source, console)
    import gzip

    compressed = kind == "gzip"
    plain = gzip.GzipFile(fileobj=file) if compressed else file
    if compressed:
        head = plain.read(_HEAD)
        plain.seek(0)
        kind = "tsv" if ".tsv" in source.lower() else "csv"
    return _parse_text(kind, plain, head, source, options)


def _drop_index(table: "pa.Table", source: str, console: Console) -> "pa.Table":
    """Leave out the row labels that pandas stores as a column; they are no measurement."""
    from holdfast.tables.chunks import is_pandas_index

    labels = [name for name in table.column_names if is_pandas_index(name)]
    if labels:
        console.notice(f"{source}: left out {list_names(labels)}, the index of a pandas table.")
    return table.drop_columns(labels) if labels else table


def _parse_npy(file: Any, source: str) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    try:
        array = np.load(file, allow_pickle=False)
    except MemoryError:  # also of a shape that is a lie
        raise InputProblem(
            f"{source} says that it holds more than memory can take. Check the file, or cluster it "
            "in parts (--chunked, as Parquet)."
        ) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise InputProblem(
            f"{source} holds {array.dtype} of shape {array.shape}; expected a two-dimensional "
            "array of real numbers."
        )
    if array.dtype.kind == "f":
        array = array.astype(np.float64, copy=False)
    names = [f"column_{j}" for j in range(array.shape[1])]
    return pa.table([pa.array(np.ascontiguousarray(c)) for c in array.T], names=names)


def _parse_text(kind: str, file: Any, head: bytes, source: str, options: ReadOptions) -> "pa.Table":
    from pyarrow import csv

    _check_text(head, source, options)
    separator = options.separator or ("\t" if kind == "tsv" else ",")
    separator = {"\\t": "\t", "tab": "\t"}.get(separator, separator)
    for option, value in (("--separator", separator), ("--decimal", options.decimal)):
        if len(value) != 1 or not value.isascii() or value in '"\r\n':
            raise InputProblem(f"{option} must be one ASCII character; got {value!r}.")
    options_of = {
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            decimal_point=options.decimal, strings_can_be_null=True
        ),
    }

    def read(use_threads: bool) -> "pa.Table":
        how = csv.ReadOptions(
            encoding=options.encoding,
            autogenerate_column_names=options.no_header,
            use_threads=use_threads,
        )
        return csv.read_csv(file, read_options=how, **options_of)

    try:
        table = read(use_threads=True)
    except ValueError as error:
        if "Expected" not in str(error):
            raise
        file.seek(0)
        table = read(use_threads=False)  # fails again, and then knows the line
    if options.no_header:
        table = table.rename_columns([f"column_{j}" for j in range(table.num_columns)])
    _check_separator(table, separator, source)
    _check_quotes(table, source)
    return table


def _check_quotes(table: "pa.Table", source: str) -> None:
    """Refuse a value that swallowed the rest of the file because its quote is never closed."""
    import pyarrow as pa

    for j in range(table.num_columns if table.num_rows else 0):
        column = table.column(j)
        if pa.types.is_string(column.type):
            last = column[-1].as_py()
            if last is not None and last.endswith("\n"):
                raise InputProblem(
                    f"{source}: a quote opens in the last row of column {table.column_names[j]} "
                    "and never closes. Check the quotes."
                )


def _check_text(head: bytes, source: str, options: ReadOptions) -> None:
    import codecs

    try:
        codecs.lookup(options.encoding)
    except LookupError:
        raise InputProblem(
            f"there is no encoding {options.encoding!r}; try utf-8, latin-1 or utf-16."
        ) from None
    wide = options.encoding.lower().replace("-", "").replace("_", "").startswith(("utf16", "utf32"))
    if b"\0" in head and not wide:
        raise InputProblem(
            f"{source} has NUL bytes: it is not plain text. If it is UTF-16, add "
            "--encoding utf-16; otherwise check how it was made."
        )


def _check_separator(table: "pa.Table", separator: str, source: str) -> None:
    """Refuse what is one column only because another character separates."""
    names = table.column_names
    if len(names) != 1:
        return
    (name,) = names
    for other, written in ((";", "';'"), ("\t", "tab"), ("|", "'|'"), (",", "','")):
        if other != separator and other in name:
            raise InputProblem(
                f"{source} has one column, called {name!r}: its columns seem to be separated by "
                f"{written}. Add --separator {written}"
                + (" (and --decimal ',' if numbers are like 1,5)." if other == ";" else ".")
            )


def _check_shape(data: "pa.Table", source: str, kind: str, head: bytes) -> None:
    import pyarrow as pa

    repeated = [name for name, times in Counter(data.column_names).items() if times > 1]
    if repeated:
        raise InputProblem(
            f"{source} has several columns with the same name: {list_names(repeated)}. Names must "
            "differ; rename them."
        )
    if data.num_columns == 0:
        raise InputProblem(f"{source} has no columns.")
    if data.num_rows == 0:
        raise InputProblem(
            f"{source} has a header of {data.num_columns} columns but no rows; expected at least "
            "one row of data (or --no-header, if the first line is one)."
        )
    if kind in ("csv", "tsv", "gzip"):
        broken = [f.name for f in data.schema if pa.types.is_binary(f.type)]
        if broken:
            raise InputProblem(
                f"{source} is not UTF-8 (column {list_names(broken)}). Say what it is, for example "
                "--encoding latin-1 or --encoding cp1252."
            )


@contextmanager
def _explain(source: str) -> Iterator[None]:
    """Rephrase what the readers complain about."""
    import tokenize
    import zlib

    import pyarrow as pa

    try:
        yield
    except InputProblem:
        raise
    except UnicodeError:
        raise InputProblem(
            f"{source} is not in the encoding expected. Say what it is, for example --encoding "
            "latin-1 or --encoding cp1252."
        ) from None
    except (SyntaxError, tokenize.TokenError):  # np.load, of a header that is no dictionary
        raise InputProblem(f"{source} cannot be read: its .npy header is damaged.") from None
    except (pa.ArrowException, ValueError, EOFError, OSError, zlib.error) as error:
        raise InputProblem(f"{source} cannot be read: {_rephrase(error)}") from None


def _rephrase(error: Exception) -> str:
    text = " ".join(str(error).split())
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)(?:: (.*))?$", text)
    if ragged:
        row, expected, got, line = ragged.groups()
        where = f"line {row}" if row else "a line"
        shown = f" ({line[:60]})" if line else ""
        return (
            f"{where} has {got} columns and the header has {expected}{shown}. Every line needs as "
            "many as the header."
        )
    if "allow_pickle" in text or "pickled" in text.lower():
        return "it holds Python objects, not numbers. Save it as a numeric array."
    if "straddling object" in text:
        return "a quoted value does not end, or a line is longer than 1 MB. Check the quotes."
    if "invalid UTF8" in text:
        return (
            "it is not UTF-8. Say what it is, for example --encoding latin-1 or --encoding cp1252."
        )
    return text.rstrip(".") + "."


def describe_reason(error: Exception) -> str:
    """Say what the system said, without its codes."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
