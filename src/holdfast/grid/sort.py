"""Rows -> Z-order: the order of the leaves of the tree, and of numbers if there is one column."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.parallel import cut_rows, share_parts
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

__all__ = ["Allocate", "z_order"]

Allocate = Callable[[Any, Any], NDArray[Any]]
"""Called like ``np.empty(shape, dtype)``."""

Lists = NDArray[np.int64]


def z_order(coordinates: NDArray[np.uint64], allocate: Allocate = np.empty) -> NDArray[np.int32]:
    """Sort rows in Z-order, and equal rows by row number; `allocate` gives temporary memory.

    Takes O(n d) time. The work on many rows is distributed over threads.
    """
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
    coordinates: NDArray[np.uint64],
    cuts: list[int],
    order: NDArray[np.int32],
    space: NDArray[np.uint64],
    records: NDArray[np.uint64],
) -> tuple[bool, Lists]:
    """Fill `records`, divided by their highest bytes, in threads; `space` is overwritten.

    Returns whether equal keys mean equal rows, and where the 256 groups begin and end.
    """
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


def _work_space(coordinates: NDArray[np.uint64], longest: int) -> tuple[NDArray[Any], ...]:
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
