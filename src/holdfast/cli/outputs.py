"""Results -> files: checked before the work, written whole after it."""

import csv
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from holdfast._machine.files import write_whole
from holdfast.cli.console import list_names
from holdfast.cli.problems import InputProblem, OutputProblem
from holdfast.cli.tables import describe_reason

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TABLE_ENDINGS", "check_targets", "write_file", "write_table"]

_STREAMS = ("--out", "--linkage", "--data")  # may go to a pipe or a device

TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npy")


def check_targets(
    targets: dict[str, tuple[str | None, tuple[str, ...]]], *, force: bool, inputs: tuple[str, ...]
) -> None:
    """Refuse outputs that could not be written, before any work is done.

    Parameters
    ----------
    targets : dict of str to (path or None, endings)
        For each option the file to be written (None: not asked for, "-": standard output) and the
        endings that its name may have; none for any.
    force : bool
        Whether files that are there may be replaced.
    inputs : tuple of str
        Files that are read: never replaced.
    """
    taken = {os.path.realpath(path): path for path in inputs if path != "-"}
    for option, (path, endings) in targets.items():
        if path is None or (path == "-" and option == "--out" and ".csv" in endings):
            continue
        if path in ("", "-"):
            raise InputProblem(f"{option} needs the name of a file; got {path!r}.")
        if endings and Path(path).suffix.lower() not in endings:
            raise InputProblem(f"{option} {path}: its ending must be one of {', '.join(endings)}.")
        real = os.path.realpath(path)
        if real in taken:
            raise InputProblem(f"{option} {path} is {taken[real]}, which this command also uses.")
        taken[real] = f"the file of {option}"
        _check_target(option, path, force)


def _check_target(option: str, path: str, force: bool) -> None:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        there = None
    except (OSError, ValueError) as error:
        raise InputProblem(f"{option} {path}: {describe_reason(error)}.") from None
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise InputProblem(f"{option} {path} is a folder; expected the name of a file.")
    if there is not None and not stat.S_ISREG(there.st_mode):
        if option in _STREAMS:
            return
        raise InputProblem(f"{option} {path} is not a file, and is not replaced by one.")
    if there is not None and not force:
        raise InputProblem(f"{option}: {path} exists; add --force to replace it.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise InputProblem(f"{option} {path}: there is no folder {folder}.")
    if not os.access(
        folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
    ):
        raise InputProblem(f"{option} {path}: no permission to write into {folder}.")


def write_file(path: str, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under another name and rename it; into devices and pipes, write as it comes."""
    try:
        target = os.path.realpath(path)
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                write(file)
        else:
            write_whole(target, write)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputProblem(f"{path} cannot be written: {describe_reason(error)}.") from error


def write_table(path: str, table: "pa.Table") -> None:
    """Write a table by the ending of the name; "-" is standard output, as CSV."""
    if path == "-":
        sys.stdout.flush()
        try:
            _write_text(sys.stdout.buffer, table, ",")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputProblem(
                f"standard output cannot be written: {describe_reason(error)}."
            ) from error
        return
    ending = Path(path).suffix.lower()
    write_file(path, lambda file: _write_as(ending, file, table))


def _write_as(ending: str, file: IO[bytes], table: "pa.Table") -> None:
    if ending in (".csv", ".tsv"):
        _write_text(file, table, "," if ending == ".csv" else "\t")
    elif ending == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, file)
    elif ending in (".arrow", ".feather"):
        from pyarrow import feather

        feather.write_feather(table, file)
    else:
        _write_npy(file, table)


def _write_text(file: IO[bytes], table: "pa.Table", separator: str) -> None:
    """Write CSV in which only what needs quotes has them; Arrow would quote every text."""
    import io

    from pyarrow import csv as arrow_csv

    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\n").writerow(table.column_names)
    file.write(header.getvalue().encode())
    options = arrow_csv.WriteOptions(
        include_header=False,
        delimiter=separator,
        quoting_style="needed" if _needs_quotes(table, separator) else "none",
    )
    buffer = io.BytesIO()
    for start in range(0, table.num_rows, 1 << 16):
        arrow_csv.write_csv(table.slice(start, 1 << 16), buffer, options)
        file.write(buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()


def _needs_quotes(table: "pa.Table", separator: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    special = f'["\\r\\n{separator}]'
    return any(
        pc.any(pc.match_substring_regex(column, special)).as_py()
        for column in table.columns
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    )


def _write_npy(file: IO[bytes], table: "pa.Table") -> None:
    """Label columns only: an array has neither names nor texts."""
    import numpy as np

    names = [name for name in table.column_names if name.startswith("cluster_")]
    gaps = [name for name in names if table.column(name).null_count]
    if gaps:
        raise InputProblem(
            f"rows without labels ({list_names(gaps)}) have no place in a .npy file; write another "
            "kind of file."
        )
    np.save(file, np.column_stack([table.column(name).to_numpy() for name in names]))
