"""Dask collections and lists of Parquet paths -> partitions, one task each."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dask.delayed import Delayed, delayed

from holdfast.tables.chunks import CHUNK_ROWS, Chunk, Source, check_finite, check_like

__all__ = ["Partition", "delay", "kind_of", "list_partitions", "read_partition"]


@dataclass(frozen=True)
class Partition:
    """A partition and its name in messages.

    Attributes
    ----------
    place : str
    rows : Delayed or str
        A task that returns an array or a table, or the path of a Parquet file.
    """

    place: str
    rows: Delayed | str


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
    """List the partitions in the order of the rows, without reading them.

    `sample_weight` is the name of a column or, for an array, another array. Each task then returns a
    pair of rows and weights.
    """
    kind = kind_of(X)
    if sample_weight is not None and isinstance(sample_weight, str) == (kind == "array"):
        expected = "a dask.array" if kind == "array" else "the name of a column"
        raise TypeError(
            f"sample_weight must be {expected} for this X; got {type(sample_weight).__name__}."
        )
    if kind == "paths":
        return [Partition(os.fspath(path), os.fspath(path)) for path in X]
    if kind == "array":
        tasks = X.rechunk({1: -1}).to_delayed().ravel().tolist()
        if sample_weight is not None:
            tasks = _pair_with_weights(X, tasks, sample_weight)
    else:
        wanted = (
            None if columns is None else [*columns, *([sample_weight] if sample_weight else [])]
        )
        tasks = (X if wanted is None else X[wanted]).to_delayed()
    return [Partition(f"partition {i}", task) for i, task in enumerate(tasks)]


def _pair_with_weights(X: Any, tasks: list[Delayed], weight: Any) -> list[Delayed]:
    if not hasattr(weight, "rechunk") or weight.shape != X.shape[:1]:
        raise ValueError(
            f"sample_weight must be a dask.array of shape ({X.shape[0]},), one weight per row; got "
            f"{type(weight).__name__} of shape {getattr(weight, 'shape', None)}."
        )
    weights = weight.rechunk((X.chunks[0],)).to_delayed().ravel().tolist()
    return [delayed(pair)(*both) for both in zip(tasks, weights, strict=True)]


def pair(rows: Any, weight: Any) -> tuple[Any, Any]:
    """Put rows and their weights together, where both lie."""
    return rows, weight


def read_partition(
    place: str,
    rows: Any,
    columns: tuple[str, ...] | None,
    sample_weight: str | None = None,
) -> Iterator[Chunk]:
    """Chunks of a partition, where it lies: a path is read in parts."""
    first: Chunk | None = None
    source = Source(lambda: [rows], True, columns, CHUNK_ROWS, sample_weight)
    for chunk in source.split(place, rows):
        first = check_like(chunk, first)
        check_finite(chunk)
        yield chunk


def delay(function: Callable[..., Any], partition: Partition, *arguments: Any) -> Delayed:
    """Call a function on a partition lazily."""
    task: Delayed = delayed(function, pure=False)(partition.place, partition.rows, *arguments)
    return task
