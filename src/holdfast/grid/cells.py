"""Rows -> Z-order -> leaves: the occupied cells at the depth of the grid, with weights and keys."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import purpose_key
from holdfast._machine.jit import Floats, Ints, Ints32, Words, read_only
from holdfast._machine.work import cut_rows, share_parts, share_rows
from holdfast.grid._kernels import content_keys, count_merged, gather_leaves, sum_weights
from holdfast.grid._sort_kernels import (
    BITS,
    MORE_BITS,
    SMALL,
    choose_bits,
    divide_records,
    fill_records,
    sort_groups,
    sort_rows,
    vary_rows,
)
from holdfast.grid.place import Grid

ROOM = 8
"""Words of 64 bits that the nodes of the tree take for each leaf."""

MAX_ROWS = 1 << 30
"""Maximum number of rows; 32-bit integers number the nodes, two per row."""

Allocate = Callable[[Any, Any], NDArray[Any]]
"""Called like ``np.empty(shape, dtype)``."""


@dataclass(frozen=True)
class Cells:
    """The leaves of the tree, in Z-order."""

    rows: Floats  # (n_rows, n_features)
    grid: Grid
    splits: Ints32  # (n_leaves - 1,): where each differs from the next; see `gather_leaves`
    key: Words  # (n_leaves,): hash of the seed and of the content of the first row
    order: Ints32  # (n_rows,): rows by leaf; within a leaf by content, then by row number
    begins: Ints32 | None  # (n_leaves + 1,): `start`, if some rows share a leaf
    given_weight: Floats | None  # (n_leaves,): `weight`, if the rows have weights
    weight_unit: float  # A power of two; 1 for rows without weights
    n_merged: int  # number of rows that differ from the first row of their leaf but share its cell
    # Memory that sorting has used and that the first tree takes for its nodes: a process gets new
    # memory at the speed of sorting
    room: list[Words] = field(default_factory=list)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.key.size

    @property
    def coordinates(self) -> Words:
        """Coordinates of the leaves, see :meth:`Grid.locate`; shape (n_leaves, n_features)."""
        return self.locate(slice(None))

    def locate(self, leaves: NDArray[np.integer] | slice) -> Words:
        """Coordinates of some leaves."""
        return self.grid.locate(self.rows, chosen=self.first_rows[leaves])

    @property
    def start(self) -> Ints32:
        """Where leaves begin: rows of leaf i are ``order[start[i]:start[i + 1]]``."""
        return np.arange(self.n_leaves + 1, dtype=np.int32) if self.begins is None else self.begins

    @property
    def weight(self) -> Floats:
        """Total weight of the rows in each leaf, an integer in units of `weight_unit`."""
        if self.given_weight is not None:
            return self.given_weight
        if self.begins is None:
            return np.ones(self.n_leaves)
        return np.diff(self.begins).astype(np.float64)

    @property
    def first_rows(self) -> Ints32:
        """The row that represents each leaf."""
        return self.order if self.begins is None else self.order[self.begins[:-1]]

    @property
    def total_weight(self) -> float:
        """Weight of all rows, in the units of the given weights."""
        if self.given_weight is None:
            return float(self.order.size)
        return float(self.given_weight.sum()) * self.weight_unit


def collect_cells(X: Floats, weight: Floats | None, grid: Grid, seed: int) -> Cells:
    """Sort rows by cell and merge rows that share a cell at the depth of the grid.

    Weights are positive. Takes O(n d) time and O(n) memory beyond the rows (less without `room`) for
    data without adversarial structure. Needs at most 64 d / 12 passes over the rows for any data.
    """
    if X.shape[0] > MAX_ROWS:
        raise ValueError(
            f"X has {X.shape[0]} rows; at most {MAX_ROWS} are supported. Fit a sample of the rows, "
            "or use fit_chunks."
        )
    room = np.empty(ROOM * (X.shape[0] + 1), dtype=np.uint64)
    room = room[-room.ctypes.data % 64 // 8 :]  # a leaf and the next split are one cache line
    lend = _lend_parts_of(room)
    coordinates = grid.locate(X, lend)
    order = z_order(coordinates, lend)
    splits, key = _gather(coordinates, order, row_keys(X, seed, allocate=lend))
    del coordinates
    begins, n_merged = None, 0
    if splits.size and splits.min() < 0:
        new = np.flatnonzero(splits >= 0)
        begins = np.concatenate(([0], new + 1, [order.size])).astype(np.int32)
        splits = splits[new]
        merged = count_merged(read_only(X), order, begins)
        for leaf in np.flatnonzero(merged):
            rows = order[begins[leaf] : begins[leaf + 1]]
            order[begins[leaf] : begins[leaf + 1]] = rows[np.lexsort(X[rows].T[::-1])]
        n_merged = int(count_merged(read_only(X), order, begins).sum()) if merged.any() else 0
        key = row_keys(X, seed)[order[begins[:-1]]]
    cells = Cells(X, grid, splits, key, order, begins, None, 1.0, n_merged, [room])
    if weight is None:
        return cells
    weight, unit = to_fixed_point(weight)
    total = sum_weights(weight, order, cells.start)
    return replace(cells, given_weight=total, weight_unit=unit)


def z_order(coordinates: Words, allocate: Allocate = np.empty) -> Ints32:
    """Sort rows in Z-order, equal ones by number, in O(n d) time; `allocate` lends memory."""
    n = coordinates.shape[0]
    # Arrays that NumPy allocates use large pages; arrays allocated in kernels do not.
    order = np.empty(n, dtype=np.int32)
    if n == 0:
        return order
    records, space = allocate(n, np.uint64), allocate(n, np.uint64)
    cuts = cut_rows(n)
    if len(cuts) == 2:
        ends = np.empty(257, dtype=np.int64)
        sort_rows(coordinates, records, space, ends, order, *_work_space(coordinates, n))
        return order
    whole, ends = _divide(coordinates, cuts, order, space, records)
    # Groups are of unequal sizes: a thread that is done takes the next few.
    firsts = np.searchsorted(ends, np.linspace(0, n, 8 * len(cuts)), side="left").tolist()

    def sort(i: int) -> None:
        first, last = min(firsts[i], 256), min(firsts[i + 1], 256)
        longest = int(np.diff(ends[first : last + 1]).max(initial=0))
        sort_groups(
            coordinates, records, space, ends, first, last, whole, order,
            *_work_space(coordinates, longest),
        )  # fmt: skip

    share_parts(len(firsts) - 1, sort)
    return order


def _divide(
    coordinates: Words, cuts: list[int], order: Ints32, space: Words, records: Words
) -> tuple[bool, Ints]:
    """Divide `records` by their highest bytes; return if keys decide, and where groups begin."""
    n_parts, d = len(cuts) - 1, coordinates.shape[1]
    _, bits, dims, *_ = _work_space(coordinates, 0)
    differ = np.empty((n_parts, d), dtype=np.uint64)
    share_parts(n_parts, lambda i: vary_rows(coordinates, cuts[i], cuts[i + 1], differ[i]))
    found = choose_bits(np.bitwise_or.reduce(differ), bits, dims)
    counts = np.empty((n_parts, 257), dtype=np.int64)

    def fill(i: int) -> None:
        _, _, _, table, places, _, _ = _work_space(coordinates, 0)
        fill_records(
            coordinates, order, cuts[i], cuts[i + 1], bits, dims, found, table, places, space,
            counts[i],
        )  # fmt: skip

    share_parts(n_parts, fill)
    totals = counts[:, :256].T.ravel()  # by group, then by part
    begins = np.cumsum(totals) - totals
    places = np.ascontiguousarray(begins.reshape(256, n_parts).T)
    share_parts(n_parts, lambda i: divide_records(space, cuts[i], cuts[i + 1], places[i], records))
    ends = np.concatenate((begins[::n_parts], [coordinates.shape[0]]))
    return found < bits.size, ends


def _work_space(coordinates: Words, longest: int) -> tuple[NDArray[Any], ...]:
    """Allocate differ, bits, dims, table, places, counts and todo, for groups up to `longest`."""
    n, d = coordinates.shape
    bits = MORE_BITS if n <= 1 << (64 - MORE_BITS) else BITS
    return (
        np.empty(d, dtype=np.uint64),
        np.empty(bits, dtype=np.int64),
        np.empty(bits, dtype=np.int64),
        np.empty((bits, 256), dtype=np.uint64),
        np.empty(bits, dtype=np.int64),
        np.empty(257, dtype=np.int64),
        np.empty((longest // SMALL + 2, 2), dtype=np.int64),  # segments there are longer than SMALL
    )


def cells_in_order(
    X: Floats, weight: Floats | None, grid: Grid, seed: int, order: Ints32, splits: Ints32
) -> Cells:
    """Return what `collect_cells` does, for rows in cells of their own whose order is known."""
    keys, key = row_keys(X, seed), np.empty(order.size, dtype=np.uint64)
    share_rows(order.size, lambda part: keys.take(order[part], out=key[part], mode="clip"))
    cells = Cells(X, grid, splits, key, order, None, None, 1.0, 0)
    if weight is None:
        return cells
    weight, unit = to_fixed_point(weight)
    return replace(cells, given_weight=weight[order], weight_unit=unit)


def _lend_parts_of(room: Words) -> Allocate:
    """Allocate arrays in `room`, one after the other, and elsewhere if it is full."""
    used = 0

    def lend(shape: int | tuple[int, ...], dtype: Any) -> NDArray[Any]:
        nonlocal used
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        size = -(-count * np.dtype(dtype).itemsize // 8)
        if used + size > room.size:
            return np.empty(shape, dtype)
        part: NDArray[Any] = room[used : used + size].view(dtype)
        used += size
        return part[:count].reshape(shape)

    return lend


def row_keys(X: Floats, seed: int, exponent: int = 0, allocate: Allocate = np.empty) -> Words:
    """Hash the seed and the content of each row, where the content is `X` times ``2**exponent``."""
    keys: Words = allocate(X.shape[0], np.uint64)
    rows, key = read_only(X), purpose_key(seed, "row")
    factors = np.ldexp(1.0, [exponent // 2, exponent - exponent // 2])  # a single one may overflow

    def work(part: slice) -> None:
        content_keys(rows[part], factors, key, keys[part])

    share_rows(X.shape[0], work, X.shape[1])
    return keys


def _gather(coordinates: Words, order: Ints32, keys: Words) -> tuple[Ints32, Words]:
    """Compare neighbors in the order of the leaves, and put their keys into that order."""
    key = np.empty_like(keys)
    splits = np.empty(max(order.size - 1, 0), dtype=np.int32)
    share_rows(
        order.size,
        lambda part: gather_leaves(
            coordinates.reshape(-1), order, keys, part.start, part.stop, splits, key
        ),
    )
    return splits, key


def to_fixed_point(weight: Floats) -> tuple[Floats, float]:
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
