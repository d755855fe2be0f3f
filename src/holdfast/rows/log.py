"""The rows of a model and the pending changes to them.

Changes are kept in sketches with weights that may be negative, each more than twice as large as the
next. The cost of a change depends on the changed rows only, and a row is merged at most O(log n)
times.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast.grid.cells import row_keys
from holdfast.grid.place import Extent
from holdfast.rows.order import RowOrder
from holdfast.rows.sketch import MAX_WEIGHT, Sketch, name_missing, whole_weights

__all__ = ["RowLog"]

_BLOCK = 1 << 18  # rows hashed at a time


@dataclass(frozen=True, eq=False)
class RowLog:
    """Rows of a fit, and sketches of the rows added and removed since. Immutable.

    Attributes
    ----------
    given : tuple of (rows, weight) or None
        Rows of a fit, until they need to be sketched.
    refusal : str
        Why the given rows cannot be counted; empty if they can.
    layers : tuple of Sketch
        Changes, largest first; weights may be negative.
    total_weight : int
        Number of rows, including repeats.
    row_order : RowOrder or None
        Finds rows among the given ones; without it, they are sketched before the first removal.
    fingerprint : int
        Hash of the given rows, which are not copied: detects whether they were changed since.
    """

    given: tuple[NDArray[np.float64], NDArray[np.float64] | None] | None = None
    refusal: str = ""
    layers: tuple[Sketch, ...] = ()
    total_weight: int = 0
    row_order: RowOrder | None = None
    fingerprint: int = 0

    @classmethod
    def from_fit(
        cls,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        row_order: RowOrder | None = None,
    ) -> Self:
        """Keep a reference to the rows and a copy of the weights."""
        given = read_only(rows), None if weight is None else read_only(weight.copy())
        row_order = None if row_order is None else row_order.kept()
        log = cls(given, row_order=row_order, fingerprint=_fingerprint(rows))
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
        return replace(self, layers=_stack(self.layers, sketch, 1), total_weight=total)

    def remove(self, sketch: Sketch) -> "RowLog":
        """Remove rows, all of which must be present; O(log n) time per row."""
        self._check_counted()
        log = self if self.row_order is not None else self.sketch_given()
        log.check_unchanged()
        held = np.zeros(len(sketch), dtype=np.int64)
        if log.given is not None and log.row_order is not None:
            held += log.row_order.count(*log.given, sketch.rows)
        for layer in log.layers:
            held += layer.count(sketch.rows)
        if (held < sketch.weight).any():
            raise ValueError(name_missing(sketch.rows, sketch.weight, held))
        return replace(
            log,
            layers=_stack(log.layers, sketch, -1),
            total_weight=log.total_weight - sketch.total_weight,
        )

    def sketch_given(self) -> "RowLog":
        """Convert the rows of a fit to a sketch."""
        if self.given is None:
            return self
        self.check_unchanged()
        layers: tuple[Sketch, ...] = (Sketch.from_rows(*self.given),)
        for layer in self.layers:
            layers = _stack(layers, layer, 1)
        return replace(self, given=None, layers=layers, row_order=None)

    def check_unchanged(self) -> None:
        """Raise an error if the rows of the fit were changed in place."""
        if self.given is not None and _fingerprint(self.given[0]) != self.fingerprint:
            raise ValueError(
                "X was changed in place after fit, which keeps a reference to X instead of a copy. "
                "Fit again, or pass a copy to fit."
            )

    @property
    def extent(self) -> Extent | None:
        """None: the rows themselves determine the grid."""
        return None

    def content(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows and weights of a settled log: as given to the fit, or distinct and sorted."""
        if self.given is not None:
            rows, weight = self.given
            return rows, np.ones(rows.shape[0]) if weight is None else weight
        (sketch,) = self.layers
        return sketch.rows, sketch.weight.astype(np.float64)

    def settle(self) -> "RowLog":
        """Apply all changes: one sketch with positive weights remains."""
        if not self.layers:
            return self
        settled = self.sketch_given()
        if len(settled.layers) <= 1:
            return settled
        *others, merged = settled.layers
        for layer in reversed(others):
            merged = layer.combine(merged, 1)
        return replace(settled, layers=(merged,))

    def _check_counted(self) -> None:
        if self.refusal:
            raise ValueError(self.refusal)


def _fingerprint(rows: NDArray[np.float64]) -> int:
    """Sum the hashes of all rows, in blocks."""
    total = 0
    for start in range(0, rows.shape[0], _BLOCK):
        keys = row_keys(rows[start : start + _BLOCK], 0)
        total += int(keys.sum(dtype=np.uint64))
    return total & ((1 << 64) - 1)


def _stack(layers: tuple[Sketch, ...], change: Sketch, sign: int) -> tuple[Sketch, ...]:
    """Add a change; merge layers until each is more than twice as large as the next."""
    top = change if sign > 0 else Sketch.empty(change.n_features).combine(change, sign)
    while layers and len(layers[-1]) <= 2 * len(top):
        top = layers[-1].combine(top, 1)
        layers = layers[:-1]
    return (*layers, top) if len(top) or not layers else layers
