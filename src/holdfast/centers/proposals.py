"""How a cluster would be split: from a keyed sample of its members to all of them.

:mod:`holdfast.centers.means` describes the steps.
"""

import math
import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.threads import share_parts
from holdfast.centers._distance_kernels import draw_candidate
from holdfast.centers._means_kernels import (
    COST_UNIT,
    average_direction,
    find_bounds,
    measure_sides,
    plane_between,
    score_directions,
    settle_pair,
    sides_of,
    split_members,
    to_directions,
    turn_away,
)
from holdfast.centers._race_kernels import draw_temperature
from holdfast.centers.choose import round_keys, temperature_rate
from holdfast.centers.keyed_table import Table

__all__ = ["Cluster", "Proposal", "Proposer"]

SAMPLE = 4096
SCORED = 512  # members that score candidates; in few columns as many more as SCORED_VALUES hold
SCORED_VALUES = 1 << 17
CANDIDATES = 16
AVERAGES = 8  # of a direction; in large samples as many as AVERAGED_VALUES hold, at least one
AVERAGED_VALUES = 1 << 18
SAMPLE_SPLITS = 32
SPLITS = 3

_POOL = 4 * SAMPLE  # members kept in the order of their keys, for the samples of later parts
_STEP_BITS = 30  # of the grid of a column
_FINE = 12  # halvings of the extent from which a part is measured on its own
_THREADED = 1 << 19  # values in a pass from which threads pay
_PROPOSE, _CHOOSE = 1, 2  # clocks of a row: as a candidate, as the proposal of its cluster

Floats = NDArray[np.float64]
Members = NDArray[np.int32]


@dataclass(frozen=True)
class _Pool:
    """The distinct members with the smallest keys, in the order of keys; `whole`: all of them.

    `weight` is empty where each counts once.
    """

    members: Members
    weight: NDArray[np.int64]
    whole: bool


@dataclass(frozen=True)
class _Part:
    """What is known of a cluster before it proposes; `center` is the row that names it."""

    center: int
    mean: Floats
    low: Floats
    high: Floats
    cost: float


@dataclass(frozen=True)
class Proposal:
    """How a cluster would be split; `gain` is the cost it saves, `key` that of the row drawn."""

    plane: Floats
    moves: NDArray[np.bool_]
    stay: _Part
    go: _Part
    gain: float
    key: np.uint64


@dataclass(frozen=True)
class Cluster:
    """Members, what is known of them, the sample, and the split they propose."""

    members: Members
    part: _Part
    pool: _Pool
    proposal: Proposal | None  # none: its members are all equal


