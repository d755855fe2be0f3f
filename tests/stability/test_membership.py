"""Probabilities of clusters: they add up, agree with predict, and mean what they say."""

import numpy as np
import pytest

from holdfast import HierarchicalKMedian, membership
from holdfast.stability import inspection
from holdfast.stability.inspection import _calibrate, _refit
from holdfast.stability.plan import Delete
from holdfast_paper import draws


def groups(seed: int, n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    places = np.floor(4.0 * rng.random((4, 2)))
    return draws.normal(rng, (n, 2)) + places[rng.integers(4, size=n)]


def test_rows_sum_to_one_and_clear_rows_are_those_of_predict():
    rng = np.random.default_rng(0)
    X = draws.normal(rng, (120, 3)) + 20.0 * np.repeat(np.eye(3), 40, axis=0)
    model = HierarchicalKMedian(3).fit(X)
    found = membership(model)
    assert found.shape == (120, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(found.argmax(axis=1), model.labels_)
    assert found.max(axis=1).min() > 0.99
    new = X[:7] + 0.1
    np.testing.assert_array_equal(membership(model, new).argmax(axis=1), model.predict(new))
    assert membership(model, n_clusters=1).tolist() == [[1.0]] * 120


def test_rows_between_clusters_are_less_sure():
    model = HierarchicalKMedian(4).fit(groups(3))
    sure = membership(model).max(axis=1)
    far = np.array([model.explain_row(i).nearest.distance for i in range(200)])
    assert sure[far > np.median(far)].mean() > sure[far < np.quantile(far, 0.1)].mean() + 0.05


def fraction_that_stays(seeds, fresh: int = 6):
    """Of rows given 85 to 95%: the mean given, and the fraction that stays in fresh deletions."""
    given, seen, count = np.zeros((3, len(seeds)))
    for i, seed in enumerate(seeds):
        X = groups(seed)
        model = HierarchicalKMedian(4, max_centers=4).fit(X)
        found = membership(model)
        top, sure = found.argmax(axis=1), found.max(axis=1)
        some = (sure > 0.85) & (sure < 0.95)
        for trial in range(fresh):
            hierarchy, names, _ = _refit(model, 4, Delete(0.05), 1_000 + seed, trial)
            seen[i] += (names[hierarchy.predict(X, 4)] == top)[some].sum()
        count[i], given[i] = fresh * some.sum(), fresh * sure[some].sum()
    apart = (seen - given).sum() / count.sum()
    error = np.sqrt(((seen - given - apart * count) ** 2).sum()) / count.sum()
    return given.sum() / count.sum(), seen.sum() / count.sum(), error


def test_rows_given_90_percent_stay_in_88_to_92_percent_of_fresh_deletions(monkeypatch):
    """Over 240 data sets with fixed seeds. The error is that of the data sets: whole boundaries move.

    One standard error is 1.2 points, and benchmarks/membership.py has a smaller one on more data. The
    fraction of the 20 fits itself, without calibration, is too sure: the same bounds reject it.
    """
    given, stayed, error = fraction_that_stays(range(240))
    assert error < 0.012
    assert abs(given - 0.9) < 0.01
    assert 0.88 <= stayed <= 0.92

    def count_only(labels, k):
        return np.arange(labels.shape[0] + 1) / labels.shape[0]

    monkeypatch.setattr(inspection, "_calibrate", count_only)
    assert fraction_that_stays(range(120))[1] < 0.88


def test_leaving_out_one_fit_gives_the_chance_of_the_next():
    """Rows whose cluster is a fair coin agree with 13 of 20 fits by chance: still one half."""
    rng = np.random.default_rng(1)
    coins = rng.integers(2, size=(20, 4_000))
    certain = np.zeros((20, 4_000), dtype=np.int64)
    chance = _calibrate(np.concatenate((coins, certain), axis=1), 2)
    assert chance[10:14].max() < 0.55  # the fraction itself would say 0.65
    assert chance[20] > 0.99


def test_weights_and_repeats_and_order():
    X = groups(5, 60)
    model = HierarchicalKMedian(3).fit(X)
    assert np.array_equal(membership(model), membership(model))
    other = membership(model, random_state=1)
    assert other.shape == (60, 3)
    weighted = HierarchicalKMedian(3).fit(X, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(membership(weighted).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"trials": 1}, "trials must be an integer from 2 to 20; got 1"),
        ({"trials": 50}, "trials must be an integer from 2 to 20; got 50"),
        ({"delete": 1.5}, "delete must be an integer or a fraction"),
        ({"n_clusters": 99}, "n_clusters must be from 1 to"),
    ],
)
def test_bad_arguments(arguments, told):
    model = HierarchicalKMedian(2).fit(groups(0, 30))
    with pytest.raises(ValueError, match=told):
        membership(model, **arguments)
