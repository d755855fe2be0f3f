"""Today's rows -> units: who was where yesterday, by id or by content."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints, Ints32, Scalar
from holdfast._machine.work import share_rows
from holdfast.centers.keyed_table import Table, collect_table, starts_of_runs
from holdfast.follow.state import Levels, Units
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import MOST_REMEMBERED, DepartedRows, find_ids

_LARGE = 300  # exponents of values that are left as they are


@dataclass(frozen=True, eq=False)
class Yesterday:
    """A fitted model, as following sees it."""

    hierarchy: Hierarchy
    rows: Floats  # prepared like today's
    weight: Floats | None
    ids: NDArray[Any] | None
    left: DepartedRows | None
    spherical: bool  # whether the distance is the cosine distance
    seed: int
    bound: bool = False  # whether a budget has held rows back
    least: float | None = None  # by how much structure must lower J; None: has to be found


@dataclass(frozen=True, eq=False)
class Known:
    """Yesterday's rows of positive weight: keyed, with leaf, weight, id and place among all rows."""

    table: Table
    leaf: Ints32
    weight: Floats
    ids: NDArray[Any] | None
    place: Ints


@dataclass(frozen=True, eq=False)
class Match:
    """Where each of today's rows was yesterday."""

    origin: Ints32  # yesterday's leaf; -1 for rows that are new
    surviving: Ints  # the part of the weight that was there yesterday
    changed: NDArray[np.bool_]  # whether the values of a surviving row are others than yesterday
    left: Ints  # yesterday's rows that are not there today
    returning: NDArray[np.bool_]  # rows that were not there yesterday, but earlier
    place: Ints  # among yesterday's known rows, if the values are the same; otherwise -1


@dataclass(frozen=True, eq=False)
class Today:
    """Today's rows of positive weight, matched."""

    table: Table
    numbers: Ints  # of these rows
    match: Match
    units: Units
    of_row: Ints32
    first_row: Ints
    ids: NDArray[Any] | None
    is_same: bool  # rows and weights are those of yesterday


def list_known(yesterday: Yesterday, k: int) -> Known:
    """Take yesterday's rows of positive weight; their leaves are those of the cut in k clusters."""
    leaf, rows, ids = yesterday.hierarchy.cut(k), yesterday.rows, yesterday.ids
    place, weight = np.arange(leaf.size), np.ones(leaf.size)
    if yesterday.weight is not None:
        place = np.flatnonzero(yesterday.weight > 0.0)
        weight, leaf, rows = yesterday.weight[place], leaf[place], rows[place]
        ids = None if ids is None else ids[place]
    table = key_rows(rows, weight, yesterday.spherical, yesterday.seed)
    return Known(table, leaf, weight, ids, place)


def match_rows(
    yesterday: Yesterday,
    before: Levels,
    known: Known,
    rows: Floats,
    weight: Floats | None,
    ids: NDArray[Any] | None,
) -> Today:
    """Key today's rows, and find each among yesterday's or among those that left."""
    present = np.ones(rows.shape[0], dtype=np.bool_) if weight is None else weight > 0.0
    numbers = np.flatnonzero(present)
    all_present = numbers.size == rows.shape[0]
    shown = rows if all_present else rows[numbers]
    counts = None if weight is None else weight[numbers]
    table = key_rows(shown, counts, yesterday.spherical, yesterday.seed)
    own = None if ids is None else ids[numbers]
    here = np.ones(numbers.size) if counts is None else counts
    match, same = _find(known, table, here, own)
    match = _remember(yesterday.left, before, match, table.key if own is None else own)
    same = same and match.left.size == 0 and not match.changed.any()
    units, of_row, lead = _group_units(table, match)
    return Today(table, numbers, match, units, of_row, numbers[lead], own, same)


def _find(known: Known, table: Table, here: Floats, own: NDArray[Any] | None) -> tuple[Match, bool]:
    """Find today's rows among yesterday's; whether weights are the same."""
    mass, was = _weights(table), known.table.key
    if known.ids is not None and own is not None:
        place = find_ids(own, known.ids, unique=True)
        match = _match_ids(place, known.leaf, mass, table.key, was)
        same = bool((place >= 0).all() and np.array_equal(known.weight[place], here))
    else:
        # Today's unit of weight may differ from yesterday's.
        scaled = np.rint(known.weight / table.weight_unit).astype(np.int64)
        match = _match_content(table.key, mass, was, known.leaf, scaled)
        same = bool((match.surviving == mass).all() and scaled.sum() == mass.sum())
    return replace(match, left=known.place[match.left]), same


