"""How a cluster would be split: from a keyed sample of its members to all of them.

:mod:`holdfast.centers.means` describes the steps.
"""

import math
import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from holdfast._machine.jit import Floats
from holdfast._machine.work import share_parts
from holdfast.centers._distance_kernels import draw_candidate
from holdfast.centers._member_kernels import (
    BLOCK,
    COST_UNIT,
    Margins,
    length_of,
    measure_sides,
    part_members,
    room_for,
    split_members,
)
from holdfast.centers._race_kernels import draw_temperature
from holdfast.centers._sample_kernels import is_beyond, plane_between, to_directions
from holdfast.centers.choose import round_keys, temperature_rate
from holdfast.centers.keyed_table import (
    Cluster,
    Members,
    Part,
    Pool,
    Proposal,
    Table,
    collect_pool,
)
from holdfast.centers.samples import CHOOSE, SAMPLE, DenseSample, Sample

SPLITS = 3  # on all members

_POOL = 4 * SAMPLE  # members kept in the order of their keys, for the samples of later parts
_STEP_BITS = 30  # of the grid of a column
_FINE = 12  # halvings of the extent from which a part is measured on its own
_THREADED = 1 << 19  # values in a pass from which threads pay


class Proposer:
    """Proposes and draws; holds what all clusters share."""

    def __init__(self, table: Table, epsilon: float, seed: int) -> None:
        self.table = table
        self.n, self.d = table.rows.shape
        self.flat = table.rows.data if issparse(table.rows) else table.rows.reshape(-1)
        self.steps = min(_STEP_BITS, 62 - table.total.bit_length())
        self.rate = temperature_rate(epsilon, table.total * table.weight_unit)
        self.temperature_key = round_keys(seed)[0]
        self.far = np.empty(self.n, dtype=np.bool_)  # which rows moved at the last split
        self.scratch: list[NDArray[np.float32]] = []  # for samples, one a thread

    def heat(self, t: int, least_cost: float) -> float:
        """Draw the temperature of round t."""
        return float(draw_temperature(t, least_cost, self.rate, self.temperature_key)[0])

    def no_plane(self) -> Any:
        """Stand in for the plane of the first cluster, which has none."""
        return np.zeros((2, self.d))

    def first(self) -> Cluster:
        """One cluster of all rows."""
        members, nowhere = np.arange(self.n, dtype=np.int32), np.zeros((2, self.d))
        near = np.zeros(self.n, dtype=np.bool_)
        _, low, high, *_ = self.measure_all(members, near, nowhere, 0)
        pool = collect_pool(self.table, members, SAMPLE, _POOL)
        return self.propose(members, self.survey(members, low[0], high[0]), pool)

    def survey(self, members: Members, low: Floats, high: Floats) -> Part:
        """Find the mean of members within these bounds, their cost, and the row closest to it."""
        grid, near = self.grid_of(low, high), np.zeros(members.size, dtype=np.bool_)
        # No row is on the far side of a plane without a direction.
        nothing = Margins(0, low, math.inf)
        sums, _, _ = self.split_all(members, np.zeros((2, self.d)), grid, True, near, nothing)
        mean = self.means_of(sums[:1], np.array([self.weight_in(members)]), grid)[0]
        part = Part(-1, mean, low, high, 0.0, math.inf)
        return self.measure(part, members, ~near, np.array([mean, mean]))[1]

    def draw_cluster(self, clusters: list[Cluster], cost: float) -> int:
        """Draw the next cluster to split, by what its proposal saves; -1 if there is none.

        `cost` is that of all clusters.
        """
        found = [cluster.proposal for cluster in clusters]
        free = np.array([p is not None for p in found])
        if not free.any():
            return -1
        gain = np.array([0.0 if p is None else p.gain for p in found])
        key = np.array([0 if p is None else p.key for p in found], dtype=np.uint64)
        heat = self.heat(len(clusters), cost - float(gain.max()))
        return int(draw_candidate(CHOOSE, gain, free, np.ones(gain.size), key, heat))

    def split(self, cluster: Cluster, proposal: Proposal) -> tuple[Cluster, Cluster]:
        """Carry a proposal out, and let both parts propose; at the same time unless they are tiny."""
        pool, found = cluster.pool, [cluster, cluster]
        self.far[cluster.members] = proposal.moves
        far, moved = self.far[pool.members], int(np.count_nonzero(proposal.moves))
        sides = [np.empty(size, np.int32) for size in (cluster.members.size - moved, moved)]
        part_members(cluster.members, proposal.moves, *sides)

        def work(i: int) -> None:
            kept, part = (far, proposal.go) if i else (~far, proposal.stay)
            weight = pool.weight[kept] if pool.weight.size else pool.weight
            own = Pool(pool.members[kept], weight, pool.whole)
            if not own.whole and own.members.size <= SAMPLE:
                own = collect_pool(self.table, sides[i], SAMPLE, _POOL)
            found[i] = self.propose(sides[i], part, own)

        if cluster.members.size * self.d < _THREADED // 16:
            work(0)
            work(1)
        else:
            share_parts(2, work)
        return found[0], found[1]

    def propose(self, members: Members, part: Part, pool: Pool) -> Cluster:
        """Find the split of one cluster."""
        if not (part.low < part.high).any():
            return Cluster(members, part, pool, None)
        sample = Pool(pool.members[:SAMPLE], pool.weight[:SAMPLE], pool.whole)
        everybody = pool.whole and pool.members.size <= SAMPLE
        drawn, plane = self.start_plane(part, sample, everybody)
        found = None
        if plane is not None:
            found = self.settle(members, part, plane, 1 if everybody else SPLITS)
        found = found or self.settle(members, part, self.plane_across(part), SPLITS)
        assert found is not None
        plane, moves, means = found
        stay, go = self.measure(part, members, moves, means)
        gain = max(part.cost - (stay.cost + go.cost), 0.0)
        key = self.table.key[sample.members[drawn] if drawn >= 0 else part.center]
        return Cluster(members, part, pool, Proposal(plane, moves, stay, go, gain, key))

    def grid_of(self, low: Floats, high: Floats) -> Floats:
        """Low ends of the columns, and the steps per unit that sums count in; 0 if constant."""
        extent = np.frexp(high - low)[1]
        steps = np.ldexp(1.0, np.minimum(self.steps - extent, 1000))
        return np.array([low, np.where(low < high, steps, 0.0)])

    def means_of(self, sums: NDArray[np.int64], weights: NDArray[np.int64], grid: Floats) -> Floats:
        """Means from sums of steps."""
        steps = np.where(grid[1] > 0.0, grid[1], 1.0)
        means: Floats = grid[0] + sums / weights[:, None].astype(np.float64) / steps
        return means

    def exponent_of(self, part: Part) -> int:
        """Exponent of the extent of a cluster."""
        return max(math.frexp(float((part.high - part.low).max()))[1], -1000)

    def plane_across(self, part: Part) -> Floats:
        """Plane through the center across the widest column: it splits any members that differ."""
        anchor = self.place_of(part.center)
        plane = np.array([anchor, np.zeros(self.d)])
        j = int(np.argmax(part.high - part.low))
        plane[1, j] = 1.0 if part.high[j] > anchor[j] else -1.0
        return plane

    def place_of(self, row: int) -> Floats:
        """Values of a row."""
        return np.asarray(self.table.rows[row] * np.float64(self.table.factor))

    def is_far(self, row: int, plane: Floats) -> bool:
        """Whether a row is on the far side, with the arithmetic of `split_members`."""
        return is_beyond(self.place_of(row), plane)

    def start_plane(self, part: Part, pool: Pool, everybody: bool) -> tuple[int, Floats | None]:
        """Find a plane on a sample of the members; see `Sample.start`."""
        return self.sample_of(part, pool).start(everybody, partial(self.heat, 0))

    def sample_of(self, part: Part, pool: Pool) -> Sample:
        """Copy the members that look for a plane."""
        return DenseSample(self.table, part, pool, self.exponent_of(part), self.scratch)

    def settle(
        self, members: Members, part: Part, plane: Floats, splits: int
    ) -> tuple[Floats, NDArray[np.bool_], Floats] | None:
        """Let a plane settle on all members; the plane, who is on its far side, and both means.

        The far side is never that of the center. Where a side would be empty, the plane before
        decides; none where the first plane has an empty side.
        """
        grid, everybody = self.grid_of(part.low, part.high), self.weight_in(members)
        moves, before = np.zeros(members.size, dtype=np.bool_), None
        margins = Margins(members.size if splits > 1 else 0, part.mean, part.reach)
        total, step = np.zeros(self.d, dtype=np.int64), 0
        while True:
            if self.is_far(part.center, plane):
                plane = np.array([plane[0], -plane[1]])
            sums, moved, changed = self.split_all(members, plane, grid, step == 0, moves, margins)
            if step == 0:
                total = sums.sum(axis=0)
            if moved in (0, everybody):
                if before is None:
                    return None
                plane, before, step = before, None, splits
                continue
            sums[0] = total - sums[1]
            means = self.means_of(sums, np.array([everybody - moved, moved]), grid)
            step += 1
            if step >= splits or (before is not None and changed == 0):
                return plane, moves, means
            before, plane = plane, plane_between(means, self.table.spherical)

    def weight_of(self, members: Members) -> NDArray[np.int64]:
        """Weights of members; empty where all are ones."""
        return self.table.weight[members] if self.table.weight.size else self.table.weight

    def weight_in(self, members: Members) -> int:
        """Weight of members in all."""
        return int(self.weight_of(members).sum()) if self.table.weight.size else members.size

    def parts_of(self, size: int) -> list[slice]:
        """Parts of that many members, for threads."""
        parts = 1 if size * self.d < _THREADED else 4 * (os.cpu_count() or 1)
        ends = [size * i // parts for i in range(parts + 1)]
        return [slice(ends[i], ends[i + 1]) for i in range(parts)]

    def split_all(
        self, members: Members, plane: Floats, grid: Floats, both: bool, moves: NDArray[np.bool_],
        margins: Margins,
    ) -> tuple[NDArray[np.int64], int, int]:  # fmt: skip
        """Split members by a plane: sums of both sides, weight that moves, number that changed.

        Only those of members whose margins are in doubt are looked at, from the second plane on;
        sums are then those of the far side only.
        """
        table, parts = self.table, self.parts_of(members.size)
        sums = np.zeros((len(parts), 2, self.d), dtype=np.int64)
        counts = np.zeros((len(parts), 2), dtype=np.int64)
        near, far = margins.doubts(plane)
        if near < 0:
            margins.start(plane)

        def work(i: int) -> None:
            some = members[parts[i]]
            counts[i] = split_members(
                table.rows, self.flat, table.factor, some, self.weight_of(some), plane, grid, both,
                margins.rate, near, far, np.empty(room_for(self.d)), np.empty((2, BLOCK), np.int32),
                np.empty((2, BLOCK), np.int64), moves[parts[i]], margins.member[parts[i]], sums[i],
            )  # fmt: skip

        share_parts(len(parts), work)
        moved, changed = counts.sum(axis=0)
        found = sums.sum(axis=0)
        if near >= 0:
            moved += margins.moved
            found[1] += margins.sums
        margins.moved, margins.sums = moved, found[1].copy()
        return found, int(moved), int(changed)

    def measure_all(
        self, members: Members, moves: NDArray[np.bool_], points: Floats, exponent: int
    ) -> tuple[list[float], Floats, Floats, int, list[float]]:
        """Costs and bounds of both sides, the member of the far side closest to its point, reaches."""
        table, parts = self.table, self.parts_of(members.size)
        sums = np.zeros((len(parts), 2, 3), dtype=np.uint64)
        low = np.full((len(parts), 2, self.d), np.inf)
        high = np.full((len(parts), 2, self.d), -np.inf)
        closest: list[tuple[float, int, int]] = [(math.inf, 0, -1)] * len(parts)
        reach = np.zeros((len(parts), 2))

        def work(i: int) -> None:
            some = members[parts[i]]
            row, distance = measure_sides(
                table.rows, self.flat, table.factor, some, self.weight_of(some), table.key,
                moves[parts[i]], points, math.ldexp(1.0, -exponent), table.spherical,
                np.empty(room_for(self.d)), sums[i], low[i], high[i], reach[i],
            )  # fmt: skip
            if row >= 0:
                closest[i] = (distance, int(table.key[row]), row)

        share_parts(len(parts), work)
        reaches = [
            math.ldexp(math.sqrt(2.0 * most) if table.spherical else most, exponent)
            for most in reach.max(axis=0).tolist()
        ]
        bounds = low.min(axis=0), high.max(axis=0)
        return self.costs_of(sums, exponent), *bounds, min(closest)[2], reaches

    def costs_of(self, sums: NDArray[np.uint64], exponent: int) -> list[float]:
        """Add up the costs of both sides, in words of 32 bits, over all parts."""
        power = exponent * (2 if self.table.spherical else 1)
        return [
            math.ldexp(float(a + (b << 32) + (c << 64)) * COST_UNIT, power)
            for a, b, c in sums.astype(object).sum(axis=0)
        ]

    def measure(
        self, part: Part, members: Members, moves: NDArray[np.bool_], means: Floats
    ) -> tuple[Part, Part]:
        """Measure both sides of a split: costs, bounds, and the row that names the far side."""
        exponent, points = self.exponent_of(part), means
        if self.table.spherical:
            points = means.copy()
            to_directions(points)
        costs, low, high, closest, reaches = self.measure_all(members, moves, points, exponent)
        centers = (part.center, closest)

        def describe(s: int) -> Part:
            mean = np.minimum(np.maximum(means[s], low[s]), high[s])
            # The mean is moved into the bounds: no farther from what lies within.
            apart = length_of(points[s] - mean) if self.table.spherical else 0.0
            reach = (reaches[s] + apart) * (1.0 + 2.0**-20)
            found = Part(centers[s], mean, low[s], high[s], costs[s], reach)
            if not (low[s] < high[s]).any():
                return replace(found, cost=0.0)
            if self.exponent_of(found) >= exponent - _FINE:
                return found
            # The grid and the units of the whole cluster are too coarse for this part of it.
            found = self.survey(members[moves == bool(s)], low[s], high[s])
            return found if s else replace(found, center=part.center)

        return describe(0), describe(1)
