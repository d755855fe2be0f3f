"""Every clusterer behind one protocol: ``fit(X, seed)``, then ``cut(k)``.

Data flow: whatever a user has (our estimator, scikit-learn's, an object, a function) ->
`as_clusterer` -> `Clusterer`; ready-made peers come from the constructors. `holdfast.stability`
sees nothing but the protocol.

Invariants: `fit` never changes the object it was made from, and the result depends on the rows and
the seed only. Cuts of linkages have exactly k clusters, ties or not.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from holdfast.clusterers.adapt import as_clusterer
from holdfast.clusterers.flat import birch, bisecting_kmeans, hdbscan, kmeans
from holdfast.clusterers.k_median import clnss
from holdfast.clusterers.linkage import (
    average_linkage,
    complete_linkage,
    cut_linkage,
    single_linkage,
    ward_linkage,
)
from holdfast.clusterers.protocol import Clusterer, Cuttable

__all__ = [
    "CONSTRUCTORS",
    "Clusterer",
    "Cuttable",
    "as_clusterer",
    "average_linkage",
    "birch",
    "bisecting_kmeans",
    "clnss",
    "complete_linkage",
    "cut_linkage",
    "hdbscan",
    "kmeans",
    "single_linkage",
    "ward_linkage",
]

CONSTRUCTORS: Mapping[str, Callable[[], Clusterer]] = MappingProxyType(
    {
        "single": single_linkage,
        "complete": complete_linkage,
        "average": average_linkage,
        "ward": ward_linkage,
        "bisecting_kmeans": bisecting_kmeans,
        "kmeans": kmeans,
        "birch": birch,
        "hdbscan": hdbscan,
        "clnss": clnss,
    }
)
"""All ready-made peers by name, for loops over them."""
