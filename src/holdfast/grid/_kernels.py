"""Doubles -> exact fixed-point words; sorted rows -> leaves; rows -> the labeled cell they are in."""

import numpy as np

from holdfast._machine.hash import combine
from holdfast._machine.jit import inlined_kernel, inner_kernel, kernel, prefetch, writing_kernel

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FRACTION = np.int64((1 << 52) - 1)
_HIDDEN = np.int64(1 << 52)
_AHEAD = 32  # rows to prefetch
DIMENSION_BITS = 25  # a split is one 32-bit integer: 6 bits above, at most 2^25 dimensions


@writing_kernel
def column_bounds(rows, bounds):
    """Fill `bounds` with the smallest and the largest value of each column."""
    n, d = rows.shape
    for j in range(d):
        bounds[0, j] = bounds[1, j] = rows[0, j]
    for i in range(1, n):
        for j in range(d):
            bounds[0, j] = min(bounds[0, j], rows[i, j])
            bounds[1, j] = max(bounds[1, j], rows[i, j])


@inner_kernel
def _window(mantissa, exponent, low):
    """64 bits, from weight 2^low upwards, of ``mantissa * 2^exponent`` in two's complement."""
    up = exponent - low
    if up >= 64:
        return _ZERO
    if up >= 0:
        return np.uint64(mantissa) << np.uint64(up)
    return np.uint64(mantissa >> np.int64(min(-up, 63)))


@inlined_kernel
def shifted_word(value, origin, scale, shift, j, low):
    """64-bit window, from weight 2^low upwards, of ``(value - origin) * scale`` plus the shift.

    The product is in double precision, the sum is exact. Row 0 of `shift` is the shift's window at
    `low`, row i the one 64 i bits below. The part below the window matters only through its carry,
    which is settled in the first word nearly always.
    """
    bits = np.float64((value - origin) * scale).view(np.int64)
    exponent = (bits >> np.int64(52)) & np.int64(2047)
    mantissa = bits & _FRACTION
    if exponent == 0:
        exponent = np.int64(1)
    else:
        mantissa |= _HIDDEN
    if bits < 0:
        mantissa = -mantissa
    exponent -= np.int64(1075)
    carry = _ZERO
    below = low
    for k in range(1, shift.shape[0]):
        below -= 64
        a = _window(mantissa, exponent, below)
        total = a + shift[k, j]
        if total < a:
            carry = _ONE
            break
        if total != _ALL or below <= exponent:
            break
    return _window(mantissa, exponent, low) + shift[0, j] + carry


@writing_kernel
def shifted_words(rows, origin, scale, shift, low, anchor, words):
    """Fill `words` with the shifted word of each value of the rows, less that of the anchor."""
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            words[i, j] = shifted_word(rows[i, j], origin[j], scale, shift, j, low) - anchor[j]


@inner_kernel
def highest_bit(x):
    """Position of the highest set bit; the bit below is cleared, so that nothing rounds up."""
    return (np.float64(x & ~(x >> _ONE)).view(np.int64) >> np.int64(52)) - 1023


@inner_kernel
def first_difference(a, b):
    """XOR of two rows in the dimension of the highest differing bit (or 0), and the dimension."""
    most, where = _ZERO, 0
    for j in range(a.size):
        x = a[j] ^ b[j]
        if most < x and most < (most ^ x):
            most, where = x, j
    return most, where


@inner_kernel
def precedes(a, b):
    """Whether row `a` comes before row `b` in Z-order."""
    _, j = first_difference(a, b)
    return a[j] < b[j]


