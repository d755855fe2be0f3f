"""*Structure*: clusters change their parents, merge and split, one change at a time; and *Guard*.

Ideas are rated on a sample, the members of each leaf with the smallest keys. The best few are tried,
each followed by *Rows*: on a keyed sample of all units first if there are many, then on all of them.

*Guard*: no level costs more than the tolerance over a new fit, unless the budget forbids it.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from holdfast._machine.jit import read_only
from holdfast.centers._member_kernels import room_for, sides_of
from holdfast.follow.ideas import Idea, Ideas, kept_by
from holdfast.follow.rows import settle_rows
from holdfast.follow.state import (
    NEW,
    Floats,
    Ints,
    Levels,
    Numbers,
    Problem,
    Solution,
    levels_of,
    solve_as,
)
from holdfast.hierarchy import Hierarchy

__all__ = ["improve_structure", "keep_tolerance", "latent_fall", "match_fresh", "most_allowed"]
__all__ += ["retire_names", "split_leaf"]

TRIES = 10  # ideas that are tried before structure is left as it is
VERIFIED = 2  # ideas that pay on the sample and are tried on all units
STEPS = 64  # changes at most
LEAST = 1e-4  # of J, that a change must save
TRIAL = 1 << 14  # units on which ideas are tried before all

LADDER = (0.7, 0.5, 0.3, 0.15, 0.0)
"""Parts of the price at the levels that cost too much, until they do not."""

HALVINGS = 3
"""How often the step of the ladder that keeps the tolerance is halved."""

_ROUNDING = 1e-9


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
    least = max(LEAST * len(problem.ref), problem.least)
    return after if after.value < found.value - least else None


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
        onto = int(np.flatnonzero(levels.path[:, level] == a)[0])
        path[levels.path[:, level] == b, : level + 1] = levels.path[onto, : level + 1]
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
    rows, room = read_only(units.rows), np.empty(room_for(units.rows.shape[1]))
    sides_of(rows, rows.reshape(-1), 1.0, members, plane, room, go)
    if go.all() or not go.any():
        return None
    last = len(levels.sizes) - 1
    home = problem.home(levels)[:, last] == levels.offsets[last] + q
    origin = units.origin[members]
    kept = np.where((origin >= 0) & home[origin], units.pulled[members], 0)
    more = (int(kept[go].sum()), int(units.weight[members[go]].sum()))
    if more > (int(kept[~go].sum()), int(units.weight[members[~go]].sum())):
        go = ~go
    go = _affordable(problem, levels, leaf, members, go, slot)
    if not go.any():
        return None
    leaf = leaf.copy()
    leaf[members[go]] = slot
    path, names = levels.path.copy(), levels.names.copy()
    path[slot, :last] = path[q, :last]
    path[slot, last] = levels.offsets[last] + slot
    names[levels.offsets[last] + slot] = NEW
    return replace(levels, path=path, names=names), leaf


def _affordable(
    problem: Problem,
    levels: Levels,
    leaf: Numbers,
    members: Numbers,
    go: NDArray[np.bool_],
    slot: int,
) -> NDArray[np.bool_]:
    """Of those that leave a leaf, the ones that the budget allows: who saves most goes first.

    The others can follow in later releases.
    """
    if problem.limit is None:
        return go
    units, last = problem.units, len(levels.sizes) - 1
    moved = problem.moved(levels, problem.flow(leaf, levels.sizes[-1], units.counted))[last]
    origin, parted = units.origin[members], leaf.copy()
    at_home = problem.home(levels)[origin, last] == levels.path[leaf[members], last]
    spent = np.where((origin >= 0) & at_home, units.counted[members], 0)
    parted[members[go]] = slot
    points = units.means(*units.sums(parted, levels.sizes[-1]))
    rows, saving = units.rows[members], np.zeros(members.size)
    for column, near, far in zip(rows.T, points[leaf[members[0]]], points[slot], strict=True):
        saving += (column - near) ** 2 - (column - far) ** 2
    order = np.flatnonzero(go)[np.lexsort((units.key[members[go]], -saving[go]))]
    within = np.cumsum(spent[order]) <= problem.limit - moved
    allowed = np.zeros(go.size, dtype=np.bool_)
    allowed[order[within | (spent[order] == 0)]] = True
    return allowed


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


def latent_fall(problem: Problem, levels: Levels, leaf: Numbers) -> float:
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


def _first(trial: Problem, found: Solution) -> Numbers:
    leaf: Numbers = found.leaf[: trial.units.rows.shape[0]]
    return leaf


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
