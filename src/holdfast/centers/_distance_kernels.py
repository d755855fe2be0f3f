"""Distances with a fixed order of summation, gains of candidates, replay of splits, nearest means."""

import math

import numpy as np

from holdfast._machine.hash import combine, portable_log, uniform
from holdfast._machine.jit import inner_kernel, kernel, writing_kernel

EUCLIDEAN, MANHATTAN, COSINE, PRECOMPUTED = 0, 1, 2, 3
ROUNDING = 2.0**-40  # relative differences below this are treated as rounding errors
_BLOCK = 512  # members whose distances are in memory at a time


@inner_kernel
def distance_between(a, b, metric):
    """Distance of two points, added by dimension; for the cosine distance they have length 1."""
    total = 0.0
    for j in range(a.size):
        difference = a[j] - b[j]
        total += abs(difference) if metric == MANHATTAN else difference * difference
    if metric == EUCLIDEAN:
        return math.sqrt(total)
    return 0.5 * total if metric == COSINE else total


@inner_kernel
def distances_to(point, columns, start, stop, metric, out):
    """Distances from a point to members, dimension by dimension; the same bits as one by one."""
    size = stop - start
    if metric == PRECOMPUTED:
        for q in range(size):
            out[q] = point[start + q]
        return
    for q in range(size):
        out[q] = 0.0
    for j in range(columns.shape[0]):
        value = point[j]
        if metric == MANHATTAN:
            for q in range(size):
                out[q] += abs(columns[j, start + q] - value)
        else:
            for q in range(size):
                difference = columns[j, start + q] - value
                out[q] += difference * difference
    if metric == EUCLIDEAN:
        for q in range(size):
            out[q] = math.sqrt(out[q])
    elif metric == COSINE:
        for q in range(size):
            out[q] *= 0.5


@kernel
def score_candidates(columns, weight, own, first, last, metric, gain):
    """Gain of the candidates ``first .. last`` of one cluster, which are also members.

    The gain is the sum over members of weight times ``max(0, own - distance)``. If `own` is
    infinite, because there is no center yet, it is minus the cost.
    """
    members = weight.size
    distance = np.empty(_BLOCK, np.float64)
    for x in range(first, last):
        total = 0.0
        point = columns[:, x].copy()
        for start in range(0, members, _BLOCK):
            stop = min(start + _BLOCK, members)
            distances_to(point, columns, start, stop, metric, distance)
            for q in range(stop - start):
                if own[start + q] == math.inf:
                    total -= weight[start + q] * distance[q]
                elif own[start + q] > distance[q]:
                    total += weight[start + q] * (own[start + q] - distance[q])
        gain[x] = total


@kernel
def split_members(columns, weight, own, center, metric, moves, new_own):
    """Which members move to the member `center`, all distances after, and both parts' costs."""
    members = weight.size
    distance = np.empty(_BLOCK, np.float64)
    point = columns[:, center].copy()
    stayed, moved = 0.0, 0.0
    for start in range(0, members, _BLOCK):
        stop = min(start + _BLOCK, members)
        distances_to(point, columns, start, stop, metric, distance)
        for q in range(stop - start):
            i = start + q
            moves[i] = distance[q] < own[i] or i == center
            new_own[i] = distance[q] if moves[i] else own[i]
            if moves[i]:
                moved += weight[i] * distance[q]
            else:
                stayed += weight[i] * own[i]
    return stayed, moved


@writing_kernel
def draw_candidate(t, gain, free, weight, key, temperature):
    """Draw a free candidate with probability proportional to ``weight exp(gain / temperature)``.

    The winner is the first of independent exponential clocks, keyed by row content and round. A
    temperature of 0 takes the largest gain, with ties broken by key. Ties are common: two rows that
    would each take only the other have equal gains, up to the rounding of their sums.
    """
    most = -math.inf
    for x in range(gain.size):
        if free[x] and gain[x] > most:
            most = gain[x]
    tied = most - abs(most) * ROUNDING
    winner, earliest = -1, math.inf
    for x in range(gain.size):
        if not free[x] or (temperature == 0.0 and gain[x] < tied):
            continue
        if temperature == 0.0:
            score = -uniform(key[x])
        else:
            clock = -portable_log(uniform(combine(key[x], np.uint64(t)))) / weight[x]
            score = portable_log(clock) + (most - gain[x]) / temperature
        if winner < 0 or score < earliest:
            winner, earliest = x, score
    return winner


