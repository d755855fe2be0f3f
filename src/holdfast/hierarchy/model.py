"""The result of a fit: one nested hierarchy, cut anywhere."""

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.interrupts import keep_interrupts
from holdfast._machine.jit import read_only
from holdfast.centers import CenterSequence
from holdfast.centers._lineage_kernels import ancestors_among
from holdfast.grid import Cells, Grid
from holdfast.hierarchy._kernels import merge_rows
from holdfast.hierarchy.locate import build_locator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Hierarchy", "Locator", "assemble_hierarchy", "build_hierarchy"]


class Locator(Protocol):
    """Finds the finest cluster of any row."""

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the last cluster that each row belongs to."""

    def first(self, k: int) -> "Locator":
        """Keep the first k centers; `finest` then gives labels of ``cut(k)``."""


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
        Cost after k = 1 .. n_centers centers: COST_T(P, S_k) on the tree, or for the Euclidean cost
        the sum of distances of rows to the center of their own cluster.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that cluster t split from; -1 for cluster 0.
    finest : ndarray of shape (n_rows,), dtype int32
        The labels of the last cut, from which `parent` leads to every other one.
    locator : Locator
        Finds the finest cluster of any row.
    """

    center_indices: NDArray[np.int64]
    costs: NDArray[np.float64]
    parent: NDArray[np.int32]
    finest: NDArray[np.int32]
    locator: Locator

    @property
    def n_centers(self) -> int:
        """Largest k that can be cut."""
        return self.center_indices.size

    @property
    def n_rows(self) -> int:
        """Number of rows that were clustered."""
        return self.finest.size

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled hierarchy; its arrays stay read-only."""
        self.__dict__.update(state)
        for array in (self.center_indices, self.costs, self.parent, self.finest):
            array.flags.writeable = False

    def __repr__(self) -> str:
        """Name the hierarchy by its sizes."""
        return f"Hierarchy(n_rows={self.n_rows}, n_centers={self.n_centers})"

    def _repr_html_(self) -> str:
        """Show a few cuts: what each costs, and how large its clusters are."""
        from holdfast.hierarchy.draw import hierarchy_html

        return hierarchy_html(self)

    @keep_interrupts()
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

    @keep_interrupts()
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

    def plot(self, n_clusters: int = 16, ax: "Axes | None" = None) -> "Axes":
        """Draw the cuts 1 to `n_clusters` below each other, clusters as wide as their rows.

        A cluster keeps its color and its name from cut to cut. Needs matplotlib.

        Parameters
        ----------
        n_clusters : int, default=16
            The finest cut to draw; all there are, if there are fewer.
        ax : matplotlib.axes.Axes, default=None
            A new figure if None.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from holdfast.hierarchy.draw import draw_hierarchy

        return draw_hierarchy(self, min(n_clusters, self.n_centers), ax)

    @keep_interrupts()
    def predict(self, X: NDArray[np.float64], k: int) -> NDArray[np.int32]:
        """Label rows as if they had been there, without moving any center.

        Tree cost: the closest labelled cell that contains the row; cluster 0 outside all cells.
        Euclidean cost: the nested splits are replayed, a row moves to a new center where that is
        closer.

        Parameters
        ----------
        X : ndarray of shape (n, n_features), dtype float64
        k : int
            From 1 to `n_centers`.

        Returns
        -------
        ndarray of shape (n,), dtype int32
        """
        ancestors = self._ancestors(k)
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.locator.n_features:
            raise ValueError(
                f"X must have {self.locator.n_features} columns, as the rows that were clustered; "
                f"got an array of shape {rows.shape}."
            )
        if not np.isfinite(rows).all():
            raise ValueError("X must be finite; it contains NaN or infinity.")
        return ancestors[self.locator.finest(rows)]

    def _ancestors(self, k: int) -> NDArray[np.int32]:
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"k must be an integer; got {k!r}.")
        if not 1 <= k <= self.n_centers:
            why = "one for each row"
            if self.n_centers < self.n_rows:
                why = "by then all rows of positive weight that differ are apart"
                if self.costs[-1] > 0.0:
                    why = "max_centers stopped it there"
            raise ValueError(
                f"k must be from 1 to {self.n_centers}, the number of centers in this hierarchy "
                f"({why}); got {k}."
            )
        ancestors: NDArray[np.int32] = ancestors_among(read_only(self.parent), int(k))
        return ancestors


def build_hierarchy(
    centers: CenterSequence, cells: Cells, grid: Grid, max_centers: int
) -> Hierarchy:
    """Translate centers of the tree from leaves to rows."""
    finest = np.empty(cells.order.size, dtype=np.int32)
    label = centers.label
    if label.size < finest.size:
        label = np.repeat(label, np.diff(cells.start))
    finest[cells.order] = label
    return assemble_hierarchy(
        cells.first_rows[centers.leaf].astype(np.int64),
        centers.parent,
        centers.cost,
        finest,
        build_locator(centers, cells, grid),
        cells.order,
        cells.start,
        max_centers,
    )


def assemble_hierarchy(
    center_rows: NDArray[np.int64],
    parent: NDArray[np.int32],
    costs: NDArray[np.float64],
    finest: NDArray[np.int32],
    locator: Locator,
    order: NDArray[np.integer],
    start: NDArray[np.integer],
    max_centers: int,
) -> Hierarchy:
    """Make a hierarchy; where all locations are centers, repeated rows split off last, at cost 0.

    They follow location by location (``order[start[i]:start[i + 1]]``), then by row number.
    """
    n_locations = start.size - 1
    n_repeats = min(max_centers, order.size) - n_locations
    if n_repeats > 0 and center_rows.size == n_locations:
        is_first = np.zeros(order.size, dtype=np.bool_)
        is_first[start[:-1]] = True
        repeats = order[~is_first][:n_repeats].astype(np.int64)
        parent = np.concatenate((parent, finest[repeats]))
        costs = np.concatenate((costs, np.zeros(n_repeats)))
        center_rows = np.concatenate((center_rows, repeats))
        finest[repeats] = np.arange(n_locations, n_locations + n_repeats, dtype=np.int32)
    for array in (center_rows, costs, parent, finest):
        array.flags.writeable = False
    return Hierarchy(center_rows, costs, parent, finest, locator)
