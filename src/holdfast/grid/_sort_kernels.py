"""Radix sort of rows in Z-order.

The first interleaved bits that vary, up to 32 or 40, are collected in a key. A record is a key, above the
number of its row: records differ, so that every way of sorting them is stable. Records are divided by
the highest byte of the key, and each of these 256 groups is sorted in the cache. Rows whose keys are
equal are sorted again by the bits that vary among them.
"""

import numpy as np

from holdfast._machine.jit import inner_kernel, writing_kernel

SMALL = 24  # segments up to this size are sorted by insertion
BITS = 32  # of a key, and of a row number above it
MORE_BITS = 40  # of a key, if 24 bits are enough for the row numbers
_MANY = 1024  # rows for which a table of bytes is worth its time
_BLOCK = 64  # rows at a time
_WIDE = 8  # columns that a processor works on at once
_FEW = 12  # bytes that are looked up faster than all bits
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_BYTE = np.uint64(255)


@inner_kernel
def _vary(coordinates, order, lo, hi, differ):
    """Fill `differ` with the bits of each dimension that vary over the rows ``order[lo:hi]``."""
    d = coordinates.shape[1]
    for j in range(d):
        differ[j] = _ZERO
    first = order[lo]
    for i in range(lo + 1, hi):
        row = order[i]
        for j in range(d):
            differ[j] |= coordinates[row, j] ^ coordinates[first, j]


@writing_kernel
def vary_rows(coordinates, start, stop, differ):
    """Fill `differ` with the bits in which the rows ``start .. stop`` differ from row 0."""
    d = coordinates.shape[1]
    for j in range(d):
        differ[j] = _ZERO
    if d >= _WIDE:
        for i in range(start, stop):
            for j in range(d):
                differ[j] |= coordinates[i, j] ^ coordinates[0, j]
        return
    for block in range(start, stop, _BLOCK):  # column by column, in the cache
        for j in range(d):
            first, found = coordinates[0, j], _ZERO
            for i in range(block, min(block + _BLOCK, stop)):
                found |= coordinates[i, j] ^ first
            differ[j] |= found


@writing_kernel
def choose_bits(differ, bits, dims):
    """List the first varying bits in interleaved order (bit, dimension); return how many."""
    union = _ZERO
    for j in range(differ.size):
        union |= differ[j]
    found = 0
    for level in range(63, -1, -1):
        bit = np.uint64(level)
        if (union >> bit) & _ONE == _ZERO:
            continue
        for j in range(differ.size):
            if (differ[j] >> bit) & _ONE != _ZERO:
                bits[found] = level
                dims[found] = j
                found += 1
                if found == bits.size:
                    return found
    return found


@inner_kernel
def _list_bytes(bits, dims, found, table, places):
    """Fill `table` with the key bits of each value of the bytes at `places`; return how many bytes."""
    used = 0
    for p in range(found):
        place = 8 * dims[p] + (bits[p] >> 3)
        s = 0
        while s < used and places[s] != place:
            s += 1
        if s == used:
            places[s] = place
            for value in range(256):
                table[s, value] = _ZERO
            used += 1
        step = 1 << (bits[p] & 7)
        mark = _ONE << np.uint64(63 - p)
        for value in range(256):
            if value & step:
                table[s, value] |= mark
    return used


@inner_kernel
def _fill(coordinates, order, lo, hi, bits, dims, found, table, places, records):
    """Fill in the records of the rows ``order[lo:hi]``; the first chosen bit is the highest."""
    used = 0
    if hi - lo >= _MANY:
        used = _list_bytes(bits, dims, found, table, places)
        if used > _FEW:
            used = 0
    for i in range(lo, hi):
        row = np.int64(order[i])
        record = np.uint64(row)
        if used > 0:
            for s in range(used):
                word = coordinates[row, places[s] >> 3]
                record |= table[s, np.int64((word >> np.uint64(8 * (places[s] & 7))) & _BYTE)]
        else:
            key = _ZERO
            for p in range(found):
                key = (key << _ONE) | ((coordinates[row, dims[p]] >> np.uint64(bits[p])) & _ONE)
            record |= key << np.uint64(64 - found)
        records[i] = record


@writing_kernel
def fill_records(
    coordinates, order, start, stop, bits, dims, found, table, places, records, counts
):
    """Fill in numbers and records of the rows ``start .. stop``, and count their highest bytes."""
    for i in range(start, stop):
        order[i] = i
    _fill(coordinates, order, start, stop, bits, dims, found, table, places, records)
    for b in range(256):
        counts[b] = 0
    for i in range(start, stop):
        counts[np.int64(records[i] >> np.uint64(56))] += 1


