"""Chunks -> one capped sketch -> hierarchy -> labels, chunk by chunk."""

import os
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from holdfast._machine.hash import seed_from
from holdfast.chunks.label import check_labels_path, write_labels
from holdfast.estimator import HierarchicalKMedian
from holdfast.parameters import check_choices
from holdfast.rows.capped import MAX_CELLS, Cap, CappedSketch
from holdfast.rows.log import RowLog
from holdfast.rows.sketch import Sketch
from holdfast.tables.chunks import CHUNK_ROWS, Chunk, check_like, open_source
from holdfast.updates import hold_rows

__all__ = ["build_cap", "fit_chunks", "fit_sketch", "sketch_source"]


def fit_chunks(
    estimator: HierarchicalKMedian,
    batches: Any,
    *,
    columns: Iterable[str] | None = None,
    max_cells: int = MAX_CELLS,
    labels: str | os.PathLike[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> HierarchicalKMedian:
    """Fit rows that need not fit into memory, one chunk at a time.

    The result is that of :meth:`HierarchicalKMedian.fit` on the distinct rows with their counts,
    bit for bit, whatever the chunks and their order. Where there are more than `max_cells` distinct
    rows, cells of the seeded grid stand for them: the smallest side at which there are at most
    `max_cells`, which depends on all rows but not on how they came; see docs/changing_data.md.

    Parameters
    ----------
    estimator : HierarchicalKMedian
        Is fitted. What fails leaves it as it was.
    batches : list of chunks, path, or callable
        A chunk is an array, a pandas, polars or pyarrow table, a pyarrow record batch, or the path
        of a Parquet, CSV or Arrow file, which is read in parts. A function without arguments
        returns an iterator over chunks. An iterator can be given where no labels are asked for.
    columns : iterable of str, default=None
        Which columns of tables and files count; all by default.
    max_cells : int, default=2097152
        At most so many distinct rows or cells are clustered.
    labels : str or path-like, default=None
        Write the labels of all rows there in a second pass: one column ``label`` in the order of
        the rows, as Parquet, CSV or Arrow by the name's ending; whole or not at all.
    chunk_rows : int, default=1048576
        Rows that are worked on at a time. Changes memory, never the result.

    Returns
    -------
    HierarchicalKMedian
        `estimator`. `labels_` and `center_indices_` speak of its `rows_`.
    """
    source = open_source(batches, columns, chunk_rows)
    if labels is not None and not source.again:
        raise TypeError(
            "Labels need a second pass, and an iterator gives its chunks once. Give a list, paths "
            "or a function that returns a new iterator each time."
        )
    if labels is not None:
        check_labels_path(labels)
    recipe = clone(estimator)
    seed = seed_from(estimator.random_state)
    sketch, first = sketch_source(source, recipe, build_cap(seed, max_cells))
    before = dict(vars(estimator))
    try:
        fit_sketch(estimator, sketch, recipe, first.names)
        if labels is not None:
            write_labels(estimator, source, labels, sketch.total_weight)
    except BaseException:
        estimator.__dict__ = before  # nothing half-fitted remains
        raise
    return estimator


def build_cap(seed: int, max_cells: int) -> Cap:
    """Check the cap of sketches."""
    if not isinstance(max_cells, Integral) or isinstance(max_cells, bool) or max_cells < 1:
        raise ValueError(f"max_cells must be an integer of at least 1; got {max_cells!r}.")
    return Cap(int(max_cells), seed)


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
    estimator.n_features_in_ = sketch.n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    held: RowLog | CappedSketch = sketch.settle()
    if sketch.exponent is None:
        exact = Sketch(sketch.rows, sketch.weight)
        held = RowLog(layers=(exact,), total_weight=exact.total_weight)
    hold_rows(estimator, held, recipe, sketch.cap.seed)
    _ = estimator.cluster_centers_  # now, so that what is wrong is found here


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
        except ValueError as error:
            raise ValueError(f"{chunk.place}: {error}") from None
        sketch = sketch.add_rows(chunk.rows, np.ones(chunk.rows.shape[0], dtype=np.int64))
    if first is None or sketch is None:
        raise ValueError("There are no chunks to fit.")
    return sketch, replace(first, rows=first.rows[:1].copy())
