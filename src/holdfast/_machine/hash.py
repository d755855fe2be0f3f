"""Seed -> keys -> uniforms: every random number is a hash of what it belongs to.

holdfast never draws from a stream of random numbers. A number that decides about a cell or a row is
a hash of the seed, the purpose, the content of that cell or row, and the round. It does not depend
on other rows, their order or the number of threads.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine._kernels import combine

__all__ = ["combine_arrays", "keyed_sample", "purpose_key", "seed_from"]

_WORD = (1 << 64) - 1


def purpose_key(seed: int, purpose: str) -> np.uint64:
    """Key for one purpose of the seed, such as ``"shift"``; purposes are independent."""
    key = np.array([seed & _WORD], dtype=np.uint64)
    for byte in purpose.encode():
        key = combine_arrays(key, np.array([byte], dtype=np.uint64))
    return np.uint64(key[0])


def combine_arrays(keys: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Elementwise `combine` for arrays that broadcast."""
    elementwise = getattr(combine, "py_func", combine)  # a plain function if numba is disabled
    combined: NDArray[np.uint64] = elementwise(keys, words)
    return combined


def seed_from(random_state: Any) -> int:
    """Convert a `random_state` as in scikit-learn to one 64-bit seed.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        An integer of any size is the seed itself, modulo 2^64. A generator gives the next 64 bits
        that it draws. None gives fresh entropy.

    Returns
    -------
    int
        In ``[0, 2**64)``.
    """
    if isinstance(random_state, Integral):
        return int(random_state) & _WORD
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.RandomState):
        high, low = random_state.randint(0, 1 << 32, size=2, dtype=np.uint64)
        return int(high) << 32 | int(low)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, _WORD, dtype=np.uint64, endpoint=True))
    raise ValueError(
        f"random_state must be an integer, a NumPy RandomState or Generator, or None; "
        f"got {random_state!r}."
    )


def keyed_sample(
    rows: NDArray[np.float64], size: int, seed: int, purpose: str
) -> NDArray[np.int64]:
    """Sample the rows with the smallest keys, where there are more than `size`.

    A key is a hash of the seed and of the row's values, so a row stays in the sample when other
    rows are added or removed, unless they displace it. Equal rows are taken in their order.

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
