"""Labels by replaying nested splits: a row moves to a new center if that center is closer.

Splits between means are planes. Early files store them as pairs of points that are not rows;
`rivals` has the points that rows stay with.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast._machine.parallel import share_parts
from holdfast.centers._distance_kernels import (
    COSINE,
    PRECOMPUTED,
    assign_between,
    assign_rows,
    unit_rows,
)
from holdfast.centers._member_kernels import locate_by_planes
from holdfast.centers.medoids import METRICS, prepare_rows

__all__ = [
    "DistanceLocator",
    "PlaneLocator",
    "SplitLocator",
    "SplitPlane",
    "build_plane_locator",
    "build_split_locator",
]

_BLOCK = 1 << 14  # rows that a thread processes at a time


@dataclass(frozen=True, eq=False)
class SplitPlane:
    """A split that a row passes, as a plane in the units of the row.

    Attributes
    ----------
    split : int
        The cluster that was split off; the row moves into it on the far side of the plane.
    row, point, normal : ndarray of shape (n_features,), dtype float64
        The row (of length 1 for the cosine distance), a point of the plane, and the direction to
        its far side.
    """

    split: int
    row: NDArray[np.float64]
    point: NDArray[np.float64]
    normal: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SplitLocator:
    """The centers of a hierarchy and their splits, which can be replayed for any row.

    Attributes
    ----------
    centers : ndarray of shape (n_centers, n_features), dtype float64
        In the units of `prepare`.
    first_child : ndarray of shape (n_centers + 1,), dtype int32
    children : ndarray of shape (n_centers - 1,), dtype int32
        ``children[first_child[t]:first_child[t + 1]]`` were split from cluster t, in this order.
    metric : int
    exponent : int
        Rows are multiplied by ``2**-exponent`` (not for the cosine distance).
    rivals : ndarray of shape (n_centers, n_features), dtype float64, or None
        Only from early files of means: a row moves into cluster t if it is closer to
        ``centers[t]``, which is then a mean, than to ``rivals[t]``. If None, the row moves if it is
        closer than to the center of its cluster.
    """

    centers: NDArray[np.float64]
    first_child: NDArray[np.int32]
    children: NDArray[np.int32]
    metric: int
    exponent: int
    rivals: NDArray[np.float64] | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.centers.shape[1])

    def first(self, k: int) -> "SplitLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        parent = _parents(self.first_child, self.children)
        rivals = None if self.rivals is None else self.rivals[:k]
        return build_split_locator(self.centers[:k], parent[:k], self.metric, self.exponent, rivals)

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the last cluster that each row moves to."""
        rows = prepare_rows(X, self.metric, self.exponent)
        return self.replay(rows, np.ones(rows.shape[0]))[0]

    def boundaries(self, row: NDArray[np.float64], n_clusters: int) -> list[SplitPlane]:
        """List the splits that a row passes until ``cut(n_clusters)``, as planes."""
        if METRICS[self.metric] == "manhattan":
            raise ValueError(
                "Boundaries between clusters are not planes under the Manhattan distance, so a "
                "single row cannot be explained."
            )
        unit = 1.0 if self.metric == COSINE else math.ldexp(1.0, self.exponent)

        def plane(cluster: int, t: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            far = self.centers[t]
            near = self.centers[cluster] if self.rivals is None else self.rivals[t]
            return (near + far) / 2.0 * unit, (far - near) * unit

        return _pass_splits(self, row, n_clusters, plane)

    def replay(
        self, rows: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Labels of prepared rows, and the nested cost after each center.

        The cost after k centers is the final cost of the rows plus what later splits save. Distances
        are rounded to 2^-61 of the largest possible one, so their sums are exact. A split between
        means lowers the sum of squares but may raise the sum of distances; then the lower cost
        before it is kept.
        """
        n, k = rows.shape[0], self.centers.shape[0]
        # Prepared coordinates are at most 1, so distances are at most twice the dimension.
        exponent = (2 * rows.shape[1]).bit_length() - 62
        label = np.empty(n, dtype=np.int32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]
        sums = np.zeros((len(blocks), 2 * k + 1, 2), dtype=np.uint64)
        unit = math.ldexp(1.0, exponent)

        def work(b: int) -> None:
            part, share = rows[blocks[b]], weight[blocks[b]]
            splits, out = (self.first_child, self.children), (unit, label[blocks[b]], sums[b])
            if self.rivals is None:
                assign_rows(part, share, self.centers, *splits, self.metric, *out)
            else:
                assign_between(part, share, self.centers, self.rivals, *splits, *out)

        share_parts(len(blocks), work)
        words = sums.astype(object).sum(axis=0)
        totals = words[:, 0] + words[:, 1] * (1 << 64)
        saved = totals[:k] - totals[k : 2 * k]
        units = np.cumsum(np.concatenate((totals[-1:], saved[:0:-1])))[::-1]
        costs = np.ldexp(units.astype(np.float64), exponent)
        return label, np.minimum.accumulate(costs)


def build_split_locator(
    centers: NDArray[np.float64],
    parent: NDArray[np.int32],
    metric: int,
    exponent: int,
    rivals: NDArray[np.float64] | None = None,
) -> SplitLocator:
    """Sort the splits by the cluster that they split."""
    return SplitLocator(centers, *_sort_children(parent), metric, exponent, rivals)


@dataclass(frozen=True, eq=False)
class DistanceLocator:
    """The splits of a hierarchy of precomputed distances.

    Attributes
    ----------
    columns : ndarray of shape (n_centers,), dtype int64
        The column of each center: rows of the fit and columns have the same order.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that each center splits; -1 for the first.
    n_features : int
        Number of rows of the fit.
    exponent : int
        Distances are multiplied by ``2**-exponent``.
    """

    columns: NDArray[np.int64]
    parent: NDArray[np.int32]
    n_features: int
    exponent: int
    metric: int = PRECOMPUTED

    def first(self, k: int) -> "DistanceLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        return replace(self, columns=self.columns[:k], parent=self.parent[:k])

    def among(self, numbers: NDArray[np.int64], n_features: int) -> "DistanceLocator":
        """Do the same where the rows of the fit have these numbers among more rows."""
        return replace(self, columns=numbers[self.columns], n_features=n_features)

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the last cluster that each row moves to."""
        return self._move(np.ldexp(X[:, self.columns], -self.exponent))[0]

    def replay(
        self, rows: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Labels of prepared rows, and the nested cost after each center, as in `SplitLocator`."""
        label, moves = self._move(rows[:, self.columns])
        k, count = self.parent.size, weight.astype(np.int64).astype(object)
        units = _to_units(rows[np.arange(label.size), self.columns[label]])
        totals = [int((count * units).sum()), *(0 for _ in range(k - 1))]
        for t, (moved, before, after) in enumerate(moves, start=1):
            totals[t] = int((count[moved] * (_to_units(before) - _to_units(after))).sum())
        costs = np.cumsum(np.array([totals[0], *totals[:0:-1]], dtype=object))[::-1]
        return label, np.ldexp(costs.astype(np.float64), -61)

    def _move(self, distances: NDArray[np.float64]) -> tuple[NDArray[np.int32], list[Any]]:
        """Labels; and for each split the rows that move, their distances before and after."""
        members = [np.arange(distances.shape[0])]
        moves: list[Any] = []
        for t in range(1, self.parent.size):
            here, p = members[self.parent[t]], self.parent[t]
            before, after = distances[here, p], distances[here, t]
            moved = after < before
            moves.append((here[moved], before[moved], after[moved]))
            members.append(here[moved])
            members[p] = here[~moved]
        label = np.empty(distances.shape[0], dtype=np.int32)
        for t, rows in enumerate(members):
            label[rows] = t
        return label, moves


def _to_units(distance: NDArray[np.float64]) -> NDArray[Any]:
    """Distances of at most 1 in units of 2^-61, as integers; at least one unit if not 0."""
    units = np.floor(np.ldexp(distance, 61) + 0.5)
    return np.where(distance > 0.0, np.maximum(units, 1.0), 0.0).astype(np.int64).astype(object)


@dataclass(frozen=True, eq=False)
class PlaneLocator:
    """The planes that split clusters, replayed for any row with the arithmetic of the fit.

    Attributes
    ----------
    points, normals : ndarray of shape (n_centers, n_features), dtype float64
        A row x moves into cluster t if the inner product of ``x - points[t]`` and ``normals[t]`` is
        positive. Entry 0 is not used.
    first_child, children
        See :class:`SplitLocator`.
    metric : int
        For the cosine distance, rows are scaled to length 1.
    exponent : int
        Rows are multiplied by ``2**exponent``.
    """

    points: NDArray[np.float64]
    normals: NDArray[np.float64]
    first_child: NDArray[np.int32]
    children: NDArray[np.int32]
    metric: int
    exponent: int

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    def first(self, k: int) -> "PlaneLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        parent = _parents(self.first_child, self.children)[:k]
        return build_plane_locator(
            self.points[:k], self.normals[:k], parent, self.metric, self.exponent
        )

    def finest(self, X: NDArray[np.floating]) -> NDArray[np.int32]:
        """Find the last cluster that each row moves to."""
        rows = read_only(unit_rows(X) if self.metric == COSINE else X)
        label = np.empty(rows.shape[0], dtype=np.int32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, rows.shape[0], _BLOCK)]
        factor = math.ldexp(1.0, self.exponent)
        splits = (self.points, self.normals, self.first_child, self.children)
        share_parts(
            len(blocks),
            lambda b: locate_by_planes(
                rows[blocks[b]], factor, *splits, np.empty(rows.shape[1]), label[blocks[b]]
            ),
        )
        return label

    def boundaries(self, row: NDArray[np.float64], n_clusters: int) -> list[SplitPlane]:
        """List the splits that a row passes until ``cut(n_clusters)``, as planes."""
        unit = math.ldexp(1.0, -self.exponent)
        return _pass_splits(
            self, row, n_clusters, lambda _, t: (self.points[t] * unit, self.normals[t])
        )


def build_plane_locator(
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    parent: NDArray[np.int32],
    metric: int,
    exponent: int,
) -> PlaneLocator:
    """Sort the splits by the cluster that they split."""
    return PlaneLocator(points, normals, *_sort_children(parent), metric, exponent)


def _pass_splits(
    locator: SplitLocator | PlaneLocator,
    row: NDArray[np.float64],
    n_clusters: int,
    plane: Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> list[SplitPlane]:
    """Follow a row from cluster to cluster; list every plane that it is compared with."""
    x = unit_rows(row[None, :])[0] if locator.metric == COSINE else row
    finest = int(locator.finest(row[None, :])[0])
    parent = _parents(locator.first_child, locator.children)
    path = {finest}  # the clusters that the row moves through
    while parent[finest] >= 0:
        finest = int(parent[finest])
        path.add(finest)
    passed, cluster, c = [], 0, int(locator.first_child[0])
    while c < locator.first_child[cluster + 1]:
        t = int(locator.children[c])
        c += 1
        if t >= n_clusters:
            continue
        passed.append(SplitPlane(t, x, *plane(cluster, t)))
        if t in path:
            cluster, c = t, int(locator.first_child[t])
    return passed


def _sort_children(parent: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where the children of each cluster begin, and the children in the order of the splits."""
    children = np.argsort(parent[1:], kind="stable").astype(np.int32) + np.int32(1)
    counts = np.bincount(parent[1:], minlength=parent.size)
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32), children


def _parents(first_child: NDArray[np.int32], children: NDArray[np.int32]) -> NDArray[np.int32]:
    """Reverse :func:`_sort_children`."""
    parent = np.full(first_child.size - 1, -1, dtype=np.int32)
    parent[children] = np.repeat(np.arange(parent.size), np.diff(first_child))
    return parent
