"""A binary heap of (score, number, time, deficit), largest score first, in plain arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._jit import kernel

__all__ = ["Heap", "drop_first", "empty_heap", "push"]


class Heap(NamedTuple):
    """Columns of the heap; the caller keeps its size."""

    score: NDArray[np.float64]
    number: NDArray[np.int32]
    time: NDArray[np.float64]
    deficit: NDArray[np.float64]


def empty_heap(capacity: int) -> Heap:
    """Make a heap that holds `capacity` entries before it has to grow."""
    numbers = np.empty(capacity, dtype=np.int32)
    return Heap(np.empty(capacity), numbers, np.empty(capacity), np.empty(capacity))


@kernel
def _move(heap, source, other, target):
    heap.score[target] = other.score[source]
    heap.number[target] = other.number[source]
    heap.time[target] = other.time[source]
    heap.deficit[target] = other.deficit[source]


@kernel
def push(heap, size, score, number, time, deficit):
    """Add an entry to a heap of `size` entries; returns the heap, a larger one if it was full."""
    if size == heap.score.size:
        larger = Heap(
            np.empty(2 * size, np.float64),
            np.empty(2 * size, np.int32),
            np.empty(2 * size, np.float64),
            np.empty(2 * size, np.float64),
        )
        for k in range(size):
            _move(larger, k, heap, k)
        heap = larger
    k = size
    while k > 0:
        up = (k - 1) // 2
        if heap.score[up] >= score:
            break
        _move(heap, up, heap, k)
        k = up
    heap.score[k], heap.number[k] = score, number
    heap.time[k], heap.deficit[k] = time, deficit
    return heap


@kernel
def drop_first(heap, size):
    """Remove the first entry of a heap; `size` is its size afterwards."""
    score = heap.score[size]
    k = np.int64(0)
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and heap.score[child + 1] > heap.score[child]:
            child += 1
        if heap.score[child] <= score:
            break
        _move(heap, child, heap, k)
        k = child
    _move(heap, size, heap, k)
