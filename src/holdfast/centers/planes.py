"""Planes that split clusters: half way between two means, and what their moves can change.

A plane that settles moves little: most members are too far from it to change sides. A pass over all
members notes on which side each lies and how far, as a margin of one byte. From then on only members
whose margin is in doubt are looked at. The sides are the same, to the bit, as if all were.

The bound. With planes (c, n) and (c', n') and any s, the inner products f = (x - c)·n and
f' = (x - c')·n' satisfy f' = s f + (c - c')·n' + (x - c)·(n' - s n). The last term is at most
|x - c| |n' - s n|, and |x - c| is at most what the cluster reaches from c. Rounding is bounded too.
"""

import math

import numpy as np
from numpy.typing import NDArray

from holdfast.centers._sample_kernels import FOLDED, to_directions

_FINEST = 1024.0  # margins in the largest inner product
_MOST = 127  # the largest margin; it stands for all that are larger, too

Floats = NDArray[np.float64]


def plane_between(means: Floats, spherical: bool) -> Floats:
    """Plane half way between two means; for the cosine distance, between their directions."""
    ends = means.copy()
    if spherical:
        to_directions(ends)
    normal = ends[1] - ends[0]
    most = float(np.abs(normal).max())
    if most > 0.0:  # so that products with it neither overflow nor underflow
        normal *= math.ldexp(1.0, min(-math.frexp(most)[1], 1000))
    return np.array([0.5 * ends[0] + 0.5 * ends[1], normal])


def is_beyond(row: Floats, plane: Floats) -> bool:
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
        """Margins on the near and far side up to which a member may have changed sides.

        -1 if all members are to be looked at.
        """
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
