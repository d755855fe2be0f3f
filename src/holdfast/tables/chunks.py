"""Arrays, tables and files -> chunks of rows, checked one by one."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CHUNK_ROWS",
    "Chunk",
    "Source",
    "check_finite",
    "check_like",
    "open_source",
    "read_file",
    "read_schema",
    "to_chunk",
]

CHUNK_ROWS = 1 << 20
"""Rows that are read and worked on at a time; never changes a result."""

_CSV_BLOCK = 1 << 24
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
}


@dataclass(frozen=True)
class Chunk:
    """Rows of one chunk.

    Attributes
    ----------
    place : str
        Where it comes from, for messages.
    names : tuple of str, or None
    dtypes : tuple of str
        Of the columns, as they were given; one for all of an array.
    rows : ndarray of shape (n, n_features), dtype float64
    """

    place: str
    names: tuple[str, ...] | None
    dtypes: tuple[str, ...]
    rows: NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """Chunks that can be read once, or again and again.

    Attributes
    ----------
    open : callable
        Returns an iterator over arrays, tables, record batches and paths.
    again : bool
        Whether it can be read more than once.
    columns : tuple of str, or None
        Which columns of tables and files count; None for all.
    chunk_rows : int
    """

    open: Callable[[], Iterable[Any]]
    again: bool
    columns: tuple[str, ...] | None
    chunk_rows: int

    def __iter__(self) -> Iterator[Chunk]:
        """Read all chunks, each checked against the first."""
        first: Chunk | None = None
        for number, batch in enumerate(self.open()):
            for chunk in self._split(number, batch):
                first = check_like(chunk, first)
                check_finite(chunk)
                yield chunk

    def _split(self, number: int, batch: Any) -> Iterator[Chunk]:
        if isinstance(batch, str | os.PathLike):
            parts = read_file(Path(batch), self.columns, self.chunk_rows)
            for i, part in enumerate(parts):
                yield to_chunk(f"{os.fspath(batch)}, chunk {i}", part, self.columns)
            return
        whole = to_chunk(f"chunk {number}", batch, self.columns)
        for start in range(0, max(whole.rows.shape[0], 1), self.chunk_rows):
            rows = whole.rows[start : start + self.chunk_rows]
            place = whole.place if start == 0 else f"{whole.place} (from its row {start})"
            yield Chunk(place, whole.names, whole.dtypes, rows)


def open_source(
    batches: Any, columns: Iterable[str] | None = None, chunk_rows: int = CHUNK_ROWS
) -> Source:
    """Make a source of a list, a function that returns an iterator, an iterator or one path."""
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1; got {chunk_rows}.")
    named = None if columns is None else tuple(columns)
    if isinstance(batches, str | os.PathLike):
        return Source(lambda: [batches], True, named, chunk_rows)
    if callable(batches):
        return Source(batches, True, named, chunk_rows)
    if isinstance(batches, np.ndarray) or not hasattr(batches, "__iter__"):
        raise TypeError(
            "batches must be a list of arrays, tables or paths, a path, or a function that returns "
            f"an iterator over them; got {type(batches).__name__}. Put a single array in a list."
        )
    again = iter(batches) is not batches
    return Source(lambda: batches, again, named, chunk_rows)


def read_file(path: Path, columns: tuple[str, ...] | None, chunk_rows: int) -> Iterator[Any]:
    """Record batches of a Parquet, CSV or Arrow file, one at a time.

    Whatever the reader finds wrong, such as a file that ends in the middle, is a ValueError that
    names the file.
    """
    kind = _ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path}: unknown kind of file; expected one that ends in {', '.join(_ENDINGS)}."
        )
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            f"Reading {path} needs pyarrow; install it by `pip install 'holdfast[cli]'`."
        ) from None
    readers = {"parquet": _read_parquet, "csv": _read_csv, "arrow": _read_arrow}
    yield from _blame_file(path, lambda: readers[kind](path, columns, chunk_rows))


def _blame_file(path: Path, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Name the file in what its reader finds wrong."""
    import pyarrow as pa

    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        yield from read()
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise ValueError(
            f"{path}: cannot be read; it is damaged, ends in the middle, or has columns that are "
            f"not numbers: {error}"
        ) from error


def read_schema(path: Path) -> Any:
    """Names and types of the columns of a file, without its rows; CSV by its beginning."""

    def read() -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        kind = _ENDINGS.get(path.suffix.lower())
        if kind == "parquet":
            yield pa.parquet.read_schema(path)
        elif kind == "csv":
            with pa.csv.open_csv(path) as reader:
                yield reader.schema
        else:
            with pa.OSFile(str(path)) as file:
                yield _open_arrow(file).schema

    return next(_blame_file(path, read))


