"""A hierarchy that was read from an estimator answers questions about its rows."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from holdfast import HierarchicalKMedian, load, membership

ROWS = np.floor(
    np.random.default_rng(0).random((90, 3)) * 50.0
    + np.repeat([[0.0], [90.0], [300.0]], 30, axis=0)
)


def assert_same_answers(hierarchy, model):
    for k in (2, 3):
        assert repr(hierarchy.explain(k)) == repr(model.explain(k))
        assert repr(hierarchy.explain_row(ROWS[5], k)) == repr(model.explain_row(ROWS[5], k))
        wanted = membership(model, ROWS[::9] + 1.0, k, trials=2)
        np.testing.assert_array_equal(hierarchy.membership(ROWS[::9] + 1.0, k, trials=2), wanted)
    assert repr(hierarchy.explain()) == repr(model.explain())
    assert repr(hierarchy.explain(row=7)) == repr(model.explain_row(7))
    assert repr(model.explain(2, row=model.rows_[7])) == repr(model.explain_row(7, 2))


def test_a_hierarchy_answers_as_its_estimator_does(tmp_path):
    model = HierarchicalKMedian(3).fit(ROWS)
    model.save(tmp_path / "model")
    for other in (
        model,
        load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        HierarchicalKMedian(3).fit(ROWS).forget(ROWS[:3]).partial_fit(ROWS[:3]),
        model.follow(ROWS),
    ):
        assert_same_answers(other.hierarchy_, other)
    assert repr(model.hierarchy_.first(5).explain(2)) == repr(model.explain(2))


def test_a_hierarchy_outlives_its_estimator_without_a_circle():
    model = HierarchicalKMedian(3).fit(ROWS)
    again = HierarchicalKMedian(3).fit(ROWS)
    hierarchy, seen = model.hierarchy_, weakref.ref(model)
    alone = weakref.ref(again.hierarchy_)
    gc.disable()  # what is freed now is in no circle
    try:
        del model
        assert seen() is None
        assert repr(hierarchy.explain(2)) == repr(again.explain(2))
        del again
        assert alone() is None
    finally:
        gc.enable()


def test_a_hierarchy_keeps_the_rows_it_was_read_with():
    model = HierarchicalKMedian(3).fit(ROWS)
    before, rules = model.hierarchy_, repr(model.explain(3))
    model.partial_fit(ROWS + 500.0)
    assert repr(before.explain(3)) == rules != repr(model.hierarchy_.explain(3))


def test_a_hierarchy_alone_says_what_it_needs(tmp_path):
    model = HierarchicalKMedian(3).fit(ROWS)
    assert ROWS.tobytes() in pickle.dumps(model)
    assert ROWS.tobytes() not in pickle.dumps(model.hierarchy_)
    for alone in (pickle.loads(pickle.dumps(model.hierarchy_)), copy.deepcopy(model.hierarchy_)):
        for ask in (
            lambda: alone.explain(2),  # noqa: B023
            lambda: alone.explain_row(0, 2),  # noqa: B023
            lambda: alone.membership(ROWS, 2),  # noqa: B023
        ):
            with pytest.raises(
                ValueError, match="needs the rows, which a hierarchy alone does not"
            ):
                ask()
    model.save(tmp_path / "model", include_rows=False)
    with pytest.raises(ValueError, match="was saved without its rows"):
        load(tmp_path / "model").hierarchy_.explain(2)
