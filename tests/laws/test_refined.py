"""Refined splits against their definition, and what they promise besides the common laws."""

import math
import os

import numpy as np
import pytest
from laws.families import FAMILIES, make_rows
from models import build_model
from oracles import naive_refined
from scipy.spatial.distance import cdist

from holdfast import HierarchicalKMedian, k_median_cost, load
from holdfast.centers.means import choose_refined
from holdfast.centers.medoids import collect_locations

REFINED = {"method": "means"}
# Means of rows on a grid or a line fall on exact ties, which rounding settles.
UNTIED = [family for family in FAMILIES if family not in ("grid", "line")]


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 20.0, math.inf])
@pytest.mark.parametrize("family", UNTIED)
def test_agrees_with_the_definition(family, epsilon):
    for number in range(8):
        X = make_rows(family, number)
        if X.shape[1] == 1:
            continue
        weight = None
        if number % 4 == 3:
            weight = np.random.default_rng(number).integers(1, 5, size=len(X)).astype(float)
        hierarchy = (
            HierarchicalKMedian(
                1, **REFINED, epsilon=epsilon, max_centers="all", random_state=number
            )
            .fit(X, sample_weight=weight)
            .hierarchy_
        )
        exponent = math.frexp(float(np.abs(X).max()))[1]
        scale = np.ldexp(1.0, exponent)
        locations = collect_locations(X / scale, weight, number, 0, exponent)
        of_row = np.empty(len(X), int)
        counts = np.diff(locations.start)
        of_row[locations.order] = np.repeat(np.arange(counts.size), counts)
        # Two rows that are left over are at one distance from their mean: an exact tie.
        k = max(1, counts.size // 2)
        naive = naive_refined.run(
            X[locations.first_rows] / scale, locations.weight, locations.key, epsilon, k, number
        )
        assert of_row[hierarchy.center_indices[:k]].tolist() == naive.center
        assert hierarchy.parent[:k].tolist() == naive.parent
        for cut in range(1, k + 1):
            np.testing.assert_array_equal(hierarchy.cut(cut), naive.cuts[cut - 1][of_row])
        np.testing.assert_allclose(hierarchy.costs[:k] / scale, naive.costs, rtol=1e-9)


def test_predict_replays_the_splits_between_means():
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(200, 4)), 3.0 * rng.normal(size=(100, 4))
    model = build_model(20, **REFINED, max_centers=20).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    exponent = math.frexp(float(np.abs(X).max()))[1]
    locations = collect_locations(np.ldexp(X, -exponent), None, 0, 0, exponent)
    splits = choose_refined(locations, 0.01, 20, 4096, 0)
    label = np.zeros(len(new), int)
    for t in range(1, 20):
        near, far = np.ldexp(splits.mover[t], exponent), np.ldexp(splits.rival[t], exponent)
        moves = (label == splits.parent[t]) & (cdist(new, [near]) < cdist(new, [far]))[:, 0]
        label[moves] = t
    np.testing.assert_array_equal(model.predict(new), label)
    assert np.unique(label).size > 5


def test_rows_outside_the_sample_change_nothing_but_themselves():
    X = np.random.default_rng(5).normal(size=(2000, 3))
    parameters = {**REFINED, "max_centers": 30, "max_candidates": 300}
    whole = build_model(30, **parameters).fit(X)
    outside = collect_locations(X, None, 0).first_rows[300:]
    for row in outside[:10]:
        less = build_model(30, **parameters).fit(np.delete(X, row, axis=0))
        np.testing.assert_array_equal(less.labels_, np.delete(whole.labels_, row))
        np.testing.assert_array_equal(less.cluster_centers_, whole.cluster_centers_)


def test_costs_are_distances_to_the_means_of_the_clusters():
    X = np.random.default_rng(6).normal(size=(300, 2))
    hierarchy = build_model(1, **REFINED, max_centers=40).fit(X).hierarchy_
    for k in (1, 2, 5, 40):
        labels = hierarchy.cut(k)
        parts = (X[labels == j] for j in range(k))
        cost = sum(np.linalg.norm(part - part.mean(axis=0), axis=1).sum() for part in parts)
        assert hierarchy.costs[k - 1] == pytest.approx(cost, rel=1e-9)


