"""The clusterers that stand beside each other on the page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sklearn.base import clone

from holdfast.clusterers import METHODS, Clusterer, as_clusterer
from holdfast.clusterers.protocol import Rows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy

__all__ = ["DEFAULT_METHODS", "METHODS", "OURS", "AtSeed", "resolve_methods"]

OURS = "holdfast"
"""The clustering on the page."""

DEFAULT_METHODS = ("other_cost", "ward", "average", "complete", "single", "bisecting_kmeans")


@dataclass(frozen=True)
class AtSeed:
    """An estimator that keeps its own seed, whatever it is given: the clustering on the page.

    Attributes
    ----------
    estimator : HierarchicalKMedian
    """

    estimator: HierarchicalKMedian
    name: str = OURS
    randomized: bool = field(default=False, init=False)
    hierarchical: bool = field(default=True, init=False)

    def fit(self, X: Rows, seed: int) -> Hierarchy:
        """Fit with the estimator's own seed."""
        hierarchy: Hierarchy = clone(self.estimator).set_params(n_clusters=1).fit(X).hierarchy_
        return hierarchy


def resolve_methods(methods: Any, estimator: HierarchicalKMedian) -> dict[str, Clusterer]:
    """Name -> clusterer, the estimator first.

    Parameters
    ----------
    methods : sequence of str, mapping of str to clusterer, or None
        Names of `METHODS`, and "other_cost": the estimator with the cost that it does not have.
        "ours" is always there. None is `DEFAULT_METHODS`.
    estimator : HierarchicalKMedian
    """
    found: dict[str, Clusterer] = {OURS: as_clusterer(estimator, name=OURS)}
    if isinstance(methods, Mapping):
        for name, clusterer in methods.items():
            if name == OURS:
                raise ValueError(f"{OURS!r} is the name of the report's own clustering; rename it.")
            found[str(name)] = as_clusterer(clusterer)
        return found
    for short in DEFAULT_METHODS if methods is None else methods:
        if short == "other_cost":
            name, clusterer = _other_cost(estimator)
            found[name] = clusterer
        elif short in METHODS:
            found[METHODS[short].title] = METHODS[short].build()
        elif short != "ours":
            raise ValueError(
                f"methods must be among ours, other_cost, {', '.join(METHODS)}, or a mapping of "
                f"names to clusterers; got {short!r}."
            )
    return found


def _other_cost(estimator: HierarchicalKMedian) -> tuple[str, Clusterer]:
    method: Literal["tree", "medoids"] = "medoids" if estimator.method == "tree" else "tree"
    other = HierarchicalKMedian(
        estimator.n_clusters, method=method, max_centers=estimator.max_centers
    )
    name = f"{OURS}, {method}"
    return name, as_clusterer(other, name=name)