@inner_kernel
def add_product(sums, t, weight, units):
    """Add ``weight * units`` to entry t of a list of 128-bit integers (low word, high word)."""
    low_half = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1 = weight & low_half, weight >> half
    b0, b1 = units & low_half, units >> half
    first = a0 * b0
    middle = a1 * b0 + (first >> half)
    other = a0 * b1 + (middle & low_half)
    low = (other << half) | (first & low_half)
    high = a1 * b1 + (middle >> half) + (other >> half)
    total = sums[t, 0] + low
    sums[t, 1] += high + (np.uint64(1) if total < low else np.uint64(0))
    sums[t, 0] = total


@inner_kernel
def in_units(distance, unit):
    """Round a distance to whole units, at least one if it is not 0, at most 2^62."""
    if distance == 0.0:
        return np.uint64(0)
    return np.uint64(max(math.floor(min(distance / unit, 2.0**62) + 0.5), 1.0))


@writing_kernel
def assign_rows(rows, weight, centers, first_child, children, metric, unit, label, sums):
    """Replay the nested splits for each row.

    The children of cluster t, ``children[first_child[t]:first_child[t + 1]]``, are in the order of
    the splits. Fills `label` with the last cluster that a row moves to. Adds to ``sums[t]`` what
    rows save by moving into cluster t, and to the last entry their final cost. Sums are integers,
    so their order does not matter.
    """
    last = sums.shape[0] - 1
    for i in range(rows.shape[0]):
        cluster = 0
        multiplicity = np.uint64(weight[i])
        own = distance_between(rows[i], centers[0], metric)
        c = first_child[0]
        while c < first_child[cluster + 1]:
            t = children[c]
            distance = distance_between(rows[i], centers[t], metric)
            c += 1
            if distance < own:
                saved = in_units(own, unit) - in_units(distance, unit)
                add_product(sums, t, multiplicity, saved)
                cluster, own = t, distance
                c = first_child[t]
        label[i] = cluster
        add_product(sums, last, multiplicity, in_units(own, unit))


@writing_kernel
def assign_between(rows, mover, rival, first_child, children, label):
    """Replay splits between two points each: a row moves if it is closer to the mover."""
    for i in range(rows.shape[0]):
        cluster, c = 0, first_child[0]
        while c < first_child[cluster + 1]:
            t = children[c]
            c += 1
            near = distance_between(rows[i], mover[t], EUCLIDEAN)
            if near < distance_between(rows[i], rival[t], EUCLIDEAN):
                cluster, c = t, first_child[t]
        label[i] = cluster


@kernel
def unit_rows(rows):
    """Scale each row to length 1; rows of length 0 do not change."""
    scaled = np.empty_like(rows)
    for i in range(rows.shape[0]):
        most = 0.0
        for j in range(rows.shape[1]):
            most = max(most, abs(rows[i, j]))
        total = 0.0
        for j in range(rows.shape[1]):
            value = rows[i, j] / most if most > 0.0 else 0.0
            total += value * value
        for j in range(rows.shape[1]):
            scaled[i, j] = rows[i, j] / most / math.sqrt(total) if most > 0.0 else 0.0
    return scaled


@inner_kernel
def distance_from(rows, i, points, c, spherical):
    """Distance from a row to a point, column by column; half its square for the cosine distance."""
    total = 0.0
    for j in range(rows.shape[1]):
        difference = rows[i, j] - points[c, j]
        total += difference * difference
    return 0.5 * total if spherical else math.sqrt(total)


@inner_kernel
def scale_distances(rows, i, factor, columns, scale, spherical, near):
    """Distances from a row to all points (`columns`), times scales; the bits of one by one."""
    for c in range(near.size):
        near[c] = 0.0
    for j in range(columns.shape[0]):
        value = rows[i, j] * factor
        for c in range(near.size):
            difference = value - columns[j, c]
            near[c] += difference * difference
    if spherical:
        for c in range(near.size):
            near[c] = 0.5 * near[c] * scale[c]
    else:
        for c in range(near.size):
            near[c] = math.sqrt(near[c]) * scale[c]


@kernel
def nearest_leaves(rows, factor, path, columns, scale, label, spherical, out):
    """Label of the leaf with the smallest sum over its path of distance times ``scale[c]``."""
    near = np.empty(columns.shape[1])
    for i in range(rows.shape[0]):
        scale_distances(rows, i, factor, columns, scale, spherical, near)
        least, winner = math.inf, 0
        for q in range(path.shape[0]):
            score = 0.0
            for level in range(path.shape[1]):
                score += near[path[q, level]]
            if score < least:
                least, winner = score, q
        out[i] = label[winner]
