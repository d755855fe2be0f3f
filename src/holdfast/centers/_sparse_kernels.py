"""Splits between means of sparse rows, in time that grows with the values stored.

These kernels do what those of dense rows do, with two changes. A cluster works on the columns in which
a member has a value: `where` numbers them. In all others its members, its mean and its planes are
zero. And what a row without a value in a column adds is added for all rows at once: to an inner
product by an offset, to a distance by the squares of the mean, to sums by the steps of a zero.

Within a row, terms are added in the order of the columns. Results differ from those of dense rows by
rounding.
"""

import math

import numpy as np

from holdfast._machine._kernels import combine
from holdfast._machine.jit import inner_kernel, writing_kernel
from holdfast.centers._distance_kernels import COSINE, EUCLIDEAN, MANHATTAN, in_units
from holdfast.centers._member_kernels import COST_UNIT, HALF, LOW
from holdfast.centers._sample_kernels import fold, move_to_sphere, normalize

__all__ = ["add_products", "distances_of_rows", "gather_rows", "key_values", "measure_rows"]
__all__ += ["seek_among_rows", "sides_of_rows", "split_rows", "unit_values"]


@writing_kernel
def unit_values(starts, values, scaled):
    """Scale each row to length 1, as `unit_rows` does."""
    for i in range(starts.size - 1):
        most, total = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            most = max(most, abs(values[e]))
        for e in range(starts[i], starts[i + 1]):
            value = values[e] / most if most > 0.0 else 0.0
            total += value * value
        for e in range(starts[i], starts[i + 1]):
            scaled[e] = values[e] / most / math.sqrt(total) if most > 0.0 else 0.0


@writing_kernel
def key_values(starts, columns, values, width, key, keys):
    """Hash each row as `content_keys` does: with its zeros up to `width` columns, 0 for no such."""
    for i in range(keys.size):
        h, j = key, 0
        for e in range(starts[i], starts[i + 1]):
            value = values[e] + 0.0  # -0.0 becomes 0.0
            word = np.float64(value).view(np.uint64)
            if width > 0:
                for _ in range(j, columns[e]):
                    h = combine(h, np.uint64(0))
                h = combine(h, word)
                j = columns[e] + 1
            elif value != 0.0:
                h = combine(combine(h, np.uint64(columns[e])), word)
        for _ in range(j, width):
            h = combine(h, np.uint64(0))
        keys[i] = h


@writing_kernel
def gather_rows(starts, columns, values, factor, where, members, own_columns, own_values):
    """Copy members, one after the other, with the numbers of their columns in the cluster."""
    to = 0
    for p in range(members.size):
        for e in range(starts[members[p]], starts[members[p] + 1]):
            own_columns[to], own_values[to] = where[columns[e]], values[e] * factor
            to += 1


@writing_kernel
def add_products(a, b):
    """Inner product of two lines, by halves; changes `a`."""
    for j in range(a.size):
        a[j] *= b[j]
    return fold(a, a.size)


@inner_kernel
def project_rows(starts, columns, values, size, mean, direction, along):
    """Inner products of the first rows, centered, with a direction."""
    offset = 0.0
    for j in range(mean.size):
        offset += mean[j] * direction[j]
    for p in range(size):
        total = 0.0
        for e in range(starts[p], starts[p + 1]):
            total += values[e] * direction[columns[e]]
        along[p] = total - offset


@inner_kernel
def squares_to(starts, columns, values, size, point, squares):
    """Squared distances of the first rows to a point."""
    whole = 0.0
    for j in range(point.size):
        whole += point[j] * point[j]
    for p in range(size):
        inside, covered = 0.0, 0.0
        for e in range(starts[p], starts[p + 1]):
            there = point[columns[e]]
            inside += (values[e] - there) * (values[e] - there)
            covered += there * there
        squares[p] = inside + max(whole - covered, 0.0)


