"""The whole flow: match -> units -> start -> *Rows* and *Structure* -> hierarchy, moves, events.

*Guard*: no level costs more than the tolerance over a new fit, unless the budget forbids it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    key_rows,
    list_known,
    match_rows,
    who_left,
)
from holdfast.follow.report import FollowReport, list_events, list_moves, match_fresh, priceless
from holdfast.follow.start import latent_gains, place_rows, start_from
from holdfast.follow.state import (
    Floats,
    Levels,
    Numbers,
    Problem,
    Solution,
    levels_of,
    solve_as,
)
from holdfast.follow.structure import improve_structure, retire_names, settle_rows
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import DepartedRows

Rows = Floats  # or 32-bit ones: means read them as they are


LADDER = (0.7, 0.5, 0.3, 0.15, 0.0)
"""Parts of the price at the levels that cost too much, until they do not."""

HALVINGS = 3
"""How often the step of the ladder that keeps the tolerance is halved."""

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
    today, least = match_rows(
        yesterday,
        before,
        known,
        rows,
        weight,
        ids,
        partial(_waiting, yesterday, known, before, options.price),
    )
    if options.polish:
        units = replace(today.units, inertia=np.zeros_like(today.units.inertia))
        today, least = replace(today, units=units, is_same=False), 0.0
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
    today: Today,
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
        found, price = _keep_tolerance(problem, found, fresh, options.tolerance)
        exceeded = bool((found.cost > _most_allowed(fresh, options.tolerance)).any())
        parent = fitted.parent if found is fresh else None
    if problem.limit is None or today.is_same:
        return _Outcome(found, price, fresh_cost, exceeded, None, parent)
    free = replace(problem, limit=None, price=price)
    now = solve_as(free, found.levels, found.leaf)
    after = improve_structure(free, settle_rows(free, now))
    unlimited = after if after.value < now.value else None
    return _Outcome(found, price, fresh_cost, exceeded, unlimited, parent)


def name_fitted(
    yesterday: Yesterday,
    rows: Rows,
    weight: Floats | None,
    ids: NDArray[Any] | None,
    fitted: Hierarchy,
) -> tuple[Hierarchy, DepartedRows | None]:
    """Give a fit the names of the clusters before it, and end it at the largest level.

    Returns
    -------
    hierarchy : Hierarchy
    left : DepartedRows or None
        Who left.
    """
    assert yesterday.hierarchy.naming is not None
    known = [k for k in yesterday.hierarchy.naming.levels if k <= fitted.n_centers]
    before = levels_of(yesterday.hierarchy, tuple(known or [fitted.n_centers]))
    today, _ = match_rows(
        *(yesterday, before, list_known(yesterday, before.sizes[-1]), rows, weight, ids),
        lambda asked: (np.zeros(asked.size), 0.0),
    )
    problem = priceless(today.units, before, yesterday.seed)
    named = retire_names(problem, match_fresh(problem, before, fitted, today.first_row))
    levels, next_name = give_names(named.levels, next_name_of(yesterday.hierarchy))
    naming = names_by_label(levels, levels.path, next_name)
    hierarchy = replace(fitted.first(before.sizes[-1]), naming=naming)
    return hierarchy, who_left(yesterday, today, before)


def _keep_tolerance(
    problem: Problem, found: Solution, fresh: Solution, tolerance: float
) -> tuple[Solution, Floats]:
    """Lower the price where a level costs too much; at last take the new fit.

    Returns
    -------
    found : Solution
    price : ndarray of shape (n_levels,)
        The price of each level in the end.
    """
    most = _most_allowed(fresh, tolerance)
    price = problem.price
    for part in LADDER:
        over = found.cost > most
        if not over.any():
            return found, price
        lower = np.where(over, problem.price * part, price)
        tried = _settle(problem, found, lower, most)
        if (tried.cost <= most).all():
            return _raise_price(problem, (found, price), (tried, lower), most)
        found, price = tried, lower
    within = problem.limit is None or (fresh.moved <= problem.limit).all()
    if (found.cost > most).any() and within:
        return fresh, np.zeros_like(price)
    return found, price


def _settle(problem: Problem, found: Solution, price: Floats, most: Floats) -> Solution:
    """Let J fall at another price, but change structure no more than the tolerance asks for."""
    cheaper = replace(problem, price=price)
    start = solve_as(cheaper, found.levels, found.leaf)
    return improve_structure(cheaper, settle_rows(cheaper, start), most)


def _raise_price(
    problem: Problem, above: tuple[Solution, Floats], below: tuple[Solution, Floats], most: Floats
) -> tuple[Solution, Floats]:
    """Look between a price that is too high and one that is not.

    Of the solutions that keep the tolerance, take the one that moves least.
    """
    found, high = above
    best, low = below
    kept, price = best, low
    for _ in range(HALVINGS):
        middle = 0.5 * (high + low)
        tried = _settle(problem, found, middle, most)
        if (tried.cost > most).any():
            found, high = tried, middle
            continue
        low = middle
        if int(tried.moved.sum()) < int(kept.moved.sum()):
            kept, price = tried, middle
    return kept, price


def _most_allowed(fresh: Solution, tolerance: float) -> Floats:
    """Cost of each level that is within the tolerance."""
    allowed: Floats = fresh.cost * (1.0 + tolerance + _ROUNDING)
    return allowed


def _waiting(
    yesterday: Yesterday, known: Known, before: Levels, price: float, asked: NDArray[np.bool_]
) -> tuple[Floats, float]:
    """Measure what yesterday's rows would have saved by moving, for those that are asked for."""
    least = yesterday.least
    if yesterday.bound:  # a budget that held rows back says nothing about their reasons
        return np.zeros(asked.size), 0.0
    if least is not None and not asked.any():
        return np.zeros(asked.size), least
    return latent_gains(known.table, known.leaf, before, price, least, asked)


def _center_points(yesterday: Yesterday, k: int, table: Table) -> Floats:
    rows = yesterday.rows[yesterday.hierarchy.center_indices[:k]]
    rows = np.asarray(rows, dtype=np.float64)
    if yesterday.spherical:
        rows = np.asarray(key_rows(rows, None, True, 0).rows, dtype=np.float64)
    points: Floats = np.asarray(rows, dtype=np.float64) * np.float64(table.factor)
    return points


@dataclass(frozen=True, eq=False)
class _Finish:
    """Turns a solution into a hierarchy and lists of what happened."""

    yesterday: Yesterday
    today: Today
    before: Levels
    problem: Problem
    rows: Rows

    def describe(self, start: Solution, outcome: _Outcome, options: Options) -> Followed:
        """Name the clusters, build the hierarchy, and list what happened."""
        today, before = self.today, self.before
        named, next_name = give_names(outcome.found.levels, next_name_of(self.yesterday.hierarchy))
        found = replace(outcome.found, levels=named)
        if found.moved.any() or not today.is_same:
            given = (self.yesterday, today, before, self.problem, self.rows)
            build = partial(build_changed, *given, found, next_name, outcome.parent)
        else:
            build = partial(build_unchanged, self.yesterday, today, before, start, self.rows)
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
        left = who_left(self.yesterday, today, before)
        # What a fit left undone is no reason to change structure, until structure changes anyway.
        same = np.array_equal(before.path, named.path) and np.array_equal(before.names, named.names)
        least = self.problem.least if same else 0.0
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
