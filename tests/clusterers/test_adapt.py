"""Everything that clusters, behind one protocol."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    SpectralClustering,
)
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import HierarchicalKMedian
from holdfast.clusterers import METHODS, Clusterer, as_clusterer
from holdfast.clusterers.adapt import fresh_copy

rng = np.random.RandomState(23)
ROWS = rng.standard_normal((50, 2)) + 7.0 * rng.randint(0, 4, size=(50, 1))

RANDOMIZED = {"means", "medoids", "tree", "clnss", "bisecting_kmeans", "kmeans", "minibatch_kmeans"}
FLAT = {"bisecting_kmeans", "kmeans", "minibatch_kmeans", "birch"}


@pytest.mark.parametrize("name", METHODS)
def test_ready_made_clusterers(name):
    clusterer = METHODS[name].build()
    assert isinstance(clusterer, Clusterer)
    assert clusterer.name
    assert clusterer.randomized == (name in RANDOMIZED)
    assert clusterer.hierarchical == (name not in FLAT)
    before = ROWS.copy()
    fitted = clusterer.fit(ROWS, 3)
    for k in (1, 2, 5):
        labels = np.asarray(fitted.cut(k))
        assert labels.shape == (50,)
        if name != "hdbscan":
            assert np.unique(labels).size == k
        np.testing.assert_array_equal(labels, clusterer.fit(ROWS, 3).cut(k))
    np.testing.assert_array_equal(ROWS, before)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kmeans", lambda k, seed: KMeans(k, random_state=seed)),
        ("bisecting_kmeans", lambda k, seed: BisectingKMeans(k, random_state=seed)),
        ("birch", lambda k, seed: Birch(n_clusters=k)),
        ("hdbscan", lambda k, seed: HDBSCAN(copy=True)),
    ],
)
def test_labels_are_those_of_scikit_learn(name, expected):
    for k, seed in ((2, 0), (4, 7)):
        labels = METHODS[name].build().fit(ROWS, seed).cut(k)
        np.testing.assert_array_equal(labels, expected(k, seed).fit_predict(ROWS))


def test_noise_is_a_cluster_of_its_own():
    rows = np.concatenate([ROWS, [[100.0, -100.0]]])
    labels = np.asarray(METHODS["hdbscan"].build(min_cluster_size=5).fit(rows, 0).cut(2))
    assert labels[-1] == -1
    assert (labels >= 0).any()


def test_parameters_reach_the_clusterer():
    assert METHODS["kmeans"].build(n_init=3).estimator.n_init == 3


def test_clnss_is_the_greedy_hierarchy():
    clusterer = METHODS["clnss"].build()
    assert clusterer.randomized
    model = HierarchicalKMedian(4, method="tree", epsilon=0, random_state=9).fit(ROWS)
    np.testing.assert_array_equal(clusterer.fit(ROWS, 9).cut(4), model.labels_)


@pytest.mark.parametrize("method", ["tree", "medoids"])
def test_our_estimator_stops_at_the_largest_k_with_the_same_cuts(method):
    model = HierarchicalKMedian(3, method=method, epsilon=0.5, random_state=77)
    short = as_clusterer(model, max_clusters=6).fit(ROWS, 5)
    assert short.n_centers == 6
    whole = as_clusterer(model).fit(ROWS, 5)
    assert whole.n_centers == 50
    for k in range(1, 7):
        np.testing.assert_array_equal(short.cut(k), whole.cut(k))
    expected = HierarchicalKMedian(4, method=method, epsilon=0.5, random_state=5).fit(ROWS).labels_
    np.testing.assert_array_equal(whole.cut(4), expected)
    assert model.random_state == 77


def test_a_clusterer_stays_itself_and_learns_the_largest_k():
    single = METHODS["single"].build()
    assert as_clusterer(single, max_clusters=4) is single
    assert as_clusterer(METHODS["clnss"].build(), max_clusters=4).fit(ROWS, 0).n_centers == 4


@pytest.mark.parametrize(
    ("estimator", "counts", "seeds"),
    [
        (KMeans(), ("n_clusters",), ("random_state",)),
        (AgglomerativeClustering(), ("n_clusters",), ()),
        (SpectralClustering(), ("n_clusters",), ("random_state",)),
        (DBSCAN(), (), ()),
        (GaussianMixture(), ("n_components",), ("random_state",)),
        (
            make_pipeline(StandardScaler(), KMeans()),
            ("kmeans__n_clusters",),
            ("kmeans__random_state",),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_set_in_scikit_learns_clusterers(estimator, counts, seeds):
    adapted = as_clusterer(estimator)
    assert adapted.count_parameters == counts
    assert adapted.seed_parameters == seeds
    assert adapted.randomized == bool(seeds)
    assert adapted.hierarchical == (not counts)
    labels = np.asarray(adapted.fit(ROWS, 1).cut(3))
    if counts:
        assert np.unique(labels).size == 3
    assert not hasattr(estimator, "labels_")


def test_a_pipeline_runs_all_its_steps():
    scaled = ROWS * [1.0, 1000.0]
    adapted = as_clusterer(make_pipeline(StandardScaler(), KMeans(n_init=1)))
    expected = KMeans(3, n_init=1, random_state=2).fit_predict(
        StandardScaler().fit_transform(scaled)
    )
    np.testing.assert_array_equal(adapted.fit(scaled, 2).cut(3), expected)


class Cuttable(BaseEstimator, ClusterMixin):
    """A scikit-learn estimator that can be cut as well."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.values_ = X[:, 0] + (self.random_state or 0)
        return self

    def cut(self, k):
        return (self.values_ * 100).astype(int) % k


