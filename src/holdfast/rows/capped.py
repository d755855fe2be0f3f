"""A sketch of bounded size: if there are too many rows, cells of the seeded grid represent them.

The cells have the smallest side at which there are at most `max_cells`. Neither the number of cells
of a given side nor the side can fall when rows are added. So a sketch of a part is never coarser
than the sketch of the whole, and the result does not depend on chunks or their order.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from holdfast._machine.jit import Floats, Ints, Words, read_only
from holdfast.grid.cells import z_order
from holdfast.grid.place import Extent, Grid, place_grid
from holdfast.rows._kernels import common_bits, group_cells, merge_cells
from holdfast.rows.sketch import MAX_WEIGHT, Sketch

MAX_CELLS = 1 << 21
"""The default: 2,097,152 cells, which need a little over 1 GB in three dimensions."""

_COARSEST = 1100  # above the largest exponent of float64


@dataclass(frozen=True)
class Cap:
    """What determines when a sketch becomes coarse; only sketches with equal caps can be merged."""

    max_cells: int
    seed: int

    def place(self, n_features: int) -> Grid:
        """Place the grid of the seed; its root does not matter."""
        zero = np.zeros(n_features)
        return place_grid(zero, zero, self.seed)


@dataclass(frozen=True, eq=False, repr=False)
class CappedSketch:
    """Distinct rows with counts, or cells with counts and their smallest row. Immutable."""

    cap: Cap
    rows: Floats  # (n, n_features): sorted as in `Sketch`, or in the Z-order of `words`
    weight: Ints  # (n,)
    lower: Floats  # (n_features,): bounding box of all added rows
    upper: Floats  # (n_features,)
    exponent: int | None = None  # side ``2**exponent`` in scaled units; None: rows are exact
    words: Words | None = None  # (n, n_features): the cells of the rows, modulo 2^64

    @classmethod
    def empty(cls, cap: Cap, n_features: int) -> Self:
        """Sketch of no rows."""
        none = Sketch.empty(n_features)
        bounds = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        return cls(cap, none.rows, none.weight, *bounds)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def total_weight(self) -> int:
        """Number of added rows."""
        return int(self.weight.sum())

    @property
    def extent(self) -> Extent | None:
        """What determines the grid of a coarse sketch: all added rows, not those kept."""
        if self.exponent is None:
            return None
        return Extent(self.lower, self.upper, self.exponent)

    def __len__(self) -> int:
        """Return the number of distinct rows or cells."""
        return self.weight.size

    def __repr__(self) -> str:
        """Name the sketch by its sizes."""
        what = "distinct rows" if self.exponent is None else f"cells of side 2^{self.exponent}"
        return f"CappedSketch({len(self)} {what} of {self.total_weight} rows)"

    def __eq__(self, other: object) -> bool:
        """Whether both have the same rows or cells, with equal counts and equal caps."""
        if not isinstance(other, CappedSketch):
            return NotImplemented
        a, b = self.settle(), other.settle()
        return (a.cap, a.exponent) == (b.cap, b.exponent) and all(
            np.array_equal(getattr(a, name), getattr(b, name))
            for name in ("rows", "weight", "lower", "upper")
        )

    __hash__ = None  # type: ignore[assignment]

    def add(self, sketch: Sketch) -> "CappedSketch":
        """Add the rows of a sketch."""
        return self.add_rows(sketch.rows, sketch.weight)

    def add_rows(self, rows: Floats, weight: Ints) -> "CappedSketch":
        """Add rows, finite and with positive weights; O(n + cells) time."""
        if rows.shape[0] == 0:
            return self
        if self.exponent is None:
            exact = Sketch.from_rows(rows, weight)
            bounds = exact.rows.min(axis=0), exact.rows.max(axis=0)
            return self + CappedSketch(self.cap, exact.rows, exact.weight, *bounds)._capped()
        rows = rows + 0.0  # -0.0 becomes 0.0
        bounds = rows.min(axis=0), rows.max(axis=0)
        part = CappedSketch(self.cap, rows, weight, *bounds, self.exponent)
        return self + part._group(self.exponent)

    def __add__(self, other: "CappedSketch") -> "CappedSketch":
        """Sketch of the rows of both."""
        if self.cap != other.cap or self.n_features != other.n_features:
            raise ValueError(
                "Sketches must have the same grid and cap to be merged; got "
                f"{self.cap}, {self.n_features} columns, and {other.cap}, {other.n_features} "
                "columns. Create all of them with the same seed and max_cells."
            )
        if self.total_weight + other.total_weight > MAX_WEIGHT:
            raise ValueError(
                "A sketch can have at most 2^53 rows, including repeats; got "
                f"{self.total_weight} and {other.total_weight}."
            )
        if len(self) == 0 or len(other) == 0:
            return self if len(other) == 0 else other
        lower = np.minimum(self.lower, other.lower)
        upper = np.maximum(self.upper, other.upper)
        if self.exponent is None and other.exponent is None:
            exact = Sketch(self.rows, self.weight) + Sketch(other.rows, other.weight)
            return CappedSketch(self.cap, exact.rows, exact.weight, lower, upper)._capped()
        least = CappedSketch(self.cap, self.rows, self.weight, lower, upper)._least_exponent()
        exponent = max(least, *(e for e in (self.exponent, other.exponent) if e is not None))
        a, b = self._group(exponent), other._group(exponent)
        return replace(_merge(a, b), lower=lower, upper=upper)._coarsen()

    def remove(self, sketch: Sketch) -> "CappedSketch":
        """Raise an error: rows cannot be removed from cells."""
        raise ValueError(
            f"Rows cannot be removed: there were more than max_cells={self.cap.max_cells} distinct "
            f"rows, so {len(self)} cells of the grid represent them. Fit again with a larger "
            "max_cells to remove rows."
        )

    def settle(self) -> "CappedSketch":
        """Put the rows in the order of `Sketch`."""
        if self.words is None:
            return self
        ordered = Sketch.from_rows(self.rows, self.weight)
        return replace(self, rows=ordered.rows, weight=ordered.weight, words=None)

    def content(self) -> tuple[Floats, Floats]:
        """Rows and weights of a settled sketch."""
        return self.rows, self.weight.astype(np.float64)

    def _capped(self) -> "CappedSketch":
        """Group exact rows into cells if there are too many."""
        if len(self) <= self.cap.max_cells:
            return self
        return self._group(self._least_exponent())._coarsen()

    def _least_exponent(self) -> int:
        """Smallest exponent at which cell numbers modulo 2^64 are unique."""
        largest = max(float(np.abs(self.lower).max()), float(np.abs(self.upper).max()))
        return math.frexp(largest * self.cap.place(self.n_features).scale)[1] - 61

    def _group(self, exponent: int) -> "CappedSketch":
        """Group rows into cells of a given side, not smaller than the current one."""
        if self.words is not None and self.exponent == exponent:
            return self
        words = self.cap.place(self.n_features).cell_numbers(self.rows, exponent)
        out = np.empty_like(words), np.empty_like(self.rows), np.empty_like(self.weight)
        found = group_cells(
            read_only(words), read_only(self.rows), read_only(self.weight), z_order(words), *out
        )
        return self._with_cells(found, *out, exponent)

    def _coarsen(self) -> "CappedSketch":
        """Double the side of the cells until there are at most `max_cells`."""
        sketch, max_cells = self, self.cap.max_cells
        while len(sketch) > max_cells:
            assert sketch.words is not None
            assert sketch.exponent is not None
            counts = common_bits(read_only(sketch.words))
            cells = 1 + np.cumsum(counts[::-1])[::-1]  # at k = 0, 1, ... 63 doublings
            few = np.flatnonzero(cells <= max_cells)
            sketch = sketch._group(sketch.exponent + (int(few[0]) if few.size else 63))
            if sketch.exponent is not None and sketch.exponent > _COARSEST:
                raise ValueError(
                    f"max_cells={max_cells} is too small: even the largest cells leave "
                    f"{len(sketch)} of them. Use at least max_cells={len(sketch)}."
                )
        return sketch

    def _with_cells(
        self, found: int, words: Words, rows: Floats, weight: Ints, exponent: int
    ) -> "CappedSketch":
        words, rows, weight = words[:found], rows[:found], weight[:found]
        if rows.base is not None and found < rows.base.shape[0] * 3 // 4:
            words, rows, weight = words.copy(), rows.copy(), weight.copy()
        return replace(self, rows=rows, weight=weight, words=words, exponent=exponent)


def _merge(a: CappedSketch, b: CappedSketch) -> CappedSketch:
    """Merge cells of the same side."""
    assert a.words is not None
    assert b.words is not None
    assert a.exponent is not None
    size = len(a) + len(b)
    words = np.empty((size, a.n_features), dtype=np.uint64)
    rows, weight = np.empty(words.shape), np.empty(size, dtype=np.int64)
    given = (read_only(x) for x in (a.words, a.rows, a.weight, b.words, b.rows, b.weight))
    found = merge_cells(*given, words, rows, weight)
    return a._with_cells(found, words, rows, weight, a.exponent)
