"""The methods that the paper's figures compare: those of the registry, and variants of the tree."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import seed_from
from holdfast.centers import choose_centers
from holdfast.clusterers import METHODS as REGISTRY
from holdfast.clusterers import Clusterer, as_clusterer
from holdfast.clusterers.adapt import Rows
from holdfast.estimator import HierarchicalKMedian
from holdfast.grid import collect_cells, place_grid
from holdfast.hierarchy import Hierarchy, build_hierarchy
from holdfast.parameters import Settings
from holdfast.pipeline import cluster_rows
from holdfast.tree import build_tree
from holdfast_paper.unshifted import UnshiftedKMedian


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


@dataclass(frozen=True, eq=False)
class RebuiltTreeClusterer:
    """The tree of the rows that are fitted.

    `HierarchicalKMedian` without its checks of rows, which take as long as a small fit.

    Attributes
    ----------
    settings : Settings
        The seed in them gives way to that of each fit.
    name : str
    """

    settings: Settings
    name: str
    hierarchical: bool = field(default=True, init=False, kw_only=True)

    @property
    def randomized(self) -> bool:
        """False only for the greedy choice on the tree without a random shift."""
        return self.settings.random_shift or self.settings.epsilon != 0.0

    def fit(self, X: Rows, seed: int) -> Hierarchy:
        """Build the hierarchy of the rows of `X`."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        return cluster_rows(rows, None, replace(self.settings, seed=seed_from(seed)))


@dataclass(frozen=True, eq=False)
class FixedTreeClusterer(RebuiltTreeClusterer):
    """The tree of all rows, whichever rows are left: the protocol of the paper's scripts.

    The tree is built once, and a deletion only lowers counts. In a tree with all its nodes kept, a
    node without rows adds nothing to any gain and a leaf without rows is never drawn, so the law of
    the centers depends only on the cells that hold rows, on the distances of the tree and on the
    counts. In the seeded grid, cells and distances below the root do not depend on the rows; only
    the root's level does, through the bounding box. Pinning the root's level to the bounding box of
    all rows is therefore the same as keeping the whole tree. n in ln n is the number of rows left.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_features,), dtype float64
        The bounding box; rows that are fitted must lie in it.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def fit(self, X: Rows, seed: int) -> Hierarchy:
        """Build the hierarchy of the rows of `X` on the fixed tree."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if (rows < self.lower).any() or (rows > self.upper).any():
            raise ValueError("X has rows outside of the bounding box of the fixed tree.")
        settings = replace(self.settings, seed=seed_from(seed))
        grid = place_grid(
            self.lower,
            self.upper,
            settings.seed,
            random_shift=settings.random_shift,
            root_box=settings.root_box,
        )
        cells = collect_cells(rows, None, grid, settings.seed)
        tree = build_tree(cells, grid, settings.seed)
        centers = choose_centers(tree, settings.epsilon, settings.max_centers, settings.seed)
        return build_hierarchy(centers, cells, grid, settings.max_centers)
