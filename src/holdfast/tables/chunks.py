"""Arrays, frames and files in Python -> chunks of rows with their weights, checked one by one."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.tables.errors import TableError, TextError
from holdfast.tables.read import PART_ROWS, read_parts

__all__ = ["CHUNK_ROWS", "Chunk", "Source", "check_finite", "check_like", "open_source", "to_chunk"]

CHUNK_ROWS = PART_ROWS
"""Rows that are read and worked on at a time; never changes a result."""


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
    weight : ndarray of shape (n,), or None
        How often each row counts, as it was given; None for once.
    """

    place: str
    names: tuple[str, ...] | None
    dtypes: tuple[str, ...]
    rows: NDArray[np.float64]
    weight: NDArray[Any] | None = None

    def slice(self, start: int, stop: int) -> "Chunk":
        """Return some of the rows."""
        place = self.place if start == 0 else f"{self.place} (from its row {start})"
        weight = None if self.weight is None else self.weight[start:stop]
        return replace(self, place=place, rows=self.rows[start:stop], weight=weight)


@dataclass(frozen=True)
class Source:
    """Chunks that can be read once, or again and again.

    Attributes
    ----------
    open : callable
        Returns an iterator over arrays, frames, record batches, paths, and pairs of one of these
        and weights.
    again : bool
        Whether it can be read more than once.
    columns : tuple of str, or None
        Which columns of frames and files to use; None for all.
    chunk_rows : int
    sample_weight : str or None
        The column of frames and files that holds weights.
    """

    open: Callable[[], Iterable[Any]]
    again: bool
    columns: tuple[str, ...] | None = None
    chunk_rows: int = CHUNK_ROWS
    sample_weight: str | None = None

    def __iter__(self) -> Iterator[Chunk]:
        """Read all chunks, each checked against the first."""
        first: Chunk | None = None
        for number, batch in enumerate(self.open()):
            for chunk in self.split(f"chunk {number}", batch):
                first = check_like(chunk, first)
                check_finite(chunk)
                yield chunk

    def split(self, place: str, batch: Any) -> Iterator[Chunk]:
        """Convert one batch, in parts of at most `chunk_rows` rows."""
        if isinstance(batch, str | os.PathLike):
            path = os.fspath(batch)
            for i, part in enumerate(self._read(path)):
                yield self._convert(f"{path}, chunk {i}", part)
            return
        whole = self._convert(place, batch)
        for start in range(0, max(whole.rows.shape[0], 1), self.chunk_rows):
            yield whole.slice(start, start + self.chunk_rows)

    def _read(self, path: str) -> Iterator[Any]:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ImportError(
                f"Reading {path} needs pyarrow; install it with `pip install 'holdfast[cli]'`."
            ) from None
        columns = self.columns
        if columns is not None and self.sample_weight is not None:
            columns = (*columns, self.sample_weight)
        try:
            for part in read_parts(path, columns=columns, part_rows=self.chunk_rows):
                yield part.data
        except TextError as error:
            raise TableError(f"{error.found} {error.instead}") from None

    def _convert(self, place: str, batch: Any) -> Chunk:
        if isinstance(batch, tuple) and len(batch) == 2:
            if self.sample_weight is not None:
                raise TypeError(
                    f"{place}: is a pair of rows and weights, and sample_weight names a column. "
                    "Give weights one way."
                )
            chunk, weight = to_chunk(place, batch[0], self.columns), np.asarray(batch[1])
            if weight.shape != chunk.rows.shape[:1]:
                raise ValueError(
                    f"{place}: must have one weight for each of its {chunk.rows.shape[0]} rows; got "
                    f"weights of shape {weight.shape}."
                )
            return replace(chunk, weight=weight)
        if self.sample_weight is None:
            return to_chunk(place, batch, self.columns)
        return _split_weight(place, batch, self.columns, self.sample_weight)


def _split_weight(
    place: str, batch: Any, columns: tuple[str, ...] | None, sample_weight: str
) -> Chunk:
    """Take the column of weights out of a frame."""
    if columns is not None:
        columns = (*columns, sample_weight)
    chunk = to_chunk(place, batch, columns)
    if chunk.names is None or sample_weight not in chunk.names:
        got = "an array, whose columns have no names" if chunk.names is None else list(chunk.names)
        raise ValueError(f"{place}: must have the column {sample_weight!r} of weights; got {got}.")
    at = chunk.names.index(sample_weight)
    return Chunk(
        place,
        chunk.names[:at] + chunk.names[at + 1 :],
        chunk.dtypes[:at] + chunk.dtypes[at + 1 :],
        np.delete(chunk.rows, at, axis=1),
        chunk.rows[:, at],
    )


def open_source(
    batches: Any,
    columns: Iterable[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    sample_weight: str | None = None,
) -> Source:
    """Make a source of a list, a function that returns an iterator, an iterator or one path."""
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1; got {chunk_rows}.")
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TypeError(
            "sample_weight must be the name of a column; got "
            f"{type(sample_weight).__name__}. Give other weights as pairs (X, weight)."
        )
    named = None if columns is None else tuple(columns)
    options = (named, chunk_rows, sample_weight)
    if isinstance(batches, str | os.PathLike):
        return Source(lambda: [batches], True, *options)
    if callable(batches):
        return Source(batches, True, *options)
    if isinstance(batches, np.ndarray) or not hasattr(batches, "__iter__"):
        raise TypeError(
            "batches must be a list of arrays, frames or paths, a path, or a function that returns "
            f"an iterator over them; got {type(batches).__name__}. Put a single array in a list."
        )
    again = iter(batches) is not batches
    return Source(lambda: batches, again, *options)


def to_chunk(place: str, batch: Any, columns: tuple[str, ...] | None) -> Chunk:
    """Convert an array, a pandas, polars or pyarrow table, or a record batch to doubles."""
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
