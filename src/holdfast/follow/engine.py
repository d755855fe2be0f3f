"""The whole flow: match -> units -> start -> *Rows* and *Structure* -> hierarchy, moves, events."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.centers.keyed_table import Table
from holdfast.follow.assemble import build_followed, give_names
from holdfast.follow.match import Match, group_units, key_rows, match_content, match_ids
from holdfast.follow.report import FollowReport, Staleness, list_events, list_moves
from holdfast.follow.rows import settle_rows
from holdfast.follow.start import latent_gains, place_rows, start_from
from holdfast.follow.state import (
    Floats,
    Ints,
    Levels,
    Numbers,
    Problem,
    Solution,
    Units,
    levels_of,
    solve_as,
)
from holdfast.follow.structure import (
    improve_structure,
    keep_tolerance,
    match_fresh,
    most_allowed,
    retire_names,
)
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.model import Naming
from holdfast.rows.ids import MOST_REMEMBERED, Left, find_ids

Rows = Floats  # or 32-bit ones: means read them as they are

__all__ = ["Followed", "Options", "Yesterday", "follow_rows", "measure_staleness"]


@dataclass(frozen=True, eq=False)
class Yesterday:
    """A fitted model, as following sees it.

    Attributes
    ----------
    hierarchy : Hierarchy
    rows : ndarray of shape (n_rows, n_features)
        Prepared like today's.
    weight : ndarray of shape (n_rows,), dtype float64, or None
    ids : ndarray of shape (n_rows,) or None
    left : Left or None
    spherical : bool
        Whether the distance is the cosine distance.
    seed : int
    bound : bool
        Whether a budget has held rows back.
    least : float or None
        By how much a change of structure must lower J; None if that has to be found.
    """

    hierarchy: Hierarchy
    rows: Rows
    weight: Floats | None
    ids: NDArray[Any] | None
    left: Left | None
    spherical: bool
    seed: int
    bound: bool = False
    least: float | None = None


@dataclass(frozen=True)
class Options:
    """Levels, price, budget and tolerance; `polish` moves rows although they are those of yesterday."""

    levels: tuple[int, ...]
    price: float
    budget: float | None = None
    tolerance: float | None = None
    polish: bool = False


@dataclass(frozen=True, eq=False)
class Followed:
    """How to build the followed hierarchy, and what following did."""

    build: Callable[[], Hierarchy]
    moves: NDArray[Any]
    events: NDArray[Any]
    report: FollowReport
    left: Left | None
    least: float


@dataclass(frozen=True, eq=False)
class _Today:
    """Today's rows of positive weight, matched."""

    table: Table
    numbers: Ints  # of these rows
    match: Match
    units: Units
    of_row: Numbers
    first_row: Ints
    ids: NDArray[Any] | None
    is_same: bool  # rows and weights are those of yesterday
    least: float  # by how much a change of structure must lower J


def follow_rows(
    yesterday: Yesterday,
    rows: Rows,
    weight: Floats | None,
    ids: NDArray[Any] | None,
    options: Options,
    fit: Callable[[], Hierarchy],
) -> Followed:
    """Follow a model to today's rows.

    `fit` makes a new fit of today's rows with as many centers as the finest level has clusters. It
    is called if there is a tolerance, or if no row was there yesterday.
    """
    before = levels_of(yesterday.hierarchy, options.levels)
    today = _match(yesterday, before, rows, weight, ids, options.price)
    if options.polish:
        units = replace(today.units, inertia=np.zeros_like(today.units.inertia))
        today = replace(today, units=units, is_same=False, least=0.0)
    limit = None
    if options.budget is not None:
        limit = math.floor(options.budget * today.units.n_surviving + 1e-9)
    centers = _center_points(yesterday, options.levels[-1], today.table)
    leaf = place_rows(today.units, before, centers)
    price = np.full(len(options.levels), options.price)
    problem, start = start_from(
        today.units, before, leaf, price=price, limit=limit, seed=yesterday.seed
    )
    problem = replace(problem, least=today.least)
    outcome = _decide(today, before, problem, start, options, fit)
    finish = _Finish(yesterday, today, before, problem, rows)
    return finish.describe(start, outcome, options)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """The solution that was chosen, and what it was compared with."""

    found: Solution
    price: Floats
    fresh_cost: Floats
    exceeded: bool
    unlimited: Solution | None = None  # what would come next without the budget; none: nothing
    parent: Numbers | None = None  # of the labels of a new fit, if that was taken