@writing_kernel
def gather_leaves(words, order, keys, start, stop, splits, key):
    """Put the keys of the rows ``order[start:stop]`` into place, and compare neighbors.

    ``splits[i]`` tells where row i of the order first differs from row i + 1: the number of bits
    above, times 2^25, plus the dimension; -1 for equal rows. Splits further up are smaller. `words`
    are the coordinates of all rows, one after the other.
    """
    d = words.size // order.size
    for i in range(start, stop):
        soon = np.int64(order[min(i + _AHEAD, stop - 1)])
        prefetch(words, soon * d)
        prefetch(words, soon * d + d - 1)
        prefetch(keys, soon)
        row, before = np.int64(order[i]), np.int64(order[i - 1 if i > 0 else 0])
        key[i] = keys[row]
        most, where = _ZERO, 0
        for j in range(d):
            word = words[row * d + j]
            x = word ^ words[before * d + j]
            if most < x and most < (most ^ x):  # as in first_difference
                most, where = x, j
        if i > 0:
            splits[i - 1] = -1
            if most != _ZERO:
                splits[i - 1] = ((63 - highest_bit(most)) << DIMENSION_BITS) | where


@kernel
def count_merged(rows, order, start):
    """Count the rows of each leaf that differ from its first row."""
    merged = np.zeros(start.size - 1, np.int32)
    for leaf in range(start.size - 1):
        first = order[start[leaf]]
        for i in range(start[leaf] + 1, start[leaf + 1]):
            for j in range(rows.shape[1]):
                if rows[order[i], j] != rows[first, j]:
                    merged[leaf] += 1
                    break
    return merged


@kernel
def sum_weights(weight, order, start):
    """Total weight of each leaf."""
    total = np.zeros(start.size - 1, np.float64)
    for leaf in range(start.size - 1):
        for i in range(start[leaf], start[leaf + 1]):
            total[leaf] += weight[order[i]]
    return total


@writing_kernel
def content_keys(rows, factors, key, keys):
    """Hash the values of each row, times both factors (powers of two), whatever their dtype."""
    n, d = rows.shape
    together = n - n % 8  # each step of a hash waits for the one before: eight rows wait at once
    for i in range(0, together, 8):
        for r in range(8):
            keys[i + r] = key
        for j in range(d):
            for r in range(8):
                value = rows[i + r, j] * factors[0] * factors[1] + 0.0  # -0.0 becomes 0.0
                keys[i + r] = combine(keys[i + r], np.float64(value).view(np.uint64))
    for i in range(together, n):
        keys[i] = key
        for j in range(d):
            value = rows[i, j] * factors[0] * factors[1] + 0.0
            keys[i] = combine(keys[i], np.float64(value).view(np.uint64))


@writing_kernel
def undivided_keys(rows, scale, key, keys):
    """Hash the values that rows were divided from: times `scale`, rounded to 40 bits."""
    half, kept = np.uint64(1 << 12), ~np.uint64((1 << 13) - 1)
    for i in range(rows.shape[0]):
        keys[i] = key
        for j in range(rows.shape[1]):
            value = np.float64(rows[i, j] * scale[j] + 0.0)  # -0.0 becomes 0.0
            keys[i] = combine(keys[i], (value.view(np.uint64) + half) & kept)


@kernel
def find_cells(rows, coordinates, order, cell, parent):
    """Finest labeled cell of each row.

    `coordinates` are the coordinates of the centers in Z-order, `order` their numbers. The center
    with the longest common prefix is a neighbor of the row in that order. The answer is the finest
    cell of this center that contains the row.
    """
    label = np.empty(rows.shape[0], np.int32)
    for i in range(rows.shape[0]):
        row = rows[i]
        low, high = 0, order.size
        while low < high:
            middle = (low + high) // 2
            if precedes(coordinates[middle], row):
                low = middle + 1
            else:
                high = middle
        near = low if low < order.size else low - 1
        differ, _ = first_difference(row, coordinates[near])
        if near > 0:
            other, _ = first_difference(row, coordinates[near - 1])
            if other < differ and other < (other ^ differ):
                near, differ = near - 1, other
        bit = -1 if differ == np.uint64(0) else highest_bit(differ)
        t = order[near]
        while cell[t] <= bit:
            t = parent[t]
        label[i] = t
    return label
