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
    from holdfast.clusterers.adapt import Clusterer, Cuttable, as_clusterer, clnss
    from holdfast.clusterers.peers import (
        average_linkage,
        birch,
        bisecting_kmeans,
        complete_linkage,
        cut_linkage,
        hdbscan,
        kmeans,
        minibatch_kmeans,
        single_linkage,
        ward_linkage,
    )

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

_ADAPTED = ("Clusterer", "Cuttable", "as_clusterer", "clnss")


def __getattr__(name: str) -> Any:
    # Lazy, so that the command line can list the methods without loading scikit-learn.
    if name in __all__:
        home = "adapt" if name in _ADAPTED else "peers"
        return getattr(import_module(f"holdfast.clusterers.{home}"), name)
    raise AttributeError(f"module 'holdfast.clusterers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
