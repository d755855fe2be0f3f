"""The order of the tree is carried along when rows change, and rows of a fit are counted in one pass."""

import numpy as np
import pytest

from holdfast import HierarchicalKMedian
from holdfast.grid import collect_cells, place_grid
from holdfast.rows import sketch as sketches
from holdfast.rows.log import CellOrder, RowLog, order_of
from holdfast.rows.sketch import Sketch, count_rows, sketch_distinct
from holdfast_paper.draws import uniform

RNG = np.random.RandomState(8)
ROWS = {
    "distinct": uniform(np.random.default_rng(8), -1.0, 1.0, (300, 2)),
    "repeated": RNG.randint(1, 5, size=(300, 2)).astype(np.float64),
    "one": np.full((40, 2), 3.5),
    "zeros of both signs": np.tile([[0.0, 1.0], [-0.0, 1.0], [1.0, -0.0]], (9, 1)),
    "close": np.array([[1e6, 1.0]] + [[1e-320 * (i % 7), 1e-300] for i in range(50)]),
    "single precision": uniform(np.random.default_rng(9), -1.0, 1.0, (300, 2)).astype(np.float32),
}
BOX = place_grid(np.full(2, -2.0), np.full(2, 2.0), seed=5)


def order_on(grid, rows: np.ndarray) -> CellOrder:
    order = order_of(collect_cells(rows, None, grid, 5))
    assert order is not None
    return order


@pytest.mark.parametrize("case", range(40))
def test_a_changed_order_is_that_of_the_changed_rows(case):
    """Up to all rows removed, up to as many added, also at both ends and next to each other."""
    rng = np.random.default_rng(case)
    n, m = (int(size) for size in rng.integers(1, 60, size=2))
    rows = uniform(rng, -1.0, 1.0, (n, 2))
    near = rows[rng.integers(0, n, size=m)] + np.ldexp(1.0, -rng.integers(2, 50, size=(m, 1)))
    new = np.clip(np.where(rng.random((m, 1)) < 0.5, near, uniform(rng, -2.0, 2.0, (m, 2))), -2, 2)
    new = rng.permutation(np.unique(new, axis=0))[: int(rng.integers(0, m + 1))]
    gone = rng.random(n) < rng.choice([0.0, 0.1, 0.9, 1.0])
    both = np.concatenate((rows[~gone], new))
    names = rng.permutation(len(both)).astype(np.int32)
    number = np.full(n, -1, dtype=np.int32)
    number[~gone] = names[: n - gone.sum()]
    left = np.empty_like(both)
    left[names] = both
    found = order_on(BOX, rows).change(rows, number, names[n - gone.sum() :], new)
    assert found is not None
    if len(left) == 0:
        assert found.order.size == 0
        return
    expected = order_on(BOX, left)
    np.testing.assert_array_equal(found.order, expected.order)
    np.testing.assert_array_equal(found.splits, expected.splits)


@pytest.mark.parametrize("new", [[[99.0, 0.0]], [[0.5, 0.5]], [[0.25, 0.75], [0.25, 0.75]]])
def test_an_order_is_not_carried_to_other_roots_or_shared_cells(new):
    rows = np.array([[0.5, 0.5], [-0.5, 0.5], [0.1, -0.9]])
    added = np.arange(3, 3 + len(new), dtype=np.int32)
    number = np.arange(3, dtype=np.int32)
    assert order_on(BOX, rows).change(rows, number, added, np.array(new)) is None


def test_updates_of_a_tree_do_not_sort_its_rows_again(monkeypatch):
    rows = uniform(np.random.default_rng(1), -1.0, 1.0, (400, 2))
    model = HierarchicalKMedian(3, method="tree").fit(rows[:350])
    sorted_rows = []
    monkeypatch.setattr(
        "holdfast.pipeline.collect_cells",
        lambda X, *rest, **given: sorted_rows.append(len(X)) or collect_cells(X, *rest, **given),
    )
    for step in range(4):
        model.partial_fit(rows[350 + step : 351 + step]).forget(rows[200 + step : 201 + step])
        assert model.labels_.size == 350
    assert sorted_rows == []
    model.partial_fit(rows[:1] * 1e6)  # another root
    assert (model.labels_.size, sorted_rows) == (351, [351])
    model.partial_fit(rows[:1] * 1e5)
    assert (model.labels_.size, sorted_rows) == (352, [351])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ROWS)
def test_counts_are_those_of_a_sketch(kind, weighted, monkeypatch):
    rows = ROWS[kind]
    weight = RNG.randint(0, 4, size=rows.shape[0]).astype(np.float64) if weighted else None
    near = np.nextafter(rows[:20].astype(np.float64), np.inf)
    far = np.array([[1e300, -1e300], [-1e6, 5.0], [5e-324, 0.5]])
    wanted = Sketch.from_rows(np.concatenate((rows, near, far, -rows))).rows
    fingerprint, found = count_rows(rows, weight, wanted)
    expected = Sketch.from_rows(rows.astype(np.float64), weight).count(wanted)
    np.testing.assert_array_equal(found, expected)
    assert count_rows(rows, weight, wanted[:0])[0] == fingerprint
    parts = [slice(0, 7), slice(7, rows.shape[0])]
    monkeypatch.setattr(sketches, "share_rows", lambda n, work, width: list(map(work, parts)))
    again, counted = count_rows(rows, weight, wanted)
    assert again == fingerprint
    np.testing.assert_array_equal(counted, expected)


def test_a_fingerprint_sees_one_bit():
    rows = ROWS["distinct"].copy()
    before = count_rows(rows, None, rows[:0])[0]
    rows[7, 1] = np.nextafter(rows[7, 1], 1.0)
    assert count_rows(rows, None, rows[:0])[0] != before


@pytest.mark.parametrize("kind", ROWS)
def test_distinct_rows_are_sketched_as_all_rows_are(kind):
    rows = ROWS[kind]
    weight = RNG.randint(1, 4, size=rows.shape[0])
    made = sketch_distinct(rows, weight)
    assert (made is None) == (len(np.unique(rows[:, 0])) < len(rows))
    if made is not None:
        assert made[0] == Sketch.from_rows(rows, weight)
        np.testing.assert_array_equal(made[0].rows[made[1]], rows)


@pytest.mark.parametrize("method", ["tree", "medoids", "means"])
def test_a_removal_sorts_no_rows_of_the_fit(method, monkeypatch):
    rows = ROWS["distinct"]
    model = HierarchicalKMedian(2, method=method, max_centers=2).fit(rows)
    sketched, sketch = [], Sketch.from_rows
    monkeypatch.setattr(Sketch, "from_rows", lambda *a: sketched.append(len(a[0])) or sketch(*a))
    model.forget(rows[:3])
    model.forget(rows[3:5]).partial_fit(rows[:1])
    assert sketched == [3, 2, 1]
    assert isinstance(model._held, RowLog)
    assert model._held.given is not None
