"""Clusterers of other packages behind the one protocol: `make peers` installs them and runs this.

They are not needed by `make test`, which does not collect this folder. A missing package is an error
here, not a skipped test. Leiden comes from graspologic-native, whose licence is MIT; leidenalg and
igraph are GPL and therefore left out.
"""

import evoc
import fast_hdbscan
import graspologic_native
import hdbscan
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, OPTICS
from sklearn.datasets import load_wine
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from holdfast import average_sensitivity, cluster_stability, clustering_distance

WINE = StandardScaler().fit_transform(load_wine().data)
FEW = WINE[::4]
ONCE = {"trials": 4, "repeats": 2, "n_jobs": 1}


def leiden(X: NDArray[np.float64], k: int | None, seed: int) -> NDArray[np.int64]:
    """Communities of the graph of nearest neighbors; their number is not asked for."""
    graph = kneighbors_graph(X, 10).tocoo()
    pairs = [(str(i), str(j), 1.0) for i, j in zip(graph.row, graph.col, strict=True)]
    found = graspologic_native.leiden(pairs, seed=seed)[1]
    return np.array([found[str(i)] for i in range(X.shape[0])])


STEADY = {
    "HDBSCAN of scikit-learn": HDBSCAN(min_cluster_size=5, copy=True),
    "OPTICS of scikit-learn": OPTICS(min_samples=4),
    "hdbscan": hdbscan.HDBSCAN(min_cluster_size=5),
    "fast_hdbscan": fast_hdbscan.HDBSCAN(min_cluster_size=5),
}
RANDOM = {"EVoC": evoc.EVoC(base_min_cluster_size=5), "Leiden": leiden}


@pytest.mark.parametrize("name", STEADY)
def test_movement_is_that_of_fits_by_hand(name):
    clusterer = STEADY[name]
    result = average_sensitivity(clusterer, FEW, trials="all", n_jobs=1)
    whole = clone(clusterer).fit_predict(FEW)
    by_hand = [
        clustering_distance(
            np.delete(whole, i), clone(clusterer).fit_predict(np.delete(FEW, i, axis=0))
        )
        for i in range(len(FEW))
    ]
    assert result.n_clusters == (0,)
    assert result.mean.item() == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert len(set(whole)) > 1


@pytest.mark.parametrize("name", RANDOM)
def test_the_seed_decides_where_there_is_chance(name):
    first, again = (average_sensitivity(RANDOM[name], WINE, delete=5, **ONCE) for _ in range(2))
    np.testing.assert_array_equal(first.matched, again.matched)
    other = average_sensitivity(RANDOM[name], WINE, delete=5, random_state=1, **ONCE)
    assert not np.array_equal(first.matched, other.matched)
    assert 0.0 < first.mean.item() < 1.0
    assert first.found.min() >= 2.0


@pytest.mark.parametrize("name", ["hdbscan", "fast_hdbscan"])
def test_noise_is_no_cluster(name):
    found = cluster_stability(STEADY[name], FEW, None, trials=5, n_jobs=1)
    labels = clone(STEADY[name]).fit_predict(FEW)
    assert (labels == -1).any()
    np.testing.assert_array_equal(found.labels, labels)
    assert found.jaccard.size == labels.max() + 1
