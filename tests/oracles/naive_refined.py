"""Refined splits straight from their definition: plain loops, means by numpy.

Shares with the library only what is random: the key of a row, and the numbers hashed from it.
"""

import math

import numpy as np
from oracles.naive_euclidean import Naive, uniforms
from scipy.spatial.distance import cdist

from holdfast._machine.hash import purpose_key

FIRST, PROPOSE, CHOOSE = 0, 1, 2


def settle(points: np.ndarray, weight: np.ndarray, a: np.ndarray, b: np.ndarray):
    """Two means of the points, started at a and b."""
    before = None
    while True:
        side = cdist(points, [b])[:, 0] < cdist(points, [a])[:, 0]
        if before is not None and (side == before).all():
            return a, b
        if side.all() or not side.any():
            return a, b
        before = side
        a = np.average(points[~side], axis=0, weights=weight[~side])
        b = np.average(points[side], axis=0, weights=weight[side])


def race(keys, word: int, gain, weight, useful, temperature: float) -> int:
    """The first of clocks with rates weight exp(gain / temperature); largest gain at 0."""
    gain = np.where(useful, gain, -np.inf)
    if temperature == 0.0:
        best = np.flatnonzero(gain >= gain.max() - abs(gain.max()) * 1e-12)
        return int(best[np.argmax(keys[best])])
    clock = -np.log(uniforms(keys, word)) / weight
    return int(np.argmin(np.log(clock) + (gain.max() - gain) / temperature))


def run(points, weight, keys, epsilon: float, n_centers: int, seed: int) -> Naive:
    """Choose centers by the definition, with the library's clocks and temperatures."""
    rate = min(epsilon, 1e300) / (6.0 * math.log(max(float(weight.sum()), 2.0)))
    temperature_key = np.array([purpose_key(seed, "temperature")])

    def heat(t: int, cost: float) -> float:
        return rate * max(cost, 0.0) * (1.0 + uniforms(temperature_key, t)[0])

    D = cdist(points, points)
    everybody = np.ones(len(points), bool)
    total = D @ weight
    first = race(keys, FIRST, -total, weight, everybody, heat(0, total.min()))
    label = np.zeros(len(points), int)
    center, parent = [first], [-1]
    cuts, costs = [label.copy()], [_cost(points, weight)]

    def propose(j: int, whole: float):
        members = np.flatnonzero(label == j)
        mean = np.average(points[members], axis=0, weights=weight[members])
        own = cdist(points[members], [mean])[:, 0]
        saved = np.maximum(own[None, :] - D[np.ix_(members, members)], 0.0) @ weight[members]
        drawn = race(
            keys[members], PROPOSE, saved, weight[members], saved > 0, heat(0, whole - saved.max())
        )
        a, b = settle(points[members], weight[members], mean, points[members[drawn]])
        here = points[[center[j]]]
        if cdist(here, [b])[0, 0] < cdist(here, [a])[0, 0]:
            a, b = b, a
            near, far = cdist(points[members], [b])[:, 0], cdist(points[members], [a])[:, 0]
            if (near == far).any():  # ties stay with the center's point
                a, b = settle(points[members], weight[members], a, b)
        near, far = cdist(points[members], [b])[:, 0], cdist(points[members], [a])[:, 0]
        gain = weight[members] @ (own - np.minimum(near, far))
        moving = members[near < far]
        from_mean = cdist(points[moving], [b])[:, 0]
        name = moving[np.argmax(from_mean <= from_mean.min() * (1 + 1e-12))]
        return keys[members[drawn]], max(gain, 0.0), moving, name

    parts = [_cost(points, weight)]
    proposals = [propose(0, parts[0]) if len(points) > 1 else None]
    for t in range(1, n_centers):
        free = np.array([(label == j).sum() > 1 for j in range(t)])
        gains = np.array([p[1] if f else 0.0 for p, f in zip(proposals, free, strict=True)])
        marks = np.array(
            [p[0] if f else 0 for p, f in zip(proposals, free, strict=True)], np.uint64
        )
        temperature = heat(t, sum(parts) - gains.max())
        j = race(marks, CHOOSE, gains, np.ones(t), free, temperature)
        _, _, moving, name = proposals[j]
        label[moving] = t
        center.append(int(name))
        parent.append(j)
        parts.append(0.0)
        for i in (j, t):
            parts[i] = _cost(points[label == i], weight[label == i])
        proposals.append(None)
        for i in (j, t):
            proposals[i] = propose(i, sum(parts)) if (label == i).sum() > 1 else None
        cuts.append(label.copy())
        costs.append(min(costs[-1], sum(parts)))
    return Naive(center, parent, cuts, costs)


def _cost(points: np.ndarray, weight: np.ndarray) -> float:
    mean = np.average(points, axis=0, weights=weight)
    return float(weight @ cdist(points, [mean])[:, 0])