def test_costs_never_rise_where_means_raise_the_sum_of_distances():
    # The mean of all is at the many rows; those of the two parts are not.
    X = np.concatenate((np.zeros(20), [-1.0, 1.0, -1.1, 1.1]))[:, None]
    hierarchy = build_model(1, **REFINED, epsilon=math.inf).fit(X).hierarchy_
    assert (np.diff(hierarchy.costs) <= 0.0).all()
    assert hierarchy.costs[4] == 0.0


def test_threads_do_not_change_a_bit(monkeypatch):
    X = np.random.default_rng(8).normal(size=(1200, 5))
    many = build_model(1, **REFINED).fit(X).hierarchy_
    for count in (1, 7):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        other = build_model(1, **REFINED).fit(X).hierarchy_
        np.testing.assert_array_equal(other.center_indices, many.center_indices)
        np.testing.assert_array_equal(other.costs, many.costs)
        np.testing.assert_array_equal(other.finest, many.finest)


def test_saved_hierarchy_gives_the_same_answers(tmp_path):
    rng = np.random.default_rng(9)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(500, 3))
    model = build_model(1, **REFINED).fit(X)
    model.save(tmp_path / "refined.holdfast")
    hierarchy, loaded = model.hierarchy_, load(tmp_path / "refined.holdfast").hierarchy_
    for k in (2, 7, 60):
        np.testing.assert_array_equal(loaded.predict(new, k), hierarchy.predict(new, k))
        np.testing.assert_array_equal(loaded.cut(k), hierarchy.cut(k))


def test_is_closer_than_plain_splits_on_groups():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(300, 3)) + 8.0 * rng.normal(size=(6, 3))[rng.integers(6, size=300)]
    refined = build_model(6, **REFINED).fit(X)
    plain = HierarchicalKMedian(6, method="medoids", epsilon=0.01).fit(X)
    assert k_median_cost(X, refined.labels_) <= k_median_cost(X, plain.labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({**REFINED, "metric": "manhattan"}, 'method="means"; got .manhattan.*method="medoids"'),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        build_model(2, **parameters).fit(np.arange(10.0)[:, None])


def test_auto_epsilon_is_the_documented_one():
    X = np.random.default_rng(11).normal(size=(20, 2))
    assert build_model(2, **REFINED).fit(X).epsilon_ == 0.01
    assert HierarchicalKMedian(2, method="medoids").fit(X).epsilon_ == 0.05


def test_the_first_clusters_are_found_as_among_all():
    X = np.random.default_rng(4).standard_normal((60, 3))
    hierarchy = build_model(1, **REFINED).fit(X).hierarchy_
    for k in (1, 2, 7, hierarchy.n_centers):
        assert np.array_equal(hierarchy.locator.first(k).finest(X), hierarchy.predict(X, k))


def test_ties_between_two_means_leave_no_row_away_from_its_own():
    """On a grid a row may be as far from one mean as from the other."""
    for seed in range(60):
        X = np.random.default_rng(seed).integers(0, 7, size=(14, 1)).astype(float)
        hierarchy = (
            build_model(1, **REFINED, epsilon=math.inf, max_centers="all")
            .set_params(random_state=seed)
            .fit(X)
            .hierarchy_
        )
        k = np.unique(X).size
        costs = []
        for cut in map(hierarchy.cut, range(1, k + 1)):
            parts = [X[cut == j] for j in np.unique(cut)]
            costs.append(sum(np.abs(part - part.mean()).sum() for part in parts))
        expected = np.minimum.accumulate(costs)
        np.testing.assert_allclose(hierarchy.costs[:k], expected, rtol=1e-9, atol=1e-12)
        assert hierarchy.costs[k - 1] == 0.0
