"""Ideas to change the structure, rated on the members of each leaf with the smallest keys; splits."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints32, read_only
from holdfast.centers._member_kernels import length_of, room_for, sides_of
from holdfast.centers.keyed_table import Table, collect_pool
from holdfast.centers.proposals import Proposer
from holdfast.follow._kernels import cost_to_point
from holdfast.follow.state import NEW, Levels, Problem, Solution

WORTH_A_TRY = 0.02  # by how much J may rise before rows have settled
PAIRED = 6  # merges and splits of a level that are combined
NEIGHBORS = 6  # clusters that an idea considers for each cluster
LEAF_SAMPLE = 1024  # members of a leaf that rate ideas
SPLIT_SAMPLE = 4096  # members of a leaf that propose its split


@dataclass(frozen=True)
class Idea:
    """A change of structure, and by how much J would rise without *Rows*."""

    rise: float
    level: int
    child: int = -1  # a cluster that gets another parent; -1 for a merge and a split
    parent: int = -1
    merged: tuple[int, int] = (-1, -1)  # the second joins the first, also at the levels above
    split: int = -1
    plane: Floats | None = None  # how a leaf is split: those on the far side leave
    leaves: tuple[int, ...] = ()  # how a cluster above the leaves is split: these leave


def kept_by(problem: Problem, found: Solution, level: int) -> NDArray[np.int64]:
    """Sum the pulled weight in each cluster, by the cluster that has its name of yesterday at that level."""
    levels, size = found.levels, found.levels.offsets[-1]
    home = problem.home(levels)[:, level]
    table = np.zeros((size, size), dtype=np.int64)
    for y in np.flatnonzero(home >= 0).tolist():
        np.add.at(table[:, home[y]], levels.path[:, level], found.flow[y])
    return table


class Ideas:
    """Rates ideas on the members of each leaf with the smallest keys."""

    def __init__(self, problem: Problem, found: Solution) -> None:
        self.problem, self.found = problem, found
        levels, units = found.levels, problem.units
        self.levels, self.units = levels, units
        order = np.argsort(found.leaf.astype(np.int16 if levels.sizes[-1] < 1 << 15 else np.int32),
                           kind="stable")  # fmt: skip
        ends = np.cumsum(np.bincount(found.leaf, minlength=levels.sizes[-1]))
        self.members = [some[:SPLIT_SAMPLE] for some in np.split(order, ends[:-1])]
        chosen = [some[:LEAF_SAMPLE] for some in self.members]
        self.stops = np.cumsum([some.size for some in chosen])
        picked = np.concatenate(chosen)
        self.rows = np.ascontiguousarray(units.rows[picked])
        self.weight = np.empty(picked.size)
        leaf_weight = found.weights[levels.offsets[-2] :]
        for q, some in enumerate(chosen):
            known = units.weight[some]
            part = slice(self.stops[q] - some.size, self.stops[q])
            self.weight[part] = known * (float(leaf_weight[q]) / max(float(known.sum()), 1.0))
        self.leaf_sums = found.sums[levels.offsets[-2] :]
        self.leaf_weights = leaf_weight
        self.home = problem.home(levels)
        self.rated: dict[bytes, float] = {}

    def all(self) -> Iterator[Idea]:
        """All ideas that pay, or nearly."""
        for level in range(len(self.levels.sizes)):
            if level > 0:
                yield from self.new_parents(level)
            yield from self.exchanges(level)

    def cost_of(self, leaves: NDArray[np.int64]) -> float:
        """Cost of a cluster of these leaves, estimated; asked for again and again."""
        known = leaves.tobytes()
        if known not in self.rated:
            self.rated[known] = self.estimate(leaves)
        return self.rated[known]

    def estimate(self, leaves: NDArray[np.int64]) -> float:
        """Estimate the cost of a cluster of these leaves, in ascending order."""
        point = self.units.means(
            self.leaf_sums[leaves].sum(axis=0)[None, :],
            self.leaf_weights[leaves].sum(keepdims=True),
        )
        total = 0.0
        for q in leaves.tolist():
            start = 0 if q == 0 else self.stops[q - 1]
            total += cost_to_point(
                self.rows, self.weight, start, self.stops[q], point, 0, self.units.spherical
            )
        return total

    def without(self, leaves: NDArray[np.int64], gone: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leaves that are not gone."""
        stay = np.ones(self.levels.sizes[-1], dtype=np.bool_)
        stay[gone] = False
        return leaves[stay[leaves]]

    def neighbors(self, c: int, others: NDArray[np.int64]) -> list[int]:
        """Find the nearest of other clusters."""
        squares = np.zeros(others.size)
        for j in range(self.found.points.shape[1]):  # column by column, on every processor
            squares += (self.found.points[others, j] - self.found.points[c, j]) ** 2
        return [int(o) for o in others[np.argsort(squares, kind="stable")[:NEIGHBORS]]]

    def away_rise(self, change: int, level: int) -> float:
        """Price the weight that leaves its home, as a part of J."""
        return float(self.problem.price[level]) * change / self.problem.total

    def new_parents(self, level: int) -> Iterator[Idea]:
        """Clusters of that level under another cluster of the level above."""
        levels = self.levels
        parents = np.unique(levels.path[:, level - 1])
        for c in range(levels.offsets[level], levels.offsets[level + 1]):
            below = self.levels.leaves_of(level, c)
            p = int(levels.path[below[0], level - 1])
            if np.unique(levels.path[levels.path[:, level - 1] == p, level]).size < 2:
                continue
            for other in self.neighbors(c, parents[parents != p]):
                rise = self.shift_rise(below, self.levels.leaves_of(level - 1, other)[0], level)
                if rise < WORTH_A_TRY:
                    yield Idea(rise, level, child=c, parent=other)

    def shift_rise(self, below: NDArray[np.int64], onto: np.int64, level: int) -> float:
        """By how much J rises above a level if leaves move to where another leaf is."""
        levels, rise = self.levels, 0.0
        flow = self.found.flow[:, below].sum(axis=1)
        for m in range(level):
            a, b = int(levels.path[below[0], m]), int(levels.path[onto, m])
            if a == b:
                continue
            old, new = self.levels.leaves_of(m, a), self.levels.leaves_of(m, b)
            rest = self.without(old, below)
            if rest.size == 0:
                return np.inf
            after = self.cost_of(rest) + self.cost_of(np.sort(np.append(new, below)))
            rise += (after - self.cost_of(old) - self.cost_of(new)) / self.problem.ref[m]
            left, came = (int(flow[self.home[:, m] == c].sum()) for c in (a, b))
            rise += self.away_rise(left - came, m)
        return rise

    def exchanges(self, level: int) -> Iterator[Idea]:
        """Two clusters merge and another one of the level is split."""
        merges = sorted(self.merges(level))[:PAIRED]
        if not merges:
            return
        splits = sorted(self.splits(level, merges[0][0]), key=lambda split: split.rise)[:PAIRED]
        for rise, a, b in merges:
            for split in splits:
                if split.split not in (a, b) and rise + split.rise < WORTH_A_TRY:
                    yield replace(split, rise=rise + split.rise, merged=(a, b))

    def merges(self, level: int) -> Iterator[tuple[float, int, int]]:
        """Pairs, the second of which joins the first, and by how much J rises if it does."""
        kept = kept_by(self.problem, self.found, level)
        everybody = np.arange(*self.levels.offsets[level : level + 2])
        parent = self.levels.above(level)
        for a in everybody.tolist():
            for b in self.neighbors(a, everybody[everybody != a]):
                if parent[a - everybody[0]] == parent[b - everybody[0]] and a > b:
                    continue  # siblings once
                pair = self.levels.leaves_of(level, a), self.levels.leaves_of(level, b)
                rise = self.shift_rise(pair[1], pair[0][0], level)
                if rise == np.inf:
                    continue
                more = self.cost_of(np.sort(np.append(*pair))) - sum(map(self.cost_of, pair))
                stays = max(kept[a, a] + kept[b, a], kept[a, b] + kept[b, b])
                rise += self.away_rise(int(kept[a, a] + kept[b, b] - stays), level)
                yield rise + more / self.problem.ref[level], a, b

    def splits(self, level: int, spent: float) -> Iterator[Idea]:
        """Clusters of that level in two parts, if a split can make up for what is spent."""
        if level == len(self.levels.sizes) - 1:
            yield from self.split_leaves(spent)
            return
        for c in range(self.levels.offsets[level], self.levels.offsets[level + 1]):
            below = self.levels.leaves_of(level, c)
            children = np.unique(self.levels.path[below, level + 1])
            if children.size < 2:
                continue
            own = self.found.flow[self.home[:, level] == c].sum(axis=0)
            whole = self.cost_of(below)
            for child in children[: 1 if children.size == 2 else None]:
                go = self.levels.leaves_of(level + 1, int(child))
                stay = self.without(below, go)
                rise = self.cost_of(go) + self.cost_of(stay) - whole
                away = self.away_rise(int(min(own[go].sum(), own[stay].sum())), level)
                yield Idea(
                    rise / self.problem.ref[level] + away, level, split=c, leaves=tuple(go.tolist())
                )

    def can_make_up(self, q: int, spent: float) -> bool:
        """Whether the split of a leaf can lower J by as much as is spent, or nearly.

        It saves at most the cost of its sample to the mean of the sample: at most the cost to the mean
        of the leaf, and the way between both means for each row.
        """
        some, c = self.members[q], self.levels.offsets[-2] + q
        rows, weight = self.units.rows[some], self.units.weight[some].astype(np.float64)
        points, ref = self.found.points, float(self.problem.ref[-1])
        most = cost_to_point(rows, weight, 0, some.size, points, c, self.units.spherical)
        most += length_of(((rows - points[c]) * weight[:, None]).sum(axis=0))
        stretch = float(self.leaf_weights[q]) / float(weight.sum())
        return bool(spent - (1.0 + 1e-9) * most * stretch / ref < WORTH_A_TRY)

    def split_leaves(self, spent: float = 0.0) -> Iterator[Idea]:
        """Leaves, each split between two means as in a fit, if that can make up for what is spent."""
        units, last = self.units, len(self.levels.sizes) - 1
        table = Table(
            read_only(units.rows), 0, read_only(units.weight), 1.0, units.key, units.spherical
        )
        proposer = Proposer(table, 0.0, self.problem.seed)
        for q, some in enumerate(self.members):
            if some.size < 2 or not self.can_make_up(q, spent):
                continue
            members = some.astype(np.int32)
            rows = units.rows[members]
            part = proposer.survey(members, rows.min(axis=0), rows.max(axis=0))
            pool = collect_pool(table, members, SPLIT_SAMPLE, SPLIT_SAMPLE)
            proposal = proposer.propose(members, part, pool).proposal
            if proposal is None:
                continue
            stretch = float(self.leaf_weights[q]) / float(units.weight[members].sum())
            c = self.levels.offsets[last] + q
            origin = units.origin[members]
            own = (origin >= 0) & (self.home[origin, last] == c)
            kept = np.where(own, units.pulled[members], 0)
            fewer = min(int(kept[proposal.moves].sum()), int(kept[~proposal.moves].sum()))
            rise = -proposal.gain * stretch / self.problem.ref[last]
            yield Idea(
                rise + self.away_rise(round(fewer * stretch), last),
                last,
                split=c,
                plane=proposal.plane,
            )


