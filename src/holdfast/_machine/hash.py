"""Seed -> keys -> uniforms: every random number is a hash of what it belongs to.

Nothing in holdfast draws from a stream. A number that decides about a cell or a row is a hash of
the seed, the purpose, and that cell's or row's own content (and the round), so it stays the same
whatever other rows are there, in whatever order, on however many threads.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine._hash_kernels import combine

__all__ = ["combine_arrays", "purpose_key", "seed_from"]

_WORD = (1 << 64) - 1


def purpose_key(seed: int, purpose: str) -> np.uint64:
    """Key of one use of the seed, such as ``"shift"``; different purposes are independent."""
    key = np.array([seed & _WORD], dtype=np.uint64)
    for byte in purpose.encode():
        key = combine_arrays(key, np.array([byte], dtype=np.uint64))
    return np.uint64(key[0])


def combine_arrays(keys: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Elementwise `combine` for arrays that broadcast."""
    elementwise = getattr(combine, "py_func", combine)  # itself where numba is switched off
    combined: NDArray[np.uint64] = elementwise(keys, words)
    return combined


def seed_from(random_state: Any) -> int:
    """One 64-bit seed from what scikit-learn users pass as `random_state`.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None
        An integer (of any size, its value modulo 2^64 counts) is the seed itself. A generator
        gives the next 64 bits it draws, None gives fresh entropy.

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
        f"random_state must be an integer, a numpy RandomState or Generator, or None; "
        f"got {random_state!r}."
    )
