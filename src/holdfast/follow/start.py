"""The start: rows stay where they were, new rows join, and no cluster is empty.

Nobody moves today for what was no reason yesterday: a fit does not minimize J, and leaves some rows where
another leaf would suit them better by more than the price.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints32
from holdfast.centers._distance_kernels import nearest_leaves
from holdfast.centers.keyed_table import Table
from holdfast.follow.ideas import Ideas, split_leaf
from holdfast.follow.match import group_staying
from holdfast.follow.state import NEW, Levels, Problem, Solution, Units, caution_for, solve_as
from holdfast.follow.structure import TRIAL, Wishes, latent_fall
from holdfast.hierarchy.locate import label_blocks

MARGIN = 1.25
"""How much more a move must pay than yesterday; what changes by chance is less."""


def place_rows(units: Units, levels: Levels, centers: Floats) -> Ints32:
    """Leaves of the start: yesterday's, and for new rows the one that suits them best.

    `centers` stand for the means of leaves that have lost all their rows.
    """
    leaf, new = units.origin.copy(), units.origin < 0
    if not new.any():
        return leaf
    sums, weights = units.sums(leaf, levels.sizes[-1], units.old_parts)
    lost = weights == 0
    sums[lost] = centers[lost]
    counts = np.where(lost, 1, weights)
    # A lost leaf has its old center, but no say in the means of the clusters above it.
    above, total = levels.collect(np.where(lost[:, None], 0.0, sums)), levels.collect(weights)
    empty = total == 0
    above[empty], total[empty] = levels.collect(sums)[empty], levels.collect(counts)[empty]
    last = levels.offsets[-2]
    above[last:], total[last:] = sums, counts
    points = units.means(above, total)
    ref = levels.add_up(units.costs(leaf, levels.path, points, units.old_parts))
    scale = (1.0 / np.where(ref > 0.0, ref, 1.0))[levels.level_of]
    columns = np.ascontiguousarray(points.T)
    rows, label = units.rows[new], np.arange(levels.sizes[-1], dtype=np.int32)
    leaf[new] = label_blocks(
        rows.shape[0],
        lambda some, nearest: nearest_leaves(
            rows[some], 1.0, levels.path, columns, scale, label, units.spherical, nearest
        ),
    )
    return leaf


def start_from(
    units: Units, levels: Levels, leaf: Ints32, *, price: Floats, limit: int | None, seed: int
) -> tuple[Problem, Solution]:
    """Fill empty clusters, and measure the reference costs."""
    known = levels.names[levels.path]
    caution = caution_for(units, levels.sizes)
    problem = Problem(units, known, np.ones(len(levels.sizes)), price, limit, seed, caution)
    counts = np.bincount(leaf, minlength=levels.sizes[-1])
    for slot in np.flatnonzero(counts == 0).tolist():
        levels, leaf = _refill(problem, levels, leaf, slot)
    start = solve_as(problem, levels, leaf)
    problem = replace(problem, ref=np.where(start.cost > 0.0, start.cost, 1.0))
    return problem, replace(start, value=problem.value(levels, leaf, start.cost, start.flow))


def _refill(problem: Problem, levels: Levels, leaf: Ints32, slot: int) -> tuple[Levels, Ints32]:
    """Split a leaf; the part that leaves it takes the place of a leaf that has lost all its rows.

    Clusters above the empty leaf that are empty too start again with that part.
    """
    path, names = levels.path.copy(), levels.names.copy()
    ended = names[path[slot]]
    alive = np.isin(levels.path[slot], levels.path[np.unique(leaf)])
    found = solve_as(problem, levels, leaf)
    ideas = sorted(Ideas(problem, found).split_leaves(), key=lambda idea: idea.rise)
    parts: list[tuple[Levels, Ints32]] = []
    for idea in ideas:
        part = split_leaf(problem, levels, leaf, idea.split - levels.offsets[-2], slot, idea.plane)
        if part is not None:
            parts.append((_under(levels, part[0], slot, alive), part[1]))
        if parts and problem.limit is None:
            break
    single = None if problem.limit is None else _single_unit(problem, levels, leaf, slot, alive)
    for tried in (*parts, *([] if single is None else [single])):
        moved = solve_as(problem, *tried).moved
        if problem.limit is None or (moved <= problem.limit).all():
            return tried
    if single is None and not parts:
        raise ValueError(
            f"X must have at least as many distinct rows as there are clusters, "
            f"{levels.sizes[-1]}; got fewer. Follow fewer levels."
        )
    raise ValueError(
        f"Cluster {ended[-1]} has lost all its rows. To keep {levels.sizes[-1]} clusters, a row of "
        f"another one must move, which is more than the budget allows. Raise budget, or follow fewer levels."
    )


def _under(before: Levels, after: Levels, slot: int, alive: NDArray[np.bool_]) -> Levels:
    """Hang the empty clusters above a leaf under the cluster that was split, without names."""
    path, names = after.path.copy(), after.names.copy()
    own = before.path[slot]
    path[slot] = np.where(alive, path[slot], own)
    path[slot, -1] = own[-1]
    names[own[~alive]] = NEW
    return replace(after, path=path, names=names)


def _single_unit(
    problem: Problem, levels: Levels, leaf: Ints32, slot: int, alive: NDArray[np.bool_]
) -> tuple[Levels, Ints32] | None:
    """Take one unit: the one that costs the budget least, of those the one farthest out."""
    units = problem.units
    counts = np.bincount(leaf, minlength=levels.sizes[-1])
    movable = np.flatnonzero(counts[leaf] > 1)
    if movable.size == 0:
        return None
    points = units.means(*units.sums(leaf, levels.sizes[-1]))
    out = np.zeros(movable.size)
    for column, center in zip(units.rows[movable].T, points[leaf[movable]].T, strict=True):
        out += (column - center) * (column - center)
    best = movable[np.lexsort((units.key[movable], -out, units.counted[movable]))[0]]
    path = levels.path.copy()
    path[slot] = path[leaf[best]]
    leaf = leaf.copy()
    leaf[best] = slot
    return _under(levels, replace(levels, path=path), slot, alive), leaf


def latent_gains(
    table: Table,
    leaf: Ints32,
    levels: Levels,
    price: float,
    least: float | None,
    asked: NDArray[np.bool_],
) -> tuple[Floats, float]:
    """Measure what yesterday's rows would have saved by moving, if that was more than the price.

    Only rows that are `asked` for are looked at; others get 0. Savings are parts of the sum over levels
    of relative costs, times the weight of all rows. Also by how much a change of structure must lower
    J: `least`, if that is known.
    """
    units, of_row, _ = group_staying(table, leaf)
    prices = np.full(len(levels.sizes), price)
    problem, found = start_from(units, levels, units.origin, price=prices, limit=None, seed=0)
    wishes = Wishes(problem, levels)
    wishes.until[:] = np.inf
    wishes.until[of_row[asked]] = 0.0
    if least is None:  # and those that tell how much a change of structure would lower J
        wishes.until[: TRIAL if units.origin.size > 2 * TRIAL else None] = 0.0
    wishes.update(found)
    movers = np.flatnonzero(wishes.best != units.origin)
    away = levels.path[wishes.best[movers]] != levels.path[units.origin[movers]]
    toll = (away * (prices * problem.caution)).cumsum(axis=1)[:, -1]
    latent = np.zeros(units.origin.size)
    latent[movers] = MARGIN * (wishes.gain[movers] * problem.total + toll)
    if least is None:
        units = replace(units, inertia=latent / problem.total)
        problem = replace(problem, units=units)
        least = MARGIN * latent_fall(problem, levels, units.origin)
    return np.where(asked, latent[of_row], 0.0), least
