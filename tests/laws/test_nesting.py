"""Law 4: cuts are nested, have exactly k clusters, and clusters keep their names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.configurations import CONFIGURATIONS, Configuration
from laws.inputs import INPUTS, Input
from notes import noting

from holdfast import Hierarchy

pytestmark = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)


def check_shape(hierarchy: Hierarchy, data: Input, n_centers: int) -> None:
    assert hierarchy.n_rows == data.n_rows
    assert hierarchy.n_centers == n_centers
    assert hierarchy.center_indices.shape == (n_centers,)
    assert hierarchy.costs.shape == (n_centers,)
    assert hierarchy.parent.shape == (n_centers,)
    assert hierarchy.center_indices.dtype == np.int64
    assert hierarchy.costs.dtype == np.float64
    assert hierarchy.parent.dtype == np.int32


def check_centers(hierarchy: Hierarchy, data: Input) -> None:
    centers = hierarchy.center_indices
    assert data.present[centers].all()
    assert np.unique(centers).size == centers.size
    # Every location has its center before any has two.
    first = data.location[centers[: data.n_locations]]
    assert np.unique(first).size == first.size


def check_costs(hierarchy: Hierarchy, data: Input) -> None:
    costs = hierarchy.costs
    assert np.isfinite(costs).all()
    assert (np.diff(costs) <= 0.0).all()
    # Zero as soon as every location has its center, and never before.
    k = np.arange(1, costs.size + 1)
    assert ((costs > 0.0) == (k < data.n_locations)).all()


def check_repeats_stay_together(hierarchy: Hierarchy, data: Input) -> None:
    """Equal rows have equal labels until every location has its center."""
    _, first = np.unique(data.location, return_index=True)
    for k in range(1, min(hierarchy.n_centers, data.n_locations) + 1):
        cut = hierarchy.cut(k)
        np.testing.assert_array_equal(cut, cut[first][data.location])


def check_cuts(hierarchy: Hierarchy) -> None:
    centers, parent = hierarchy.center_indices, hierarchy.parent
    before = hierarchy.cut(1)
    assert before.dtype == np.int32
    assert (before == 0).all()
    assert parent[0] == -1
    assert hierarchy.sizes(1).tolist() == [hierarchy.n_rows]
    for k in range(2, hierarchy.n_centers + 1):
        cut = hierarchy.cut(k)
        new = cut == k - 1
        # Exactly the rows of the new cluster moved, all of them out of its parent ...
        np.testing.assert_array_equal(cut[~new], before[~new])
        assert (before[new] == parent[k - 1]).all()
        # ... and all k clusters are there, each around its center.
        sizes = np.bincount(cut, minlength=k)
        assert sizes.size == k
        assert sizes.min() > 0
        np.testing.assert_array_equal(cut[centers[:k]], np.arange(k))
        np.testing.assert_array_equal(hierarchy.sizes(k), sizes)
        before = cut


def check_nesting(configuration: Configuration, data: Input, max_centers: int | None) -> None:
    model = configuration.estimator(max_centers=max_centers)
    hierarchy = model.fit(data.rows, sample_weight=data.weight).hierarchy_
    whole = int(data.present.sum())
    check_shape(hierarchy, data, whole if max_centers is None else min(max_centers, whole))
    check_centers(hierarchy, data)
    check_costs(hierarchy, data)
    check_cuts(hierarchy)
    check_repeats_stay_together(hierarchy, data)
    if max_centers is None:
        last = hierarchy.cut(hierarchy.n_centers)
        assert np.unique(last[data.present]).size == whole


def test_cuts_are_nested(configuration: Configuration):
    for data in INPUTS:
        with noting(data):
            check_nesting(configuration, data, None)


def test_cuts_are_nested_where_the_hierarchy_stops(configuration: Configuration):
    """Where it stops does not matter: it is a prefix of the whole (test_order.py)."""
    for data in INPUTS:
        with noting(data):
            check_nesting(configuration, data, 7)


@st.composite
def small_inputs(draw: st.DrawFn) -> Input:
    """Few rows on few values, so that ties, repeats and empty weights are common."""
    n = draw(st.integers(1, 14))
    d = draw(st.integers(1, 4))
    # Multiples of 1/8 below 2^21: the grid tells all of them apart.
    value = st.one_of(st.integers(-2, 2), st.integers(-(2**24), 2**24)).map(lambda i: i / 8)
    rows = draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=n, max_size=n))
    weights = st.lists(st.sampled_from([0.0, 1e-3, 0.5, 1.0, 3.0, 1e6]), min_size=n, max_size=n)
    weight = draw(st.none() | weights.filter(any))
    return Input("drawn", np.array(rows), None if weight is None else np.array(weight))


@settings(derandomize=True, database=None, deadline=None, max_examples=40)
@given(data=small_inputs(), max_centers=st.none() | st.integers(1, 15))
def test_cuts_of_any_small_input_are_nested(
    configuration: Configuration, data: Input, max_centers: int | None
):
    check_nesting(configuration, data, max_centers)


def test_arrays_of_a_hierarchy_cannot_be_changed(configuration: Configuration):
    data = INPUTS[4]
    hierarchy = configuration.estimator().fit(data.rows).hierarchy_
    for array in (hierarchy.center_indices, hierarchy.costs, hierarchy.parent, hierarchy.finest):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        hierarchy.costs = None
    hierarchy.cut(3)[:] = 7  # a copy each time
    assert hierarchy.cut(3).max() == 2
