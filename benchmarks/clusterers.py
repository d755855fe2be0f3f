"""Who is measured: ours, the peers and the naive loop, behind one call ``run(X, **options)``.

Each import happens inside its function: a process imports only the clusterer that it measures.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Clusterer:
    """A clusterer: its name in tables, the package that it needs, how it is run."""

    title: str
    package: str
    run: Callable[..., Any]


def run_holdfast(X: Array, **options: Any) -> Any:
    """Fit, validation and the labels of one cut included; the model, so that memory counts it."""
    from holdfast import HierarchicalKMedian

    model = HierarchicalKMedian(**options).fit(X)
    assert model.labels_.size == X.shape[0]
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


def run_naive(X: Array, **options: Any) -> Any:
    from naive import choose_all_centers

    return choose_all_centers(X, **options)


CLUSTERERS = {
    "holdfast": Clusterer("holdfast", "holdfast", run_holdfast),
    "genie": Clusterer("Genie", "genieclust", run_genie),
    "bisecting": Clusterer("BisectingKMeans", "sklearn", run_bisecting),
    "ward": Clusterer("Ward (fastcluster)", "fastcluster", run_ward),
    "naive": Clusterer("naive counting", "numpy", run_naive),
}
