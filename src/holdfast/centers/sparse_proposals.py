"""How a cluster of sparse rows would be split: the steps of `proposals`, on the values stored.

Rows are never copied as dense ones. What is known of a cluster has one value for each column in which
a member has one, so all clusters together take no more memory than the rows.
"""

import math
import os
import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast._machine.jit import Floats, read_only
from holdfast._machine.work import share_parts
from holdfast.centers._member_kernels import Margins
from holdfast.centers._sample_kernels import GAPS
from holdfast.centers._sparse_kernels import (
    add_products,
    gather_rows,
    measure_rows,
    saved_by_rows,
    score_row_members,
    score_rows,
    settle_rows,
    sides_of_rows,
    split_rows,
    square_rows,
)
from holdfast.centers.keyed_table import Cluster, Members, Part, Pool, Table
from holdfast.centers.proposals import Proposer
from holdfast.centers.samples import SAMPLE_SPLITS, Sample

_THREADED = 1 << 19  # values in a pass from which threads pay
_MOST_STEPS = 2.0**31  # more than a column's grid has


@dataclass(frozen=True)
class SparsePlane:
    """A row is on the far side if its inner product with the normal is larger than the offset.

    Attributes
    ----------
    columns : ndarray of dtype int32
        Where the normal is not zero; rising.
    normal : ndarray of the same shape, dtype float64
    offset : float
    """

    columns: NDArray[np.int32]
    normal: Floats
    offset: float


@dataclass(frozen=True)
class _SparsePart(Part):
    """What is known of a cluster, in the columns in which a member has a value."""

    columns: NDArray[np.int32]


