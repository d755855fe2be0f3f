"""Laws 1 and 2 for the whole estimate, every kind of clusterer, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from stability.brute_force import exact_average
from stability.clusterers import ByQuantile, at_random, by_rank, by_sign, constant, name_of

from holdfast import HierarchicalKMedian, average_sensitivity
from holdfast.clusterers import METHODS, as_clusterer

rng = np.random.RandomState(7)
SMALL = rng.standard_normal((9, 2))
ROWS = rng.standard_normal((40, 2)) + 5.0 * rng.randint(0, 3, size=(40, 1))


# Law 1


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "clusterer", [METHODS["single"].build(), METHODS["ward"].build()], ids=lambda c: c.name
)
def test_all_deletions_equal_brute_force(clusterer, k):
    for seed in range(4):
        rows = np.random.RandomState(seed).standard_normal((9, 2))
        result = average_sensitivity(
            clusterer, rows, n_clusters=k, trials="all", n_jobs=1, measure="symmetric_difference"
        )
        expected = exact_average(lambda X: clusterer.fit(X, 0).cut(k).tolist(), rows)
        assert result.mean.item() == pytest.approx(expected, rel=1e-14)
        assert result.standard_error.item() == 0.0


def test_all_deletions_of_a_randomized_clusterer_equal_brute_force_for_each_seed():
    result = average_sensitivity(
        at_random,
        SMALL,
        n_clusters=[2, 4],
        trials="all",
        repeats=3,
        n_jobs=1,
        measure="symmetric_difference",
    )
    assert len(set(result.seeds)) == 3
    for j, k in enumerate((2, 4)):
        for r, seed in enumerate(result.seeds):
            expected = exact_average(lambda X, k=k, s=seed: at_random(X, k, s).tolist(), SMALL)
            assert result.values[0, j, :, r].mean() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, np.inf])
def test_deletions_from_the_tree_equal_refits(epsilon):
    model = HierarchicalKMedian(method="tree", epsilon=epsilon)
    arguments = {"n_clusters": [2, 3, 8], "trials": "all", "repeats": 3, "n_jobs": 1}
    fast = average_sensitivity(model, ROWS, **arguments)
    slow = average_sensitivity(model, ROWS, keep_labels=True, **arguments)
    np.testing.assert_array_equal(fast.matched, slow.matched)
    np.testing.assert_array_equal(fast.values, slow.values)
    assert fast.seeds == slow.seeds
    assert fast.rand is None
    assert slow.rand is not None


# Law 2


@pytest.mark.parametrize("delete", [1, 3, 0.1, 0.5])
@pytest.mark.parametrize("clusterer", [by_sign, constant], ids=lambda f: f.__name__)
def test_clusterers_that_ignore_what_goes_are_at_the_floor(clusterer, delete):
    count = delete if isinstance(delete, int) else round(delete * 40)
    for measure, floor in (
        ("symmetric_difference", count),
        ("moved", count),
        ("moved_fraction", 0.0),
    ):
        result = average_sensitivity(
            clusterer, ROWS, n_clusters=2, delete=delete, trials=6, measure=measure, n_jobs=1
        )
        assert result.floor.item() == floor
        assert (result.values == floor).all()


@pytest.mark.parametrize("clusterer", [at_random, by_rank, KMeans()], ids=name_of)
def test_nothing_is_below_the_floor(clusterer):
    result = average_sensitivity(
        clusterer,
        ROWS,
        n_clusters=[2, 5],
        delete=[1, 7, 0.25],
        trials=5,
        repeats=2,
        n_jobs=1,
        measure="symmetric_difference",
    )
    for measure in ("symmetric_difference", "moved", "moved_fraction"):
        now = result.in_measure(measure)
        assert (now.values >= now.floor[:, None, None, None]).all()
    assert result.floor.tolist() == [1.0, 7.0, 10.0]
    assert result.mean.max() > 1.0


# Every kind of clusterer


@pytest.mark.parametrize(
    ("clusterer", "repeats"),
    [
        (HierarchicalKMedian(method="tree"), 3),
        (HierarchicalKMedian(method="medoids"), 3),
        (KMeans(), 3),
        (AgglomerativeClustering(), 1),
        (make_pipeline(StandardScaler(), KMeans()), 3),
        (DBSCAN(eps=1.0), 1),
        (ByQuantile(), 1),
        (by_rank, 3),
        (as_clusterer(by_sign, randomized=False), 1),
        (METHODS["ward"].build(), 1),
    ],
    ids=name_of,
)
def test_shapes_for_every_kind_of_clusterer(clusterer, repeats):
    result = average_sensitivity(
        clusterer, ROWS, n_clusters=[2, 5], delete=[1, 0.1], trials=4, repeats=3, n_jobs=1
    )
    assert result.values.shape == (2, 2, 4, repeats)
    assert np.isfinite(result.values).all()
    assert result.mean.shape == result.standard_error.shape == (2, 2)
    assert result.interval(0.9).shape == (2, 2, 2)
    assert result.jaccard.shape[:3] == (2, 2, repeats)
    assert result.rand.max() <= 1.0
    assert result.complete
    assert result.failures == ()


def test_values_are_those_of_fits_by_hand():
    model = KMeans(n_init=1)
    result = average_sensitivity(
        model, ROWS, n_clusters=3, trials="all", repeats=2, n_jobs=1, measure="symmetric_difference"
    )
    for r, seed in enumerate(result.seeds):
        expected = exact_average(
            lambda X, s=seed: KMeans(3, n_init=1, random_state=s).fit(X).labels_.tolist(), ROWS
        )
        assert result.values[0, 0, :, r].mean() == pytest.approx(expected, rel=1e-14)


def test_hierarchies_are_fitted_once_for_all_k():
    calls = []

    class Counting(ByQuantile):
        def fit(self, X):
            calls.append(X.shape[0])
            return super().fit(X)

    average_sensitivity(Counting(), ROWS, n_clusters=[2, 3, 4], delete=2, trials=5, n_jobs=1)
    assert sorted(calls) == [38] * 5 + [40]


def test_the_clusterer_and_the_rows_are_left_as_they_were():
    model, rows = KMeans(4, random_state=5), ROWS.copy()
    average_sensitivity(model, rows, n_clusters=2, trials=3, repeats=2, n_jobs=1)
    assert model.get_params() == KMeans(4, random_state=5).get_params()
    assert not hasattr(model, "labels_")
    np.testing.assert_array_equal(rows, ROWS)


def test_a_table_is_as_good_as_an_array():
    arguments = {"n_clusters": [3], "trials": 4, "n_jobs": 1}
    table = average_sensitivity(METHODS["ward"].build(), pd.DataFrame(ROWS), **arguments)
    array = average_sensitivity(METHODS["ward"].build(), ROWS.tolist(), **arguments)
    np.testing.assert_array_equal(table.values, array.values)


# Failures


def test_failures_in_some_trials_are_named_and_the_others_kept():
    def fails_without_row_3(X, k, seed):
        if X.shape[0] < 40 and not (X[:, 0] == ROWS[3, 0]).any():
            raise FloatingPointError("no row 3")
        return by_sign(X, k, seed)

    with pytest.warns(UserWarning, match=r"first in trial 3 \(delete 1\).*no row 3"):
        result = average_sensitivity(
            fails_without_row_3, ROWS, n_clusters=2, trials="all", repeats=2, n_jobs=1
        )
    missing = np.isnan(result.values[0, 0])
    assert missing[3].all()
    assert missing.sum() == 2
    assert result.mean.item() == 0.0
    assert result.complete
    assert {failure.trial for failure in result.failures} == {3}
    assert {failure.repeat for failure in result.failures} == {0, 1}
    assert all("FloatingPointError: no row 3" in failure.error for failure in result.failures)


def test_a_failing_cut_leaves_the_other_cuts():
    class FailsAtThree(ByQuantile):
        def cut(self, k):
            if k == 3 and self.rows.shape[0] < 40:
                raise KeyError("three")
            return super().cut(k)

    with pytest.warns(UserWarning, match="k=3"):
        result = average_sensitivity(FailsAtThree(), ROWS, n_clusters=[2, 3], trials=4, n_jobs=1)
    assert np.isfinite(result.mean[0, 0])
    assert np.isnan(result.mean[0, 1])
    assert {failure.n_clusters for failure in result.failures} == {3}


def test_a_seed_that_fails_on_the_unperturbed_rows_is_left_out():
    seeds = average_sensitivity(by_sign, ROWS, n_clusters=2, trials=1, repeats=3, n_jobs=1).seeds

    def fails_with_second_seed(X, k, seed):
        if X.shape[0] == 40 and seed == seeds[1]:
            raise ValueError("unlucky")
        return by_sign(X, k, seed)

    with pytest.warns(UserWarning, match="the unperturbed rows, repeat 1.*unlucky"):
        result = average_sensitivity(
            fails_with_second_seed, ROWS, n_clusters=2, trials=3, repeats=3, n_jobs=1
        )
    assert np.isnan(result.values[0, 0, :, 1]).all()
    assert np.isfinite(result.values[0, 0][:, [0, 2]]).all()
    assert result.standard_error.item() == 0.0


def test_a_clusterer_that_always_fails_is_an_error():
    def fails(X, k, seed):
        raise ValueError("never")

    with pytest.raises(RuntimeError, match="every seed.*ValueError: never"):
        average_sensitivity(fails, ROWS, n_clusters=2, n_jobs=1)

    def fails_when_perturbed(X, k, seed):
        if X.shape[0] < 40:
            raise ValueError("too few")
        return by_sign(X, k, seed)

    with pytest.raises(RuntimeError, match="all fits failed.*trial 0.*too few"):
        average_sensitivity(fails_when_perturbed, ROWS, n_clusters=2, trials=3, n_jobs=1)


def test_labels_of_the_wrong_length_are_named():
    def too_short(X, k, seed):
        return np.zeros(X.shape[0] - 1, dtype=int)

    with pytest.raises(ValueError, match=r"too_short returned wrong labels for k=2.*40.*\(39,\)"):
        average_sensitivity(too_short, ROWS, n_clusters=2, n_jobs=1)

    def too_short_when_perturbed(X, k, seed):
        return np.zeros(40, dtype=int)

    with pytest.raises(RuntimeError, match=r"each of 39 rows; got an array of shape \(40,\)"):
        average_sensitivity(too_short_when_perturbed, ROWS, n_clusters=2, trials=2, n_jobs=1)
    with pytest.raises(ValueError, match="returned wrong labels"):
        average_sensitivity(lambda X, k, seed: None, ROWS, n_clusters=2, n_jobs=1)


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delete": 40}, "at least one row; got 40 deletions from 40 rows"),
        ({"delete": 0}, "at least 1.*got 0"),
        ({"delete": -1}, "at least 1.*got -1"),
        ({"delete": 1.0}, "Write 1, not 1.0"),
        ({"delete": 0.0}, "between 0 and 1; got 0.0"),
        ({"delete": [0.1, 1.5]}, "got 1.5"),
        ({"delete": "1"}, "got '1'"),
        ({"delete": []}, "no change to measure"),
        ({"delete": [1, 1]}, "'delete 1' twice"),
        ({"delete": 35, "n_clusters": 6}, "5 of 40.*got n_clusters=6"),
        ({"n_clusters": 40}, "39 of 40"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1; got 0"),
        ({"n_clusters": 2.0}, "got 2.0"),
        ({"n_clusters": []}, "got none"),
        ({"trials": 0}, 'at least 1, or "all"; got 0'),
        ({"trials": "some"}, "got 'some'"),
        ({"trials": "all", "delete": 2}, 'trials="all" removes every row.*got delete 2'),
        ({"trials": "all", "delete": [1, 2]}, "nothing else"),
        ({"repeats": 0}, "repeats must be an integer of at least 1; got 0"),
        ({"measure": "jaccard"}, "measure must be one of"),
        ({"coupling": "none"}, "coupling must be one of same_seed, earth_mover"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"n_jobs": "2"}, "got '2'"),
        ({"random_state": "x"}, "random_state must be"),
        ({"random_state": None, "checkpoint": "folder"}, "integer random_state"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        average_sensitivity(by_sign, ROWS, **{"n_clusters": 2, "trials": 2, **arguments})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.empty((0, 2)), "minimum of 2"),
        (ROWS[:1], "minimum of 2"),
        ([[0.0, np.nan], [1.0, 2.0]], "NaN"),
        (ROWS[:, 0], "2D array"),
        ([["a"], ["b"]], "numeric|convert"),
    ],
)
def test_bad_rows_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        average_sensitivity(by_sign, rows, n_clusters=1)


def test_what_is_no_clusterer_is_named():
    with pytest.raises(TypeError, match="got int"):
        average_sensitivity(3, ROWS, n_clusters=2)
    with pytest.raises(TypeError, match=r"write KMeans\(\)"):
        average_sensitivity(KMeans, ROWS, n_clusters=2)
