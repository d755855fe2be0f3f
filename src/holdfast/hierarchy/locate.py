"""Labels of new rows by the cells of the tree."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast._machine.parallel import share_rows
from holdfast.centers import CenterSequence
from holdfast.grid import Cells, Grid
from holdfast.hierarchy._kernels import find_cells

__all__ = ["CellLocator", "build_locator"]


@dataclass(frozen=True, eq=False)
class CellLocator:
    """The cells of the centers, in which any row can be looked up.

    Attributes
    ----------
    grid : Grid
    coordinates : ndarray of shape (n, n_features), dtype uint64
        Coordinates of the centers in Z-order.
    order : ndarray of shape (n,), dtype int32
        Number of each of these centers.
    cell : ndarray of shape (n,), dtype uint8
        Center t owns the rows that agree with it in every bit >= cell[t]; 64 means all space.
    parent : ndarray of shape (n,), dtype int32
    """

    grid: Grid
    coordinates: NDArray[np.uint64]
    order: NDArray[np.int32]
    cell: NDArray[np.uint8]
    parent: NDArray[np.int32]

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.coordinates.shape[1])

    def first(self, k: int) -> "CellLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        kept = self.order < k
        order, coordinates = self.order[kept], self.coordinates[kept]
        return CellLocator(self.grid, coordinates, order, self.cell[:k], self.parent[:k])

    def contains(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each row lies in any cell."""
        return self.grid.locate_any(X)[1]

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the last center whose cell contains each row; 0 outside all cells."""
        coordinates, inside = self.grid.locate_any(X)
        label = np.zeros(X.shape[0], dtype=np.int32)
        rows = coordinates[inside]
        found = np.empty(rows.shape[0], dtype=np.int32)

        def find(part: slice) -> None:
            found[part] = find_cells(
                rows[part], self.coordinates, self.order, self.cell, self.parent
            )

        share_rows(rows.shape[0], find)
        label[inside] = found
        return label


def build_locator(centers: CenterSequence, cells: Cells, grid: Grid) -> CellLocator:
    """Sort the centers in Z-order, which is the order of the leaves."""
    if centers.leaf.size == cells.start.size - 1:
        order = np.empty_like(centers.leaf)
        order[centers.leaf] = np.arange(order.size, dtype=np.int32)
        coordinates = cells.coordinates
    else:
        order = np.argsort(centers.leaf).astype(np.int32)
        coordinates = cells.locate(centers.leaf[order])
    return CellLocator(grid, coordinates, order, centers.cell, read_only(centers.parent))
