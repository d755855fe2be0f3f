"""Many binary searches side by side, and what lies where they end."""

from holdfast._machine.jit import kernel
from holdfast.grid._kernels import precedes

__all__ = ["count_equal_rows", "halve_ranges"]


@kernel
def halve_ranges(low, high, held, wanted):
    """Halve each range ``low[i]:high[i]``, given the place of the row in its middle.

    The first half of the searches end where the wanted place begins, the others where it ends.
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
    """Fill in how much the rows ``order[low[i]:high[i]]`` that equal the wanted one weigh.

    Without weights (an empty array) each counts once; where rows of one place are `alike`, the
    first of them then speaks for all.
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