def _read_parquet(path: Path, columns: tuple[str, ...] | None, chunk_rows: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    # pre_buffer would read whole row groups, which may be as large as the file, ahead; the pages of
    # a memory map would count as memory in use
    with pq.ParquetFile(path, memory_map=False, pre_buffer=False) as file:
        _check_there(path, columns, file.schema_arrow.names)
        chosen = list(columns or _without_index(file.schema_arrow.names))
        yield from file.iter_batches(batch_size=chunk_rows, columns=chosen, use_threads=False)


def _read_csv(path: Path, columns: tuple[str, ...] | None, chunk_rows: int) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    options = csv.ReadOptions(block_size=_CSV_BLOCK)
    with csv.open_csv(path, read_options=options) as reader:
        names = reader.schema.names
    _check_there(path, columns, names)
    convert = csv.ConvertOptions(
        column_types={name: pa.float64() for name in columns or names},
        include_columns=None if columns is None else list(columns),
    )
    with csv.open_csv(path, read_options=options, convert_options=convert) as reader:
        for batch in reader:
            for start in range(0, batch.num_rows, chunk_rows):
                yield batch.slice(start, chunk_rows)


def _read_arrow(path: Path, columns: tuple[str, ...] | None, chunk_rows: int) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        opened = _open_arrow(file)
        batches = opened
        if hasattr(opened, "num_record_batches"):  # a file, not a stream
            batches = (opened.get_batch(i) for i in range(opened.num_record_batches))
        _check_there(path, columns, opened.schema.names)
        for batch in batches:
            chosen = batch.select(list(columns or _without_index(batch.schema.names)))
            chosen.validate(full=True)  # Arrow trusts the offsets in a file unless it is asked
            for start in range(0, max(batch.num_rows, 1), chunk_rows):
                yield chosen.slice(start, chunk_rows)


def _open_arrow(file: Any) -> Any:
    """Open a file of Arrow, or else a stream."""
    import pyarrow as pa

    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def _without_index(names: list[str]) -> list[str]:
    return [name for name in names if not is_pandas_index(name)]


def is_pandas_index(name: str) -> bool:
    """Whether a column holds the row labels of a pandas table that had no name for them."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


def _check_there(path: Path, columns: tuple[str, ...] | None, names: list[str]) -> None:
    missing = [name for name in columns or () if name not in names]
    if missing:
        raise ValueError(f"{path}: no columns {missing}; it has {names}.")


def to_chunk(place: str, batch: Any, columns: tuple[str, ...] | None) -> Chunk:
    """Convert an array, a pandas, polars or pyarrow table or a record batch to doubles."""
    names: tuple[str, ...] | None = None
    if hasattr(batch, "schema") and hasattr(batch, "column"):  # pyarrow
        names = tuple(batch.schema.names)
        arrays = [
            np.asarray(batch.column(i).to_numpy(zero_copy_only=False))
            if not hasattr(batch.column(i), "combine_chunks")
            else np.asarray(batch.column(i).to_numpy())
            for i in range(len(names))
        ]
    elif hasattr(batch, "columns") and hasattr(batch, "to_numpy"):  # pandas, polars
        names = tuple(str(name) for name in batch.columns)
        arrays = [np.asarray(batch[name].to_numpy()) for name in batch.columns]
    if names is None:
        given = np.asarray(batch)
        if given.ndim != 2:
            raise ValueError(f"{place}: must have rows and columns; got shape {given.shape}.")
        _check_kind(place, "", given.dtype)
        rows = np.ascontiguousarray(given, dtype=np.float64)
        return Chunk(place, None, (str(given.dtype),), rows)
    chosen = [names.index(name) for name in columns or names if name in names]
    if columns is not None and len(chosen) < len(columns):
        raise ValueError(f"{place}: must have the columns {list(columns)}; got {list(names)}.")
    rows = np.empty((arrays[0].shape[0] if arrays else 0, len(chosen)))
    for j, i in enumerate(chosen):
        _check_kind(place, f" in column {names[i]!r}", arrays[i].dtype)
        rows[:, j] = arrays[i]
    return Chunk(
        place, tuple(names[i] for i in chosen), tuple(str(arrays[i].dtype) for i in chosen), rows
    )


def _check_kind(place: str, where: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "buif":
        raise ValueError(
            f"{place}: columns must be numbers; got dtype {dtype}{where}. Convert it, or choose "
            "other columns."
        )


def check_like(chunk: Chunk, first: Chunk | None) -> Chunk:
    """Check columns and dtypes against the first chunk; return what to check the next against.

    The dtypes of a chunk without rows say nothing: many writers have none to go by.
    """
    if first is None:
        return chunk
    if chunk.rows.shape[1] != first.rows.shape[1] or chunk.names != first.names:
        got, expected = (
            f"{c.rows.shape[1]} columns" if c.names is None else f"the columns {list(c.names)}"
            for c in (chunk, first)
        )
        raise ValueError(f"{chunk.place}: must have {expected}, as {first.place} has; got {got}.")
    if chunk.dtypes != first.dtypes and chunk.rows.size and first.rows.size:
        raise ValueError(
            f"{chunk.place}: must have the dtypes of {first.place}, {_say(first.dtypes)}; got "
            f"{_say(chunk.dtypes)}. Convert all chunks to one dtype."
        )
    return first if first.rows.size else chunk


def _say(dtypes: tuple[str, ...]) -> str:
    return dtypes[0] if len(set(dtypes)) == 1 else str(list(dtypes))


def check_finite(chunk: Chunk) -> None:
    """Check that there is neither NaN nor infinity."""
    finite = np.isfinite(chunk.rows).all(axis=1)
    if not finite.all():
        row = int(finite.argmin())
        raise ValueError(
            f"{chunk.place}: must be finite; row {row} of the chunk is {chunk.rows[row].tolist()}."
        )
