"""*Guard*: no level costs more than the tolerance over a new fit, unless the budget forbids it."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from holdfast.follow.rows import settle_rows
from holdfast.follow.start import levels_of
from holdfast.follow.state import NEW, Floats, Ints, Levels, Numbers, Problem, Solution, solve_as
from holdfast.follow.structure import improve_structure
from holdfast.hierarchy import Hierarchy

__all__ = ["keep_tolerance", "match_fresh", "most_allowed"]

LADDER = (0.7, 0.5, 0.3, 0.15, 0.0)
"""Parts of the price at the levels that cost too much, until they do not."""

HALVINGS = 3
"""How often the step of the ladder that keeps the tolerance is halved."""

_ROUNDING = 1e-9


def match_fresh(problem: Problem, before: Levels, fresh: Hierarchy, first_row: Ints) -> Solution:
    """Take the levels of a new fit; of its clusters and yesterday's, those that share most match."""
    levels = levels_of(fresh, before.sizes)
    leaf: Numbers = fresh.cut(before.sizes[-1])[first_row]
    flow = problem.flow(leaf, before.sizes[-1], problem.units.counted)
    names = np.full(levels.names.size, NEW, dtype=np.int64)
    for level in range(len(before.sizes)):
        first, last = before.offsets[level : level + 2]
        shared = np.zeros((last - first, last - first), dtype=np.int64)
        rows, columns = before.path[:, level] - first, levels.path[:, level] - first
        np.add.at(shared, (rows[:, None], columns[None, :]), flow)
        for a, b in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
            if shared[a, b] > 0:
                names[first + b] = before.names[first + a]
    return solve_as(problem, replace(levels, names=names), leaf)


def keep_tolerance(
    problem: Problem, found: Solution, fresh: Solution, tolerance: float
) -> tuple[Solution, Floats]:
    """Lower the price where a level costs too much; at last take the new fit.

    Returns
    -------
    found : Solution
    price : ndarray of shape (n_levels,)
        The price of each level in the end.
    """
    most = most_allowed(fresh, tolerance)
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


def most_allowed(fresh: Solution, tolerance: float) -> Floats:
    """Cost of each level that is within the tolerance."""
    allowed: Floats = fresh.cost * (1.0 + tolerance + _ROUNDING)
    return allowed