def split_leaf(
    problem: Problem, levels: Levels, leaf: Ints32, q: int, slot: int, plane: Floats | None
) -> tuple[Levels, Ints32] | None:
    """Split leaf q by a plane; the part with fewer rows that were there becomes leaf `slot`."""
    units = problem.units
    assert plane is not None
    members = np.flatnonzero(leaf == q).astype(np.int32)
    go = np.empty(members.size, dtype=np.bool_)
    rows, room = read_only(units.rows), np.empty(room_for(units.rows.shape[1]))
    sides_of(rows, rows.reshape(-1), members, plane, room, go)
    if go.all() or not go.any():
        return None
    last = len(levels.sizes) - 1
    home = problem.home(levels)[:, last] == levels.offsets[last] + q
    origin = units.origin[members]
    kept = np.where((origin >= 0) & home[origin], units.pulled[members], 0)
    more = (int(kept[go].sum()), int(units.weight[members[go]].sum()))
    if more > (int(kept[~go].sum()), int(units.weight[members[~go]].sum())):
        go = ~go
    go = _affordable(problem, levels, leaf, members, go, slot)
    if not go.any():
        return None
    leaf = leaf.copy()
    leaf[members[go]] = slot
    path, names = levels.path.copy(), levels.names.copy()
    path[slot, :last] = path[q, :last]
    path[slot, last] = levels.offsets[last] + slot
    names[levels.offsets[last] + slot] = NEW
    return replace(levels, path=path, names=names), leaf


