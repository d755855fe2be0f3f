"""*Rows* and *Structure*: what lowers J while the budget holds.

*Rows*: single rows move to another leaf. *Structure*: clusters change their parents, merge and split, one
change at a time. Ideas are rated on a sample, the members of each leaf with the smallest keys. The best
few are tried, each followed by *Rows*: on a keyed sample of all units first if there are many, then on
all of them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints32
from holdfast._machine.work import share_parts
from holdfast.follow._kernels import choose_leaves
from holdfast.follow.ideas import Idea, Ideas, kept_by, split_leaf
from holdfast.follow.state import NEW, Levels, Problem, Solution, Units, count_by, solve_as

ROUNDS = 12  # of *Rows* at most
PARTS = 4  # of the moves of a round that are tried where all of them do not pay
_LEAST_FALL = 1e-6  # of J, below which a round is the last
TRIES = 10  # ideas that are tried before structure is left as it is
VERIFIED = 2  # ideas that pay on the sample and are tried on all units
STEPS = 64  # changes at most
LEAST = 1e-4  # of J, that a change must save
TRIAL = 1 << 14  # units on which ideas are tried before all


def settle_rows(problem: Problem, start: Solution) -> Solution:
    """Move rows to the leaves that suit them best, and means to their rows, until J stops falling.

    J never rises, no cluster runs empty, and no more surviving weight than the limit is away from
    home at any level.
    """
    found = start
    wishes = Wishes(problem, start.levels)
    for _ in range(ROUNDS):
        wishes.update(found)
        leaf = _allow(found, wishes)
        after = None if leaf is None else _move_what_pays(problem, found, leaf, wishes)
        if after is None:
            break
        last = found.value - after.value < _LEAST_FALL * found.value
        # By how much the score of any leaf can have changed, a little more to be safe from rounding.
        shift = np.sqrt(((after.points - found.points) ** 2).sum(axis=1)) * wishes.scale
        farthest = float(shift[found.levels.path].sum(axis=1).max()) * (1.0 + 1e-9)
        wishes.now += 2.0 * farthest
        found = after
        if last:
            break
    return found


def _move_what_pays(
    problem: Problem, found: Solution, leaf: Ints32, wishes: "Wishes"
) -> Solution | None:
    """Make the moves, if J falls; otherwise those that pay although they shift the means; None: none do."""
    after = solve_as(problem, found.levels, leaf)
    if after.value < found.value:
        return after
    movers = np.flatnonzero(leaf != found.leaf)
    saved = wishes.gain[movers] - _cost_of_shifts(problem, found, leaf, movers)
    order = movers[np.lexsort((problem.units.key[movers], -saved))]
    count = int(np.count_nonzero(saved > 0.0))
    for _ in range(PARTS):
        some = found.leaf.copy()
        some[order[:count]] = leaf[order[:count]]
        if not _keep_filled(problem.units, found, some):
            break
        after = solve_as(problem, found.levels, some)
        if after.value < found.value:
            return after
        count //= 2
    return None


def _cost_of_shifts(
    problem: Problem, found: Solution, leaf: Ints32, movers: NDArray[np.int64]
) -> Floats:
    """By how much each mover raises J by shifting the means of the clusters that it leaves and joins.

    A mean does not minimize distances: to the first order, a row that joins shifts it by a part of the
    way to the row, and all other distances change by that times the mean direction to them. Directions
    of means do minimize cosine distances.
    """
    units, levels = problem.units, found.levels
    cost = np.zeros(movers.size)
    if units.spherical:
        return cost
    slope = units.directions(found.leaf, levels.path, found.points) / found.weights[:, None]
    scale = (1.0 / problem.ref)[levels.level_of]
    for sign, path in ((1.0, levels.path[found.leaf[movers]]), (-1.0, levels.path[leaf[movers]])):
        for c in path.T:
            for j in range(slope.shape[1]):  # column by column, on every processor
                way = units.rows[movers, j] - found.points[c, j]
                cost += sign * scale[c] * slope[c, j] * way
    return cost


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


def _allow(found: Solution, wishes: Wishes) -> Ints32 | None:
    """Make the moves that budget and clusters allow, the largest savings first; None: no move."""
    units, best = wishes.problem.units, wishes.best
    movers = np.flatnonzero(best != found.leaf)
    if movers.size == 0:
        return None
    leaf, goes = found.leaf.copy(), movers
    if wishes.problem.limit is not None:
        goes = movers[_within_limit(found, wishes, movers, wishes.problem.limit)]
    leaf[goes] = best[goes]
    return leaf if _keep_filled(units, found, leaf) else None


def _keep_filled(units: Units, found: Solution, leaf: Ints32) -> bool:
    """Let whoever would leave a leaf empty stay; whether anybody still moves."""
    movers = np.flatnonzero(leaf != found.leaf)
    weights = count_by(leaf, units.weight, found.levels.sizes[-1])
    while (weights == 0).any():
        back = movers[weights[found.leaf[movers]] == 0]
        np.subtract.at(weights, leaf[back], units.weight[back])
        leaf[back] = found.leaf[back]
        np.add.at(weights, leaf[back], units.weight[back])
    return not bool((leaf == found.leaf).all())


def _within_limit(
    found: Solution, wishes: Wishes, movers: NDArray[np.int64], limit: int
) -> NDArray[np.bool_]:
    """Which moves the budget allows: those that cost it nothing, then the largest savings."""
    units, path = wishes.problem.units, found.levels.path
    homes = wishes.home[units.origin[movers]]
    change = (path[wishes.best[movers]] != homes).astype(np.int64)
    change = (change - (path[found.leaf[movers]] != homes)) * units.counted[movers, None]
    order = np.lexsort((units.key[movers], -wishes.gain[movers]))
    # What comes home is counted last: whether it may leave its leaf is not settled yet.
    left = limit - found.moved
    allowed: NDArray[np.bool_] = ~(change > 0).any(axis=1)
    for i in order[~allowed[order]].tolist():
        if (change[i] <= left).all():
            left = left - np.maximum(change[i], 0)
            allowed[i] = True
        elif (left <= 0).all():
            break
    return allowed


def improve_structure(problem: Problem, start: Solution, enough: Floats | None = None) -> Solution:
    """Change the structure while J falls and the budget holds, or until all levels cost little enough."""
    found = start
    trial = _trial_of(problem)
    for _ in range(STEPS):
        if enough is not None and (found.cost <= enough).all():
            break
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
        paying = (after for after in tried if after is not None)
        return min(paying, key=lambda after: after.value, default=None)
    first = found.leaf[: trial.units.rows.shape[0]]
    start = settle_rows(trial, solve_as(trial, found.levels, first))
    rated = [
        (after.value, i) for i, idea in enumerate(ideas) if (after := _try(trial, start, idea))
    ]
    for _, i in sorted(rated)[:VERIFIED]:
        after = _try(problem, found, ideas[i])
        if after is not None:
            return after
    return None


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
    least = max(LEAST * len(problem.ref), problem.least)
    return after if after.value < found.value - least else None


def _apply(problem: Problem, found: Solution, idea: Idea) -> tuple[Levels, Ints32] | None:
    levels, leaf, level = found.levels, found.leaf, idea.level
    path, names = levels.path.copy(), levels.names.copy()
    if idea.child >= 0:
        onto = levels.leaves_of(level - 1, idea.parent)[0]
        path[levels.leaves_of(level, idea.child), :level] = levels.path[onto, :level]
        return replace(levels, path=path), leaf
    a, b = idea.merged
    names[a] = _better_name(problem, found, level, a, b)
    if level < len(levels.sizes) - 1:
        onto = levels.leaves_of(level, a)[0]
        path[levels.leaves_of(level, b), : level + 1] = levels.path[onto, : level + 1]
        return _part_clusters(problem, found, replace(levels, path=path, names=names), leaf, idea)
    first = levels.offsets[level]
    leaf = np.where(leaf == b - first, np.int32(a - first), leaf)
    merged = replace(levels, names=names)
    return split_leaf(problem, merged, leaf, idea.split - first, b - first, idea.plane)


def _part_clusters(
    problem: Problem, found: Solution, levels: Levels, leaf: Ints32, idea: Idea
) -> tuple[Levels, Ints32]:
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


def _better_name(problem: Problem, found: Solution, level: int, a: int, b: int) -> np.int64:
    """Of two clusters that merge, the name that more rows keep."""
    kept = kept_by(problem, found, level)
    both = kept[[a, b]] + 0
    stays_a, stays_b = int(both[:, a].sum()), int(both[:, b].sum())
    names = found.levels.names
    if stays_a == stays_b:
        known = [name for name in (names[a], names[b]) if name != NEW]
        return np.int64(min(known)) if known else np.int64(NEW)
    return np.int64(names[a] if stays_a > stays_b else names[b])


def retire_names(problem: Problem, found: Solution) -> Solution:
    """Take the name from a cluster that is another one now: hardly a row of yesterday is in it.

    Fewer than a tenth of the rows that had the name, and of those that have it. They count as
    moved, so that names stay where the budget does not allow it.
    """
    levels = found.levels
    for level in range(len(levels.sizes)):
        kept = kept_by(problem, found, level)
        for c in range(*levels.offsets[level : level + 2]):
            stays, had = int(kept[c, c]), int(kept[:, c].sum())
            rare = 10 * stays < had and 10 * stays < int(found.weights[c])
            if levels.names[c] == NEW or not rare:
                continue
            names = found.levels.names.copy()
            names[c] = NEW
            after = solve_as(problem, replace(found.levels, names=names), found.leaf)
            if problem.limit is None or (after.moved <= problem.limit).all():
                found = after
    return found


def latent_fall(problem: Problem, levels: Levels, leaf: Ints32) -> float:
    """By how much the best change of structure would lower J; on a sample if there are many units."""
    problem = _trial_of(problem) or problem
    start = solve_as(problem, levels, leaf[: problem.units.rows.shape[0]])
    start = settle_rows(problem, start)
    better = _best_that_pays(problem, None, start)
    return 0.0 if better is None else start.value - better.value


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
