"""Labels and tables -> files, whole or as a stream; a file is written whole or not at all."""

import csv
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from holdfast._machine import arrow_csv, np, pa, parquet, pc
from holdfast._machine.files import write_whole
from holdfast.tables.errors import TableError, describe_reason, explain_writing, list_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

STREAM_ENDINGS = (".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather", ".ipc")
"""What files of tables are called."""

TABLE_ENDINGS = (*STREAM_ENDINGS, ".npy")
"""With the one that holds labels only, and cannot be written in parts."""

CENTER_COLUMN = "center_from"
"""The smallest k for which a row is the center of its cluster: it is for every larger one too."""

_BLOCK_ROWS = 1 << 16
_STREAMS = ("--out", "--linkage", "--data")  # may go to a pipe or a device


Outputs = dict[str, tuple[str | None, tuple[str, ...]]]
"""For each option, the file to be written (None: none) and the endings that it may have (any)."""


def check_outputs(outputs: Outputs, *, force: bool, inputs: tuple[str, ...]) -> None:
    """Refuse outputs that could not be written, before any work is done.

    "-" is standard output. `inputs` are read, and never replaced.
    """
    taken = {os.path.realpath(path): path for path in inputs if path != "-"}
    for option, (path, endings) in outputs.items():
        if path is None or (path == "-" and option == "--out" and ".csv" in endings):
            continue
        if path in ("", "-"):
            raise TableError(f"{option} needs the name of a file; got {path!r}.")
        if endings and Path(path).suffix.lower() not in endings:
            raise TableError(f"{option} {path}: the name must end in one of {', '.join(endings)}.")
        real = os.path.realpath(path)
        if real in taken:
            raise TableError(f"{option} {path} is {taken[real]}, which this command also uses.")
        taken[real] = f"the file of {option}"
        _check_output(option, path, force)


def _check_output(option: str, path: str, force: bool) -> None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise TableError(f"{option} {path}: {describe_reason(error)}.") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise TableError(f"{option} {path} is a folder; expected the name of a file.")
    if mode is not None and not stat.S_ISREG(mode):
        if option in _STREAMS:
            return
        raise TableError(f"{option} {path} is not a regular file and cannot be replaced by one.")
    if mode is not None and not force:
        raise TableError(f"{option}: {path} exists; add --force to replace it.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise TableError(f"{option} {path}: there is no folder {folder}.")
    if not os.access(
        folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
    ):
        raise TableError(f"{option} {path}: no permission to write into {folder}.")


def build_label_table(
    id_name: str | None,
    ids: "pa.ChunkedArray | pa.Array | None",
    used: "NDArray[np.bool_]",
    labels: "Mapping[int, NDArray[np.integer[Any]]]",
    center_indices: "NDArray[np.int64] | None" = None,
    first_row: int = 0,
) -> "pa.Table":
    """Put ids, one column of labels for each k, and the mark of centers side by side.

    Without ids, rows are numbered from `first_row` on. Labels and `center_indices` are those of the
    used rows; without the latter, the mark is left out.
    """
    name = id_name or "row"
    numbers = first_row + np.arange(used.size)
    columns: dict[str, Any] = {name: pa.array(numbers) if ids is None else ids}
    added = {f"cluster_{k}": label for k, label in labels.items()}
    if center_indices is not None:
        first = np.full(np.count_nonzero(used), -1, dtype=np.int32)
        most = max(labels)
        first[center_indices[:most]] = np.arange(1, most + 1, dtype=np.int32)
        added[CENTER_COLUMN] = first
    for column, values in added.items():
        if column == name:
            raise TableError(f"`id`: {name} is the name of a column of results; rename the column.")
        everywhere = np.full(used.size, -1, dtype=np.int32)
        everywhere[used] = values
        columns[column] = pa.array(everywhere, mask=everywhere < 0)
    return pa.table(columns)


def write_table(path: str, table: "pa.Table") -> None:
    """Write a table by the ending of the name; "-" is standard output, as CSV."""
    if Path(path).suffix.lower() == ".npy":
        labels = _label_columns(table)
        write_file(path, lambda file: np.save(file, labels))
    else:
        write_parts(path, [table])


def write_parts(path: str, tables: "Iterable[pa.Table]") -> None:
    """Write tables with the same columns into one file; "-" is standard output, as CSV."""
    if path == "-":
        sys.stdout.flush()
        with explain_writing("standard output"):
            _write_text(sys.stdout.buffer, tables, ",")
            sys.stdout.buffer.flush()
        return
    ending = Path(path).suffix.lower()
    separator = {".csv": ",", ".tsv": "\t"}.get(ending)
    if separator is None:
        write_file(path, lambda file: _write_binary(ending, file, tables))
    else:
        write_file(path, lambda file: _write_text(file, tables, separator))


def write_file(path: str, content: bytes | Callable[[IO[bytes]], Any]) -> None:
    """Write a file under another name and rename it; into devices and pipes, write as it comes."""

    def write(file: IO[bytes]) -> None:
        file.write(content) if isinstance(content, bytes) else content(file)

    with explain_writing(path):
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                write(file)
        else:
            write_whole(os.path.realpath(path), write)


def _write_binary(ending: str, file: IO[bytes], tables: "Iterable[pa.Table]") -> None:
    columnar = ending in (".parquet", ".pq")
    parts = iter(tables)
    first = next(parts)
    open_writer = parquet.ParquetWriter if columnar else pa.ipc.new_file
    with open_writer(file, first.schema) as writer:
        for table in chain([first], parts):
            writer.write_table(table)


def _write_text(file: IO[bytes], tables: "Iterable[pa.Table]", separator: str) -> None:
    """Write CSV in which text has quotes only where it needs them; Arrow would quote all of it."""
    blocks = (
        table.slice(start, _BLOCK_ROWS)
        for table in tables
        for start in range(0, max(table.num_rows, 1), _BLOCK_ROWS)
    )
    for number, block in enumerate(blocks):
        if number == 0:
            text = io.StringIO()
            csv.writer(text, delimiter=separator, lineterminator="\n").writerow(block.column_names)
            file.write(text.getvalue().encode())
        style = "needed" if _needs_quotes(block, separator) else "none"
        how = arrow_csv.WriteOptions(include_header=False, delimiter=separator, quoting_style=style)
        arrow_csv.write_csv(block, buffer := io.BytesIO(), how)
        file.write(buffer.getvalue())


def _needs_quotes(table: "pa.Table", separator: str) -> bool:
    special = f'["\\r\\n{separator}]'
    return any(
        pc.any(pc.match_substring_regex(column, special)).as_py()
        for column in table.columns
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    )


def _label_columns(table: "pa.Table") -> "NDArray[Any]":
    """Label columns only: an array has neither names nor text."""
    names = [name for name in table.column_names if name.startswith("cluster_")]
    gaps = [name for name in names if table.column(name).null_count]
    if gaps:
        raise TableError(
            f"a .npy file cannot hold rows without labels ({list_names(gaps)}); write another "
            "kind of file."
        )
    return np.column_stack([table.column(name).to_numpy() for name in names])
