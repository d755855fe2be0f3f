"""*Structure*: clusters change their parents, merge and split, one change at a time.

Ideas are rated on a sample, the members of each leaf with the smallest keys. The best few are tried,
each followed by *Rows*: on a keyed sample of all units first if there are many, then on all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast.centers._means_kernels import find_bounds, sides_of
from holdfast.centers.keyed_table import Table
from holdfast.centers.proposals import Proposer
from holdfast.follow._kernels import cost_to_point
from holdfast.follow.rows import settle_rows
from holdfast.follow.state import NEW, Floats, Levels, Numbers, Problem, Solution, solve_as

__all__ = ["Idea", "Ideas", "improve_structure", "split_leaf"]

TRIES = 10  # ideas that are tried before structure is left as it is
VERIFIED = 2  # ideas that pay on the sample and are tried on all units
WORTH_A_TRY = 0.02  # by how much J may rise before rows have settled
PAIRED = 6  # merges and splits of a level that are combined
STEPS = 64  # changes at most
LEAST = 1e-4  # of J, that a change must save
NEIGHBORS = 6  # clusters that an idea considers for each cluster
LEAF_SAMPLE = 1024  # members of a leaf that rate ideas
SPLIT_SAMPLE = 4096  # members of a leaf that propose its split
TRIAL = 1 << 14  # units on which ideas are tried before all


@dataclass(frozen=True)
class Idea:
    """A change of structure, and by how much J would rise without *Rows*.

    Attributes
    ----------
    rise : float
    level : int
    child, parent : int
        A cluster and its new parent; -1 for a merge and a split.
    merged : tuple of int
        Two siblings, the first of which remains.
    split : int
        The cluster that is split.
    plane : ndarray of shape (2, n_features) or None
        How a leaf is split: those on the far side leave.
    leaves : tuple of int
        How a cluster above the leaves is split: these leave.
    """

    rise: float
    level: int
    child: int = -1
    parent: int = -1
    merged: tuple[int, int] = (-1, -1)
    split: int = -1
    plane: Floats | None = None
    leaves: tuple[int, ...] = ()


def improve_structure(problem: Problem, start: Solution) -> Solution:
    """Change the structure while J falls and the budget holds."""
    found = start
    trial = _trial_of(problem)
    for _ in range(STEPS):
        better = _best_that_pays(problem, trial, found)
        if better is None:
            break
        found = better
    return found


def _best_that_pays(problem: Problem, trial: Problem | None, found: Solution) -> Solution | None:
    """Try ideas, and carry out the one after which J is lowest; None if no idea pays."""
    ideas = sorted(Ideas(problem, found).all(), key=lambda idea: idea.rise)[:TRIES]
    if trial is None:
        tried = [_try(problem, found, idea) for idea in ideas]
        return min((after for after in tried if after is not None), key=_value, default=None)
    start = settle_rows(trial, solve_as(trial, found.levels, _first(trial, found)))
    rated = [
        (after.value, i) for i, idea in enumerate(ideas) if (after := _try(trial, start, idea))
    ]
    for _, i in sorted(rated)[:VERIFIED]:
        after = _try(problem, found, ideas[i])
        if after is not None:
            return after
    return None


def _value(solution: Solution) -> float:
    return solution.value


def _try(problem: Problem, found: Solution, idea: Idea) -> Solution | None:
    """Carry out an idea and let rows settle; None if it does not pay or breaks the budget."""
    changed = _apply(problem, found, idea)
    if changed is None:
        return None
    after = solve_as(problem, *changed)
    if (after.weights == 0).any():
        return None
    if problem.limit is not None and (after.moved > problem.limit).any():
        return None
    after = settle_rows(problem, after)
    return after if after.value < found.value - LEAST * len(problem.ref) else None


def _apply(problem: Problem, found: Solution, idea: Idea) -> tuple[Levels, Numbers] | None:
    levels, leaf, level = found.levels, found.leaf, idea.level
    path, names = levels.path.copy(), levels.names.copy()
    if idea.child >= 0:
        below = levels.path[:, level] == idea.child
        onto = int(np.flatnonzero(levels.path[:, level - 1] == idea.parent)[0])
        path[below, :level] = levels.path[onto, :level]
        return replace(levels, path=path), leaf
    a, b = idea.merged
    names[a] = _better_name(problem, found, level, a, b)
    if level < len(levels.sizes) - 1:
        path[levels.path[:, level] == b, level] = a
        return _part_clusters(problem, found, replace(levels, path=path, names=names), leaf, idea)
    first = levels.offsets[level]
    leaf = np.where(leaf == b - first, np.int32(a - first), leaf)
    merged = replace(levels, names=names)
    return split_leaf(problem, merged, leaf, idea.split - first, b - first, idea.plane)


def _part_clusters(
    problem: Problem, found: Solution, levels: Levels, leaf: Numbers, idea: Idea
) -> tuple[Levels, Numbers]:
    """Split a cluster above the leaves; the part that holds more of its rows keeps the name."""
    level, q, b = idea.level, idea.split, idea.merged[1]
    path, names = levels.path.copy(), levels.names.copy()
    go = np.zeros(path.shape[0], dtype=np.bool_)
    go[list(idea.leaves)] = True
    own = problem.home(found.levels)[:, level] == q
    kept = found.flow[own].sum(axis=0)
    inside = levels.path[:, level] == q
    if kept[inside & go].sum() > kept[inside & ~go].sum():
        go = inside & ~go
    path[go & inside, level] = b
    names[b] = NEW
    return replace(levels, path=path, names=names), leaf


def split_leaf(
    problem: Problem,
    levels: Levels,
    leaf: Numbers,
    q: int,
    slot: int,
    plane: Floats | None,
) -> tuple[Levels, Numbers] | None:
    """Split leaf q by a plane; the part with fewer rows that were there becomes leaf `slot`."""
    units = problem.units
    assert plane is not None
    members = np.flatnonzero(leaf == q).astype(np.int32)
    go = np.empty(members.size, dtype=np.bool_)
    sides_of(read_only(units.rows), 1.0, members, plane, go)
    if go.all() or not go.any():
        return None
    last = len(levels.sizes) - 1
    home = problem.home(levels)[:, last] == levels.offsets[last] + q
    origin = units.origin[members]
    kept = np.where((origin >= 0) & home[origin], units.pulled[members], 0)
    more = (int(kept[go].sum()), int(units.weight[members[go]].sum()))
    if more > (int(kept[~go].sum()), int(units.weight[members[~go]].sum())):
        go = ~go
    leaf = leaf.copy()
    leaf[members[go]] = slot
    path, names = levels.path.copy(), levels.names.copy()
    path[slot, :last] = path[q, :last]
    path[slot, last] = levels.offsets[last] + slot
    names[levels.offsets[last] + slot] = NEW
    return replace(levels, path=path, names=names), leaf


def _better_name(problem: Problem, found: Solution, level: int, a: int, b: int) -> np.int64:
    """Of two clusters that merge, the name that more rows keep."""
    kept = _kept_by(problem, found, level)
    both = kept[[a, b]] + 0
    stays_a, stays_b = int(both[:, a].sum()), int(both[:, b].sum())
    names = found.levels.names
    if stays_a == stays_b:
        known = [name for name in (names[a], names[b]) if name != NEW]
        return np.int64(min(known)) if known else np.int64(NEW)
    return np.int64(names[a] if stays_a > stays_b else names[b])


def _kept_by(problem: Problem, found: Solution, level: int) -> NDArray[np.int64]:
    """Sum the pulled weight in each cluster, by the cluster that has its name of yesterday at that level."""
    levels, size = found.levels, found.levels.offsets[-1]
    home = problem.home(levels)[:, level]
    table = np.zeros((size, size), dtype=np.int64)
    for y in np.flatnonzero(home >= 0).tolist():
        np.add.at(table[:, home[y]], levels.path[:, level], found.flow[y])
    return table


def _trial_of(problem: Problem) -> Problem | None:
    """Take the same problem on the units with the smallest keys; None if these are all."""
    units = problem.units
    if units.rows.shape[0] <= 2 * TRIAL:
        return None
    some = units.only(slice(0, TRIAL))
    part = int(some.weight.sum()) / problem.total
    limit = None if problem.limit is None else int(problem.limit * part)
    some = replace(some, inertia=some.inertia / part)  # as a part of J
    return replace(problem, units=some, ref=problem.ref * part, limit=limit)


def _first(trial: Problem, found: Solution) -> Numbers:
    leaf: Numbers = found.leaf[: trial.units.rows.shape[0]]
    return leaf


class Ideas:
    """Rates ideas on the members of each leaf with the smallest keys."""

    def __init__(self, problem: Problem, found: Solution) -> None:
        self.problem, self.found = problem, found
        levels, units = found.levels, problem.units
        self.levels, self.units = levels, units
        order = np.argsort(found.leaf.astype(np.int16 if levels.sizes[-1] < 1 << 15 else np.int32),
                           kind="stable")  # fmt: skip
        ends = np.cumsum(np.bincount(found.leaf, minlength=levels.sizes[-1]))
        starts = ends - np.bincount(found.leaf, minlength=levels.sizes[-1])
        self.members = [order[a:b][:SPLIT_SAMPLE] for a, b in zip(starts, ends, strict=True)]
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

    def all(self) -> Iterator[Idea]:
        """All ideas that pay, or nearly."""
        for level in range(len(self.levels.sizes)):
            if level > 0:
                yield from self.new_parents(level)
            yield from self.exchanges(level)

    def cost_of(self, leaves: NDArray[np.int64]) -> float:
        """Cost of a cluster of these leaves, estimated."""
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

    def leaves_of(self, level: int, c: int) -> NDArray[np.int64]:
        """Leaves of a cluster."""
        return np.flatnonzero(self.levels.path[:, level] == c)

    def neighbors(self, c: int, others: NDArray[np.int64]) -> list[int]:
        """Find the nearest of other clusters."""
        squares = np.array([float(((self.found.points[c] - self.found.points[o]) ** 2).sum())
                            for o in others.tolist()])  # fmt: skip
        return [int(o) for o in others[np.argsort(squares, kind="stable")[:NEIGHBORS]]]

    def away_rise(self, change: int, level: int) -> float:
        """Price the weight that leaves its home, as a part of J."""
        return float(self.problem.price[level]) * change / self.problem.total

    def new_parents(self, level: int) -> Iterator[Idea]:
        """Clusters of that level under another cluster of the level above."""
        levels, ref = self.levels, self.problem.ref
        parents = np.unique(levels.path[:, level - 1])
        for c in range(levels.offsets[level], levels.offsets[level + 1]):
            below = self.leaves_of(level, c)
            p = int(levels.path[below[0], level - 1])
            if np.unique(levels.path[levels.path[:, level - 1] == p, level]).size < 2:
                continue
            for other in self.neighbors(c, parents[parents != p]):
                onto = levels.path[self.leaves_of(level - 1, other)[0]]
                rise = 0.0
                for m in range(level):
                    a, b = int(levels.path[below[0], m]), int(onto[m])
                    if a == b:
                        continue
                    old, new = self.leaves_of(m, a), self.leaves_of(m, b)
                    rest = np.setdiff1d(old, below)
                    if rest.size == 0:
                        rise = np.inf
                        break
                    after = self.cost_of(rest) + self.cost_of(np.union1d(new, below))
                    rise += (after - self.cost_of(old) - self.cost_of(new)) / ref[m]
                    flow = self.found.flow[:, below].sum(axis=1)
                    left, came = (int(flow[self.home[:, m] == c].sum()) for c in (a, b))
                    rise += self.away_rise(left - came, m)
                if rise < WORTH_A_TRY:
                    yield Idea(rise, level, child=c, parent=other)

    def exchanges(self, level: int) -> Iterator[Idea]:
        """Two siblings merge and another cluster of the level is split."""
        merges = sorted(self.merges(level))[:PAIRED]
        splits = sorted(self.splits(level), key=lambda split: split.rise)[:PAIRED]
        for rise, a, b in merges:
            for split in splits:
                if split.split not in (a, b) and rise + split.rise < WORTH_A_TRY:
                    yield replace(split, rise=rise + split.rise, merged=(a, b))

    def merges(self, level: int) -> Iterator[tuple[float, int, int]]:
        """Pairs of siblings, and by how much J rises if they merge."""
        levels = self.levels
        parent = levels.above(level)
        kept = _kept_by(self.problem, self.found, level)
        first = levels.offsets[level]
        for a in range(first, levels.offsets[level + 1]):
            siblings = first + np.flatnonzero(parent == parent[a - first])
            for b in self.neighbors(a, siblings[siblings > a]):
                pair = self.leaves_of(level, a), self.leaves_of(level, b)
                rise = self.cost_of(np.concatenate(pair)) - sum(map(self.cost_of, pair))
                stays = max(kept[a, a] + kept[b, a], kept[a, b] + kept[b, b])
                away = self.away_rise(int(kept[a, a] + kept[b, b] - stays), level)
                yield rise / self.problem.ref[level] + away, a, b

    def splits(self, level: int) -> Iterator[Idea]:
        """Clusters of that level in two parts."""
        if level == len(self.levels.sizes) - 1:
            yield from self.split_leaves()
            return
        for c in range(self.levels.offsets[level], self.levels.offsets[level + 1]):
            below = self.leaves_of(level, c)
            children = np.unique(self.levels.path[below, level + 1])
            if children.size < 2:
                continue
            own = self.found.flow[self.home[:, level] == c].sum(axis=0)
            whole = self.cost_of(below)
            for child in children[: 1 if children.size == 2 else None]:
                go = self.leaves_of(level + 1, int(child))
                stay = np.setdiff1d(below, go)
                rise = self.cost_of(go) + self.cost_of(stay) - whole
                away = self.away_rise(int(min(own[go].sum(), own[stay].sum())), level)
                yield Idea(
                    rise / self.problem.ref[level] + away, level, split=c, leaves=tuple(go.tolist())
                )

    def split_leaves(self) -> Iterator[Idea]:
        """Leaves, each split between two means as in a fit."""
        units, last = self.units, len(self.levels.sizes) - 1
        table = Table(
            read_only(units.rows), 0, read_only(units.weight), 1.0, units.key, units.spherical
        )
        proposer = Proposer(table, 0.0, self.problem.seed)
        for q, some in enumerate(self.members):
            if some.size < 2:
                continue
            members = some.astype(np.int32)
            low, high = np.full(proposer.d, np.inf), np.full(proposer.d, -np.inf)
            find_bounds(read_only(units.rows[members]), 1.0, low, high)
            part = proposer.survey(members, low, high)
            proposal = proposer.propose(members, part, proposer.pool_of(members)).proposal
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
