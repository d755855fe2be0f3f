"""Random rows that are the same to the last bit on every processor.

NumPy's tan, exp, log and power, and the C library's, differ in the last bit between processors, and
so do the normal and Cauchy draws made of them. A digest, a golden file or a comparison between
processes must not hang on such a bit. What is here uses uniform draws and correctly rounded
operations only (+ - * /, `numpy.ldexp`), each on its own: a fused a + b * c rounds differently,
which is why `Generator.uniform` is not among them.

Every function takes a `numpy.random.Generator` or a `numpy.random.RandomState`.
"""

import numpy as np
from numpy.typing import NDArray

Random = np.random.Generator | np.random.RandomState
Size = int | tuple[int, ...] | None


def normal(rng: Random, size: Size = None) -> NDArray[np.float64]:
    """Mean 0, variance 1, between -6 and 6: twelve uniform draws added up, less their mean."""
    total = rng.random(size)
    for _ in range(11):
        total = total + rng.random(size)
    return total - 6.0


def heavy_tail(rng: Random, size: Size = None) -> NDArray[np.float64]:
    """Tails like 1 / x, as those of a Cauchy distribution: a quotient of uniform draws."""
    return (4.0 * rng.random(size) - 2.0) / (1.0 - rng.random(size))


def uniform(rng: Random, low: float, high: float, size: Size = None) -> NDArray[np.float64]:
    """Between `low` and `high`."""
    part = (high - low) * rng.random(size)
    return low + part


def scales(rng: Random, low: int, high: int, size: Size = None) -> NDArray[np.float64]:
    """Positive numbers of every size from 2^low to 2^high, each power of two as likely."""
    exponent = np.floor(uniform(rng, low, high, size))
    return np.ldexp(1.0 + rng.random(size), exponent.astype(np.int64))
