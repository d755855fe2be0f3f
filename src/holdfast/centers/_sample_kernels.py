"""Splits between means: where to start, found on a sample of a cluster.

The sample is copied, column by column, centered and in single precision. Sums over it run in the order
of keys: the upper half is added to the lower, and again. So each of these additions runs over many
members at once, and no number of threads matters.

A plane is a point and a normal: an array of shape (2, n_features).
"""

import math

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import inner_kernel, writing_kernel

FOLDED = 16  # columns from which the terms of a row are added by halves
TILE = 16  # members of a sample that are copied at a time
GAPS = 16  # places on the way from the mean to a candidate where a plane may start
ZERO = np.float32(0.0)


@inner_kernel
def fold(terms, count):
    """Sum of the first terms, changed on the way: the upper half is added to the lower, and again.

    Each of these additions runs over many terms at once.
    """
    while count > 1:
        half = (count + 1) // 2
        for j in range(count - half):
            terms[j] += terms[half + j]
        count = half
    return terms[0]


@inner_kernel
def normalize(vector):
    """Scale by a power of two, so that products with it neither overflow nor underflow."""
    most = 0.0
    for j in range(vector.size):
        most = max(most, abs(vector[j]))
    if most > 0.0:
        stretch = math.ldexp(1.0, min(-math.frexp(most)[1], 1000))
        for j in range(vector.size):
            vector[j] *= stretch


@inner_kernel
def center_columns(rows, factor, members, mean, stretch, tile, columns):
    """Write ``(rows[members] * factor - mean) * stretch``, column by column.

    In many columns by way of a tile of as many members as fill a cache line, so that rows are read
    from end to end and lines are written whole.
    """
    for j in range(mean.size if mean.size < FOLDED else 0):
        for p in range(members.size):
            columns[j, p] = (rows[np.uint32(members[p]), j] * factor - mean[j]) * stretch
    for start in range(0, members.size if mean.size >= FOLDED else 0, TILE):
        some = columns[:, start : start + TILE]
        for p in range(some.shape[1]):
            i, line = np.uint32(members[start + p]), tile[p]
            for j in range(mean.size):
                line[j] = (rows[i, j] * factor - mean[j]) * stretch
        for j in range(mean.size):
            for p in range(some.shape[1]):
                some[j, p] = tile[p, j]


@inner_kernel
def project_columns(columns, size, direction, along):
    """Inner products of the first members with a direction, added column by column."""
    for p in range(size):
        along[p] = ZERO
    for j in range(direction.size):
        value = direction[j]
        for p in range(size):
            along[p] += columns[j, p] * value


@inner_kernel
def add_columns(columns, times, terms, sums):
    """Add up the members, so many times each, by halves."""
    for j in range(sums.size):
        for p in range(times.size):
            terms[p] = columns[j, p] * times[p]
        sums[j] = fold(terms, times.size)


@inner_kernel
def score_side(along, weight, size, near, far):
    """Sum of squares between the two sides of a plane, from where members lie along its normal."""
    moved, everything = 0.0, 0.0
    for p in range(size):
        times = np.float64(weight[p]) if weight.size > 0 else 1.0
        value = along[p] * np.float32(times)
        near[p], far[p] = min(value, ZERO), max(value, ZERO)
        moved += times if value > ZERO else 0.0
        everything += times
    if not 0.0 < moved < everything:
        return 0.0
    low, high = np.float64(fold(near, size)), np.float64(fold(far, size))
    between = low * low / (everything - moved) + high * high / moved
    return between - (low + high) * (low + high) / everything


@inner_kernel
def saved_by_side(weight, along, square, middle, length):
    """Estimate what a side saves by a mean of its own; 0 if it has no members.

    From sums over its members: how far they lie along a direction of that squared length, and
    their squared distances to the mean of the cluster, which is at `middle`.
    """
    if weight <= 0.0:
        return 0.0
    away, square = along / weight - middle, square / weight
    shift = away * away / length
    return weight * (math.sqrt(square) - math.sqrt(max(square - shift, 0.0)))