def _affordable(
    problem: Problem,
    levels: Levels,
    leaf: Ints32,
    members: Ints32,
    go: NDArray[np.bool_],
    slot: int,
) -> NDArray[np.bool_]:
    """Of those that leave a leaf, the ones that the budget allows: who saves most goes first.

    The others can follow in later releases.
    """
    if problem.limit is None:
        return go
    units, last = problem.units, len(levels.sizes) - 1
    moved = problem.moved(levels, problem.flow(leaf, levels.sizes[-1], units.counted))[last]
    origin, parted = units.origin[members], leaf.copy()
    at_home = problem.home(levels)[origin, last] == levels.path[leaf[members], last]
    spent = np.where((origin >= 0) & at_home, units.counted[members], 0)
    parted[members[go]] = slot
    points = units.means(*units.sums(parted, levels.sizes[-1]))
    rows, saving = units.rows[members], np.zeros(members.size)
    for column, near, far in zip(rows.T, points[leaf[members[0]]], points[slot], strict=True):
        saving += (column - near) ** 2 - (column - far) ** 2
    order = np.flatnonzero(go)[np.lexsort((units.key[members[go]], -saving[go]))]
    within = np.cumsum(spent[order]) <= problem.limit - moved
    allowed = np.zeros(go.size, dtype=np.bool_)
    allowed[order[within | (spent[order] == 0)]] = True
    return allowed
