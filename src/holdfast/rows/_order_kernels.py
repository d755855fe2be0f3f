"""Positions of rows in the Z-order of a fit, and that order without some rows and with others."""

import numpy as np

from holdfast._machine.jit import inner_kernel, writing_kernel
from holdfast.grid._kernels import DIMENSION_BITS, highest_bit, shifted_word

__all__ = ["change_order", "search_order"]

_ZERO = np.uint64(0)


@inner_kernel
def _fill_word(row, source, word):
    """Fill `word` with the coordinates of a row; see `holdfast.rows.order` for `source`."""
    rows, frame, shift, anchor, low = source
    d = rows.shape[1]
    for j in range(d):
        word[j] = shifted_word(rows[row, j], frame[j], frame[d], shift, j, low) - anchor[j]


@inner_kernel
def _split(a, b):
    """Where two leaves first differ, as in `gather_leaves`; -1 for equal coordinates."""
    most, where = _ZERO, 0
    for j in range(a.size):
        x = a[j] ^ b[j]
        if most < x and most < (most ^ x):
            most, where = x, j
    if most == _ZERO:
        return np.int64(-1), False
    split = (63 - highest_bit(most)) << DIMENSION_BITS
    return split | where, a[where] < b[where]


@writing_kernel
def search_order(order, source, wanted, word, at):
    """Find, for each of some coordinates, the first leaf that does not come before them."""
    for i in range(at.size):
        low, high = 0, order.size
        while low < high:
            middle = (low + high) // 2
            _fill_word(order[middle], source, word)
            if _split(word, wanted[i])[1]:
                low = middle + 1
            else:
                high = middle
        at[i] = low


@writing_kernel
def change_order(
    order, splits, number, source, at, added, wanted, word, other, out_order, out_splits
):
    """Merge added leaves into the order, leave out removed ones, and number the rows again.

    ``number[row]`` is the new number of a row, or -1. Leaf i of `added`, with the coordinates
    ``wanted[i]``, comes before leaf ``at[i]`` of the order. Both are in Z-order. Between two leaves
    that stay, the split is the smallest of those in between. Returns whether all leaves differ.
    """
    found, a = 0, 0
    least = np.int64(1) << 40  # the smallest split since the last leaf
    last_row, last_added = np.int64(-1), np.int64(-1)  # which leaf was the last
    for i in range(order.size + 1):
        while a < at.size and at[a] == i:
            if found > 0:
                if last_added >= 0:
                    split = _split(wanted[last_added], wanted[a])[0]
                else:
                    _fill_word(last_row, source, other)
                    split = _split(other, wanted[a])[0]
                if split < 0:
                    return False
                out_splits[found - 1] = split
            out_order[found] = added[a]
            found += 1
            last_added = a
            a += 1
        if i == order.size:
            break
        row = np.int64(order[i])
        if i > 0:
            least = min(least, np.int64(splits[i - 1]))
        if number[row] < 0:
            continue
        if found > 0:
            if last_added >= 0:
                _fill_word(row, source, word)
                least = _split(wanted[last_added], word)[0]
            if least < 0:
                return False
            out_splits[found - 1] = least
        out_order[found] = number[row]
        found += 1
        last_row, last_added = row, -1
        least = np.int64(1) << 40
    return True
