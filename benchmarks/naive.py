"""Algorithm 2 of [LHBP25] as it is written: all costs counted anew in every round, O(n^3)."""

import math

import numpy as np
from numpy.typing import NDArray

_LEVELS = 50


def choose_all_centers(X: NDArray[np.float64], *, epsilon: float = 1.0) -> NDArray[np.int64]:
    """Choose all centers by [LHBP25], Alg. 2, evaluating the cost of every candidate every round.

    Straight from the pseudocode: n rounds, n candidates a round, n distances a candidate; O(n^3)
    time, O(n^2) memory. The candidates of one round are one NumPy expression, which is the fastest
    way to count like this.
    """
    n = X.shape[0]
    generator = np.random.default_rng(0)
    distances = measure_tree(X, generator)
    nearest = np.full(n, 2.0 * distances.max())
    free = np.ones(n, dtype=np.bool_)
    centers = np.empty(n, dtype=np.int64)
    for t in range(n):
        costs = np.minimum(distances, nearest).sum(axis=1)
        costs[~free] = np.inf
        best = costs.min()
        scale = epsilon * best / (generator.uniform(3.0, 6.0) * math.log(max(n, 2)))
        chances = np.exp((best - costs) / scale) if scale > 0.0 else (costs == best).astype(float)
        center = int(generator.choice(n, p=chances / chances.sum()))
        centers[t], free[center] = center, False
        nearest = np.minimum(nearest, distances[center])
    return centers


def measure_tree(X: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Distances of all pairs of rows on a randomly shifted tree, [LHBP25], Alg. 4."""
    n, d = X.shape
    side = float(np.ptp(X, axis=0).max()) or 1.0
    offset = X - X.min(axis=0) + generator.uniform(0.0, side, size=d)
    side *= 2.0
    distances = np.full((n, n), 4.0 * math.sqrt(d) * side)
    for _ in range(_LEVELS):
        _, cell = np.unique(np.floor(offset / side), axis=0, return_inverse=True)
        same = cell[:, None] == cell[None, :]
        distances[same] = 2.0 * math.sqrt(d) * side
        if same.sum() == n:
            break
        side /= 2.0
    np.fill_diagonal(distances, 0.0)
    return distances
