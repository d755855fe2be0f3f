"""Labels of new rows: by the cells of the tree, by the nearest means, by the planes of sparse rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast._machine.jit import read_only
from holdfast._machine.parallel import share_parts, share_rows
from holdfast.centers import CenterSequence
from holdfast.centers._distance_kernels import COSINE, unit_rows
from holdfast.centers.choose import ancestors_among
from holdfast.centers.keyed_table import as_csr, unit_sparse
from holdfast.grid import Cells, Grid
from holdfast.hierarchy._kernels import find_cells, nearest_leaves

if TYPE_CHECKING:  # imported only for sparse rows
    from holdfast.centers.sparse_proposals import SparsePlane

__all__ = ["CellLocator", "MeansLocator", "SparsePlaneLocator", "build_locator"]
__all__ += ["build_sparse_locator"]

_BLOCK = 1 << 14  # rows that a thread processes at a time


@dataclass(frozen=True, eq=False)
class CellLocator:
    """The cells of the centers, in which any row can be looked up.

    Attributes
    ----------
    grid : Grid
    coordinates : ndarray of shape (n, n_features), dtype uint64
        Coordinates of the centers in Z-order.
    order : ndarray of shape (n,), dtype int32
        Number of each of these centers.
    cell : ndarray of shape (n,), dtype uint8
        Center t owns the rows that agree with it in every bit >= cell[t]; 64 means all space.
    parent : ndarray of shape (n,), dtype int32
    """

    grid: Grid
    coordinates: NDArray[np.uint64]
    order: NDArray[np.int32]
    cell: NDArray[np.uint8]
    parent: NDArray[np.int32]

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.coordinates.shape[1])

    def first(self, k: int) -> "CellLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        kept = self.order < k
        order, coordinates = self.order[kept], self.coordinates[kept]
        return CellLocator(self.grid, coordinates, order, self.cell[:k], self.parent[:k])

    def contains(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each row lies in any cell."""
        return self.grid.locate_any(X)[1]

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the last center whose cell contains each row; 0 outside all cells."""
        coordinates, inside = self.grid.locate_any(X)
        label = np.zeros(X.shape[0], dtype=np.int32)
        rows = coordinates[inside]
        found = np.empty(rows.shape[0], dtype=np.int32)

        def find(part: slice) -> None:
            found[part] = find_cells(
                rows[part], self.coordinates, self.order, self.cell, self.parent
            )

        share_rows(rows.shape[0], find)
        label[inside] = found
        return label


def build_locator(centers: CenterSequence, cells: Cells, grid: Grid) -> CellLocator:
    """Sort the centers in Z-order, which is the order of the leaves."""
    if centers.leaf.size == cells.start.size - 1:
        order = np.empty_like(centers.leaf)
        order[centers.leaf] = np.arange(order.size, dtype=np.int32)
        coordinates = cells.coordinates
    else:
        order = np.argsort(centers.leaf).astype(np.int32)
        coordinates = cells.locate(centers.leaf[order])
    return CellLocator(grid, coordinates, order, centers.cell, read_only(centers.parent))


@dataclass(frozen=True, eq=False)
class MeansLocator:
    """The means of the clusters of all levels. A row belongs to the leaf with the smallest score.

    Attributes
    ----------
    points : ndarray of shape (n_clusters, n_features), dtype float64
        Means of the clusters of all levels; directions for the cosine distance.
    path : ndarray of shape (n_leaves, n_levels), dtype int32
        The clusters on the way from the coarsest level to each leaf.
    scale : ndarray of shape (n_clusters,), dtype float64
        The score of a leaf is the sum over its path of distance times scale.
    label : ndarray of shape (n_leaves,), dtype int32
        Label of each leaf.
    parent : ndarray of shape (n_labels,), dtype int32
        The label that each label was split from.
    metric : int
        For the cosine distance, rows are scaled to length 1.
    exponent : int
        Rows are multiplied by ``2**exponent``.
    """

    points: NDArray[np.float64]
    path: NDArray[np.int32]
    scale: NDArray[np.float64]
    label: NDArray[np.int32]
    parent: NDArray[np.int32]
    metric: int
    exponent: int

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    def first(self, k: int) -> "MeansLocator":
        """Keep the first k labels: the locator of a hierarchy that stops there."""
        ancestors = ancestors_among(self.parent, k)
        return replace(self, label=ancestors[self.label], parent=self.parent[:k])

    def finest(self, X: NDArray[np.floating]) -> NDArray[np.int32]:
        """Find the label of the leaf with the smallest score for each row."""
        rows = read_only(unit_rows(X) if self.metric == COSINE else X)
        found = np.empty(rows.shape[0], dtype=np.int32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, rows.shape[0], _BLOCK)]
        factor, columns = math.ldexp(1.0, self.exponent), np.ascontiguousarray(self.points.T)
        share_parts(
            len(blocks),
            lambda b: nearest_leaves(
                rows[blocks[b]], factor, self.path, columns, self.scale, self.label,
                self.metric == COSINE, found[blocks[b]],
            ),
        )  # fmt: skip
        return found


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
        from holdfast.centers._sparse_kernels import sides_of_rows

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
    planes: "Sequence[SparsePlane]",
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
