"""The order in which the tree has sorted its rows, carried along when rows come and go."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast.grid import Cells, Grid
from holdfast.grid.cells import cells_in_order
from holdfast.grid.place import DEPTH
from holdfast.grid.sort import z_order
from holdfast.rows._order_kernels import change_order, search_order

__all__ = ["CellOrder", "order_of"]


@dataclass(frozen=True, eq=False)
class CellOrder:
    """Distinct rows in Z-order, each alone in its cell. Takes 8 bytes per row.

    Attributes
    ----------
    grid : Grid
    order : ndarray of shape (n,), dtype int32
        Rows by cell.
    splits : ndarray of shape (n - 1,), dtype int32
        Where each cell first differs from the next; see `gather_leaves`.
    """

    grid: Grid
    order: NDArray[np.int32]
    splits: NDArray[np.int32]

    def renumber(self, number: NDArray[np.int32]) -> "CellOrder":
        """Call row i ``number[i]``."""
        return replace(self, order=read_only(number[self.order]))

    def change(
        self,
        rows: NDArray[np.float64],
        number: NDArray[np.int32],
        added: NDArray[np.int32],
        new: NDArray[np.float64],
    ) -> "CellOrder | None":
        """Return the order without some of the rows and with new ones, in O(n) time.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features), dtype float64
            The rows of this order.
        number : ndarray of shape (n,), dtype int32
            The new number of each row; -1 for a row that is left out.
        added : ndarray of shape (m,), dtype int32
            The numbers of the new rows.
        new : ndarray of shape (m, n_features), dtype float64
            The new rows.

        Returns
        -------
        CellOrder or None
            None if a new row lies outside the root cells or shares a cell with another row.
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

    def _source(self, rows: NDArray[np.float64]) -> tuple[Any, ...]:
        """List what determines coordinates: rows, origin and scale, shift, anchor, window."""
        grid, low = self.grid, self.grid.root_exponent - DEPTH
        frame = np.append(grid.origin, grid.scale)
        anchor = grid.anchor << np.uint64(DEPTH)
        return read_only(rows), frame, grid.shift_words(low), anchor, low

    def cells(
        self,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        grid: Grid,
        seed: int,
    ) -> Cells | None:
        """Return what `collect_cells` does, without sorting; None if the grid is another one."""
        if not self.grid.equals(grid):
            return None
        return cells_in_order(rows, weight, grid, seed, self.order, self.splits)


def order_of(cells: Cells) -> CellOrder | None:
    """Keep the order of cells; None if some rows share a cell."""
    if cells.begins is not None:
        return None
    return CellOrder(cells.grid, read_only(cells.order), read_only(cells.splits))
