"""Splits between means: every cluster proposes one split, the next one is drawn among them.

Data flow: rows -> one cluster of all -> its proposal -> the split of the cluster whose proposal
saves most (drawn by the mechanism of Alg. 2) -> the proposals of both parts -> and so on.

A proposal, from what is sampled to what is not:

1. The sample: the distinct members with the smallest keys, at most 4,096.
2. The first 16 of them are candidates. A candidate's direction leads from the mean of the cluster
   to it; its score is the sum of squares that the plane through the mean, across that direction,
   tells apart in the sample. One is drawn by its score, and its direction is averaged once over the
   sample. Both sides of the plane have members in any number of dimensions.
3. The plane settles on the sample: at most 8 times it moves half way between the means of its sides.
4. It settles on all members: 3 splits. The sides of the last one are the proposal.

Clusters keep the names of their centers: the part with the center keeps the name, the other part is
named after the row closest to its mean.

Invariants. Rows are never copied nor reordered; members of a cluster are row numbers in ascending
order. All sums over members are integers (coordinates in steps of a grid over the cluster's bounds,
distances in units of its extent), so they depend on no order; sums over the sample run in the order
of keys. A row's side is one inner product, the same in a fit and in `predict`.
"""

import math
import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast._machine.progress import Progress, ProgressOption
from holdfast._machine.threads import share_parts
from holdfast.centers._distance_kernels import draw_candidate, unit_rows
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
from holdfast.grid.cells import row_keys, to_fixed_point

__all__ = ["MeanSplits", "Table", "choose_means", "collect_table", "sort_locations"]

SAMPLE = 4096
SCORED = 512  # members that score candidates; in few columns as many more as SCORED_VALUES hold
SCORED_VALUES = 1 << 17
CANDIDATES = 16
AVERAGES = 1
SAMPLE_SPLITS = 8
SPLITS = 3

_POOL = 4 * SAMPLE  # members kept in the order of their keys, for the samples of later parts
_STEP_BITS = 30  # of the grid of a column
_FINE = 12  # halvings of the extent from which a part is measured on its own
_LARGE = 900  # exponents of values that are left as they are
_WEIGHT_BITS = 36
_MOST_COUNTED = 1 << 40
_THREADED = 1 << 19  # values in a pass from which threads pay
_PROPOSE, _CHOOSE = 1, 2  # clocks of a row: as a candidate, as the proposal of its cluster

Floats = NDArray[np.float64]
Members = NDArray[np.int32]


@dataclass(frozen=True)
class Table:
    """The rows of a fit.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features), dtype float64 or float32
        Read-only and C-contiguous; of length 1 each for the cosine distance.
    exponent : int
        Values are those of `rows` times 2 to this power: 0 but for extreme ones.
    weight : ndarray of shape (n,), dtype int64
        Positive; empty where every row counts once.
    weight_unit : float
    key : ndarray of shape (n,), dtype uint64
        Hash of the seed and the content.
    spherical : bool
        Whether distances are cosine distances.
    """

    rows: NDArray[np.floating]
    exponent: int
    weight: NDArray[np.int64]
    weight_unit: float
    key: NDArray[np.uint64]
    spherical: bool

    @property
    def factor(self) -> float:
        """What values are multiplied by."""
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        """Weight of all rows, in units."""
        return int(self.weight.sum()) if self.weight.size else self.rows.shape[0]


def collect_table(
    X: NDArray[np.floating], weight: Floats | None, spherical: bool, seed: int
) -> Table:
    """Key the rows and count their weights; rows are copied for the cosine distance only."""
    largest = math.frexp(float(max(X.max(), -X.min())))[1]
    exponent = 0
    if spherical:
        X = unit_rows(X)
    elif largest > _LARGE:
        exponent = _LARGE - largest
    elif largest < -_LARGE:
        exponent = -_LARGE - largest
    counts, unit = np.empty(0, dtype=np.int64), 1.0
    if weight is not None and (weight != 1.0).any():
        counts, unit = _count_weights(weight)
    rows = read_only(np.ascontiguousarray(X))
    return Table(rows, exponent, counts, unit, row_keys(rows, seed), spherical)