def _decide(
    today: _Today,
    before: Levels,
    problem: Problem,
    start: Solution,
    options: Options,
    fit: Callable[[], Hierarchy],
) -> _Outcome:
    """Let J fall, keep the tolerance, and see whether the budget binds."""
    found, price, exceeded, parent = start, problem.price, False, None
    unknown = np.full(len(before.sizes), np.nan)
    if today.units.n_surviving == 0:
        fitted = fit()
        fresh = match_fresh(problem, before, fitted, today.first_row)
        return _Outcome(fresh, price, fresh.cost, False, parent=fitted.parent)
    if not today.is_same:
        found = improve_structure(problem, settle_rows(problem, start))
        found = retire_names(problem, found)
    fresh_cost = unknown
    if options.tolerance is not None:
        fitted = fit()
        fresh = match_fresh(problem, before, fitted, today.first_row)
        fresh_cost = fresh.cost
        found, price = keep_tolerance(problem, found, fresh, options.tolerance)
        exceeded = bool((found.cost > most_allowed(fresh, options.tolerance)).any())
        parent = fitted.parent if found is fresh else None
    if problem.limit is None or today.is_same:
        return _Outcome(found, price, fresh_cost, exceeded, None, parent)
    free = replace(problem, limit=None, price=price)
    now = solve_as(free, found.levels, found.leaf)
    after = improve_structure(free, settle_rows(free, now))
    unlimited = after if after.value < now.value else None
    return _Outcome(found, price, fresh_cost, exceeded, unlimited, parent)


def _match(
    yesterday: Yesterday,
    before: Levels,
    rows: Rows,
    weight: Floats | None,
    ids: NDArray[Any] | None,
    price: float,
) -> _Today:
    """Key today's rows, and find each among yesterday's or among those that left."""
    present = np.ones(rows.shape[0], dtype=np.bool_) if weight is None else weight > 0.0
    numbers = np.flatnonzero(present)
    all_present = numbers.size == rows.shape[0]
    shown = rows if all_present else rows[numbers]
    counts = None if weight is None else weight[numbers]
    table = key_rows(shown, counts, yesterday.spherical, yesterday.seed)
    own = None if ids is None else ids[numbers]
    mass = table.weight if table.weight.size else np.ones(numbers.size, dtype=np.int64)
    here = np.ones(numbers.size) if counts is None else counts
    match, same, least = _find(yesterday, before, table, mass, here, own, price)
    match = _remember(yesterday, before, match, table.key if own is None else own)
    same = same and match.left.size == 0 and not match.changed.any()
    units, of_row, lead = group_units(table, match)
    return _Today(table, numbers, match, units, of_row, numbers[lead], own, same, least)


def _find(
    yesterday: Yesterday,
    before: Levels,
    table: Table,
    mass: Ints,
    here: Floats,
    own: NDArray[Any] | None,
    price: float,
) -> tuple[Match, bool, float]:
    """Find today's rows among yesterday's rows of positive weight; whether weights are the same."""
    leaf, rows, weight = yesterday.hierarchy.cut(before.sizes[-1]), yesterday.rows, yesterday.weight
    known, ids, chosen = np.ones(leaf.size), yesterday.ids, np.arange(leaf.size)
    if weight is not None:
        chosen = np.flatnonzero(weight > 0.0)
        known, leaf, rows = weight[chosen], leaf[chosen], rows[chosen]
        ids = None if ids is None else ids[chosen]
    was = key_rows(rows, known, yesterday.spherical, yesterday.seed)
    latent, least = np.zeros(leaf.size), 0.0
    if not yesterday.bound:  # a budget that held rows back says nothing about their reasons
        latent, least = latent_gains(was, leaf, before, price, yesterday.least)
    if ids is not None and own is not None:
        place = find_ids(own, ids, unique=True)
        match = match_ids(place, leaf, mass, table.key, was.key, latent)
        same = bool((place >= 0).all() and np.array_equal(known[place], here))
    else:
        # Today's unit of weight may differ from yesterday's.
        scaled = np.rint(known / table.weight_unit).astype(np.int64)
        match = match_content(table.key, mass, was.key, leaf, scaled, latent)
        same = bool((match.surviving == mass).all() and scaled.sum() == mass.sum())
    return replace(match, left=chosen[match.left]), same, least


def _remember(yesterday: Yesterday, before: Levels, match: Match, who: NDArray[Any]) -> Match:
    """Give rows that return their old leaf, if it is still there."""
    left = yesterday.left
    if (
        left is None
        or left.ids.size == 0
        or left.level != before.sizes[-1]
        or left.ids.dtype.kind != who.dtype.kind
    ):
        return match
    new = np.flatnonzero(match.origin < 0)
    place = find_ids(who[new], left.ids)
    leaves = before.names[before.path[:, -1]]
    order = np.argsort(leaves, kind="stable")
    name = left.names[place]
    at = np.minimum(np.searchsorted(leaves[order], name), leaves.size - 1)
    known = (place >= 0) & (leaves[order[at]] == name)
    origin, returning = match.origin.copy(), match.returning.copy()
    origin[new[known]] = order[at[known]]
    returning[new[known]] = True
    return replace(match, origin=origin, returning=returning)


