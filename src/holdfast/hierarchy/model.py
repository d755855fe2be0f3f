"""The result of a fit: one nested hierarchy, cut anywhere."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from holdfast.centers import CenterSequence
from holdfast.centers._lineage_kernels import ancestors_among
from holdfast.grid import Cells, Grid
from holdfast.hierarchy._kernels import merge_rows
from holdfast.hierarchy.locate import CellLocator, build_locator

__all__ = ["Hierarchy", "build_hierarchy"]


@dataclass(frozen=True, repr=False, eq=False)
class Hierarchy:
    """One nested k-median hierarchy, with explicit centers, for every k at once.

    Cluster t is the cluster of the t-th center, for every k > t: ``cut(k + 1)`` differs from
    ``cut(k)`` only in the rows that moved into the new cluster k. Immutable; made by
    :meth:`HierarchicalKMedian.fit`.

    Attributes
    ----------
    center_indices : ndarray of shape (n_centers,), dtype int64
        Row of each center, in the order chosen.
    costs : ndarray of shape (n_centers,), dtype float64
        COST_T(P, S_k) for k = 1 .. n_centers: the k-median cost on the tree after k centers.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that cluster t split from; -1 for cluster 0.
    finest : ndarray of shape (n_rows,), dtype int32
        The labels of the last cut, from which `parent` leads to every other one.
    locator : CellLocator
        Finds the finest labelled cell of any row.
    """

    center_indices: NDArray[np.int64]
    costs: NDArray[np.float64]
    parent: NDArray[np.int32]
    finest: NDArray[np.int32]
    locator: CellLocator

    @property
    def n_centers(self) -> int:
        """Largest k that can be cut."""
        return self.center_indices.size

    @property
    def n_rows(self) -> int:
        """Number of rows that were clustered."""
        return self.finest.size

    def __repr__(self) -> str:
        """Name the hierarchy by its sizes."""
        return f"Hierarchy(n_rows={self.n_rows}, n_centers={self.n_centers})"

    def cut(self, k: int) -> NDArray[np.int32]:
        """Labels of the partition into k clusters.

        Parameters
        ----------
        k : int
            From 1 to `n_centers`.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int32
            Labels 0 .. k - 1, none of them empty; label t is the cluster of center t.
        """
        return self._ancestors(k)[self.finest]

    def sizes(self, k: int) -> NDArray[np.int64]:
        """Count the rows of each cluster of ``cut(k)``."""
        finest = np.bincount(self.finest, minlength=self.n_centers)
        counts = np.bincount(self._ancestors(k), weights=finest, minlength=k)
        return counts.astype(np.int64)

    def linkage(self) -> NDArray[np.float64]:
        """Return the hierarchy as a SciPy linkage matrix.

        The height of a merge is the cost before the split that it undoes, so heights never fall
        and ``fcluster(Z, k, "maxclust")`` is the partition ``cut(k)`` wherever heights are
        distinct. Where the hierarchy stops early (`max_centers`), the rows of each last cluster
        merge first, at height 0; so do repeated rows.

        Returns
        -------
        ndarray of shape (n_rows - 1, 4), dtype float64
        """
        merges: NDArray[np.float64] = merge_rows(
            self.finest, self.center_indices, self.parent, self.costs
        )
        return merges

    def predict(self, X: NDArray[np.float64], k: int) -> NDArray[np.int32]:
        """Label rows by the closest labelled cell that contains them.

        Parameters
        ----------
        X : ndarray of shape (n, n_features), dtype float64
        k : int
            From 1 to `n_centers`.

        Returns
        -------
        ndarray of shape (n,), dtype int32
            Rows outside all labelled cells belong to cluster 0.
        """
        ancestors = self._ancestors(k)
        return ancestors[self.locator.finest(X)]

    def _ancestors(self, k: int) -> NDArray[np.int32]:
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"k must be an integer; got {k!r}.")
        if not 1 <= k <= self.n_centers:
            stop = "max_centers stopped it there" if self.n_centers < self.n_rows else "one a row"
            raise ValueError(
                f"k must be from 1 to {self.n_centers}, the number of centers in this hierarchy "
                f"({stop}); got {k}."
            )
        ancestors: NDArray[np.int32] = ancestors_among(self.parent, int(k))
        return ancestors


def build_hierarchy(
    centers: CenterSequence, cells: Cells, grid: Grid, max_centers: int
) -> Hierarchy:
    """Translate centers from leaves to rows; rows beyond the first of a leaf split off last.

    Those later rows follow in the order of their leaves, then of content and row number, at cost 0.
    """
    n_leaves, n_rows = cells.start.size - 1, cells.order.size
    finest = np.empty(n_rows, dtype=np.int32)
    finest[cells.order] = np.repeat(centers.label, np.diff(cells.start))
    first_rows = cells.first_rows
    center_rows = first_rows[centers.leaf].astype(np.int64)
    parent, costs = centers.parent, centers.cost
    n_repeats = min(max_centers, n_rows) - n_leaves
    if n_repeats > 0:
        is_first = np.zeros(n_rows, dtype=np.bool_)
        is_first[cells.start[:-1]] = True
        repeats = cells.order[~is_first][:n_repeats].astype(np.int64)
        parent = np.concatenate((parent, finest[repeats]))
        costs = np.concatenate((costs, np.zeros(n_repeats)))
        center_rows = np.concatenate((center_rows, repeats))
        finest[repeats] = np.arange(n_leaves, n_leaves + n_repeats, dtype=np.int32)
    for array in (center_rows, costs, parent, finest):
        array.flags.writeable = False
    return Hierarchy(center_rows, costs, parent, finest, build_locator(centers, cells, grid))