@inner_kernel
def distances_from(squares, size, spherical):
    """Turn squared distances into distances; for the cosine distance into half of them."""
    for p in range(size):
        squares[p] = 0.5 * squares[p] if spherical else math.sqrt(squares[p])


@inner_kernel
def weigh_rows(values, weight, size):
    """Multiply the first values by the weights of their rows."""
    for p in range(size if weight.size > 0 else 0):
        values[p] *= weight[p]


@inner_kernel
def score_rows(starts, columns, values, weight, mean, size, anchor, spherical, room, lines, score):
    """Score candidates as `score_candidates` does; `anchor` is no difference from the mean here."""
    along, near, far, own = room[0], room[1], room[2], room[3]
    point, direction, everything = lines[0], lines[1], 0.0
    both = score.shape[0] > 1
    if both:
        squares_to(starts, columns, values, own.size, anchor, own)
        distances_from(own, own.size, spherical)
    for p in range(size):
        everything += weight[p] if weight.size > 0 else 1
    for c in range(score.shape[1]):
        length = 0.0
        for j in range(mean.size):
            point[j] = 0.0
        for e in range(starts[c], starts[c + 1]):
            point[columns[e]] += values[e]
        for j in range(mean.size):
            direction[j] = point[j] - mean[j]
            length += direction[j] * direction[j]
        if both:
            squares_to(starts, columns, values, size, point, near)
            distances_from(near, size, spherical)
            for p in range(size):
                near[p] = max(own[p] - near[p], 0.0)
            weigh_rows(near, weight, size)
            score[1, c] = fold(near, size)
        score[0, c], moved = 0.0, 0.0
        project_rows(starts, columns, values, size, mean, direction, along)
        for p in range(size):
            times = weight[p] if weight.size > 0 else 1
            value = along[p] * times
            near[p], far[p] = min(value, 0.0), max(value, 0.0)
            moved += times if value > 0.0 else 0
        if 0.0 < moved < everything:
            low, high, stayed = fold(near, size), fold(far, size), everything - moved
            between = low * low / stayed + high * high / moved
            between -= (low + high) * (low + high) / everything
            score[0, c] = max(between / length, 0.0)
    if not both:
        return 0.0
    weigh_rows(own, weight, own.size)
    return fold(own, own.size)


@inner_kernel
def add_rows(starts, columns, values, times, mean, sums):
    """Add up the rows, centered, so many times each."""
    total = 0.0
    for j in range(mean.size):
        sums[j] = 0.0
    for p in range(times.size):
        if times[p] != 0.0:
            total += times[p]
            for e in range(starts[p], starts[p + 1]):
                sums[columns[e]] += times[p] * values[e]
    for j in range(mean.size):
        sums[j] -= total * mean[j]


@inner_kernel
def share_rows(along, level, width, weight, times, sides):
    """Weights with which rows count to the far side; see `share_members`."""
    far, size = 0, times.size
    for p in range(size):
        beyond = along[p] - level
        far += beyond > 0.0
        sides[p] = 1.0 if beyond > 0.0 else 0.0
        times[p] = sides[p]
        if width > 0.0:
            times[p] = min(max(0.5 + 0.5 * (beyond / width), 0.0), 1.0)
    weigh_rows(times, weight, size)
    weigh_rows(sides, weight, size)
    return 0 < far < size


@inner_kernel
def means_of_rows(
    starts, columns, values, times, everything, mean, total, stretch, spherical, place, ends
):  # fmt: skip
    """Means of both sides, centered; see `find_means`."""
    moved = 0.0
    for p in range(times.size):
        moved += times[p]
    add_rows(starts, columns, values, times, mean, ends[1])
    for j in range(mean.size):
        ends[0, j] = (total[j] - ends[1, j]) / (everything - moved)
        ends[1, j] = ends[1, j] / moved
    if spherical:
        move_to_sphere(ends, place, stretch)


