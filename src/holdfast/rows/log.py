"""The rows of a model, the pending changes to them, and the order in which the tree has sorted them.

Changes are kept in sketches with weights that may be negative, each more than twice as large as the
next. The cost of a change depends on the changed rows only, and a row is merged at most O(log n)
times.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from holdfast._machine.jit import Floats, Ints32, read_only
from holdfast.grid import Cells, Grid
from holdfast.grid.cells import cells_in_order, z_order
from holdfast.grid.place import DEPTH
from holdfast.rows._kernels import change_order, search_order
from holdfast.rows.sketch import (
    MAX_WEIGHT,
    Sketch,
    count_rows,
    fingerprint_rows,
    name_missing,
    sketch_distinct,
    whole_weights,
)


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
            change = layer.combine(change, 1)
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
        top = layers[-1].combine(top, 1)
        layers = layers[:-1]
    return (*layers, top) if len(top) or not layers else layers
