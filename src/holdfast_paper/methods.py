"""The methods that the paper's figures compare: those of the registry, and variants of the tree."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.clusterers import Clusterer, as_clusterer
from holdfast.clusterers.registry import METHODS as REGISTRY
from holdfast.estimator import HierarchicalKMedian
from holdfast_paper.fixed_tree import FixedTreeClusterer, RebuiltTreeClusterer
from holdfast_paper.unshifted import UnshiftedKMedian

__all__ = ["METHODS", "Method", "build_clusterer", "build_estimator"]


@dataclass(frozen=True)
class Method:
    """One line of a figure.

    Attributes
    ----------
    base : str
        Its name in the registry.
    epsilon : float or None
        Of the tree; None for the base's own.
    shifted : bool
        Whether the grid of the tree is shifted at random.
    effort : float
        About how many seconds a fit of a million rows would take if time were linear. Only the time
        left is estimated from it.
    """

    base: str
    epsilon: float | None = None
    shifted: bool = True
    effort: float = 4.0

    @property
    def title(self) -> str:
        """The name in tables and figures."""
        epsilon = "" if self.epsilon is None else f", ε={self.epsilon:g}"
        return REGISTRY[self.base].title + epsilon + ("" if self.shifted else ", no shift")

    @property
    def is_tree(self) -> bool:
        """Whether it works on the randomly shifted tree."""
        return self.base in ("tree", "clnss")

    @property
    def is_deterministic(self) -> bool:
        """Whether all seeds give the same clusters."""
        return self.base in ("single", "complete", "average", "ward") or not self.shifted


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "tree_1": Method("tree", 1.0),
        "tree_10": Method("tree", 10.0),
        "tree_100": Method("tree", 100.0),
        "tree_1000": Method("tree", 1000.0),
        "clnss": Method("clnss"),
        "clnss_unshifted": Method("clnss", shifted=False),
        "medoids": Method("medoids", effort=120.0),
        "means": Method("means", effort=120.0),
        "single": Method("single", effort=10.0),
        "complete": Method("complete", effort=40.0),
        "average": Method("average", effort=40.0),
        "ward": Method("ward", effort=25.0),
    }
)
"""All methods by the name that configuration files use."""

RootBox = tuple[NDArray[np.float64], float]


def build_estimator(name: str, root_box: RootBox | None = None) -> HierarchicalKMedian:
    """Build the estimator of one of this library's methods.

    Parameters
    ----------
    name : str
    root_box : tuple of (corner, side) or None
        The root cube of the tree without a random shift.
    """
    method = METHODS[name]
    epsilon: Any = method.epsilon
    if epsilon is None:
        epsilon = 0.0 if method.base == "clnss" else "auto"
    if not method.shifted:
        return UnshiftedKMedian(1, epsilon=epsilon, root_box=root_box)
    if method.is_tree:
        return HierarchicalKMedian(1, method="tree", epsilon=epsilon)
    return HierarchicalKMedian(1, method=method.base, epsilon=epsilon)  # type: ignore[arg-type]


def build_clusterer(
    name: str,
    X: NDArray[np.float64],
    max_clusters: int,
    *,
    root_box: RootBox | None = None,
    fixed_tree: bool = False,
) -> Clusterer:
    """Build the clusterer of a method.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    X : ndarray of shape (n_rows, n_features), dtype float64
        All rows; their bounds place the fixed tree.
    max_clusters : int
        The largest k that will be cut.
    root_box : tuple of (corner, side) or None
        The root cube of the tree without a random shift.
    fixed_tree : bool, default=False
        Whether the tree is that of all rows, whichever rows are fitted.
    """
    method = METHODS[name]
    if method.base not in ("tree", "clnss", "medoids", "means"):
        return REGISTRY[method.base].build()
    estimator = build_estimator(name, root_box)
    if not method.is_tree:
        return as_clusterer(estimator, name=method.title, max_clusters=max_clusters)
    settings = estimator.set_params(max_centers=max_clusters)._settings_for(X)
    if fixed_tree:
        return FixedTreeClusterer(settings, method.title, X.min(axis=0), X.max(axis=0))
    return RebuiltTreeClusterer(settings, method.title)
