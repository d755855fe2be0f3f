"""The hash behind every random number."""

import numpy as np

from holdfast._machine.jit import writing_kernel

__all__ = ["combine", "uniform"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53


@writing_kernel
def combine(key, word):
    """Key of `word` within `key`: ``combine(combine(k, a), b)`` keys the sequence (a, b).

    Adds a multiple of the golden ratio, then applies a bijection that mixes all bits.
    """
    z = key + word * GOLDEN + GOLDEN
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@writing_kernel
def uniform(key):
    """Convert a key to a double strictly between 0 and 1: an odd multiple of 2^-54."""
    return (np.float64(key >> _S11) + 0.5) * _TO_UNIT
