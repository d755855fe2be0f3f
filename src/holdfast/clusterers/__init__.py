"""Every clusterer behind one protocol: ``fit(X, seed)``, then ``cut(k)``.

Data flow: a method's name -> `METHODS` -> `Clusterer`; anything else that clusters (an estimator of
this library or of scikit-learn, an object, a function) -> `as_clusterer` -> `Clusterer`.
`holdfast.stability` knows nothing but the protocol. The command line, the report, the experiments
and the benchmarks take names and titles from `METHODS`. Importing this package loads nothing else;
building a method imports what it needs.

Invariants: `fit` never changes the object it was made from, and the result depends on the rows and
the seed only. Cuts of linkages have exactly k clusters, with or without ties.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.clusterers.adapt import Clusterer, Cuttable, as_clusterer

__all__ = [
    "COMPARED_METHODS",
    "HOLDFAST_METHODS",
    "METHODS",
    "Clusterer",
    "Cuttable",
    "Method",
    "as_clusterer",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that the command line can list the methods without loading scikit-learn.
    if name in __all__:
        return getattr(import_module("holdfast.clusterers.adapt"), name)
    raise AttributeError(f"module 'holdfast.clusterers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@dataclass(frozen=True)
class Method:
    """A clustering method with its default parameters.

    Attributes
    ----------
    name : str
        The name in Python, on the command line and in files.
    title : str
        The name in tables, figures and pages.
    build : callable
        ``build()`` returns the `Clusterer`; parameters are those of the estimator or linkage.
    quadratic : bool
        Whether the method stores a distance for every pair of rows.
    by_distance : callable or None
        Returns the `Clusterer` of precomputed distances; None if the method needs columns.
    sparse : bool
        Whether the method takes sparse rows.
    """

    name: str
    title: str
    build: "Callable[..., Clusterer]"
    quadratic: bool = False
    by_distance: "Callable[[], Clusterer] | None" = None
    sparse: bool = False


def _holdfast(name: str, title: str, **parameters: Any) -> Method:
    def build(**more: Any) -> "Clusterer":
        from holdfast.clusterers.adapt import as_clusterer
        from holdfast.estimator import HierarchicalKMedian

        return as_clusterer(HierarchicalKMedian(1, **parameters, **more), name=title)

    by_distance = partial(build, metric="precomputed") if name == "medoids" else None
    return Method(name, title, build, by_distance=by_distance, sparse=name == "means")


def _linkage(name: str, title: str, *, quadratic: bool = False) -> Method:
    def build(**parameters: bool) -> "Clusterer":
        from holdfast.clusterers.linkage import LinkageClusterer

        return LinkageClusterer(name, **parameters)

    by_distance = None if name == "ward" else partial(build, precomputed=True)
    return Method(name, title, build, quadratic, by_distance)


def _of_sklearn(name: str, title: str, estimator: str, *, sparse: bool = False) -> Method:
    defaults = {"copy": True} if estimator == "HDBSCAN" else {}

    def build(**parameters: Any) -> "Clusterer":
        from holdfast.clusterers.adapt import adapt_estimator

        kind = getattr(import_module("sklearn.cluster"), estimator)
        return adapt_estimator(kind(**{**defaults, **parameters}), title)

    return Method(name, title, build, sparse=sparse)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            _holdfast("means", "holdfast means", method="means"),
            _holdfast("medoids", "holdfast medoids", method="medoids"),
            _holdfast("tree", "holdfast tree", method="tree"),
            _holdfast("clnss", "CLNSS", method="tree", epsilon=0),
            _linkage("ward", "Ward linkage"),
            _linkage("average", "average linkage", quadratic=True),
            _linkage("complete", "complete linkage", quadratic=True),
            _linkage("single", "single linkage"),
            _of_sklearn("bisecting_kmeans", "bisecting k-means", "BisectingKMeans", sparse=True),
            _of_sklearn("kmeans", "k-means", "KMeans", sparse=True),
            _of_sklearn("minibatch_kmeans", "mini-batch k-means", "MiniBatchKMeans", sparse=True),
            _of_sklearn("birch", "BIRCH", "Birch"),
            _of_sklearn("hdbscan", "HDBSCAN", "HDBSCAN"),
        )
    }
)
"""All methods by name."""

HOLDFAST_METHODS = ("means", "medoids", "tree")
"""Those of `HierarchicalKMedian`."""

COMPARED_METHODS = (
    *HOLDFAST_METHODS, "ward", "average", "complete", "single", "bisecting_kmeans",
)  # fmt: skip
"""The methods that an audit and a report compare unless told otherwise."""
