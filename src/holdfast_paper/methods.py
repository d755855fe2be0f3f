"""The methods that figures compare: what each one is, and how it looks in every figure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from holdfast.clusterers import (
    Clusterer,
    as_clusterer,
    average_linkage,
    complete_linkage,
    single_linkage,
    ward_linkage,
)
from holdfast.estimator import HierarchicalKMedian
from holdfast_paper.fixed_tree import FixedTreeClusterer, RebuiltTreeClusterer
from holdfast_paper.inputs import Input
from holdfast_paper.unshifted import UnshiftedKMedian

__all__ = ["METHODS", "Method", "build_clusterer", "build_estimator"]

_LINKAGES = {
    "single": single_linkage,
    "complete": complete_linkage,
    "average": average_linkage,
    "ward": ward_linkage,
}


@dataclass(frozen=True)
class Method:
    """One line of a figure.

    Attributes
    ----------
    label : str
    parameters : dict or None
        Of `HierarchicalKMedian`; None for a linkage.
    color, marker : str
        Colors are told apart with any kind of color vision (Okabe and Ito; the epsilons from dark
        to light); markers and dashes tell the lines apart in grey.
    dashes : tuple
        As matplotlib takes them; empty for a solid line.
    effort : float
        Rough seconds of a fit of a million rows, were time linear; only for the time left.
    """

    label: str
    parameters: Mapping[str, Any] | None
    color: str
    marker: str
    dashes: tuple[float, ...] = ()
    effort: float = 4.0

    @property
    def is_tree(self) -> bool:
        """Whether it works on the tree cost."""
        return self.parameters is not None and self.parameters.get("method", "tree") == "tree"


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "alg2_1": Method("Alg. 2, ε=1", {"epsilon": 1.0}, "#08306B", "o"),
        "alg2_10": Method("Alg. 2, ε=10", {"epsilon": 10.0}, "#0072B2", "s", (5, 1.5)),
        "alg2_100": Method("Alg. 2, ε=100", {"epsilon": 100.0}, "#3E9BDB", "*", (2, 1.5)),
        "alg2_1000": Method("Alg. 2, ε=1000", {"epsilon": 1000.0}, "#7CC0EE", "D", (1, 1)),
        "clnss": Method("CLNSS", {"epsilon": 0.0}, "#009E73", "^"),
        "clnss_unshifted": Method(
            "CLNSS, no shift", {"epsilon": 0.0}, "#004D3B", "x", (4, 1, 1, 1)
        ),
        "euclidean": Method("medoids", {"method": "medoids"}, "#D55E00", "P", effort=120.0),
        "single": Method("single", None, "#000000", "v", (1, 1.5), effort=10.0),
        "complete": Method("complete", None, "#777777", "X", (6, 2), effort=40.0),
        "average": Method("average", None, "#E69F00", "<", (3, 1, 1, 1), effort=40.0),
        "ward": Method("Ward", None, "#CC79A7", ">", effort=25.0),
    }
)
"""All methods by the name that configuration files use."""


def build_clusterer(name: str, data: Input, max_clusters: int, fixed_tree: bool) -> Clusterer:
    """Make the clusterer of a method for one input.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    data : Input
        Its bounds place the fixed tree; its root box is that of CLNSS without a shift.
    max_clusters : int
        The largest k that will be cut.
    fixed_tree : bool
        Whether the tree is that of all rows, whatever rows are fitted.
    """
    if METHODS[name].parameters is None:
        return _LINKAGES[name]()
    estimator, label = build_estimator(name, data), METHODS[name].label
    if not METHODS[name].is_tree:
        return as_clusterer(estimator, name=label, max_clusters=max_clusters)
    settings = estimator.set_params(max_centers=max_clusters)._settings_for(data.X)
    if fixed_tree:
        return FixedTreeClusterer(settings, label, data.X.min(axis=0), data.X.max(axis=0))
    return RebuiltTreeClusterer(settings, label)


def build_estimator(name: str, data: Input) -> HierarchicalKMedian:
    """Make the estimator of a method of this library."""
    parameters = METHODS[name].parameters or {}
    if name == "clnss_unshifted":
        return UnshiftedKMedian(1, root_box=data.root_box, **parameters)
    return HierarchicalKMedian(1, **{"method": "tree", **parameters})
