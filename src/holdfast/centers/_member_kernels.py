"""Splits between means: passes over all members of a cluster.

Rows are read where they are and in their own precision: 32-bit values are widened one at a time. Every
number that a pass adds up is an integer, so that no order of rows, parts or threads matters. What is
added up within one row has a fixed order.

Rows are processed in blocks: a call for each row would take longer than the work on a short row.

A plane that settles moves little: most members are too far from it to change sides. A pass over all
members notes on which side each lies and how far, as a margin of one byte. From then on only members
whose margin is in doubt are looked at. The sides are the same, to the bit, as if all were.

The bound. With planes (c, n) and (c', n') and any s, the inner products f = (x - c)·n and
f' = (x - c')·n' satisfy f' = s f + (c - c')·n' + (x - c)·(n' - s n). The last term is at most
|x - c| |n' - s n|, and |x - c| is at most what the cluster reaches from c. Rounding is bounded too.
"""

import math

import numpy as np

from holdfast._machine.jit import Floats, inner_kernel, prefetch, writing_kernel
from holdfast.centers._distance_kernels import in_units
from holdfast.centers._sample_kernels import FOLDED, fold

COST_UNIT = 2.0**-50  # of the extent of a cluster
BLOCK = 128  # rows
AHEAD = 12  # rows between the one that is read and the one that is requested
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FINEST = 1024.0  # margins in the largest inner product
_MOST = 127  # the largest margin; it stands for all that are larger, too


def room_for(d: int) -> tuple[int, int]:
    """Shape of the room that a block of members needs in `d` columns."""
    return 2 + (d if d < FOLDED else 0), max(BLOCK, d)


@inner_kernel
def request_ahead(flat, members, p, d):
    """Request the row of a member that will be read soon: its first and its last value."""
    ahead = np.int64(members[min(p + AHEAD, members.size - 1)]) * d
    prefetch(flat, ahead)
    prefetch(flat, ahead + d - 1)


@inner_kernel
def gather_block(rows, flat, factor, members, start, stop, block):
    """Copy the values of a block of members, column by column: in few columns."""
    d = rows.shape[1]
    if d < 5:
        for j in range(d):
            values, some = block[j], members[start:stop]
            for p in range(some.size):
                values[p] = rows[np.uint32(some[p]), j] * factor
        return
    for p in range(start, stop):
        request_ahead(flat, members, p, d)
        i = np.uint32(members[p])
        for j in range(d):
            block[j, p - start] = rows[i, j] * factor


@inner_kernel
def project_members(rows, flat, factor, members, start, stop, plane, room):
    """Inner products of ``rows[members] * factor - plane[0]`` with ``plane[1]``, for a block.

    Terms are added column by column, or by halves where there are many. The first line of `room`
    takes the result; where columns are few, the third and following take the values.
    """
    d, along, terms = rows.shape[1], room[0, : stop - start], room[1]
    if d < FOLDED:
        gather_block(rows, flat, factor, members, start, stop, room[2:])
        for p in range(along.size):
            along[p] = 0.0
        for j in range(d):
            point, normal, values = plane[0, j], plane[1, j], room[2 + j]
            for p in range(along.size):
                along[p] += (values[p] - point) * normal
        return
    for p in range(start, stop):
        request_ahead(flat, members, p, d)
        i = np.uint32(members[p])
        for j in range(d):
            terms[j] = (rows[i, j] * factor - plane[0, j]) * plane[1, j]
        along[p - start] = fold(terms, d)


@inner_kernel
def add_steps(rows, factor, members, grid, both, times, room, sums):
    """Add a block of members to the sums of the far side, so many times each; `both`: of both sides.

    Coordinates count in whole steps of the grid. On the near side, each member counts as often as
    its weight says if it does not count on the far side.
    """
    d, size = rows.shape[1], members.size
    if d < FOLDED:
        for j in range(d):
            low, rate, values = grid[0, j], grid[1, j], room[2 + j]
            here, there = np.int64(0), np.int64(0)
            for p in range(size):
                steps = np.int64(np.int32((values[p] - low) * rate + 0.5))
                here += times[0, p] * steps
                there += times[1, p] * steps
            sums[1, j] += there
            if both:
                sums[0, j] += here
        return
    for p in range(size):
        i, s = np.uint32(members[p]), 1 if times[1, p] != 0 else 0
        own = times[s, p]
        if both or s == 1:
            for j in range(d):
                steps = (rows[i, j] * factor - grid[0, j]) * grid[1, j] + 0.5
                sums[s, j] += own * np.int64(np.int32(steps))