class Plain:
    """An object whose `fit` returns nothing."""

    def fit(self, X):
        self.n = X.shape[0]

    def cut(self, k):
        return np.arange(self.n) % k


class Producer:
    """An object whose `fit` returns another one to cut."""

    def __init__(self):
        self.random_state = 0

    def fit(self, X):
        made = Plain()
        made.fit(X[self.random_state :])
        return made

    def cut(self, k):
        raise AssertionError("the result of fit is to be cut")


def test_objects_with_fit_and_cut():
    for model, seeded in ((Cuttable(), True), (Plain(), False), (Producer(), True)):
        adapted = as_clusterer(model)
        assert adapted.hierarchical
        assert adapted.randomized == seeded
        before = dict(vars(model))
        fitted = adapted.fit(ROWS, 4)
        assert vars(model) == before
        assert len(fitted.cut(3)) == (46 if isinstance(model, Producer) else 50)
    assert as_clusterer(Cuttable()).fit(ROWS, 4).random_state == 4
    assert not as_clusterer(Cuttable(), randomized=False).randomized


def test_functions():
    def halves(X, k, seed):
        return (np.arange(X.shape[0]) + seed) % k

    adapted = as_clusterer(halves)
    assert adapted.name == "halves"
    assert adapted.randomized
    assert not adapted.hierarchical
    assert adapted.fit(ROWS, 1).cut(2)[:3].tolist() == [1, 0, 1]
    assert not as_clusterer(halves, randomized=False).randomized
    assert as_clusterer(halves, name="odd and even").name == "odd and even"


@pytest.mark.parametrize("thing", [3, "kmeans", None, [KMeans()]], ids=repr)
def test_what_is_no_clusterer_is_named(thing):
    with pytest.raises(TypeError, match=f"got {type(thing).__name__}"):
        as_clusterer(thing)


def test_a_class_is_not_an_object():
    with pytest.raises(TypeError, match=r"write DBSCAN\(\) for DBSCAN"):
        as_clusterer(DBSCAN)


def test_copies_are_unfitted_and_independent():
    model = KMeans(5, random_state=1).fit(ROWS)
    copy = fresh_copy(model, n_clusters=2)
    assert copy.get_params() == {**model.get_params(), "n_clusters": 2}
    assert not hasattr(copy, "labels_")
    start = np.zeros((2, 2))
    nested = fresh_copy(KMeans(2, init=start), random_state=3)
    assert nested.init is not start
    np.testing.assert_array_equal(nested.init, start)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        fresh_copy(model, colour="red")
