"""Who clusters it: ours with both costs and several epsilons, and the peers, behind one protocol.

FasterPAM is GPL: this folder imports it, the package never does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from data import Array
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from holdfast import HierarchicalKMedian, clusterers
from holdfast.clusterers.adapt import KMedianClusterer
from holdfast.clusterers.protocol import Clusterer, Cuttable

KS = (4, 8, 16)
Labels = NDArray[np.integer]


@dataclass(frozen=True)
class Method:
    """A clusterer, made for one data set: some need its scale.

    `family` is what the figure draws alike.
    """

    name: str
    family: str
    build: Callable[[Array], Clusterer]


@dataclass(frozen=True)
class CutByCall:
    cut: Callable[[int], Labels]


@dataclass(frozen=True)
class FasterPAM:
    """k-medoids by swaps: the ceiling of quality, without any hierarchy."""

    name: str = "FasterPAM"
    randomized: bool = True
    hierarchical: bool = False

    def fit(self, X: Array, seed: int) -> Cuttable:
        import kmedoids

        distances = cdist(X, X)

        def cut(k: int) -> Labels:
            return np.asarray(
                kmedoids.fasterpam(distances, k, random_state=seed, n_cpu=1).labels, dtype=np.int64
            )

        return CutByCall(cut)


@dataclass(frozen=True)
class NearestHDBSCAN:
    """HDBSCAN with the `min_cluster_size` that gives about k clusters on the whole data.

    It cannot be asked for k clusters. Noise is a cluster of its own.
    """

    X: Array
    name: str = "HDBSCAN"
    randomized: bool = False
    hierarchical: bool = False

    @cached_property
    def sizes(self) -> dict[int, int]:
        """`min_cluster_size` for each k: the closest number of clusters, else the larger size."""
        tried = (60, 35, 20, 12, 8, 5, 3, 2)
        counts = [_hdbscan(self.X, size).max() + 1 for size in tried]
        return {k: tried[int(np.argmin([abs(count - k) for count in counts]))] for k in KS}

    def fit(self, X: Array, seed: int) -> Cuttable:
        return CutByCall(lambda k: _hdbscan(X, self.sizes[k]))


def _hdbscan(X: Array, size: int) -> Labels:
    from sklearn.cluster import HDBSCAN

    labels: Labels = HDBSCAN(min_cluster_size=size, copy=True).fit(X).labels_
    return labels


def build_birch(X: Array) -> Clusterer:
    """BIRCH with a threshold on the scale of the data: its default of 0.5 suits one scale only."""
    spread = float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
    return clusterers.birch(threshold=0.1 * spread)


def _ours(name: str, family: str, **parameters: object) -> Method:
    model = HierarchicalKMedian(**parameters)  # type: ignore[arg-type]
    return Method(name, family, lambda X: KMedianClusterer(model, name, max(KS)))


def _peer(name: str, family: str, construct: Callable[..., Clusterer]) -> Method:
    return Method(name, family, lambda X: construct())


METHODS = (
    _ours("euclidean, greedy", "euclidean", method="medoids", epsilon=0.0),
    _ours("euclidean (eps 0.05)", "euclidean", method="medoids"),
    _ours("euclidean, eps 1", "euclidean", method="medoids", epsilon=1.0),
    _ours("refined, greedy", "refined", method="means", epsilon=0.0),
    _ours("refined (eps 0.01)", "refined", method="means"),
    _ours("tree, eps 0.1", "tree", method="tree", epsilon=0.1),
    _ours("tree (eps 1)", "tree", method="tree"),
    _ours("tree, eps 10", "tree", method="tree", epsilon=10.0),
    _peer("CLNSS", "tree peer", clusterers.clnss),
    _peer("single", "linkage", clusterers.single_linkage),
    _peer("complete", "linkage", clusterers.complete_linkage),
    _peer("average", "linkage", clusterers.average_linkage),
    _peer("Ward", "linkage", clusterers.ward_linkage),
    _peer("BisectingKMeans", "flat", clusterers.bisecting_kmeans),
    _peer("KMeans", "flat", clusterers.kmeans),
    Method("Birch", "flat", build_birch),
    Method("HDBSCAN", "density", NearestHDBSCAN),
    _peer("FasterPAM", "flat", FasterPAM),
)
REFERENCE = "Ward"
OURS = ("euclidean", "refined", "tree")
