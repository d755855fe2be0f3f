"""Labels by the nearest means at several levels at once: how a followed hierarchy finds clusters."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast._machine.parallel import share_parts
from holdfast.centers._distance_kernels import COSINE, unit_rows
from holdfast.centers.choose import ancestors_among
from holdfast.hierarchy._kernels import nearest_leaves

__all__ = ["MeansLocator"]

_BLOCK = 1 << 14  # rows that a thread processes at a time


@dataclass(frozen=True, eq=False)
class MeansLocator:
    """The means of the clusters of all levels. A row belongs to the leaf with the smallest score.

    Attributes
    ----------
    points : ndarray of shape (n_clusters, n_features), dtype float64
        Means of the clusters of all levels; directions for the cosine distance.
    path : ndarray of shape (n_leaves, n_levels), dtype int32
        The clusters on the way from the coarsest level to each leaf.
    scale : ndarray of shape (n_clusters,), dtype float64
        The score of a leaf is the sum over its path of distance times scale.
    label : ndarray of shape (n_leaves,), dtype int32
        Label of each leaf.
    parent : ndarray of shape (n_labels,), dtype int32
        The label that each label was split from.
    metric : int
        For the cosine distance, rows are scaled to length 1.
    exponent : int
        Rows are multiplied by ``2**exponent``.
    """

    points: NDArray[np.float64]
    path: NDArray[np.int32]
    scale: NDArray[np.float64]
    label: NDArray[np.int32]
    parent: NDArray[np.int32]
    metric: int
    exponent: int

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    def first(self, k: int) -> "MeansLocator":
        """Keep the first k labels: the locator of a hierarchy that stops there."""
        ancestors = ancestors_among(self.parent, k)
        return replace(self, label=ancestors[self.label], parent=self.parent[:k])

    def finest(self, X: NDArray[np.floating]) -> NDArray[np.int32]:
        """Find the label of the leaf with the smallest score for each row."""
        rows = read_only(unit_rows(X) if self.metric == COSINE else X)
        found = np.empty(rows.shape[0], dtype=np.int32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, rows.shape[0], _BLOCK)]
        factor, columns = math.ldexp(1.0, self.exponent), np.ascontiguousarray(self.points.T)
        share_parts(
            len(blocks),
            lambda b: nearest_leaves(
                rows[blocks[b]], factor, self.path, columns, self.scale, self.label,
                self.metric == COSINE, found[blocks[b]],
            ),
        )  # fmt: skip
        return found
