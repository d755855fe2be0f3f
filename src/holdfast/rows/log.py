"""The rows of a model: all of them, with pending changes and the order of the tree; or bounded.

Changes are kept in sketches with weights that may be negative, each more than twice as large as the
next. The cost of a change depends on the changed rows only, and a row is merged at most O(log n)
times.

In a sketch of bounded size, cells of the seeded grid represent rows if there are too many. The cells
have the smallest side at which there are at most `max_cells`. Neither their number at a given side
nor the side can fall when rows are added, so the result does not depend on chunks or their order.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from holdfast._machine.jit import Floats, Ints, Ints32, Words, read_only
from holdfast.grid import Cells, Grid
from holdfast.grid.cells import cells_in_order, z_order
from holdfast.grid.place import DEPTH, Extent, place_grid
from holdfast.rows._kernels import (
    change_order,
    common_bits,
    group_cells,
    merge_cells,
    search_order,
)
from holdfast.rows.sketch import (
    MAX_WEIGHT,
    CountedRows,
    Sketch,
    count_rows,
    fingerprint_rows,
    name_missing,
    sketch_distinct,
    whole_weights,
)

MAX_CELLS = 1 << 21
"""The default: 2,097,152 cells, which need a little over 1 GB in three dimensions."""

_COARSEST = 1100  # above the largest exponent of float64


@dataclass(frozen=True, eq=False)
class CellOrder:
    """Distinct rows in Z-order, each alone in its cell. Takes 8 bytes per row."""

    grid: Grid
    order: Ints32  # (n,): rows by cell
    splits: Ints32  # (n - 1,): where each cell first differs from the next; see `gather_leaves`

    def change(
        self, rows: Floats, number: Ints32, added: Ints32, new: Floats
    ) -> "CellOrder | None":
        """Return the order without some of its `rows` and with the `new` ones, in O(n) time.

        ``number[i]`` is the new number of row i; -1 leaves it out. `added` are the numbers of the new
        rows. None if a new row lies outside the root cells or shares a cell with another row.
        """
        wanted, inside = self.grid.locate_any(new)
        if not inside.all():
            return None
        sorted_new = z_order(wanted)
        wanted, added = wanted[sorted_new], added[sorted_new]
        source = self._source(rows)
        word, other = np.empty((2, rows.shape[1]), dtype=np.uint64)
        at = np.empty(added.size, dtype=np.int64)
        search_order(self.order, source, wanted, word, at)
        n = int(np.count_nonzero(number >= 0)) + added.size
        order, splits = np.empty(n, dtype=np.int32), np.empty(max(n - 1, 0), dtype=np.int32)
        distinct = change_order(
            self.order, self.splits, number, source, at, added, wanted, word, other, order, splits
        )
        return CellOrder(self.grid, read_only(order), read_only(splits)) if distinct else None

    def _source(self, rows: Floats) -> tuple[Any, ...]:
        """List what determines coordinates: rows, origin and scale, shift, anchor, window."""
        grid, low = self.grid, self.grid.root_exponent - DEPTH
        frame = np.append(grid.origin, grid.scale)
        anchor = grid.anchor << np.uint64(DEPTH)
        return read_only(rows), frame, grid.shift_words(low), anchor, low

    def cells(self, rows: Floats, weight: Floats | None, grid: Grid, seed: int) -> Cells | None:
        """Return what `collect_cells` does, without sorting; None if the grid is another one."""
        if not self.grid.equals(grid):
            return None
        return cells_in_order(rows, weight, grid, seed, self.order, self.splits)


def order_of(cells: Cells) -> CellOrder | None:
    """Keep the order of cells; None if some rows share a cell."""
    if cells.begins is not None:
        return None
    return CellOrder(cells.grid, read_only(cells.order), read_only(cells.splits))


@dataclass(frozen=True, eq=False)
class RowLog:
    """Rows of a fit, and sketches of the rows added and removed since. Immutable."""

    given: tuple[Floats, Floats | None] | None = None  # until they are sketched
    refusal: str = ""  # why the given rows cannot be counted; empty if they can
    layers: tuple[Sketch, ...] = ()  # changes, largest first; weights may be negative
    total_weight: int = 0  # number of rows, including repeats
    order: CellOrder | None = None  # of the given rows, or of the first layer
    fingerprint: int = 0  # hash of the given rows, which are not copied: they must not change
    extent: ClassVar[None] = None  # the rows themselves determine the grid

    @classmethod
    def from_fit(cls, rows: Floats, weight: Floats | None, order: CellOrder | None = None) -> Self:
        """Keep a reference to the rows and a copy of the weights."""
        given = read_only(rows), None if weight is None else read_only(weight.copy())
        log = cls(given, order=order, fingerprint=fingerprint_rows(rows))
        if weight is None:
            return replace(log, total_weight=rows.shape[0])
        try:
            total = int(whole_weights(weight, rows.shape[0]).sum())
        except ValueError as error:
            return replace(log, refusal=str(error))
        return replace(log, total_weight=total)

    def add(self, sketch: Sketch) -> "RowLog":
        """Add rows."""
        self._check_counted()
        total = self.total_weight + sketch.total_weight
        if total > MAX_WEIGHT:
            raise ValueError(f"A model can have at most 2^53 rows, including repeats; got {total}.")
        return self._stacked(sketch, 1, total)

    def remove(self, sketch: Sketch) -> "RowLog":
        """Remove rows, all of which must be present; one pass over the rows of a fit."""
        self._check_counted()
        held = np.zeros(len(sketch), dtype=np.int64)
        if self.given is not None:
            fingerprint, held = count_rows(*self.given, sketch.rows)
            self.check_unchanged(fingerprint)
        for layer in self.layers:
            held += layer.count(sketch.rows)
        if (held < sketch.weight).any():
            raise ValueError(name_missing(sketch.rows, sketch.weight, held))
        return self._stacked(sketch, -1, self.total_weight - sketch.total_weight)

    def _stacked(self, change: Sketch, sign: int, total: int) -> "RowLog":
        layers = _stack(self.layers, change, sign)
        same = self.given is not None or (bool(self.layers) and layers[0] is self.layers[0])
        order = self.order if same else None  # else its rows were merged with others
        return replace(self, layers=layers, total_weight=total, order=order)

    def check_unchanged(self, fingerprint: int | None = None) -> None:
        """Raise an error if the rows of the fit were changed in place; compute their fingerprint."""
        if self.given is None:
            return
        if fingerprint is None:
            fingerprint = fingerprint_rows(self.given[0])
        if fingerprint != self.fingerprint:
            raise ValueError(
                "X was changed in place after fit, which keeps a reference to X instead of a copy. "
                "Fit again, or pass a copy to fit."
            )

    def content(self) -> tuple[Floats, Floats]:
        """Rows and weights of a settled log: as given to the fit, or distinct and sorted."""
        if self.given is not None:
            rows, weight = self.given
            return rows, np.ones(rows.shape[0]) if weight is None else weight
        (sketch,) = self.layers
        return sketch.rows, sketch.weight.astype(np.float64)

    def settle(self) -> "RowLog":
        """Apply all changes: one sketch with positive weights remains."""
        if not self.layers or (self.given is None and len(self.layers) == 1):
            return self
        base, order = (self.layers[0], self.order) if self.given is None else self._sketch_given()
        changes = self.layers if self.given is not None else self.layers[1:]
        *others, change = changes
        for layer in reversed(others):
            change = layer.combine(change)
        merged, number, added = base.merge(change)
        if order is not None:
            new = np.flatnonzero(added >= 0)
            order = order.change(base.rows, number, added[new], change.rows[new])
        return replace(self, given=None, layers=(merged,), order=order)

    def _sketch_given(self) -> tuple[Sketch, CellOrder | None]:
        """Convert the rows of a fit to a sketch, and number them again in their order."""
        assert self.given is not None
        rows, weight = self.given
        self.check_unchanged()
        counts = None if weight is None else whole_weights(weight, rows.shape[0])
        distinct = sketch_distinct(rows, counts) if counts is None or counts.all() else None
        if distinct is None:
            return Sketch.from_rows(rows, weight), None
        sketch, number = distinct
        if self.order is None:
            return sketch, None
        return sketch, replace(self.order, order=read_only(number[self.order.order]))

    def _check_counted(self) -> None:
        if self.refusal:
            raise ValueError(self.refusal)


def _stack(layers: tuple[Sketch, ...], change: Sketch, sign: int) -> tuple[Sketch, ...]:
    """Add a change; merge layers until each is more than twice as large as the next."""
    top = change if sign > 0 else Sketch.empty(change.n_features).combine(change, sign)
    while layers and len(layers[-1]) <= 2 * len(top):
        top = layers[-1].combine(top)
        layers = layers[:-1]
    return (*layers, top) if len(top) or not layers else layers


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
class CappedSketch(CountedRows):
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
    def extent(self) -> Extent | None:
        """What determines the grid of a coarse sketch: all added rows, not those kept."""
        if self.exponent is None:
            return None
        return Extent(self.lower, self.upper, self.exponent)

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
            exact = Sketch(self.rows, self.weight).combine(Sketch(other.rows, other.weight))
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
