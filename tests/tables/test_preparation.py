"""Scales are powers of two near the standard deviation, the same for any division into parts."""

import math
import subprocess
import sys

import numpy as np
import pytest
from portable import normal, scales

from holdfast.tables import preparation
from holdfast.tables.preparation import Preparation, measure_spread


def scales_of(values: np.ndarray) -> tuple[float, ...]:
    return tuple(measure_spread([values], values.shape[1]).scale.tolist())


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


@pytest.fixture
def values():
    random = np.random.RandomState(3)
    return random.randint(-999, 1000, size=(700, 4)) * np.array([1.0, 1e-3, 1e150, 0.0]) + 7.0


@pytest.mark.parametrize("block", [64, 100, 700, 4096])
@pytest.mark.parametrize("ends", [[], [1], [64, 65, 66], [350], [0, 699]])
def test_parts_change_no_bit(values, monkeypatch, block, ends):
    monkeypatch.setattr(preparation, "_BLOCK_ROWS", block)
    whole = measure_spread([values], 4)
    parts = measure_spread(np.split(values, ends), 4)
    for name in ("low", "high", "scale"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert parts.n_rows == 700


@pytest.mark.parametrize("size", [1e-320, 1e-160, 1.0, 1e160, 1.5e308])
@pytest.mark.parametrize("parts", [1, 5])
def test_no_size_of_values_overflows_or_vanishes(size, parts):
    column = size * np.linspace(-1.0, 1.0, 40)[:, None]
    scale = measure_spread(np.array_split(column, parts), 1).scale[0]
    assert 0.5 < scale / (0.5916 * size) < 2.0 or scale in (2.0**-1022, 2.0**1023)


def test_a_large_value_that_comes_late():
    rows = np.concatenate((np.full((50, 1), 1e-200), [[1e200]]))
    scale = measure_spread([rows[:50], rows[50:]], 1).scale[0]
    assert scale == measure_spread([rows], 1).scale[0]
    assert 1e199 < scale < 3e199


def test_no_rows_scale_nothing():
    assert measure_spread([], 2).scale.tolist() == [1.0, 1.0]


def test_apply_fills_and_divides():
    prepared = Preparation(("a", "b"), "median", (1.0, 2.0), (2.0, 4.0))
    rows = prepared.apply(np.array([[np.nan, 8.0], [6.0, np.nan]]))
    assert rows.tolist() == [[0.5, 2.0], [3.0, 0.5]]
    with pytest.raises(ValueError, match="must have 2 columns"):
        prepared.apply(np.zeros((3, 1)))


def test_importing_tables_loads_neither_pyarrow_nor_pandas():
    modules = "read, columns, preparation, dataset, chunks, write"
    script = f"import sys\nfrom holdfast.tables import {modules}\nprint(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "'holdfast.tables.write'" in done.stdout
    assert "'pyarrow'" not in done.stdout
    assert "'pandas'" not in done.stdout