class SparseProposer(Proposer):
    """Proposes splits of sparse rows; works on one cluster at a time, in its own columns.

    `columns` are those of the cluster at work, `d` is their number, and `where` numbers them.
    """

    def __init__(self, table: Table, epsilon: float, seed: int) -> None:
        super().__init__(table, epsilon, seed)
        rows: csr_array = table.rows
        self.starts, self.values = read_only(rows.indptr), read_only(rows.data)
        self.stored, self.width = read_only(rows.indices), rows.shape[1]
        self.where = np.empty(self.width, dtype=np.int32)
        self.turn = threading.RLock()
        used = np.zeros(self.width, dtype=np.bool_)
        used[self.stored] = True
        self.work_on(np.flatnonzero(used).astype(np.int32))

    def no_plane(self) -> SparsePlane:
        """Stand in for the plane of the first cluster, which has none."""
        return SparsePlane(np.empty(0, dtype=np.int32), np.empty(0), 0.0)

    def work_on(self, columns: NDArray[np.int32]) -> None:
        """Take up a cluster; it has at least one column, if only of zeros."""
        self.columns = columns if columns.size else np.zeros(1, dtype=np.int32)
        self.d = self.columns.size
        self.where[self.columns] = np.arange(self.d, dtype=np.int32)

    def propose(self, members: Members, part: Part, pool: Pool) -> Cluster:
        """Find the split of one cluster, in the columns that it uses."""
        with self.turn:
            part = self.narrow(part)
            self.work_on(part.columns)
            cluster = super().propose(members, part, pool)
            found = cluster.proposal
            if found is None:
                return cluster
            normal = found.plane[1]
            used, offset = np.flatnonzero(normal), self.offset_of(found.plane)
            plane = SparsePlane(self.columns[used], normal[used], offset)
            stay, go = self.narrow(found.stay), self.narrow(found.go)
            return replace(cluster, proposal=replace(found, plane=plane, stay=stay, go=go))

    def narrow(self, part: Part) -> _SparsePart:
        """Keep the columns in which a member has a value."""
        if isinstance(part, _SparsePart):
            return part
        used = np.flatnonzero((part.low != 0.0) | (part.high != 0.0))
        if used.size == 0:
            used = np.zeros(1, dtype=np.int64)
        lines = part.mean[used], part.low[used], part.high[used]
        return _SparsePart(part.center, *lines, part.cost, part.reach, self.columns[used])

    def offset_of(self, plane: Floats) -> float:
        """Inner product of the point of a plane with its normal."""
        return float(add_products(plane[0].copy(), plane[1]))

    def place_of(self, row: int) -> Floats:
        """Values of a row in the columns of the cluster."""
        chosen, place = slice(self.starts[row], self.starts[row + 1]), np.zeros(self.d)
        values = self.values[chosen] * np.float64(self.table.factor)
        place[self.where[self.stored[chosen]]] = values
        return place

    def is_far(self, row: int, plane: Floats) -> bool:
        """Whether a row is on the far side, with the arithmetic of `split_all`."""
        side = np.zeros(1, dtype=np.bool_)
        sides_of_rows(
            self.starts, self.stored, self.values, self.table.factor, self.where,
            np.array([row], dtype=np.int32), read_only(plane[1]), self.offset_of(plane), side,
        )  # fmt: skip
        return bool(side[0])

    def sample_of(self, part: Part, pool: Pool) -> Sample:
        """Copy the members that look for a plane."""
        return SparseSample(self, part, pool)

    def parts_of(self, size: int) -> list[slice]:
        """Parts of that many members, for threads."""
        values = size * (self.values.size // self.n + 1)
        parts = 1 if values < _THREADED else os.cpu_count() or 1
        ends = [size * i // parts for i in range(parts + 1)]
        return [slice(ends[i], ends[i + 1]) for i in range(parts)]

    def split_all(
        self, members: Members, plane: Floats, grid: Floats, both: bool, moves: NDArray[np.bool_],
        margins: Margins,
    ) -> tuple[NDArray[np.int64], int, int]:  # fmt: skip
        """Split members by a plane: sums of both sides, weight that moves, number that changed."""
        table, parts = self.table, self.parts_of(members.size)
        sums = np.zeros((len(parts), 2, self.d), dtype=np.int64)
        counts = np.zeros((len(parts), 2), dtype=np.int64)
        steps = (0.0 - grid[0]) * grid[1] + 0.5
        # Where no member is zero, any number does: it is taken off each value and added to the sum.
        zero = np.where(np.abs(steps) < _MOST_STEPS, steps, 0.0).astype(np.int64)
        normal, offset = read_only(plane[1]), self.offset_of(plane)

        def work(i: int) -> None:
            some = members[parts[i]]
            counts[i] = split_rows(
                self.starts, self.stored, self.values, table.factor, self.where, some,
                self.weight_of(some), normal, offset, grid, zero, both, moves[parts[i]], sums[i],
            )  # fmt: skip

        share_parts(len(parts), work)
        moved, changed = (int(count) for count in counts.sum(axis=0))
        found = sums.sum(axis=0)
        found[1] += moved * zero
        if both:
            found[0] += (self.weight_in(members) - moved) * zero
        return found, moved, changed

    def measure_all(
        self, members: Members, moves: NDArray[np.bool_], points: Floats, exponent: int
    ) -> tuple[list[float], Floats, Floats, int, list[float]]:
        """Costs and bounds of both sides, and the member of the far side closest to its point."""
        table, parts = self.table, self.parts_of(members.size)
        sums = np.zeros((len(parts), 2, 3), dtype=np.uint64)
        low = np.full((len(parts), 2, self.d), np.inf)
        high = np.full((len(parts), 2, self.d), -np.inf)
        seen = np.zeros((len(parts), 2, self.d), dtype=np.int32)
        closest: list[tuple[float, int, int]] = [(math.inf, 0, -1)] * len(parts)
        stretch = math.ldexp(1.0, -exponent)
        squares = np.array([add_products(line.copy(), line) for line in points * stretch])

        def work(i: int) -> None:
            some = members[parts[i]]
            row, distance = measure_rows(
                self.starts, self.stored, self.values, table.factor, self.where, some,
                self.weight_of(some), table.key, moves[parts[i]], points, squares, stretch,
                table.spherical, sums[i], low[i], high[i], seen[i],
            )  # fmt: skip
            if row >= 0:
                closest[i] = (distance, int(table.key[row]), row)

        share_parts(len(parts), work)
        moved = int(np.count_nonzero(moves))
        zeros = seen.sum(axis=0) < np.array([[members.size - moved], [moved]])
        lowest, highest = low.min(axis=0), high.max(axis=0)
        lowest[zeros] = np.minimum(lowest[zeros], 0.0)
        highest[zeros] = np.maximum(highest[zeros], 0.0)
        costs = self.costs_of(sums, exponent)
        return costs, lowest, highest, min(closest)[2], [math.inf, math.inf]


class SparseSample(Sample):
    """Members one after the other, with the numbers of their columns in the cluster."""

    def __init__(self, proposer: SparseProposer, part: Part, pool: Pool) -> None:
        super().__init__(proposer.table, part, pool, proposer.exponent_of(part))
        members, starts = pool.members, proposer.starts
        own = np.append(0, np.cumsum(starts[members + 1] - starts[members], dtype=np.int64))
        columns, values = np.empty(own[-1], dtype=np.int32), np.empty(own[-1])
        gather_rows(
            starts, proposer.stored, proposer.values, self.table.factor * self.stretch,
            proposer.where, members, columns, values,
        )  # fmt: skip
        self.mean, self.square = part.mean * self.stretch, np.empty(self.size)
        square_rows(own, columns, values, self.mean, self.square)
        self.rows = own, columns, values, pool.weight, self.mean
        self.room, self.lines = np.empty((4, self.size)), np.empty((6, self.mean.size))

    def release(self) -> None:
        """Keep nothing."""

    def score_directions(self, count: int, scored: int, few: int) -> tuple[Floats, Floats]:
        """Score directions on the rows."""
        score, gaps = np.empty(count), np.empty((2, count))
        score_rows(
            *self.rows, self.square, scored, few, self.room, np.empty((3, GAPS + 1)), self.lines[0],
            score, gaps,
        )  # fmt: skip
        return score, gaps

    def score_members(self) -> Floats:
        """Score members on the rows."""
        gain = np.empty(self.size)
        score_row_members(*self.rows, self.square, self.room, self.lines[0], gain)
        return gain

    def settle(self, drawn: int, start: float, averages: int) -> Floats | None:
        """Settle on the rows."""
        plane = np.empty((2, self.mean.size))
        settled = settle_rows(
            *self.rows, self.stretch, self.table.spherical, drawn, start, averages, SAMPLE_SPLITS,
            self.room, self.lines, plane,
        )  # fmt: skip
        return plane if settled else None

    def saved_by(self, plane: Floats) -> float:
        """Split the rows."""
        middle = plane[0] * self.stretch - self.mean
        level = float((middle * plane[1]).cumsum()[-1])
        return float(
            saved_by_rows(*self.rows, self.square, plane[1], level, self.room, self.lines[0])
        )
