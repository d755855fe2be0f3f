"""Columns of a table -> how each is prepared: counted in one pass, decided once, whole or in parts.

Nothing depends on the order of the rows or on their division into parts.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine import pa
from holdfast._machine.hash import combine_arrays
from holdfast.tables.columns import ColumnChoice, describe_text
from holdfast.tables.errors import TableError, count, show_name, show_number
from holdfast.tables.preparation import Input, Missing, Preparation, encode, find_kind, to_texts
from holdfast.tables.read import DataTable

MISMATCH = math.sqrt(2.0)
"""Distance of two rows that differ in one category only, in deviations of a number column."""

RARE = 0.01
"""Levels with a smaller fraction of the rows share one prepared column."""

MOST_LEVELS = 10_000
"""Levels that a category may have."""

_MOST_COUNTED = 100_000
_FEW_ROWS = 30  # below, distinct integers are no sign of an index
_HEAVY = 1.4  # a deviation so many times that of the core has heavy tails

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_VALUES = 1 << 20
"""Distinct values of a column that are kept; of more, a keyed sample."""

TAIL, TAIL_WEIGHT = 0.01, 1.0 / 16.0
"""Fraction of the rows in each tail of a column, and how much they count for its scale."""

FAR = 4.0
"""A value counts at most so many times as far from the median as values outside the tails."""

NEARLY_CONSTANT = 0.25
"""Fraction of the rows that differ from the median; of fewer, the deviation says little."""

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
    """

    values: Values  # ascending
    counts: Counts
    level: int = 0
    missing: int = 0  # number of gaps

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


def core_deviation(
    column: Distinct, weight: float = TAIL_WEIGHT, floor: bool = True, far: float = FAR
) -> float:
    """Deviation of a column in which its tails count less.

    The fraction `TAIL` of the rows with the smallest values, and as many with the largest, count
    `weight` each instead of 1. Values in the tails that are more than `far` times as far from the
    median as any value outside of them count as if they were that far. So no single row carries the
    scale, yet it changes continuously with every value and every row, and is 0 only for a constant
    column.

    In a nearly constant column, the deviation only says how rare the other values are. With `floor`,
    the scale is at least ``s (1 - p)^8 / sqrt(2)``, where p is the fraction of the rows that differ
    from the median and s their root mean square difference from it. The rarer they are, the closer
    they come to the weight of a category, as in a column of two values.

    Returns
    -------
    float
        0 for a constant column, or without values.
    """
    values, counts = column.values, column.counts
    if values.size < 2:
        return 0.0
    center = median(column)
    others = values != center
    reach = _reach(values, counts, center)
    reach = reach or _reach(values[others], counts[others], center)
    if reach > 0.0:
        values = np.clip(values, center - far * reach, center + far * reach)
    # In units of a power of two, so that squares neither overflow nor vanish.
    exponent = int(np.frexp(np.abs(values).max())[1]) - 1
    scaled, center = np.ldexp(values, -exponent), math.ldexp(center, -exponent)
    found = _root_mean_square(scaled, counts, weight)
    rare = int(counts[others].sum()) / int(counts.sum())
    if floor and rare < NEARLY_CONSTANT:
        size = _root_mean_square(scaled[others], counts[others], weight, center)
        often = (1.0 - rare) * (1.0 - rare)
        often *= often
        found = max(found, often * often * size / MISMATCH)
    return max(float(np.ldexp(found, exponent)), _SMALLEST)


def _reach(values: Values, counts: Counts, center: float) -> float:
    """Find how far values lie from the center outside of the tails, which have at least one row each."""
    total, above = int(counts.sum()), np.cumsum(counts)
    spared = max(1, math.ceil(TAIL * total))
    if total <= 2 * spared:
        return 0.0
    low, high = np.searchsorted(above, [spared, total - 1 - spared], side="right")
    return max(center - float(values[low]), float(values[high]) - center)


def _root_mean_square(
    values: Values, counts: Counts, weight: float, center: float | None = None
) -> float:
    """Root mean square difference from the center, by default the mean; tails count `weight`."""
    total, above = int(counts.sum()), np.cumsum(counts)
    # The mass of each value outside the tails: [above - count, above] cut to [TAIL, 1 - TAIL].
    low, high = TAIL * total, (1.0 - TAIL) * total
    inside = np.clip(above, low, high) - np.clip(above - counts, low, high)
    mass = inside + weight * (counts - inside)
    everything = _sum(mass)
    if center is None:
        center = _sum(mass * values) / everything
    return math.sqrt(_sum(mass * (values - center) ** 2) / everything)


