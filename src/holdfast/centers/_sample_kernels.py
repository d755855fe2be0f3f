"""Splits between means: where to start, found on a sample of a cluster.

The sample is copied, column by column, centered and in single precision. Sums over it run in the order
of keys: the upper half is added to the lower, and again. So each of these additions runs over many
members at once, and no number of threads matters.
"""

import math

import numpy as np

from holdfast._machine.jit import inner_kernel, writing_kernel

__all__ = ["fold", "move_to_sphere", "normalize", "seek_planes"]
__all__ += ["to_directions"]

FOLDED = 16  # columns from which the terms of a row are added by halves
TILE = 16  # members of a sample that are copied at a time
ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)


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
def center_columns(rows, factor, members, mean, stretch, tile, first, columns):
    """Write ``(rows[members] * factor - mean) * stretch``, column by column; `first`: row by row.

    In many columns by way of a tile of as many members as fill a cache line, so that rows are read
    from end to end and lines are written whole.
    """
    for j in range(mean.size if mean.size < FOLDED else 0):
        for p in range(members.size):
            columns[j, p] = (rows[np.uint32(members[p]), j] * factor - mean[j]) * stretch
        for p in range(first.shape[0]):
            first[p, j] = columns[j, p]
    if mean.size < FOLDED:
        return
    for start in range(0, members.size, TILE):
        some = columns[:, start : start + TILE]
        for p in range(some.shape[1]):
            i, line = np.uint32(members[start + p]), tile[p]
            for j in range(mean.size):
                line[j] = (rows[i, j] * factor - mean[j]) * stretch
            if start + p < first.shape[0]:
                for j in range(mean.size):
                    first[start + p, j] = line[j]
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
def weigh(values, weight, size):
    """Multiply the first values by the weights of their members."""
    for p in range(size if weight.size > 0 else 0):
        values[p] *= np.float32(weight[p])


@inner_kernel
def score_side(along, weight, size, everything, near, far):
    """Sum of squares between the two sides of a plane, from where members lie along its normal."""
    moved = np.int64(0)
    for p in range(size):
        near[p], far[p] = min(along[p], ZERO), max(along[p], ZERO)
    if weight.size > 0:
        for p in range(size):
            moved += weight[p] if along[p] > ZERO else 0
    else:
        for p in range(size):
            moved += along[p] > ZERO
    if not 0 < moved < everything:
        return 0.0
    weigh(near, weight, size)
    weigh(far, weight, size)
    low, high = np.float64(fold(near, size)), np.float64(fold(far, size))
    between = low * low / (everything - moved) + high * high / moved
    return between - (low + high) * (low + high) / everything


@inner_kernel
def square_distances(columns, size, point, squares):
    """Squared distances of the first members to a point, added column by column."""
    for p in range(size):
        squares[p] = ZERO
    for j in range(point.size):
        value = np.float32(point[j])
        for p in range(size):
            difference = columns[j, p] - value
            squares[p] += difference * difference


@inner_kernel
def to_distances(squares, size, spherical):
    """Turn squared distances into distances; for the cosine distance into half of them."""
    for p in range(size):
        squares[p] = HALF * squares[p] if spherical else np.float32(math.sqrt(squares[p]))


@inner_kernel
def score_candidates(columns, weight, size, anchor, spherical, room, directions, score):
    """Score candidates by what their directions tell apart and, if asked for, by what they save.

    A candidate's direction leads from the mean, which is the origin, to it. The first `size` members
    are split by the plane through the mean; the score is the sum of squares between the two sides
    along the direction. And they are split between `anchor` and the candidate; the score is the sum
    of the distances saved.

    Returns
    -------
    Sum of the distances of all members of the sample to `anchor`; 0 if not asked for.
    """
    along, near, far, own, squares = room[0], room[1], room[2], room[3], room[4]
    both, before = score.shape[0] > 1, 0.0
    if both:
        square_distances(columns, own.size, anchor, own)
        to_distances(own, own.size, spherical)
        for p in range(size):
            squares[p] = ZERO
        for j in range(columns.shape[0]):
            for p in range(size):
                squares[p] += columns[j, p] * columns[j, p]
    everything = size if weight.size == 0 else 0
    for p in range(size if weight.size > 0 else 0):  # numba would compile more for `sum`
        everything += weight[p]
    for c in range(score.shape[1]):
        length = ZERO
        for j in range(columns.shape[0]):
            length += directions[c, j] * directions[c, j]
        project_columns(columns, size, directions[c], along)
        if both:
            for p in range(size):
                near[p] = max(squares[p] + length - TWO * along[p], ZERO)
            to_distances(near, size, spherical)
            for p in range(size):
                near[p] = max(own[p] - near[p], ZERO)
            weigh(near, weight, size)
            score[1, c] = fold(near, size)
        between = score_side(along, weight, size, everything, near, far)
        score[0, c] = between / length if between > 0.0 < length else 0.0
    if both:
        weigh(own, weight, own.size)
        before = np.float64(fold(own, own.size))
    return before


@inner_kernel
def share_members(along, threshold, width, weight, size, times, sides):
    """Weights with which members count to the far side: in proportion near the plane, and all or none.

    Returns whether both sides have members.
    """
    far = 0
    for p in range(size):
        beyond = along[p] - threshold
        far += beyond > ZERO
        sides[p] = ONE if beyond > ZERO else ZERO
        times[p] = sides[p]
        if width > ZERO:
            times[p] = min(max(HALF + HALF * (beyond / width), ZERO), ONE)
    weigh(times, weight, size)
    weigh(sides, weight, size)
    return 0 < far < size


