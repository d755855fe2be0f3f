"""The steps of the sensitivity argument in docs/medoids.md, exactly, on inputs made to break them.

Everything is computed from the matrix of distances: the costs after every candidate, with and without
each row, given the same earlier centers.
"""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

EPSILON = 0.5
INPUTS = 150


def make_rows(rng: np.random.Generator) -> np.ndarray:
    """Few rows: round groups, groups that tie, far outliers, a hub with spokes, pairs, a line."""
    n, kind = int(rng.integers(8, 26)), int(rng.integers(6))
    rows = rng.normal(size=(n, 2))
    if kind == 1:
        rows = np.round(2.0 * rows) + rng.normal(size=(n, 2)) * 1e-3
    elif kind == 2:
        rows[: n // 4] *= 10.0 ** rng.uniform(1, 4, size=(n // 4, 1))
    elif kind == 3:
        rows = np.vstack((np.zeros(n - 1), np.eye(n - 1)))
    elif kind == 4:
        rows[1::2] = rows[: 2 * (n // 2) : 2] * (1 + 1e-3) + 1e-3
        rows *= 10.0 ** rng.uniform(0, 3, size=(n, 1))
    elif kind == 5:
        rows = np.sort(rng.uniform(size=n))[:, None] ** 4 * 100.0
    return rows


class Round:
    """Costs after every candidate, given earlier centers, of all rows and without each one."""

    def __init__(self, D: np.ndarray, centers: list[int]) -> None:
        n = len(D)
        cluster = np.full(n, -1)
        before = np.full(n, math.inf)
        for t, c in enumerate(centers):
            moves = (cluster == (cluster[c])) & (D[:, c] < before) if t else np.full(n, True)
            cluster[moves], before[moves] = t, D[moves, c]
        same = cluster[:, None] == cluster[None, :]
        # left[i, x]: the distance of row i to its center once x is one.
        self.left = np.where(same, np.minimum(before[:, None], D), before[:, None])
        self.free = np.setdiff1d(np.arange(n), centers)
        self.cost = self.left.sum(axis=0)[self.free]
        self.least = self.cost.min()
        self.best = int(self.free[self.cost.argmin()])

    def without(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Candidates other than row i, and the costs after them without row i."""
        others = self.free[self.free != i]
        return others, self.left[:, others].sum(axis=0) - self.left[i, others]


def some_rounds(metric: str):
    rng = np.random.default_rng(7)
    for _ in range(INPUTS):
        rows = make_rows(rng)
        centers = list(rng.choice(len(rows), size=int(rng.integers(0, 4)), replace=False))
        found = Round(cdist(rows, rows, metric), centers)
        if found.least > 0.0:
            yield found


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_scores_and_the_best_cost_move_by_few_terms(metric):
    largest = 0.0
    for found in some_rounds(metric):
        np.testing.assert_allclose(found.left[:, found.free].sum(axis=0), found.cost)  # item 1
        moved = [abs(found.least - found.without(i)[1].min()) for i in found.free]
        largest = max(largest, sum(moved) / found.least)
    assert 1.0 < largest <= 8.0  # item 2; above 1 it is more than one term


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_choices_close_to_the_best_leave_few_rows_far_away(metric):
    largest = 0.0
    for found in some_rounds(metric):
        far = 0.0
        for i in found.free[found.free != found.best]:
            others, cost = found.without(i)
            close = others[cost <= (1.0 + EPSILON) * found.least]
            far += found.left[i, close].max()
        largest = max(largest, far / found.least)
    assert 1.0 < largest <= 7.0 + 4.0 * EPSILON  # item 3


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_total_variation_of_one_round(metric, epsilon):
    largest = 0.0
    for found in some_rounds(metric):
        n = len(found.left)
        for factor in (1.0, 2.0):  # the coolest and the warmest temperature
            temperature = factor * epsilon * found.least / (6.0 * math.log(n))
            law = np.zeros(n)
            law[found.free] = np.exp(-(found.cost - found.least) / temperature)
            law /= law.sum()
            total = 0.0
            for i in found.free:
                others, cost = found.without(i)
                after = np.zeros(n)
                after[others] = np.exp(-(cost - cost.min()) / temperature)
                total += 0.5 * np.abs(law - after / after.sum()).sum()
            bound = 3.0 + (7.0 + 4.0 * epsilon) * found.least / temperature
            largest = max(largest, total / bound)
    assert 0.0 < largest <= 1.0
