"""All single deletions from the structure of the tree against refitting without each row."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from holdfast import HierarchicalKMedian, average_sensitivity
from holdfast.parameters import Settings
from holdfast.pipeline import cluster_rows
from holdfast.stability import deletions
from holdfast.stability.deletions import match_deletions
from holdfast_paper.unshifted import UnshiftedKMedian

FAMILIES = ("normal", "grid", "cauchy", "repeats", "small grid", "far row", "line")
EPSILONS = (0.0, 0.01, 0.1, 1.0, 10.0, 1000.0, math.inf)


def make_rows(family: str, number: int) -> np.ndarray:
    rng = np.random.default_rng([FAMILIES.index(family), number])
    n, d = int(rng.integers(3, 60)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if family == "grid":
        X = np.round(2.0 * X)
    elif family == "cauchy":
        X = rng.standard_cauchy(size=(n, d))
    elif family == "repeats":
        X = X[rng.integers(0, n, size=n)]
    elif family == "small grid":
        X = rng.integers(0, 4, size=(n, d)).astype(float)
    elif family == "far row":
        X[int(rng.integers(n))] *= 100.0
    elif family == "line":
        X = np.outer(rng.normal(size=n), np.ones(d))
    return X


def refit_all(X: np.ndarray, ks: list[int], settings: Settings) -> np.ndarray:
    settings = replace(settings, max_centers=max(ks))
    base = cluster_rows(X, None, settings)
    matched = np.empty((len(X), len(ks)), dtype=int)
    for row in range(len(X)):
        without = cluster_rows(np.delete(X, row, axis=0), None, settings)
        for j, k in enumerate(ks):
            table = np.zeros((k, k), dtype=int)
            np.add.at(table, (np.delete(base.cut(k), row), without.cut(k)), 1)
            rows, columns = linear_sum_assignment(table, maximize=True)
            matched[row, j] = table[rows, columns].sum()
    return matched


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_refitting(family: str, epsilon: float):
    for number in range(5):
        X = make_rows(family, number)
        rng = np.random.default_rng(number)
        ks = sorted({int(k) for k in rng.integers(1, max(2, min(len(X) - 1, 17)), size=3)})
        settings = Settings(
            seed=number,
            epsilon=epsilon,
            random_shift=number != 4,
            root_box=None,
            max_centers=len(X),
        )
        np.testing.assert_array_equal(
            match_deletions(X, ks, settings), refit_all(X, ks, settings), err_msg=f"input {number}"
        )


def test_most_rows_are_not_refitted(monkeypatch: pytest.MonkeyPatch):
    fits = []
    original = deletions.cluster_rows
    monkeypatch.setattr(
        deletions, "cluster_rows", lambda *given: fits.append(1) or original(*given)
    )
    X = np.random.default_rng(0).normal(size=(500, 3))
    settings = Settings(seed=0, epsilon=10.0, random_shift=True, root_box=None, max_centers=500)
    matched = match_deletions(X, [2, 16], settings)
    assert len(fits) <= 7  # at most two rows a column move the root, and the base
    assert matched.min() < 499  # some row moves others


def test_rows_that_the_grid_merges_are_refitted():
    X = np.array([[0.0], [1e-30], [0.5], [0.7], [1.0]])
    settings = Settings(seed=1, epsilon=1.0, random_shift=True, root_box=None, max_centers=5)
    with pytest.warns(UserWarning, match="can resolve"):
        found = match_deletions(X, [2, 3], settings)
    with pytest.warns(UserWarning, match="can resolve"):
        wanted = refit_all(X, [2, 3], settings)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "model",
    [
        *(HierarchicalKMedian(method="tree", epsilon=epsilon) for epsilon in (0.0, 1.0, 30.0)),
        UnshiftedKMedian(epsilon=1.0, root_box=([-5.0, -5.0], 10.0)),
    ],
)
def test_average_sensitivity_uses_it_and_agrees_with_refits(model: HierarchicalKMedian):
    X = np.random.default_rng(1).normal(size=(60, 2))
    asked = {"n_clusters": [2, 5], "delete": [1], "trials": "all", "repeats": 3, "n_jobs": 1}
    exact = average_sensitivity(model, X, **asked)
    refitted = average_sensitivity(model, X, keep_labels=True, **asked)
    np.testing.assert_array_equal(exact.values, refitted.values)
    np.testing.assert_array_equal(exact.mean, refitted.mean)
