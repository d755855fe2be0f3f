"""Data larger than memory: fit and label it chunk by chunk.

One way: `tables` (read in parts) -> `rows` (one sketch) -> the estimator, which builds the hierarchy
once -> labels in a second pass.
"""

from __future__ import annotations  # short names in help()

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.hash import seed_from
from holdfast.estimator import HierarchicalKMedian
from holdfast.estimator.updates import hold_rows, undo_on_error
from holdfast.hierarchy.model import Locator
from holdfast.parameters import check_choices, check_integer
from holdfast.rows.log import MAX_CELLS, Cap, CappedSketch, RowLog
from holdfast.rows.sketch import Sketch, whole_weights
from holdfast.tables.read import PART_ROWS, read_parts
from holdfast.tables.write import STREAM_ENDINGS, write_parts

CHUNK_ROWS = PART_ROWS  # read and worked on at a time; never changes a result


@dataclass(frozen=True)
class Chunk:
    """Rows of one chunk."""

    place: str  # where it comes from, for messages
    names: tuple[str, ...] | None
    dtypes: tuple[str, ...]  # of the columns, as they were given; one for all of an array
    rows: NDArray[np.float64]  # (n, n_features)
    weight: NDArray[Any] | None = None  # (n,): how often each row counts; None for once

    def slice(self, start: int, stop: int) -> Chunk:
        """Return some of the rows."""
        place = self.place if start == 0 else f"{self.place} (from its row {start})"
        weight = None if self.weight is None else self.weight[start:stop]
        return replace(self, place=place, rows=self.rows[start:stop], weight=weight)


@dataclass(frozen=True)
class Source:
    """Chunks that can be read once, or again and again."""

    open: Callable[[], Iterable[Any]]  # gives arrays, frames, paths, or pairs with weights
    again: bool  # whether it can be read more than once
    columns: tuple[str, ...] | None = None  # which columns of frames and files to use; None for all
    chunk_rows: int = CHUNK_ROWS
    sample_weight: str | None = None  # the column of frames and files that holds weights
    place: str = ""  # the name of its only chunk

    def __iter__(self) -> Iterator[Chunk]:
        """Read all chunks, each checked against the first."""
        first: Chunk | None = None
        for number, batch in enumerate(self.open()):
            for chunk in self.split(self.place or f"chunk {number}", batch):
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
        for part in read_parts(path, columns=columns, part_rows=self.chunk_rows):
            yield part.data

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
    chunk = to_chunk(place, batch, None if columns is None else (*columns, sample_weight))
    if chunk.names is None or sample_weight not in chunk.names:
        got = "an array, whose columns have no names" if chunk.names is None else list(chunk.names)
        raise ValueError(f"{place}: must have the column {sample_weight!r} of weights; got {got}.")
    at = chunk.names.index(sample_weight)
    names, dtypes = (kept[:at] + kept[at + 1 :] for kept in (chunk.names, chunk.dtypes))
    return Chunk(place, names, dtypes, np.delete(chunk.rows, at, axis=1), chunk.rows[:, at])


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
    options = (None if columns is None else tuple(columns), chunk_rows, sample_weight)
    if isinstance(batches, str | os.PathLike):
        return Source(lambda: [batches], True, *options)
    if callable(batches):
        return Source(batches, True, *options)
    if isinstance(batches, np.ndarray) or not hasattr(batches, "__iter__"):
        raise TypeError(
            "batches must be a list of arrays, frames or paths, a path, or a function that returns "
            f"an iterator over them; got {type(batches).__name__}. Put a single array in a list."
        )
    return Source(lambda: batches, iter(batches) is not batches, *options)


def to_chunk(place: str, batch: Any, columns: tuple[str, ...] | None) -> Chunk:
    """Convert an array, a pandas, polars or pyarrow table, or a record batch to doubles."""
    names: tuple[str, ...] | None = None
    if hasattr(batch, "schema") and hasattr(batch, "column"):  # pyarrow
        names = tuple(batch.schema.names)
        arrays = [np.asarray(column) for column in batch.columns]
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
    dtypes = tuple(str(arrays[i].dtype) for i in chosen)
    return Chunk(place, tuple(names[i] for i in chosen), dtypes, rows)


