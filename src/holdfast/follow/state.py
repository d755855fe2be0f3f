"""What following works on: units of equal rows, levels of clusters, and the objective."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats, Ints, Ints32, Scalar, read_only
from holdfast._machine.work import share_parts
from holdfast.centers._sample_kernels import to_directions
from holdfast.centers.choose import ancestors_among
from holdfast.follow._kernels import (
    count_flow,
    count_weight,
    measure_paths,
    sum_directions,
    sum_leaves,
)
from holdfast.hierarchy import Hierarchy
from holdfast.rows.ids import find_ids

NEW = -1
"""The name of a cluster that has none yet."""

_CAUTION, _MOST_CAUTION = 4.0, 3.0
_LN2 = 0.6931471805599453
_BLOCKS = 64  # parts in which sums run; more would cost memory for large hierarchies
_LEAST = 1 << 15  # units in a part


@dataclass(frozen=True, eq=False)
class Units:
    """Rows of equal content and equal history, which move together, in the order of their keys."""

    rows: Floats  # of length 1 each for the cosine distance
    weight: Ints
    key: NDArray[np.uint64]  # hash of the seed and the content
    origin: Ints32  # yesterday's leaf; -1 for new rows
    pulled: Ints  # the weight that was in this leaf; for it, moving has a price
    counted: Ints  # the surviving weight, which the budget counts
    spherical: bool  # whether distances are cosine distances
    inertia: Floats  # the least that leaving must pay, as a part of J for each unit of weight
    steady: NDArray[np.bool_]  # whether the values of some of its rows are those of yesterday

    @property
    def n_surviving(self) -> int:
        """Weight of the surviving rows."""
        return int(self.counted.sum())

    @cached_property
    def pull(self) -> Floats:
        """The part of the weight for which moving has a price."""
        return self.pulled / self.weight.astype(np.float64)

    @cached_property
    def inert(self) -> Ints:
        """Units with inertia."""
        return np.flatnonzero(self.inertia > 0.0)

    def only(self, chosen: slice | NDArray[np.bool_]) -> "Units":
        """Take some units, in their order."""
        return Units(
            self.rows[chosen], self.weight[chosen], self.key[chosen], self.origin[chosen],
            self.pulled[chosen], self.counted[chosen], self.spherical, self.inertia[chosen],
            self.steady[chosen],
        )  # fmt: skip

    @cached_property
    def parts(self) -> list[slice]:
        """Blocks of units; they depend on the number of units only."""
        return _blocks(np.arange(self.rows.shape[0]))

    @cached_property
    def old_parts(self) -> list[slice]:
        """Blocks with as many units that are not new; they depend on those units only."""
        return _blocks(np.flatnonzero(self.origin >= 0))

    def sums(
        self, leaf: Ints32, n_leaves: int, parts: list[slice] | None = None
    ) -> tuple[Floats, Ints]:
        """Sum of the rows of each leaf, and its weight; units with a negative leaf are left out."""
        sums = _add_parts(
            parts or self.parts,
            (n_leaves, self.rows.shape[1]),
            lambda part, total: sum_leaves(self.rows[part], self.weight[part], leaf[part], total),
        )
        return sums, count_by(leaf, self.weight, n_leaves)

    def costs(
        self, leaf: Ints32, path: Ints32, points: Floats, parts: list[slice] | None = None
    ) -> Floats:
        """Cost of each node: the weighted distances to its point of the rows below it."""
        return _add_parts(
            parts or self.parts,
            (points.shape[0],),
            lambda part, total: measure_paths(
                self.rows[part], self.weight[part], leaf[part], path, points, self.spherical, total
            ),
        )

    def directions(self, leaf: Ints32, path: Ints32, points: Floats) -> Floats:
        """Sum of the directions from each center to its rows: what shifting the center would cost."""
        return _add_parts(
            self.parts,
            points.shape,
            lambda part, total: sum_directions(
                self.rows[part], self.weight[part], leaf[part], path, points, total
            ),
        )

    def means(self, sums: Floats, weights: Ints) -> Floats:
        """Centers from sums; for the cosine distance, the directions of the means."""
        points: Floats = sums / np.maximum(weights, 1)[:, None].astype(np.float64)
        if self.spherical:
            to_directions(points)
        return points


@dataclass(frozen=True, eq=False)
class Levels:
    """Nested clusters. The clusters of all levels are numbered in one row, coarse ones first."""

    sizes: tuple[int, ...]  # number of clusters of each level, rising
    path: Ints32  # of shape (n_leaves, n_levels): the cluster of each level that contains a leaf
    names: Ints  # of clusters; `NEW` for one without a name

    @cached_property
    def offsets(self) -> list[int]:
        """Where the clusters of each level begin, and the end."""
        return [0, *np.cumsum(self.sizes).tolist()]

    @cached_property
    def level_of(self) -> Ints32:
        """Level of each cluster."""
        return np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)

    def above(self, level: int) -> Ints32:
        """Parent of each cluster of that level, counted within the levels; -1 on the first level."""
        parent = np.full(self.sizes[level], -1, dtype=np.int32)
        if level > 0:
            parent[self.path[:, level] - self.offsets[level]] = self.path[:, level - 1]
        return parent

    def leaves_of(self, level: int, c: int) -> Ints:
        """Leaves of a cluster of that level."""
        return np.flatnonzero(self.path[:, level] == c)

    def collect(self, of_leaves: NDArray[Scalar]) -> NDArray[Scalar]:
        """Sum a value of leaves for all clusters, leaf by leaf."""
        shape = (self.offsets[-1], *of_leaves.shape[1:])
        total: NDArray[Scalar] = np.zeros(shape, dtype=of_leaves.dtype)
        for level in range(len(self.sizes)):
            np.add.at(total, self.path[:, level], of_leaves)
        return total

    def add_up(self, of_clusters: Floats) -> Floats:
        """Sum a value of clusters for each level, cluster by cluster."""
        return np.array([_total(of_clusters[a:b]) for a, b in pairwise(self.offsets)])


@dataclass(frozen=True, eq=False)
class Problem:
    """What does not change while J falls; arrays have one entry per level unless stated."""

    units: Units
    known: Ints  # of shape (n_leaves yesterday, n_levels): names on the path of yesterday's leaves
    ref: Floats  # cost at the start
    price: Floats  # of a row that moves, relative to the mean cost of a row
    limit: int | None  # the weight that may have another name than yesterday, at each level
    seed: int
    caution: Floats  # how many times the price a row that did not change must save: `caution_for`
    least: float = 0.0  # by how much a change of structure must lower J

    @cached_property
    def total(self) -> int:
        """Weight of all rows."""
        return int(self.units.weight.sum())

    @cached_property
    def pulls_others(self) -> bool:
        """Whether moving has a price for rows that do not count for the budget."""
        return not np.array_equal(self.units.pulled, self.units.counted)

    def home(self, levels: Levels) -> Ints32:
        """Today's cluster with yesterday's name of each of yesterday's leaves; -1 if it ended."""
        home = np.empty(self.known.shape, dtype=np.int32)
        for level in range(self.known.shape[1]):
            first, last = levels.offsets[level : level + 2]
            place = find_ids(self.known[:, level], levels.names[first:last])
            home[:, level] = np.where(place < 0, -1, first + place)
        return home

    def flow(self, leaf: Ints32, n_leaves: int, weight: Ints) -> Ints:
        """Weight that each of yesterday's leaves has in each of today's."""
        flow = np.zeros((self.known.shape[0], n_leaves), dtype=np.int64)
        count_flow(read_only(self.units.origin), read_only(leaf), read_only(weight), flow)
        return flow

    def moved(self, levels: Levels, flow: Ints) -> Ints:
        """Weight away from home, at each level."""
        away = levels.path[None, :, :] != self.home(levels)[:, None, :]
        moved: Ints = (flow[:, :, None] * away).sum(axis=(0, 1))
        return moved

    def value(self, levels: Levels, leaf: Ints32, cost: Floats, flow: Ints) -> float:
        """J: relative costs, the price of moves, and what some pay beyond it."""
        paid = _total(self.price * (self.moved(levels, flow) / self.total))
        return _total(cost / self.ref) + paid + _overcome(self, levels, leaf)


