"""Linkages: exactly k clusters, the same as SciPy's own wherever those are defined."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist

from holdfast import clustering_distance
from holdfast.clusterers import METHODS
from holdfast.clusterers.linkage import LinkageClusterer, cut_linkage

LINKAGES = ("single", "complete", "average", "ward")
rng = np.random.RandomState(21)
SCATTERED = rng.standard_normal((60, 3))
TIED = np.stack(np.meshgrid(np.arange(5.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
REPEATED = rng.randint(0, 3, size=(40, 2)).astype(float)


@pytest.mark.parametrize("only_scipy", [False, True])
@pytest.mark.parametrize("method", LINKAGES)
def test_cuts_are_scipys_where_heights_differ(method, only_scipy):
    fitted = LinkageClusterer(method, only_scipy=only_scipy).fit(SCATTERED, 0)
    expected = linkage(SCATTERED, method=method)
    assert np.unique(expected[:, 2]).size == 59
    for k in range(1, 61):
        theirs = fcluster(expected, k, "maxclust")
        assert clustering_distance(fitted.cut(k), theirs) == 0.0


@pytest.mark.parametrize("only_scipy", [False, True])
@pytest.mark.parametrize(
    "rows", [TIED, REPEATED, np.zeros((7, 2))], ids=["tied", "repeated", "equal"]
)
@pytest.mark.parametrize("method", LINKAGES)
def test_cuts_have_exactly_k_nested_clusters_under_ties(method, rows, only_scipy):
    fitted = LinkageClusterer(method, only_scipy=only_scipy).fit(rows, 0)
    n = rows.shape[0]
    finer = fitted.cut(n)
    assert finer.dtype == np.int64
    for k in range(n, 0, -1):
        labels = fitted.cut(k)
        assert np.unique(labels).tolist() == list(range(k))
        # Nested: each finer cluster lies in one coarser.
        assert np.unique(np.stack((labels, finer)), axis=1).shape[1] == np.unique(finer).size
        finer = labels


def test_height_thresholds_would_not_do():
    merges = linkage(TIED, method="single")
    assert np.unique(fcluster(merges, 5, "maxclust")).size != 5
    assert np.unique(cut_linkage(merges, 5)).size == 5


def test_single_linkage_cuts_the_longest_edges():
    labels = METHODS["single"].build().fit(np.array([[0.0], [1], [2], [7], [8], [20]]), 0).cut(3)
    assert clustering_distance(labels, [0, 0, 0, 1, 1, 2]) == 0.0
    # Clusters of any cut are farther apart than any gap inside them.
    labels = METHODS["single"].build().fit(SCATTERED, 0).cut(4)
    between = cdist(SCATTERED, SCATTERED)[labels[:, None] != labels].min()
    inside = [
        linkage(SCATTERED[labels == label], "single")[:, 2].max()
        for label in range(4)
        if (labels == label).sum() > 1
    ]
    assert between >= max(inside)


def test_long_chains_and_single_rows():
    gaps = 1.0 + np.arange(2000) / 2000.0
    chain = np.cumsum(gaps)[:, None]
    fitted = METHODS["single"].build().fit(chain, 0)
    assert np.bincount(fitted.cut(2)).tolist() in ([1999, 1], [1, 1999])
    assert fitted.cut(1).tolist() == [0] * 2000
    assert METHODS["single"].build().fit(np.zeros((1, 2)), 0).cut(1).tolist() == [0]


@pytest.mark.parametrize("k", [0, 61, -1])
def test_impossible_cuts_are_named(k):
    with pytest.raises(ValueError, match=f"from 1 to 60.*got {k}"):
        METHODS["ward"].build().fit(SCATTERED, 0).cut(k)


def test_scipy_serves_where_fastcluster_is_missing(monkeypatch):
    monkeypatch.setattr("holdfast.clusterers.linkage.find_spec", lambda name: None)
    monkeypatch.setattr("holdfast.clusterers.linkage.import_module", None)
    labels = METHODS["ward"].build().fit(SCATTERED, 0).cut(5)
    assert clustering_distance(labels, fcluster(linkage(SCATTERED, "ward"), 5, "maxclust")) == 0.0
