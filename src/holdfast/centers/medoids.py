"""Rows -> centers by the k-median cost itself: the mechanism of Alg. 2 without the tree.

Distinct locations are sorted by key. The first `max_candidates` of them are the candidates, and also
the sample that scores the candidates. Each round draws one candidate, which takes the members of
its own cluster that are closer to it than to their center. Only that cluster is split, so cuts are
nested. If the earlier centers are the same, a deleted row changes scores only by its own distance.
"""

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints, Ints32, Mask, Words, read_only
from holdfast._machine.work import share_parts
from holdfast.centers._distance_kernels import (
    PRECOMPUTED,
    draw_candidate,
    score_candidates,
    split_members,
    unit_rows,
)
from holdfast.centers._race_kernels import draw_temperature
from holdfast.centers.choose import round_keys, temperature_rate
from holdfast.grid._kernels import count_merged, sum_weights
from holdfast.grid.cells import row_keys, to_fixed_point

METRICS = ("euclidean", "manhattan", "cosine", "precomputed")

MAX_CANDIDATES = 4096
"""Maximum number of rows among which centers are chosen, and by which they are scored."""

_THREADED = 1 << 21  # distances times dimensions above which threads are faster


@dataclass(frozen=True)
class Locations:
    """Distinct rows in the order of their keys."""

    rows: Floats  # (n, n_features): all rows, prepared for the metric
    order: Ints32  # (n,): rows by location, then by row number
    start: Ints32  # (n_locations + 1,): rows of location i are ``order[start[i]:start[i + 1]]``
    weight: Floats  # (n_locations,): integer-valued, in units of `weight_unit`
    weight_unit: float
    key: Words  # (n_locations,): hash of the seed and the content, increasing

    @property
    def first_rows(self) -> Ints32:
        """The row that represents each location."""
        return self.order[self.start[:-1]]


def prepare_rows(X: Floats, metric: int, exponent: int) -> Floats:
    """Scale rows by a power of two, so that nothing overflows; to length 1 for the cosine."""
    prepared: Floats
    if METRICS[metric] == "cosine":
        prepared = unit_rows(X)
    else:
        with np.errstate(over="ignore"):  # new rows so far away that all distances are infinite
            prepared = np.ldexp(X, -exponent)
    return prepared


def _location_keys(rows: Floats, seed: int, metric: int, exponent: int) -> Words:
    """Keys of prepared rows; they hash the given values, so no row affects the keys of others."""
    return row_keys(rows, seed, 0 if METRICS[metric] == "cosine" else exponent)


def collect_locations(
    rows: Floats,
    weight: Floats | None,
    seed: int,
    metric: int = 0,
    exponent: int = 0,
    given: Words | None = None,
) -> Locations:
    """Merge identical rows and sort them by key, which depends on content and not on row order.

    `rows` come from :func:`prepare_rows` with the same metric and exponent. Rows of distances have no
    content of their own: their keys are given, and identical ones get the smallest of theirs.
    """
    key = _location_keys(rows, seed, metric, exponent)
    if given is not None:
        smallest = np.full(rows.shape[0], np.iinfo(np.uint64).max, dtype=np.uint64)
        group = np.unique(key, return_inverse=True)[1]
        np.minimum.at(smallest, group, given)
        key = smallest[group]
    order = np.argsort(key, kind="stable").astype(np.int32)
    start = _starts(np.diff(key[order]) != 0)
    merged = count_merged(read_only(rows), order, start)
    if merged.any():  # two different rows with one key, which happens once in 2^64 pairs
        order = np.lexsort((*rows.T[::-1], key)).astype(np.int32)
        start = _starts((rows[order[1:]] != rows[order[:-1]]).any(axis=1))
    unit = 1.0
    if weight is None:
        weight = np.ones(rows.shape[0])
    else:
        weight, unit = to_fixed_point(weight)
    total = sum_weights(weight, order, start)
    return Locations(rows, order, start, total, unit, key[order[start[:-1]]])


def _starts(new: Mask) -> Ints32:
    """Where runs begin, given whether each element after the first begins one; and the end."""
    return np.concatenate(([0], np.flatnonzero(new) + 1, [new.size + 1])).astype(np.int32)


