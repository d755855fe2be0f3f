"""Partitions -> sketches on the workers -> one merged sketch -> hierarchy."""

from __future__ import annotations  # short names in help()

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dask.delayed import delayed
from sklearn.base import clone

from holdfast._machine.hash import seed_from
from holdfast.chunks import build_cap, fit_sketch, sketch_source
from holdfast.distributed.partitions import delay, list_partitions, read_partition
from holdfast.estimator import HierarchicalKMedian
from holdfast.rows.capped import MAX_CELLS, Cap, CappedSketch
from holdfast.tables.chunks import Chunk, check_like

__all__ = ["fit"]

FAN_IN = 4
"""Number of sketches that one task merges; does not change the result."""


@dataclass(frozen=True)
class PartSketch:
    """Sketch of some partitions, and the columns of the first of them."""

    like: Chunk
    sketch: CappedSketch


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
        delay(sketch_partition, partition, named, recipe, cap, weight) for partition in partitions
    ]
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [delayed(merge_parts, pure=False)(group) for group in groups]
    whole: PartSketch = parts[0].compute()
    before = dict(vars(estimator))
    try:
        fit_sketch(estimator, whole.sketch, recipe, whole.like.names)
    except BaseException:
        estimator.__dict__ = before  # as if nothing had happened
        raise
    return estimator


def sketch_partition(
    place: str,
    rows: Any,
    columns: tuple[str, ...] | None,
    recipe: HierarchicalKMedian,
    cap: Cap,
    sample_weight: str | None = None,
) -> PartSketch:
    """Sketch one partition, on the worker that holds it."""
    chunks = read_partition(place, rows, columns, sample_weight)
    sketch, first = sketch_source(chunks, recipe, cap)
    return PartSketch(first, sketch)


def merge_parts(parts: list[PartSketch]) -> PartSketch:
    """Merge sketches."""
    first, *others = parts
    like, sketch = first.like, first.sketch
    for other in others:
        like = check_like(other.like, like)
        sketch = sketch + other.sketch
    return PartSketch(like, sketch)
