"""Sketches add up: a commutative group of counts, whatever order rows come in."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.rows.log import RowLog
from holdfast.rows.sketch import MAX_WEIGHT, Sketch

# Few values, so that rows repeat; signs of zero, and neighbours in the last bit.
VALUES = [-2.5, -0.0, 0.0, 1.0, float(np.nextafter(1.0, 2.0)), 1e300, 5e-324]


@st.composite
def multisets(draw: st.DrawFn, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rows = draw(st.lists(st.lists(st.sampled_from(VALUES), min_size=d, max_size=d), max_size=40))
    weight = draw(
        st.lists(st.integers(min_value=0, max_value=9), min_size=len(rows), max_size=len(rows))
    )
    return np.array(rows, dtype=np.float64).reshape(-1, d), np.array(weight, dtype=np.int64)


def count_naively(rows: np.ndarray, weight: np.ndarray) -> list[tuple[tuple[float, ...], int]]:
    counts: Counter[tuple[float, ...]] = Counter()
    for row, times in zip(rows.tolist(), weight.tolist(), strict=True):
        counts[tuple(row)] += times  # -0.0 and 0.0 are equal, and hash equally
    return sorted((row, times) for row, times in counts.items() if times > 0)


def listed(sketch: Sketch) -> list[tuple[tuple[float, ...], int]]:
    return list(zip(map(tuple, sketch.rows.tolist()), sketch.weight.tolist(), strict=True))


@given(multisets())
@settings(max_examples=200, deadline=None)
def test_sketch_counts_distinct_rows_in_order(pair):
    sketch = Sketch.from_rows(*pair)
    assert listed(sketch) == count_naively(*pair)
    assert not np.signbit(sketch.rows[sketch.rows == 0.0]).any()
    assert sketch.total_weight == pair[1].sum()


@given(multisets(), multisets())
@settings(max_examples=200, deadline=None)
def test_sketch_of_both_is_the_sum_and_removal_undoes_it(a, b):
    one, two = Sketch.from_rows(*a), Sketch.from_rows(*b)
    both = Sketch.from_rows(np.concatenate((a[0], b[0])), np.concatenate((a[1], b[1])))
    assert one.combine(two) == both
    assert two.combine(one) == both
    assert both.combine(two, -1) == one
    assert both.combine(one, -1) == two


@given(multisets(), multisets(), multisets())
@settings(max_examples=100, deadline=None)
def test_merge_is_associative_and_has_an_identity(a, b, c):
    x, y, z = (Sketch.from_rows(*pair) for pair in (a, b, c))
    nothing = Sketch.empty(2)
    assert x.combine(y).combine(z) == x.combine(y.combine(z))
    assert x.combine(nothing) == nothing.combine(x) == x.combine(nothing, -1) == x
    assert x.combine(x, -1) == nothing


@pytest.mark.parametrize("n_values", [1, 3, 200])
def test_many_ties_are_sorted(n_values):
    rows = np.random.RandomState(0).randint(n_values, size=(3000, 3)).astype(np.float64)
    sketch = Sketch.from_rows(rows)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    np.testing.assert_array_equal(sketch.rows, distinct)
    np.testing.assert_array_equal(sketch.weight, counts)


def test_sketch_is_read_only():
    sketch = Sketch.from_rows([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    with pytest.raises(ValueError, match="read-only"):
        sketch.rows[0] = 0.0
    with pytest.raises(TypeError, match="unhashable"):
        hash(sketch)
    assert sketch != "sketch"


def test_rows_given_stay_as_they_are():
    rows = np.array([[2.0], [-0.0], [2.0]])
    before = rows.copy()
    Sketch.from_rows(rows)
    np.testing.assert_array_equal(np.signbit(rows), np.signbit(before))
    rows[:] = 7.0
    assert Sketch.from_rows(before).rows.tolist() == [[0.0], [2.0]]


def test_missing_rows_are_named():
    held = RowLog().add(Sketch.from_rows([[1.0], [1.0], [2.0]]))
    with pytest.raises(ValueError, match=r"\[1.0\] \(3 to remove, 2 present\).*\[5.0\] \(1 to"):
        held.remove(Sketch.from_rows([[1.0], [1.0], [1.0], [2.0], [5.0]]))
    many = Sketch.from_rows(np.arange(10.0)[:, None])
    with pytest.raises(
        ValueError, match=r"8 of the distinct rows.*and 3 more.*nothing was removed"
    ):
        held.remove(many)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 0.5], "integers.*0.5 at row 1"),
        ([1, -1], "from 0.*-1 at row 1"),
        ([np.nan, 1], "nan at row 0"),
        ([1, np.inf], "inf at row 1"),
        ([1, 2.0**54], "2\\^53"),
        ([MAX_WEIGHT, 1], "at most 2\\^53"),
        ([1], r"shape \(2,\)"),
        (["a", "b"], "number per row"),
    ],
)
def test_weights_that_cannot_be_counted(weight, message):
    with pytest.raises(ValueError, match=message):
        Sketch.from_rows([[1.0], [2.0]], weight)


def test_a_log_has_at_most_2_53_rows():
    full = Sketch.from_rows([[0.0]], [MAX_WEIGHT])
    with pytest.raises(
        ValueError, match=r"at most 2\^53 rows, including repeats; got 18014398509481984"
    ):
        RowLog().add(full).add(full)


# The log of changes


@given(st.lists(st.tuples(st.booleans(), multisets()), max_size=12))
@settings(max_examples=100, deadline=None)
def test_log_holds_what_was_added_and_not_removed(changes):
    log, expected = RowLog(), Sketch.empty(2)
    for adding, pair in changes:
        change = Sketch.from_rows(*pair)
        if adding:
            log, expected = log.add(change), expected.combine(change)
            continue
        if (expected.count(change.rows) < change.weight).any():
            with pytest.raises(ValueError, match="not present"):
                log.remove(change)
        else:
            log, expected = log.remove(change), expected.combine(change, -1)
        assert log.total_weight == expected.total_weight
    if log.layers:
        rows, weight = log.settle().content()
        assert Sketch.from_rows(rows, weight) == expected
        np.testing.assert_array_equal(rows, expected.rows)


def test_changes_are_worked_in_a_logarithmic_number_of_times(monkeypatch):
    """Each of n rows is copied O(log n) times in all, not once a change."""
    copied = 0
    combine = Sketch.combine

    def counting(self, other, sign=1):
        nonlocal copied
        copied += len(self) + len(other)
        return combine(self, other, sign)

    rows = np.random.RandomState(0).permutation(4096).astype(np.float64)[:, None]
    log = RowLog.from_fit(np.arange(1e6)[:, None] + 0.5, None)
    monkeypatch.setattr(Sketch, "combine", counting)
    for row in rows:
        log = log.add(Sketch.from_rows(row[None]))
    assert copied < 2 * 12 * 4096
    assert len(log.layers) <= 12
