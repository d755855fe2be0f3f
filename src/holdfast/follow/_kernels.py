"""One pass over units each: sums, distances to means at every level, and the best leaf."""

import math

import numpy as np

from holdfast._machine.jit import kernel
from holdfast.centers._distance_kernels import distance_from, scale_distances


@kernel
def sum_leaves(rows, weight, leaf, sums):
    """Add each row to the sum of its leaf; rows without a leaf are left out."""
    for i in range(rows.shape[0]):
        q, w = leaf[i], np.float64(weight[i])
        if q < 0:
            continue
        for j in range(rows.shape[1]):
            sums[q, j] += w * rows[i, j]


@kernel
def count_weight(place, weight, total):
    """Add each weight to the total of its place; entries without a place are left out."""
    for i in range(place.size):
        if place[i] >= 0:
            total[place[i]] += weight[i]


@kernel
def count_flow(origin, leaf, weight, flow):
    """Add each weight to the flow from its origin to its leaf; entries without an origin stay out."""
    for i in range(origin.size):
        if origin[i] >= 0:
            flow[origin[i], leaf[i]] += weight[i]


@kernel
def measure_paths(rows, weight, leaf, path, points, spherical, costs):
    """Add the weighted distance of each row to every node on the path of its leaf.

    `path` has the nodes of each leaf; a negative entry ends it. ``costs[c]`` is added to. Rows
    without a leaf are left out.
    """
    for i in range(rows.shape[0]):
        q = leaf[i]
        if q < 0:
            continue
        for level in range(path.shape[1]):
            c = path[q, level]
            if c < 0:
                break
            costs[c] += weight[i] * distance_from(rows, i, points, c, spherical)


@kernel
def sum_directions(rows, weight, leaf, path, points, sums):
    """Add the direction from each center on the path of a row's leaf to the row, times its weight."""
    for i in range(rows.shape[0]):
        for level in range(path.shape[1]):
            c = path[leaf[i], level]
            length = distance_from(rows, i, points, c, False)
            if length == 0.0:
                continue
            for j in range(rows.shape[1]):
                sums[c, j] += weight[i] * ((rows[i, j] - points[c, j]) / length)


@kernel
def closest_units(rows, key, leaf, points, first, found, square):
    """Update the unit closest to the mean of each leaf; ties are settled by key, then by order.

    Means begin at ``points[first]``; `found` is -1 and `square` infinite before the first unit.
    """
    for i in range(rows.shape[0]):
        q = leaf[i]
        total = 0.0
        for j in range(rows.shape[1]):
            difference = rows[i, j] - points[first + q, j]
            total += difference * difference
        if found[q] < 0 or total < square[q] or (total == square[q] and key[i] < key[found[q]]):
            found[q], square[q] = i, total


@kernel
def cost_to_point(rows, weight, start, stop, points, c, spherical):
    """Weighted sum of distances from the rows ``start .. stop`` to one point."""
    total = 0.0
    for i in range(start, stop):
        total += weight[i] * distance_from(rows, i, points, c, spherical)
    return total


@kernel
def choose_leaves(
    rows, pull, inertia, steady, counted, origin, leaf, path, columns, scale, home, price, caution, closed,
    spherical, now, until, best, gain
):  # fmt: skip
    """Find the leaf with the smallest score for each unit that may want to move.

    The score of a leaf is the sum over its path of distance times ``scale[c]``, plus its price times
    `pull` for each level at which the cluster is not the one that the unit had yesterday, its home;
    at least `inertia` in all if there is such a level. A steady unit, whose values did not change,
    pays the price times `caution`.
    A unit is looked at if ``until[i]`` does not exceed `now`, and `until` is then set: centers may
    move by that much in all before another leaf can win. A unit that counts for the budget does
    not leave home at a closed level.
    """
    levels, leaves = path.shape[1], path.shape[0]
    near = np.empty(columns.shape[1])
    for i in range(rows.shape[0]):
        best[i], gain[i] = leaf[i], 0.0
        if until[i] > now:
            continue
        scale_distances(rows, i, 1.0, columns, scale, spherical, near)
        y, here = origin[i], leaf[i]
        own, least, second = 0.0, math.inf, math.inf
        for q in range(leaves):
            score, toll, away, barred = 0.0, 0.0, False, False
            for level in range(levels):
                score += near[path[q, level]]
            if score >= least and q != here:
                continue  # its price would only add to that
            for level in range(levels):
                if y >= 0 and path[q, level] != home[y, level]:
                    toll += price[level] * pull[i] * (caution[level] if steady[i] else 1.0)
                    away = True
                    if counted[i] > 0 and closed[level] and path[here, level] == home[y, level]:
                        barred = True
            if away:
                score += max(toll, inertia[i])
            if q == here:
                own = score
            else:
                second = min(second, score)
                if not barred and score < least:
                    least = score
                    best[i] = q
        until[i] = now + (second - own)
        if least < own - 1e-12 * own:
            gain[i] = own - least
        else:
            best[i] = here
