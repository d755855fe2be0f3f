"""One pass over members each: the side of a plane, sums of coordinates, distances to a mean.

Rows are read where they are and in their own precision: 32-bit values are widened one at a time.
Every number that a pass adds up over rows is an integer, so that no order of rows, parts or threads
matters. What is added up within one row has a fixed order: column by column, or by halves.
"""

import math

import numpy as np

from holdfast._machine.jit import inner_kernel, kernel
from holdfast.centers._distance_kernels import add_product, in_units

__all__ = [
    "average_direction",
    "find_bounds",
    "locate_by_planes",
    "measure_sides",
    "plane_between",
    "score_directions",
    "settle_pair",
    "sides_of",
    "split_members",
    "to_directions",
    "turn_away",
]

COST_UNIT = 2.0**-50  # of the extent of a cluster
FOLDED = 16  # columns from which terms are added by halves


@inner_kernel
def fold(terms, count):
    """Sum of the first terms, changed on the way: the upper half is added to the lower, and again.

    Each of these additions runs over many columns at once.
    """
    while count > 1:
        half = (count + 1) // 2
        for j in range(count - half):
            terms[j] += terms[half + j]
        count = half
    return terms[0]


@inner_kernel
def project(rows, i, factor, points, a, normals, b, terms):
    """Inner product of ``rows[i] * factor - points[a]`` and ``normals[b]``.

    Tables come with the number of a row: a view of the row costs more than a short row itself.
    """
    d = rows.shape[1]
    if d < FOLDED:
        total = 0.0
        for j in range(d):
            total += (rows[i, j] * factor - points[a, j]) * normals[b, j]
        return total
    for j in range(d):
        terms[j] = (rows[i, j] * factor - points[a, j]) * normals[b, j]
    return fold(terms, d)


@inner_kernel
def dot(a, table, c, terms):
    """Inner product of `a` and ``table[c]``, in the order of `project`."""
    d = a.size
    if d < FOLDED:
        total = 0.0
        for j in range(d):
            total += a[j] * table[c, j]
        return total
    for j in range(d):
        terms[j] = a[j] * table[c, j]
    return fold(terms, d)


@inner_kernel
def square(a, terms):
    """Sum of squares, in the order of `project`."""
    d = a.size
    if d < FOLDED:
        total = 0.0
        for j in range(d):
            total += a[j] * a[j]
        return total
    for j in range(d):
        terms[j] = a[j] * a[j]
    return fold(terms, d)


@inner_kernel
def center_row(rows, i, factor, points, s, stretch, out):
    """Write ``(rows[i] * factor - points[s]) * stretch``."""
    for j in range(out.size):
        out[j] = (rows[i, j] * factor - points[s, j]) * stretch


@inner_kernel
def add_row(rows, i, factor, grid, times, sums, s):
    """Add a row, rounded to whole steps of the cluster's grid, to ``sums[s]``."""
    if times == 1:
        for j in range(rows.shape[1]):
            steps = (rows[i, j] * factor - grid[0, j]) * grid[1, j] + 0.5
            sums[s, j] += np.int64(np.int32(steps))
    else:
        for j in range(rows.shape[1]):
            steps = (rows[i, j] * factor - grid[0, j]) * grid[1, j] + 0.5
            sums[s, j] += times * np.int64(np.int32(steps))


@inner_kernel
def weight_at(weight, p):
    """Weight of a member; no weights are ones."""
    return weight[p] if weight.size > 0 else np.int64(1)


@kernel
def find_bounds(rows, factor, low, high):
    """Least and largest value of each column."""
    for i in range(rows.shape[0]):
        for j in range(low.size):
            value = rows[i, j] * factor
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


@kernel
def split_members(rows, factor, members, weight, plane, grid, both, side, sums):
    """Which members lie on the far side of a plane, and the sums of their coordinates.

    Parameters
    ----------
    plane : a point on it, and the normal that points to the far side
    grid : low ends and steps per unit of the columns
    both : whether to add up the members on the near side too
    side : before and after
    sums : near side, far side; added to

    Returns
    -------
    Weight on the far side, and how many members have changed sides.
    """
    moved, changed, terms = np.int64(0), 0, np.empty(rows.shape[1])
    for p in range(members.size):
        i = np.int64(members[p])
        far = project(rows, i, factor, plane, 0, plane, 1, terms) > 0.0
        if far != side[p]:
            changed += 1
            side[p] = far
        if far or both:
            times = weight_at(weight, p)
            add_row(rows, i, factor, grid, times, sums, 1 if far else 0)
            if far:
                moved += times
    return moved, changed