def _center_points(yesterday: Yesterday, k: int, table: Table) -> Floats:
    rows = yesterday.rows[yesterday.hierarchy.center_indices[:k]]
    rows = np.asarray(rows, dtype=np.float64)
    if yesterday.spherical:
        rows = np.asarray(key_rows(rows, None, True, 0).rows, dtype=np.float64)
    points: Floats = np.asarray(rows, dtype=np.float64) * np.float64(table.factor)
    return points


def _unchanged(
    yesterday: Yesterday, today: _Today, before: Levels, start: Solution, rows: Rows
) -> Hierarchy:
    """Yesterday's hierarchy for the same rows, perhaps in another order."""
    hierarchy = yesterday.hierarchy.first(before.sizes[-1])
    label = np.empty(rows.shape[0], dtype=np.int32)
    label[today.numbers] = start.leaf[today.of_row]
    center = np.empty(hierarchy.n_centers, dtype=np.int64)
    keys = key_rows(
        yesterday.rows[hierarchy.center_indices], None, yesterday.spherical, yesterday.seed
    ).key
    order = np.lexsort((today.units.origin, today.units.key))
    pairs = list(
        zip(today.units.key[order].tolist(), today.units.origin[order].tolist(), strict=True)
    )
    place = {pair: int(u) for pair, u in zip(pairs, order, strict=True)}
    for t, key in enumerate(keys.tolist()):
        center[t] = today.first_row[place[key, t]]
    absent = np.ones(rows.shape[0], dtype=np.bool_)
    absent[today.numbers] = False
    if absent.any():
        label[absent] = hierarchy.locator.finest(rows[absent])
    for array in (label, center):
        array.flags.writeable = False
    naming = _naming_of(before, hierarchy)
    return replace(hierarchy, center_indices=center, finest=label, naming=naming)


def _naming_of(levels: Levels, hierarchy: Hierarchy) -> Naming:
    """Collect the names of the levels that are followed now."""
    names = tuple(hierarchy.names(k) for k in levels.sizes)
    return Naming(levels.sizes, names, _next_name(hierarchy))


def _next_name(hierarchy: Hierarchy) -> int:
    return hierarchy.n_centers if hierarchy.naming is None else hierarchy.naming.next_name


@dataclass(frozen=True, eq=False)
class _Finish:
    """Turns a solution into a hierarchy and lists of what happened."""

    yesterday: Yesterday
    today: _Today
    before: Levels
    problem: Problem
    rows: Rows

    def describe(self, start: Solution, outcome: _Outcome, options: Options) -> Followed:
        """Name the clusters, build the hierarchy, and list what happened."""
        today, before = self.today, self.before
        named, next_name = give_names(outcome.found.levels, _next_name(self.yesterday.hierarchy))
        found = replace(outcome.found, levels=named)
        if found.moved.any() or not today.is_same:
            given = (self.yesterday, today, before, self.problem, self.rows)
            build = partial(_build, *given, found, next_name, outcome.parent)
        else:
            build = partial(_unchanged, self.yesterday, today, before, start, self.rows)
        moves = self.moves((before, today.units.origin), found)
        following = moves[:0]
        if outcome.unlimited is not None:
            later = replace(
                outcome.unlimited, levels=give_names(outcome.unlimited.levels, next_name)[0]
            )
            following = self.moves((found.levels, found.leaf), later)
        scale = math.ldexp(today.table.weight_unit, -today.table.exponent)
        surviving = today.match.surviving > 0
        report = FollowReport(
            levels=named.sizes,
            moved=found.moved / max(today.units.n_surviving, 1),
            cost=found.cost * scale,
            cost_of_staying=start.cost * scale,
            fresh_cost=outcome.fresh_cost * scale,
            price=outcome.price,
            budget=options.budget,
            budget_binds=outcome.unlimited is not None or outcome.exceeded,
            tolerance_exceeded=outcome.exceeded,
            next_moves=following,
            n_survivors=int(np.count_nonzero(surviving)),
            n_new=int(np.count_nonzero(~surviving)),
            n_left=int(today.match.left.size),
        )
        left = _who_left(self.yesterday, today, before)
        # What a fit left undone is no reason to change structure, until structure changes anyway.
        same = np.array_equal(before.path, named.path) and np.array_equal(before.names, named.names)
        least = today.least if same else 0.0
        return Followed(build, moves, self.events(found), report, left, least)

    def moves(self, was: tuple[Levels, Numbers], found: Solution) -> NDArray[Any]:
        """List who moves from one assignment to another."""
        today = self.today
        return list_moves(
            *(today.ids, today.numbers, today.units, today.of_row, today.match, was),
            *((found.levels, found.leaf), found.points, math.ldexp(1.0, -today.table.exponent)),
        )

    def events(self, found: Solution) -> NDArray[Any]:
        """Tell what became of each cluster."""
        before, unit = self.before, self.today.table.weight_unit
        leaf = self.yesterday.hierarchy.cut(before.sizes[-1])
        known = np.bincount(leaf, weights=self.yesterday.weight, minlength=before.sizes[-1]) * 1.0
        sizes = [
            np.bincount(before.path[:, level] - before.offsets[level], known).astype(np.float64)
            for level in range(len(before.sizes))
        ]
        flow = self.problem.flow(found.leaf, before.sizes[-1], self.today.units.counted)
        after = np.asarray(found.weights * unit, dtype=np.float64)
        return list_events(sizes, before, found.levels, flow, after, unit)


