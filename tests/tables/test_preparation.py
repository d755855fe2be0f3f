"""Scales lie near the deviation of the core, the same for any order and division of the rows."""

import functools
import math
import subprocess
import sys

import numpy as np
import pytest

from holdfast import TablePreparer
from holdfast.tables import summary as tables_summary
from holdfast.tables.columns import ColumnChoice
from holdfast.tables.dataset import prepare_table
from holdfast.tables.preparation import Preparation
from holdfast.tables.preparer import to_table
from holdfast.tables.summary import Distinct, core_deviation, median, step_deviation
from holdfast_paper.draws import normal, scales


def scale_of(column: np.ndarray) -> float:
    return step_deviation(Distinct.of(np.asarray(column, dtype=np.float64)))


def naive_core(column: np.ndarray) -> float:
    """Each row counts 1/16 in the smallest and the largest hundredth of the rows, else 1."""
    values = np.sort(column)
    n = values.size
    places = np.arange(n)
    inside = np.minimum(places + 1, 0.99 * n) - np.maximum(places, 0.01 * n)
    inside = np.clip(inside, 0.0, 1.0)
    mass = inside + (1.0 - inside) / 16.0
    mean = (mass * values).sum() / mass.sum()
    return math.sqrt((mass * (values - mean) ** 2).sum() / mass.sum())


@pytest.mark.parametrize("n", [2, 7, 60, 150, 700])
def test_core_deviation_is_that_of_a_naive_count(n):
    rng = np.random.default_rng(n)
    for column in (normal(rng, (n, 1))[:, 0] * 50.0 + 7.0, rng.integers(0, 4, n) + 0.5):
        assert core_deviation(Distinct.of(column)) == pytest.approx(naive_core(column), rel=1e-12)


def test_scale_is_the_nearest_of_four_steps_in_each_doubling():
    rng = np.random.default_rng(0)
    # Deviations of 2^-1000 to 2^1000, so that neither squares nor logarithms are off.
    values = normal(rng, (50, 200)) * scales(rng, -1000, 1000, 200)
    for column in values.T:
        core, scale = core_deviation(Distinct.of(column)), scale_of(column)
        assert 2.0 ** (-1 / 8) * (1 - 1e-12) <= core / scale <= 2.0 ** (1 / 8) * (1 + 1e-12)
        steps = 4.0 * math.log2(scale)
        assert abs(steps - round(steps)) < 1e-9


@pytest.mark.parametrize("power", [-1000, 0, 1000])
@pytest.mark.parametrize("edge", [1 / 8, 3 / 8, 5 / 8, 7 / 8])
def test_edges_lie_between_the_steps(power, edge):
    for factor, expected in ((1.0 - 1e-9, edge - 1 / 8), (1.0 + 1e-9, edge + 1 / 8)):
        spread = math.ldexp(2.0**edge * factor, power)
        scale = scale_of(np.array([-spread, spread]))
        assert scale == pytest.approx(math.ldexp(2.0**expected, power), rel=1e-12)


@pytest.mark.parametrize("far", [10.0, 1e6, -1e300])
@pytest.mark.parametrize("n", [20, 100, 400])
def test_no_single_row_carries_a_scale(n, far):
    column = normal(np.random.default_rng(n), (n, 1))[:, 0]
    core = core_deviation(Distinct.of(np.append(column, far)))
    assert 0.9 < core / core_deviation(Distinct.of(column)) < (2.0 if n == 20 else 1.1)
    few = np.append(np.zeros(n), [1.0, 1.0, 2.0])  # of a nearly constant column, too
    core = core_deviation(Distinct.of(np.append(few, far)))
    assert 0.5 < core / core_deviation(Distinct.of(few)) < 4.0


def test_far_values_are_bounded_and_others_are_not():
    column = np.concatenate((normal(np.random.default_rng(2), (300, 1))[:, 0], [50.0, -70.0]))
    low, middle, high = np.sort(column)[[4, 150, -5]]  # hundredths: the four outermost rows
    middle = (middle + np.sort(column)[151]) / 2.0
    reach = 4.0 * max(middle - low, high - middle)
    near = np.clip(column, middle - reach, middle + reach)
    assert near.min() > -70.0
    assert near.max() < 50.0
    assert core_deviation(Distinct.of(column)) == pytest.approx(naive_core(near), rel=1e-12)
    for inner in (column[:-2], near):
        unbounded = core_deviation(Distinct.of(inner), far=math.inf)
        assert core_deviation(Distinct.of(inner)) == unbounded  # bit for bit


def nearly_constant(n_rare, n=1000):
    """Zeros, and as many -1 as 1."""
    return Distinct.of(np.array([0.0] * (n - 2 * n_rare) + [-1.0, 1.0] * n_rare))


def test_rare_values_of_a_nearly_constant_column_weigh_like_a_category():
    often = 0.998  # two rows of 1,000 differ, by 1 each
    wanted = often**8 / np.sqrt(2.0)
    assert core_deviation(nearly_constant(1)) == pytest.approx(wanted, rel=1e-12)
    assert core_deviation(nearly_constant(1), floor=False) < 0.02
    scales = np.array([core_deviation(nearly_constant(count)) for count in range(1, 250)])
    assert np.abs(np.diff(scales) / scales[:-1]).max() < 0.04  # one pair more changes it a little
    assert scales.min() > 0.25  # so that no value weighs more than four units


