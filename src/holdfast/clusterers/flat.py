"""Clusterers of scikit-learn with their defaults.

Imported on use: `sklearn.cluster` takes half a second to load, in every worker process.
"""

from typing import Any

from holdfast.clusterers.adapt import EstimatorClusterer, adapt_estimator

__all__ = ["birch", "bisecting_kmeans", "hdbscan", "kmeans", "minibatch_kmeans"]


def kmeans(**parameters: Any) -> EstimatorClusterer:
    """Lloyd's k-means; `parameters` are those of `sklearn.cluster.KMeans`."""
    from sklearn.cluster import KMeans

    return adapt_estimator(KMeans(**parameters), "k-means")


def minibatch_kmeans(**parameters: Any) -> EstimatorClusterer:
    """k-means on random batches of rows, for large data.

    `parameters` are those of `sklearn.cluster.MiniBatchKMeans`.
    """
    from sklearn.cluster import MiniBatchKMeans

    return adapt_estimator(MiniBatchKMeans(**parameters), "mini-batch k-means")


def bisecting_kmeans(**parameters: Any) -> EstimatorClusterer:
    """Bisecting k-means, fitted once per k.

    `parameters` are those of `sklearn.cluster.BisectingKMeans`.
    """
    from sklearn.cluster import BisectingKMeans

    return adapt_estimator(BisectingKMeans(**parameters), "bisecting k-means")


def birch(**parameters: Any) -> EstimatorClusterer:
    """BIRCH; `parameters` are those of `sklearn.cluster.Birch`.

    Gives fewer than k clusters if its `threshold` leaves fewer subclusters.
    """
    from sklearn.cluster import Birch

    return adapt_estimator(Birch(**parameters), "BIRCH")


def hdbscan(**parameters: Any) -> EstimatorClusterer:
    """HDBSCAN, which chooses the number of clusters; noise is a cluster of its own.

    `parameters` are those of `sklearn.cluster.HDBSCAN`.
    """
    from sklearn.cluster import HDBSCAN

    return adapt_estimator(HDBSCAN(**{"copy": True, **parameters}), "HDBSCAN")
