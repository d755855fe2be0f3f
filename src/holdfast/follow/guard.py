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

LADDER = (0.5, 0.25, 0.0)
"""Parts of the price that are tried at the levels that cost too much."""

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
        price = np.where(over, problem.price * part, price)
        cheaper = replace(problem, price=price)
        start = solve_as(cheaper, found.levels, found.leaf)
        found = improve_structure(cheaper, settle_rows(cheaper, start))
    within = problem.limit is None or (fresh.moved <= problem.limit).all()
    if (found.cost > most).any() and within:
        return fresh, np.zeros_like(price)
    return found, price


def most_allowed(fresh: Solution, tolerance: float) -> Floats:
    """Cost of each level that is within the tolerance."""
    allowed: Floats = fresh.cost * (1.0 + tolerance + _ROUNDING)
    return allowed
