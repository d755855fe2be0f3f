"""Means of members, two means that settle, and the split between two points."""

import math

import numpy as np

from holdfast._machine.jit import kernel
from holdfast.centers._distance_kernels import EUCLIDEAN, ROUNDING, distances_to

__all__ = ["mean_point", "nearest_member", "settle_pair", "split_between"]

_MOST_STEPS = 100
_BLOCK = 512  # members whose distances are held at a time


@kernel
def mean_point(columns, weight, chosen, value, out):
    """Weighted mean of the members where `chosen` is `value`, terms added in their order.

    Differences to the first of them are averaged: a column without differences stays exact.
    Returns the number of members.
    """
    first, count, total = -1, 0, 0.0
    for i in range(weight.size):
        if chosen[i] == value:
            count += 1
            total += weight[i]
            if first < 0:
                first = i
    if count == 0:
        return 0
    for j in range(columns.shape[0]):
        anchor, change = columns[j, first], 0.0
        for i in range(weight.size):
            if chosen[i] == value:
                change += weight[i] * (columns[j, i] - anchor)
        out[j] = min(max(anchor + change / total, -1.0), 1.0)
    return count


@kernel
def split_between(columns, weight, rival, mover, moves, own):
    """Who is closer to `mover` than to `rival` (ties are not), and everybody's distance to theirs.

    Returns the cost of those who stay and of those who move.
    """
    near, far = np.empty(_BLOCK, np.float64), np.empty(_BLOCK, np.float64)
    stayed, moved = 0.0, 0.0
    for start in range(0, weight.size, _BLOCK):
        stop = min(start + _BLOCK, weight.size)
        distances_to(mover, columns, start, stop, EUCLIDEAN, near)
        distances_to(rival, columns, start, stop, EUCLIDEAN, far)
        for q in range(stop - start):
            i = start + q
            moves[i] = near[q] < far[q]
            own[i] = near[q] if moves[i] else far[q]
            if moves[i]:
                moved += weight[i] * near[q]
            else:
                stayed += weight[i] * far[q]
    return stayed, moved


@kernel
def settle_pair(columns, weight, a, b):
    """Let two points settle: split the members between them, move both to the means, repeat.

    Until no member changes sides, a side is empty, or after a hundred steps. Changes `a` and `b`.
    """
    side, before = np.zeros(weight.size, np.bool_), np.zeros(weight.size, np.bool_)
    own = np.empty(weight.size)
    next_a, next_b = np.empty(a.size), np.empty(b.size)
    for step in range(_MOST_STEPS):
        split_between(columns, weight, a, b, side, own)
        changed = step == 0
        for i in range(side.size):
            changed |= side[i] != before[i]
            before[i] = side[i]
        if not changed:
            return
        if mean_point(columns, weight, side, False, next_a) == 0:
            return
        if mean_point(columns, weight, side, True, next_b) == 0:
            return
        a[:] = next_a
        b[:] = next_b


@kernel
def nearest_member(columns, point, chosen):
    """Find the member closest to a point where `chosen` is true, the first of those that tie.

    Ties are common: two members are equally far from their mean, up to rounding.
    """
    distance = np.empty(chosen.size)
    distances_to(point, columns, 0, chosen.size, EUCLIDEAN, distance)
    least = math.inf
    for i in range(chosen.size):
        if chosen[i] and distance[i] < least:
            least = distance[i]
    for i in range(chosen.size):
        if chosen[i] and distance[i] <= least * (1.0 + ROUNDING):
            return i
    return -1
