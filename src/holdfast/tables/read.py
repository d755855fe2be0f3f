"""Files -> Arrow tables, whole or in parts. Whatever is wrong with a file is one TableError."""

import gzip
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from holdfast._machine import pa
from holdfast._machine.files import read_pipe
from holdfast._machine.work import Progress, ProgressOption
from holdfast.tables.binary import check_names, read_binary, stream_binary
from holdfast.tables.errors import (
    MissingFile,
    Notify,
    TableError,
    count,
    describe_reason,
    explain_reading,
    ignore,
    list_names,
    show_name,
)
from holdfast.tables.text import (
    GuessedTypes,
    TextFormat,
    convert_text,
    read_text,
    settle_format,
    stream_text,
)

Exact = tuple[str | None, ...]
"""Names of columns that stay text, as they are written."""

PART_ROWS = 1 << 20
"""Rows that are read and worked on at a time; never changes a result."""

_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
    b"\x93NUMPY": "npy",
    b"\x1f\x8b": "gzip",
}
_ENDINGS = {
    **dict.fromkeys((".csv", ".txt"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".npy": "npy",
}
_TEXT = ("csv", "tsv", "gzip")
_HEAD = 1 << 16  # bytes looked at to recognize a file
_STEP = 1 << 24  # bytes read at a time


@dataclass(frozen=True, eq=False)
class DataTable:
    """A table, or a part of one, and where it comes from."""

    source: str  # the file, as the user wrote it, or "standard input"
    data: "pa.Table"  # at least one row and one column, distinct names
    named: bool  # whether the file itself names its columns
    first_row: int = 0  # its number in the file
    fraction_read: float = 1.0  # of the file, with this part
    written: "pa.Table | None" = None  # of a text file, all columns as they are written
    whole: bool = True  # whether this is all of the table

    def wrong_value(self, name: str, has: Any, row: Any, why: str, option: str = "") -> TableError:
        """Create the error for a value of a column, in a row of this part."""
        of_option = f"`{option}`: " if option else ""
        return TableError(
            f"{of_option}column {show_name(name)} of {self.source} has {has} in row "
            f"{self.first_row + int(row):,} (from 0); {why}"
        )


def read_table(
    path: str,
    text: TextFormat | None = None,
    *,
    exact: Exact = (),
    keep_written: bool = False,
    notify: Notify = ignore,
    progress: ProgressOption = False,
) -> DataTable:
    """Read a whole table; its kind is recognized by its first bytes and its name.

    CSV may be compressed with gzip; "-" is standard input. Columns that are `exact`, such as ids,
    stay text as written; with `keep_written`, all columns of a text file are also kept as written.
    """
    text = text or TextFormat()
    source = "standard input" if path == "-" else path
    written = None
    with _open(path) as file:
        kind, head = _recognize(path, source, file)
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        with (
            Progress(progress, size, "bytes", f"reading {source}") as shown,
            explain_reading(source),
        ):
            whole = file if kind == "npy" else _load(file, size, shown)
            if kind in _TEXT:
                written, data = _read_text(kind, whole, head, source, text, exact, notify)
            else:
                data = read_binary(kind, whole, source)
    data = _drop_index(data, source, notify)
    _check_shape(data, source, kind)
    kept = written if keep_written else None
    return DataTable(source, data, _is_named(kind, text), written=kept)


def read_parts(
    path: str,
    text: TextFormat | None = None,
    *,
    columns: tuple[str, ...] | None = None,
    exact: Exact = (),
    kinds: dict[str, str] | None = None,
    part_rows: int = PART_ROWS,
    keep_written: bool = False,
    notify: Notify = ignore,
) -> Iterator[DataTable]:
    """Read a table in parts of at most `part_rows` rows, with the types of the whole table.

    As `read_table`, but not from standard input. `kinds` is from `find_kinds`, which otherwise
    reads the file once more.
    """
    text = text or TextFormat()
    kinds = find_kinds(path, text, notify=notify) if kinds is None else kinds
    first_row = 0
    for number, (kind, batch, decimal, fraction) in enumerate(
        _read_batches(path, text, columns, part_rows)
    ):
        part = _drop_index(batch, path, notify if number == 0 else ignore)
        if number == 0:
            check_names(part, path)
        if part.num_rows:
            written = part if kind in _TEXT and keep_written else None
            with explain_reading(path):
                if kind in _TEXT:
                    part = convert_text(part, kinds, decimal, exact)
            named = _is_named(kind, text)
            yield DataTable(path, part, named, first_row, fraction, written, whole=False)
        first_row += part.num_rows


def find_kinds(
    path: str, text: TextFormat | None = None, notify: Notify = ignore
) -> dict[str, str]:
    """Find what the columns of a text file hold, by all their values; empty for other files."""
    text = text or TextFormat()
    guessed: GuessedTypes | None = None
    for kind, part, decimal, _ in _read_batches(path, text, None, PART_ROWS, notify):
        if kind not in _TEXT:
            return {}
        guessed = guessed or GuessedTypes(decimal)
        check_names(part, path)
        guessed.see(part)
    return {} if guessed is None else guessed.kinds()


def _read_batches(
    path: str,
    text: TextFormat,
    columns: tuple[str, ...] | None,
    part_rows: int,
    notify: Notify = ignore,
) -> "Iterator[tuple[str, pa.Table, str, float]]":
    """Kind of a file, parts of it, its decimal point, and the fraction that is read."""
    if path == "-":
        raise TableError("standard input cannot be read in parts; give a file.")
    with _open(path, whole=False) as file:
        kind, head = _recognize(path, path, file)
        file.seek(0)
        with explain_reading(path):
            yield from _stream(kind, file, head, path, text, columns, part_rows, notify)


@contextmanager
def _open(path: str, *, whole: bool = True) -> Iterator[IO[bytes]]:
    """Open a file in which one can go back; what comes through a pipe is read whole."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise TableError("standard input is a terminal; pipe a table into it.")
        yield io.BytesIO(read_pipe(sys.stdin.buffer))
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below, errors of opening told here
    except FileNotFoundError:
        raise MissingFile(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise TableError(
            f"{path} is a folder; expected a table. `holdfast lineage` shows a lineage."
        ) from None
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read: {describe_reason(error)}.") from None
    with file:
        if not whole and not file.seekable():
            raise TableError(f"{path} is a pipe, which cannot be read in parts; give a file.")
        yield file if file.seekable() else io.BytesIO(read_pipe(file))


def _load(file: Any, size: int, shown: Progress) -> "pa.BufferReader":
    """Read a whole file into memory that belongs to Arrow.

    Arrow's threads may hold what they read from for longer than the reading takes. If that belongs
    to Python and the program ends meanwhile, the process aborts.
    """
    memory = pa.allocate_buffer(size)
    view, done = memoryview(memory), 0
    while found := file.readinto(view[done : done + _STEP]):
        done += found
        shown.advance(found)
    view.release()
    return pa.BufferReader(memory.slice(0, done))


def _decompress(file: Any) -> "pa.BufferReader":
    """Read the rest of a compressed file into memory that belongs to Arrow."""
    plain = pa.BufferOutputStream()
    while found := file.read(_STEP):
        plain.write(found)
    return pa.BufferReader(plain.getvalue())


def _recognize(path: str, source: str, file: IO[bytes]) -> tuple[str, bytes]:
    """Tell the kind of a file; also return its first bytes, of text uncompressed."""
    head = file.read(_HEAD)
    if not head:
        raise TableError(f"{source} is empty; expected a table.")
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind, head
    if head.startswith(b"PK\x03\x04"):
        raise TableError(
            f"{source} is a zip archive, such as a model, .npz or .xlsx; expected a table. A spreadsheet can be "
            "saved as CSV. `holdfast audit` and Python take sparse matrices."
        )
    name = path.lower()
    kind = "csv" if path == "-" else _ENDINGS.get(Path(name.removesuffix(".gz")).suffix, "csv")
    if kind not in _TEXT:
        raise TableError(f"{path} is not a {kind} file, though its name says so.")
    first = head.split(b"\n", 1)[0]
    if path == "-" and b"\t" in first and b"," not in first:
        return "tsv", head
    return kind, head


def _is_named(kind: str, text: TextFormat) -> bool:
    return kind != "npy" and (text.header or kind not in _TEXT)


def _unpack(kind: str, file: Any, head: bytes, source: str) -> tuple[str, Any, bytes]:
    """Open compressed text."""
    if kind != "gzip":
        return kind, file, head
    plain = gzip.GzipFile(fileobj=file)
    head = plain.read(_HEAD)
    plain.seek(0)
    return "tsv" if ".tsv" in source.lower() else "csv", plain, head


def _read_text(
    kind: str, file: Any, head: bytes, source: str, text: TextFormat, exact: Exact, notify: Notify
) -> "tuple[pa.Table, pa.Table]":
    """Read a text file as it is written, and with the types of its columns."""
    packed = kind == "gzip"
    kind, file, head = _unpack(kind, file, head, source)
    settled = settle_format(head, source, text, kind == "tsv", notify)
    written = read_text(_decompress(file) if packed else file, source, settled)
    guessed = GuessedTypes(settled.decimal or ".")
    guessed.see(written)
    return written, convert_text(written, guessed.kinds(), guessed.decimal, exact)


def _stream(
    kind: str,
    file: Any,
    head: bytes,
    source: str,
    text: TextFormat,
    columns: tuple[str, ...] | None,
    part_rows: int,
    notify: Notify,
) -> "Iterator[tuple[str, pa.Table, str, float]]":
    """Parts of a file, and the fraction of the file that is read after each."""
    batches: Iterator[tuple[Any, float]]
    decimal = "."
    if kind in _TEXT:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        kind, plain, head = _unpack(kind, file, head, source)
        settled = settle_format(head, source, text, kind == "tsv", notify)
        decimal = settled.decimal or "."
        parts = stream_text(plain, source, settled, columns)
        batches = ((part, min(file.tell() / size, 1.0)) for part in parts)
    else:
        batches = stream_binary(kind, file, source, columns, part_rows)
    for batch, fraction in batches:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        for start in range(0, max(table.num_rows, 1), part_rows):
            yield kind, table.slice(start, part_rows), decimal, fraction


def _drop_index(table: "pa.Table", source: str, notify: Notify) -> "pa.Table":
    """Leave out the row labels that pandas stores as a column; they are no measurement."""
    labels = [name for name in table.column_names if re.fullmatch(r"__index_level_\d+__", name)]
    if labels:
        notify(f"{source}: ignoring {list_names(labels)}, the index of a pandas table.")
    return table.drop_columns(labels) if labels else table


def _check_shape(data: "pa.Table", source: str, kind: str) -> None:
    check_names(data, source)
    if data.num_rows == 0:
        header, advice = "", ""
        if kind in _TEXT:
            header, advice = "a header of ", " If the first line is a row, add `no_header`."
        raise TableError(
            f"{source} has {header}{count(data.num_columns, 'column')} but no rows; expected at "
            f"least one row.{advice}"
        )
