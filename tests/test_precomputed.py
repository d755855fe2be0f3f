"""Fits on distances are fits on features, and bad matrices are told with row and column."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.utils.estimator_checks import check_clustering, check_estimator

from holdfast import (
    HierarchicalKMedian,
    average_sensitivity,
    cluster_stability,
    fit_chunks,
    k_median_cost,
    load,
    membership,
    row_influence,
    suggest_k,
    tune_epsilon,
)
from holdfast.clusterers import as_clusterer
from holdfast.clusterers.adapt import as_selectable
from holdfast.grid.cells import row_keys
from holdfast.parameters import check_distances
from holdfast.pipeline import cluster_and_order
from holdfast.storage.hierarchy import hierarchy_from_arrays, hierarchy_to_arrays

RNG = np.random.default_rng(0)
ROWS = np.concatenate((RNG.random((60, 3)), RNG.integers(4, size=(30, 3)) / 2.0))
NAMES = {"euclidean": "euclidean", "manhattan": "cityblock"}


def distances(a, b=None, metric="euclidean"):
    return cdist(a, a if b is None else b, NAMES[metric])


def medoids(k=6, **parameters):
    return HierarchicalKMedian(k, method="medoids", metric="precomputed", **parameters)


def same_hierarchy(a, b):
    for name in ("finest", "center_indices", "parent"):
        np.testing.assert_array_equal(getattr(a.hierarchy_, name), getattr(b.hierarchy_, name))
    np.testing.assert_allclose(a.hierarchy_.costs, b.hierarchy_.costs, rtol=1e-14)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("epsilon", [0, 0.05, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_distances_give_the_fit_on_features(metric, epsilon, weighted):
    weight = RNG.integers(0, 4, size=90).astype(float) if weighted else None
    D, new = distances(ROWS, metric=metric), RNG.random((20, 3))
    options = {"epsilon": epsilon, "max_centers": "all", "random_state": 3}
    by_rows = HierarchicalKMedian(6, method="medoids", metric=metric, **options)
    by_rows.fit(ROWS, sample_weight=weight)
    model = medoids(**options).fit(D, sample_weight=weight, keyed_by=ROWS)
    same_hierarchy(model, by_rows)
    to_fit = distances(new, ROWS, metric)
    np.testing.assert_array_equal(model.predict(D), model.labels_)
    np.testing.assert_array_equal(model.predict(to_fit), by_rows.predict(new))
    np.testing.assert_array_equal(
        model.predict(to_fit, unknown=-1), by_rows.predict(new, unknown=-1)
    )
    np.testing.assert_array_equal(model.transform(to_fit), by_rows.transform(new))
    assert model.score(D, sample_weight=weight) == pytest.approx(
        by_rows.score(ROWS, sample_weight=weight)
    )
    assert model.reach_ == by_rows.reach_


def test_candidates_of_a_large_matrix_are_those_of_features():
    X = RNG.random((200, 2))
    D, model = distances(X), HierarchicalKMedian(6, method="medoids")
    settings = replace(model._settings_for(X), max_candidates=30)
    by_rows = cluster_and_order(X, None, settings).hierarchy
    settings = replace(settings, metric="precomputed")
    found = cluster_and_order(D, None, settings, keys=row_keys(X, settings.seed)).hierarchy
    assert found.n_centers == 30
    np.testing.assert_array_equal(found.finest, by_rows.finest)


def test_rows_known_by_ids_may_change_places_and_leave():
    D, order = distances(ROWS), RNG.permutation(90)
    frame = pd.DataFrame(D, index=[f"r{i}" for i in range(90)])
    moved = frame.iloc[order, order]
    first, second = medoids().fit(frame), medoids().fit(moved.to_numpy(), ids=moved.index)
    np.testing.assert_array_equal(first.labels_[order], second.labels_)
    kept = np.delete(np.arange(90), [3, 40])
    part = D[np.ix_(kept, kept)]
    by_ids, by_position = medoids().fit(part, ids=kept), medoids().fit(part)
    assert (by_ids._identity == medoids().fit(D)._identity[kept]).all()
    assert not np.array_equal(by_ids._identity, by_position._identity)


def test_a_matrix_that_is_uneven_by_rounding_is_mended():
    D = distances(ROWS)
    uneven = D * (1.0 + 1e-9 * RNG.random(D.shape)) + 1e-9 * np.eye(90)
    np.testing.assert_array_equal(medoids().fit(uneven).labels_, medoids().fit(D).labels_)


@pytest.mark.parametrize(("i", "j"), [(3, 599), (598, 599), (2, 1)])
def test_a_large_matrix_is_compared_in_tiles(i, j):
    D = distances(RNG.random((600, 2)))
    assert check_distances(D, square=True) is D
    D[i, j] += 1.0
    low, high = min(i, j), max(i, j)
    with pytest.raises(
        ValueError, match=f"in row {low} and column {high}, and .* in row {high} and"
    ):
        check_distances(D, square=True)


@pytest.mark.parametrize(
    "wrong", [{"centers": 0}, {"centers": 91}, {"exponent": 10**6}, {"centers": 2.0}]
)
def test_crafted_files_are_refused(wrong):
    metadata, arrays = hierarchy_to_arrays(medoids().fit(distances(ROWS)).hierarchy_)
    assert hierarchy_from_arrays(metadata, arrays).n_rows == 90
    with pytest.raises(ValueError, match="out of range"):
        hierarchy_from_arrays(metadata | wrong, arrays)


def change(i, j, value):
    D = distances(ROWS[:9])
    D[i, j] = value
    return D


@pytest.mark.parametrize(
    ("D", "told"),
    [
        (distances(ROWS)[:, :5], r"square matrix .* got shape \(90, 5\)"),
        (change(2, 4, 9.0), r"symmetric .* 9.0 in row 2 and\s+column 4"),
        (change(3, 3, 0.5), "diagonal that is not 0: row 3, column 3 of X is 0.5"),
        (change(5, 1, -1.0), "Negative values in data passed: row 5, column 1 of X is -1.0"),
        (change(5, 1, np.nan), "NaN or infinity in data passed: row 5, column 1 of X is nan"),
        (change(7, 0, np.inf), "NaN or infinity in data passed: row 7, column 0 of X is inf"),
    ],
)
def test_bad_matrices_are_told_with_row_and_column(D, told):
    with pytest.raises(ValueError, match=told):
        medoids(2).fit(D)
    with pytest.raises(ValueError, match=told):
        average_sensitivity(medoids(2), D, 2, trials=2, n_jobs=1)


def test_bad_distances_of_new_rows_are_told():
    model = medoids(2).fit(distances(ROWS[:9]))
    for D, told in [
        (change(1, 2, -3.0)[:2], "Negative values in data passed: row 1, column 2"),
        (change(1, 2, np.nan)[:2], "row 1, column 2 of X is nan"),
        (np.ones((2, 4)), "X has 4 features, but HierarchicalKMedian is expecting 9"),
    ]:
        with pytest.raises(ValueError, match=told):
            model.predict(D)


def test_what_needs_features_says_so():
    D = distances(ROWS)
    for method in ("means", "tree"):
        model = HierarchicalKMedian(2, method=method, metric="precomputed")
        with pytest.raises(ValueError, match='Use method="medoids" for it'):
            model.fit(D)
    model = medoids().fit(D)
    for call in (model.explain, lambda: model.explain_row(0), lambda: model.follow(D)):
        with pytest.raises(ValueError, match='metric="precomputed"'):
            call()
    for name in ("partial_fit", "forget"):
        with pytest.raises(AttributeError) as told:
            getattr(model, name)
        assert "by rows alone" in str(told.value.__cause__)
    with pytest.raises(AttributeError, match="Fit all rows at once"):
        fit_chunks(medoids(), [D[:40], D[40:]])
    with pytest.raises(ValueError, match='keyed_by is only for metric="precomputed"'):
        HierarchicalKMedian(2).fit(ROWS, keyed_by=ROWS)
    with pytest.raises(ValueError, match="one row for each of the 90 rows of X; got 4"):
        medoids().fit(D, keyed_by=ROWS[:4])


def test_a_saved_model_predicts_and_is_as_sure(tmp_path):
    D = distances(ROWS)
    model = medoids().fit(D, ids=[f"r{i}" for i in range(90)])
    model.save(tmp_path / "m.holdfast")
    again = load(tmp_path / "m.holdfast")
    same_hierarchy(model, again)
    np.testing.assert_array_equal(again.predict(D), model.labels_)
    np.testing.assert_array_equal(again.transform(D), model.transform(D))
    np.testing.assert_array_equal(membership(again, trials=3), membership(model, trials=3))
    model.save(tmp_path / "small.holdfast", include_rows=False)
    np.testing.assert_array_equal(load(tmp_path / "small.holdfast").predict(D), model.labels_)


def test_stability_is_that_of_features():
    """Without noise, keys decide ties only, and rows of random numbers have none."""
    X = RNG.random((50, 3))
    D, few = distances(X), {"trials": 4, "n_jobs": 1}
    by_rows, by_distance = HierarchicalKMedian(method="medoids", epsilon=0), medoids(8, epsilon=0)
    for delete in (1, 0.2):
        a, b = (
            average_sensitivity(m, data, (2, 5), delete=delete, **few)
            for m, data in ((by_rows, X), (by_distance, D))
        )
        np.testing.assert_array_equal(a.matched, b.matched)
    a, b = (row_influence(m, data, 4, **few) for m, data in ((by_rows, X), (by_distance, D)))
    np.testing.assert_array_equal(a.influence, b.influence)
    a, b = (cluster_stability(m, data, 4, **few) for m, data in ((by_rows, X), (by_distance, D)))
    np.testing.assert_array_equal(a.jaccard, b.jaccard)
    a, b = (suggest_k(m, data, (2, 3, 4), **few) for m, data in ((by_rows, X), (by_distance, D)))
    np.testing.assert_array_equal(a.mean, b.mean)
    a, b = (
        tune_epsilon(m, data, 3, max_cost_ratio=9.0, epsilons=(1e-9, 2e-9), repeats=1, **few)
        for m, data in ((by_rows, X), (by_distance, D))
    )
    np.testing.assert_allclose(a.cost, b.cost, rtol=1e-14)
    sure = membership(by_rows.set_params(n_clusters=4).fit(X), trials=4)
    np.testing.assert_array_equal(
        membership(by_distance.set_params(n_clusters=4).fit(D, keyed_by=X), trials=4), sure
    )
    new = RNG.random((5, 3))
    np.testing.assert_array_equal(
        membership(by_distance, distances(new, X), trials=3), membership(by_rows, new, trials=3)
    )


def test_deletions_leave_the_random_numbers_of_other_rows_alone():
    D, kept = distances(ROWS), np.arange(30, 90)
    model, part = medoids(6, epsilon=2.0, random_state=5), D[np.ix_(kept, kept)]
    clusterer, numbers = as_selectable(as_clusterer(model, max_clusters=6), D, None)
    cut = clusterer.fit(numbers[kept], 5).cut(6)
    np.testing.assert_array_equal(cut, model.fit(part, ids=kept).labels_)
    assert not np.array_equal(cut, model.fit(part).labels_)  # known by their new positions


def test_the_cost_of_distances_is_that_of_rows():
    labels, weight = RNG.integers(4, size=90), RNG.integers(0, 3, size=90)
    for given in (None, weight):
        assert k_median_cost(distances(ROWS), labels, given, metric="precomputed") == pytest.approx(
            k_median_cost(ROWS, labels, given), rel=1e-12
        )


class MedoidsOfFeatures(HierarchicalKMedian):
    """Clusters features by their distances, for a check that knows no distances."""

    def fit(self, X, y=None):
        return super().fit(distances(np.asarray(X)))


def test_scikit_learn_checks_pass():
    """All but `check_clustering`, which gives features to clusterers of distances too.

    It fails for those of scikit-learn itself. Given the distances of these features, it passes.
    """
    results = check_estimator(medoids(3), on_skip=None, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] != "passed"}
    assert failed <= {"check_clustering"}
    other = AgglomerativeClustering(metric="precomputed", linkage="average")
    with pytest.raises(ValueError, match="[Dd]istance matrix"):
        check_clustering("AgglomerativeClustering", other)
    for readonly in (False, True):
        of_features = MedoidsOfFeatures(3, method="medoids", metric="precomputed")
        check_clustering("MedoidsOfFeatures", of_features, readonly_memmap=readonly)
