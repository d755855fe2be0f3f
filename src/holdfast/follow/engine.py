"""The whole flow: match -> units -> start -> *Rows* and *Structure* -> hierarchy, moves, events.

*Guard*: no level costs more than the tolerance over a new fit, unless the budget forbids it. Within the
tolerance, as few rows as possible move.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints32
from holdfast.centers._distance_kernels import unit_rows
from holdfast.centers.keyed_table import Table
from holdfast.follow.assemble import (
    build_changed,
    build_unchanged,
    give_names,
    names_by_label,
    next_name_of,
)
from holdfast.follow.match import (
    Known,
    Today,
    Yesterday,
    list_known,
    match_rows,
    who_left,
)
from holdfast.follow.report import FollowReport, list_events, list_moves, match_fresh, priceless
from holdfast.follow.start import latent_gains, place_rows, start_from
from holdfast.follow.state import Levels, Problem, Solution, levels_of, solve_as
from holdfast.follow.structure import improve_structure, retire_names, settle_rows
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import DepartedRows

Rows = Floats  # or 32-bit ones: means read them as they are

RESERVE = 3.0
"""The part of the tolerance that is left for later releases, for each unit of the fraction that would move."""

HIGHEST, HALVINGS = 1.0, 5
"""The price is raised at most to this, and the range up to it is halved so often."""

LADDER, LAST, LADDER_HALVINGS = (0.7, 0.5, 0.3, 0.15, 0.0), (0.5, 0.0), 3
"""Parts of the price where a level costs too much, then at all levels; how often the step is halved."""

_ROUNDING = 1e-9


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
    left: DepartedRows | None
    least: float


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
    known = list_known(yesterday, before.sizes[-1])
    today = match_rows(yesterday, before, known, rows, weight, ids)
    if options.polish:
        today, least = replace(today, is_same=False), 0.0
    else:
        today, least = _hold_back(yesterday, known, today, before, options.price)
    limit = None
    if options.budget is not None:
        limit = math.floor(options.budget * today.units.n_surviving + 1e-9)
    centers = _center_points(yesterday, options.levels[-1], today.table)
    leaf = place_rows(today.units, before, centers)
    price = np.full(len(options.levels), options.price)
    problem, start = start_from(
        today.units, before, leaf, price=price, limit=limit, seed=yesterday.seed
    )
    problem = replace(problem, least=least)
    outcome = _decide(today, before, problem, start, options, fit)
    return _describe(yesterday, today, before, problem, rows, start, outcome, options.budget)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """The solution that was chosen, and what it was compared with."""

    found: Solution
    price: Floats
    fresh_cost: Floats
    exceeded: bool = False
    unlimited: Solution | None = None  # what would come next without the budget; none: nothing
    parent: Ints32 | None = None  # of the labels of a new fit, if that was taken


def _decide(
    today: Today,
    before: Levels,
    problem: Problem,
    start: Solution,
    options: Options,
    fit: Callable[[], Hierarchy],
) -> _Outcome:
    """Let J fall, keep the tolerance, and see whether the budget binds."""
    idle, nobody = today.is_same, today.units.n_surviving == 0
    if options.tolerance is None and not nobody:
        found = start if today.is_same else _follow_at(problem, start, problem.price)
        outcome = _Outcome(found, problem.price, np.full(len(before.sizes), np.nan))
    else:
        fitted = fit()
        fresh = match_fresh(problem, before, fitted, today.first_row)
        if nobody:
            return _Outcome(fresh, problem.price, fresh.cost, parent=fitted.parent)
        assert options.tolerance is not None
        allowed, settled = _Allowed(fresh, options.tolerance), start
        if not allowed.spared(start):  # otherwise nobody moves, whatever would move at the price
            settled = start if today.is_same else _follow_at(problem, start, problem.price)
            moved = int(settled.moved.sum()) / (settled.moved.size * today.units.n_surviving)
            allowed = replace(allowed, used=max(0.0, 1.0 - RESERVE * moved))
        found, price = _use_tolerance(problem, start, settled, allowed)
        parent = fitted.parent if found is fresh else None
        outcome = _Outcome(found, price, fresh.cost, not allowed.kept(found), None, parent)
        idle = idle or allowed.spared(found)
    if problem.limit is None or idle:
        return outcome
    free = replace(problem, limit=None, price=outcome.price)
    now = solve_as(free, found.levels, found.leaf)
    after = improve_structure(free, settle_rows(free, now))
    return replace(outcome, unlimited=after if after.value < now.value else None)


def _follow_at(problem: Problem, start: Solution, price: Floats) -> Solution:
    """Let J fall at a price."""
    return retire_names(problem, _settle(problem, start, price))


def _settle(
    problem: Problem, found: Solution, price: Floats, enough: Floats | None = None
) -> Solution:
    """Let J fall at a price, but change structure only until all levels cost little enough."""
    priced = replace(problem, price=price)
    settled = settle_rows(priced, solve_as(priced, found.levels, found.leaf))
    return improve_structure(priced, settled, enough)


@dataclass(frozen=True, eq=False)
class _Allowed:
    """What a tolerance allows, relative to a new fit.

    The more rows would move at the price, the sooner a level that has reached its limit would have to move
    many at once. So a part of the tolerance is left for later releases; the rest may be `used` today.
    """

    fresh: Solution
    tolerance: float
    used: float = 0.0

    @cached_property
    def most(self) -> Floats:
        """The highest cost of each level."""
        most: Floats = self.fresh.cost * (1.0 + self.tolerance + _ROUNDING)
        return most

    def kept(self, found: Solution) -> bool:
        """Whether no level costs more than the tolerance allows."""
        return bool((found.cost <= self.most).all())

    def spared(self, found: Solution) -> bool:
        """Whether it is kept, and enough of it left for later releases, in the mean over levels."""
        pairs = zip(found.cost.tolist(), self.fresh.cost.tolist(), strict=True)
        ratios = [cost / fresh for cost, fresh in pairs if fresh > 0.0]
        return self.kept(found) and sum(ratios) <= len(ratios) * (1.0 + self.used * self.tolerance)


def _use_tolerance(
    problem: Problem, start: Solution, settled: Solution, allowed: _Allowed
) -> tuple[Solution, Floats]:
    """Move as few rows as the tolerance allows; the price of each level in the end.

    `settled` is what following does at the price.
    """
    price, highest = problem.price, np.maximum(problem.price, HIGHEST)
    if allowed.spared(start):
        return retire_names(problem, start), highest
    if not allowed.kept(settled):
        return _lower_price(problem, settled, allowed)
    if not allowed.spared(settled):
        return settled, price
    follow = partial(_follow_at, problem, start)
    return _search((settled, price), highest, follow, allowed.spared, HALVINGS)


def _lower_price(problem: Problem, found: Solution, allowed: _Allowed) -> tuple[Solution, Floats]:
    """Lower the price, with changes of structure or without: what moves least; at last the new fit."""
    tried = [_descend(problem, found, allowed, most) for most in (allowed.most, np.array(np.inf))]
    kept = [each for each in tried if allowed.kept(each[0])]
    if kept:
        return min(kept, key=lambda each: int(each[0].moved.sum()))
    if problem.limit is None or (allowed.fresh.moved <= problem.limit).all():
        return allowed.fresh, np.zeros_like(problem.price)
    return tried[0]


def _descend(
    problem: Problem, found: Solution, allowed: _Allowed, enough: Floats
) -> tuple[Solution, Floats]:
    """Lower the price where a level costs too much, then at all levels, until the tolerance is kept."""
    price, stage = problem.price, problem
    for rung, part in enumerate((*LADDER, *LAST)):
        over = found.cost > allowed.most
        if rung >= len(LADDER):  # what was no reason yesterday is one now
            units = replace(problem.units, inertia=np.zeros_like(problem.units.inertia))
            stage, over = replace(problem, units=units, least=0.0), np.ones_like(over)
        lower = np.where(over, np.minimum(price, problem.price * part), price)
        tried = _settle(stage, found, lower, enough)
        if allowed.kept(tried):
            settle = partial(_settle, stage, found, enough=enough)
            return _search((tried, lower), price, settle, allowed.kept, LADDER_HALVINGS)
        found, price = tried, lower
    return found, price


def _search(
    known: tuple[Solution, Floats],
    high: Floats,
    follow: Callable[[Floats], Solution],
    suits: Callable[[Solution], bool],
    times: int,
) -> tuple[Solution, Floats]:
    """Look between a price that suits and a higher one; of what suits, take what moves least."""
    found, price = known
    low = price
    for _ in range(times):
        middle = 0.5 * (low + high)
        tried = follow(middle)
        if not suits(tried):
            high = middle
            continue
        low = middle
        if int(tried.moved.sum()) < int(found.moved.sum()):
            found, price = tried, middle
    return found, price


def name_fitted(
    yesterday: Yesterday,
    rows: Rows,
    weight: Floats | None,
    ids: NDArray[Any] | None,
    fitted: Hierarchy,
) -> tuple[Hierarchy, DepartedRows | None]:
    """Give a fit the names of the clusters before it, end it at the largest level, and tell who left."""
    assert yesterday.hierarchy.naming is not None
    levels = [k for k in yesterday.hierarchy.naming.levels if k <= fitted.n_centers]
    before = levels_of(yesterday.hierarchy, tuple(levels or [fitted.n_centers]))
    known = list_known(yesterday, before.sizes[-1])
    today = match_rows(yesterday, before, known, rows, weight, ids)
    problem = priceless(today.units, before, yesterday.seed)
    matched = retire_names(problem, match_fresh(problem, before, fitted, today.first_row))
    named, next_name = give_names(matched.levels, next_name_of(yesterday.hierarchy, before))
    naming = names_by_label(named, named.path, next_name)
    hierarchy = replace(fitted.first(before.sizes[-1]), naming=naming)
    return hierarchy, who_left(yesterday, today, before)


def _hold_back(
    yesterday: Yesterday, known: Known, today: Today, before: Levels, price: float
) -> tuple[Today, float]:
    """Make units pay what moving would have saved yesterday; by how much structure must lower J."""
    if yesterday.bound:  # a budget that held rows back says nothing about their reasons
        return today, 0.0
    same, least = today.match.place >= 0, yesterday.least
    if least is not None and not same.any():
        return today, least
    place, inertia = today.match.place[same], np.zeros(today.units.inertia.size)
    asked = np.zeros(known.leaf.size, dtype=np.bool_)
    asked[place] = True
    latent, least = latent_gains(known.table, known.leaf, before, price, least, asked)
    np.maximum.at(inertia, today.of_row[same], latent[place])
    units = replace(today.units, inertia=inertia / today.table.total)
    return replace(today, units=units), least


def _center_points(yesterday: Yesterday, k: int, table: Table) -> Floats:
    rows = np.asarray(yesterday.rows[yesterday.hierarchy.center_indices[:k]], dtype=np.float64)
    points: Floats = unit_rows(rows) if yesterday.spherical else rows
    return points * np.float64(table.factor)


def _describe(
    yesterday: Yesterday,
    today: Today,
    before: Levels,
    problem: Problem,
    rows: Rows,
    start: Solution,
    outcome: _Outcome,
    budget: float | None,
) -> Followed:
    """Name the clusters, say how to build the hierarchy, and list what happened."""
    named, next_name = give_names(outcome.found.levels, next_name_of(yesterday.hierarchy, before))
    found = replace(outcome.found, levels=named)
    if found.moved.any() or not today.is_same:
        given = (yesterday, today, before, problem, rows)
        build = partial(build_changed, *given, found, next_name, outcome.parent)
    else:
        build = partial(build_unchanged, yesterday, today, before, start, rows)
    moves = list_moves(today, before, today.units.origin, found)
    following = moves[:0]
    if outcome.unlimited is not None:
        later = give_names(outcome.unlimited.levels, next_name)[0]
        later_found = replace(outcome.unlimited, levels=later)
        following = list_moves(today, found.levels, found.leaf, later_found)
    scale = math.ldexp(today.table.weight_unit, -today.table.exponent)
    surviving = today.match.surviving > 0
    report = FollowReport(
        levels=named.sizes,
        moved=found.moved / max(today.units.n_surviving, 1),
        cost=found.cost * scale,
        cost_of_staying=start.cost * scale,
        fresh_cost=outcome.fresh_cost * scale,
        price=outcome.price,
        budget=budget,
        budget_binds=outcome.unlimited is not None or outcome.exceeded,
        tolerance_exceeded=outcome.exceeded,
        next_moves=following,
        n_survivors=int(np.count_nonzero(surviving)),
        n_new=int(np.count_nonzero(~surviving)),
        n_left=int(today.match.left.size),
    )
    # What a fit left undone is no reason to change structure, until structure changes anyway.
    same = np.array_equal(before.path, named.path) and np.array_equal(before.names, named.names)
    left = who_left(yesterday, today, before)
    events = list_events(yesterday, today, before, problem, found)
    return Followed(build, moves, events, report, left, problem.least if same else 0.0)
