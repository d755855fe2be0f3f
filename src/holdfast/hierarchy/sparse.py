"""Sparse rows: their clusters by planes, and their distances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast._machine.jit import read_only
from holdfast._machine.parallel import share_parts
from holdfast.centers._distance_kernels import COSINE
from holdfast.centers._sparse_kernels import distances_of_rows, sides_of_rows
from holdfast.centers.keyed_table import as_csr, unit_sparse
from holdfast.centers.medoids import METRICS
from holdfast.centers.sparse_proposals import SparsePlane

__all__ = ["SparsePlaneLocator", "build_sparse_locator", "sparse_distances"]

_BLOCK = 1 << 14  # rows that a thread processes at a time


@dataclass(frozen=True, eq=False)
class SparsePlaneLocator:
    """The planes that split clusters of sparse rows, replayed with the arithmetic of the fit.

    Attributes
    ----------
    normals : csr_array of shape (n_centers, n_features), dtype float64
    offsets : ndarray of shape (n_centers,), dtype float64
        A row moves into cluster t if its inner product with ``normals[t]`` is larger than
        ``offsets[t]``. Entry 0 is not used.
    parent : ndarray of shape (n_centers,), dtype int32
    metric : int
        For the cosine distance, rows are scaled to length 1.
    exponent : int
        Rows are multiplied by ``2**exponent``.
    """

    normals: csr_array
    offsets: NDArray[np.float64]
    parent: NDArray[np.int32]
    metric: int
    exponent: int
    sparse: ClassVar[bool] = True  # takes sparse rows as they are

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.normals.shape[1])

    def first(self, k: int) -> "SparsePlaneLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        kept = self.normals[:k], self.offsets[:k], self.parent[:k]
        return SparsePlaneLocator(*kept, self.metric, self.exponent)

    def finest(self, X: Any) -> NDArray[np.int32]:
        """Find the last cluster that each row moves to; dense rows are made sparse."""
        rows = as_csr(X)
        rows = unit_sparse(rows) if self.metric == COSINE else rows
        label = np.empty(rows.shape[0], dtype=np.int32)
        starts = range(0, rows.shape[0], _BLOCK)
        share_parts(
            len(starts),
            lambda b: self._replay(rows, starts[b], label[starts[b] : starts[b] + _BLOCK]),
        )
        return label

    def _replay(self, rows: csr_array, start: int, label: NDArray[np.int32]) -> None:
        """Label some rows: each split takes its members out of those of its parent."""
        normals, factor = self.normals, math.ldexp(1.0, self.exponent)
        arrays = read_only(rows.indptr), read_only(rows.indices), read_only(rows.data)
        # Columns in which a normal is zero have number 0.
        where = np.zeros(self.n_features, dtype=np.int32)
        members = [np.arange(start, start + label.size, dtype=np.int32)]
        for t in range(1, self.parent.size):
            some = members[self.parent[t]]
            used = slice(normals.indptr[t], normals.indptr[t + 1])
            side = np.zeros(some.size, dtype=np.bool_)
            if some.size:
                columns = normals.indices[used]
                where[columns] = np.arange(1, columns.size + 1, dtype=np.int32)
                normal = read_only(np.append(0.0, normals.data[used]))
                offset = float(self.offsets[t])
                sides_of_rows(*arrays, factor, where, some, normal, offset, side)
                where[columns] = 0
            members.append(some[side])
            members[self.parent[t]] = some[~side]
        for t, some in enumerate(members):
            label[some - start] = t


def build_sparse_locator(
    planes: Sequence[SparsePlane],
    parent: NDArray[np.int32],
    n_features: int,
    metric: int,
    exponent: int,
) -> SparsePlaneLocator:
    """Collect the planes of a fit."""
    starts = np.append(0, np.cumsum([plane.columns.size for plane in planes], dtype=np.int64))
    columns = np.concatenate([plane.columns for plane in planes])
    values = np.concatenate([plane.normal for plane in planes])
    normals = csr_array((values, columns, starts), shape=(len(planes), n_features))
    offsets = np.array([plane.offset for plane in planes])
    return SparsePlaneLocator(normals, offsets, parent, metric, exponent)


def sparse_distances(rows: Any, centers: Any, metric: str) -> NDArray[np.float64]:
    """Distances of rows to centers, at least one of which are sparse; shape (n, k)."""
    ends = [as_csr(rows), as_csr(centers)]
    if metric == "cosine":
        ends = [unit_sparse(end) for end in ends]
    arrays = [read_only(array) for end in ends for array in (end.indptr, end.indices, end.data)]
    distances = np.empty((ends[0].shape[0], ends[1].shape[0]))
    distances_of_rows(*arrays, METRICS.index(metric), distances)
    return distances