@inner_kernel
def settle_between(
    starts, columns, values, weight, mean, stretch, spherical, averages, splits, soft, room, lines,
    ends, plane,
):  # fmt: skip
    """Let the plane between two points settle on the sample; see `settle_ends`.

    `mean` is in units of the cluster's extent, its plane is not; `lines` has five lines of the
    columns.
    """
    d, size, settled, everything = mean.size, starts.size - 1, False, 0.0
    along, times, terms, sides = room[0], room[1], room[2], room[3]
    direction, middle, total, place, point = lines[0], lines[1], lines[2], lines[3], lines[4]
    for j in range(d):
        place[j] = mean[j] / stretch
    for p in range(size):
        times[p] = weight[p] if weight.size > 0 else 1
        everything += times[p]
    add_rows(starts, columns, values, times, mean, total)
    for step in range(-averages, splits):
        if step < 0:
            project_rows(starts, columns, values, size, mean, ends[1], times)
            weigh_rows(times, weight, size)
            add_rows(starts, columns, values, times, mean, ends[1])
            normalize(ends[1])
            for j in range(d):
                ends[0, j] = -ends[1, j]
            continue
        width, level, changed = 0.0, 0.0, soft > 0.0 or step == 0
        for j in range(d):
            direction[j] = ends[1, j] - ends[0, j]
        normalize(direction)
        for j in range(d):
            width += direction[j] * (ends[1, j] - ends[0, j])
            middle[j] = 0.5 * ends[0, j] + 0.5 * ends[1, j]
            level += middle[j] * direction[j]
        project_rows(starts, columns, values, size, mean, direction, along)
        if not share_rows(along, level, soft * width, weight, times, terms):
            break
        for p in range(size):
            changed |= sides[p] != terms[p]
            sides[p] = terms[p]
        settled = True
        for j in range(d):
            plane[0, j], plane[1, j] = place[j] + middle[j] / stretch, direction[j]
        if step == splits - 1 or not changed:
            break
        means_of_rows(
            starts, columns, values, times, everything, mean, total, stretch, spherical, place, ends
        )
    if not settled or soft == 0.0:
        return 0.0 if settled else np.inf
    means_of_rows(
        starts, columns, values, sides, everything, mean, total, stretch, spherical, place, ends
    )
    for s in range(2):
        for j in range(d):
            point[j] = mean[j] + ends[s, j]
        squares_to(starts, columns, values, size, point, terms)
        for p in range(size):
            along[p] = terms[p] if (sides[p] > 0.0) == (s == 1) else along[p]
    distances_from(along, size, spherical)
    weigh_rows(along, weight, size)
    return fold(along, size)


@writing_kernel
def seek_among_rows(
    starts, columns, values, weight, mean, stretch, spherical, scored, averages, splits, soft, room,
    lines, anchor, score, ends, planes, after,
):  # fmt: skip
    """Let one or two planes settle that start from the best candidates; see `seek_planes`."""
    before = score_rows(
        starts, columns, values, weight, mean, scored, anchor, spherical, room, lines, score
    )
    for i in range(after.size):
        after[i], c = np.inf, np.argmax(score[i])
        if score[i, c] > 0.0:
            for j in range(mean.size):
                ends[i, 1, j] = -mean[j]
            for e in range(starts[c], starts[c + 1]):
                ends[i, 1, columns[e]] += values[e]
            for j in range(mean.size):
                ends[i, 0, j] = anchor[j] - mean[j] if i == 1 else -ends[i, 1, j]
            after[i] = settle_between(
                starts, columns, values, weight, mean, stretch, spherical, averages, splits, soft,
                room, lines, ends[i], planes[i],
            )  # fmt: skip
    return before


@inner_kernel
def is_beyond(columns, values, factor, where, start, stop, normal, offset):
    """Whether a row is on the far side of a plane."""
    total = 0.0
    for e in range(start, stop):
        total += values[e] * factor * normal[where[columns[e]]]
    return total > offset