@kernel
def plane_between(rows, factor, center, sums, weights, grid, spherical, means, plane):
    """Means of both sides from their sums, and the plane half way between them.

    The row `center` is brought to the near side: the sides change names where it is not. For the
    cosine distance the plane lies half way between the directions of the means. Returns whether
    the sides have changed names.
    """
    d = rows.shape[1]
    for s in range(2):
        for j in range(d):
            means[s, j] = grid[0, j]
            if grid[1, j] > 0.0:
                means[s, j] += np.float64(sums[s, j]) / np.float64(weights[s]) / grid[1, j]
    ends = means
    if spherical:
        ends = np.empty((2, d))
        copy_rows(means, ends)
        to_directions(ends)
    for j in range(d):
        plane[0, j] = 0.5 * ends[0, j] + 0.5 * ends[1, j]
        plane[1, j] = ends[1, j] - ends[0, j]
    normalize(plane, 1)
    if not turn_away(rows, factor, center, plane):
        return False
    swap_rows(means)
    return True


@kernel
def turn_away(rows, factor, center, plane):
    """Turn a plane so that its far side is not that of a row; return whether it was."""
    if not project(rows, center, factor, plane, 0, plane, 1, np.empty(rows.shape[1])) > 0.0:
        return False
    for j in range(rows.shape[1]):
        plane[1, j] = -plane[1, j]
    return True


@kernel
def to_directions(points):
    """Scale points to length 1; the origin stays."""
    d = points.shape[1]
    point, terms = np.empty(d), np.empty(d)
    for s in range(points.shape[0]):
        for j in range(d):
            point[j] = points[s, j]
        length = math.sqrt(square(point, terms))
        for j in range(d):
            points[s, j] = point[j] / length if length > 0.0 else point[j]


@kernel
def settle_pair(
    rows, factor, members, weight, grid, spherical, center, most_splits, plane, means, side
):
    """Split by a plane, move it half way between the means of the sides, repeat.

    Until no member changes sides, or after `most_splits` splits. Where a side would be empty, the
    plane before decides. Leaves the last plane that split the members in `plane`, the sides in
    `side`, the means of these sides in `means`.

    Returns
    -------
    Whether the plane had members on both sides at all.
    """
    d = rows.shape[1]
    total, sums, weights = np.zeros(d, np.int64), np.zeros((2, d), np.int64), np.zeros(2, np.int64)
    before, following = np.empty((2, d)), np.empty((2, d))
    everybody = np.int64(0)
    for p in range(members.size):
        everybody += weight_at(weight, p)
    step, reverted = 0, False
    while True:
        for j in range(d):
            sums[0, j] = sums[1, j] = 0
        weights[1], changed = split_members(
            rows, factor, members, weight, plane, grid, step == 0, side, sums
        )
        weights[0] = everybody - weights[1]
        if weights[0] == 0 or weights[1] == 0:
            if step == 0:
                return False
            copy_rows(before, plane)
            step, reverted = step + 1, True
            continue
        for j in range(d):
            if step == 0:
                total[j] = sums[0, j] + sums[1, j]
            sums[0, j] = total[j] - sums[1, j]
        flipped = plane_between(
            rows, factor, center, sums, weights, grid, spherical, means, following
        )
        if reverted or (step > 0 and changed == 0) or step == most_splits - 1:
            if flipped:  # the means belong to the sides as they are
                swap_rows(means)
            return True
        copy_rows(plane, before)
        copy_rows(following, plane)
        step += 1


@inner_kernel
def copy_rows(pair, out):
    """Copy two rows."""
    for j in range(pair.shape[1]):
        out[0, j] = pair[0, j]
        out[1, j] = pair[1, j]


@inner_kernel
def swap_rows(pair):
    """Exchange two rows."""
    for j in range(pair.shape[1]):
        pair[0, j], pair[1, j] = pair[1, j], pair[0, j]