def _remember(left: DepartedRows | None, before: Levels, match: Match, who: NDArray[Any]) -> Match:
    """Give rows that return their old leaf, if it is still there."""
    if (
        left is None
        or left.ids.size == 0
        or left.level != before.sizes[-1]
        or left.ids.dtype.kind != who.dtype.kind
    ):
        return match
    new = np.flatnonzero(match.origin < 0)
    place = find_ids(who[new], left.ids)
    leaf = find_ids(left.names[place], before.names[before.path[:, -1]])
    known = (place >= 0) & (leaf >= 0)
    origin, returning = match.origin.copy(), match.returning.copy()
    origin[new[known]] = leaf[known]
    returning[new[known]] = True
    return replace(match, origin=origin, returning=returning)


def who_left(yesterday: Yesterday, today: Today, before: Levels) -> DepartedRows | None:
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
    if ids.dtype.kind == "u":  # equal rows, which were in one cluster
        order = order[starts_of_runs(ids[order])]
    ids, names = ids[order], names[order]
    old = yesterday.left
    if old is not None and old.level == level and old.ids.dtype.kind == ids.dtype.kind:
        still = (find_ids(old.ids, here) < 0) & (find_ids(old.ids, ids) < 0)
        ids = np.concatenate((ids, old.ids[still]))
        names = np.concatenate((names, old.names[still]))
    most = min(MOST_REMEMBERED, today.numbers.size)
    return DepartedRows(ids[:most], names[:most], level)


def _content_keys(yesterday: Yesterday, rows: Floats) -> NDArray[np.uint64]:
    if rows.shape[0] == 0:
        return np.empty(0, dtype=np.uint64)
    return key_rows(rows, None, yesterday.spherical, yesterday.seed).key


def key_rows(rows: Floats, weight: Floats | None, spherical: bool, seed: int) -> Table:
    """Key rows as a fit does; extreme values are scaled so that squares of distances are normal."""
    table = collect_table(np.asarray(rows), weight, spherical, seed)
    largest = math.frexp(float(max(rows.max(), -rows.min())))[1]
    if spherical or abs(largest) <= _LARGE:
        return table
    return replace(table, exponent=min(-largest, 1000))


def _match_ids(
    place: Ints, leaf: Ints32, weight: Ints, keys: NDArray[np.uint64], old: NDArray[np.uint64]
) -> Match:
    """Match rows by the place of their ids among yesterday's rows."""
    found = place >= 0
    origin = np.where(found, leaf[place], np.int32(-1)).astype(np.int32)
    changed = found & (keys != old[place])
    gone = np.ones(leaf.size, dtype=np.bool_)
    gone[place[found]] = False
    surviving = np.where(found, weight, 0)
    nobody = np.zeros(place.size, dtype=np.bool_)
    same = np.where(changed, -1, place)
    return Match(origin, surviving, changed, np.flatnonzero(gone), nobody, same)


def _match_content(
    keys: NDArray[np.uint64],
    weight: Ints,
    old: NDArray[np.uint64],
    leaf: Ints32,
    old_weight: Ints,
) -> Match:
    """Match rows to equal rows of yesterday, at most as often as these were there.

    If equal rows were in several clusters, today's are matched to those of the heaviest one. Both
    sides are sorted by key, and looked up in that order.
    """
    order, first = _sort_runs(old, leaf)
    key, place = old[order[first]], leaf[order[first]]
    total = old_weight[order]
    lead = order[first]
    if first.size < order.size:
        total = np.add.reduceat(total, first)
        best = np.lexsort((place, -total, key))
        best = best[starts_of_runs(key[best])]
        key, place, total, lead = key[best], place[best], total[best], lead[best]
    by_key, begins = _sort_runs(keys)
    sought = keys[by_key]
    at = np.minimum(np.searchsorted(key, sought), key.size - 1)
    found = key[at] == sought
    met = np.zeros(key.size, dtype=np.bool_)
    met[at[found]] = True
    gone = np.empty(old.size, dtype=np.bool_)
    gone[order] = ~met if key.size == old.size else ~met[np.searchsorted(key, old[order])]
    # Of equal rows, the weight that was there is handed out in the order of rows.
    mass = weight[by_key]
    handed = np.zeros(1, dtype=np.int64)
    if begins.size < keys.size:
        handed = np.cumsum(mass) - mass
        handed -= np.repeat(handed[begins], np.diff(begins, append=keys.size))
    stays = np.where(found, np.clip(total[at] - handed, 0, mass), 0)
    origin, surviving = np.empty(keys.size, dtype=np.int32), np.empty(keys.size, dtype=np.int64)
    same = np.empty(keys.size, dtype=np.int64)
    origin[by_key], surviving[by_key] = np.where(found, place[at], np.int32(-1)), stays
    same[by_key] = np.where(stays > 0, lead[at], -1)
    nobody = np.zeros(keys.size, dtype=np.bool_)
    return Match(origin, surviving, nobody, np.flatnonzero(gone), nobody, same)


