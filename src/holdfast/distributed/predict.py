"""A fitted model and partitions -> lazy labels with the same partitions."""

from __future__ import annotations  # short names in help()

import os
from collections.abc import Iterable
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from holdfast.distributed.partitions import delay, kind_of, list_partitions, read_partition
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy.model import Locator
from holdfast.tables.chunks import Chunk

__all__ = ["predict"]


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
    centers = estimator.hierarchy_.locator.first(estimator.cluster_centers_.shape[0])
    locator = delayed(centers, pure=False, traverse=False)  # once in the graph, not once per block
    names = getattr(estimator, "feature_names_in_", None)
    expected = None if names is None else tuple(str(name) for name in names)
    if kind == "dataframe":
        frame = X if named is None else X[list(named)]
        meta = pd.Series(np.empty(0, dtype=np.int32), name="label", index=frame._meta.index)
        return frame.map_partitions(_label_frame, locator, expected, meta=meta)
    sizes = [_count_rows(path) for path in X] if kind == "paths" else X.chunks[0]
    blocks = [
        da.from_delayed(
            delay(_label_partition, partition, named, locator, expected), (size,), np.int32
        )
        for partition, size in zip(list_partitions(X, named), sizes, strict=True)
    ]
    return da.concatenate(blocks)


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
        _label_chunk(chunk, locator, expected) for chunk in read_partition(place, rows, columns)
    ]
    return np.concatenate(labels) if labels else np.empty(0, dtype=np.int32)


def _label_frame(frame: Any, locator: Locator, expected: tuple[str, ...] | None) -> Any:
    labels = _label_partition("a partition", frame, None, locator, expected)
    return pd.Series(labels, name="label", index=frame.index)


def _label_chunk(
    chunk: Chunk, locator: Locator, expected: tuple[str, ...] | None
) -> NDArray[np.int32]:
    if chunk.rows.shape[1] != locator.n_features:
        raise ValueError(
            f"{chunk.place}: must have {locator.n_features} columns like the rows of the fit; got "
            f"{chunk.rows.shape[1]}."
        )
    if expected is not None and chunk.names is not None and chunk.names != expected:
        raise ValueError(
            f"{chunk.place}: must have the columns {list(expected)}; got {list(chunk.names)}."
        )
    return locator.finest(chunk.rows)
