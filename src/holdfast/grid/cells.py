"""Rows -> leaves: the occupied cells at the depth of the grid, in Z-order, with weights and keys."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import purpose_key
from holdfast._machine.jit import read_only
from holdfast._machine.threads import share_rows
from holdfast.grid._kernels import (
    content_keys,
    count_merged,
    group_sorted,
    sort_rows,
    sum_weights,
)
from holdfast.grid.place import Grid

__all__ = ["Cells", "collect_cells", "row_keys", "to_fixed_point", "z_order"]

MAX_ROWS = 1 << 30
"""Maximum number of rows; 32-bit integers number the nodes, two per row."""


@dataclass(frozen=True)
class Cells:
    """The leaves of the tree, in Z-order.

    Attributes
    ----------
    coordinates : ndarray of shape (n_leaves, n_features), dtype uint64
        See :meth:`Grid.locate`.
    weight : ndarray of shape (n_leaves,), dtype float64
        Total weight of the rows in each leaf, an integer in units of `weight_unit`.
    weight_unit : float
        A power of two; 1 for rows without weights.
    key : ndarray of shape (n_leaves,), dtype uint64
        Hash of the seed and the content of each leaf's first row.
    order : ndarray of shape (n_rows,), dtype int32
        Rows by leaf; within a leaf by content, then by row number.
    start : ndarray of shape (n_leaves + 1,), dtype int32
        Rows of leaf i are ``order[start[i]:start[i + 1]]``.
    n_merged : int
        Number of rows that differ from the first row of their leaf but share its cell.
    """

    coordinates: NDArray[np.uint64]
    weight: NDArray[np.float64]
    weight_unit: float
    key: NDArray[np.uint64]
    order: NDArray[np.int32]
    start: NDArray[np.int32]
    n_merged: int

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """The row that represents each leaf."""
        return self.order[self.start[:-1]]

    @property
    def total_weight(self) -> float:
        """Weight of all rows, in the units of the given weights."""
        return float(self.weight.sum()) * self.weight_unit


def collect_cells(
    X: NDArray[np.float64], weight: NDArray[np.float64] | None, grid: Grid, seed: int
) -> Cells:
    """Sort rows by cell and merge rows that share a cell at the depth of the grid.

    Takes O(n d) time and 60 + 16 d bytes of temporary memory per row for data without adversarial
    structure. Needs at most 64 d / 12 passes over the rows for any data.

    Parameters
    ----------
    X : ndarray of shape (n, n_features), dtype float64
    weight : ndarray of shape (n,), dtype float64, or None
        Positive.
    """
    if X.shape[0] > MAX_ROWS:
        raise ValueError(
            f"X has {X.shape[0]} rows; at most {MAX_ROWS} are supported. Fit a sample of the rows, "
            "or use fit_chunks."
        )
    coordinates = grid.locate(X)
    order = z_order(coordinates)
    coordinates, start = _group_leaves(coordinates, order)
    n_merged = 0
    if start.size <= X.shape[0]:
        for leaf in np.flatnonzero(count_merged(read_only(X), order, start)):
            rows = order[start[leaf] : start[leaf + 1]]
            order[start[leaf] : start[leaf + 1]] = rows[np.lexsort(X[rows].T[::-1])]
        n_merged = int(count_merged(read_only(X), order, start).sum())
    unit = 1.0
    if weight is None:
        leaf_weight = np.ones(start.size - 1)
        if start.size <= X.shape[0]:
            leaf_weight = np.diff(start).astype(np.float64)
    else:
        weight, unit = to_fixed_point(weight)
        leaf_weight = sum_weights(weight, order, start)
    key = row_keys(X, seed)[order[start[:-1]]]
    return Cells(coordinates, leaf_weight, unit, key, order, start, n_merged)


def z_order(coordinates: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Sort rows in Z-order, and equal rows by row number."""
    n = coordinates.shape[0]
    # Arrays that NumPy allocates use large pages; arrays allocated in kernels do not.
    orders, keys = np.empty((2, n), dtype=np.int32), np.empty((2, n), dtype=np.uint64)
    order: NDArray[np.int32] = sort_rows(coordinates, orders[0], orders[1], keys[0], keys[1])
    return order


def row_keys(X: NDArray[np.float64], seed: int, exponent: int = 0) -> NDArray[np.uint64]:
    """Hash the seed and the content of each row, where the content is `X` times ``2**exponent``."""
    keys = np.empty(X.shape[0], dtype=np.uint64)
    rows, key = read_only(X), purpose_key(seed, "row")
    factors = np.ldexp(1.0, [exponent // 2, exponent - exponent // 2])  # a single one may overflow
    share_rows(X.shape[0], lambda part: content_keys(rows[part], factors, key, keys[part]))
    return keys


def _group_leaves(
    coordinates: NDArray[np.uint64], order: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Coordinates of the distinct cells, and where their rows begin in `order`."""
    unique = np.empty_like(coordinates)
    begins = np.empty(order.size + 1, dtype=np.int32)
    leaves = group_sorted(coordinates, order, unique, begins)
    if leaves < order.size // 2:
        return unique[:leaves].copy(), begins[: leaves + 1].copy()
    return unique[:leaves], begins[: leaves + 1]


def to_fixed_point(weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Convert weights to integers with a total below 2^53, so that sums are exact in any order.

    Integer weights do not change. Fractional weights are rounded to a multiple of a power of two
    near 2^-52 of their total, and to at least one unit.
    """
    small = float(weight.max()) * weight.size < 2.0**51
    if small and not np.any(np.mod(weight, 1.0)):
        return weight, 1.0
    largest = math.frexp(float(weight.max()))[1]
    total = math.fsum(np.ldexp(weight, -largest).tolist())
    exponent = math.frexp(total)[1] + largest
    if exponent <= 52 and not np.any(np.mod(weight, 1.0)):
        return weight, 1.0
    unit = math.ldexp(1.0, max(exponent - 52, -1074))
    return np.maximum(np.rint(weight / unit), 1.0), unit
