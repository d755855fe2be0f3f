"""Refined splits: the mechanism proposes where a cluster splits, means settle where exactly.

Each cluster has a mean and one proposed split: a member is drawn by its gain, then it and the mean
settle as two means of the cluster's members. The next split is drawn among the proposals, by what
each saves. A row chosen from the data jumps when rows change; a mean glides, and many first draws
settle at the same place. Clusters keep the names of their centers, which are rows: the part with
the center keeps the name, the other part is named after the row closest to its mean.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.centers._distance_kernels import EUCLIDEAN, draw_candidate
from holdfast.centers._means_kernels import (
    mean_point,
    nearest_member,
    settle_pair,
    split_between,
)
from holdfast.centers._race_kernels import draw_temperature
from holdfast.centers.choose import round_keys, temperature_rate
from holdfast.centers.medoids import Locations, score_members

__all__ = ["RefinedSplits", "choose_refined"]

Points = NDArray[np.float64]

# Three clocks a row: as the first center, as the proposal of its cluster, among the proposals.
_FIRST, _PROPOSE, _CHOOSE = 0, 1, 2


@dataclass(frozen=True)
class RefinedSplits:
    """Centers, and the pairs of points that split clusters.

    Attributes
    ----------
    center : ndarray of shape (n_centers,), dtype int64
        Locations, in the order chosen.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that each one split; -1 for the first.
    mover, rival : ndarray of shape (n_centers, n_features), dtype float64
        Members of the parent that are closer to ``mover[t]`` than to ``rival[t]`` moved into
        cluster t. Entry 0 of both is the mean of all.
    """

    center: NDArray[np.int64]
    parent: NDArray[np.int32]
    mover: Points
    rival: Points


@dataclass(frozen=True)
class _Cluster:
    """Members of one cluster, what they cost, and how it would be split."""

    members: NDArray[np.int64]
    center: int
    cost: float
    key: np.uint64  # of the row that was drawn
    gain: float
    moves: NDArray[np.bool_]
    new_center: int
    rival: Points
    mover: Points


class _Sample:
    """The rows that are candidates and score candidates, and the settings of the mechanism."""

    def __init__(self, locations: Locations, size: int, epsilon: float, seed: int) -> None:
        self.weight, self.key = locations.weight[:size], locations.key[:size]
        self.columns = np.ascontiguousarray(locations.rows[locations.first_rows[:size]].T)
        total = float(self.weight.sum()) * locations.weight_unit
        self.rate = temperature_rate(epsilon, total)
        self.temperature_key = round_keys(seed)[0]
        self.gain, self.own = np.empty(size), np.full(size, np.inf)

    def heat(self, t: int, least_cost: float) -> float:
        """Draw the temperature of round t."""
        return float(draw_temperature(t, least_cost, self.rate, self.temperature_key)[0])


def choose_refined(
    locations: Locations, epsilon: float, n_centers: int, max_candidates: int, seed: int
) -> RefinedSplits:
    """Choose centers among the first `max_candidates` locations, and how each splits its cluster.

    Costs what `choose_by_distance` does, and O(s d) a step of settling for s candidates.
    """
    size = min(max_candidates, locations.weight.size)
    count = min(n_centers, size)
    sample = _Sample(locations, size, epsilon, seed)
    mover = np.empty((count, sample.columns.shape[0]))
    rival, parent = np.empty_like(mover), np.full(count, -1, dtype=np.int32)
    everybody = np.arange(size)
    first = _draw_first(sample, everybody)
    mover[0] = rival[0] = _mean(sample, everybody)
    clusters = [_propose(sample, everybody, first, 0.0)]
    for t in range(1, count):
        j = _draw_proposal(sample, clusters, t)
        split = clusters[j]
        parent[t], mover[t], rival[t] = j, split.mover, split.rival
        others = math.fsum(c.cost for c in (*clusters[:j], *clusters[j + 1 :]))
        stay, go = split.members[~split.moves], split.members[split.moves]
        going = _cost(sample, go)
        clusters[j] = _propose(sample, stay, split.center, others + going)
        others += clusters[j].cost
        clusters.append(_propose(sample, go, split.new_center, others))
    center = np.array([cluster.center for cluster in clusters], dtype=np.int64)
    return RefinedSplits(center, parent, mover, rival)


def _mean(sample: _Sample, members: NDArray[np.int64]) -> Points:
    mean = np.empty(sample.columns.shape[0])
    everybody = np.ones(members.size, dtype=np.bool_)
    mean_point(_columns_of(sample, members), sample.weight[members], everybody, True, mean)
    return mean


def _columns_of(sample: _Sample, members: NDArray[np.int64]) -> Points:
    return np.ascontiguousarray(sample.columns[:, members])


def _cost(sample: _Sample, members: NDArray[np.int64]) -> float:
    """Sum of distances to the mean; leaves them in `sample.own`."""
    mean = _mean(sample, members)
    own, moves = np.empty(members.size), np.empty(members.size, dtype=np.bool_)
    stayed, _ = split_between(
        _columns_of(sample, members), sample.weight[members], mean, mean, moves, own
    )
    sample.own[members] = own
    return float(stayed)


def _draw_first(sample: _Sample, everybody: NDArray[np.int64]) -> int:
    """Draw the first center, as without refining: by its cost, which is minus its gain."""
    score_members(sample.columns, sample.weight, sample.own, everybody, EUCLIDEAN, sample.gain)
    free = np.ones(everybody.size, dtype=np.bool_)
    heat = sample.heat(0, -float(sample.gain.max()))
    return int(draw_candidate(_FIRST, sample.gain, free, sample.weight, sample.key, heat))


def _draw_proposal(sample: _Sample, clusters: list[_Cluster], t: int) -> int:
    """Draw the cluster to be split: the first of clocks keyed by the rows that were proposed."""
    gain = np.array([cluster.gain for cluster in clusters])
    free = np.array([cluster.members.size > 1 for cluster in clusters])
    key = np.array([cluster.key for cluster in clusters])
    total = math.fsum(cluster.cost for cluster in clusters)
    heat = sample.heat(t, total - float(gain.max()))
    return int(draw_candidate(_CHOOSE, gain, free, np.ones(gain.size), key, heat))


def _propose(
    sample: _Sample,
    members: NDArray[np.int64],
    center: int,
    cost_of_others: float,
) -> _Cluster:
    """Draw a member by its gain over the mean, let both settle, and name the two parts."""
    cost = _cost(sample, members)
    nobody = np.empty(0, dtype=np.bool_)
    nowhere = np.empty(0)
    if members.size == 1:
        return _Cluster(
            members, center, cost, sample.key[center], 0.0, nobody, center, nowhere, nowhere
        )
    score_members(sample.columns, sample.weight, sample.own, members, EUCLIDEAN, sample.gain)
    gain, weight = sample.gain[members], sample.weight[members]
    columns = _columns_of(sample, members)
    useful = gain > 0.0  # a row at the mean itself splits nothing
    place = int(np.searchsorted(members, center))
    moves, own = np.empty(members.size, dtype=np.bool_), np.empty(members.size)
    after = math.inf
    drawn = 0
    if useful.any():
        heat = sample.heat(0, cost_of_others + cost - float(gain.max()))
        drawn = int(draw_candidate(_PROPOSE, gain, useful, weight, sample.key[members], heat))
        rival, mover = _mean(sample, members), columns[:, drawn].copy()
        settle_pair(columns, weight, rival, mover)
        split_between(columns, weight, rival, mover, moves, own)
        if moves[place]:
            rival, mover, settled = mover, rival, moves.copy()
            split_between(columns, weight, rival, mover, moves, own)
            if (moves == settled).any():  # ties stay with the center's point: settle with them
                settle_pair(columns, weight, rival, mover)
        after = sum(split_between(columns, weight, rival, mover, moves, own))
    if not useful.any() or not moves.any() or moves.all() or moves[place]:
        # Distances that round away, or tie. Split by two rows: the center and another one.
        drawn = 1 if place == 0 else 0
        rival, mover = columns[:, place].copy(), columns[:, drawn].copy()
        after = sum(split_between(columns, weight, rival, mover, moves, own))
        moves[drawn] = True
    new_center = int(members[nearest_member(columns, mover, moves)])
    key = sample.key[members[drawn]]
    return _Cluster(
        members, center, cost, key, max(cost - after, 0.0), moves, new_center, rival, mover
    )
