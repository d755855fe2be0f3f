"""What following did: who moved where and why, what became of each cluster, how far a new fit is."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from holdfast._machine.jit import Floats, Ints, Ints32
from holdfast.follow.match import Today, Yesterday, group_staying, key_rows
from holdfast.follow.state import NEW, Levels, Problem, Solution, Units, levels_of, solve_as
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import find_ids

REASONS = ("values changed", "new parent", "split", "merge", "boundary moved")
"""Why a row has moved: the first that holds."""

EVENTS = ("kept", "grown", "shrunk", "split", "merged", "new", "ended")
"""What can become of a cluster."""

EVENT_DTYPE = np.dtype(
    [("level", np.int32), ("name", np.int64), ("event", "U8"), ("other", np.int64),
     ("size_before", np.float64), ("size_after", np.float64)]
)  # fmt: skip
_MOVE = [("level", "<i4"), ("from", "<i8"), ("to", "<i8"), ("reason", "<U14"), ("gain", "<f8")]

_NOTABLE = 0.1  # of its size, from which a cluster has grown or shrunk


@dataclass(frozen=True, eq=False)
class FollowReport:
    """What following cost and moved; arrays have one entry per level.

    Attributes
    ----------
    levels : tuple of int
        The numbers of clusters that were followed.
    moved : ndarray of dtype float64
        Fraction of the surviving weight that changed its cluster.
    cost : ndarray of dtype float64
        Sum of distances to the means of the clusters.
    cost_of_staying : ndarray of dtype float64
        The cost if no surviving row had moved.
    fresh_cost : ndarray of dtype float64
        The cost of a new fit; NaN if none was made.
    price : ndarray of dtype float64
        The price that was used: other than asked for if there is a tolerance.
    budget : float or None
    budget_binds : bool
        Whether more rows would have moved without the budget.
    tolerance_exceeded : bool
        Whether a level costs more than the tolerance over a new fit.
    next_moves : structured ndarray
        Like ``moves_``: what would move next if the budget did not bind.
    n_survivors, n_new, n_left : int
        Rows in both tables, only in today's, only in yesterday's.
    """

    levels: tuple[int, ...]
    moved: Floats
    cost: Floats
    cost_of_staying: Floats
    fresh_cost: Floats
    price: Floats
    budget: float | None
    budget_binds: bool
    tolerance_exceeded: bool
    next_moves: NDArray[Any]
    n_survivors: int
    n_new: int
    n_left: int


@dataclass(frozen=True, eq=False)
class FollowPlan:
    """What `follow` would do.

    Attributes
    ----------
    report : FollowReport
        Fractions that would move, and costs.
    moves, events : structured ndarray
        Like ``moves_`` and ``events_``.
    """

    report: FollowReport
    moves: NDArray[Any]
    events: NDArray[Any]

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of clusters."""
        return self.report.levels

    @property
    def moved(self) -> Floats:
        """Fraction of the surviving weight that would change its cluster, at each level."""
        return self.report.moved

    @property
    def cost(self) -> Floats:
        """Cost of each level."""
        return self.report.cost


@dataclass(frozen=True, eq=False)
class Staleness:
    """How far a model is from a new fit; arrays have one entry per level.

    Attributes
    ----------
    levels : tuple of int
        The numbers of clusters.
    cost : ndarray of dtype float64
        The cost, divided by that of a new fit of the same rows.
    moved : ndarray of dtype float64
        Fraction of the weight that a new fit would move to another cluster, with names matched.
    """

    levels: tuple[int, ...]
    cost: Floats
    moved: Floats


def measure_staleness(
    yesterday: Yesterday,
    rows: Floats,
    weight: Floats | None,
    leaf: Ints32,
    levels: tuple[int, ...],
    fit: Callable[[], Hierarchy],
) -> Staleness:
    """Compare the clusters of rows, given by their leaves, with a new fit of the same rows."""
    before = levels_of(yesterday.hierarchy, levels)
    present = np.flatnonzero(np.ones(rows.shape[0]) if weight is None else weight > 0.0)
    counts = None if weight is None else weight[present]
    table = key_rows(rows[present], counts, yesterday.spherical, yesterday.seed)
    units, _, lead = group_staying(table, leaf[present])
    problem = priceless(units, before, yesterday.seed)
    own = solve_as(problem, before, units.origin)
    fresh = match_fresh(problem, before, fit(), present[lead])
    ratio = np.where(fresh.cost > 0.0, own.cost, 1.0) / np.where(fresh.cost > 0.0, fresh.cost, 1.0)
    return Staleness(levels, ratio, fresh.moved / units.n_surviving)