@writing_kernel
def sides_of_rows(starts, columns, values, factor, where, members, normal, offset, side):
    """Which members lie on the far side of a plane."""
    for p in range(members.size):
        start, stop = starts[members[p]], starts[members[p] + 1]
        side[p] = is_beyond(columns, values, factor, where, start, stop, normal, offset)


@writing_kernel
def split_rows(
    starts, columns, values, factor, where, members, weight, normal, offset, grid, zero, both, side,
    sums,
):  # fmt: skip
    """Which members lie on the far side of a plane, and the sums of their coordinates.

    See `split_members`. `zero` has the steps of a zero in each column; sums are those of the
    differences from it.
    """
    moved, changed = np.int64(0), 0
    for p in range(members.size):
        start, stop = starts[members[p]], starts[members[p] + 1]
        far = is_beyond(columns, values, factor, where, start, stop, normal, offset)
        times = weight[p] if weight.size > 0 else np.int64(1)
        changed += far != side[p]
        side[p] = far
        moved += times if far else 0
        if both or far:
            s = 1 if far else 0
            for e in range(start, stop):
                j = where[columns[e]]
                steps = (values[e] * factor - grid[0, j]) * grid[1, j] + 0.5
                sums[s, j] += times * (np.int64(np.int32(steps)) - zero[j])
    return moved, changed


@writing_kernel
def measure_rows(
    starts, columns, values, factor, where, members, weight, key, side, means, squares, stretch,
    spherical, sums, low, high, seen,
):  # fmt: skip
    """Cost and bounds of both sides, and the member of the far side closest to its mean.

    See `measure_sides`. `squares` has the squared lengths of the means, in units of the extent;
    `seen` counts the values of each side and column.
    """
    closest, least = np.int64(-1), math.inf
    for p in range(members.size):
        i, s = members[p], 1 if side[p] else 0
        inside, covered = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            j, value = where[columns[e]], values[e] * factor
            low[s, j] = min(low[s, j], value)
            high[s, j] = max(high[s, j], value)
            seen[s, j] += 1
            value = (value - means[s, j]) * stretch
            inside += value * value
            value = means[s, j] * stretch
            covered += value * value
        distance = inside + max(squares[s] - covered, 0.0)
        distance = 0.5 * distance if spherical else math.sqrt(distance)
        units = in_units(distance, COST_UNIT)
        times = np.uint64(weight[p] if weight.size > 0 else np.int64(1))
        first, second = (times & LOW) * (units & LOW), (times & LOW) * (units >> HALF)
        third, fourth = (times >> HALF) * (units & LOW), (times >> HALF) * (units >> HALF)
        sums[s, 0] += first & LOW
        sums[s, 1] += (first >> HALF) + (second & LOW) + (third & LOW)
        sums[s, 2] += (second >> HALF) + (third >> HALF) + fourth
        if s == 1 and (
            distance < least or closest < 0 or (distance == least and (key[i] < key[closest]))
        ):
            closest, least = np.int64(i), distance
    return closest, least


@writing_kernel
def distances_of_rows(
    starts, columns, values, end_starts, end_columns, end_values, metric, distances
):  # fmt: skip
    """Distances of rows to other rows, with terms added in the order of the columns.

    For the cosine distance, rows have length 1.
    """
    for i in range(distances.shape[0]):
        for c in range(distances.shape[1]):
            total, e, f = 0.0, starts[i], end_starts[c]
            while e < starts[i + 1] or f < end_starts[c + 1]:
                difference = 0.0
                j = columns[e] if e < starts[i + 1] else -1
                k = end_columns[f] if f < end_starts[c + 1] else -1
                if k < 0 or 0 <= j <= k:
                    difference += values[e]
                    e += 1
                if j < 0 or 0 <= k <= j:
                    difference -= end_values[f]
                    f += 1
                total += abs(difference) if metric == MANHATTAN else difference * difference
            if metric == EUCLIDEAN:
                total = math.sqrt(total)
            distances[i, c] = 0.5 * total if metric == COSINE else total
