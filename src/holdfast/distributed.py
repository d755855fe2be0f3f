"""More than one machine: fit and label on a Dask cluster. The only room that imports Dask.

A fit sketches partitions on the workers, merges the sketches and builds the hierarchy once. Labels are
lazy. Install Dask with ``pip install 'holdfast[dask]'``.
"""

from __future__ import annotations  # short names in help()

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.hash import seed_from
from holdfast.chunks import (
    CHUNK_ROWS,
    Chunk,
    Source,
    build_cap,
    check_like,
    fit_sketch,
    label_chunk,
    locate_clusters,
    sketch_source,
)
from holdfast.estimator import HierarchicalKMedian
from holdfast.estimator.updates import undo_on_error
from holdfast.hierarchy.model import Locator
from holdfast.rows.log import MAX_CELLS, Cap, CappedSketch

try:
    import dask.array as da
    import pandas as pd
    from dask.delayed import Delayed, delayed
except ImportError as error:
    raise ImportError(
        "holdfast.distributed needs Dask, which is not installed. Install it with "
        "pip install 'holdfast[dask]'."
    ) from error

__all__ = ["fit", "predict"]

FAN_IN = 4
"""Number of sketches that one task merges; does not change the result."""


def fit(
    estimator: HierarchicalKMedian,
    X: Any,
    *,
    columns: Iterable[str] | None = None,
    sample_weight: Any = None,
    max_cells: int = MAX_CELLS,
) -> HierarchicalKMedian:
    """Fit on the active Dask cluster, or with the threads of Dask if there is none.

    Workers sketch their partitions, a tree of tasks merges the sketches, and the driver builds the
    hierarchy once. The result equals a local fit on the distinct rows with their counts, bit for
    bit, for any partitions and any number of workers, even if workers die.

    Parameters
    ----------
    estimator : HierarchicalKMedian
        The estimator to fit. After an error, it is unchanged.
    X : dask.array.Array, dask.dataframe.DataFrame or list of paths
        Paths of Parquet files must be readable by all workers.
    columns : iterable of str, default=None
        The columns of a dataframe or of files to use. None uses all columns.
    sample_weight : str or dask.array.Array of shape (n_rows,), default=None
        How often each row counts, as integers of at least 0. For a dataframe or files, the name of
        a column; for an array, another array.
    max_cells : int, default=2097152
        The maximum number of distinct rows that are moved and clustered; see
        :func:`holdfast.fit_chunks`.

    Returns
    -------
    HierarchicalKMedian
        `estimator`. Its `labels_` and `center_indices_` refer to its `rows_`.
    """
    named = None if columns is None else tuple(columns)
    recipe = clone(estimator)
    cap = build_cap(seed_from(estimator.random_state), max_cells)
    partitions = list_partitions(X, named, sample_weight)
    weight = sample_weight if isinstance(sample_weight, str) else None
    parts = [
        delayed(sketch_partition, pure=False)(*partition, named, recipe, cap, weight)
        for partition in partitions
    ]
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [delayed(merge_parts, pure=False)(group) for group in groups]
    sketch, like = parts[0].compute()
    with undo_on_error(estimator):
        fit_sketch(estimator, sketch, recipe, like.names)
    return estimator


def predict(estimator: HierarchicalKMedian, X: Any, *, columns: Iterable[str] | None = None) -> Any:
    """Predict the labels of rows lazily.

    Nothing is computed until the labels are. Only the centers of the clusters are sent to the
    workers.

    Parameters
    ----------
    estimator : HierarchicalKMedian
        A fitted estimator.
    X : dask.array.Array, dask.dataframe.DataFrame or list of paths
    columns : iterable of str, default=None
        The columns of a dataframe or of files to use. None uses all columns.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        Labels as int32, with the partitions of `X`. A dataframe gives a series named ``label`` with
        its index. Anything else gives an array; for paths, it has one chunk per file.
    """
    check_is_fitted(estimator)
    kind = kind_of(X)
    named = None if columns is None else tuple(columns)
    centers, expected = locate_clusters(estimator)
    locator = delayed(centers, pure=False, traverse=False)  # once in the graph, not once per block
    if kind == "dataframe":
        frame = X if named is None else X[list(named)]
        meta = pd.Series(np.empty(0, dtype=np.int32), name="label", index=frame._meta.index)
        return frame.map_partitions(_label_frame, locator, expected, meta=meta)
    sizes = [_count_rows(path) for path in X] if kind == "paths" else X.chunks[0]
    label = delayed(_label_partition, pure=False)
    blocks = [
        da.from_delayed(label(*partition, named, locator, expected), (size,), np.int32)
        for partition, size in zip(list_partitions(X, named), sizes, strict=True)
    ]
    return da.concatenate(blocks)


