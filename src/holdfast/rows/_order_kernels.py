"""Many binary searches at once, and the weight of the rows that they find."""

from holdfast._machine.jit import kernel
from holdfast.grid._kernels import precedes

__all__ = ["count_equal_rows", "halve_ranges"]


@kernel
def halve_ranges(low, high, held, wanted):
    """Halve each range ``low[i]:high[i]``, given the sort key of the row in its middle.

    The first half of the searches end where the wanted key begins, the others where it ends.
    """
    n = wanted.shape[0]
    for i in range(low.size):
        if low[i] >= high[i]:
            continue
        middle = (low[i] + high[i]) // 2
        if i < n:
            later = precedes(held[i], wanted[i])
        else:
            later = not precedes(wanted[i - n], held[i])
        if later:
            low[i] = middle + 1
        else:
            high[i] = middle


@kernel
def count_equal_rows(rows, order, weight, low, high, alike, wanted, total):
    """Compute the total weight of the rows ``order[low[i]:high[i]]`` that equal the wanted row.

    Without weights (an empty array), each row counts once. If rows with one sort key are also
    `alike`, only the first of them is compared.
    """
    for i in range(wanted.shape[0]):
        stop = min(high[i], low[i] + 1) if alike and weight.size == 0 else high[i]
        for p in range(low[i], stop):
            row = order[p]
            same = True
            for j in range(rows.shape[1]):
                if rows[row, j] != wanted[i, j]:
                    same = False
                    break
            if not same:
                continue
            if weight.size > 0:
                total[i] += weight[row]
            elif alike:
                total[i] = high[i] - low[i]
            else:
                total[i] += 1
