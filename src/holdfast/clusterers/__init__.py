"""Every clusterer behind one protocol: ``fit(X, seed)``, then ``cut(k)``.

Data flow: a method's name -> `METHODS` -> `Clusterer`; anything else that clusters (an estimator of
this library or of scikit-learn, an object, a function) -> `as_clusterer` -> `Clusterer`.
`holdfast.stability` knows nothing but the protocol.

Invariants: `fit` never changes the object it was made from, and the result depends on the rows and
the seed only. Cuts of linkages have exactly k clusters, with or without ties.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.clusterers.registry import METHODS, Method

if TYPE_CHECKING:
    from holdfast.clusterers.adapt import as_clusterer, clnss
    from holdfast.clusterers.flat import birch, bisecting_kmeans, hdbscan, kmeans, minibatch_kmeans
    from holdfast.clusterers.linkage import (
        average_linkage,
        complete_linkage,
        cut_linkage,
        single_linkage,
        ward_linkage,
    )
    from holdfast.clusterers.protocol import Clusterer, Cuttable

__all__ = [
    "METHODS",
    "Clusterer",
    "Cuttable",
    "Method",
    "as_clusterer",
    "average_linkage",
    "birch",
    "bisecting_kmeans",
    "clnss",
    "complete_linkage",
    "cut_linkage",
    "hdbscan",
    "kmeans",
    "minibatch_kmeans",
    "single_linkage",
    "ward_linkage",
]

_HOMES = {
    **dict.fromkeys(("as_clusterer", "clnss"), "adapt"),
    **dict.fromkeys(("birch", "bisecting_kmeans", "hdbscan", "kmeans", "minibatch_kmeans"), "flat"),
    **dict.fromkeys(("average_linkage", "complete_linkage", "cut_linkage"), "linkage"),
    **dict.fromkeys(("single_linkage", "ward_linkage"), "linkage"),
    **dict.fromkeys(("Clusterer", "Cuttable"), "protocol"),
}


def __getattr__(name: str) -> Any:
    # Lazy, so that the command line can list the methods without loading scikit-learn.
    if name in _HOMES:
        return getattr(import_module(f"holdfast.clusterers.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'holdfast.clusterers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
