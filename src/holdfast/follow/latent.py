"""What moving would have saved yesterday: nobody moves today for what was no reason yesterday.

A fit does not minimize J, and leaves some rows where another leaf would suit them better by more than
the price. Following does not move them until it pays more than it did.
"""

from dataclasses import replace

import numpy as np

from holdfast.centers.keyed_table import Table
from holdfast.follow.match import Match, group_units
from holdfast.follow.rows import Wishes
from holdfast.follow.state import Floats, Levels, Numbers, Problem, caution_for, solve_as
from holdfast.follow.structure import latent_fall

__all__ = ["latent_gains"]

MARGIN = 1.25
"""How much more a move must pay than yesterday; what changes by chance is less."""


def latent_gains(
    table: Table, leaf: Numbers, levels: Levels, price: float, least: float | None
) -> tuple[Floats, float]:
    """Measure what yesterday's rows would have saved by moving, if that was more than the price.

    Parameters
    ----------
    least : float or None
        By how much a change of structure must lower J, if that is known.

    Returns
    -------
    latent : ndarray of shape (n_rows,), dtype float64
        In parts of the sum over levels of relative costs, times the weight of all rows.
    least : float
        The same for a change of structure, in parts of J.
    """
    n = table.rows.shape[0]
    mass = table.weight if table.weight.size else np.ones(n, dtype=np.int64)
    nobody = np.zeros(n, dtype=np.bool_)
    match = Match(leaf, mass, nobody, np.empty(0, dtype=np.int64), nobody, np.zeros(n))
    units, of_row, _ = group_units(table, match)
    count = len(levels.sizes)
    caution = caution_for(units, levels.sizes)
    problem = Problem(
        units, levels.names[levels.path], np.ones(count), np.full(count, price), None, 0, caution
    )
    found = solve_as(problem, levels, units.origin)
    problem = replace(problem, ref=np.where(found.cost > 0.0, found.cost, 1.0))
    wishes = Wishes(problem, levels)
    wishes.update(found)
    away = levels.path[wishes.best] != levels.path[units.origin]
    toll = (away * (price * caution)).cumsum(axis=1)[:, -1]
    saved = np.where(away.any(axis=1), wishes.gain * problem.total + toll, 0.0)
    latent: Floats = MARGIN * saved
    if least is None:
        units = replace(units, inertia=latent / problem.total)
        problem = replace(problem, units=units)
        least = MARGIN * latent_fall(problem, levels, units.origin)
    return latent[of_row], least
