"""The library's own logarithm and exponential: right to two units in the last place."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from holdfast._machine.hash import portable_exp, portable_log
from holdfast._machine.hash import uniform as unit_of
from holdfast.centers import _race_kernels
from holdfast_paper.draws import scales, uniform


def units_off(found: float, exact: Decimal) -> float:
    """Distance in units of the last place of the exact value."""
    return abs(float((Decimal(found) - exact) / Decimal(math.ulp(float(exact)))))


def logarithm_inputs() -> np.ndarray:
    rng = np.random.default_rng(0)
    edges = [1.0, 2.0, 0.5, math.sqrt(0.5), 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308]
    near_one = 1.0 + np.ldexp(uniform(rng, -1.0, 1.0, 300), -rng.integers(1, 53, size=300))
    return np.concatenate(
        [edges, near_one, uniform(rng, 0.3, 3.0, 300), scales(rng, -1070, 1020, 300)]
    )


def test_logarithm():
    with localcontext(prec=60):
        worst = max(
            units_off(portable_log(x), Decimal(x).ln()) for x in logarithm_inputs() if x != 1.0
        )
    assert worst < 2.0
    assert portable_log(1.0) == 0.0


def test_exponential():
    rng = np.random.default_rng(1)
    small = np.ldexp(uniform(rng, -1.0, 1.0, 300), -rng.integers(0, 60, size=300))
    inputs = np.concatenate([small, uniform(rng, -700.0, 709.0, 600)])
    with localcontext(prec=60):
        worst = max(units_off(portable_exp(x), Decimal(x).exp()) for x in inputs)
    assert worst < 2.0


@pytest.mark.parametrize(
    ("x", "expected"), [(0.0, 1.0), (-1e300, 0.0), (-750.0, 0.0), (710.0, math.inf)]
)
def test_ends_of_the_exponential(x: float, expected: float):
    assert portable_exp(x) == expected


def plain(kernel):
    """The Python function of a part of kernels, which cannot be called itself."""
    return getattr(kernel, "py_func", kernel)


def test_bounds_decide_coins_as_the_exponential_does():
    rng = np.random.default_rng(2)
    below = plain(_race_kernels.falls_below)
    for x in -scales(rng, -60, 6, 500):
        exact = portable_exp(x)
        near = [math.nextafter(exact, side) for side in (0.0, 1.0)]
        for coin in [exact, *near, 1.0 + x, 1.0 / (1.0 - x), *uniform(rng, 0.0, 1.0, 4)]:
            assert below(coin, x) == (coin < exact), (coin, x)


def test_the_soonest_arrival_is_a_bound():
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 1 << 64, size=500, dtype=np.uint64)
    keys[:2] = 0, (1 << 64) - 1
    close = 0
    for key, x in zip(keys, -scales(rng, -60, 6, 500), strict=True):
        bound = plain(_race_kernels.soonest_arrival)(key, 7.0, x)
        exact = -portable_log(unit_of(key)) / 7.0 * portable_exp(x)
        assert 0.0 <= bound <= exact
        close += bound > 0.5 * exact
    assert close > 150
