"""A binary heap, largest score first, in one array of records; the caller stores its size."""

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import inner_kernel

__all__ = ["drop_first", "empty_heap", "push"]

_ENTRY = np.dtype(
    [("score", np.float64), ("time", np.float64), ("deficit", np.float64), ("number", np.int64)]
)


def empty_heap(n_leaves: int) -> NDArray[np.void]:
    """Allocate a heap for nodes with disjoint leaves; untouched entries use no memory."""
    return np.empty(n_leaves + 2, dtype=_ENTRY)


@inner_kernel
def _move(heap, source, target):
    heap[target]["score"] = heap[source]["score"]
    heap[target]["time"] = heap[source]["time"]
    heap[target]["deficit"] = heap[source]["deficit"]
    heap[target]["number"] = heap[source]["number"]


@inner_kernel
def push(heap, size, score, number, time, deficit):
    """Add an entry to a heap of `size` entries."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if heap[up]["score"] >= score:
            break
        _move(heap, up, k)
        k = up
    heap[k]["score"] = score
    heap[k]["time"] = time
    heap[k]["deficit"] = deficit
    heap[k]["number"] = number


@inner_kernel
def drop_first(heap, size):
    """Remove the first entry of a heap; `size` is the size after that."""
    score = heap[size]["score"]
    k = np.int64(0)
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1]["score"] > heap[child]["score"]:
            child += 1
        if heap[child]["score"] <= score:
            break
        _move(heap, child, k)
        k = child
    _move(heap, size, k)
