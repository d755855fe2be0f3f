"""Law 8: rows of the fit keep their labels, new rows follow the closest labelled ancestor."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from oracles.instances import FAMILIES, Instance, make_instance
from oracles.naive_tree import (
    NaiveTree,
    Path,
    ancestor_label,
    exact_shift,
    label_cells,
    naive_tree,
    paths_of,
)
from oracles.stages import Grown, grow

from holdfast import HierarchicalKMedian
from holdfast.grid import Grid
from holdfast.grid.place import DEPTH

EPSILONS = [0.0, 0.1, 1.0, 10.0, float("inf")]
LARGEST = np.finfo(np.float64).max


# ---------------------------------------------------------------------------------- rows of the fit


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_the_fit_keep_their_labels_for_every_k(family, epsilon):
    for number in range(6):
        instance = make_instance(family, number, 40)
        stop = 7 if number % 3 == 2 else None
        grown = grow(
            instance.X,
            instance.weight,
            epsilon=epsilon,
            seed=number,
            max_centers=stop,
            **instance.placing,
        )
        hierarchy = grown.hierarchy
        for k in range(1, min(hierarchy.n_centers, grown.tree.n_leaves) + 1):
            np.testing.assert_array_equal(hierarchy.predict(instance.X, k), hierarchy.cut(k))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_many_rows_of_the_fit_keep_their_labels(epsilon):
    rng = np.random.default_rng(3)
    X = rng.standard_cauchy(size=(3000, 3))
    X[1500:2000] = X[:500]
    grown = grow(X, epsilon=epsilon)
    for k in [1, 2, 3, 10, 100, 1000, grown.tree.n_leaves]:
        np.testing.assert_array_equal(grown.hierarchy.predict(X, k), grown.hierarchy.cut(k))


# ---------------------------------------------------------------------------------- new rows


def border(grid: Grid, j: int, index: int, exponent: int) -> float:
    """Coordinate nearest to where cell `index` of side 2^exponent begins in dimension j."""
    position = index * Fraction(2) ** exponent - Fraction(exact_shift(grid, j), 2**1280)
    return float(position / Fraction(grid.scale) + Fraction(float(grid.origin[j])))


def rows_at_borders(
    X: np.ndarray, grid: Grid, rng: np.random.Generator, count: int = 12
) -> np.ndarray:
    """Rows of the fit moved, in one column, to just before and just after a border of their cell.

    Half of the borders are of root cells; some lie beyond the root cells of the fit.
    """
    paths = paths_of(X, grid)
    moved = []
    for _ in range(count):
        row, j = int(rng.integers(len(X))), int(rng.integers(X.shape[1]))
        level = 0 if rng.random() < 0.5 else int(rng.integers(0, 24))
        index = paths[row][level][j] + int(rng.choice([0, 1, -1, 2, 3]))
        at = border(grid, j, index, grid.root_exponent - level)
        for value in (at, math.nextafter(at, -math.inf), math.nextafter(at, math.inf)):
            new = X[row].copy()
            new[j] = value
            moved.append(new)
    return np.array(moved)


def rows_nearby(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of the fit moved by all powers of two of the spread: off the trie anywhere on an edge."""
    spread = float(np.ptp(X, axis=0).max()) or float(np.abs(X).max()) or 1.0
    steps = spread * 2.0 ** rng.integers(-70, 2, size=(20, 1))
    start = X[rng.integers(len(X), size=20)]
    pairs = X[rng.integers(len(X), size=(10, 2))]
    return np.vstack([start + steps * rng.normal(size=start.shape), pairs.mean(axis=1)])