def step_deviation(column: Distinct) -> float:
    """Deviation of the core, rounded to 1, 2^(1/4), 2^(1/2), 2^(3/4), 2, ...: for the tree.

    The tree has a fixed grid, so any change of a scale, however small, moves rows to other cells. A
    rounded scale mostly stays; docs/tables.md has measurements. 0 for a constant column.
    """
    core = core_deviation(column)
    if core == 0.0:
        return 0.0
    fraction, exponent = math.frexp(core)
    step = sum(fraction >= edge for edge in _EDGES)  # by comparisons, alike on every processor
    return min(max(2.0 * math.ldexp(_STEPS[step] / 4.0, exponent), _SMALLEST), 2.0**1023)


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


@dataclass
class ColumnFacts:
    """What was counted of a column."""

    source: Input  # without levels
    # of numbers, dates and ordered categories, after the transformation
    numbers: Distinct | None = None
    levels: Counter[str] = field(default_factory=Counter)  # of categories and text
    present: int = 0  # rows with a value
    missing: int = 0
    whole: bool = True  # whether all numbers are integers
    sample: "pa.ChunkedArray | None" = None  # of text: its first part
    crowded_at: int | None = None  # the row in which a category has more levels than it may have

    def see(self, table: DataTable) -> None:
        """Count the values of a part."""
        column = table.data.column(self.source.name)
        if self.source.kind == "category":
            self._count_levels(column)
            return
        plain = replace(self.source, cycles=())
        part = encode(table, Preparation((self.source.name,), inputs=(plain,)))[:, 0]
        found = Distinct.of(part)
        self.present += part.size - found.missing
        self.missing += found.missing
        self.whole = self.whole and bool((found.values == np.floor(found.values)).all())
        self.numbers = found if self.numbers is None else self.numbers.add(found)

    def _count_levels(self, column: "pa.ChunkedArray") -> None:
        first, known = self.present + self.missing, set(self.levels)
        self.present += len(column) - column.null_count
        self.missing += column.null_count
        if self.sample is None:
            self.sample = column
        if len(self.levels) > _MOST_COUNTED or find_kind(column) == "empty":
            return
        for pair in to_texts(column).value_counts().to_pylist():
            if pair["values"] is not None:
                self.levels[pair["values"]] += pair["counts"]
        if len(self.levels) > MOST_LEVELS and self.crowded_at is None:
            for row, text in enumerate(to_texts(column).to_pylist(), start=first):
                known |= set() if text is None else {text}
                if len(known) > MOST_LEVELS:
                    self.crowded_at = row
                    break

    def why_left_out(self, choice: ColumnChoice) -> str:
        """Say why the column is no use for distances; nothing if it is."""
        name = self.source.name
        if not self.present:
            return "empty"
        if self.source.kind != "category":
            return "numbers the rows" if name not in choice.columns and self._is_index() else ""
        if name in choice.categories:
            return ""
        n, text = len(self.levels), "categories"
        if self.sample is not None and find_kind(self.sample) == "text":
            text = describe_text(self.sample)
            if text != "text":
                return text
        if choice.strict:
            return text
        if n == 1 and not self.missing:
            return "one value only"
        if n > self.present // 2 and n > 2:
            return f"{n:,} different texts in {count(self.present, 'row')}: ids?"
        return f"{n:,} categories" if n > MOST_LEVELS else ""

    def _is_index(self) -> bool:
        """Whether the values are distinct integers without wide gaps, as row numbers are."""
        numbers = self.numbers
        if self.source.kind != "number" or numbers is None or self.present < _FEW_ROWS:
            return False
        distinct = numbers.level == 0 and numbers.values.size == self.present
        narrow = numbers.values[-1] - numbers.values[0] < 2.0 * self.present
        return bool(distinct and self.whole and narrow)


@dataclass(frozen=True)
class Treatment:
    """What is done with a column of a table, in words."""

    name: str
    kind: str
    how: str


def count_columns(parts: Iterable[DataTable], sources: list[Input]) -> dict[str, ColumnFacts]:
    """Count the values of all columns, in one pass."""
    facts = {source.name: ColumnFacts(source) for source in sources}
    for table in parts:
        for found in facts.values():
            found.see(table)
    return facts


