"""Who clusters it: the methods of the registry, some with other epsilons, and a few more peers.

FasterPAM is GPL: this folder imports it, the package never does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from data import LARGE, Array, Data
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from holdfast import HierarchicalKMedian
from holdfast.clusterers import METHODS as REGISTRY
from holdfast.clusterers.adapt import Clusterer, Cuttable, KMedianClusterer

HOLDFAST = ("means", "medoids", "tree")
Labels = NDArray[np.integer]
Build = Callable[[Array, tuple[int, ...]], Clusterer]


@dataclass(frozen=True)
class Method:
    """A clusterer, built for the rows and the ks of one data set.

    Attributes
    ----------
    name : str
    title : str
        For tables and figures.
    look : str
        What the figure draws it as: a name of `holdfast_paper.style.LOOKS`.
    build : callable
    small, large : bool
        Whether it clusters the small tables, and the large ones.
    package : str
        What it needs besides scikit-learn; "" for nothing.
    """

    name: str
    title: str
    look: str
    build: Build
    small: bool = True
    large: bool = False
    package: str = ""

    @property
    def is_peer(self) -> bool:
        return self.look not in HOLDFAST

    def clusters(self, data: Data) -> bool:
        return self.large if LARGE in data.groups else self.small


@dataclass(frozen=True)
class CutByCall:
    cut: Callable[[int], Labels]


@dataclass(frozen=True)
class FasterPAM:
    """k-medoids by swaps: the ceiling of quality, without a hierarchy."""

    name: str = "FasterPAM"
    randomized: bool = True
    hierarchical: bool = False

    def fit(self, X: Array, seed: int) -> Cuttable:
        import kmedoids

        distances = cdist(X, X)

        def cut(k: int) -> Labels:
            found = kmedoids.fasterpam(distances, k, random_state=seed, n_cpu=1)
            return np.asarray(found.labels, dtype=np.int64)

        return CutByCall(cut)


@dataclass(frozen=True)
class NearestDensity:
    """HDBSCAN with the `min_cluster_size` that gives about k clusters on all rows.

    It cannot be asked for k clusters. Noise is a cluster of its own.
    """

    X: Array
    ks: tuple[int, ...]
    fit_labels: Callable[[Array, int], Labels]
    tried: tuple[int, ...]
    name: str = "HDBSCAN"
    randomized: bool = False
    hierarchical: bool = False

    @cached_property
    def sizes(self) -> dict[int, int]:
        """`min_cluster_size` for each k: the closest number of clusters, else the larger size."""
        counts = [self.fit_labels(self.X, size).max() + 1 for size in self.tried]
        return {k: self.tried[int(np.argmin([abs(n - k) for n in counts]))] for k in self.ks}

    def fit(self, X: Array, seed: int) -> Cuttable:
        return CutByCall(lambda k: self.fit_labels(X, self.sizes[k]))


def _hdbscan(X: Array, size: int) -> Labels:
    from sklearn.cluster import HDBSCAN

    labels: Labels = HDBSCAN(min_cluster_size=size, copy=True).fit(X).labels_
    return labels


def _fast_hdbscan(X: Array, size: int) -> Labels:
    from fast_hdbscan import HDBSCAN

    labels: Labels = HDBSCAN(min_cluster_size=size).fit_predict(X)
    return labels


@dataclass(frozen=True)
class Evoc:
    """EVoC, asked for about k clusters; noise is a cluster of its own."""

    name: str = "EVoC"
    randomized: bool = True
    hierarchical: bool = False

    def fit(self, X: Array, seed: int) -> Cuttable:
        from evoc import EVoC

        rows = X.astype(np.float32)

        def cut(k: int) -> Labels:
            model = EVoC(approx_n_clusters=k, random_state=seed % 2**31)
            return np.asarray(model.fit_predict(rows), dtype=np.int64)

        return CutByCall(cut)


def _build_birch(X: Array, ks: tuple[int, ...]) -> Clusterer:
    """BIRCH with a threshold on the scale of the data: its default of 0.5 suits one scale only."""
    spread = float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
    return REGISTRY["birch"].build(threshold=0.1 * spread)


def _holdfast(method: str, epsilon: float | None = None, large: bool = False) -> Method:
    parameters: dict[str, Any] = {"method": method}
    name, title = method, REGISTRY[method].title
    if epsilon is not None:
        parameters["epsilon"] = epsilon
        name, title = f"{name}_{epsilon:g}", f"{title}, ε={epsilon:g}"
    model = HierarchicalKMedian(1, **parameters)
    return Method(
        name, title, method, lambda X, ks: KMedianClusterer(model, title, max(ks)), large=large
    )


def _registered(name: str, small: bool = True, large: bool = False) -> Method:
    known = REGISTRY[name]
    return Method(name, known.title, name, lambda X, ks: known.build(), small, large)


METHODS = (
    _holdfast("means", 0.0),
    _holdfast("means", large=True),
    _holdfast("medoids", 0.0),
    _holdfast("medoids"),
    _holdfast("medoids", 1.0),
    _holdfast("tree", 0.1),
    _holdfast("tree"),
    _holdfast("tree", 10.0),
    _registered("clnss"),
    _registered("single"),
    _registered("complete"),
    _registered("average"),
    _registered("ward"),
    _registered("bisecting_kmeans", large=True),
    _registered("kmeans", large=True),
    _registered("minibatch_kmeans", small=False, large=True),
    Method("birch", REGISTRY["birch"].title, "birch", _build_birch),
    Method(
        "hdbscan",
        REGISTRY["hdbscan"].title,
        "hdbscan",
        partial(NearestDensity, fit_labels=_hdbscan, tried=(60, 35, 20, 12, 8, 5, 3, 2)),
    ),
    Method("fasterpam", "FasterPAM", "fasterpam", lambda X, ks: FasterPAM()),
    Method(
        "fast_hdbscan",
        "fast_hdbscan",
        "fast_hdbscan",
        partial(NearestDensity, fit_labels=_fast_hdbscan, tried=(800, 200, 50, 15, 5)),
        small=False,
        large=True,
        package="fast_hdbscan",
    ),
    Method("evoc", "EVoC", "evoc", lambda X, ks: Evoc(), small=False, large=True, package="evoc"),
)
"""All methods; those of this library first."""


def installed(package: str) -> bool:
    return not package or find_spec(package) is not None
