"""How often pairs of rows are in the same cluster, over many fits."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from holdfast.stability.display import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Consensus", "find_consensus"]

MOST_ROWS = 5000


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    """A consensus matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows), dtype float64
        For each pair of rows, the fraction of the fits with both in which they are in the same
        cluster; NaN for pairs that were never fitted together. Two rows of noise are in no common
        cluster. The diagonal is 1.
    """

    matrix: NDArray[np.float64]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Row indices in an order that puts rows with the same clusters next to each other."""
        distance = 1.0 - np.nan_to_num(self.matrix, nan=0.0)
        np.fill_diagonal(distance, 0.0)
        found: NDArray[np.int64] = leaves_list(
            linkage(squareform(distance, checks=False), "average")
        )
        return found

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the matrix in `order`: clear blocks are stable clusters. Needs matplotlib."""
        axes = new_axes(ax)
        shown: Any = axes.imshow(
            self.matrix[np.ix_(self.order, self.order)],
            cmap="Blues",
            vmin=0.0,
            vmax=1.0,
            interpolation="nearest",
        )
        axes.figure.colorbar(shown, ax=axes, label="fraction of fits in the same cluster")
        axes.set_xlabel("rows, similar ones together")
        axes.set_ylabel("rows")
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    def __repr__(self) -> str:
        """Say how many pairs are undecided."""
        pairs = self.matrix[np.triu_indices(self.matrix.shape[0], 1)]
        unsure = np.mean((pairs > 0.1) & (pairs < 0.9)) if pairs.size else 0.0
        return f"Consensus({self.matrix.shape[0]} rows, {unsure:.1%} of pairs between 0.1 and 0.9)"


def find_consensus(labels: NDArray[np.int32]) -> Consensus:
    """Count pairs of rows in the same cluster.

    Parameters
    ----------
    labels : ndarray of shape (n_fits, n_rows), dtype int32
        -1 for noise, -2 for rows that were not fitted.
    """
    n_rows = labels.shape[1]
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"a consensus matrix has an entry for each pair of rows, and X has {n_rows:,} rows; "
            f"at most {MOST_ROWS:,} are supported. Measure on a sample of the rows."
        )
    together, both = np.zeros((n_rows, n_rows)), np.zeros((n_rows, n_rows))
    for fit in labels:
        present = np.flatnonzero(fit > -2)
        both[np.ix_(present, present)] += 1.0
        members = np.flatnonzero(fit >= 0)
        one = np.ones(members.size)
        shape = (n_rows, int(fit.max(initial=0)) + 1)
        indicator = csr_array((one, (members, fit[members])), shape=shape)
        together += (indicator @ indicator.T).toarray()
    matrix = np.where(both > 0.0, together / np.maximum(both, 1.0), np.nan)
    np.fill_diagonal(matrix, 1.0)
    return Consensus(matrix)
