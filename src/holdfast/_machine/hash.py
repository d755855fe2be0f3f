"""Seed -> keys -> uniforms: every random number is a hash of what it belongs to; portable log and exp.

holdfast never draws from a stream of random numbers. A number that decides about a cell or a row is
a hash of the seed, the purpose, the content of that cell or row, and the round. It does not depend
on other rows, their order or the number of threads.

`log` and `exp` of the C library differ in the last bit between versions, and between CPUs with and
without fused multiply-add. A single bit can decide a race between two rows. `portable_log` and
`portable_exp` use only IEEE additions, multiplications and divisions in a fixed order. Their error is
below 2 units in the last place (tested against `math.log` and `math.exp`).
"""

import math
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import writing_kernel

_WORD = (1 << 64) - 1
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53

LN2_HIGH = 0.6931471803691238  # ln 2 to 32 bits, so that integer multiples up to 2^20 are exact
LN2_LOW = 1.9082149292705877e-10
SQRT_HALF = 0.7071067811865476
_ODD = (21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0)
_FACTORIALS = tuple(float(math.factorial(n)) for n in range(13, 1, -1))


@writing_kernel
def combine(key, word):
    """Key of `word` within `key`: ``combine(combine(k, a), b)`` keys the sequence (a, b)."""
    z = key + word * GOLDEN + GOLDEN
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@writing_kernel
def uniform(key):
    """Convert a key to a double strictly between 0 and 1: an odd multiple of 2^-54."""
    return (np.float64(key >> _S11) + 0.5) * _TO_UNIT


@writing_kernel
def portable_log(x):
    """Natural logarithm of a positive finite double."""
    mantissa, exponent = math.frexp(x)
    if mantissa < SQRT_HALF:
        mantissa *= 2.0
        exponent -= 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    # 2 atanh(s) / s - 2 as a power series in z <= 0.0295, eleven terms
    series = 2.0 / 23.0
    for n in _ODD:
        series = series * z + 2.0 / n
    return exponent * LN2_HIGH + (2.0 * s + (s * (z * series) + exponent * LN2_LOW))


@writing_kernel
def portable_exp(x):
    """Exponential of a double: 0 below -745, infinity above 709.7."""
    if x < -745.2:
        return 0.0
    if x > 709.79:
        return math.inf
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    series = 1.0 / 87178291200.0
    for n in _FACTORIALS:
        series = series * r + 1.0 / n
    return math.ldexp(1.0 + (r + r * r * series), int(k))


@writing_kernel
def log_each(values, out):
    """Natural logarithm of each of some positive finite doubles."""
    for i in range(values.size):
        out[i] = portable_log(values[i])


@lru_cache(maxsize=256)  # fits of small tables, thousands of them in one audit, ask again and again
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
    """Convert a `random_state`, as in scikit-learn, to 64 bits; an integer is the seed itself."""
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
    """Return the numbers of the rows with the smallest keys, ascending; all if there are at most `size`.

    A key is a hash of the seed, the purpose and the row's values, so a row stays in the sample when
    other rows are added or removed, unless they displace it. Equal rows are taken in their order.
    """
    if rows.shape[0] <= size:
        return np.arange(rows.shape[0])
    return np.sort(np.argsort(key_rows(rows, seed, purpose), kind="stable")[:size])


def key_rows(rows: NDArray[np.float64], seed: int, purpose: str) -> NDArray[np.uint64]:
    """Hash the seed, the purpose and the values of each row."""
    keys = np.full(rows.shape[0], purpose_key(seed, purpose), dtype=np.uint64)
    for column in rows.T:
        words = (column + 0.0).view(np.uint64)  # + 0.0: a negative zero is a zero
        keys = combine_arrays(keys, words)
    return keys