@writing_kernel
def divide_records(records, start, stop, places, divided):
    """Move the records ``start .. stop`` to the places of their highest bytes, and move these on."""
    for i in range(start, stop):
        b = np.int64(records[i] >> np.uint64(56))
        divided[places[b]] = records[i]
        places[b] += 1


@inner_kernel
def _sort_records(records, space, lo, hi, lowest, stop, counts):
    """Sort the records ``lo .. hi`` by their bytes from bit `lowest` up to below bit `stop`."""
    if hi - lo <= SMALL:
        for i in range(lo + 1, hi):
            record = records[i]
            k = i
            while k > lo and records[k - 1] > record:
                records[k] = records[k - 1]
                k -= 1
            records[k] = record
        return
    source, target = records, space
    swapped = False
    for low in range(lowest, stop, 8):
        shift = np.uint64(low)
        for b in range(257):
            counts[b] = 0
        for i in range(lo, hi):
            counts[np.int64((source[i] >> shift) & _BYTE) + 1] += 1
        if counts[np.int64((source[lo] >> shift) & _BYTE) + 1] == hi - lo:
            continue
        counts[0] = lo
        for b in range(256):
            counts[b + 1] += counts[b]
        for i in range(lo, hi):
            b = np.int64((source[i] >> shift) & _BYTE)
            target[counts[b]] = source[i]
            counts[b] += 1
        source, target = target, source
        swapped = not swapped
    if swapped:
        for i in range(lo, hi):
            records[i] = space[i]


@inner_kernel
def _insertion_sort(coordinates, order, lo, hi):
    for i in range(lo + 1, hi):
        row = order[i]
        k = i
        while k > lo:
            most, where = _ZERO, 0
            for j in range(coordinates.shape[1]):
                x = coordinates[row, j] ^ coordinates[order[k - 1], j]
                if most < x and most < (most ^ x):  # as in first_difference
                    most, where = x, j
            if most == _ZERO or coordinates[row, where] > coordinates[order[k - 1], where]:
                break
            order[k] = order[k - 1]
            k -= 1
        order[k] = row


@inner_kernel
def _list_ties(coordinates, records, lo, hi, mask, whole, order, waiting, todo):
    """Write rows to `order`, sort short runs of equal keys, list others in `todo`; how many."""
    start = lo
    for i in range(lo, hi):
        order[i] = np.int32(records[i] & mask)
        if (records[i] ^ records[start]) > mask:
            if i - start > SMALL and not whole:
                todo[waiting, 0], todo[waiting, 1] = start, i
                waiting += 1
            elif i - start > 1 and not whole:
                _insertion_sort(coordinates, order, start, i)
            start = i
    if hi - start > SMALL and not whole:
        todo[waiting, 0], todo[waiting, 1] = start, hi
        waiting += 1
    elif hi - start > 1 and not whole:
        _insertion_sort(coordinates, order, start, hi)
    return waiting


@writing_kernel
def sort_groups(
    coordinates, records, space, ends, first, last, whole, order, differ, bits, dims, table, places,
    counts, todo,
):  # fmt: skip
    """Sort the groups ``first .. last`` of divided records, and write their rows to `order`.

    `whole` says that equal keys mean equal rows. The arguments after `order` are work space.
    Every further key settles at least 32 varying bits, so there are at most ``2 d`` passes over any row.
    """
    low = 64 - bits.size
    mask = (_ONE << np.uint64(low)) - _ONE
    for group in range(first, last):
        lo, hi = ends[group], ends[group + 1]
        _sort_records(records, space, lo, hi, low, 56, counts)
        waiting = _list_ties(coordinates, records, lo, hi, mask, whole, order, np.int64(0), todo)
        while waiting > 0:
            waiting -= 1
            start, stop = todo[waiting, 0], todo[waiting, 1]
            _vary(coordinates, order, start, stop, differ)
            found = choose_bits(differ, bits, dims)
            if found == 0:
                continue
            _fill(coordinates, order, start, stop, bits, dims, found, table, places, records)
            _sort_records(records, space, start, stop, low, 64, counts)
            waiting = _list_ties(
                coordinates, records, start, stop, mask, found < bits.size, order, waiting, todo
            )


@writing_kernel
def sort_rows(
    coordinates, records, space, ends, order, differ, bits, dims, table, places, counts, todo
):
    """Sort few rows: all steps in one thread."""
    n = order.size
    vary_rows(coordinates, 0, n, differ)
    found = choose_bits(differ, bits, dims)
    fill_records(coordinates, order, 0, n, bits, dims, found, table, places, space, counts)
    ends[0] = 0
    for b in range(256):
        ends[b + 1] = ends[b] + counts[b]
        counts[b] = ends[b]
    divide_records(space, 0, n, counts, records)
    sort_groups(
        coordinates, records, space, ends, 0, 256, found < bits.size, order, differ, bits, dims,
        table, places, counts, todo,
    )  # fmt: skip
