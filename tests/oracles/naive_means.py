"""Splits between means straight from their definition: plain loops, integers of any size.

Shares with the library only what is random: the key of a row, and the numbers hashed from it. The
arithmetic of a row (the order in which its terms are added) is part of the definition, since it
decides on which side of a plane the row lies.
"""

import math
from dataclasses import dataclass

import numpy as np
from oracles.naive_medoids import Naive, uniforms

from holdfast._machine.hash import purpose_key

PROPOSE, CHOOSE = 1, 2
SAMPLE, CANDIDATES, SAMPLE_SPLITS, SPLITS = 4096, 16, 32, 3
AVERAGES, AVERAGED_VALUES = 8, 1 << 18
SCORED, SCORED_VALUES = 512, 1 << 17
FOLDED, FINE = 16, 12
GAPS, OFF_MEAN, MANY_COLUMNS = 16, 1.5, 16
PAIR_COLUMNS, PAIR_VALUES = 128, 1 << 26


def fold(terms: np.ndarray) -> float:
    """Add the upper half to the lower, and again, in the precision of the terms."""
    terms = terms.copy()
    while len(terms) > 1:
        half = (len(terms) + 1) // 2
        terms[: len(terms) - half] += terms[half:]
        terms = terms[:half]
    return float(terms[0])


def add_in_order(terms) -> float:
    total = 0.0
    for term in terms:
        total += float(term)
    return total


def add_columns(terms: np.ndarray) -> np.ndarray:
    """Sum of each row, column by column, in the precision of the terms."""
    total = np.zeros(len(terms), terms.dtype)
    for column in terms.T:
        total += column
    return total


def add_up(terms: np.ndarray) -> float:
    """Terms of one row among all: in their order, or by halves where there are many."""
    return add_in_order(terms) if len(terms) < FOLDED else fold(terms)


def is_far(row: np.ndarray, point: np.ndarray, normal: np.ndarray) -> bool:
    return add_up((row - point) * normal) > 0.0


def normalize(vector: np.ndarray) -> np.ndarray:
    """Scale by the power of two that brings the largest value to [1/2, 1)."""
    most = float(np.abs(vector).max())
    return vector * math.ldexp(1.0, min(-math.frexp(most)[1], 1000)) if most > 0.0 else vector


def to_length_one(point: np.ndarray) -> np.ndarray:
    length = math.sqrt(add_in_order(point * point))
    return point / length if length > 0.0 else point


def race(keys, word: int, gain, weight, useful, temperature: float) -> int:
    """The first of clocks with rates weight exp(gain / temperature); largest gain at 0."""
    gain = np.where(useful, gain, -np.inf)
    if temperature == 0.0:
        best = np.flatnonzero(gain >= gain.max() - abs(gain.max()) * 2.0**-40)
        return int(best[np.argmax(keys[best])])
    clock = -np.log(uniforms(keys, word)) / weight
    return int(np.argmin(np.log(clock) + (gain.max() - gain) / temperature))


@dataclass
class Cluster:
    members: list[int]
    center: int
    mean: np.ndarray
    cost: float
    split: tuple | None = None  # far members, near part, far part, gain, key


