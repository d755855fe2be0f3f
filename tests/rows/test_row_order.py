"""Rows of a fit are found again by the order that the fit has made."""

import numpy as np
import pytest
from models import build_model

from holdfast import HierarchicalKMedian
from holdfast.pipeline import cluster_and_order
from holdfast.rows.sketch import Sketch

RNG = np.random.RandomState(8)
METHODS = {
    "tree": {},
    "few centers": {"max_centers": 3},
    "fixed": {"random_shift": False},
    "boxed": {"random_shift": False, "root_box": ([-1e7, -1e7], 2e7)},
    "medoids": {"method": "medoids"},
    "manhattan": {"method": "medoids", "metric": "manhattan"},
    "cosine": {"method": "medoids", "metric": "cosine"},
}
ROWS = {
    "distinct": RNG.standard_normal((300, 2)),
    "repeated": RNG.randint(1, 5, size=(300, 2)).astype(np.float64),
    "one": np.full((40, 2), 3.5),
    "zeros of both signs": np.tile([[0.0, 1.0], [-0.0, 1.0], [1.0, -0.0]], (9, 1)),
    # Told apart neither by the grid nor, once scaled, by doubles.
    "merged": np.array([[1e6, 1.0]] + [[1e-320 * (i % 7), 1e-300] for i in range(50)]),
    "directions": np.outer(np.arange(1.0, 60.0) % 11 + 1.0, [1.0, 2.0]),
}


@pytest.mark.filterwarnings("ignore:.*differ from another row")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("method", METHODS)
def test_counts_are_those_of_a_sketch(method, kind, weighted):
    rows = ROWS[kind]
    weight = RNG.randint(1, 4, size=rows.shape[0]).astype(np.float64) if weighted else None
    settings = build_model(1, **METHODS[method])._settings_for(rows, weight)
    order = cluster_and_order(rows, weight, settings).row_order.kept()
    assert order.order.base is None
    near = np.nextafter(rows[:20], np.inf)
    far = np.array([[1e300, -1e300], [-1e6, 5.0], [5e-324, 0.5]])
    wanted = np.concatenate((rows, near, far, -rows))
    expected = Sketch.from_rows(rows, weight).count(wanted)
    np.testing.assert_array_equal(order.count(rows, weight, wanted), expected)
    assert order.count(rows, weight, wanted[:0]).size == 0


@pytest.mark.parametrize("method", ["tree", "medoids"])
def test_rows_without_weight_are_not_there(method):
    rows, weight = ROWS["repeated"], np.arange(300) % 3
    model = HierarchicalKMedian(2, method=method).fit(rows, sample_weight=weight)
    expected = Sketch.from_rows(rows, weight).count(rows)
    found = model._held.row_order.count(rows, weight.astype(np.float64), rows)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["tree", "medoids"])
@pytest.mark.parametrize("kind", ["distinct", "repeated"])
def test_a_removal_looks_at_few_rows(method, kind, monkeypatch):
    """No sort and no pass over all rows: two binary searches for each row that goes."""
    rows = np.tile(ROWS[kind], (40, 1)) + (np.arange(12_000) // 300)[:, None] * (kind == "distinct")
    model = HierarchicalKMedian(2, method=method, max_centers=2).fit(rows)
    sort_key = type(model._held.row_order.sort_key)
    seen, sketched = [], []
    locate, sketch = sort_key.of_fitted, Sketch.from_rows
    monkeypatch.setattr(sort_key, "of_fitted", lambda *a: seen.append(len(a[1])) or locate(*a))
    monkeypatch.setattr(Sketch, "from_rows", lambda *a: sketched.append(len(a[0])) or sketch(*a))
    model.forget(rows[:3])
    model.forget(rows[3:5]).partial_fit(rows[:1])
    assert sketched == [3, 2, 1]
    assert 0 < sum(seen) <= 2 * 14 * 5 + 5
    assert model._held.given is not None
