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

from holdfast._machine.hash import combine
from holdfast._machine.jit import inner_kernel, writing_kernel
from holdfast.centers._distance_kernels import COSINE, EUCLIDEAN, MANHATTAN, in_units
from holdfast.centers._member_kernels import COST_UNIT, add_cost
from holdfast.centers._sample_kernels import find_gap, fold, move_to_sphere, normalize


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
def direct_to(starts, columns, values, mean, c, direction):
    """Write the direction from the mean to a row."""
    for j in range(mean.size):
        direction[j] = -mean[j]
    for e in range(starts[c], starts[c + 1]):
        direction[columns[e]] += values[e]


@writing_kernel
def square_rows(starts, columns, values, mean, square):
    """Squared distances of rows to their mean."""
    squares = 0.0
    for j in range(mean.size):
        squares += mean[j] * mean[j]
    for p in range(square.size):
        inside, covered = 0.0, 0.0
        for e in range(starts[p], starts[p + 1]):
            center = mean[columns[e]]
            inside += (values[e] - center) * (values[e] - center)
            covered += center * center
        square[p] = inside + max(squares - covered, 0.0)


@writing_kernel
def score_rows(
    starts, columns, values, weight, mean, square, size, few, room, bins, direction, score, gaps
):
    """How much of the squared distances to the mean each candidate's direction tells apart.

    See `score_directions`. Rows and their mean are in units of the cluster's extent.
    """
    along, near, far = room[0], room[1], room[2]
    everything = 0.0
    for p in range(size):
        times = weight[p] if weight.size > 0 else 1
        near[p] = square[p] * times
        everything += times
    squares = fold(near, size)
    for c in range(score.size):
        length = 0.0
        direct_to(starts, columns, values, mean, c, direction)
        for j in range(mean.size):
            length += direction[j] * direction[j]
        project_rows(starts, columns, values, size, mean, direction, along)
        moved = 0.0
        for p in range(size):
            times = weight[p] if weight.size > 0 else 1
            value = along[p] * times
            near[p], far[p] = min(value, 0.0), max(value, 0.0)
            moved += times if value > 0.0 else 0
        score[c] = 0.0
        if 0.0 < moved < everything:
            low, high, stayed = fold(near, size), fold(far, size), everything - moved
            between = low * low / stayed + high * high / moved
            between -= (low + high) * (low + high) / everything
            score[c] = min(max(between / length / squares, 0.0), 1.0)
        gaps[0, c], gaps[1, c] = 0.0, 1.0
        if score[c] > 0.0:
            gaps[0, c], gaps[1, c] = find_gap(along, square, weight, c, few, length, bins)


@writing_kernel
def score_row_members(starts, columns, values, weight, mean, square, room, direction, gain):
    """Score each row by what it saves as a second center beside the mean. See `score_members`."""
    along, terms = room[0], room[1]
    for c in range(gain.size):
        direct_to(starts, columns, values, mean, c, direction)
        project_rows(starts, columns, values, gain.size, mean, direction, along)
        for p in range(gain.size):
            apart = max(square[p] + square[c] - 2.0 * along[p], 0.0)
            saved = max(math.sqrt(square[p]) - math.sqrt(apart), 0.0)
            terms[p] = saved * (weight[p] if weight.size > 0 else 1)
        gain[c] = fold(terms, gain.size)


@writing_kernel
def saved_by_rows(starts, columns, values, weight, mean, square, normal, level, room, lines):
    """Estimate what the means of both sides of a plane save. See `saved_by_plane`."""
    along, times, places, terms = room[0], room[1], room[2], room[3]
    project_rows(starts, columns, values, square.size, mean, normal, along)
    for s in range(2):
        total, length = 0.0, 0.0
        for p in range(square.size):
            own = np.float64(weight[p]) if weight.size > 0 else 1.0
            times[p] = own if (along[p] > level) == (s == 1) else 0.0
            total += times[p]
        if total == 0.0:
            return 0.0
        add_rows(starts, columns, values, times, mean, lines)
        for j in range(mean.size):
            lines[j] /= total
            length += lines[j] * lines[j]
        project_rows(starts, columns, values, square.size, mean, lines, places)
        for p in range(square.size):
            apart = max(square[p] + length - 2.0 * places[p], 0.0)
            if times[p] > 0.0:
                terms[p] = times[p] * (math.sqrt(square[p]) - math.sqrt(apart))
    return fold(terms, square.size)


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


@writing_kernel
def settle_rows(
    starts, columns, values, weight, mean, stretch, spherical, chosen, start, averages, splits, room,
    lines, plane,
):  # fmt: skip
    """From the direction of a candidate to a plane that settles on the sample.

    See `settle_sample`. `mean` is in units of the cluster's extent, its plane is not; `lines` has
    six lines of the columns.
    """
    d, size = mean.size, starts.size - 1
    along, times = room[0], room[1]
    direction, middle, total, sums, place = lines[0], lines[1], lines[2], lines[3:5], lines[5]
    everything, threshold = 0.0, 0.0
    for j in range(d):
        place[j] = mean[j] / stretch
    for step in range(-averages - 1, splits):
        moved, changed = 0.0, False
        if step >= -averages:
            project_rows(starts, columns, values, size, mean, direction, along)
        for p in range(size):
            own = np.float64(weight[p]) if weight.size > 0 else 1.0
            if step < -averages:
                everything += own
            elif step < 0:
                own *= along[p]
            else:
                own = own if along[p] > threshold else 0.0
                changed |= step == 0 or own != times[p]
                moved += own
            times[p] = own
        if step >= 0:
            if not 0.0 < moved < everything:
                return step > 0
            for j in range(d):
                plane[0, j], plane[1, j] = place[j] + middle[j] / stretch, direction[j]
            if not changed or step == splits - 1:
                return True
        add_rows(starts, columns, values, times, mean, sums[1])
        if step >= 0:
            for j in range(d):
                sums[0, j] = (total[j] - sums[1, j]) / (everything - moved)
                sums[1, j] = sums[1, j] / moved
            if spherical:
                move_to_sphere(sums, place, stretch)
        for j in range(d):
            if step < 0:
                direction[j] = sums[1, j]
            else:
                middle[j] = 0.5 * sums[0, j] + 0.5 * sums[1, j]
                direction[j] = sums[1, j] - sums[0, j]
        if step < -averages:
            direct_to(starts, columns, values, mean, chosen, direction)
            for j in range(d):
                total[j], middle[j] = sums[1, j], start * direction[j]
        normalize(direction)
        threshold = 0.0
        for j in range(d):
            threshold += middle[j] * direction[j]
    return True


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
        add_cost(sums[s], np.uint64(weight[p] if weight.size > 0 else np.int64(1)), units)
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
