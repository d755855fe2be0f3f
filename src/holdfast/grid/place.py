"""Seed and bounding box -> the grid: its scale, its shift, its root level.

Cells at level ``l`` have side ``2**(u - l)`` with one fractional scale ``u`` and one shift per
dimension, both keyed by the seed. The cell of a point depends on the seed and on that point alone,
at every scale. Only the level of the root depends on the other rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import combine_arrays, portable_exp, purpose_key, uniform
from holdfast._machine.jit import Floats, Ints32, Mask, Words, read_only
from holdfast._machine.work import share_rows
from holdfast.grid._kernels import column_bounds, shifted_words

DEPTH = 63
"""Levels below the root's children; rows that share a cell at this depth form one leaf."""

# Absolute binary exponents that bound the shift. Doubles range from 2^-1074 to 2^1024. A window
# starts at most 63 below and ends at most 64 + log2(sqrt(d)) above the range of the data.
_GATHERED = 1 << 14  # rows copied at a time
_LOWEST = -1280
BLOCKS = 40
"""Number of 64-bit blocks in the shift of a dimension."""
_SMALLEST_DOUBLE = -1074
ROOT_EXPONENTS = range(_SMALLEST_DOUBLE, 1089)
"""Range of `Grid.root_exponent`: from the smallest double to the longest diagonal."""


@dataclass(frozen=True)
class Extent:
    """The extent of the rows that determine the grid, if other rows represent them."""

    lower: Floats  # (n_features,): bounding box
    upper: Floats  # (n_features,)
    exponent: int  # cells of side ``2**exponent``, in scaled units, became points


@dataclass(frozen=True)
class Grid:
    """The position of the cells, in scaled units ``y = (x - origin) * scale``."""

    origin: Floats  # (n_features,): zero unless a root box was given
    scale: float  # ``2**-u`` (or one over the side of the root box)
    shift: Words  # (40, n_features): in 64-bit blocks; block i has weight ``2**(64 i - 1280)``
    root_exponent: int  # the root's children are the occupied cells of side ``2**root_exponent``
    anchor: Words  # (n_features,): index of the lowest root cell per dimension, modulo 2^64
    lowest: Floats  # (n_features,): smallest scaled coordinate of the rows that determined the grid

    def equals(self, other: "Grid") -> bool:
        """Whether every row has the same coordinates in both grids."""
        return (
            (self.scale, self.root_exponent) == (other.scale, other.root_exponent)
            and np.array_equal(self.origin, other.origin)
            and np.array_equal(self.shift, other.shift)
            and np.array_equal(self.anchor, other.anchor)
        )

    @property
    def unit(self) -> float:
        """DIST_T between rows in different root cells, ``4 sqrt(d) s_R``, in the data's units."""
        side = 4.0 * math.sqrt(self.anchor.size) / self.scale
        try:
            return math.ldexp(side, self.root_exponent)
        except OverflowError:
            return math.inf

    def locate(
        self,
        X: Floats,
        allocate: Callable[[Any, Any], NDArray[Any]] = np.empty,
        chosen: Ints32 | None = None,
    ) -> Words:
        """Compute the coordinates of rows that lie in the root cells: of the chosen ones, or of all.

        Two rows share a cell of side ``2**(b - 63) s_R`` if and only if no bit ``>= b`` of any
        coordinate differs; bit 63 distinguishes the two root cells of a dimension.
        """
        anchor = self.anchor << np.uint64(DEPTH)
        return self._words(X, self.root_exponent - DEPTH, anchor, allocate, chosen)

    def locate_any(self, X: Floats) -> tuple[Words, Mask]:
        """Compute the coordinates of any rows, and whether each row lies in the root cells."""
        with np.errstate(over="ignore"):
            offset = ((X - self.origin) * self.scale - self.lowest) * 0.125
        reach = math.ldexp(1.0, min(self.root_exponent, 1020))
        near = (np.abs(offset) <= reach).all(axis=1)
        coordinates = np.zeros(X.shape, dtype=np.uint64)
        inside = np.zeros(X.shape[0], dtype=np.bool_)
        if near.any():
            rows = np.ascontiguousarray(X[near])
            coordinates[near] = self.locate(rows)
            # Compute the same offset 32 bits coarser, where it cannot wrap around.
            anchor = self.anchor << np.uint64(DEPTH - 32)
            coarse = self._words(rows, self.root_exponent - DEPTH + 32, anchor)
            inside[near] = (coarse < np.uint64(1 << 32)).all(axis=1)
        return coordinates, inside

    def cell_numbers(self, X: Floats, exponent: int) -> Words:
        """Compute the absolute cells of side ``2**exponent`` in scaled units, modulo 2^64."""
        return self._words(X, exponent, np.zeros_like(self.anchor))

    def _words(
        self,
        X: Floats,
        low: int,
        anchor: Words,
        allocate: Callable[[Any, Any], NDArray[Any]] = np.empty,
        chosen: Ints32 | None = None,
    ) -> Words:
        """64 bits of each scaled and shifted coordinate, from weight ``2**low`` upwards."""
        n = X.shape[0] if chosen is None else chosen.size
        words: Words = allocate((n, X.shape[1]), np.uint64)
        shift, rows = self.shift_words(low), read_only(X)

        def work(part: slice) -> None:
            step = part.stop - part.start if chosen is None else _GATHERED
            for start in range(part.start, part.stop, max(step, 1)):
                some = slice(start, min(start + step, part.stop))
                values = rows[some] if chosen is None else rows.take(chosen[some], axis=0)
                shifted_words(
                    read_only(values), self.origin, self.scale, shift, low, anchor, words[some]
                )

        share_rows(n, work)
        return words

    def shift_words(self, low: int) -> Words:
        """64-bit windows of the shift that start at exponents low, low - 64, low - 128, ..."""
        skip, offset = divmod(low - _LOWEST, 64)
        block = self.shift[skip::-1]
        if offset == 0:
            return np.ascontiguousarray(block)
        above = self.shift[skip + 1 : 0 : -1]
        words: Words = np.ascontiguousarray(
            (block >> np.uint64(offset)) | (above << np.uint64(64 - offset))
        )
        return words


