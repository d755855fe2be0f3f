"""What columns are divided by."""

import math

import numpy as np
import pytest
from portable import normal, scales

from holdfast.tables.preparation import fit_preparation


def scales_of(values: np.ndarray) -> tuple[float, ...]:
    columns = tuple(f"column {j}" for j in range(values.shape[1]))
    found = fit_preparation(values, columns, standardize=True).scale
    assert found is not None
    return found


def test_scale_is_the_power_of_two_nearest_the_deviation():
    rng = np.random.default_rng(0)
    # Deviations of 2^-1000 to 2^1000, so that neither squares nor logarithms are off.
    values = normal(rng, (50, 400)) * scales(rng, -1000, 1000, 400)
    for column, scale in zip(values.T, scales_of(values), strict=True):
        unit = math.ldexp(1.0, math.frexp(np.abs(column).max())[1])
        deviation = (column / unit).std() / (scale / unit)
        assert math.sqrt(0.5) * (1 - 1e-12) <= deviation <= math.sqrt(2.0) * (1 + 1e-12)
        assert math.frexp(scale)[0] == 0.5


@pytest.mark.parametrize("power", [-1022, -500, 0, 500, 1020])
@pytest.mark.parametrize(
    ("spread", "expected"), [(1.4142, 0), (1.4143, 1), (0.7071, -1), (0.7072, 0)]
)
def test_the_edge_lies_at_the_square_root(power: int, spread: float, expected: int):
    values = np.ldexp(np.array([[-spread], [spread]]), power)
    assert scales_of(values) == (math.ldexp(1.0, max(power + expected, -1022)),)


def test_constant_columns_are_left_alone():
    assert scales_of(np.array([[0.0, 0.1, 1e300], [0.0, 0.1, 1e300]])) == (1.0, 1.0, 1.0)
