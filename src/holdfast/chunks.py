"""Data larger than memory: fit and label it chunk by chunk.

One way: `tables` (read in parts) -> `rows` (one sketch) -> the estimator, which builds the hierarchy
once -> labels in a second pass.
"""

from __future__ import annotations  # short names in help()

import os
from collections.abc import Iterable, Iterator
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.hash import seed_from
from holdfast.estimator import HierarchicalKMedian
from holdfast.estimator.updates import hold_rows
from holdfast.parameters import check_choices
from holdfast.rows.capped import MAX_CELLS, Cap, CappedSketch
from holdfast.rows.log import RowLog
from holdfast.rows.sketch import Sketch, whole_weights
from holdfast.tables.chunks import CHUNK_ROWS, Chunk, Source, check_like, open_source
from holdfast.tables.write import STREAM_ENDINGS, write_parts


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
    before = dict(vars(estimator))
    try:
        fit_sketch(estimator, sketch, recipe, first.names)
        if labels is not None:
            write_labels(estimator, source, labels, n_rows)
    except BaseException:
        estimator.__dict__ = before  # nothing half-fitted remains
        raise
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
    if not isinstance(max_cells, Integral) or isinstance(max_cells, bool) or max_cells < 1:
        raise ValueError(f"max_cells must be an integer of at least 1; got {max_cells!r}.")
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
    estimator.table_ = None
    estimator.n_features_in_ = sketch.n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    held: RowLog | CappedSketch = sketch.settle()
    if sketch.exponent is None:
        exact = Sketch(sketch.rows, sketch.weight)
        held = RowLog(layers=(exact,), total_weight=exact.total_weight)
    hold_rows(estimator, held, recipe, sketch.cap.seed)
    _ = estimator.cluster_centers_  # now, so that errors are raised here


def _label_source(estimator: HierarchicalKMedian, source: Source) -> Iterator[NDArray[np.int32]]:
    # Only the centers of this cut: a few kilobytes to search instead of the whole hierarchy.
    k = estimator.cluster_centers_.shape[0]
    locator = estimator.hierarchy_.down_to(k).locator.first(k)
    names = getattr(estimator, "feature_names_in_", None)
    for chunk in source:
        if chunk.rows.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"{chunk.place}: must have {estimator.n_features_in_} columns, as the rows of the "
                f"fit; got {chunk.rows.shape[1]}."
            )
        if names is not None and chunk.names is not None and tuple(names) != chunk.names:
            raise ValueError(
                f"{chunk.place}: must have the columns {list(names)}; got {list(chunk.names)}."
            )
        yield locator.finest(chunk.rows)


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
