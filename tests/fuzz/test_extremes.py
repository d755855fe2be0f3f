"""Inputs too large to draw thousands of: a million repeats, and the deepest trees there are."""

import warnings

import numpy as np
import pytest
from fuzz.invariants import check_hierarchy, check_labels
from oracles.stages import Splits

from holdfast import HierarchicalKMedian
from holdfast.grid import collect_cells, place_grid
from holdfast.tree import build_tree
from holdfast_paper.draws import normal
from holdfast_paper.unshifted import UnshiftedKMedian

MILLION = 1_000_000


@pytest.mark.parametrize("distinct", [5, 1000])
@pytest.mark.parametrize("method", ["tree", "medoids"])
def test_a_million_repeats_are_their_distinct_rows_with_weights(method: str, distinct: int):
    random = np.random.RandomState(distinct)
    locations = normal(random, (distinct, 2))
    number = random.randint(0, distinct, size=MILLION)
    number[:distinct] = np.arange(distinct)
    k = min(distinct, 20)
    model = HierarchicalKMedian(k, method=method, max_centers=k)
    hierarchy = model.fit(locations[number]).hierarchy_
    weighted = HierarchicalKMedian(k, method=method, max_centers=k)
    weighted.fit(locations, sample_weight=np.bincount(number))
    assert hierarchy.costs.tobytes() == weighted.hierarchy_.costs.tobytes()
    assert np.array_equal(hierarchy.center_indices, weighted.hierarchy_.center_indices)
    assert np.array_equal(hierarchy.finest, weighted.hierarchy_.finest[number])


@pytest.mark.parametrize("method", ["tree", "medoids"])
def test_a_million_equal_rows_split_down_to_single_ones(method: str):
    rows = np.full((MILLION, 3), 0.1)
    hierarchy = HierarchicalKMedian(1, method=method, max_centers="all").fit(rows).hierarchy_
    assert hierarchy.n_centers == MILLION
    assert np.array_equal(np.sort(hierarchy.finest), np.arange(MILLION))
    assert not hierarchy.costs.any()
    assert hierarchy.linkage().shape == (MILLION - 1, 4)


def staircase(d: int) -> np.ndarray:
    """Each row parts from those after it one dimension, or one bit, later than the row before."""
    place = np.arange(62 * d)
    rows = np.zeros((place.size, d))
    rows[place, place % d] = np.ldexp(1.0, -(place // d))
    return rows


def depth_of(rows: np.ndarray) -> int:
    """Depth of the tree of the rows on the grid that is not shifted."""
    grid = place_grid(rows.min(axis=0), rows.max(axis=0), 0, random_shift=False)
    tree = build_tree(collect_cells(rows, None, grid, 0), grid, 0)
    depth = np.zeros(tree.nodes["parent"].size, dtype=np.int64)
    splits = Splits(tree)
    for i in tree.closing[::-1]:
        depth[[splits.left[i], splits.right[i]]] = depth[2 * i + 1] + 1
    return int(depth.max())


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("d", [1, 3, 10, 60])
def test_the_deepest_trees(d: int, epsilon: float):
    rows = staircase(d)
    # At most 64 levels a dimension. The root's cell takes log2(sqrt(d)) of the bits.
    assert depth_of(rows) > (60 - d.bit_length() / 2) * d
    model = UnshiftedKMedian(1, epsilon=epsilon)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hierarchy = model.fit(rows).hierarchy_
        again = model.fit(rows[::-1]).hierarchy_
    n = hierarchy.n_centers
    assert n == len(rows)
    check_hierarchy(hierarchy, {1, 2, n // 2, n})
    assert hierarchy.costs.tobytes() == again.costs.tobytes()
    if not caught:
        assert np.array_equal(check_labels(hierarchy, rows, n), hierarchy.cut(n))
        assert np.array_equal(again.cut(n // 2)[::-1], hierarchy.cut(n // 2))
