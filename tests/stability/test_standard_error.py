"""The standard error of crossed trials and seeds, against simulation and hand calculation."""

import numpy as np
import pytest
from scipy import stats

from holdfast.stability.measures import MeanError, mean_error, subtract_errors


def simulate(rng, n_trials, n_repeats, of_trials, of_seeds, of_rest):
    return (
        5.0
        + of_trials * rng.standard_normal((n_trials, 1))
        + of_seeds * rng.standard_normal((1, n_repeats))
        + of_rest * rng.standard_normal((n_trials, n_repeats))
    )


@pytest.mark.parametrize("spread", [(1.0, 2.0, 1.0), (2.0, 0.3, 1.0), (0.5, 0.5, 3.0)], ids=str)
def test_squared_error_is_the_variance_of_the_mean(spread):
    n_trials, n_repeats, runs = 14, 6, 3000
    rng = np.random.RandomState(2)
    errors = [mean_error(simulate(rng, n_trials, n_repeats, *spread), False) for _ in range(runs)]
    expected = (
        spread[0] ** 2 / n_trials
        + spread[1] ** 2 / n_repeats
        + spread[2] ** 2 / (n_trials * n_repeats)
    )
    # The relative spread of a variance from 6 seeds is below 0.65; its mean of 3000 is within 5%.
    # Components are cut at 0, which raises it where they are small against the rest.
    squared = np.mean([error.standard_error**2 for error in errors])
    assert 0.95 * expected < squared < (1.1 if spread[2] < 3.0 else 1.25) * expected
    means = np.array([error.mean for error in errors])
    assert means.var() == pytest.approx(expected, rel=0.1)
    # The usual formula, which takes all values as independent, is far off.
    naive = np.mean([simulate(rng, 14, 6, 1, 2, 1).var(ddof=1) / 84 for _ in range(200)])
    assert naive < 0.2 * (1 / 14 + 4 / 6 + 1 / 84)


def test_intervals_cover_the_mean_as_often_as_they_say():
    rng = np.random.RandomState(4)
    covered = 0
    for _ in range(1000):
        error = mean_error(simulate(rng, 20, 8, 1.0, 1.0, 1.0), False)
        reach = stats.t.ppf(0.975, error.degrees_of_freedom) * error.standard_error
        covered += abs(error.mean - 5.0) < reach
    # 950 expected, standard deviation 7; Satterthwaite's rule is an approximation.
    assert 920 < covered < 985


def test_one_seed():
    values = np.array([[1.0], [4.0], [2.0], [9.0]])
    error = mean_error(values, exhaustive=False)
    assert error.mean == 4.0
    assert error.standard_error == pytest.approx(stats.sem(values[:, 0]))
    assert error.degrees_of_freedom == 3.0


def test_all_trials_add_no_error():
    values = np.array([[1.0, 3.0, 2.0], [11.0, 13.0, 15.0]])
    error = mean_error(values, exhaustive=True)
    assert error.standard_error == pytest.approx(stats.sem(values.mean(axis=0)))
    assert error.degrees_of_freedom == 2.0
    assert mean_error(values[:, :1], exhaustive=True) == MeanError(6.0, 0.0, np.inf)
    partly = values.copy()
    partly[0] = np.nan
    assert np.isnan(mean_error(partly, exhaustive=True).standard_error)


def test_missing_values():
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    with_gaps = np.full((5, 3), np.nan)
    with_gaps[[0, 2, 4], :2] = values
    expected = mean_error(values, False)
    assert mean_error(with_gaps, False) == expected
    with_gaps[1, 0] = 100.0
    assert mean_error(with_gaps, False).mean == pytest.approx((values.sum() + 100.0) / 7.0)
    assert mean_error(with_gaps, False).standard_error == expected.standard_error
    assert np.isnan(mean_error(np.full((2, 2), np.nan), False).mean)
    assert np.isnan(mean_error(np.array([[1.0, 2.0]]), False).standard_error)


def test_equal_values_have_no_error():
    assert mean_error(np.full((4, 3), 7.0), False) == MeanError(7.0, 0.0, np.inf)


def test_difference_of_two_means_is_welchs():
    rng = np.random.RandomState(0)
    a, b = rng.standard_normal(8), 3.0 * rng.standard_normal(5)
    difference = subtract_errors(mean_error(a[:, None], False), mean_error(b[:, None], False))
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert difference.mean / difference.standard_error == pytest.approx(welch.statistic)
    assert difference.degrees_of_freedom == pytest.approx(welch.df)