@inner_kernel
def pick_members(members, side, margin, near, far, number, picked):
    """Find the members of a block whose side may not be that of their margin, or is not."""
    count = 0
    for p in range(members.size):
        number[count], picked[count] = p, members[p]
        doubtful = -near <= margin[p] <= far
        count += doubtful or (margin[p] > 0) != side[p]
    return count


@writing_kernel
def split_members(
    rows, flat, factor, members, weight, plane, grid, both, rate, near, far, room, picked, times,
    side, margin, sums,
):  # fmt: skip
    """Which members lie on the far side of a plane, and the sums of their coordinates.

    Parameters
    ----------
    flat : the values of all rows, one row after the other
    plane : a point on it, and the normal that points to the far side
    grid : low ends and steps per unit of the columns
    both : whether to add up the members on the near side too
    rate : margins per unit of inner products
    near, far : margins up to which the side of a member is in doubt; -1 to look at all members
    room : lines as long as a row and as a block: two, and one for each column where they are few
    picked, times : two lines each, as long as a block
    side : before and after
    margin : of each member: negative on the near side. Written where all members are looked at
    sums : near side, far side; added to. What changed sides, where only some are looked at

    Returns
    -------
    Weight that the far side gains, and how many members have changed sides.
    """
    along, moved, changed, numbers, chosen = room[0], np.int64(0), 0, picked[0], picked[1]
    for start in range(0, members.size, BLOCK):
        some, sides = members[start : start + BLOCK], side[start : start + BLOCK]
        margins = margin[start : start + BLOCK]
        first, stop, among = start, start + some.size, members
        if near >= 0:  # one call for both cases: a literal 0 would compile it twice
            first, among = np.int64(0), chosen
            stop = pick_members(some, sides, margins, near, far, numbers, chosen)
            some = chosen[:stop]
        project_members(rows, flat, factor, among, first, stop, plane, room)
        for q in range(some.size):
            p, beyond = numbers[q] if near >= 0 else q, along[q] > 0.0
            own = weight[start + p] if weight.size > 0 else np.int64(1)
            gain = np.int64(beyond) - np.int64(sides[p] and near >= 0)
            changed += beyond != sides[p]
            sides[p] = beyond
            times[0, q], times[1, q] = own - own * gain, own * gain
            moved += own * gain
        for q in range(margins.size if near < 0 else 0):
            size = np.int8(min(abs(along[q]) * rate, 126.0)) + 1
            margins[q] = size if along[q] > 0.0 else -size
        add_steps(rows, factor, some, grid, both, times, room, sums)
    return moved, changed


@writing_kernel
def part_members(members, side, near, far):
    """Write the members of both sides, in their order."""
    i, j = 0, 0
    for p in range(members.size):
        if side[p]:
            far[j] = members[p]
        else:
            near[i] = members[p]
        j += side[p]
        i += not side[p]


@writing_kernel
def sides_of(rows, flat, members, plane, room, side):
    """Which members lie on the far side of a plane, as `split_members` finds them with factor 1."""
    for start in range(0, members.size, BLOCK):
        stop = min(start + BLOCK, members.size)
        project_members(rows, flat, 1.0, members, start, stop, plane, room)
        for p in range(start, stop):
            side[p] = room[0, p - start] > 0.0


@inner_kernel
def add_cost(sums, times, units):
    """Add ``times * units`` to sums of low, middle and high words, in units of 1, 2^32 and 2^64."""
    first, second = (times & _LOW) * (units & _LOW), (times & _LOW) * (units >> _HALF)
    third, fourth = (times >> _HALF) * (units & _LOW), (times >> _HALF) * (units >> _HALF)
    sums[0] += first & _LOW
    sums[1] += (first >> _HALF) + (second & _LOW) + (third & _LOW)
    sums[2] += (second >> _HALF) + (third >> _HALF) + fourth