class Means:
    """All clusters, from one to as many as asked for."""

    def __init__(self, points, weight, keys, epsilon, seed, spherical, unit) -> None:
        self.points, self.weight, self.keys = points, [int(w) for w in weight], keys
        self.spherical = spherical
        total = sum(self.weight)
        self.bits = min(30, 62 - total.bit_length())
        self.rate = min(epsilon, 1e300) / (6.0 * math.log(max(total * unit, 2.0)))
        self.temperature_key = np.array([purpose_key(seed, "temperature")])

    def heat(self, t: int, cost: float) -> float:
        coolest = min(self.rate * float(max(cost, 0.0)), 1e300)
        return coolest * (1.0 + float(uniforms(self.temperature_key, t)[0]))

    def bounds(self, members):
        return self.points[members].min(axis=0), self.points[members].max(axis=0)

    def mean(self, members, low, high) -> np.ndarray:
        """Mean of members in whole steps of a grid over the bounds of their cluster."""
        found = low.copy()
        for j in range(low.size):
            if low[j] == high[j]:
                continue
            steps = math.ldexp(1.0, min(self.bits - math.frexp(high[j] - low[j])[1], 1000))
            total = sum(
                self.weight[i] * math.floor((self.points[i, j] - low[j]) * steps + 0.5)
                for i in members
            )
            found[j] += float(total) / float(sum(self.weight[i] for i in members)) / steps
        return found

    def extent(self, low, high) -> int:
        return max(math.frexp(float((high - low).max()))[1], -1000)

    def distances(self, members, mean, exponent: int) -> list[float]:
        """Distances to a mean (or its direction), the extent of the cluster being about 1."""
        place = to_length_one(mean) if self.spherical else mean
        found = []
        for i in members:
            difference = (self.points[i] - place) * math.ldexp(1.0, -exponent)
            square = add_up(difference * difference)
            found.append(0.5 * square if self.spherical else math.sqrt(square))
        return found

    def describe(self, members, mean, exponent: int, center: int | None) -> Cluster:
        """A part of a cluster of that extent; named after its closest row if it has no center."""
        low, high = self.bounds(members)
        if (low < high).any() and self.extent(low, high) < exponent - FINE:
            exponent = self.extent(low, high)
            mean = self.mean(members, low, high)
        distance = self.distances(members, mean, exponent)
        if center is None:
            center = min(zip(distance, (int(k) for k in self.keys[members]), members, strict=True))[
                2
            ]
        units = sum(
            self.weight[i] * (max(math.floor(x * 2.0**50 + 0.5), 1) if x > 0.0 else 0)
            for i, x in zip(members, distance, strict=True)
        )
        power = exponent * (2 if self.spherical else 1)
        cost = math.ldexp(float(units), power - 50) if (low < high).any() else 0.0
        return Cluster(members, center, np.clip(mean, low, high), cost)

    def plane(self, near, far, low, high, anchor):
        """Means of two sides, the plane half way between them, turned away from the anchor."""
        means = [self.mean(near, low, high), self.mean(far, low, high)]
        a, b = map(to_length_one, means) if self.spherical else means
        point, normal = 0.5 * a + 0.5 * b, normalize(b - a)
        return point, self.turn_away(point, normal, anchor)

    def turn_away(self, point, normal, anchor):
        return -normal if is_far(anchor, point, normal) else normal

    def settle(self, members, plane, low, high, anchor, most: int):
        """The last plane that has members on both sides, and its far side; None if none has."""
        before = None
        for _ in range(most):
            far = [i for i in members if is_far(self.points[i], *plane)]
            if not far or len(far) == len(members):
                return before
            if before is not None and far == before[1]:
                return plane, far
            before = plane, far
            near = [i for i in members if i not in set(far)]
            plane = self.plane(near, far, low, high, anchor)
        return before

    def locations(self, members):
        """Distinct members in the order of keys, with their weights in all."""
        found: dict[int, int] = {}
        for i in members:
            found.setdefault(int(self.keys[i]), i)
        rows = [found[key] for key in sorted(found)]
        total = [
            sum(self.weight[i] for i in members if self.keys[i] == self.keys[row]) for row in rows
        ]
        return rows, total

    def draw_direction(self, cluster: Cluster, rows, total, centered):
        """Draw a candidate by what its direction tells apart; where its plane starts, averages."""
        d = cluster.mean.size
        scored = centered[: max(SCORED, SCORED_VALUES // d)]
        score = np.zeros(min(CANDIDATES, len(rows)))
        times = np.array(total[: len(scored)], float)
        single = times.astype(np.float32)
        square = add_columns(scored * scored)
        squares, starts = fold(square * single), np.zeros(score.size)
        times_more = np.ones(score.size)
        for c in range(score.size):
            direction = normalize(centered[c])
            place = add_columns(scored * direction)
            along = place * single
            far = along > 0.0
            if not 0.0 < times[far].sum() < times.sum():
                continue
            zero = np.float32(0.0)
            sums = fold(np.minimum(along, zero)), fold(np.maximum(along, zero))
            between = sums[0] * sums[0] / times[~far].sum() + sums[1] * sums[1] / times[far].sum()
            between -= (sums[0] + sums[1]) * (sums[0] + sums[1]) / times.sum()
            length = add_in_order(direction.astype(float) ** 2)
            if between > 0.0:
                score[c] = min(between / length / squares, 1.0)
                if not self.spherical and d >= MANY_COLUMNS:
                    starts[c], times_more[c] = self.find_gap(
                        place[:SCORED].astype(float),
                        square[:SCORED].astype(float),
                        times[:SCORED],
                        c,
                        length,
                    )
        starts[times_more <= OFF_MEAN] = 0.0
        times_more[times_more <= OFF_MEAN] = 1.0
        gain = cluster.cost * np.minimum((1.0 - np.sqrt(1.0 - score)) * times_more, 1.0)
        drawn = self.draw_member(cluster, rows, total, gain)
        if drawn is None:
            return None
        averages = max(1, min(AVERAGES, AVERAGED_VALUES // centered.size))
        return drawn, starts[drawn], 0 if starts[drawn] > 0.0 else averages

    def draw_member(self, cluster: Cluster, rows, total, gain):
        """Draw one of the first members by its gain; None if none has any."""
        if not (gain > 0.0).any():
            return None
        keys, weight = self.keys[rows[: gain.size]], np.array(total[: gain.size], float)
        heat = self.heat(0, cluster.cost - gain.max())
        return race(keys, PROPOSE, gain, weight, gain > 0.0, heat)

    def draw_center(self, cluster: Cluster, rows, total, centered, stretch):
        """Draw a member by what it saves as a second center; its plane starts half way to it."""
        own = np.sqrt(add_columns(centered * centered))
        single, zero = np.array(total, float).astype(np.float32), np.float32(0.0)
        gain = np.array(
            [
                fold(np.maximum(own - np.sqrt(add_columns((centered - row) ** 2)), zero) * single)
                for row in centered
            ]
        )
        gain = np.minimum(gain / stretch, cluster.cost)
        drawn = self.draw_member(cluster, rows, total, gain)
        return None if drawn is None else (drawn, 0.5, 0)

    def saved_by(self, mean, total, centered, stretch, plane) -> float:
        """What the means of both sides of a plane save on the sample."""
        point, normal = plane
        level = np.float32(add_in_order((point - mean) * stretch * normal))
        far = add_columns(centered * normal.astype(np.float32)) > level
        single = np.array(total, float).astype(np.float32)
        places = np.empty_like(centered)
        for side in (far, ~far):
            if not side.any():
                return 0.0
            sums = np.array([fold(column * (single * side)) for column in centered.T])
            places[side] = sums / np.array(total, float)[side].sum()
        own, apart = add_columns(centered * centered), add_columns((centered - places) ** 2)
        return fold((np.sqrt(own) - np.sqrt(apart)) * single)

    def find_gap(self, place, square, times, own, length):
        """The best of 16 planes between the mean and a candidate, and how much more it saves."""
        others = [p for p in range(len(place)) if p != own]
        steps = [
            1 + int(min(place[p] * (GAPS / place[own]), GAPS - 1.0)) if place[p] > 0.0 else 0
            for p in others
        ]
        # Each bin is added up over its members in order, then the bins are: all from the nearest
        # to the farthest, the far side from the farthest on.
        bins = [
            np.bincount(np.array(steps, int), terms[others], GAPS + 1)
            for terms in (times, times * place, times * square)
        ]
        whole = [add_in_order(line) for line in bins]

        def saved_by(count, distance, far):
            if count <= 0.0:
                return 0.0
            away = distance / count - whole[1] / whole[0]
            shift = away * away / length
            return count * (math.sqrt(far / count) - math.sqrt(max(far / count - shift, 0.0)))

        saved = []
        for b in range(1, GAPS + 1):
            moved = [add_in_order(line[: b - 1 : -1]) for line in bins]
            rest = [total - some for total, some in zip(whole, moved, strict=True)]
            saved.append(saved_by(*moved) + saved_by(*rest))
        best = int(np.argmax(saved))
        return best / GAPS, saved[best] / saved[0] if saved[0] > 0.0 else 1.0

    def settle_sample(self, mean, total, centered, stretch: float, chosen, start, averages):
        """Average a direction over the sample; let the plane across it settle there."""
        times, everything = np.array(total, float), float(sum(total))
        single = times.astype(np.float32)

        def add_members(factors):
            return np.array([fold(factors * column) for column in centered.T])

        def to_single(vector):
            return normalize(vector.astype(float)).astype(np.float32)

        direction = to_single(centered[chosen])
        for _ in range(averages):
            direction = to_single(add_members(single * add_columns(centered * direction)))
        middle, settled, before = start * centered[chosen].astype(float), None, None
        for _ in range(SAMPLE_SPLITS):
            threshold = np.float32(add_in_order(middle * direction))
            far = add_columns(centered * direction) > threshold
            moved = float(times[far].sum())
            if not 0.0 < moved < everything:
                return settled
            settled = mean + middle / stretch, direction
            if before is not None and (far == before).all():
                return settled
            before, sums = far, add_members(single * far)
            ends = [(add_members(single) - sums) / (everything - moved), sums / moved]
            if self.spherical:
                ends = [(to_length_one(mean + end / stretch) - mean) * stretch for end in ends]
            middle, direction = 0.5 * ends[0] + 0.5 * ends[1], to_single(ends[1] - ends[0])
        return settled

    def propose(self, cluster: Cluster) -> None:
        members, anchor = cluster.members, self.points[cluster.center]
        low, high = self.bounds(members)
        if not (low < high).any():
            return
        rows, total = self.locations(members)
        everybody = len(rows) <= SAMPLE
        rows, total = rows[:SAMPLE], total[:SAMPLE]
        exponent = self.extent(low, high)
        stretch = math.ldexp(1.0, -exponent)
        centered = ((self.points[rows] - cluster.mean) * stretch).astype(np.float32)
        key, settled, plane = self.keys[cluster.center], None, None
        size, d = centered.shape
        few = d <= PAIR_COLUMNS and size * size * max(d, 8) <= PAIR_VALUES
        found = None
        if everybody and few and not self.spherical:
            found = self.draw_center(cluster, rows, total, centered, stretch)
        if found is not None:
            plane = self.settle_sample(cluster.mean, total, centered, stretch, *found)
        if plane is None or d >= MANY_COLUMNS:
            other = self.draw_direction(cluster, rows, total, centered)
            if other is not None:
                second = self.settle_sample(cluster.mean, total, centered, stretch, *other)
                sample = cluster.mean, total, centered, stretch
                if second is not None and (
                    plane is None or self.saved_by(*sample, second) > self.saved_by(*sample, plane)
                ):
                    found, plane = other, second
        if plane is not None:
            key = self.keys[rows[found[0]]]
            plane = plane[0], self.turn_away(*plane, anchor)
            settled = self.settle(members, plane, low, high, anchor, 1 if everybody else SPLITS)
        if settled is None:
            j = int(np.argmax(high - low))
            axis = np.zeros(low.size)
            axis[j] = 1.0 if high[j] > anchor[j] else -1.0
            settled = self.settle(members, (anchor, axis), low, high, anchor, SPLITS)
        assert settled is not None
        far = settled[1]
        near = [i for i in members if i not in set(far)]
        stay = self.describe(near, self.mean(near, low, high), exponent, cluster.center)
        go = self.describe(far, self.mean(far, low, high), exponent, None)
        cluster.split = (far, stay, go, max(cluster.cost - (stay.cost + go.cost), 0.0), key)


def run(
    points, weight, keys, epsilon: float, n_centers: int, seed: int, spherical=False, unit=1.0
) -> Naive:
    """Choose centers by the definition, with the library's clocks and temperatures.

    Weights are whole numbers, in units of `unit`.
    """
    means = Means(points, weight, keys, epsilon, seed, spherical, unit)
    everybody = list(range(len(points)))
    low, high = means.bounds(everybody)
    exponent = means.extent(low, high)
    clusters = [means.describe(everybody, means.mean(everybody, low, high), exponent, None)]
    means.propose(clusters[0])
    parent, label = [-1], np.zeros(len(points), int)
    cuts, costs = [label.copy()], [clusters[0].cost]
    for t in range(1, n_centers):
        free = np.array([cluster.split is not None for cluster in clusters])
        gain = np.array([cluster.split[3] if cluster.split else 0.0 for cluster in clusters])
        marks = np.array(
            [cluster.split[4] if cluster.split else 0 for cluster in clusters], np.uint64
        )
        total = math.fsum(cluster.cost for cluster in clusters)
        j = race(marks, CHOOSE, gain, np.ones(t), free, means.heat(t, total - gain.max()))
        far, stay, go, _, _ = clusters[j].split
        label[far] = t
        parent.append(j)
        clusters[j] = stay
        clusters.append(go)
        means.propose(stay)
        means.propose(go)
        cuts.append(label.copy())
        costs.append(min(costs[-1], math.fsum(cluster.cost for cluster in clusters)))
    return Naive([cluster.center for cluster in clusters], parent, cuts, costs)
