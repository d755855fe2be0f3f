"""Fewer rows, the same ones tomorrow."""

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import combine_arrays, purpose_key

__all__ = ["keyed_sample"]


def keyed_sample(
    rows: NDArray[np.float64], size: int, seed: int, purpose: str
) -> NDArray[np.int64]:
    """Rows with the smallest keys, where there are more than `size`.

    A key is a hash of the seed and of the row's values, so that a row stays in the sample while
    others come and go, unless they push it over the edge. Equal rows are taken in their order.

    Parameters
    ----------
    rows : ndarray of shape (n, d), dtype float64
    size : int
    seed : int
    purpose : str
        Samples for different purposes are independent.

    Returns
    -------
    ndarray of shape (min(n, size),), dtype int64
        Row numbers, ascending.
    """
    n = rows.shape[0]
    if n <= size:
        return np.arange(n)
    keys = np.full(n, purpose_key(seed, purpose), dtype=np.uint64)
    for column in rows.T:
        words = (column + 0.0).view(np.uint64)  # + 0.0: a negative zero is a zero
        keys = combine_arrays(keys, words)
    return np.sort(np.argsort(keys, kind="stable")[:size])