def match_fresh(problem: Problem, before: Levels, fresh: Hierarchy, first_row: Ints) -> Solution:
    """Take the levels of a new fit; of its clusters and yesterday's, those that share most match."""
    levels = levels_of(fresh, before.sizes)
    leaf: Ints32 = fresh.cut(before.sizes[-1])[first_row]
    flow = problem.flow(leaf, before.sizes[-1], problem.units.counted)
    names = np.full(levels.names.size, NEW, dtype=np.int64)
    for level in range(len(before.sizes)):
        first = before.offsets[level]
        for a, b in partners_of(_shared(before, levels, level, flow)).items():
            names[first + b] = before.names[first + a]
    return solve_as(problem, replace(levels, names=names), leaf)


def priceless(units: Units, levels: Levels, seed: int) -> Problem:
    """State the problem of moving without a price, to compare clusters that are given."""
    count = len(levels.sizes)
    nothing = np.zeros(count)
    return Problem(units, levels.names[levels.path], np.ones(count), nothing, None, seed, nothing)


def _shared(before: Levels, after: Levels, level: int, flow: Ints) -> Ints:
    """Weight in each pair of clusters of a level, from that in each pair of leaves."""
    first, size = before.offsets[level], before.sizes[level]
    rows, columns = before.path[:, level] - first, after.path[:, level] - first
    shared = np.zeros((size, size), dtype=np.int64)
    np.add.at(shared, (rows[:, None], columns[None, :]), flow)
    return shared


def list_moves(today: Today, old: Levels, leaf: Ints32, found: Solution) -> NDArray[Any]:
    """List the surviving rows that had another name in the leaves of units before (-1: new), level by level."""
    names = today.numbers if today.ids is None else today.ids
    new, after, units, match = found.levels, found.leaf, today.units, today.match
    factor, parts = math.ldexp(1.0, -today.table.exponent), []
    # Who stays in a leaf whose clusters keep their names has not moved at any level.
    was, now = old.names[old.path], new.names[new.path]
    away = (leaf >= 0) & ((leaf != after) | (was != now).any(axis=1)[after])
    looked_at = np.flatnonzero(away[today.of_row] & (match.surviving > 0))
    for level, k in enumerate(new.sizes):
        u = today.of_row[looked_at]
        moves = was[leaf[u], level] != now[after[u], level]
        moved, u = looked_at[moves], u[moves]
        part = np.empty(moved.size, dtype=[("id", names.dtype), *_MOVE])
        part["id"], part["level"] = names[moved], k
        part["from"], part["to"] = was[leaf[u], level], now[after[u], level]
        here = slice(*new.offsets[level : level + 2])
        place = find_ids(part["from"], new.names[here])
        alive, origin = place >= 0, here.start + place
        started = ~np.isin(part["to"], old.names[here])
        same_leaf = now[after[u], -1] == was[leaf[u], -1]
        part["reason"] = np.select(
            [match.changed[moved], same_leaf, started, ~alive], REASONS[:4], REASONS[4]
        )
        gain = _distances(units, u, found.points[origin])
        gain -= _distances(units, u, found.points[new.path[after[u], level]])
        part["gain"] = np.where(alive, gain * factor, np.nan)
        parts.append(part)
    return np.concatenate(parts)