@inner_kernel
def find_means(columns, times, terms, everything, total, mean, stretch, spherical, ends):
    """Means of both sides, from the weights with which members count to the far side."""
    moved = 0.0
    for p in range(times.size):
        moved += np.float64(times[p])
    add_columns(columns, times, terms, ends[1])
    for j in range(mean.size):
        ends[0, j] = (total[j] - ends[1, j]) / (everything - moved)
        ends[1, j] = ends[1, j] / moved
    if spherical:
        move_to_sphere(ends, mean, stretch)


@inner_kernel
def average_direction(columns, weight, times, terms, along, direction, ends):
    """Average a direction over the sample by how far members lie along it: one power iteration."""
    for j in range(direction.size):
        direction[j] = ends[1, j]
    project_columns(columns, along.size, direction, along)
    for p in range(along.size):
        times[p] = along[p]
    weigh(times, weight, along.size)
    add_columns(columns, times, terms, ends[1])
    normalize(ends[1])
    for j in range(direction.size):
        ends[1, j] = np.float64(np.float32(ends[1, j]))
        ends[0, j] = -ends[1, j]


@inner_kernel
def settle_ends(
    columns, weight, mean, stretch, spherical, averages, splits, soft, room, direction, lines, ends,
    plane,
):  # fmt: skip
    """Let the plane between two points settle on the sample.

    First, `averages` times, the direction between the points is averaged over the sample. Then
    members count to the side on which they lie; those closer to the plane than a fraction `soft` of
    the distance of the two points, to both in proportion. The points move to the means of the sides:
    so many splits; fewer, if none counts to both, when no member changes sides. Where a side would
    be empty, the plane before decides. For the cosine distance the points are the directions of
    the means. `room` has four lines as long as the sample, `lines` two of the columns.

    Returns
    -------
    Sum of the distances to the means of the two sides, or 0 if none counts to both; infinite if the
    first plane has an empty side.
    """
    d, size, settled, everything = mean.size, columns.shape[1], False, 0.0
    along, times, terms, sides = room[0], room[1], room[2], room[3]
    middle, total = lines[0], lines[1]
    for p in range(size):
        times[p] = np.float32(weight[p]) if weight.size > 0 else ONE
        everything += np.float64(times[p])
    add_columns(columns, times, terms, total)
    for step in range(-averages, splits):
        if step < 0:
            average_direction(columns, weight, times, terms, along, direction, ends)
            continue
        width, level, changed = 0.0, 0.0, soft > 0.0 or step == 0
        for j in range(d):
            middle[j] = ends[1, j] - ends[0, j]
        normalize(middle)
        for j in range(d):
            direction[j] = middle[j]
            width += np.float64(direction[j]) * (ends[1, j] - ends[0, j])
            middle[j] = 0.5 * ends[0, j] + 0.5 * ends[1, j]
            level += middle[j] * np.float64(direction[j])
        project_columns(columns, size, direction, along)
        near = np.float32(soft * width)
        if not share_members(along, np.float32(level), near, weight, size, times, terms):
            break
        for p in range(size):
            changed |= sides[p] != terms[p]
            sides[p] = terms[p]
        settled = True
        for j in range(d):
            plane[0, j], plane[1, j] = mean[j] + middle[j] / stretch, direction[j]
        if step == splits - 1 or not changed:
            break
        find_means(columns, times, terms, everything, total, mean, stretch, spherical, ends)
    if not settled or soft == 0.0:
        return 0.0 if settled else np.inf
    find_means(columns, sides, terms, everything, total, mean, stretch, spherical, ends)
    square_distances(columns, size, ends[0], along)
    square_distances(columns, size, ends[1], times)
    for p in range(size):
        along[p] = times[p] if sides[p] > ZERO else along[p]
    to_distances(along, size, spherical)
    weigh(along, weight, size)
    return np.float64(fold(along, size))


@writing_kernel
def seek_planes(
    rows, factor, members, weight, mean, stretch, spherical, scored, averages, splits, soft, room,
    tile, directions, columns, anchor, score, lines, ends, planes, after,
):  # fmt: skip
    """Let one or two planes settle on a sample that start from the best candidates.

    Copies the members, centered, to `columns`; the first of them are candidates, and the first
    `scored` score them. One plane starts through the mean, across the direction that tells most
    apart; the other one half way between `anchor` (the mean; for the cosine distance its direction)
    and the candidate that saves most. `after` gets the distances to the means of their sides;
    infinite where there is no plane. `room` has five lines as long as the sample, `tile` 16 of the
    columns.

    Returns
    -------
    The sum of the distances to `anchor`.
    """
    center_columns(rows, factor, members, mean, stretch, tile, directions, columns)
    before = score_candidates(columns, weight, scored, anchor, spherical, room, directions, score)
    for i in range(after.size):
        after[i], c = np.inf, 0
        for other in range(1, score.shape[1]):  # numba would compile more for `argmax`
            if score[i, other] > score[i, c]:
                c = other
        if score[i, c] > 0.0:
            for j in range(mean.size):
                value = np.float64(columns[j, c])
                ends[i, 0, j], ends[i, 1, j] = anchor[j] if i == 1 else -value, value
            after[i] = settle_ends(
                columns, weight, mean, stretch, spherical, averages, splits, soft, room, tile[0],
                lines, ends[i], planes[i],
            )  # fmt: skip
    return before


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