def _build(
    yesterday: Yesterday,
    today: _Today,
    before: Levels,
    problem: Problem,
    rows: Rows,
    found: Solution,
    next_name: int,
    parent: Numbers | None,
) -> Hierarchy:
    same = np.array_equal(before.names, found.levels.names)
    if parent is None and same and np.array_equal(before.path, found.levels.path):
        parent = yesterday.hierarchy.parent[: before.sizes[-1]]
    hierarchy = build_followed(
        problem, found, parent, today.of_row, today.first_row, next_name,
        today.table.exponent, today.table.weight_unit,
    )  # fmt: skip
    if today.numbers.size == rows.shape[0]:
        return hierarchy
    finest = np.empty(rows.shape[0], dtype=np.int32)
    finest[today.numbers] = hierarchy.finest
    absent = np.ones(rows.shape[0], dtype=np.bool_)
    absent[today.numbers] = False
    finest[absent] = hierarchy.locator.finest(rows[absent])
    finest.flags.writeable = False
    return replace(hierarchy, finest=finest)


def _who_left(yesterday: Yesterday, today: _Today, before: Levels) -> Left | None:
    """Remember who left, the latest first; forget who returned and who left long ago."""
    level, gone = before.sizes[-1], today.match.left
    leaf = yesterday.hierarchy.cut(level)[gone]
    names = before.names[before.path[leaf, -1]]
    back = today.match.surviving == 0  # who left before yesterday is not among the others
    if yesterday.ids is not None and today.ids is not None:
        ids, here = yesterday.ids[gone], today.ids[back]
    else:
        rows = yesterday.rows[gone]
        ids, here = _content_keys(yesterday, rows), today.table.key[back]
    if today.ids is not None and yesterday.ids is None:
        return None  # from now on rows have ids
    order = np.argsort(ids, kind="stable")
    ids, names = ids[order], names[order]
    old = yesterday.left
    if old is not None and old.level == level and old.ids.dtype.kind == ids.dtype.kind:
        still = (find_ids(old.ids, here) < 0) & (find_ids(old.ids, ids) < 0)
        ids = np.concatenate((ids, old.ids[still]))
        names = np.concatenate((names, old.names[still]))
    most = min(MOST_REMEMBERED, today.numbers.size)
    return Left(ids[:most], names[:most], level)


def _content_keys(yesterday: Yesterday, rows: Rows) -> NDArray[np.uint64]:
    if rows.shape[0] == 0:
        return np.empty(0, dtype=np.uint64)
    return key_rows(rows, None, yesterday.spherical, yesterday.seed).key


def measure_staleness(
    yesterday: Yesterday,
    rows: Rows,
    weight: Floats | None,
    leaf: Numbers,
    levels: tuple[int, ...],
    fit: Callable[[], Hierarchy],
) -> Staleness:
    """Compare the clusters of rows, given by their leaves, with a new fit of the same rows."""
    before = levels_of(yesterday.hierarchy, levels)
    present = np.flatnonzero(np.ones(rows.shape[0]) if weight is None else weight > 0.0)
    counts = None if weight is None else weight[present]
    table = key_rows(rows[present], counts, yesterday.spherical, yesterday.seed)
    mass = table.weight if table.weight.size else np.ones(present.size, dtype=np.int64)
    nobody = np.zeros(present.size, dtype=np.bool_)
    match = Match(
        leaf[present], mass, nobody, np.empty(0, np.int64), nobody, np.zeros(present.size)
    )
    units, _, lead = group_units(table, match)
    price, known = np.zeros(len(levels)), before.names[before.path]
    problem = Problem(units, known, np.ones(len(levels)), price, None, yesterday.seed, price)
    own = solve_as(problem, before, units.origin)
    fresh = match_fresh(problem, before, fit(), present[lead])
    ratio = np.where(fresh.cost > 0.0, own.cost, 1.0) / np.where(fresh.cost > 0.0, fresh.cost, 1.0)
    return Staleness(levels, ratio, fresh.moved / units.n_surviving)
