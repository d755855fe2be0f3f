"""The k-median cost of labels and of centers, against full distance matrices."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from holdfast import HierarchicalKMedian, k_median_cost, k_median_cost_to
from holdfast.clusterers import METHODS
from holdfast.hierarchy import cost
from holdfast.stability import cost_by_seed

rng = np.random.RandomState(17)


def naive_cost(rows, labels, weight=None):
    weight = np.ones(len(rows)) if weight is None else weight
    total = 0.0
    for name in set(labels):
        inside = [i for i, label in enumerate(labels) if label == name and weight[i] > 0]
        if inside:
            total += (cdist(rows[inside], rows[inside]) @ weight[inside]).min()
    return total


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
@pytest.mark.parametrize("d", [1, 2, 9])
def test_best_medoids_are_found_whatever_the_block(block, d, monkeypatch):
    monkeypatch.setattr(cost, "_BLOCK", block)
    for n in (1, 2, 30, 200):
        rows = np.round(rng.standard_normal((n, d)) * 4.0, rng.randint(0, 4))
        labels = rng.randint(0, 4, size=n)
        assert k_median_cost(rows, labels) == pytest.approx(naive_cost(rows, labels.tolist()))
        weight = rng.randint(0, 3, size=n).astype(float)
        weight[0] = 1.0
        weighted = k_median_cost(rows, labels, weight)
        assert weighted == pytest.approx(naive_cost(rows, labels.tolist(), weight))


def test_most_rows_are_ruled_out_in_few_dimensions(monkeypatch):
    calls = []

    def counted(a, b):
        calls.append(a.shape[0] * b.shape[0])
        return cdist(a, b)

    monkeypatch.setattr(cost, "cdist", counted)
    rows = rng.standard_normal((3000, 2))
    k_median_cost(rows, np.zeros(3000, dtype=int))
    assert sum(calls) < 0.3 * 3000**2
    assert max(calls) <= 256 * 3000


def test_names_of_labels_do_not_matter():
    rows, labels = rng.standard_normal((40, 2)), rng.randint(0, 3, size=40)
    assert k_median_cost(rows, [f"c{label}" for label in labels]) == k_median_cost(rows, labels)


def test_cost_to_centers_is_the_sum_of_nearest_distances(monkeypatch):
    rows, centers = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    expected = cdist(rows, centers).min(axis=1).sum()
    assert k_median_cost_to(rows, centers) == pytest.approx(expected)
    assert k_median_cost_to(rows.tolist(), centers.tolist()) == pytest.approx(expected)
    monkeypatch.setattr(cost, "_BLOCK", 5)
    assert k_median_cost_to(rows, centers) == pytest.approx(expected)


def test_medoids_of_a_clustering_cost_at_most_its_own_centers():
    rows = rng.standard_normal((80, 2))
    model = HierarchicalKMedian(6, method="tree").fit(rows)
    own = np.linalg.norm(rows - model.cluster_centers_[model.labels_], axis=1).sum()
    best = k_median_cost(rows, model.labels_)
    assert best <= own
    assert best < k_median_cost(rows, np.zeros(80, dtype=int))


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (np.empty((0, 2)), [], "at least one row"),
        (np.zeros(3), [0, 0, 0], r"shape \(n, n_features\)"),
        (np.zeros((3, 1)), [0, 0], "one value per row"),
    ],
)
def test_bad_rows_or_labels_are_named(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        k_median_cost(rows, labels)


def test_centers_of_other_columns_are_named():
    with pytest.raises(ValueError, match="as many columns as X, 2; got 3"):
        k_median_cost_to(np.zeros((2, 2)), np.zeros((1, 3)))


@pytest.mark.parametrize("name", ["ward", "tree", "kmeans", "hdbscan"])
def test_cost_of_the_cuts_of_every_seed(name):
    rows = rng.standard_normal((60, 2)) + 6.0 * rng.randint(0, 3, size=(60, 1))
    clusterer, ks, seeds = METHODS[name].build(), [1, 2, 5], (3, 8, 11)
    expected = [[k_median_cost(rows, clusterer.fit(rows, s).cut(k)) for k in ks] for s in seeds]
    found = cost_by_seed(clusterer, rows, n_clusters=ks, seeds=seeds)
    np.testing.assert_allclose(found, expected)
    alone = cost_by_seed(clusterer, rows, n_clusters=2, seeds=seeds)
    np.testing.assert_array_equal(found[:, 1:2], alone)