@writing_kernel
def measure_sides(
    rows, flat, factor, members, weight, key, side, means, stretch, spherical, room, sums, low, high,
    reach,
):  # fmt: skip
    """Cost, bounds and reach of both sides, and the member of the far side closest to its mean.

    Distances count in whole units of the extent (``1 / stretch``) and are added as integers.
    `reach` is the largest. Ties for the closest member are settled by key, then by row number.
    Returns it and its distance; -1 where there is none.
    """
    d, terms = rows.shape[1], room[0]
    closest, least = np.int64(-1), math.inf
    for p in range(members.size):
        request_ahead(flat, members, p, d)
        i, s, distance = np.uint32(members[p]), 1 if side[p] else 0, 0.0
        for j in range(d):
            value = rows[i, j] * factor
            low[s, j] = min(low[s, j], value)
            high[s, j] = max(high[s, j], value)
            value = (value - means[s, j]) * stretch
            terms[j] = value * value
        if d < FOLDED:
            for j in range(d):
                distance += terms[j]
        else:
            distance = fold(terms, d)
        distance = 0.5 * distance if spherical else math.sqrt(distance)
        units = in_units(distance, COST_UNIT)
        add_cost(sums[s], np.uint64(weight[p] if weight.size > 0 else np.int64(1)), units)
        reach[s] = max(reach[s], distance)
        if s == 1 and (
            distance < least or closest < 0 or (distance == least and (key[i] < key[closest]))
        ):
            closest, least = np.int64(members[p]), distance
    return closest, least


@writing_kernel
def locate_by_planes(rows, factor, points, normals, first_child, children, terms, label):
    """Replay nested splits by planes: a row on the far side moves; `terms` has room for a row."""
    d = rows.shape[1]
    for i in range(rows.shape[0]):
        cluster = 0
        c = first_child[0]
        while c < first_child[cluster + 1]:
            t = children[c]
            c += 1
            along = 0.0
            for j in range(d):
                terms[j] = (rows[i, j] * factor - points[t, j]) * normals[t, j]
            if d < FOLDED:
                for j in range(d):
                    along += terms[j]
            else:
                along = fold(terms, d)
            if along > 0.0:
                cluster = t
                c = first_child[t]
        label[i] = cluster


def length_of(vector: Floats) -> float:
    """Euclidean length, a little more rather than less, where squares underflow too."""
    most = float(np.abs(vector).max())
    if not 0.0 < most < math.inf:
        return most
    exponent = math.frexp(most)[1]
    scaled = np.ldexp(vector, -exponent)
    return math.ldexp(math.sqrt(float((scaled * scaled).sum())) * (1.0 + 2.0**-20), exponent)


class Margins:
    """Margins of the members of a cluster from the plane they were last all looked at with.

    Attributes
    ----------
    member : ndarray of shape (n_members,), dtype int8
        Negative on the near side; empty if margins are of no use.
    sums, moved : ndarray of dtype int64, int
        Sums of the far side by the last plane, and its weight.
    """

    def __init__(self, size: int, mean: Floats, reach: float) -> None:
        useful = math.isfinite(reach)
        self.member = np.empty(size if useful else 0, dtype=np.int8)
        self.mean, self.reach = mean, reach
        self.plane: Floats | None = None
        self.rate, self.moved = 0.0, 0
        self.sums = np.zeros(mean.size, dtype=np.int64)

    def start(self, plane: Floats) -> None:
        """Take up a plane, with which all members are looked at."""
        self.plane = plane
        if self.member.size == 0:
            return
        self.away = self.reach + length_of(plane[0] - self.mean)
        most = self.away * length_of(plane[1])
        self.rate = _FINEST / most if most > 0.0 else 0.0

    def doubts(self, plane: Floats) -> tuple[int, int]:
        """Margins on both sides up to which a member is in doubt; -1 to look at all."""
        if self.member.size == 0 or self.plane is None or self.rate == 0.0:
            return -1, -1
        (point, normal), (new_point, new_normal) = self.plane, plane
        scale = float((normal * new_normal).sum() / (normal * normal).sum())
        shift = point - new_point
        ahead = float((shift * new_normal).sum())
        lengths = length_of(new_normal) + abs(scale) * length_of(normal)
        rounding = (shift.size + 16) * 2.0**-50 * (self.away + length_of(shift)) * lengths
        turn = self.away * length_of(new_normal - scale * normal) + rounding
        near, far = (turn + ahead) * self.rate, (turn - ahead) * self.rate
        if not (scale > 0.0 and max(near, far) < scale * (_MOST - 1)):
            return -1, -1
        return max(math.floor(near / scale) + 1, 0), max(math.floor(far / scale) + 1, 0)
