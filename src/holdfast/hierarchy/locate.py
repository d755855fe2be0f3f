"""Labels of new rows: by the cells of the tree, the nearest means, or a replay of the nested splits.

A replay moves a row to a new center if that center is closer. Splits between means are planes. Early
files store them as pairs of points that are not rows; `rivals` has the points that rows stay with.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast._machine.jit import Floats, Ints, Mask, Words, read_only
from holdfast._machine.work import share_parts
from holdfast.centers import CenterSequence
from holdfast.centers._distance_kernels import (
    COSINE,
    PRECOMPUTED,
    assign_between,
    assign_rows,
    nearest_leaves,
    unit_rows,
)
from holdfast.centers._member_kernels import locate_by_planes
from holdfast.centers.choose import ancestors_among
from holdfast.centers.keyed_table import as_csr, unit_sparse
from holdfast.centers.medoids import METRICS, prepare_rows
from holdfast.grid import Cells, Grid
from holdfast.grid._kernels import find_cells

if TYPE_CHECKING:  # imported only for sparse rows
    from holdfast.centers.sparse_proposals import SparsePlane


_BLOCK = 1 << 14  # rows that a thread processes at a time

Labels = NDArray[np.int32]


def _cut_blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK)]


def label_blocks(n_rows: int, work: Callable[[slice, Labels], object]) -> Labels:
    """Let `work` fill in the labels of blocks of rows, in threads."""
    label, blocks = np.empty(n_rows, dtype=np.int32), _cut_blocks(n_rows)
    share_parts(len(blocks), lambda b: work(blocks[b], label[blocks[b]]))
    return label


@dataclass(frozen=True, eq=False)
class CellLocator:
    """The cells of the centers, in which any row can be looked up."""

    grid: Grid
    coordinates: Words  # (n, n_features): coordinates of the centers in Z-order
    order: Labels  # (n,): number of each of these centers
    cell: NDArray[np.uint8]  # (n,): center t owns rows that agree in every bit >= cell[t]; 64: all
    parent: Labels  # (n,)

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.coordinates.shape[1])

    def first(self, k: int) -> "CellLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        kept = self.order < k
        order, coordinates = self.order[kept], self.coordinates[kept]
        return CellLocator(self.grid, coordinates, order, self.cell[:k], self.parent[:k])

    def contains(self, X: Floats) -> Mask:
        """Whether each row lies in any cell."""
        return self.grid.locate_any(X)[1]

    def finest(self, X: Floats) -> Labels:
        """Find the last center whose cell contains each row; 0 outside all cells."""
        coordinates, inside = self.grid.locate_any(X)
        label = np.zeros(X.shape[0], dtype=np.int32)
        rows, known = coordinates[inside], (self.coordinates, self.order, self.cell, self.parent)
        label[inside] = label_blocks(
            rows.shape[0], lambda some, found: np.copyto(found, find_cells(rows[some], *known))
        )
        return label


def build_cell_locator(centers: CenterSequence, cells: Cells, grid: Grid) -> CellLocator:
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
    """The means of the clusters of all levels; a row belongs to the leaf of smallest score."""

    # (n_clusters, n_features): means of the clusters of all levels; directions for the cosine
    # distance
    points: Floats
    path: Labels  # (n_leaves, n_levels): the clusters on the way to each leaf
    scale: Floats  # (n_clusters,): a score is the sum over the path of distance times scale
    label: Labels  # (n_leaves,): label of each leaf
    parent: Labels  # (n_labels,): the label that each label was split from
    metric: int  # for the cosine distance, rows are scaled to length 1
    exponent: int  # rows are multiplied by ``2**exponent``

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    def first(self, k: int) -> "MeansLocator":
        """Keep the first k labels: the locator of a hierarchy that stops there."""
        ancestors = ancestors_among(self.parent, k)
        return replace(self, label=ancestors[self.label], parent=self.parent[:k])

    def finest(self, X: NDArray[np.floating]) -> Labels:
        """Find the label of the leaf with the smallest score for each row."""
        rows = read_only(unit_rows(X) if self.metric == COSINE else X)
        factor, columns = math.ldexp(1.0, self.exponent), np.ascontiguousarray(self.points.T)
        return label_blocks(
            rows.shape[0],
            lambda some, label: nearest_leaves(
                rows[some], factor, self.path, columns, self.scale, self.label,
                self.metric == COSINE, label,
            ),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SplitPlane:
    """A split that a row passes, as a plane in the units of the row."""

    split: int  # the cluster that was split off; the row moves into it on the far side of the plane
    row: Floats  # (n_features,): of length 1 for the cosine distance
    point: Floats  # (n_features,)
    normal: Floats  # (n_features,)


class _NestedSplits:
    """Splits sorted by the cluster that they split."""

    parent: Labels
    by_center: ClassVar[tuple[str, ...]]  # the arrays with an entry for each center

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(getattr(self, self.by_center[0]).shape[1])

    def first(self, k: int) -> Self:
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        splits: Any = self
        arrays = {name: getattr(self, name) for name in (*self.by_center, "parent")}
        kept = {name: array[:k] for name, array in arrays.items() if array is not None}
        found: Self = replace(splits, **kept)
        return found

    @cached_property
    def _splits(self) -> tuple[Labels, Labels]:
        """Where the children of each cluster begin, and the children in the order of the splits."""
        children = np.argsort(self.parent[1:], kind="stable").astype(np.int32) + np.int32(1)
        counts = np.bincount(self.parent[1:], minlength=self.parent.size)
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int32), children


class _PlanarSplits(_NestedSplits):
    """Splits by planes, which can be listed for a row."""

    metric: int

    def boundaries(self: Any, row: Floats, n_clusters: int) -> list[SplitPlane]:
        """List every plane that a row is compared with until ``cut(n_clusters)``."""
        x = unit_rows(row[None, :])[0] if self.metric == COSINE else row
        finest = int(self.finest(row[None, :])[0])
        path = {finest}  # the clusters that the row moves through
        while self.parent[finest] >= 0:
            finest = int(self.parent[finest])
            path.add(finest)
        first_child, children = self._splits
        passed, cluster, c = [], 0, int(first_child[0])
        while c < first_child[cluster + 1]:
            t = int(children[c])
            c += 1
            if t >= n_clusters:
                continue
            passed.append(SplitPlane(t, x, *self.plane(cluster, t)))
            if t in path:
                cluster, c = t, int(first_child[t])
        return passed


@dataclass(frozen=True, eq=False)
class SplitLocator(_PlanarSplits):
    """The centers of a hierarchy and their splits, which can be replayed for any row."""

    centers: Floats  # (n_centers, n_features): in the units of `prepare`
    parent: Labels  # (n_centers,): the cluster that each center splits; -1 for the first
    metric: int
    exponent: int  # rows are multiplied by ``2**-exponent`` (not for the cosine distance)
    # (n_centers, n_features): only from early files of means, where rows stay if these are closer
    rivals: Floats | None = None
    by_center: ClassVar[tuple[str, ...]] = ("centers", "rivals")

    def finest(self, X: Floats) -> Labels:
        """Find the last cluster that each row moves to."""
        rows = prepare_rows(X, self.metric, self.exponent)
        if self.rivals is None:
            return self.replay(rows, np.ones(rows.shape[0]))[0]
        points = self.centers, self.rivals, *self._splits
        return label_blocks(
            rows.shape[0], lambda some, label: assign_between(rows[some], *points, label)
        )

    def plane(self, cluster: int, t: int) -> tuple[Floats, Floats]:
        """Return a point and the normal of the plane by which t was split off a cluster."""
        if METRICS[self.metric] == "manhattan":
            raise ValueError(
                "Boundaries between clusters are not planes under the Manhattan distance, so a "
                "single row cannot be explained."
            )
        unit = 1.0 if self.metric == COSINE else math.ldexp(1.0, self.exponent)
        far = self.centers[t]
        near = self.centers[cluster] if self.rivals is None else self.rivals[t]
        return (near + far) / 2.0 * unit, (far - near) * unit

    def replay(self, rows: Floats, weight: Floats) -> tuple[Labels, Floats]:
        """Labels of prepared rows, and the nested cost after each center.

        The cost after k centers is the final cost of the rows plus what later splits save. Distances
        are rounded to 2^-61 of the largest possible one, so their sums are exact.
        """
        n, k = rows.shape[0], self.centers.shape[0]
        # Prepared coordinates are at most 1, so distances are at most twice the dimension.
        exponent = (2 * rows.shape[1]).bit_length() - 62
        label = np.empty(n, dtype=np.int32)
        blocks = _cut_blocks(n)
        sums = np.zeros((len(blocks), k + 1, 2), dtype=np.uint64)
        fixed = self.centers, *self._splits, self.metric, math.ldexp(1.0, exponent)

        def work(b: int) -> None:
            some = blocks[b]
            assign_rows(rows[some], weight[some], *fixed, label[some], sums[b])

        share_parts(len(blocks), work)
        words = sums.astype(object).sum(axis=0)
        totals = words[:, 0] + words[:, 1] * (1 << 64)
        units = np.cumsum(np.concatenate((totals[-1:], totals[k - 1 : 0 : -1])))[::-1]
        return label, np.ldexp(units.astype(np.float64), exponent)


@dataclass(frozen=True, eq=False)
class PlaneLocator(_PlanarSplits):
    """The planes that split clusters, replayed for any row with the arithmetic of the fit."""

    # (n_centers, n_features): row x moves into cluster t if the inner product of
    # ``x - points[t]`` and ``normals[t]`` is positive; entry 0 is not used
    points: Floats
    normals: Floats  # (n_centers, n_features)
    parent: Labels  # (n_centers,): the cluster that each center splits; -1 for the first
    metric: int  # for the cosine distance, rows are scaled to length 1
    exponent: int  # rows are multiplied by ``2**exponent``
    by_center: ClassVar[tuple[str, ...]] = ("points", "normals")

    def finest(self, X: NDArray[np.floating]) -> Labels:
        """Find the last cluster that each row moves to."""
        rows = read_only(unit_rows(X) if self.metric == COSINE else X)
        factor, splits = math.ldexp(1.0, self.exponent), (self.points, self.normals, *self._splits)
        return label_blocks(
            rows.shape[0],
            lambda some, label: locate_by_planes(
                rows[some], factor, *splits, np.empty(rows.shape[1]), label
            ),
        )

    def plane(self, cluster: int, t: int) -> tuple[Floats, Floats]:
        """Return a point and the normal of the plane by which t was split off a cluster."""
        return self.points[t] * math.ldexp(1.0, -self.exponent), self.normals[t]


@dataclass(frozen=True, eq=False)
class SparsePlaneLocator(_NestedSplits):
    """The planes that split clusters of sparse rows, replayed with the arithmetic of the fit."""

    normals: csr_array  # (n_centers, n_features)
    offsets: Floats  # (n_centers,): rows with a larger product move; entry 0 is not used
    parent: Labels  # (n_centers,)
    metric: int  # for the cosine distance, rows are scaled to length 1
    exponent: int  # rows are multiplied by ``2**exponent``
    sparse: ClassVar[bool] = True  # takes sparse rows as they are
    by_center: ClassVar[tuple[str, ...]] = ("normals", "offsets")

    def finest(self, X: Any) -> Labels:
        """Find the last cluster that each row moves to; dense rows are made sparse."""
        rows = as_csr(X)
        rows = unit_sparse(rows) if self.metric == COSINE else rows
        return label_blocks(
            rows.shape[0], lambda some, label: self._replay(rows, some.start, label)
        )

    def _replay(self, rows: csr_array, start: int, label: Labels) -> None:
        """Label some rows: each split takes its members out of those of its parent."""
        from holdfast.centers._sparse_kernels import sides_of_rows

        normals, factor = self.normals, math.ldexp(1.0, self.exponent)
        arrays = read_only(rows.indptr), read_only(rows.indices), read_only(rows.data)
        # Columns in which a normal is zero have number 0.
        where = np.zeros(self.n_features, dtype=np.int32)

        def moves(t: int, some: Labels) -> NDArray[np.bool_]:
            used = slice(normals.indptr[t], normals.indptr[t + 1] if some.size else 0)
            side, columns = np.zeros(some.size, dtype=np.bool_), normals.indices[used]
            where[columns] = np.arange(1, columns.size + 1, dtype=np.int32)
            normal = read_only(np.append(0.0, normals.data[used]))
            offset, rows = float(self.offsets[t]), some + np.int32(start)
            sides_of_rows(*arrays, factor, where, rows, normal, offset, side)
            where[columns] = 0
            return side

        _pass_down(self.parent, moves, label)


def _pass_down(
    parent: Labels, moves: Callable[[int, Labels], NDArray[np.bool_]], label: Labels
) -> None:
    """Label rows: each split takes the members that move out of those of its parent."""
    members = [np.arange(label.size, dtype=np.int32)]
    for t in range(1, parent.size):
        some = members[parent[t]]
        moved = moves(t, some)
        members.append(some[moved])
        members[parent[t]] = some[~moved]
    for t, some in enumerate(members):
        label[some] = t


def build_sparse_locator(
    planes: "Sequence[SparsePlane]", parent: Labels, n_features: int, metric: int, exponent: int
) -> SparsePlaneLocator:
    """Collect the planes of a fit."""
    starts = np.append(0, np.cumsum([plane.columns.size for plane in planes], dtype=np.int64))
    columns = np.concatenate([plane.columns for plane in planes])
    values = np.concatenate([plane.normal for plane in planes])
    normals = csr_array((values, columns, starts), shape=(len(planes), n_features))
    offsets = np.array([plane.offset for plane in planes])
    return SparsePlaneLocator(normals, offsets, parent, metric, exponent)


@dataclass(frozen=True, eq=False)
class DistanceLocator:
    """The splits of a hierarchy of precomputed distances."""

    columns: Ints  # (n_centers,): the column, which is the row, of each center
    parent: Labels  # (n_centers,): the cluster that each center splits; -1 for the first
    n_features: int  # number of rows of the fit
    exponent: int  # distances are multiplied by ``2**-exponent``
    metric: int = PRECOMPUTED  # that of the model; its parameter may have been changed since

    def first(self, k: int) -> "DistanceLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        return replace(self, columns=self.columns[:k], parent=self.parent[:k])

    def among(self, numbers: Ints, n_features: int) -> "DistanceLocator":
        """Do the same where the rows of the fit have these numbers among more rows."""
        return replace(self, columns=numbers[self.columns], n_features=n_features)

    def finest(self, X: Floats) -> Labels:
        """Find the last cluster that each row moves to."""
        return self._move(np.ldexp(X[:, self.columns], -self.exponent))[0]

    def replay(self, rows: Floats, weight: Floats) -> tuple[Labels, Floats]:
        """Labels of prepared rows, and the nested cost after each center, as in `SplitLocator`."""
        label, moves = self._move(rows[:, self.columns])
        k, count = self.parent.size, weight.astype(np.int64).astype(object)
        units = _to_units(rows[np.arange(label.size), self.columns[label]])
        totals = [int((count * units).sum()), *(0 for _ in range(k - 1))]
        for t, (moved, before, after) in enumerate(moves, start=1):
            totals[t] = int((count[moved] * (_to_units(before) - _to_units(after))).sum())
        costs = np.cumsum(np.array([totals[0], *totals[:0:-1]], dtype=object))[::-1]
        return label, np.ldexp(costs.astype(np.float64), -61)

    def _move(self, distances: Floats) -> tuple[Labels, list[Any]]:
        """Labels; and for each split the rows that move, their distances before and after."""
        moves: list[Any] = []

        def move(t: int, here: Labels) -> NDArray[np.bool_]:
            before, after = distances[here, self.parent[t]], distances[here, t]
            moved: NDArray[np.bool_] = after < before
            moves.append((here[moved], before[moved], after[moved]))
            return moved

        label = np.empty(distances.shape[0], dtype=np.int32)
        _pass_down(self.parent, move, label)
        return label, moves


def _to_units(distance: Floats) -> NDArray[Any]:
    """Distances of at most 1 in units of 2^-61, as integers; at least one unit if not 0."""
    units = np.floor(np.ldexp(distance, 61) + 0.5)
    return np.where(distance > 0.0, np.maximum(units, 1.0), 0.0).astype(np.int64).astype(object)
