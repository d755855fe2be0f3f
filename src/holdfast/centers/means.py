"""Splits between means: every cluster proposes one split, the next one is drawn among them.

Data flow: rows -> one cluster of all -> its proposal -> the split of the cluster whose proposal
saves most (drawn by the mechanism of Alg. 2) -> the proposals of both parts -> and so on.

A proposal, from what is sampled to what is not:

1. The sample: the distinct members with the smallest keys, at most 4,096.
2. In a small cluster every member is a candidate for a second center beside the mean. One is drawn
   by what it saves, and the plane starts half way to it. In a larger cluster the first 16 members of
   the sample are candidates. A candidate's direction leads from the mean to it; its score is the sum
   of squares that the plane through the mean, across that direction, tells apart in the sample. One
   is drawn by its score, and its direction is averaged over the sample. Both sides of the plane have
   members in any number of dimensions. In many columns, small clusters try both; and where a plane
   between the mean and the candidate saves much more, it starts there: one of many groups goes whole.
3. The plane settles on the sample: at most 32 times it moves half way between the means of its sides.
4. It settles on all members: 3 splits, or 1 if the sample has them all. The sides of the last one
   are the proposal.

Clusters keep the names of their centers: the part with the center keeps the name, the other part is
named after the row closest to its mean.

Invariants. Rows are never copied nor reordered; members of a cluster are row numbers in ascending
order. All sums over members are integers (coordinates in steps of a grid over the cluster's bounds,
distances in units of its extent), so they depend on no order; sums over the sample run in the order
of keys. A row's side is one inner product, the same in a fit and in `predict`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from holdfast._machine.jit import Floats
from holdfast._machine.work import Progress, ProgressOption
from holdfast.centers.keyed_table import Table
from holdfast.centers.proposals import Proposer

if TYPE_CHECKING:
    from holdfast.centers.sparse_proposals import SparsePlane


@dataclass(frozen=True)
class MeanSplits:
    """Centers, and the planes that split clusters.

    Attributes
    ----------
    center : ndarray of shape (n_centers,), dtype int64
        Rows, in the order chosen.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that each one split; -1 for the first.
    planes : list of ndarray of shape (2, n_features), dtype float64, or of SparsePlane
        Members x of the parent with a positive inner product of ``x - planes[t][0]`` and
        ``planes[t][1]`` moved into cluster t. Entry 0 is not used.
    costs : ndarray of shape (n_centers,), dtype float64
        Sum of distances to the means of the clusters, in units of rows and weights.
    label : ndarray of shape (n,), dtype int32
        The last cluster of each row.
    exhausted : bool
        Whether each cluster is a single location.
    """

    center: NDArray[np.int64]
    parent: NDArray[np.int32]
    planes: "list[Floats] | list[SparsePlane]"
    costs: Floats
    label: NDArray[np.int32]
    exhausted: bool


def choose_means(
    table: Table, epsilon: float, max_centers: int, seed: int, shown: ProgressOption = False
) -> MeanSplits:
    """Choose centers until `max_centers`, or until all members of each cluster are equal.

    O(n d) time for each level of the hierarchy, and O(n) memory beyond the rows.
    """
    proposer = _proposer_for(table)(table, epsilon, seed)
    clusters = [proposer.first()]
    parent: list[int] = [-1]
    planes: list[Any] = [proposer.no_plane()]
    each = [clusters[0].part.cost]
    costs = each.copy()
    with Progress(shown, max_centers - 1, "splits", "fitting") as progress:
        while len(clusters) < max_centers:
            j = proposer.draw_cluster(clusters, costs[-1])
            if j < 0:
                break
            proposal = clusters[j].proposal
            assert proposal is not None
            stay, go = proposer.split(clusters[j], proposal)
            parent.append(j)
            planes.append(proposal.plane)
            clusters[j] = stay
            clusters.append(go)
            each[j] = stay.part.cost
            each.append(go.part.cost)
            costs.append(math.fsum(each))
            progress.advance()
    label = np.empty(table.rows.shape[0], dtype=np.int32)
    for t, cluster in enumerate(clusters):
        label[cluster.members] = t
    return MeanSplits(
        np.array([cluster.part.center for cluster in clusters], dtype=np.int64),
        np.array(parent, dtype=np.int32),
        planes,
        np.minimum.accumulate(costs),
        label,
        all(cluster.proposal is None for cluster in clusters),
    )


def _proposer_for(table: Table) -> type[Proposer]:
    """Find the class that reads the rows; that for sparse ones is imported only for them."""
    if not issparse(table.rows):
        return Proposer
    from holdfast.centers.sparse_proposals import SparseProposer

    return SparseProposer
