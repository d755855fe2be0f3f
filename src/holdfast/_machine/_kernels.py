"""Kernels that all others build on: the hash behind every random number, a portable log and exp.

`log` and `exp` of the C library differ in the last bit between versions, and between CPUs with and
without fused multiply-add. A single bit can decide a race between two rows. `portable_log` and
`portable_exp` use only IEEE additions, multiplications and divisions in a fixed order. Their error is
below 2 units in the last place (tested against `math.log` and `math.exp`).
"""

import math

import numpy as np

from holdfast._machine.jit import writing_kernel

__all__ = ["combine", "log_each", "portable_exp", "portable_log", "uniform"]

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
    series = series * z + 2.0 / 21.0
    series = series * z + 2.0 / 19.0
    series = series * z + 2.0 / 17.0
    series = series * z + 2.0 / 15.0
    series = series * z + 2.0 / 13.0
    series = series * z + 2.0 / 11.0
    series = series * z + 2.0 / 9.0
    series = series * z + 2.0 / 7.0
    series = series * z + 2.0 / 5.0
    series = series * z + 2.0 / 3.0
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
    series = series * r + 1.0 / 6227020800.0
    series = series * r + 1.0 / 479001600.0
    series = series * r + 1.0 / 39916800.0
    series = series * r + 1.0 / 3628800.0
    series = series * r + 1.0 / 362880.0
    series = series * r + 1.0 / 40320.0
    series = series * r + 1.0 / 5040.0
    series = series * r + 1.0 / 720.0
    series = series * r + 1.0 / 120.0
    series = series * r + 1.0 / 24.0
    series = series * r + 1.0 / 6.0
    series = series * r + 0.5
    return math.ldexp(1.0 + (r + r * r * series), int(k))


@writing_kernel
def log_each(values, out):
    """Natural logarithm of each of some positive finite doubles."""
    for i in range(values.size):
        out[i] = portable_log(values[i])
