"""Law 1: the fast code and the naive oracle agree on every input."""

from dataclasses import dataclass

import numpy as np
import pytest
from notes import noting
from oracles.instances import FAMILIES, Instance, make_instance
from oracles.naive_tree import (
    ROOT,
    NaiveTree,
    ancestor_label,
    cost_of,
    costs_with_each,
    greedy,
    label_cells,
    naive_tree,
    nearest_labels,
)
from oracles.stages import Grown, grow, plant

from holdfast.centers import choose_centers
from holdfast.grid.place import DEPTH

PER_FAMILY = 20
MOST_ROWS = 32
EPSILONS = [0.1, 1.0, 10.0, float("inf")]


@dataclass(frozen=True)
class Case:
    """An instance, the seed of its grid, and its naive tree."""

    instance: Instance
    seed: int
    naive: NaiveTree


def make_case(family: str, number: int) -> Case:
    instance = make_instance(family, number, MOST_ROWS)
    planted = plant(instance.X, instance.weight, seed=number, **instance.placing)
    return Case(instance, number, naive_tree(instance.X, instance.weight, planted.grid))


# Of module scope, so that all tests of a family run one after the other and share its oracles.
@pytest.fixture(scope="module", params=FAMILIES)
def cases(request: pytest.FixtureRequest) -> list[Case]:
    return [make_case(request.param, number) for number in range(PER_FAMILY)]


def grow_case(case: Case, epsilon: float) -> Grown:
    """Fit; every third instance stops early."""
    return grow(
        case.instance.X,
        case.instance.weight,
        epsilon=epsilon,
        seed=case.seed,
        max_centers=1 + case.seed if case.seed % 3 == 2 else None,
        **case.instance.placing,
    )


def chosen_locations(grown: Grown, naive: NaiveTree) -> list[int]:
    """Centers as the oracle's locations, each of them once."""
    rows = grown.hierarchy.center_indices[: naive.size]
    chosen = [int(x) for x in naive.location[rows]]
    assert len(set(chosen)) == len(chosen)
    return chosen


def check_hierarchy(grown: Grown, naive: NaiveTree) -> None:
    """Costs, cuts and parents given the centers."""
    hierarchy = grown.hierarchy
    chosen = chosen_locations(grown, naive)
    before = np.zeros(len(naive.location), dtype=int)
    for k in range(1, len(chosen) + 1):
        exact = naive.in_data_units(cost_of(naive, chosen[:k]))
        assert hierarchy.costs[k - 1] == pytest.approx(exact, rel=1e-9, abs=0.0)
        after = nearest_labels(naive, chosen[:k])[naive.location]
        np.testing.assert_array_equal(hierarchy.cut(k), after)
        np.testing.assert_array_equal(hierarchy.sizes(k), np.bincount(after, minlength=k))
        split = before[hierarchy.center_indices[k - 1]] if k > 1 else -1
        assert hierarchy.parent[k - 1] == split
        before = after
    assert not hierarchy.costs[naive.size :].any()


def check_best_centers(case: Case) -> None:
    naive = case.naive
    chosen = chosen_locations(grow_case(case, 0.0), naive)
    for k, center in enumerate(chosen):
        costs = costs_with_each(naive, chosen[:k])
        before = cost_of(naive, chosen[:k])
        best_gain = before - min(costs)
        assert before - costs[center] >= best_gain * (1 - 1e-9)


def test_greedy_takes_a_best_center_in_every_round(cases: list[Case]):
    for case in cases:
        with noting("number", case.seed):
            check_best_centers(case)


def check_greedy(case: Case) -> None:
    naive = case.naive
    grown = grow_case(case, 0.0)
    check_hierarchy(grown, naive)
    order = greedy(naive)
    exact = [naive.in_data_units(cost_of(naive, order[: k + 1])) for k in range(naive.size)]
    costs = grown.hierarchy.costs[: naive.size]
    np.testing.assert_allclose(costs, exact[: costs.size], rtol=1e-9, atol=0.0)


def test_greedy_costs_and_cuts_are_the_oracles(cases: list[Case]):
    for case in cases:
        with noting("number", case.seed):
            check_greedy(case)


def test_mechanism_costs_and_cuts_follow_from_its_centers(cases: list[Case]):
    for case in cases:
        for epsilon in EPSILONS:
            with noting("number", case.seed, "epsilon", epsilon):
                check_hierarchy(grow_case(case, epsilon), case.naive)