def test_a_nearly_constant_column_is_named():
    column = np.repeat([0.0, -1.0, 1.0], [998, 1, 1])
    preparer = TablePreparer().fit(np.column_stack((column, np.arange(1000.0) ** 2)))
    (rare, other) = (treatment.how for treatment in preparer.treatments_)
    assert rare.endswith("; nearly constant, so rare values weigh about as much as a category")
    assert "nearly" not in other
    scale = preparer.preparation_.scale[0]
    assert scale == core_deviation(Distinct.of(column))
    assert 1.3 < 1.0 / scale < 1.5  # one unit weighs about sqrt(2)


def test_other_columns_have_the_deviation_of_their_core():
    rng = np.random.default_rng(1)
    for column in (
        normal(rng, (400, 1))[:, 0],
        np.floor(3.0 * rng.random(300)),
        np.append(np.zeros(290), rng.integers(1, 5, size=110)),  # a quarter differs
    ):
        found = Distinct.of(column)
        assert core_deviation(found) == core_deviation(found, floor=False)


def test_a_constant_column_has_no_scale():
    for column in ([0.1] * 5, [1e300] * 2, [-0.0, 0.0], [np.nan, 3.0], []):
        assert scale_of(np.array(column)) == 0.0


@pytest.mark.parametrize("most", [64, 1 << 20])
@pytest.mark.parametrize("ends", [[], [1], [64, 65, 66], [350], [0, 699]])
def test_neither_parts_nor_order_change_a_bit(monkeypatch, most, ends):
    monkeypatch.setattr(tables_summary, "MOST_VALUES", most)
    random = np.random.RandomState(3)
    column = random.randint(-999, 1000, size=700) * 1e-3 + 7.0
    column[random.randint(0, 700, size=30)] = np.nan
    whole = Distinct.of(column)
    assert whole.values.size <= most
    for given in (column, column[random.permutation(700)]):
        parts = [Distinct.of(part) for part in np.split(given, ends)]
        found = functools.reduce(Distinct.add, parts)
        np.testing.assert_array_equal(found.values, whole.values)
        np.testing.assert_array_equal(found.counts, whole.counts)
        assert (found.level, found.missing) == (whole.level, whole.missing)
        assert step_deviation(found) == step_deviation(whole)
    exact = np.nanmedian(column)
    assert median(whole) == exact if most > 700 else abs(median(whole) - exact) < 0.3


@pytest.mark.parametrize("size", [1e-320, 1e-160, 1.0, 1e160, 1.5e308])
def test_no_size_of_values_overflows_or_vanishes(size):
    scale = scale_of(size * np.linspace(-1.0, 1.0, 40))
    assert 0.8 < scale / (0.5916 * size) < 1.25 or scale in (2.0**-1022, 2.0**1023)


def test_apply_fills_and_divides():
    prepared = Preparation(("a", "b"), "median", (1.0, 2.0), (2.0, 4.0))
    rows = prepared.apply(np.array([[np.nan, 8.0], [6.0, np.nan]]))
    assert rows.tolist() == [[0.5, 2.0], [3.0, 0.5]]
    with pytest.raises(ValueError, match="must have 2 columns"):
        prepared.apply(np.zeros((3, 1)))


def test_importing_tables_loads_neither_pyarrow_nor_pandas():
    modules = "read, columns, preparation, dataset, write"
    script = f"import sys\nfrom holdfast.tables import {modules}\nprint(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "'holdfast.tables.write'" in done.stdout
    assert "'pyarrow'" not in done.stdout
    assert "'pandas'" not in done.stdout


def test_values_can_be_prepared_in_place():
    preparation = TablePreparer().fit(np.arange(60.0).reshape(20, 3) ** 2).preparation_
    values = np.arange(12.0).reshape(4, 3)
    kept = values.copy()
    rows = preparation.apply(values)
    np.testing.assert_array_equal(values, kept)
    assert preparation.apply(values, in_place=True) is values
    np.testing.assert_array_equal(values, rows)


def test_a_transformation_changes_no_table():
    X = np.arange(60.0).reshape(20, 3) ** 2
    kept = X.copy()
    TablePreparer().fit(X).transform(X)
    np.testing.assert_array_equal(X, kept)


def test_rows_that_are_left_out_decide_nothing():
    values = np.arange(60.0).reshape(20, 3) ** 2
    gaps = values.copy()
    gaps[[3, 19], [0, 1]] = np.nan  # the last row has the largest values
    choice = ColumnChoice()
    found = prepare_table(to_table(gaps), choice, missing="drop")
    kept = prepare_table(to_table(np.delete(values, [3, 19], axis=0)), choice, missing="drop")
    assert found.preparation == kept.preparation
    np.testing.assert_array_equal(found.rows, kept.rows)