def settle(
    facts: dict[str, ColumnFacts], missing: Missing, scale: str | None, manhattan: bool = False
) -> tuple[Preparation, list[Treatment]]:
    """Decide levels, fills and scales.

    Numbers are divided by the deviation of their core, the same rounded ("steps", for the tree), or
    their range (Gower's scale). In Manhattan distances, a mismatch counts in two columns.
    """
    mismatch = 1.0 if scale == "range" else MISMATCH
    inputs, fills, scales, treatments = [], [], [], []
    for name, found in facts.items():
        gaps = bool(found.missing) and missing == "indicate"
        if found.source.kind == "category":
            source, how = _settle_levels(found, gaps)
            fill, unit = 0.0, (2.0 if manhattan else math.sqrt(2.0)) / mismatch
            other = unit
        else:
            fill, unit, how = _settle_number(found, scale, mismatch)
            source, other = replace(found.source, gaps=gaps), 1.0 / mismatch  # circles and gaps
        more = len(source.features) - 1
        inputs.append(source)
        fills += [fill] + [0.0] * more
        scales += [unit] + [other] * more
        if found.missing and missing in ("median", "indicate"):
            done = "filled, marked in a column of their own" if gaps else "filled"
            if source.kind == "category" and gaps:
                done = "as a category of their own"
            how += f"; {count(found.missing, 'gap')} {done}"
        treatments.append(Treatment(name, source.kind, how))
    plain = all(s.kind == "number" and s.features == (s.name,) for s in inputs)
    columns = _distinct_names([name for source in inputs for name in source.features])
    filled = tuple(fills) if missing in ("median", "indicate") else None
    units = None if scale is None else tuple(scales)
    return Preparation(
        columns, missing, filled, units, None if plain else tuple(inputs)
    ), treatments


def _settle_levels(found: ColumnFacts, gaps: bool) -> tuple[Input, str]:
    """Choose the levels that get a column; rare ones share one."""
    name = found.source.name
    if len(found.levels) > MOST_LEVELS:
        raise TableError(
            f"column {show_name(name)} has {len(found.levels):,} or more categories; expected at "
            f"most {MOST_LEVELS:,}, which row {found.crowded_at} (from 0) exceeds. Leave it out, or "
            "group its values."
        )
    often = {level for level, n in found.levels.items() if n >= RARE * found.present}
    rare = len(found.levels) - len(often)
    if rare == 1 or len(often) < 2:
        ranked = sorted(found.levels, key=lambda level: (-found.levels[level], level))
        often = set(ranked[: max(2, round(1.0 / RARE) // 2)]) if rare != 1 else set(ranked)
        rare = len(found.levels) - len(often)
    source = Input(name, "category", tuple(sorted(often)), other=rare > 0, gaps=gaps)
    how = f"{count(len(found.levels), 'level')}"
    how += f", the {rare:,} rarest as one" if rare else ""
    return source, ("one level, no influence" if len(found.levels) < 2 else how)


def _settle_number(
    found: ColumnFacts, scale: str | None, mismatch: float
) -> tuple[float, float, str]:
    """Choose what fills gaps of a number and what it is divided by; say how."""
    source, numbers = found.source, found.numbers
    assert numbers is not None
    fill = median(numbers)
    if source.kind == "boolean" and numbers.values.size:  # the more frequent one
        fill = float(numbers.values[numbers.counts.argmax()])
    if numbers.values.size < 2:
        return fill, 1.0, "constant, no influence"
    low, high = float(numbers.values[0]), float(numbers.values[-1])
    if scale is None:
        return fill, 1.0, "as it is"
    if source.kind == "boolean" or numbers.values.size == 2:
        return fill, (high - low) / mismatch, "two values, weighs like a category"
    if scale == "range":
        return fill, high - low, f"divided by its range, {show_number(high - low)}"
    core = core_deviation(numbers)
    unit = step_deviation(numbers) if scale == "steps" else core
    how = f"divided by {show_number(unit)}"
    if core > core_deviation(numbers, floor=False):
        how += "; nearly constant, so rare values weigh about as much as a category"
    if source.kind == "number" and core_deviation(numbers, weight=1.0) > _HEAVY * core:
        how += "; heavy tails" + f": try --transform 'log:{source.name}'" * (low >= 0.0)
    return fill, unit, how


def _distinct_names(names: list[str]) -> tuple[str, ...]:
    taken: dict[str, Any] = {}
    for name in names:
        number, free = 2, name
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        taken[free] = None
    return tuple(taken)
