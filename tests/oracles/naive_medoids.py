"""The hierarchy of medoids straight from its definition: a distance matrix and plain loops.

Shares with the library only what is random: the key of a row, and the numbers hashed from it.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from holdfast._machine.hash import combine_arrays, purpose_key, uniform

METRICS = {"euclidean": "euclidean", "manhattan": "cityblock", "cosine": "cosine"}


@dataclass
class Naive:
    """Centers (locations), parents, and after each round the cluster and cost of everybody."""

    center: list[int]
    parent: list[int]
    cuts: list[np.ndarray]
    costs: list[float]


def distances(points: np.ndarray, metric: str) -> np.ndarray:
    return cdist(points, points, METRICS[metric])


def costs_after(D: np.ndarray, weight: np.ndarray, cluster: np.ndarray, own: np.ndarray):
    """Cost after each location as the next center; `own` is None before the first."""
    if own is None:
        return D @ weight
    after = np.empty(len(D))
    for x in range(len(D)):
        near = np.where(cluster == cluster[x], np.minimum(own, D[x]), own)
        after[x] = weight @ near
    return after


def take(D: np.ndarray, cluster: np.ndarray, own: np.ndarray, x: int, t: int):
    """Clusters and distances once location x is center t."""
    if own is None:
        return np.zeros(len(D), int), D[x].copy()
    moves = (cluster == cluster[x]) & (D[x] < own)
    return np.where(moves, t, cluster), np.where(moves, D[x], own)


def uniforms(keys: np.ndarray, word: int) -> np.ndarray:
    words = np.array([word], dtype=np.uint64)
    return np.array([uniform(key) for key in combine_arrays(keys, words)])


def run(D, weight, keys, epsilon: float, n_centers: int, seed: int) -> Naive:
    """Choose centers by the definition, with the library's clocks and temperatures."""
    total = max(float(weight.sum()), 2.0)
    temperature_key = np.array([purpose_key(seed, "temperature")])
    found = Naive([], [], [], [])
    cluster, own = np.zeros(len(D), int), None
    free = np.ones(len(D), bool)
    for t in range(n_centers):
        after = np.where(free, costs_after(D, weight, cluster, own), np.inf)
        lowest = after.min()
        scale = min(epsilon, 1e300) * lowest / (6.0 * math.log(total))
        temperature = scale * (1.0 + uniforms(temperature_key, t)[0])
        if temperature == 0.0:
            best = np.flatnonzero(after <= lowest * (1 + 1e-12))
            x = int(best[np.argmax(keys[best])])
        else:
            clock = -np.log(uniforms(keys, t)) / weight
            x = int(np.argmin(np.log(clock) + (after - lowest) / temperature))
        found.parent.append(int(cluster[x]) if t else -1)
        found.center.append(x)
        cluster, own = take(D, cluster, own, x, t)
        free[x] = False
        found.cuts.append(cluster)
        found.costs.append(float(weight @ own))
    return found


def law_of_two(D: np.ndarray, weight: np.ndarray, epsilon: float, nodes: int = 40) -> np.ndarray:
    """Exact probability of each pair (c_1, c_2), lambda integrated by Gauss and Legendre."""
    points, masses = np.polynomial.legendre.leggauss(nodes)
    law = np.zeros((len(D), len(D)))
    for x, p in enumerate(_law_of_one(D, weight, epsilon, [], points, masses)):
        law[x] = p * _law_of_one(D, weight, epsilon, [x], points, masses)
    return law


def _law_of_one(D, weight, epsilon, centers, points, masses) -> np.ndarray:
    cluster, own = np.zeros(len(D), int), None
    free = np.ones(len(D), bool)
    for t, x in enumerate(centers):
        cluster, own = take(D, cluster, own, x, t)
        free[x] = False
    after = costs_after(D, weight, cluster, own)
    lowest = after[free].min()
    coolest = epsilon * lowest / (6.0 * math.log(max(float(weight.sum()), 2.0)))
    law = np.zeros(len(D))
    for point, mass in zip(points, masses, strict=True):
        temperature = coolest * (1.5 + 0.5 * point)
        rate = np.where(free, weight * np.exp((lowest - after) / temperature), 0.0)
        law += 0.5 * mass * rate / rate.sum()
    return law