def choose_by_distance(
    locations: Locations,
    epsilon: float,
    n_centers: int,
    max_candidates: int,
    metric: int,
    seed: int,
) -> tuple[Ints, Ints32]:
    """Choose centers among the first locations; return them, and the clusters they split or -1."""
    size = min(max_candidates, locations.weight.size)
    weight, key = locations.weight[:size], locations.key[:size]
    columns = _columns_of(locations.rows, locations.first_rows[:size], metric)
    total = float(weight.sum()) * locations.weight_unit
    rate, keys = temperature_rate(epsilon, total), round_keys(seed)
    own = np.full(size, np.inf)
    gain = np.empty(size)
    free = np.ones(size, dtype=np.bool_)
    members = [np.arange(size)]
    cluster = np.zeros(size, dtype=np.int32)
    costs: list[float] = []
    center = np.empty(min(n_centers, size), dtype=np.int64)
    parent = np.full(center.size, -1, dtype=np.int32)
    score_members(columns, weight, own, members[0], metric, gain)
    for t in range(center.size):
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        j = int(cluster[best])
        _, stayed, moved, _ = _split(columns, weight, own, members[j], best, metric)
        least_cost = math.fsum((*costs[:j], *costs[j + 1 :], stayed, moved))
        temperature, _ = draw_temperature(t, least_cost, rate, keys[0])
        x = int(draw_candidate(t, gain, free, weight, key, temperature))
        j = int(cluster[x])
        moves, stayed, moved, distance = _split(columns, weight, own, members[j], x, metric)
        center[t], free[x] = x, False
        own[members[j]] = distance
        if t == 0:
            costs.append(moved)
        else:
            parent[t] = j
            members.append(members[j][moves])
            members[j] = members[j][~moves]
            cluster[members[t]] = t
            costs[j] = stayed
            costs.append(moved)
        for touched in {j, t}:
            score_members(columns, weight, own, members[touched], metric, gain)
    return center, parent


def _columns_of(rows: Floats, chosen: NDArray[np.integer], metric: int) -> Floats:
    """Take rows, dimension by dimension; of distances, those between these rows."""
    found = rows[np.ix_(chosen, chosen)] if metric == PRECOMPUTED else rows[chosen].T
    return np.ascontiguousarray(found)


def _members_of(columns: Floats, members: Ints, metric: int) -> Floats:
    """Do the same for members of columns."""
    if metric == PRECOMPUTED:
        return columns[np.ix_(members, members)]
    return np.ascontiguousarray(columns[:, members])


def _split(
    columns: Floats, weight: Floats, own: Floats, members: Ints, center: int, metric: int
) -> tuple[Mask, float, float, Floats]:
    """Which members move to a new center, the costs of both sides, and all distances after."""
    if metric == PRECOMPUTED:
        return _split_by_distance(
            columns[members, center], weight[members], own[members], members, center
        )
    moves = np.empty(members.size, dtype=np.bool_)
    distance = np.empty(members.size)
    stayed, moved = split_members(
        _members_of(columns, members, metric),
        weight[members],
        own[members],
        int(np.searchsorted(members, center)),
        metric,
        moves,
        distance,
    )
    return moves, stayed, moved, distance


def _split_by_distance(
    distance: Floats, weight: Floats, own: Floats, members: Ints, center: int
) -> tuple[Mask, float, float, Floats]:
    """Do the same with known distances: sums run one by one, as in the kernel."""
    moves = (distance < own) | (members == center)
    after = np.where(moves, distance, own)
    terms = weight * after
    stayed, moved = (float(np.cumsum(np.where(side, terms, 0.0))[-1]) for side in (~moves, moves))
    return moves, stayed, moved, after


def score_members(
    columns: Floats, weight: Floats, own: Floats, members: Ints, metric: int, gain: Floats
) -> None:
    """Update the gains of all members of a cluster; each is summed separately, in a fixed order."""
    if members.size < 2:
        gain[members] = 0.0
        return
    block = _members_of(columns, members, metric)
    part_weight, part_own, part_gain = weight[members], own[members], np.empty(members.size)
    parts = 1
    if members.size * members.size * columns.shape[0] >= _THREADED:
        parts = 4 * (os.cpu_count() or 1)
    ends = np.linspace(0, members.size, parts + 1).astype(np.int64)

    def work(i: int) -> None:
        score_candidates(block, part_weight, part_own, ends[i], ends[i + 1], metric, part_gain)

    share_parts(parts, work)
    gain[members] = part_gain
