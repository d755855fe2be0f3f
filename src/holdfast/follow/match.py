"""Today's rows -> units: who was where yesterday, by id or by content."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.centers.keyed_table import Table, collect_table
from holdfast.follow.state import Floats, Ints, Numbers, Scalar, Units

__all__ = ["Match", "group_units", "key_rows", "match_content", "match_ids"]

_LARGE = 300  # exponents of values that are left as they are


@dataclass(frozen=True, eq=False)
class Match:
    """Where each of today's rows was yesterday.

    Attributes
    ----------
    origin : ndarray of shape (n_rows,), dtype int32
        Yesterday's leaf; -1 for rows that are new.
    surviving : ndarray of shape (n_rows,), dtype int64
        The part of its weight that was there yesterday.
    changed : ndarray of shape (n_rows,), dtype bool
        Whether the values of a surviving row are others than yesterday.
    left : ndarray of shape (n_left,), dtype int64
        Yesterday's rows that are not there today.
    returning : ndarray of shape (n_rows,), dtype bool
        Rows that were not there yesterday, but earlier.
    latent : ndarray of shape (n_rows,), dtype float64
        What moving would have saved yesterday, as a part of the sum over levels of relative costs
        times the weight of all rows; 0 for rows that are not the same as yesterday.
    """

    origin: Numbers
    surviving: Ints
    changed: NDArray[np.bool_]
    left: Ints
    returning: NDArray[np.bool_]
    latent: Floats


def key_rows(
    rows: NDArray[np.floating], weight: Floats | None, spherical: bool, seed: int
) -> Table:
    """Key rows as a fit does; extreme values are scaled so that squares of distances are normal."""
    table = collect_table(np.asarray(rows), weight, spherical, seed)
    largest = math.frexp(float(max(rows.max(), -rows.min())))[1]
    if spherical or abs(largest) <= _LARGE:
        return table
    return replace(table, exponent=min(-largest, 1000))


def match_ids(
    place: Ints,
    leaf: Numbers,
    weight: Ints,
    keys: NDArray[np.uint64],
    old: NDArray[np.uint64],
    latent: Floats,
) -> Match:
    """Match rows by the place of their ids among yesterday's rows."""
    found = place >= 0
    origin = np.where(found, leaf[place], np.int32(-1)).astype(np.int32)
    changed = found & (keys != old[place])
    gone = np.ones(leaf.size, dtype=np.bool_)
    gone[place[found]] = False
    surviving = np.where(found, weight, 0)
    nobody = np.zeros(place.size, dtype=np.bool_)
    waiting = np.where(found & ~changed, latent[place], 0.0)
    return Match(origin, surviving, changed, np.flatnonzero(gone), nobody, waiting)


def match_content(
    keys: NDArray[np.uint64],
    weight: Ints,
    old: NDArray[np.uint64],
    leaf: Numbers,
    old_weight: Ints,
    latent: Floats,
) -> Match:
    """Match rows to equal rows of yesterday, at most as often as these were there.

    If equal rows were in several clusters, today's are matched to those of the heaviest one.
    """
    order = np.lexsort((leaf, old))
    first = _starts(old[order], leaf[order])
    key, place = old[order[first]], leaf[order[first]]
    total = np.add.reduceat(old_weight[order], first)
    waiting = latent[order[first]]
    best = np.lexsort((place, -total, key))
    best = best[_starts(key[best])]
    key, place, total, waiting = key[best], place[best], total[best], waiting[best]
    at = np.minimum(np.searchsorted(key, keys), key.size - 1)
    found = key[at] == keys
    origin = np.where(found, place[at], -1).astype(np.int32)
    # Of equal rows, the weight that was there is handed out in the order of rows.
    by_key = np.argsort(keys, kind="stable")
    before = np.cumsum(weight[by_key]) - weight[by_key]
    begins = _starts(keys[by_key])
    before -= np.repeat(before[begins], np.diff(np.append(begins, keys.size)))
    surviving = np.zeros(keys.size, dtype=np.int64)
    surviving[by_key] = np.clip(total[at[by_key]] - before, 0, weight[by_key])
    surviving[~found] = 0
    return Match(
        origin,
        surviving,
        np.zeros(keys.size, dtype=np.bool_),
        np.flatnonzero(~np.isin(old, keys)),
        np.zeros(keys.size, dtype=np.bool_),
        np.where(surviving > 0, waiting[at], 0.0),
    )


def group_units(table: Table, match: Match) -> tuple[Units, Numbers, Ints]:
    """Rows of equal content and origin become units; a new row joins equal rows that are not new.

    Returns
    -------
    units : Units
    of_row : ndarray of shape (n_rows,), dtype int32
    first : ndarray of shape (n_units,), dtype int64
        The first row of each unit.
    """
    weight, origin = _weights(table), match.origin
    order = np.argsort(table.key)
    key = table.key[order]
    first = np.arange(order.size)
    if (key[1:] == key[:-1]).any():
        origin = _join_equal(table.key, origin, weight)
        order = np.lexsort((origin, table.key))
        first = _starts(table.key[order], origin[order])
    lead = order[first]
    of_row = np.empty(order.size, dtype=np.int32)
    of_row[order] = np.repeat(
        np.arange(first.size, dtype=np.int32), np.diff(np.append(first, order.size))
    )

    def gather(values: NDArray[Scalar], combine: np.ufunc) -> NDArray[Scalar]:
        of_unit: NDArray[Scalar] = values[order]
        return of_unit if first.size == order.size else combine.reduceat(of_unit, first)

    counted = pulled = gather(match.surviving, np.add)
    if match.returning.any():
        pulled = gather(np.where(match.returning, weight, match.surviving), np.add)
    rows = np.asarray(table.rows[lead], dtype=np.float64)
    units = Units(
        rows=rows if table.exponent == 0 else rows * np.float64(table.factor),
        weight=gather(weight, np.add) if table.weight.size else np.diff(first, append=order.size),
        key=table.key[lead],
        origin=origin[lead],
        pulled=pulled,
        counted=counted,
        spherical=table.spherical,
        inertia=gather(match.latent, np.maximum) / float(weight.sum()),
        steady=gather(~match.changed, np.logical_or),
    )
    return units, of_row, lead


def _join_equal(key: NDArray[np.uint64], origin: Numbers, weight: Ints) -> Numbers:
    """Give new rows the origin of equal rows that are not new, the heaviest if there are several."""
    new = origin < 0
    if new.all() or not new.any():
        return origin
    old = np.flatnonzero(~new)
    order = old[np.lexsort((origin[old], key[old]))]
    first = _starts(key[order], origin[order])
    total = np.add.reduceat(weight[order], first)
    lead = order[first]
    best = np.lexsort((origin[lead], -total, key[lead]))
    lead = lead[best[_starts(key[lead[best]])]]
    at = np.minimum(np.searchsorted(key[lead], key[new]), lead.size - 1)
    joined = origin.copy()
    joined[new] = np.where(key[lead[at]] == key[new], origin[lead[at]], np.int32(-1))
    return joined


def _weights(table: Table) -> Ints:
    return table.weight if table.weight.size else np.ones(table.rows.shape[0], dtype=np.int64)


def _starts(*sorted_by: NDArray[Any]) -> Ints:
    """Where runs of equal entries begin."""
    new = np.zeros(sorted_by[0].size, dtype=np.bool_)
    new[:1] = True
    for values in sorted_by:
        new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(new)
