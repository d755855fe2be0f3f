"""*Rows*: single rows move to another leaf while J falls and the budget holds."""

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.parallel import share_parts
from holdfast.follow._kernels import choose_leaves
from holdfast.follow.state import Levels, Numbers, Problem, Solution, count_by, solve_as

__all__ = ["Wishes", "settle_rows"]

ROUNDS = 12
_LEAST_FALL = 1e-6  # of J, below which a round is the last


def settle_rows(problem: Problem, start: Solution) -> Solution:
    """Move rows to the leaves that suit them best, and means to their rows, until J stops falling.

    J never rises, no cluster runs empty, and no more surviving weight than the limit is away from
    home at any level.
    """
    found = start
    wishes = Wishes(problem, start.levels)
    for _ in range(ROUNDS):
        wishes.update(found)
        leaf = _allow(problem, found, wishes.home, wishes.best, wishes.gain)
        if leaf is None:
            break
        after = solve_as(problem, found.levels, leaf)
        if not after.value < found.value:
            break
        last = found.value - after.value < _LEAST_FALL * found.value
        wishes.now += 2.0 * _farthest(found.levels, wishes.scale, found.points, after.points)
        found = after
        if last:
            break
    return found


class Wishes:
    """The leaf that each unit wants, looked at again only where centers may have come nearer."""

    def __init__(self, problem: Problem, levels: Levels) -> None:
        n = problem.units.rows.shape[0]
        self.problem, self.home = problem, problem.home(levels)
        self.scale = (1.0 / problem.ref)[levels.level_of]
        self.best, self.gain = np.empty(n, dtype=np.int32), np.empty(n)
        self.until, self.now = np.zeros(n), 0.0

    def update(self, found: Solution) -> None:
        """Find the best leaf of each unit, and by how much it is better."""
        problem, units = self.problem, self.problem.units
        closed = np.zeros(len(problem.ref), dtype=np.bool_)
        if problem.limit is not None:
            closed = found.moved >= problem.limit
        price = problem.price / problem.total
        columns = np.ascontiguousarray(found.points.T)

        def work(b: int) -> None:
            part = units.parts[b]
            choose_leaves(
                units.rows[part], units.pull[part], units.inertia[part], units.steady[part], units.counted[part],
                units.origin[part], found.leaf[part], found.levels.path, columns, self.scale, self.home, price,
                problem.caution, closed, units.spherical, self.now, self.until[part], self.best[part],
                self.gain[part],
            )  # fmt: skip

        share_parts(len(units.parts), work)


def _allow(
    problem: Problem,
    found: Solution,
    home: Numbers,
    best: Numbers,
    gain: NDArray[np.float64],
) -> Numbers | None:
    """Make the moves that budget and clusters allow, the largest savings first; None: no move."""
    units, levels = problem.units, found.levels
    movers = np.flatnonzero(best != found.leaf)
    if movers.size == 0:
        return None
    allowed = np.ones(movers.size, dtype=np.bool_)
    if problem.limit is not None:
        allowed = _within_limit(problem, found, home, movers, best, gain)
    leaf = found.leaf.copy()
    leaf[movers[allowed]] = best[movers[allowed]]
    weights = count_by(leaf, units.weight, levels.sizes[-1])
    while (weights == 0).any():  # whoever would leave a leaf empty stays
        back = movers[weights[found.leaf[movers]] == 0]
        np.subtract.at(weights, leaf[back], units.weight[back])
        leaf[back] = found.leaf[back]
        np.add.at(weights, leaf[back], units.weight[back])
    return None if (leaf == found.leaf).all() else leaf


def _within_limit(
    problem: Problem,
    found: Solution,
    home: Numbers,
    movers: NDArray[np.int64],
    best: Numbers,
    gain: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Which moves the budget allows: those that cost it nothing, then the largest savings."""
    units, path = problem.units, found.levels.path
    assert problem.limit is not None
    homes = home[units.origin[movers]]
    counted = units.counted[movers, None]
    change = (path[best[movers]] != homes).astype(np.int64)
    change = (change - (path[found.leaf[movers]] != homes)) * counted
    order = np.lexsort((units.key[movers], -gain[movers]))
    free = ~(change > 0).any(axis=1)
    # What comes home is counted last: whether it may leave its leaf is not settled yet.
    left = problem.limit - found.moved
    allowed: NDArray[np.bool_] = free.copy()
    for i in order[~free[order]].tolist():
        if (change[i] <= left).all():
            left = left - np.maximum(change[i], 0)
            allowed[i] = True
        elif (left <= 0).all():
            break
    return allowed


def _farthest(
    levels: Levels,
    scale: NDArray[np.float64],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
) -> float:
    """How much the score of any leaf can have changed, a little more to be safe from rounding."""
    shift = np.sqrt(((after - before) ** 2).sum(axis=1)) * scale
    return float(shift[levels.path].sum(axis=1).max()) * (1.0 + 1e-9)