def list_events(
    yesterday: Yesterday, today: Today, before: Levels, problem: Problem, found: Solution
) -> NDArray[Any]:
    """Tell what became of each cluster, level by level: yesterday's in their order, then new ones."""
    events, after, unit = [], found.levels, today.table.weight_unit
    leaf = yesterday.hierarchy.cut(before.sizes[-1])
    known = np.bincount(leaf, weights=yesterday.weight, minlength=before.sizes[-1]) * 1.0
    flow = problem.flow(found.leaf, before.sizes[-1], today.units.counted)
    for level, k in enumerate(after.sizes):
        first, last = before.offsets[level : level + 2]
        old, new = before.names[first:last], after.names[first:last]
        table: Floats = _shared(before, after, level, flow) * np.float64(unit)
        sizes: Floats = np.bincount(before.path[:, level] - first, known).astype(np.float64)
        sizes_after: Floats = np.asarray(found.weights[first:last] * unit, dtype=np.float64)
        place = {name: j for j, name in enumerate(new.tolist())}
        partner = {i: place[name] for i, name in enumerate(old.tolist()) if name in place}
        for i, j, event, other in name_events(table, sizes, sizes_after, partner):
            now = 0.0 if j < 0 else float(sizes_after[j])
            if i < 0:
                origin = -1 if other < 0 else int(old[other])
                events.append((k, int(new[j]), event, origin, 0.0, now))
            else:
                into = -1 if other < 0 else int(new[other])
                events.append((k, int(old[i]), event, into, float(sizes[i]), now))
    return np.array(events, dtype=EVENT_DTYPE)


@dataclass(frozen=True, eq=False)
class ClusterMatch:
    """A one-to-one matching of clusters with the largest overlap."""

    before: NDArray[np.int64]  # matched clusters, as rows and columns of the table
    after: NDArray[np.int64]
    matched: float  # total overlap: the number, or weight, of the rows in common


def match_clusters(table: NDArray[Any]) -> ClusterMatch:
    """Match clusters one to one with the largest total overlap, in O(k^3) time at worst.

    `table` has the number, or weight, of the rows in each pair of clusters.
    """
    before, after = linear_sum_assignment(table, maximize=True)
    return ClusterMatch(before, after, table[before, after].sum().item())


def partners_of(table: NDArray[Any]) -> dict[int, int]:
    """Cluster before -> the cluster after that it is matched to, where they share any rows."""
    match = match_clusters(table)
    pairs = zip(match.before.tolist(), match.after.tolist(), strict=True)
    return {a: b for a, b in pairs if table[a, b] > 0}


def name_events(
    shared: Floats, sizes_before: Floats, sizes_after: Floats, partner: Mapping[int, int]
) -> Iterator[tuple[int, int, str, int]]:
    """Name what became of each cluster, by most of its rows or a tenth of its size.

    Parameters
    ----------
    shared : ndarray of shape (n_before, n_after), dtype float64
        Weight of the rows in each pair of clusters.
    sizes_before, sizes_after : ndarray of shape (n_before,) and (n_after,), dtype float64
    partner : mapping of int to int
        Clusters that are the same before and after.

    Yields
    ------
    before, after : int
        -1 where the cluster has no partner.
    event : str
    other : int
        What split off, or what the cluster merged into, after; or where a new one comes from, before.
    """
    # A cluster that began mostly with rows of another one was split off from it.
    origin = {}
    for j in sorted(set(range(sizes_after.size)) - set(partner.values())):
        i = int(shared[:, j].argmax())
        origin[j] = i if 2.0 * shared[i, j] >= sizes_after[j] > 0.0 else -1
    for i, size in enumerate(sizes_before.tolist()):
        if i not in partner:
            joined = 2.0 * shared[i].sum() >= size > 0.0
            other = int(shared[i].argmax()) if joined else -1
            yield i, -1, "merged" if joined else "ended", other
            continue
        now = sizes_after[partner[i]]
        parts = [j for j, source in origin.items() if source == i]
        grown, shrunk = now > (1 + _NOTABLE) * size, now < (1 - _NOTABLE) * size
        event = "split" if parts else "grown" if grown else "shrunk" if shrunk else "kept"
        for part in parts or [-1]:
            yield i, partner[i], event, part
    for j, i in origin.items():
        yield -1, j, "new", i


def _distances(units: Units, chosen: Ints32, points: Floats) -> Floats:
    total = np.zeros(chosen.size)
    for column, place in zip(units.rows[chosen].T, points.T, strict=True):
        total += (column - place) ** 2
    return 0.5 * total if units.spherical else np.sqrt(total)