@kernel
def score_directions(rows, factor, members, weight, mean, stretch, first, last, score):
    """How much of the squared distances to the mean each candidate's direction tells apart.

    The direction of a candidate, one of the members ``first .. last``, leads from the mean to it.
    Members are split by the plane through the mean; the score is the sum of squares between the
    two sides along the direction, as a fraction of all. Members are added in their order.
    """
    d, count = rows.shape[1], last - first
    directions, centered, terms = np.empty((count, d)), np.empty(d), np.empty(d)
    lengths = np.empty(count)
    sums, sizes = np.zeros((count, 2)), np.zeros((count, 2))
    for c in range(count):
        center_row(rows, np.int64(members[first + c]), factor, mean, 0, stretch, centered)
        for j in range(d):
            directions[c, j] = centered[j]
        lengths[c] = square(centered, terms)
    squares = 0.0
    for p in range(members.size):
        times = np.float64(weight_at(weight, p))
        center_row(rows, np.int64(members[p]), factor, mean, 0, stretch, centered)
        squares += times * square(centered, terms)
        for c in range(count):
            along = dot(centered, directions, c, terms)
            side = 1 if along > 0.0 else 0
            sums[c, side] += times * along
            sizes[c, side] += times
    for c in range(count):
        score[first + c] = 0.0
        if sizes[c, 0] > 0.0 and sizes[c, 1] > 0.0:
            both, size = sums[c, 0] + sums[c, 1], sizes[c, 0] + sizes[c, 1]
            between = sums[c, 0] * sums[c, 0] / sizes[c, 0] + sums[c, 1] * sums[c, 1] / sizes[c, 1]
            between -= both * both / size
            score[first + c] = min(max(between / lengths[c] / squares, 0.0), 1.0)


@kernel
def average_direction(rows, factor, members, weight, mean, stretch, chosen, times, plane):
    """Average the directions of all members, by how far each lies along that of the chosen one.

    Again with the average, `times` times: so many steps of the power iteration. Many candidates
    lead to nearly the same direction. Writes the plane through the mean across it.
    """
    d = rows.shape[1]
    centered, terms, total = np.empty(d), np.empty(d), np.empty(d)
    center_row(rows, np.int64(members[chosen]), factor, mean, 0, stretch, centered)
    for j in range(d):
        plane[0, j], plane[1, j] = mean[0, j], centered[j]
    normalize(plane, 1)
    for _ in range(times):
        for j in range(d):
            total[j] = 0.0
        for p in range(members.size):
            center_row(rows, np.int64(members[p]), factor, mean, 0, stretch, centered)
            along = np.float64(weight_at(weight, p)) * dot(centered, plane, 1, terms)
            for j in range(d):
                total[j] += along * centered[j]
        for j in range(d):
            plane[1, j] = total[j]
        normalize(plane, 1)


@inner_kernel
def normalize(table, s):
    """Scale a row by a power of two, so that products with it neither overflow nor underflow."""
    most = 0.0
    for j in range(table.shape[1]):
        most = max(most, abs(table[s, j]))
    if most > 0.0:
        stretch = math.ldexp(1.0, min(-math.frexp(most)[1], 1000))
        for j in range(table.shape[1]):
            table[s, j] *= stretch


@kernel
def measure_sides(
    rows, factor, members, weight, key, side, means, stretch, spherical, sums, low, high
):
    """Cost and bounds of both sides, and the member of the far side closest to its mean.

    Distances count in whole units of the extent (``1 / stretch``) and are added as 128-bit
    integers. Ties for the closest member are settled by key, then by row number. Returns it and
    its distance; -1 where there is none.
    """
    centered, terms = np.empty(means.shape[1]), np.empty(means.shape[1])
    closest, least = -1, math.inf
    for p in range(members.size):
        i = np.int64(members[p])
        s = 1 if side[p] else 0
        center_row(rows, i, factor, means, s, stretch, centered)
        distance = square(centered, terms)
        distance = 0.5 * distance if spherical else math.sqrt(distance)
        add_product(sums, s, np.uint64(weight_at(weight, p)), in_units(distance, COST_UNIT))
        for j in range(centered.size):
            value = rows[i, j] * factor
            low[s, j] = min(low[s, j], value)
            high[s, j] = max(high[s, j], value)
        if s == 1 and (
            distance < least or closest < 0 or (distance == least and (key[i] < key[closest]))
        ):
            closest, least = i, distance
    return closest, least


@kernel
def sides_of(rows, factor, members, plane, side):
    """Which members lie on the far side of a plane."""
    terms = np.empty(rows.shape[1])
    for p in range(members.size):
        side[p] = project(rows, np.int64(members[p]), factor, plane, 0, plane, 1, terms) > 0.0


@kernel
def locate_by_planes(rows, factor, points, normals, first_child, children, label):
    """Replay nested splits by planes: a row moves into cluster t if it is on the far side."""
    terms = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        cluster = 0
        c = first_child[0]
        while c < first_child[cluster + 1]:
            t = children[c]
            c += 1
            if project(rows, i, factor, points, t, normals, t, terms) > 0.0:
                cluster = t
                c = first_child[t]
        label[i] = cluster