@inner_kernel
def find_gap(along, square, weight, own, size, length, bins):
    """Find where a plane across a direction should start, and how much more that saves.

    The plane is moved from the mean towards the candidate, number `own`, in steps of 1/`GAPS` of
    the way. The candidate itself does not count: it lies farthest along its own direction.

    Returns
    -------
    The fraction of the way at which the plane saves most, and what it saves there, divided by what
    it saves at the mean.
    """
    for b in range(GAPS + 1):
        bins[0, b], bins[1, b], bins[2, b] = 0.0, 0.0, 0.0
    reach, whole, sum_along, sum_square = np.float64(along[own]), 0.0, 0.0, 0.0
    rate = GAPS / reach if reach > 0.0 else 0.0
    for p in range(size):
        times = np.float64(weight[p]) if weight.size > 0 else 1.0
        times = times if p != own else 0.0
        place, far = np.float64(along[p]), np.float64(square[p])
        b = 1 + int(min(place * rate, GAPS - 1.0)) if place > 0.0 else 0
        bins[0, b] += times
        bins[1, b] += times * place
        bins[2, b] += times * far
    for b in range(GAPS + 1):
        whole += bins[0, b]
        sum_along += bins[1, b]
        sum_square += bins[2, b]
    most, start, saved = 0.0, 0, 0.0
    moved, moved_along, moved_square = 0.0, 0.0, 0.0
    for b in range(GAPS if whole > 0.0 else 0, 0, -1):
        moved += bins[0, b]
        moved_along += bins[1, b]
        moved_square += bins[2, b]
        middle = sum_along / whole
        saved = saved_by_side(moved, moved_along, moved_square, middle, length)
        saved += saved_by_side(
            whole - moved, sum_along - moved_along, sum_square - moved_square, middle, length
        )
        if saved >= most:
            most, start = saved, b - 1
    return start / GAPS, most / saved if saved > 0.0 else 1.0


@writing_kernel
def copy_sample(rows, factor, members, mean, stretch, tile, columns, square):
    """Copy members, centered and in units of the extent; square their distances to the mean.

    `tile` has 16 lines of the columns.
    """
    center_columns(rows, factor, members, mean, stretch, tile, columns)
    for p in range(members.size):
        square[p] = ZERO
    for j in range(mean.size):
        for p in range(members.size):
            square[p] += columns[j, p] * columns[j, p]


@writing_kernel
def score_directions(columns, square, weight, size, few, room, bins, directions, score, starts):
    """How much of the squared distances to the mean each candidate's direction tells apart.

    The first members are candidates: each has a direction, from the mean to it. The first `size`
    members are split by the plane through the mean; the score is the sum of squares between the two
    sides along the direction, as a fraction of all. `starts` gets what `find_gap` finds among the
    first `few` members. `room` has three lines as long as the sample.
    """
    along, near, far = room[0], room[1], room[2]
    for p in range(size):
        near[p] = square[p] * (np.float32(weight[p]) if weight.size > 0 else np.float32(1.0))
    squares = np.float64(fold(near, size))
    for c in range(score.size):
        length, direction = 0.0, directions[c]
        for j in range(columns.shape[0]):
            direction[j] = columns[j, c]
        normalize(direction)
        for j in range(columns.shape[0]):
            length += np.float64(direction[j]) * np.float64(direction[j])
        project_columns(columns, size, direction, along)
        between = score_side(along, weight, size, near, far)
        score[c] = min(between / length / squares, 1.0) if between > 0.0 else 0.0
        starts[0, c], starts[1, c] = 0.0, 1.0
        if score[c] > 0.0:
            starts[0, c], starts[1, c] = find_gap(along, square, weight, c, few, length, bins)


@inner_kernel
def add_savings(own, apart, weight, least):
    """Add up what members save where squared distances become `apart`; each at least `least`.

    `own` are their distances today; overwrites `apart`.
    """
    for p in range(own.size):
        saved = max(own[p] - np.sqrt(apart[p]), least)
        apart[p] = saved * (np.float32(weight[p]) if weight.size > 0 else np.float32(1.0))
    return np.float64(fold(apart, own.size))


@writing_kernel
def score_members(columns, square, weight, first, room, gain):
    """Score the members from `first` on by what each saves as a second center beside the mean.

    `room` has two lines as long as the sample.
    """
    own, apart = room[0], room[1]
    for p in range(square.size):
        own[p] = np.sqrt(square[p])
    for c in range(gain.size):
        for p in range(square.size):
            apart[p] = ZERO
        for j in range(columns.shape[0]):
            place = columns[j, first + c]
            for p in range(square.size):
                away = columns[j, p] - place
                apart[p] += away * away
        gain[c] = add_savings(own, apart, weight, ZERO)


@writing_kernel
def saved_by_plane(columns, square, weight, normal, level, room, lines):
    """Estimate what the means of both sides of a plane save; 0 if a side is empty.

    `room` has three lines as long as the sample, `lines` two of the columns.
    """
    along, times, terms = room[0], room[1], room[2]
    project_columns(columns, square.size, normal, along)
    for s in range(2):
        total = 0.0
        for p in range(square.size):
            own = np.float32(weight[p]) if weight.size > 0 else np.float32(1.0)
            times[p] = own if (along[p] > level) == (s == 1) else ZERO
            total += np.float64(times[p])
        if total == 0.0:
            return 0.0
        add_columns(columns, times, terms, lines[s])
        for j in range(lines.shape[1]):
            lines[s, j] /= total
    for p in range(square.size):
        times[p], terms[p] = ZERO, np.sqrt(square[p])
    for j in range(lines.shape[1]):
        near, far = np.float32(lines[0, j]), np.float32(lines[1, j])
        for p in range(square.size):
            away = columns[j, p] - (far if along[p] > level else near)
            times[p] += away * away
    return add_savings(terms, times, weight, np.float32(-np.inf))