def _group_units(table: Table, match: Match) -> tuple[Units, Ints32, Ints]:
    """Rows of equal content and origin become units; a new row joins equal rows that are not new.

    Returns
    -------
    units : Units
    of_row : ndarray of shape (n_rows,), dtype int32
    first : ndarray of shape (n_units,), dtype int64
        The first row of each unit.
    """
    weight, origin = _weights(table), match.origin
    order, first = _sort_runs(table.key)
    if first.size < order.size:
        origin = _join_equal(table.key, origin, weight)
        order, first = _sort_runs(table.key, origin)
    lead = order[first]
    of_row = np.empty(order.size, dtype=np.int32)
    of_row[order] = np.repeat(
        np.arange(first.size, dtype=np.int32), np.diff(first, append=order.size)
    )

    def gather(values: NDArray[Scalar], combine: np.ufunc) -> NDArray[Scalar]:
        if not values.any():
            return np.zeros(first.size, dtype=values.dtype)
        of_unit: NDArray[Scalar] = values[order]
        return of_unit if first.size == order.size else combine.reduceat(of_unit, first)

    counted = pulled = gather(match.surviving, np.add)
    if match.returning.any():
        pulled = gather(np.where(match.returning, weight, match.surviving), np.add)
    rows = _take_rows(table.rows, lead)
    units = Units(
        rows=rows if table.exponent == 0 else rows * np.float64(table.factor),
        weight=gather(weight, np.add) if table.weight.size else np.diff(first, append=order.size),
        key=table.key[lead],
        origin=origin[lead],
        pulled=pulled,
        counted=counted,
        spherical=table.spherical,
        inertia=np.zeros(lead.size),
        steady=~gather(match.changed, np.logical_and),
    )
    return units, of_row, lead


def _take_rows(rows: Floats, chosen: Ints) -> Floats:
    """Take rows in another order, in threads: most of the time is spent waiting for memory."""
    taken = np.empty((chosen.size, rows.shape[1]), dtype=rows.dtype)
    share_rows(
        chosen.size,
        lambda part: np.take(rows, chosen[part], axis=0, out=taken[part], mode="clip"),
        rows.shape[1],
    )
    return np.asarray(taken, dtype=np.float64)


def group_staying(table: Table, leaf: Ints32) -> tuple[Units, Ints32, Ints]:
    """Group rows that all stay in their leaves."""
    nobody = np.zeros(leaf.size, dtype=np.bool_)
    gone = np.empty(0, dtype=np.int64)
    match = Match(leaf, _weights(table), nobody, gone, nobody, np.arange(leaf.size))
    return _group_units(table, match)


def _join_equal(key: NDArray[np.uint64], origin: Ints32, weight: Ints) -> Ints32:
    """Give new rows the origin of equal rows that are not new, the heaviest if there are several."""
    new = origin < 0
    if new.all() or not new.any():
        return origin
    old = np.flatnonzero(~new)
    order = old[np.lexsort((origin[old], key[old]))]
    first = starts_of_runs(key[order], origin[order])
    total = np.add.reduceat(weight[order], first)
    lead = order[first]
    best = np.lexsort((origin[lead], -total, key[lead]))
    lead = lead[best[starts_of_runs(key[lead[best]])]]
    at = np.minimum(np.searchsorted(key[lead], key[new]), lead.size - 1)
    joined = origin.copy()
    joined[new] = np.where(key[lead[at]] == key[new], origin[lead[at]], np.int32(-1))
    return joined


def _weights(table: Table) -> Ints:
    return table.weight if table.weight.size else np.ones(table.rows.shape[0], dtype=np.int64)


def _sort_runs(key: NDArray[np.uint64], *then: NDArray[Any]) -> tuple[Ints, Ints]:
    """Sort by key, of equal keys by other values and the place; where runs of equal entries begin."""
    order = np.argsort(key)
    first = starts_of_runs(key[order])
    if first.size == key.size:  # mostly; sorting in full takes longer
        return order, first
    order = np.lexsort((*then[::-1], key))
    return order, starts_of_runs(key[order], *(values[order] for values in then))
