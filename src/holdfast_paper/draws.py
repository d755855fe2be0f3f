"""Random numbers that are the same to the last bit on every processor.

NumPy's tan, exp, log and power, and the C library's, differ in the last bit between processors, and
so do the normal and Cauchy draws made of them. A recorded result, a digest or a comparison between
processes must not depend on such a bit. These functions use uniform draws and correctly rounded
operations only (+ - * / sqrt, `numpy.ldexp`), each on its own: a fused a + b * c rounds differently,
which is why `Generator.uniform` is not among them.

Every function takes a `numpy.random.Generator` or a `numpy.random.RandomState`.
"""

import math

import numpy as np
from numpy.typing import NDArray

Random = np.random.Generator | np.random.RandomState
Size = int | tuple[int, ...] | None


def normal(rng: Random, size: Size = None) -> NDArray[np.float64]:
    """Mean 0, variance 1, between -6 and 6: twelve uniform draws added up, less their mean."""
    total = np.asarray(rng.random(size))
    for _ in range(11):
        total = total + rng.random(size)
    return total - 6.0


def uniform(rng: Random, low: float, high: float, size: Size = None) -> NDArray[np.float64]:
    """Between `low` and `high`."""
    part = (high - low) * np.asarray(rng.random(size))
    return low + part


def heavy_tail(rng: Random, size: Size = None) -> NDArray[np.float64]:
    """Tails like 1 / x, as those of a Cauchy distribution: a quotient of uniform draws."""
    return (4.0 * np.asarray(rng.random(size)) - 2.0) / (1.0 - rng.random(size))


def student_2(rng: Random, size: Size = None) -> NDArray[np.float64]:
    """Student's t with two degrees of freedom: the quantile of a uniform draw."""
    p = np.asarray(rng.random(size)) + 2.0**-54  # not 0
    return (p - 0.5) / np.sqrt(0.5 * p * (1.0 - p))


def direction(rng: Random, n_features: int) -> NDArray[np.float64]:
    """Uniform on the unit sphere: points of a cube, until one is in the ball inside it."""
    while True:
        point = 2.0 * np.asarray(rng.random(n_features)) - 1.0
        squared = math.fsum(point**2)  # no BLAS
        if 0.0 < squared <= 1.0:
            return point / math.sqrt(squared)


def scales(rng: Random, low: int, high: int, size: Size = None) -> NDArray[np.float64]:
    """Positive numbers of every size from 2^low to 2^high, each power of two as likely."""
    exponent = np.floor(uniform(rng, low, high, size))
    return np.ldexp(1.0 + rng.random(size), exponent.astype(np.int64))
