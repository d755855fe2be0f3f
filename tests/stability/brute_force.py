"""The definitions, word for word: all bijections, all deletions."""

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray


def clusters_of(labels: Sequence[object], rows: Sequence[int]) -> list[set[int]]:
    """Clusters as sets of row numbers."""
    return [
        {row for row, label in zip(rows, labels, strict=True) if label == name}
        for name in sorted(set(labels))
    ]


def least_difference(before: list[set[int]], after: list[set[int]]) -> int:
    """Least sum of symmetric differences over all bijections; missing clusters are empty."""
    size = max(len(before), len(after))
    before = before + [set()] * (size - len(before))
    after = after + [set()] * (size - len(after))
    return min(
        sum(len(a ^ after[j]) for a, j in zip(before, order, strict=True))
        for order in permutations(range(size))
    )


def most_matched(before: list[set[int]], after: list[set[int]]) -> int:
    """Largest number of rows in common over all bijections."""
    size = max(len(before), len(after))
    before = before + [set()] * (size - len(before))
    after = after + [set()] * (size - len(after))
    return max(
        sum(len(a & after[j]) for a, j in zip(before, order, strict=True))
        for order in permutations(range(size))
    )


def exact_average(
    cluster: Callable[[NDArray[np.float64]], Sequence[object]], rows: NDArray[np.float64]
) -> float:
    """Eq. 1 of [LHBP25]: the mean over all deletions of the least difference."""
    n = rows.shape[0]
    before = clusters_of(cluster(rows), range(n))
    total = 0
    for gone in range(n):
        kept = [row for row in range(n) if row != gone]
        total += least_difference(before, clusters_of(cluster(rows[kept]), kept))
    return total / n
