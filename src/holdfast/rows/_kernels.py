"""Distinct rows with counts, cells with their first row, and the Z-order of rows that come and go."""

import numpy as np

from holdfast._machine.jit import inner_kernel, kernel, writing_kernel
from holdfast.grid._kernels import (
    DIMENSION_BITS,
    content_keys,
    first_difference,
    highest_bit,
    shifted_word,
)


@inner_kernel
def _comes_before(a, b):
    """Whether row `a` comes before row `b`: by the first column that differs."""
    for j in range(a.size):
        if a[j] != b[j]:
            return a[j] < b[j]
    return False


@kernel
def order_ties(rows, order, longest):
    """Sort short runs of rows with equal first columns by insertion; return the longer runs."""
    n = order.size
    runs = np.empty((n // (longest + 1) + 1, 2), np.int64)
    found, start = 0, 0
    for i in range(1, n + 1):
        if i < n and rows[order[i], 0] == rows[order[start], 0]:
            continue
        if i - start > longest:
            runs[found, 0], runs[found, 1] = start, i
            found += 1
        elif i - start > 1:
            for p in range(start + 1, i):
                row = order[p]
                k = p
                while k > start and _comes_before(rows[row], rows[order[k - 1]]):
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = row
        start = i
    return runs[:found]


@inner_kernel
def _equals_last(values, row, out, found):
    """Whether a row equals the last one that was written."""
    if found == 0:
        return False
    for j in range(values.shape[1]):
        if values[row, j] != out[found - 1, j]:
            return False
    return True


@writing_kernel
def group_rows(rows, order, weight, out_rows, out_weight):
    """Collapse sorted rows into distinct rows and sum their weights; return how many there are."""
    d = rows.shape[1]
    found = 0
    for i in range(order.size):
        row = order[i]
        if _equals_last(rows, row, out_rows, found):
            out_weight[found - 1] += weight[row]
            continue
        for j in range(d):
            out_rows[found, j] = rows[row, j]
        out_weight[found] = weight[row]
        found += 1
    return found


@writing_kernel
def merge_rows(rows_a, weight_a, rows_b, weight_b, sign, rows, weight, number_a, number_b):
    """Merge two sorted lists of distinct rows, with the weights of the second times `sign`.

    Rows whose weights cancel are dropped. Fills `number_a` with the new number of each row of the
    first list, or -1, and `number_b` with those of the rows that only the second list has. Returns
    how many rows there are.
    """
    n_a, n_b, d = rows_a.shape[0], rows_b.shape[0], rows_a.shape[1]
    a, b, found = 0, 0, 0
    while a < n_a or b < n_b:
        take_a, take_b = a < n_a, b < n_b
        if take_a and take_b:
            for j in range(d):
                if rows_a[a, j] != rows_b[b, j]:
                    take_a = rows_a[a, j] < rows_b[b, j]
                    take_b = not take_a
                    break
        total = np.int64(0)
        if take_a:
            for j in range(d):
                rows[found, j] = rows_a[a, j]
            total += weight_a[a]
        if take_b:
            for j in range(d):
                rows[found, j] = rows_b[b, j]
            total += sign * weight_b[b]
        if take_a:
            number_a[a] = found if total != 0 else -1
            a += 1
        if take_b:
            number_b[b] = found if total != 0 and not take_a else -1
            b += 1
        if total != 0:
            weight[found] = total
            found += 1
    return found


@writing_kernel
def scan_rows(rows, weight, factors, key, slots, keys, wanted, block, total):
    """Hash all rows, and add to `total` the weight of those that equal a wanted row.

    `slots` is a hash table of the numbers of wanted rows, -1 where it is empty, and `keys` are the
    hashes of wanted rows. An empty `weight` counts each row once. `block` has room for the hashes
    of as many rows as are looked at together. Returns the sum of all hashes.
    """
    n, d = rows.shape
    mask = np.uint64(slots.size - 1)
    added = np.uint64(0)
    for start in range(0, n, block.size):
        stop = min(start + block.size, n)
        content_keys(rows[start:stop], factors, key, block[: stop - start])
        for i in range(stop - start):
            h = block[i]
            added += h
            s = h & mask
            while slots[s] >= 0:
                w = slots[s]
                if keys[w] == h:
                    same = True
                    for j in range(d):
                        same = same and rows[start + i, j] == wanted[w, j]
                    if same:
                        total[w] += np.int64(weight[start + i]) if weight.size > 0 else 1
                        break
                s = (s + np.uint64(1)) & mask
    return added


@writing_kernel
def find_rows(rows, weight, wanted, total):
    """Add to `total` the weight of each wanted row among sorted distinct rows."""
    for i in range(wanted.shape[0]):
        low, high = 0, rows.shape[0]
        while low < high:
            middle = (low + high) // 2
            if _comes_before(rows[middle], wanted[i]):
                low = middle + 1
            else:
                high = middle
        if low < rows.shape[0] and not _comes_before(wanted[i], rows[low]):
            total[i] += weight[low]


@writing_kernel
def group_cells(words, rows, weight, order, out_words, out_rows, out_weight):
    """Collapse rows in the Z-order of their cells: the smallest row and the weight of each cell."""
    d = rows.shape[1]
    found = 0
    for i in range(order.size):
        row = order[i]
        if _equals_last(words, row, out_words, found):
            out_weight[found - 1] += weight[row]
            if not _comes_before(rows[row], out_rows[found - 1]):
                continue
            found -= 1
        else:
            out_weight[found] = weight[row]
        for j in range(d):
            out_words[found, j] = words[row, j]
            out_rows[found, j] = rows[row, j]
        found += 1
    return found


@writing_kernel
def merge_cells(words_a, rows_a, weight_a, words_b, rows_b, weight_b, words, rows, weight):
    """Merge two lists of distinct cells in Z-order; the smaller row represents a cell in both."""
    n_a, n_b, d = rows_a.shape[0], rows_b.shape[0], rows_a.shape[1]
    a, b, found = 0, 0, 0
    while a < n_a or b < n_b:
        take_a, take_b = a < n_a, b < n_b
        if take_a and take_b:
            differ, j = first_difference(words_a[a], words_b[b])
            if differ != np.uint64(0):
                take_a = words_a[a, j] < words_b[b, j]
                take_b = not take_a
        from_b = take_b and (not take_a or _comes_before(rows_b[b], rows_a[a]))
        for j in range(d):
            words[found, j] = words_b[b, j] if from_b else words_a[a, j]
            rows[found, j] = rows_b[b, j] if from_b else rows_a[a, j]
        weight[found] = 0
        if take_a:
            weight[found] += weight_a[a]
            a += 1
        if take_b:
            weight[found] += weight_b[b]
            b += 1
        found += 1
    return found


@kernel
def common_bits(words):
    """Count the neighbors in Z-order by their highest differing bit, 0 .. 63."""
    counts = np.zeros(64, np.int64)
    for i in range(1, words.shape[0]):
        differ, _ = first_difference(words[i - 1], words[i])
        counts[highest_bit(differ)] += 1
    return counts


@inner_kernel
def _fill_word(row, source, word):
    """Fill `word` with the coordinates of a row; see `CellOrder` for `source`."""
    rows, frame, shift, anchor, low = source
    d = rows.shape[1]
    for j in range(d):
        word[j] = shifted_word(rows[row, j], frame[j], frame[d], shift, j, low) - anchor[j]


@inner_kernel
def _split(a, b):
    """Where two leaves first differ, as in `gather_leaves`; -1 for equal coordinates."""
    most, where = first_difference(a, b)
    if most == np.uint64(0):
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