class Proposer:
    """Proposes and draws; holds what all clusters share."""

    def __init__(self, table: Table, epsilon: float, seed: int) -> None:
        self.table = table
        self.d = table.rows.shape[1]
        self.steps = min(_STEP_BITS, 62 - table.total.bit_length())
        self.rate = temperature_rate(epsilon, table.total * table.weight_unit)
        self.temperature_key = round_keys(seed)[0]

    def heat(self, t: int, least_cost: float) -> float:
        """Draw the temperature of round t."""
        return float(draw_temperature(t, least_cost, self.rate, self.temperature_key)[0])

    def first(self) -> Cluster:
        """One cluster of all rows."""
        table, members = self.table, np.arange(self.table.rows.shape[0], dtype=np.int32)
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        find_bounds(table.rows, table.factor, low, high)
        return self.propose(members, self.survey(members, low, high), self.pool_of(members))

    def survey(self, members: Members, low: Floats, high: Floats) -> _Part:
        """Find the mean of members within these bounds, their cost, and the row closest to it."""
        grid, near = self.grid_of(low, high), np.zeros(members.size, dtype=np.bool_)
        # No row is on the far side of a plane without a direction.
        sums, _, _ = self.split_all(members, np.zeros((2, self.d)), grid, True, near)
        total = int(self.weight_of(members).sum()) if self.table.weight.size else members.size
        mean = low + sums[0] / np.float64(total) / np.where(grid[1] > 0.0, grid[1], 1.0)
        part = _Part(-1, mean, low, high, 0.0)
        return self.measure(part, members, ~near, np.array([mean, mean]))[1]

    def draw_cluster(self, clusters: list[Cluster]) -> int:
        """Draw the next cluster to split, by what its proposal saves; -1 if there is none."""
        proposals = [cluster.proposal for cluster in clusters]
        free = np.array([proposal is not None for proposal in proposals])
        if not free.any():
            return -1
        gain = np.array([0.0 if proposal is None else proposal.gain for proposal in proposals])
        key = np.array(
            [0 if proposal is None else proposal.key for proposal in proposals], dtype=np.uint64
        )
        total = math.fsum(cluster.part.cost for cluster in clusters)
        heat = self.heat(len(clusters), total - float(gain.max()))
        return int(draw_candidate(_CHOOSE, gain, free, np.ones(gain.size), key, heat))

    def split(self, cluster: Cluster, proposal: Proposal) -> tuple[Cluster, Cluster]:
        """Carry a proposal out, and let both parts propose; at the same time if they are small."""
        table, pool = self.table, cluster.pool
        far = np.empty(pool.members.size, dtype=np.bool_)
        sides_of(table.rows, table.factor, pool.members, proposal.plane, far)
        found = [cluster, cluster]

        def work(i: int) -> None:
            kept, moves = (far, proposal.moves) if i else (~far, ~proposal.moves)
            members, part = cluster.members[moves], proposal.go if i else proposal.stay
            weight = pool.weight[kept] if pool.weight.size else pool.weight
            own = _Pool(pool.members[kept], weight, pool.whole)
            if not own.whole and own.members.size < SAMPLE:
                own = self.pool_of(members)
            found[i] = self.propose(members, part, own)

        if _THREADED // 16 <= cluster.members.size * self.d < _THREADED:
            share_parts(2, work)
        else:
            work(0)
            work(1)
        return found[0], found[1]

    def pool_of(self, members: Members) -> _Pool:
        """Collect the distinct members with the smallest keys, which are as good as uniform."""
        table, wanted = self.table, _POOL
        key = table.key[members]
        while True:
            whole = members.size <= wanted
            if whole:
                chosen = np.argsort(key, kind="stable")
            else:
                below = np.flatnonzero(key < np.uint64(int(wanted / members.size * 2.0**64)))
                chosen = below[np.argsort(key[below], kind="stable")]
            keys = key[chosen]
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            if whole or starts.size >= SAMPLE:
                break
            wanted *= 4
        rows = members[chosen]
        weight = np.empty(0, dtype=np.int64)
        if table.weight.size:
            weight = np.add.reduceat(table.weight[rows], starts)
        elif starts.size < rows.size:
            weight = np.diff(np.append(starts, rows.size)).astype(np.int64)
        return _Pool(rows[starts], weight, whole)

    def propose(self, members: Members, part: _Part, pool: _Pool) -> Cluster:
        """Find the split of one cluster."""
        if not (part.low < part.high).any():
            return Cluster(members, part, pool, None)
        table, grid = self.table, self.grid_of(part.low, part.high)
        sample = _Pool(pool.members[:SAMPLE], pool.weight[:SAMPLE], pool.whole)
        moves = np.zeros(members.size, dtype=np.bool_)
        means, planes = np.empty((2, self.d)), [self.plane_across(part)]
        drawn, plane = self.draw_direction(part, sample)
        if drawn >= 0:
            turn_away(table.rows, table.factor, part.center, plane)
            near, shared = (
                np.zeros(sample.members.size, np.bool_),
                (grid, table.spherical, part.center),
            )
            started = settle_pair(
                table.rows, table.factor, sample.members, sample.weight, *shared, SAMPLE_SPLITS,
                plane, means, near,
            )  # fmt: skip
            if started:
                planes.insert(0, plane)
        for plane in planes:
            if self.settle(members, plane, grid, part.center, means, moves):
                break
        stay, go = self.measure(part, members, moves, means)
        gain = max(part.cost - (stay.cost + go.cost), 0.0)
        key = table.key[sample.members[drawn] if drawn >= 0 else part.center]
        return Cluster(members, part, pool, Proposal(plane, moves, stay, go, gain, key))

    def grid_of(self, low: Floats, high: Floats) -> Floats:
        """Low ends of the columns, and the steps per unit that sums count in; 0 if constant."""
        extent = np.frexp(high - low)[1]
        steps = np.ldexp(1.0, np.minimum(self.steps - extent, 1000))
        return np.array([low, np.where(low < high, steps, 0.0)])

    def exponent_of(self, part: _Part) -> int:
        """Exponent of the extent of a cluster."""
        return max(math.frexp(float((part.high - part.low).max()))[1], -1000)

    def plane_across(self, part: _Part) -> Floats:
        """Plane through the center across the widest column: it splits any members that differ."""
        anchor = self.table.rows[part.center] * np.float64(self.table.factor)
        plane = np.array([anchor, np.zeros(self.d)])
        j = int(np.argmax(part.high - part.low))
        plane[1, j] = 1.0 if part.high[j] > anchor[j] else -1.0
        return plane

    def draw_direction(self, part: _Part, sample: _Pool) -> tuple[int, Floats]:
        """Draw a candidate by what its direction tells apart; the plane through the mean.

        -1 where no direction tells anything apart.
        """
        table, count = self.table, min(CANDIDATES, sample.members.size)
        given = (table.rows, table.factor, sample.members, sample.weight)
        size = max(SCORED, SCORED_VALUES // self.d)
        scored = (table.rows, table.factor, sample.members[:size], sample.weight[:size])
        place = (part.mean[None, :], math.ldexp(1.0, -self.exponent_of(part)))
        score, plane = np.empty(count), np.array([part.mean, part.mean])
        halves = 2 if sample.members.size * self.d * count >= 4 * _THREADED and count > 1 else 1

        def work(i: int) -> None:
            ends = (count * i // halves, count * (i + 1) // halves)
            score_directions(*scored, *place, *ends, score)

        share_parts(halves, work)
        useful = score > 0.0
        if not useful.any():
            return -1, plane
        gain = part.cost * (1.0 - np.sqrt(1.0 - score))
        weight = np.ones(count) if sample.weight.size == 0 else sample.weight[:count] * 1.0
        heat = self.heat(0, part.cost - float(gain.max()))
        keys = table.key[sample.members[:count]]
        drawn = int(draw_candidate(_PROPOSE, gain, useful, weight, keys, heat))
        times = max(1, min(AVERAGES, AVERAGED_VALUES // (sample.members.size * self.d)))
        average_direction(*given, *place, drawn, times, plane)
        return drawn, plane

    def settle(
        self,
        members: Members,
        plane: Floats,
        grid: Floats,
        center: int,
        means: Floats,
        moves: NDArray[np.bool_],
    ) -> bool:
        """Let a plane settle on all members, as `settle_pair` does, in threads if they are many."""
        table = self.table
        if members.size * self.d < _THREADED:
            return bool(
                settle_pair(
                    table.rows, table.factor, members, self.weight_of(members), grid,
                    table.spherical, center, SPLITS, plane, means, moves,
                )
            )  # fmt: skip
        before, following, total = plane.copy(), plane.copy(), np.zeros(self.d, dtype=np.int64)
        everybody = int(self.weight_of(members).sum()) if table.weight.size else members.size
        for step in range(SPLITS):
            sums, moved, changed = self.split_all(members, plane, grid, step == 0, moves)
            if step == 0:
                total = sums.sum(axis=0)
            last = step == SPLITS - 1 or (step > 0 and changed == 0)
            if moved in (0, everybody):
                if step == 0:
                    return False
                plane[:] = before
                sums, moved, _ = self.split_all(members, plane, grid, False, moves)
                last = True
            sums[0] = total - sums[1]
            weights = np.array([everybody - moved, moved])
            flipped = plane_between(
                table.rows, table.factor, center, sums, weights, grid, table.spherical, means,
                following,
            )  # fmt: skip
            if last:
                if flipped:
                    means[:] = means[::-1].copy()
                return True
            before[:], plane[:] = plane, following
        raise AssertionError

    def weight_of(self, members: Members) -> NDArray[np.int64]:
        """Weights of members; empty where all are ones."""
        return self.table.weight[members] if self.table.weight.size else self.table.weight

    def parts_of(self, size: int) -> list[slice]:
        """Parts of that many members, for threads."""
        parts = 1 if size * self.d < _THREADED else 4 * (os.cpu_count() or 1)
        ends = [size * i // parts for i in range(parts + 1)]
        return [slice(ends[i], ends[i + 1]) for i in range(parts)]

    def split_all(
        self,
        members: Members,
        plane: Floats,
        grid: Floats,
        both: bool,
        moves: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], int, int]:
        """Split members by a plane: sums of both sides, weight that moves, number that changed."""
        table, parts = self.table, self.parts_of(members.size)
        sums = np.zeros((len(parts), 2, self.d), dtype=np.int64)
        counts = np.zeros((len(parts), 2), dtype=np.int64)

        def work(i: int) -> None:
            some = members[parts[i]]
            counts[i] = split_members(
                table.rows, table.factor, some, self.weight_of(some), plane, grid, both,
                moves[parts[i]], sums[i],
            )  # fmt: skip

        share_parts(len(parts), work)
        moved, changed = counts.sum(axis=0)
        return sums.sum(axis=0), int(moved), int(changed)

    def measure(
        self, part: _Part, members: Members, moves: NDArray[np.bool_], means: Floats
    ) -> tuple[_Part, _Part]:
        """Measure both sides of a split: costs, bounds, and the row that names the far side."""
        table, parts, exponent = self.table, self.parts_of(members.size), self.exponent_of(part)
        points = means.copy()
        if table.spherical:
            to_directions(points)
        sums = np.zeros((len(parts), 2, 2), dtype=np.uint64)
        low = np.full((len(parts), 2, self.d), np.inf)
        high = np.full((len(parts), 2, self.d), -np.inf)
        closest: list[tuple[float, int, int]] = [(math.inf, 0, -1)] * len(parts)

        def work(i: int) -> None:
            some = members[parts[i]]
            row, distance = measure_sides(
                table.rows, table.factor, some, self.weight_of(some), table.key, moves[parts[i]],
                points, math.ldexp(1.0, -exponent), table.spherical, sums[i], low[i], high[i],
            )  # fmt: skip
            if row >= 0:
                closest[i] = (distance, int(table.key[row]), row)

        share_parts(len(parts), work)
        words = sums.astype(object).sum(axis=0)
        power = exponent * (2 if table.spherical else 1)
        costs = [
            math.ldexp(float(words[s, 0] + words[s, 1] * (1 << 64)) * COST_UNIT, power)
            for s in range(2)
        ]
        low, high = low.min(axis=0), high.max(axis=0)
        centers = (part.center, min(closest)[2])

        def describe(s: int) -> _Part:
            mean = np.minimum(np.maximum(means[s], low[s]), high[s])
            found = _Part(centers[s], mean, low[s], high[s], costs[s])
            if not (low[s] < high[s]).any():
                return replace(found, cost=0.0)
            if self.exponent_of(found) >= exponent - _FINE:
                return found
            # The grid and the units of the whole cluster are too coarse for this part of it.
            found = self.survey(members[moves == bool(s)], low[s], high[s])
            return found if s else replace(found, center=part.center)

        return describe(0), describe(1)