def bounds_of(X: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest value of each column."""
    found: list[Floats] = []

    def work(part: slice) -> None:
        bounds = np.empty((2, X.shape[1]))
        column_bounds(read_only(X)[part], bounds)
        found.append(bounds)

    share_rows(X.shape[0], work, X.shape[1])
    bounds = np.array(found)
    return bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)


def place_grid(
    lower: Floats,
    upper: Floats,
    seed: int,
    *,
    random_shift: bool = True,
    root_box: tuple[Any, float] | None = None,
    least_exponent: int | None = None,
) -> Grid:
    """Place the grid for rows between `lower` and `upper` (per dimension, both included).

    This is [LHBP25], Alg. 4, with two departures: the scale is random as well as the shift, and the
    positions of cells are absolute, not relative to the minimum of the data. The root level is the
    smallest whose cells are at least as wide as the diagonal of the bounding box. It is computed in
    exact integer arithmetic and is at least `least_exponent`.
    """
    n_features = lower.size
    if root_box is not None:
        corner, side = root_box
        origin, scale = np.array(corner, dtype=np.float64), 1.0 / side
        while ((upper - origin) * scale >= 1.0).any():  # rounding moved a row out of the box
            scale = math.nextafter(scale, 0.0)
    else:
        origin, scale = np.zeros(n_features), _scale_of(seed) if random_shift else 1.0
    shift = np.zeros((BLOCKS, n_features), dtype=np.uint64)
    if random_shift:
        shift = _shift_of(seed, n_features)
    low, high = (lower - origin) * scale, (upper - origin) * scale
    root_exponent = 0 if root_box is not None else _root_exponent(low, high)
    if least_exponent is not None:
        root_exponent = max(root_exponent, least_exponent)
    grid = Grid(origin, scale, shift, root_exponent, np.zeros(n_features, np.uint64), low)
    anchor = grid.cell_numbers(lower[None, :], root_exponent)
    return Grid(origin, scale, shift, root_exponent, anchor[0], low)


def _scale_of(seed: int) -> float:
    fraction = uniform(purpose_key(seed, "scale"))
    return float(portable_exp(-fraction * 0.6931471805599453))


def _shift_of(seed: int, n_features: int) -> Words:
    key = np.array([purpose_key(seed, "shift")])
    dimensions = combine_arrays(key, np.arange(n_features, dtype=np.uint64))
    return combine_arrays(dimensions[None, :], np.arange(BLOCKS, dtype=np.uint64)[:, None])


def _root_exponent(low: Floats, high: Floats) -> int:
    """Return the smallest r with ``2**r >= ||high - low||``."""
    squared = 0
    for a, b in zip(low.tolist(), high.tolist(), strict=True):
        squared += (_as_integer(b) - _as_integer(a)) ** 2
    if squared == 0:
        return _SMALLEST_DOUBLE
    return ((squared - 1).bit_length() + 1) // 2 + _SMALLEST_DOUBLE


def _as_integer(y: float) -> int:
    """Return `y` as an exact multiple of the smallest positive double."""
    numerator, denominator = y.as_integer_ratio()
    return numerator << (1 - denominator.bit_length() - _SMALLEST_DOUBLE)