def rows_far_away(X: np.ndarray, grid: Grid, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers of root cells away (a window that wrapped around would not notice), and huge."""
    side = math.ldexp(1.0 / grid.scale, grid.root_exponent)
    cells = [1, 2, 3, 4, 7, 8, 9, 16, 2**31, 2**32, 2**33, 2**53]
    far = []
    for count in [*cells, *(-c for c in cells)]:
        row = X[rng.integers(len(X))].copy()
        far.append(row + side * count)
        row[rng.integers(row.size)] += side * count
        far.append(row)
    huge = X[rng.integers(len(X), size=10)].copy()
    column = rng.integers(X.shape[1], size=10)
    huge[np.arange(10), column] = [
        1e300,
        -1e300,
        LARGEST,
        -LARGEST,
        1e200,
        0,
        -0.0,
        5e-324,
        1e-300,
        1,
    ]
    with np.errstate(over="ignore"):
        everywhere = np.vstack([X[:8] * scale for scale in (-1.0, 2.0, 1e140)])
    rows = np.vstack([far, huge, everywhere])
    return rows[np.isfinite(rows).all(axis=1)]


def check_new_rows(grown: Grown, naive: NaiveTree, rows: np.ndarray, ks: list[int]) -> set[int]:
    """Compare with the oracle; the labels that occurred."""
    hierarchy = grown.hierarchy
    chosen = naive.location[hierarchy.center_indices].tolist()
    paths = paths_of(rows, grown.grid)
    seen: set[int] = set()
    for k in ks:
        cells = label_cells(naive, chosen[:k])
        expected = [ancestor_label(path, cells) for path in paths]
        assert hierarchy.predict(rows, k).tolist() == expected
        seen.update(expected)
    return seen


def some_ks(grown: Grown) -> list[int]:
    """All cuts of interest up to the number of leaves."""
    most = min(grown.hierarchy.n_centers, grown.tree.n_leaves)
    return sorted({1, min(2, most), min(3, most), (most + 1) // 2, most})


@pytest.mark.parametrize("family", FAMILIES)
def test_new_rows_follow_the_closest_labelled_ancestor(family):
    for number in range(5):
        instance: Instance = make_instance(family, number, 24)
        grown = grow(
            instance.X,
            instance.weight,
            epsilon=EPSILONS[number],
            seed=number,
            max_centers=4 if number == 3 else None,
            **instance.placing,
        )
        naive = naive_tree(instance.X, instance.weight, grown.grid)
        rng = np.random.default_rng([number, *family.encode()])
        rows = np.vstack(
            [
                rows_at_borders(instance.X, grown.grid, rng),
                rows_nearby(instance.X, rng),
                rows_far_away(instance.X, grown.grid, rng),
            ]
        )
        check_new_rows(grown, naive, rows, some_ks(grown))


def test_borders_of_root_cells_separate():
    """The crafted rows do lie on both sides: in the root cells of the fit, and out of them."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    grown = grow(X, epsilon=1.0)
    rows = rows_at_borders(X, grown.grid, np.random.default_rng(1), 24)
    occupied = {path[0] for path in paths_of(X, grown.grid)}
    inside = [path[0] in occupied for path in paths_of(rows, grown.grid)]
    assert 5 < sum(inside) < len(rows) - 5
    naive = naive_tree(X, None, grown.grid)
    seen = check_new_rows(grown, naive, rows, [20])
    assert len(seen) > 5


@pytest.mark.parametrize("seed", range(4))
def test_edges_of_the_trie_are_left_at_every_level(seed):
    """Two tight pairs far apart: one long edge above each; rows step away by every power of two."""
    rng = np.random.default_rng(seed)
    ends = np.array([[0.0, 0.0], [1000.0, 700.0]])
    X = np.repeat(ends, 2, axis=0) + rng.normal(size=(4, 2)) * 1e-9
    grown = grow(X, epsilon=1.0, seed=seed)
    naive = naive_tree(X, None, grown.grid)
    steps = np.ldexp(1.0, np.arange(-60, 12))[:, None]
    rows = np.vstack([x + sign * steps for x in X for sign in (-1.0, 1.0)])
    seen = check_new_rows(grown, naive, rows, [1, 2, 3, 4])
    assert seen == {0, 1, 2, 3}


def test_rows_below_the_finest_cell_of_a_center_are_its_own():
    """Closer to a row of the fit than the grid can tell: the same leaf, the same label."""
    X = np.array([[1.0, 1e-30], [2.0, 1e-30], [1.5, 3.0]])
    grown = grow(X, epsilon=0.0, seed=2)
    naive = naive_tree(X, None, grown.grid)
    rows = np.vstack([X + [[0.0, 1e-31]], X - [[0.0, 1e-30]]])
    below = math.ldexp(1.0 / grown.grid.scale, grown.grid.root_exponent - DEPTH)
    assert below > 1e-25
    check_new_rows(grown, naive, rows, [1, 2, 3])
    together = grown.hierarchy.predict(rows[:3], 3) == grown.hierarchy.cut(3)
    assert together.sum() >= 2  # a border may cut one of them off


@pytest.mark.parametrize("value", [0.0, 1.0, -3e-310, 1e300])
def test_everything_is_label_0_after_a_fit_of_equal_rows(value):
    X = np.full((5, 2), value)
    grown = grow(X, epsilon=1.0)
    rows = np.array([[value, value], [0.0, 0.0], [1e300, -1e300], [LARGEST, 5e-324]])
    assert grown.hierarchy.predict(rows, 1).tolist() == [0, 0, 0, 0]
    # Repeats are split off last: the location stays with its first center.
    assert grown.hierarchy.predict(rows, 5).tolist() == [0, 0, 0, 0]
    assert sorted(grown.hierarchy.cut(5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_magnitudes(scale):
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, size=(12, 2)) * scale
    grown = grow(X, epsilon=1.0, seed=8)
    naive = naive_tree(X, None, grown.grid)
    rows = np.vstack([rng.uniform(-3, 3, size=(50, 2)) * scale, [[LARGEST, -LARGEST], [0.0, 0.0]]])
    check_new_rows(grown, naive, rows, [1, 2, 5, 12])


# ---------------------------------------------------------------------------------- the estimator


def count_outside(paths: list[Path], fitted: list[Path]) -> int:
    """Number of rows outside the root of the tree: two root cells a column, from the lowest on."""
    lowest = [min(column) for column in zip(*(path[0] for path in fitted), strict=True)]
    return sum(
        any(cell - low not in (0, 1) for cell, low in zip(path[0], lowest, strict=True))
        for path in paths
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_estimator_predicts_its_labels_and_new_rows(epsilon):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    new = rng.normal(size=(200, 3)) * 3.0
    for n_clusters in (1, 2, 9, 60):
        model = HierarchicalKMedian(n_clusters, method="tree", epsilon=epsilon, random_state=4).fit(
            X
        )
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        grown = grow(X, epsilon=epsilon, seed=4)
        naive = naive_tree(X, None, grown.grid)
        cells = label_cells(naive, naive.location[model.center_indices_].tolist())
        paths = paths_of(new, grown.grid)
        expected = [ancestor_label(path, cells) for path in paths]
        outside = count_outside(paths, paths_of(X, grown.grid))
        assert outside > 0
        with pytest.warns(UserWarning, match=f"^{outside} of 200 rows lie outside all cells"):
            found = model.predict(new)
        assert found.tolist() == expected


def test_rows_of_weight_zero_are_labelled_as_new_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 2))
    X[40:] *= 20.0  # some of the absent rows would have moved the root
    weight = rng.integers(1, 4, size=50).astype(float)
    weight[::3] = 0.0
    weight[45:] = 0.0
    present = weight > 0.0
    some = HierarchicalKMedian(6, method="tree", random_state=1).fit(
        X[present], sample_weight=weight[present]
    )
    model = HierarchicalKMedian(6, method="tree", random_state=1).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_[present], some.labels_)
    np.testing.assert_array_equal(model.labels_[~present], some.predict(X[~present]))
    np.testing.assert_array_equal(
        np.flatnonzero(present)[some.center_indices_], model.center_indices_
    )
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_merged_rows_share_a_label_and_predict_it():
    """Rows that the grid cannot tell apart: a warning at the fit, one label, and the same again."""
    X = np.array([[0.0], [1e-30], [1.0], [2.0]])
    with pytest.warns(UserWarning, match="1 row of X differ"):
        model = HierarchicalKMedian(3, method="tree", epsilon=0.0).fit(X)
    assert model.labels_[0] == model.labels_[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(X), model.labels_)