def _check_kind(place: str, where: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "buif":
        raise ValueError(
            f"{place}: columns must be numbers; got dtype {dtype}{where}. Convert it, or choose "
            "other columns."
        )


def check_like(chunk: Chunk, first: Chunk | None) -> Chunk:
    """Check columns, and dtypes unless a chunk has no rows, against the first; return the first."""
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


def fit_chunks(
    estimator: HierarchicalKMedian,
    batches: Any,
    *,
    columns: Iterable[str] | None = None,
    sample_weight: str | None = None,
    max_cells: int = MAX_CELLS,
    labels: str | os.PathLike[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> HierarchicalKMedian:
    """Fit rows that need not fit into memory, one chunk at a time.

    The result is that of :meth:`HierarchicalKMedian.fit` on the distinct rows with their counts,
    bit for bit, for any chunks in any order. If there are more than `max_cells` distinct rows, cells
    of the seeded grid represent them, with the smallest side at which there are at most `max_cells`;
    see docs/changing_data.md.

    Parameters
    ----------
    estimator : HierarchicalKMedian
        The estimator to fit. After an error, it is unchanged.
    batches : list of chunks, path, or callable
        A chunk is an array, a pandas, polars or pyarrow table, a pyarrow record batch, or the path
        of a CSV, Parquet, Arrow or .npy file, which is read in parts. A tuple ``(X, weight)`` gives
        a chunk its weights. A callable without arguments returns an iterator over chunks. An iterator
        works only without `labels`.
    columns : iterable of str, default=None
        Columns of frames and files to use; all by default.
    sample_weight : str, default=None
        Column of frames and files with the weight of each row: integers of at least 0.
    max_cells : int, default=2097152
        Largest number of distinct rows or cells that are clustered.
    labels : str or path-like, default=None
        File for the labels of all rows, written in a second pass: one column ``label`` in the order
        of the rows, as Parquet, CSV or Arrow by the file extension. It is complete or not written.
    chunk_rows : int, default=1048576
        Rows to process at a time. Affects memory, never the result.

    Returns
    -------
    HierarchicalKMedian
        `estimator`. `labels_` and `center_indices_` refer to its `rows_`.
    """
    source = open_source(batches, columns, chunk_rows, sample_weight)
    if labels is not None:
        _check_labels(labels, source)
    recipe = clone(estimator)
    seed = seed_from(estimator.random_state)
    n_rows = 0

    def read() -> Iterator[Chunk]:
        nonlocal n_rows
        for chunk in source:
            n_rows += chunk.rows.shape[0]
            yield chunk

    sketch, first = sketch_source(read(), recipe, build_cap(seed, max_cells))
    with undo_on_error(estimator):
        fit_sketch(estimator, sketch, recipe, first.names)
        if labels is not None:
            write_labels(estimator, source, labels, n_rows)
    return estimator


def predict_chunks(
    estimator: HierarchicalKMedian,
    batches: Any,
    *,
    columns: Iterable[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[NDArray[np.int32]]:
    """Label rows that need not fit into memory, one chunk at a time.

    Parameters
    ----------
    estimator : HierarchicalKMedian
        Fitted.
    batches, columns, chunk_rows
        As in :func:`fit_chunks`.

    Yields
    ------
    ndarray of shape (n_rows of the chunk,), dtype int32
        The labels that ``estimator.predict`` gives.
    """
    check_is_fitted(estimator)
    return _label_source(estimator, open_source(batches, columns, chunk_rows))


def build_cap(seed: int, max_cells: int) -> Cap:
    """Check the cap of sketches."""
    check_integer("max_cells", max_cells)
    return Cap(int(max_cells), seed)


def sketch_source(
    source: Iterable[Chunk], recipe: HierarchicalKMedian, cap: Cap
) -> tuple[CappedSketch, Chunk]:
    """Sketch all chunks; also return the first one that is not empty, with one row."""
    first: Chunk | None = None
    sketch: CappedSketch | None = None
    for chunk in source:
        first = check_like(chunk, first)
        if sketch is None:
            sketch = CappedSketch.empty(cap, chunk.rows.shape[1])
        try:
            check_choices(recipe, chunk.rows)
            weight = whole_weights(chunk.weight, chunk.rows.shape[0])
        except ValueError as error:
            raise ValueError(f"{chunk.place}: {error}") from None
        counted = weight > 0
        sketch = sketch.add_rows(chunk.rows[counted], weight[counted])
    if first is None or sketch is None:
        raise ValueError("There are no chunks to fit.")
    return sketch, first.slice(0, 1)


def fit_sketch(
    estimator: HierarchicalKMedian,
    sketch: CappedSketch,
    recipe: HierarchicalKMedian,
    names: tuple[str, ...] | None,
) -> None:
    """Fit an estimator to a sketch, and build the hierarchy."""
    if len(sketch) == 0:
        raise ValueError("There are no rows: all chunks are empty.")
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.table_, estimator.n_features_in_ = None, sketch.n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    held: RowLog | CappedSketch = sketch.settle()
    if sketch.exponent is None:
        exact = Sketch(sketch.rows, sketch.weight)
        held = RowLog(layers=(exact,), total_weight=exact.total_weight)
    hold_rows(estimator, held, recipe, sketch.cap.seed)
    _ = estimator.cluster_centers_  # now, so that errors are raised here


def _label_source(estimator: HierarchicalKMedian, source: Source) -> Iterator[NDArray[np.int32]]:
    known = locate_clusters(estimator)
    return (label_chunk(chunk, *known) for chunk in source)


def locate_clusters(estimator: HierarchicalKMedian) -> tuple[Locator, tuple[str, ...] | None]:
    """Return what finds the clusters of this cut, without the rest of the hierarchy; and column names."""
    k, names = estimator.cluster_centers_.shape[0], getattr(estimator, "feature_names_in_", None)
    locator = estimator.hierarchy_.down_to(k).locator.first(k)
    return locator, None if names is None else tuple(map(str, names))


def label_chunk(chunk: Chunk, locator: Locator, names: tuple[str, ...] | None) -> NDArray[np.int32]:
    """Label rows, if they have the columns of the fit."""
    expected = got = ""
    if chunk.rows.shape[1] != locator.n_features:
        expected, got = f"{locator.n_features} columns", f"{chunk.rows.shape[1]}"
    elif names is not None and chunk.names is not None and chunk.names != names:
        expected, got = f"the columns {list(names)}", f"{list(chunk.names)}"
    if expected:
        raise ValueError(f"{chunk.place}: must have {expected} like the fit; got {got}.")
    return locator.finest(chunk.rows)


def _check_labels(path: str | os.PathLike[str], source: Source) -> None:
    """Check, before any work, that labels can be written there."""
    if not source.again:
        raise TypeError(
            "Labels need a second pass, and an iterator gives its chunks once. Give a list, paths "
            "or a function that returns a new iterator each time."
        )
    target = Path(path)
    if target.suffix.lower() not in STREAM_ENDINGS:
        raise ValueError(f"labels must end in one of {', '.join(STREAM_ENDINGS)}; got {target}.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no such folder.")


def write_labels(
    estimator: HierarchicalKMedian, source: Source, path: str | os.PathLike[str], n_rows: int
) -> None:
    """Write the labels of all rows as a stream; the file is there whole, or not at all."""
    import pyarrow as pa

    schema = pa.schema([pa.field("label", pa.int32(), nullable=False)])

    def label() -> Iterator[Any]:
        written = 0
        for labels in _label_source(estimator, source):
            written += labels.size
            yield pa.table([pa.array(labels)], schema=schema)
        if written != n_rows:
            raise ValueError(
                f"The second pass gave {written} rows, the first {n_rows}: the chunks changed in "
                "between. No labels were written."
            )

    write_parts(os.fspath(path), label())
