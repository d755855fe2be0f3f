"""What moved between two cuts, against counting row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.stability.difference import LabelledRows, compare_cuts


def labelled(rows: list[float], labels: list[int], weight: list[float] | None = None, k: int = 0):
    k = k or max(labels) + 1
    values = np.array(rows, dtype=np.float64)[:, None]
    ones = np.ones(len(rows)) if weight is None else np.array(weight, dtype=np.float64)
    centers = np.array([values[labels.index(t)] if t in labels else [99.0] for t in range(k)])
    return LabelledRows(values, ones, np.array(labels, dtype=np.int32), centers)


def test_equal_cuts_differ_in_nothing():
    cut = labelled([1, 2, 3, 4], [0, 0, 1, 1])
    found = compare_cuts(cut, cut)
    assert (found.n_before, found.n_after, found.n_common, found.n_moved) == (4, 4, 4, 0)
    assert [(c.before, c.after, c.kept, c.center_stays) for c in found.clusters] == [
        (0, 0, 2, True),
        (1, 1, 2, True),
    ]


def test_renamed_clusters_are_recognised_and_moves_counted():
    before = labelled([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1])
    after = labelled([2, 3, 4, 5, 6, 7], [1, 1, 1, 0, 0, 0], k=2)
    found = compare_cuts(before, after)
    assert (found.n_common, found.n_moved) == (5, 1)
    first, second = found.clusters
    assert (first.before, first.after, first.kept, first.came, first.gone) == (0, 1, 2, 1, 1)
    assert (second.before, second.after, second.kept, second.left, second.new) == (1, 0, 2, 1, 1)
    assert not first.center_stays


def test_clusters_without_a_counterpart():
    before = labelled([1, 2, 8, 9], [0, 0, 1, 1])
    after = labelled([1, 2, 20], [0, 0, 1])
    found = compare_cuts(before, after)
    assert [(c.before, c.after) for c in found.clusters] == [(0, 0), (1, None), (None, 1)]
    assert [(c.size_before, c.size_after) for c in found.clusters] == [(2, 2), (2, 0), (0, 1)]


def test_weights_and_signs_of_zero_count():
    found = compare_cuts(labelled([0.0], [0], [5.0]), labelled([-0.0, 3.0], [0, 0], [2.0, 1.0]))
    (cluster,) = found.clusters
    assert (cluster.kept, cluster.gone, cluster.new) == (2, 3, 1)


sides = st.dictionaries(
    st.integers(0, 12), st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1
)


@given(sides, sides)
@settings(max_examples=200, deadline=None)
def test_counts_add_up(a, b):
    before = labelled(list(a), [t for t, _ in a.values()], [w for _, w in a.values()], 4)
    after = labelled(list(b), [t for t, _ in b.values()], [w for _, w in b.values()], 4)
    found = compare_cuts(before, after)
    common = {row: min(a[row][1], b[row][1]) for row in a.keys() & b.keys()}
    assert found.n_common == sum(common.values())
    partner = {c.before: c.after for c in found.clusters if c.before is not None}
    moved = sum(w for row, w in common.items() if partner[a[row][0]] != b[row][0])
    assert found.n_moved == pytest.approx(moved)
    for c in found.clusters:
        assert c.size_before == pytest.approx(c.kept + c.left + c.gone)
        assert c.size_after == pytest.approx(c.kept + c.came + c.new)
    assert sum(c.size_before for c in found.clusters) == found.n_before
    assert sum(c.size_after for c in found.clusters) == found.n_after
    assert sum(c.left for c in found.clusters) == pytest.approx(found.n_moved)