@dataclass(frozen=True, eq=False)
class Solution:
    """Levels, the leaf of each unit, and what follows from them."""

    levels: Levels
    leaf: Ints32
    sums: Floats  # of the rows of each cluster
    weights: Ints
    points: Floats  # centers of clusters
    cost: Floats  # of each level
    flow: Ints  # pulled weight, by yesterday's leaf and today's
    moved: Ints  # surviving weight with another name than yesterday, at each level
    value: float  # J


def levels_of(hierarchy: Hierarchy, sizes: tuple[int, ...]) -> Levels:
    """Take the levels of a hierarchy; its labels are the leaves."""
    offsets = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    ancestors = [ancestors_among(hierarchy.parent, k)[: sizes[-1]] for k in sizes]
    path = (np.array(ancestors, dtype=np.int64) + offsets[:, None]).T
    names = np.concatenate([hierarchy.names(k) for k in sizes])
    return Levels(sizes, np.ascontiguousarray(path, dtype=np.int32), names)


def caution_for(units: Units, sizes: tuple[int, ...]) -> Floats:
    """How many times the price a row must save before it moves, at each level, if it did not change.

    The difference between two means of n / k rows each is off by chance by about sqrt(2 k / (n d)) of
    the distance from a row to its mean, and so is what one row saves. Of n k such savings the largest
    is off by about sqrt(2 ln(n k)) times as much; at the default price, a row must save that much
    beyond the price. In large tables this is nothing. Changes of structure, which are decided by many
    rows, need no caution.
    """
    n, count = units.rows.shape[0], np.array(sizes)
    chance = np.sqrt(2.0 * count / units.rows.size)
    bits = np.array(
        [(n * k).bit_length() for k in sizes]
    )  # a logarithm that is the same everywhere
    caution: Floats = 1.0 + _CAUTION * np.sqrt(2.0 * _LN2 * bits) * chance
    return np.minimum(caution, _MOST_CAUTION)


