"""Who is measured: holdfast, its peers and the naive loop, behind one call ``run(X, **options)``.

Each import happens inside its function: a process imports only the clusterer that it measures.
"""

import copy
import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NAIVE_LEVELS = 50


@dataclass(frozen=True)
class Clusterer:
    """A clusterer: its name in tables, the package that it needs, how it is run."""

    title: str
    package: str
    run: Callable[..., Any]
    prepare: Callable[..., Any] | None = None
    """Makes of the rows what `run` gets in their place; not measured."""
    module: str = ""
    """What `run` imports, if that is not the package itself."""

    def load(self) -> None:
        importlib.import_module(self.module or self.package)


def run_holdfast(X: Array, **options: Any) -> Any:
    """Fit, validation and the labels of one cut included; the model, so that memory counts it."""
    from holdfast import HierarchicalKMedian

    model = HierarchicalKMedian(**options).fit(X)
    assert model.labels_.size == X.shape[0]
    return model


def prepare_update(X: Array, change: str, later: bool, ask: str, **options: Any) -> Any:
    """A model, and a thousand rows to be added to it or removed.

    The model comes straight from its fit, or has been asked after an earlier update.
    """
    from holdfast import HierarchicalKMedian

    few = min(1000, X.shape[0] // 2)
    held = X if change == "remove" else X[:-few]
    model = HierarchicalKMedian(**options).fit(held)
    if later:
        model.forget(held[:1]).partial_fit(held[:1])
        assert model.labels_.size == held.shape[0]
    return model, X[-few:]


def run_update(prepared: Any, change: str, later: bool, ask: str, **options: Any) -> Any:
    """Change the rows; ask for nothing, ``cut(100)`` or every cut. What a model holds is immutable."""
    model, rows = copy.copy(prepared[0]), prepared[1]
    model = model.forget(rows) if change == "remove" else model.partial_fit(rows)
    if ask != "nothing":
        model.hierarchy_.cut(100)
    if ask == "every cut":
        assert model.hierarchy_.costs.size == model.hierarchy_.n_centers
    return model


def run_genie(X: Array, **options: Any) -> Any:
    from genieclust import Genie

    return Genie(**options).fit(X).labels_


def run_bisecting(X: Array, **options: Any) -> Any:
    from sklearn.cluster import BisectingKMeans

    return BisectingKMeans(random_state=0, **options).fit(X).labels_


def run_ward(X: Array) -> Any:
    """Only the linkage matrix; no labels are cut from it."""
    from fastcluster import linkage_vector

    return linkage_vector(X, method="ward")


def run_naive(X: Array, *, epsilon: float = 1.0) -> Any:
    """Choose all centers by [LHBP25], Alg. 2, as it is written: O(n^3) time, O(n^2) memory.

    n rounds, n candidates a round, n distances a candidate. The candidates of one round are one
    NumPy expression, the fastest way to count like this.
    """
    n = X.shape[0]
    generator = np.random.default_rng(0)
    distances = measure_tree(X, generator)
    nearest = np.full(n, 2.0 * distances.max())
    free = np.ones(n, dtype=np.bool_)
    centers = np.empty(n, dtype=np.int64)
    for t in range(n):
        costs = np.minimum(distances, nearest).sum(axis=1)
        costs[~free] = np.inf
        best = costs.min()
        scale = epsilon * best / (generator.uniform(3.0, 6.0) * math.log(max(n, 2)))
        chances = np.exp((best - costs) / scale) if scale > 0.0 else (costs == best).astype(float)
        center = int(generator.choice(n, p=chances / chances.sum()))
        centers[t], free[center] = center, False
        nearest = np.minimum(nearest, distances[center])
    return centers


def measure_tree(X: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Distances of all pairs of rows on a randomly shifted tree, [LHBP25], Alg. 4."""
    n, d = X.shape
    side = float(np.ptp(X, axis=0).max()) or 1.0
    offset = X - X.min(axis=0) + generator.uniform(0.0, side, size=d)
    side *= 2.0
    distances = np.full((n, n), 4.0 * math.sqrt(d) * side)
    for _ in range(NAIVE_LEVELS):
        _, cell = np.unique(np.floor(offset / side), axis=0, return_inverse=True)
        same = cell[:, None] == cell[None, :]
        distances[same] = 2.0 * math.sqrt(d) * side
        if same.sum() == n:
            break
        side /= 2.0
    np.fill_diagonal(distances, 0.0)
    return distances


def run_deletions(X: Array) -> Any:
    """Exact average sensitivity: every row deleted in turn."""
    from holdfast import HierarchicalKMedian, average_sensitivity

    return average_sensitivity(
        HierarchicalKMedian(method="tree"),
        X,
        n_clusters=[2, 4, 8, 16],
        delete=[1],
        trials="all",
        repeats=1,
    )


def run_audit(X: Array, method: str) -> Any:
    """Sensitivity of a peer, one process: 41 fits and what is added to them."""
    from holdfast import average_sensitivity, clusterers

    peer = clusterers.METHODS[method].build()
    return average_sensitivity(peer, X, n_clusters=[16], delete=[1], trials=40, repeats=1, n_jobs=1)


def run_refits(X: Array, method: str) -> Any:
    """The same 41 fits and cuts by the peer's own functions, on one thread as there."""
    import fastcluster
    from scipy.cluster.hierarchy import fcluster
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    from holdfast.stability.plan import repeat_seeds

    seed = int(repeat_seeds(0, 1)[0])  # as there: iterations depend on it
    labels = []
    with threadpool_limits(1):
        for row in range(-1, 40):
            rows = X if row < 0 else np.delete(X, row, axis=0)
            if method == "kmeans":
                labels.append(KMeans(16, random_state=seed).fit(rows).labels_)
                continue
            if method == "ward":
                merges = fastcluster.linkage_vector(rows, method=method)
            else:
                merges = fastcluster.linkage(rows, method=method)
            labels.append(fcluster(merges, 16, "maxclust"))
    return labels


CLUSTERERS = {
    "holdfast": Clusterer("holdfast", "holdfast", run_holdfast, module="holdfast.estimator"),
    "update": Clusterer("holdfast", "holdfast", run_update, prepare_update),
    "genie": Clusterer("Genie", "genieclust", run_genie),
    "bisecting": Clusterer("BisectingKMeans", "sklearn", run_bisecting, module="sklearn.cluster"),
    "ward": Clusterer("Ward (fastcluster)", "fastcluster", run_ward),
    "deletions": Clusterer("holdfast", "holdfast", run_deletions),
    "audit": Clusterer("average_sensitivity", "fastcluster", run_audit),
    "refits": Clusterer("bare refits", "fastcluster", run_refits),
    "naive": Clusterer("naive counting", "numpy", run_naive),
}
