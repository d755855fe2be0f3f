"""Law 2: the first k greedy centers are optimal on the tree, for every k.

[LHBP25], Theorem 2.2, first half. All subsets of at most 12 locations are tried.
"""

import numpy as np
import pytest
from notes import over_numbers
from oracles.instances import FAMILIES, make_instance
from oracles.naive_tree import ROOT, NaiveTree, naive_tree
from oracles.stages import grow

MOST_ROWS = 12
PER_FAMILY = 6


def least_costs(naive: NaiveTree) -> list[int]:
    """Least COST_T over all sets of k locations, for k = 1 .. all."""
    m = naive.size
    nearest = np.full((1 << m, m), ROOT, dtype=object)
    for subset in range(1, 1 << m):
        lowest = (subset & -subset).bit_length() - 1
        rest = subset & (subset - 1)
        nearest[subset] = np.minimum(nearest[rest], naive.distance[:, lowest])
    costs = (nearest * naive.weight).sum(axis=1)
    size = np.array([subset.bit_count() for subset in range(1 << m)])
    return [min(costs[size == k]) for k in range(1, m + 1)]


@pytest.mark.parametrize("family", FAMILIES)
@over_numbers(PER_FAMILY)
def test_greedy_is_optimal_for_every_k(family, number):
    instance = make_instance(family, number, MOST_ROWS)
    seed = 100 + number
    grown = grow(instance.X, instance.weight, epsilon=0.0, seed=seed, **instance.placing)
    naive = naive_tree(instance.X, instance.weight, grown.grid)
    optimal = [naive.in_data_units(cost) for cost in least_costs(naive)]
    np.testing.assert_allclose(grown.hierarchy.costs[: naive.size], optimal, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("number", range(12))
def test_greedy_is_optimal_with_weights_on_repeated_rows(number):
    rng = np.random.default_rng(number)
    d = int(rng.integers(1, 9))
    X = rng.normal(size=(10, d))[rng.integers(0, 10, size=24)]
    weight = 2.0 ** rng.integers(0, 12, size=24)  # one heavy row may pay for many
    grown = grow(X, weight, epsilon=0.0, seed=number)
    naive = naive_tree(X, weight, grown.grid)
    optimal = [naive.in_data_units(cost) for cost in least_costs(naive)]
    np.testing.assert_allclose(grown.hierarchy.costs[: naive.size], optimal, rtol=1e-9, atol=0.0)


def test_other_centers_can_be_worse():
    """The comparison above is not between constants: centers drawn at random cost more."""
    instance = make_instance("few_columns", 0, MOST_ROWS)
    grown = grow(instance.X, epsilon=float("inf"))
    naive = naive_tree(instance.X, None, grown.grid)
    optimal = [naive.in_data_units(cost) for cost in least_costs(naive)]
    ratio = grown.hierarchy.costs[:-1] / optimal[:-1]
    assert ratio.min() >= 1.0 - 1e-12
    assert ratio.max() > 1.1