def solve_as(problem: Problem, levels: Levels, leaf: Ints32) -> Solution:
    """Measure an assignment."""
    units = problem.units
    sums, weights = units.sums(leaf, levels.sizes[-1])
    sums, weights = levels.collect(sums), levels.collect(weights)
    points = units.means(sums, weights)
    cost = levels.add_up(units.costs(leaf, levels.path, points))
    flow = problem.flow(leaf, levels.sizes[-1], units.pulled)
    counted = flow
    if problem.pulls_others:
        counted = problem.flow(leaf, levels.sizes[-1], units.counted)
    moved, value = problem.moved(levels, counted), problem.value(levels, leaf, cost, flow)
    return Solution(levels, read_only(leaf), sums, weights, points, cost, flow, moved, value)


def _overcome(problem: Problem, levels: Levels, leaf: Ints32) -> float:
    """Sum what units that left their leaves had to pay beyond the price."""
    units = problem.units
    if units.inert.size == 0:
        return 0.0
    away = levels.path[leaf[units.inert]] != problem.home(levels)[units.origin[units.inert]]
    toll = (away * problem.price).cumsum(axis=1)[:, -1] / problem.total * units.pull[units.inert]
    beyond = np.maximum(units.inertia[units.inert] - toll, 0.0) * away.any(axis=1)
    return _total(beyond * units.weight[units.inert])


def count_by(place: Ints32, weight: Ints, size: int) -> Ints:
    """Sum weights by place."""
    total = np.zeros(size, dtype=np.int64)
    count_weight(read_only(place), read_only(weight), total)
    return total


def _blocks(chosen: Ints) -> list[slice]:
    """Blocks with about as many of the chosen units each."""
    count = max(1, min(_BLOCKS, chosen.size // _LEAST))
    ends = [chosen.size * i // count for i in range(count + 1)]
    return [slice(chosen[a], chosen[b - 1] + 1) if a < b else slice(0) for a, b in pairwise(ends)]


def _add_parts(
    parts: list[slice], shape: tuple[int, ...], add: Callable[[slice, Floats], object]
) -> Floats:
    """Let blocks add to totals of their own, and add these up in their order."""
    totals = np.zeros((len(parts), *shape))
    share_parts(len(parts), lambda b: add(parts[b], totals[b]))
    added: Floats = totals[0].copy()
    for total in totals[1:]:
        added += total
    return added


def _total(values: Floats) -> float:
    total = 0.0
    for value in values.tolist():
        total += value
    return total
