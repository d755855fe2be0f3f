"""Labels by replaying nested splits: a row moves to a new center where that is closer.

Refined splits lie between two points that are not rows; `rivals` has the points that rows stay with.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.threads import share_parts
from holdfast.centers._distance_kernels import assign_between, assign_rows

__all__ = ["SplitLocator", "build_split_locator"]

_BLOCK = 1 << 14  # rows that a thread takes at a time


@dataclass(frozen=True, eq=False)
class SplitLocator:
    """The centers of a hierarchy and the splits they made, to be replayed for any row.

    Attributes
    ----------
    centers : ndarray of shape (n_centers, n_features), dtype float64
        In the units of `prepare`.
    first_child : ndarray of shape (n_centers + 1,), dtype int32
    children : ndarray of shape (n_centers - 1,), dtype int32
        ``children[first_child[t]:first_child[t + 1]]`` split off from cluster t, in this order.
    metric : int
    exponent : int
        Rows are multiplied by ``2**-exponent`` (not for the cosine distance).
    rivals : ndarray of shape (n_centers, n_features), dtype float64, or None
        Of refined splits: a row moves into cluster t if it is closer to ``centers[t]`` (then no
        row, but a point) than to ``rivals[t]``. None: than to the center of its cluster.
    """

    centers: NDArray[np.float64]
    first_child: NDArray[np.int32]
    children: NDArray[np.int32]
    metric: int
    exponent: int
    rivals: NDArray[np.float64] | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.centers.shape[1])

    def first(self, k: int) -> "SplitLocator":
        """Keep the first k centers: the locator of a hierarchy that stops there."""
        owner = np.repeat(np.arange(self.first_child.size - 1), np.diff(self.first_child))
        parent = np.full(self.centers.shape[0], -1, dtype=np.int32)
        parent[self.children] = owner
        rivals = None if self.rivals is None else self.rivals[:k]
        return build_split_locator(self.centers[:k], parent[:k], self.metric, self.exponent, rivals)

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Find the last cluster that each row moves to."""
        from holdfast.centers.medoids import prepare_rows

        rows = prepare_rows(X, self.metric, self.exponent)
        return self.replay(rows, np.ones(rows.shape[0]))[0]

    def replay(
        self, rows: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Labels of prepared rows, and the nested cost after each center.

        The cost after k centers is what rows cost in the end plus what later splits save: sums of
        distances rounded to 2^-61 of the largest possible one, which are exact. Means lower sums of
        squares; where a refined split raises the sum of distances, the lower cost before it stands.
        """
        n, k = rows.shape[0], self.centers.shape[0]
        # prepared coordinates are at most 1, so distances are at most twice the dimension
        exponent = (2 * rows.shape[1]).bit_length() - 62
        label = np.empty(n, dtype=np.int32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]
        sums = np.zeros((len(blocks), 2 * k + 1, 2), dtype=np.uint64)
        unit = math.ldexp(1.0, exponent)

        def work(b: int) -> None:
            part, share = rows[blocks[b]], weight[blocks[b]]
            splits, out = (self.first_child, self.children), (unit, label[blocks[b]], sums[b])
            if self.rivals is None:
                assign_rows(part, share, self.centers, *splits, self.metric, *out)
            else:
                assign_between(part, share, self.centers, self.rivals, *splits, *out)

        share_parts(len(blocks), work)
        words = sums.astype(object).sum(axis=0)
        totals = words[:, 0] + words[:, 1] * (1 << 64)
        saved = totals[:k] - totals[k : 2 * k]
        units = np.cumsum(np.concatenate((totals[-1:], saved[:0:-1])))[::-1]
        costs = np.ldexp(units.astype(np.float64), exponent)
        return label, np.minimum.accumulate(costs)


def build_split_locator(
    centers: NDArray[np.float64],
    parent: NDArray[np.int32],
    metric: int,
    exponent: int,
    rivals: NDArray[np.float64] | None = None,
) -> SplitLocator:
    """Sort the splits by the cluster that they split."""
    children = np.argsort(parent[1:], kind="stable").astype(np.int32) + np.int32(1)
    counts = np.bincount(parent[1:], minlength=parent.size)
    first_child = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return SplitLocator(centers, first_child, children, metric, exponent, rivals)