@writing_kernel
def settle_sample(
    columns, weight, mean, stretch, spherical, chosen, start, averages, splits, room, direction, lines,
    plane,
):  # fmt: skip
    """From the direction of a candidate to a plane that settles on the sample.

    The direction is averaged over the sample, by how far each member lies along it: so many steps
    of the power iteration. Many candidates lead to nearly the same direction. The plane across it
    starts at the mean, or at a fraction `start` of the way to the candidate, number `chosen`.
    Members are split by it, and it moves half way between the means of the two sides: until no
    member changes sides, or after so many splits. Where a side would be empty, the plane before
    decides. For the cosine distance the plane moves half way between the directions of the two
    means. `room` has three lines as long as the sample, `direction` and the four `lines` one
    value for each column.

    Returns
    -------
    Whether the first plane had members on both sides.
    """
    d, size = columns.shape
    along, times, terms = room[0], room[1], room[2]
    middle, total, sums = lines[0], lines[1], lines[2:4]
    everything, threshold = 0.0, ZERO
    for j in range(d):
        direction[j] = columns[j, chosen]
    normalize(direction)
    # One loop for weights, averages and splits, so that what they share is compiled once.
    for step in range(-averages - 1, splits):
        moved, changed = 0.0, False
        if step >= -averages:
            project_columns(columns, size, direction, along)
        for p in range(size):
            own = np.float64(weight[p]) if weight.size > 0 else 1.0
            if step < -averages:
                everything += own
            elif step < 0:
                own = np.float64(np.float32(own) * along[p])
            else:
                own = own if along[p] > threshold else 0.0
                changed |= step == 0 or np.float32(own) != times[p]
                moved += own
            times[p] = own
        if step >= 0:
            if not 0.0 < moved < everything:
                return step > 0
            for j in range(d):
                plane[0, j], plane[1, j] = mean[j] + middle[j] / stretch, direction[j]
            if not changed or step == splits - 1:
                return True
        add_columns(columns, times, terms, sums[1])
        if step >= 0:
            for j in range(d):
                sums[0, j] = (total[j] - sums[1, j]) / (everything - moved)
                sums[1, j] = sums[1, j] / moved
            if spherical:
                move_to_sphere(sums, mean, stretch)
        level = 0.0
        if step < -averages:
            for j in range(d):
                total[j], middle[j] = sums[1, j], start * np.float64(columns[j, chosen])
                level += middle[j] * np.float64(direction[j])
            threshold = np.float32(level)
            continue
        for j in range(d if step >= 0 else 0):
            middle[j] = 0.5 * sums[0, j] + 0.5 * sums[1, j]
            sums[1, j] = sums[1, j] - sums[0, j]
        normalize(sums[1])
        for j in range(d):
            direction[j] = sums[1, j]
            level += middle[j] * np.float64(direction[j])
        threshold = np.float32(level)
    return True


@inner_kernel
def move_to_sphere(points, mean, stretch):
    """Scale centered points to length 1 around the origin, and center them again."""
    for s in range(points.shape[0]):
        length = 0.0
        for j in range(points.shape[1]):
            points[s, j] = mean[j] + points[s, j] / stretch
            length += points[s, j] * points[s, j]
        length = math.sqrt(length)
        for j in range(points.shape[1]):
            value = points[s, j] / length if length > 0.0 else points[s, j]
            points[s, j] = (value - mean[j]) * stretch


@writing_kernel
def to_directions(points):
    """Scale points to length 1; the origin stays."""
    for s in range(points.shape[0]):
        length = 0.0
        for j in range(points.shape[1]):
            length += points[s, j] * points[s, j]
        length = math.sqrt(length)
        for j in range(points.shape[1]):
            points[s, j] = points[s, j] / length if length > 0.0 else points[s, j]


def plane_between(means: NDArray[np.float64], spherical: bool) -> NDArray[np.float64]:
    """Plane half way between two means; for the cosine distance, between their directions."""
    ends = means.copy()
    if spherical:
        to_directions(ends)
    normal = ends[1] - ends[0]
    most = float(np.abs(normal).max())
    if most > 0.0:  # so that products with it neither overflow nor underflow
        normal *= math.ldexp(1.0, min(-math.frexp(most)[1], 1000))
    return np.array([0.5 * ends[0] + 0.5 * ends[1], normal])


def is_beyond(row: NDArray[np.float64], plane: NDArray[np.float64]) -> bool:
    """Whether a row is on the far side, with the arithmetic of `split_members`."""
    terms, count = (row - plane[0]) * plane[1], row.size
    if count < FOLDED:
        total = 0.0
        for term in terms.tolist():
            total += term
        return total > 0.0
    while count > 1:
        half = (count + 1) // 2
        terms[: count - half] += terms[half:count]
        count = half
    return bool(terms[0] > 0.0)