def _count_weights(weight: Floats) -> tuple[NDArray[np.int64], float]:
    """Weights as integers, so that sums are exact in any order.

    Whole weights of at most 2^40 in all stay as they are. Others are rounded to multiples of a
    power of two, about 2^-36 times their total, and to one of it at least.
    """
    scaled, unit = to_fixed_point(weight)
    counts = scaled.astype(np.int64)
    spare = int(counts.sum()).bit_length() - _WEIGHT_BITS
    if spare <= 0 or (unit == 1.0 and int(counts.sum()) <= _MOST_COUNTED):
        return counts, unit
    shift = max(spare, 0)
    return np.maximum((counts + (1 << (shift - 1))) >> shift, 1), math.ldexp(unit, shift)


def sort_locations(table: Table, exhausted: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows in the order of keys, equal ones by row number; where each location begins, the end.

    Of no use before each location has a cluster of its own: nothing is sorted then.
    """
    if not exhausted:
        return np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int32)
    order = np.argsort(table.key, kind="stable").astype(np.int32)
    key = table.key[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return order, np.append(start, order.size).astype(np.int32)


@dataclass(frozen=True)
class MeanSplits:
    """Centers, and the planes that split clusters.

    Attributes
    ----------
    center : ndarray of shape (n_centers,), dtype int64
        Rows, in the order chosen.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that each one split; -1 for the first.
    point, normal : ndarray of shape (n_centers, n_features), dtype float64
        Members x of the parent with a positive inner product of ``x - point[t]`` and ``normal[t]``
        moved into cluster t. Entries 0 are not used.
    costs : ndarray of shape (n_centers,), dtype float64
        Sum of distances to the means of the clusters, in units of rows and weights.
    label : ndarray of shape (n,), dtype int32
        The last cluster of each row.
    exhausted : bool
        Whether each cluster is a single location.
    """

    center: NDArray[np.int64]
    parent: NDArray[np.int32]
    point: Floats
    normal: Floats
    costs: Floats
    label: NDArray[np.int32]
    exhausted: bool


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
class _Proposal:
    """How a cluster would be split; `gain` is the cost it saves, `key` that of the row drawn."""

    plane: Floats
    moves: NDArray[np.bool_]
    stay: _Part
    go: _Part
    gain: float
    key: np.uint64


@dataclass(frozen=True)
class _Cluster:
    members: Members
    part: _Part
    pool: _Pool
    proposal: _Proposal | None  # none: its members are all equal


def choose_means(
    table: Table, epsilon: float, max_centers: int, seed: int, shown: ProgressOption = False
) -> MeanSplits:
    """Choose centers until `max_centers`, or until all members of each cluster are equal.

    O(n d) time for each level of the hierarchy, and about 25 bytes of memory a row.
    """
    d = table.rows.shape[1]
    engine = _Engine(table, epsilon, seed)
    clusters = [engine.first()]
    parent, planes = [-1], [np.zeros((2, d))]
    costs = [clusters[0].part.cost]
    with Progress(shown, max_centers - 1, "splits", "fitting") as progress:
        while len(clusters) < max_centers:
            j = engine.draw_cluster(clusters)
            if j < 0:
                break
            proposal = clusters[j].proposal
            assert proposal is not None
            stay, go = engine.split(clusters[j], proposal)
            parent.append(j)
            planes.append(proposal.plane)
            clusters[j] = stay
            clusters.append(go)
            costs.append(math.fsum(cluster.part.cost for cluster in clusters))
            progress.advance()
    label = np.empty(table.rows.shape[0], dtype=np.int32)
    for t, cluster in enumerate(clusters):
        label[cluster.members] = t
    stacked = np.array(planes)
    return MeanSplits(
        np.array([cluster.part.center for cluster in clusters], dtype=np.int64),
        np.array(parent, dtype=np.int32),
        np.ascontiguousarray(stacked[:, 0]),
        np.ascontiguousarray(stacked[:, 1]),
        np.minimum.accumulate(costs),
        label,
        all(cluster.proposal is None for cluster in clusters),
    )


class _Engine:
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

    def first(self) -> _Cluster:
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

    def draw_cluster(self, clusters: list[_Cluster]) -> int:
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

    def split(self, cluster: _Cluster, proposal: _Proposal) -> tuple[_Cluster, _Cluster]:
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

    def propose(self, members: Members, part: _Part, pool: _Pool) -> _Cluster:
        """Find the split of one cluster."""
        if not (part.low < part.high).any():
            return _Cluster(members, part, pool, None)
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
        return _Cluster(members, part, pool, _Proposal(plane, moves, stay, go, gain, key))

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
        average_direction(*given, *place, drawn, AVERAGES, plane)
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
