"""The order in which a fit sorted its rows, kept so that rows can be found quickly."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast.grid.place import Grid
from holdfast.rows._order_kernels import count_equal_rows, halve_ranges

__all__ = ["CellSortKey", "RowOrder", "SortKey"]


class SortKey(Protocol):
    """The keys by which a fit sorted its rows; equal rows have equal keys."""

    def of_fitted(self, rows: NDArray[np.float64]) -> NDArray[np.uint64]:
        """Keys of rows of the fit, compared as in Z-order; shape (n, any)."""

    def of_any(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Keys of any rows, and which of these rows can be in the fit."""


@dataclass(frozen=True, eq=False)
class CellSortKey:
    """The finest cells of a grid: the keys of the tree."""

    grid: Grid

    def of_fitted(self, rows: NDArray[np.float64]) -> NDArray[np.uint64]:
        """Coordinates of rows in the root cells."""
        return self.grid.locate(rows)

    def of_any(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Coordinates of any rows, and whether they lie in the root cells."""
        return self.grid.locate_any(rows)


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Rows by sort key. Takes 4 bytes per row and no time, because the fit sorts the rows anyway.

    Attributes
    ----------
    order : ndarray of shape (n,), dtype int32
        Rows of the fit; those with equal keys are adjacent.
    sort_key : SortKey
    alike : bool
        Whether rows with equal keys are always equal.
    """

    order: NDArray[np.int32]
    sort_key: SortKey
    alike: bool

    def among(self, numbers: NDArray[np.int64]) -> "RowOrder":
        """Renumber the rows if the fit saw only the rows with these numbers."""
        return replace(self, order=numbers[self.order].astype(np.int32))

    def kept(self) -> "RowOrder":
        """Copy the order if it is a view, so that the larger array can be freed."""
        order = self.order if self.order.base is None else self.order.copy()
        order.flags.writeable = False
        return replace(self, order=order)

    def count(
        self,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        wanted: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Count how often each wanted row is among `rows`, the rows of the fit.

        Takes O(log n) time per row. If there are weights, or rows are not `alike`, it also looks at
        all rows with the same key.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features), dtype float64
        weight : ndarray of shape (n,), dtype float64, or None
            Integers.
        wanted : ndarray of shape (m, n_features), dtype float64

        Returns
        -------
        ndarray of shape (m,), dtype int64
        """
        total = np.zeros(wanted.shape[0], dtype=np.int64)
        keys, possible = self.sort_key.of_any(wanted)
        low, high = self._search(rows, keys[possible])
        counted = np.zeros(low.size, dtype=np.int64)
        weights = np.empty(0) if weight is None else weight
        count_equal_rows(
            read_only(rows),
            read_only(self.order),
            read_only(weights),
            low,
            high,
            self.alike,
            np.ascontiguousarray(wanted[possible]),
            counted,
        )
        total[possible] = counted
        return total

    def _search(
        self, rows: NDArray[np.float64], keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where in `order` each key begins and ends."""
        low = np.zeros(2 * keys.shape[0], dtype=np.int64)
        high = np.full(low.size, self.order.size)
        for _ in range(self.order.size.bit_length()):
            middle = np.minimum(
                (low + high) // 2, self.order.size - 1
            )  # in range after the end too
            held = self.sort_key.of_fitted(rows[self.order[middle]])
            halve_ranges(low, high, held, keys)
        return low[: keys.shape[0]], low[keys.shape[0] :]
