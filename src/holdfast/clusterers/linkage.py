"""Agglomerative clustering ([LHBP25], Alg. 3) by fastcluster or SciPy, cut into exactly k clusters."""

from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from holdfast.clusterers.adapt import CutByCall, Rows

_IN_LINEAR_MEMORY = ("single", "ward")  # fastcluster needs no distance matrix for these


@dataclass(frozen=True)
class LinkageClusterer:
    """Agglomerative clustering; O(n^2) memory, but O(n) for fastcluster's single and Ward."""

    method: str  # "single", "complete", "average" or "ward"
    precomputed: bool = False  # whether rows are given by their distances to each other
    only_scipy: bool = False  # not fastcluster, where it is installed; ties may break differently
    randomized: bool = field(default=False, init=False)
    hierarchical: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """Such as ``"single linkage"``."""
        return f"{self.method} linkage"

    def fit(self, X: Rows, seed: int) -> CutByCall:
        """Merge the rows of `X` until one cluster is left; `seed` is not used."""
        return CutByCall(partial(cut_linkage, self._merge(X)))

    def _merge(self, X: Rows) -> Any:
        """Compute the linkage matrix, in SciPy's format."""
        if X.shape[0] == 1:
            return np.empty((0, 4))
        if self.precomputed:
            X = squareform(X, checks=False)
        if self.only_scipy or not find_spec("fastcluster"):
            return linkage(X, method=self.method)
        fastcluster: Any = import_module("fastcluster")
        if self.method in _IN_LINEAR_MEMORY and not self.precomputed:
            return fastcluster.linkage_vector(X, method=self.method)
        return fastcluster.linkage(X, method=self.method)


def cut_linkage(merges: NDArray[np.float64], n_clusters: int) -> NDArray[np.int64]:
    """Cut a linkage matrix into exactly `n_clusters` clusters: all merges but the last ones.

    Unlike ``fcluster(Z, k, "maxclust")``, which cuts at a height, this gives k clusters even if
    heights tie. O(n log n) time.

    Parameters
    ----------
    merges : ndarray of shape (n_rows - 1, 4), dtype float64
        A linkage matrix in SciPy's format.
    n_clusters : int
        From 1 to the number of rows.

    Returns
    -------
    ndarray of shape (n_rows,), dtype int64
        Labels from 0, none of them empty.
    """
    n_rows = merges.shape[0] + 1
    if not 1 <= n_clusters <= n_rows:
        raise ValueError(
            f"n_clusters must be from 1 to {n_rows}, the number of rows; got {n_clusters}."
        )
    n_merges = n_rows - n_clusters
    parent = np.arange(n_rows + n_merges)
    parent[merges[:n_merges, :2].astype(np.int64)] = np.arange(n_rows, n_rows + n_merges)[:, None]
    while True:  # each pass doubles the length of the steps towards the root
        above = parent[parent]
        if np.array_equal(above, parent):
            break
        parent = above
    labels: NDArray[np.int64] = np.unique(parent[:n_rows], return_inverse=True)[1]
    return labels.astype(np.int64, copy=False)