PartSketch = tuple[CappedSketch, Chunk]
"""Sketch of some partitions, and a chunk that has the columns of the first of them."""


def sketch_partition(
    place: str,
    rows: Any,
    columns: tuple[str, ...] | None,
    recipe: HierarchicalKMedian,
    cap: Cap,
    sample_weight: str | None = None,
) -> PartSketch:
    """Sketch one partition, on the worker that holds it."""
    return sketch_source(read_partition(place, rows, columns, sample_weight), recipe, cap)


def merge_parts(parts: list[PartSketch]) -> PartSketch:
    """Merge sketches."""
    whole, like = parts[0]
    for sketch, chunk in parts[1:]:
        like = check_like(chunk, like)
        whole = whole + sketch
    return whole, like


def _count_rows(path: str | os.PathLike[str]) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _label_partition(
    place: str,
    rows: Any,
    columns: tuple[str, ...] | None,
    locator: Locator,
    expected: tuple[str, ...] | None,
) -> NDArray[np.int32]:
    labels = [
        label_chunk(chunk, locator, expected) for chunk in read_partition(place, rows, columns)
    ]
    return np.concatenate(labels) if labels else np.empty(0, dtype=np.int32)


def _label_frame(frame: Any, locator: Locator, expected: tuple[str, ...] | None) -> Any:
    labels = _label_partition("a partition", frame, None, locator, expected)
    return pd.Series(labels, name="label", index=frame.index)


Partition = tuple[str, Any]
"""Its name in messages; and a task that returns an array or a table, or a path."""


def kind_of(X: Any) -> str:
    """Return "array", "dataframe" or "paths"."""
    if hasattr(X, "dask") and hasattr(X, "chunks"):
        if X.ndim != 2:
            raise ValueError(f"X must have 2 dimensions, rows and columns; got {X.ndim}.")
        return "array"
    if hasattr(X, "dask") and hasattr(X, "partitions") and hasattr(X, "columns"):
        return "dataframe"
    if isinstance(X, list | tuple) and X and all(isinstance(p, str | os.PathLike) for p in X):
        return "paths"
    raise TypeError(
        "X must be a dask.array, a dask.dataframe or a list of paths of Parquet files; got "
        f"{type(X).__name__}. Use fit for rows in memory, and fit_chunks for other chunks."
    )


def list_partitions(
    X: Any, columns: Iterable[str] | None, sample_weight: Any = None
) -> list[Partition]:
    """List the partitions, unread; with weights of an array, tasks return rows and weights."""
    kind = kind_of(X)
    if sample_weight is not None and isinstance(sample_weight, str) == (kind == "array"):
        expected = "a dask.array" if kind == "array" else "the name of a column"
        raise TypeError(
            f"sample_weight must be {expected} for this X; got {type(sample_weight).__name__}."
        )
    if kind == "paths":
        return [(os.fspath(path), os.fspath(path)) for path in X]
    if kind == "array":
        tasks = X.rechunk({1: -1}).to_delayed().ravel().tolist()
        if sample_weight is not None:
            tasks = _pair_with_weights(X, tasks, sample_weight)
    else:
        weights = [sample_weight] if sample_weight else []
        tasks = (X if columns is None else X[[*columns, *weights]]).to_delayed()
    return [(f"partition {i}", task) for i, task in enumerate(tasks)]


def _pair_with_weights(X: Any, tasks: list[Delayed], weight: Any) -> list[Delayed]:
    if not hasattr(weight, "rechunk") or weight.shape != X.shape[:1]:
        raise ValueError(
            f"sample_weight must be a dask.array of shape ({X.shape[0]},), one weight per row; got "
            f"{type(weight).__name__} of shape {getattr(weight, 'shape', None)}."
        )
    weights = weight.rechunk((X.chunks[0],)).to_delayed().ravel().tolist()
    return [delayed(both) for both in zip(tasks, weights, strict=True)]


def read_partition(
    place: str, rows: Any, columns: tuple[str, ...] | None, sample_weight: str | None = None
) -> Iterator[Chunk]:
    """Chunks of a partition, where it lies: a path is read in parts."""
    return iter(Source(lambda: [rows], True, columns, CHUNK_ROWS, sample_weight, place))
