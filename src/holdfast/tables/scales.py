"""Values of a column -> its scale: in one pass, the same for any order and any parts of the rows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import combine_arrays

__all__ = ["MOST_VALUES", "Distinct", "RescaledClusterer", "core_deviation", "find_scale", "median"]

Values = NDArray[np.float64]

MOST_VALUES = 1 << 20
"""Distinct values of a column that are kept; of more, a keyed sample."""

TAIL, TAIL_WEIGHT = 0.01, 1.0 / 16.0
"""Fraction of the rows in each tail of a column, and how much they count for its scale."""

_KEY = np.uint64(0x5CA1E)
_SMALLEST = 2.0**-1022
_HALF = math.sqrt(0.5)
_FOURTH = math.sqrt(_HALF)
_EIGHTH = math.sqrt(_FOURTH)
_STEPS = (1.0, 2.0 * _FOURTH * _HALF, 2.0 * _HALF, 2.0 * _FOURTH, 2.0)  # 2^(i/4)
_EDGES = (_EIGHTH * _FOURTH * _HALF, _EIGHTH * _HALF, _EIGHTH * _FOURTH, _EIGHTH)  # 2^(-7/8), ...


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct values of a column and how often each occurs.

    Parts add up: the result depends on the values, not on their order or division. Of more than
    `MOST_VALUES` distinct values, those whose hash is below ``2**(64 - level)`` are kept, with the
    smallest level that leaves few enough.

    Attributes
    ----------
    values : ndarray of shape (n_distinct,), dtype float64
        Ascending.
    counts : ndarray of shape (n_distinct,), dtype int64
    level : int
    missing : int
        Number of gaps.
    """

    values: Values
    counts: NDArray[np.int64]
    level: int = 0
    missing: int = 0

    @classmethod
    def of(cls, column: Values) -> "Distinct":
        """Count the values of a column, or of a part of one; NaN is a gap."""
        present = column[~np.isnan(column)]
        values, counts = np.unique(present + 0.0, return_counts=True)  # -0.0 is 0.0
        found = cls(values, counts.astype(np.int64), 0, int(column.size - present.size))
        return found._limit()

    def add(self, other: "Distinct") -> "Distinct":
        """Count the values of two parts."""
        level = max(self.level, other.level)
        a, b = self._at(level), other._at(level)
        values, where = np.unique(np.concatenate((a.values, b.values)), return_inverse=True)
        counts = np.zeros(values.size, dtype=np.int64)
        np.add.at(counts, where, np.concatenate((a.counts, b.counts)))
        return Distinct(values, counts, level, self.missing + other.missing)._limit()

    @property
    def n_rows(self) -> int:
        """Number of values that are counted."""
        return int(self.counts.sum())

    def _limit(self) -> "Distinct":
        found = self
        while found.values.size > MOST_VALUES:
            found = found._at(found.level + 1)
        return found

    def _at(self, level: int) -> "Distinct":
        if level == self.level:
            return self
        keys = combine_arrays(np.array([_KEY]), self.values.view(np.uint64))
        kept = keys >> np.uint64(64 - level) == 0
        return Distinct(self.values[kept], self.counts[kept], level, self.missing)


def core_deviation(column: Distinct, tail: float = TAIL, weight: float = TAIL_WEIGHT) -> float:
    """Deviation of a column in which its tails count less.

    The fraction `tail` of the rows with the smallest values, and as many with the largest, count
    `weight` each instead of 1. So no single row carries the scale, yet it changes continuously
    with every value and every row, and is 0 only for a constant column.

    Returns
    -------
    float
        0 for a constant column, or without values.
    """
    values, counts = column.values, column.counts
    if values.size < 2:
        return 0.0
    # In units of a power of two, so that squares neither overflow nor vanish.
    exponent = int(np.frexp(np.abs(values).max())[1]) - 1
    scaled = np.ldexp(values, -exponent)
    total = int(counts.sum())
    above = np.cumsum(counts)
    # The mass of each value outside the tails: [above - count, above] cut to [tail, 1 - tail].
    low, high = tail * total, (1.0 - tail) * total
    inside = np.clip(above, low, high) - np.clip(above - counts, low, high)
    mass = inside + weight * (counts - inside)
    everything = _sum(mass)
    mean = _sum(mass * scaled) / everything
    spread = _sum(mass * (scaled - mean) ** 2) / everything
    return max(float(np.ldexp(np.sqrt(spread), exponent)), _SMALLEST)


def find_scale(column: Distinct) -> float:
    """Scale of a column: the deviation of its core, rounded to 1, 2^(1/4), 2^(1/2), 2^(3/4), 2, ...

    Rows are hashed by their content, so any change of a scale, however small, draws all random
    numbers of a fit again. A rounded scale mostly stays, and steps of a fourth of a doubling are
    small; docs/tables.md has measurements. 0 for a constant column.
    """
    core = core_deviation(column)
    if core == 0.0:
        return 0.0
    fraction, exponent = math.frexp(core)
    step = sum(fraction >= edge for edge in _EDGES)  # by comparisons, alike on every processor
    return min(max(2.0 * math.ldexp(_STEPS[step] / 4.0, exponent), _SMALLEST), 2.0**1023)


@dataclass(frozen=True)
class RescaledClusterer:
    """A clusterer of prepared rows that finds the scales of their columns again in every fit.

    Attributes
    ----------
    clusterer : Clusterer
        Of `holdfast.clusterers`.
    columns : tuple of int
        Columns whose scales are found again.
    """

    clusterer: Any
    columns: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name in tables and figures."""
        return str(self.clusterer.name)

    @property
    def randomized(self) -> bool:
        """Whether the seed matters."""
        return bool(self.clusterer.randomized)

    @property
    def hierarchical(self) -> bool:
        """Whether one fit serves every k."""
        return bool(self.clusterer.hierarchical)

    def fit(self, X: Values, seed: int) -> Any:
        """Scale the columns, and cluster the rows."""
        rows = np.array(X)
        for j in self.columns:
            rows[:, j] /= find_scale(Distinct.of(rows[:, j])) or 1.0
        return self.clusterer.fit(rows, seed)


def median(column: Distinct) -> float:
    """Middle value, or the mean of the two in the middle; 0 without values."""
    total = column.n_rows
    if not total:
        return 0.0
    above = np.cumsum(column.counts)
    low, high = np.searchsorted(above, [(total + 1) // 2, total // 2 + 1])
    a, b = float(column.values[low]), float(column.values[high])
    return a if a == b else a / 2.0 + b / 2.0


def _sum(terms: NDArray[Any]) -> float:
    """Sum in a fixed order: pairs of neighbors, then pairs of these, on every processor."""
    while terms.size > 1:
        if terms.size % 2:
            terms = np.append(terms, 0.0)
        terms = terms[0::2] + terms[1::2]
    return float(terms[0])