@pytest.mark.parametrize("epsilon", [0.0, *EPSILONS])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_locations_then_all_rows_become_centers(family: str, epsilon: float):
    case = make_case(family, 0)
    grown = grow_case(case, epsilon)
    assert sorted(chosen_locations(grown, case.naive)) == list(range(case.naive.size))
    assert sorted(grown.hierarchy.center_indices) == list(range(len(case.instance.X)))


@pytest.mark.parametrize("family", FAMILIES)
def test_nearest_center_is_closest_labelled_ancestor(family: str):
    """The paper's two words for a cluster, in the oracle itself."""
    for number in range(3):
        naive = make_case(family, number).naive
        centers = list(np.random.default_rng(number).permutation(naive.size))
        for k in range(1, naive.size + 1, 3):
            label = label_cells(naive, centers[:k])
            by_ancestor = [ancestor_label(path, label) for path in naive.paths]
            assert by_ancestor == nearest_labels(naive, centers[:k]).tolist()


def distances_to(coordinates: np.ndarray, leaf: int) -> np.ndarray:
    """DIST_T of all leaves to one of them, in units of the root's distance."""
    differ = np.bitwise_or.reduce(coordinates ^ coordinates[leaf], axis=1)
    high, low = differ >> np.uint64(32), differ & np.uint64((1 << 32) - 1)
    bits = np.where(high > 0, 32 + np.frexp(high.astype(float))[1], np.frexp(low.astype(float))[1])
    return np.where(differ == 0, 0.0, np.ldexp(1.0, bits - 1 - DEPTH))


@pytest.mark.parametrize("epsilon", [0.0, *EPSILONS])
def test_many_rows_have_the_costs_and_cuts_of_their_centers(epsilon: float):
    """Beyond the oracle's reach: nearest centers kept up to date, one center at a time."""
    rng = np.random.default_rng(6)
    X = np.vstack([rng.standard_cauchy(size=(1500, 2)), rng.normal(size=(1000, 2)) * 1e-4])
    X[rng.integers(0, 2500, size=300)] = X[0]
    grown = grow(X, epsilon=epsilon, seed=6)
    leaf = grown.leaf_of_row
    weight = np.bincount(leaf).astype(float)
    nearest, label = np.ones(weight.size), np.zeros(weight.size, dtype=int)
    hierarchy = grown.hierarchy
    for t in range(weight.size):
        center = int(leaf[hierarchy.center_indices[t]])
        distance = distances_to(grown.cells.coordinates, center)
        assert hierarchy.parent[t] == (label[center] if t > 0 else -1)
        label[distance < nearest] = t
        nearest = np.minimum(nearest, distance)
        cost = float((nearest * weight).sum()) * grown.grid.unit
        assert hierarchy.costs[t] == pytest.approx(cost, rel=1e-9, abs=0.0)
        if t % 97 == 0 or t == weight.size - 1:
            np.testing.assert_array_equal(hierarchy.cut(t + 1), label[leaf])


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, *EPSILONS])
def test_few_centers_are_the_first_of_many(epsilon: float):
    """A fit that stops early may look at a part of the leaves only; it must not show."""
    X = np.random.default_rng(7).standard_cauchy(size=(12000, 2))
    tree = plant(X, seed=7).tree
    everything = choose_centers(tree, epsilon, len(X), 7)
    for stop in (1, 2, 17, 300):
        first = choose_centers(tree, epsilon, stop, 7)
        for field in ("leaf", "cost", "parent", "cell"):
            np.testing.assert_array_equal(getattr(first, field), getattr(everything, field)[:stop])
        label = everything.label.copy()
        while (label >= stop).any():
            label = np.where(label >= stop, everything.parent[label], label)
        np.testing.assert_array_equal(first.label, label)


def test_oracle_on_a_tree_worked_out_by_hand():
    """Unit cells at the integers: 0.1 and 0.3 share a half cell, 0.6 their cell, 2.5 their pair."""
    X = np.array([[0.1], [0.3], [0.6], [2.5]])
    placing = {"random_shift": False, "root_box": (np.zeros(1), 4.0)}
    naive = naive_tree(X, None, plant(X, **placing).grid)
    side = 2.0 * naive.distance / ROOT * 4.0  # D = 2 sqrt(d) side
    expected = [[0, 0.5, 1, 4], [0.5, 0, 1, 4], [1, 1, 0, 4], [4, 4, 4, 0]]
    np.testing.assert_array_equal(side.astype(float), expected)
    assert naive.unit == 16.0
    assert greedy(naive) == [0, 3, 2, 1]
    # 8 + 2 + 1 for the first center, in the data's units
    assert naive.in_data_units(cost_of(naive, [0])) == 11.0
