"""Names carried over, and what moved between two cuts, against counting row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import clustering_distance, match_labels
from holdfast.follow.report import name_events
from holdfast.stability.match import LabeledRows, compare_cuts

rng = np.random.RandomState(13)


def test_names_are_carried_over():
    reference = rng.randint(0, 5, size=200)
    new = (reference + 2) % 5
    np.testing.assert_array_equal(match_labels(reference, new), reference)
    names = np.array(["ash", "birch", "cedar", "elm", "fir"])
    assert match_labels(names[reference], new).tolist() == names[reference].tolist()


def test_renaming_keeps_the_partition_and_matches_as_many_rows_as_possible():
    for _ in range(30):
        reference, new = rng.randint(0, 4, size=40), rng.randint(10, 16, size=40)
        renamed = match_labels(reference, new)
        assert clustering_distance(renamed, new) == 0.0
        moved = clustering_distance(reference, new, measure="moved")
        assert (renamed == reference).sum() == 40 - moved


def test_clusters_without_a_partner_get_new_names():
    assert match_labels([0, 0, 7, 7], [1, 1, 2, 3]).tolist() in ([0, 0, 7, 8], [0, 0, 8, 7])
    renamed = match_labels(["a", "new 1", "new 1"], [5, 6, 6, 8, 9], reference_ids=[1, 2, 3],
                           new_ids=[1, 2, 3, 4, 5])  # fmt: skip
    assert renamed.tolist() == ["a", "new 1", "new 1", "new 2", "new 3"]
    # A cluster that shares no row with any is new, even if a name is free.
    assert match_labels([0, 1], [0, 0, 5], reference_ids=[1, 2], new_ids=[1, 7, 8]).tolist() == [
        0,
        0,
        2,
    ]


def test_rows_are_matched_by_id():
    reference = {"anna": 0, "bert": 0, "cleo": 1, "dora": 1}
    new = {"dora": 8, "emil": 8, "cleo": 8, "anna": 9}
    renamed = match_labels(
        list(reference.values()),
        list(new.values()),
        reference_ids=list(reference),
        new_ids=list(new),
    )
    assert renamed.tolist() == [1, 1, 1, 0]


def test_noise_stays_noise():
    reference, new = [-1, -1, -1, 0, 0, 0], [4, 4, 4, -1, 5, 5]
    assert match_labels(reference, new, noise=-1).tolist() == [1, 1, 1, -1, 0, 0]
    assert match_labels(reference, new).tolist() == [-1, -1, -1, 1, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0]), "Pass reference_ids"),
        (([], []), "non-empty"),
        (([0.5, 1.0], [0, 1]), "integers or strings"),
    ],
)
def test_bad_labels_to_match_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        match_labels(*arguments)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({"reference_ids": [1, 2]}, "or neither; got one"),
        ({"reference_ids": [1, 2, 3], "new_ids": [1, 2]}, r"^reference_ids must .* \(2,\); got"),
        ({"reference_ids": [1, 2], "new_ids": ["a", None]}, "^new_ids must be all .* got NoneType"),
        ({"reference_ids": [1, 2], "new_ids": ["1", "2"]}, "none. Check that both are"),
        (
            {"reference_ids": [1, 1], "new_ids": [1, 2]},
            "^reference_ids must be unique; got 1 2 times",
        ),
        ({"reference_ids": [1, 2], "new_ids": [3, 4]}, "in common; got none"),
    ],
)
def test_bad_ids_are_named(ids, message):
    with pytest.raises(ValueError, match=message):
        match_labels([0, 1], [0, 1], **ids)


# Two cuts


def labeled(rows: list[float], labels: list[int], weight: list[float] | None = None, k: int = 0):
    k = k or max(labels) + 1
    values = np.array(rows, dtype=np.float64)[:, None]
    ones = np.ones(len(rows)) if weight is None else np.array(weight, dtype=np.float64)
    centers = np.array([values[labels.index(t)] if t in labels else [99.0] for t in range(k)])
    return LabeledRows(values, ones, np.array(labels, dtype=np.int32), centers)


def test_equal_cuts_differ_in_nothing():
    cut = labeled([1, 2, 3, 4], [0, 0, 1, 1])
    found = compare_cuts(cut, cut)
    assert (found.n_before, found.n_after, found.n_common, found.n_moved) == (4, 4, 4, 0)
    assert [(c.before, c.after, c.kept, c.same_center) for c in found.clusters] == [
        (0, 0, 2, True),
        (1, 1, 2, True),
    ]


def test_renamed_clusters_are_recognized_and_moves_counted():
    before = labeled([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1])
    after = labeled([2, 3, 4, 5, 6, 7], [1, 1, 1, 0, 0, 0], k=2)
    found = compare_cuts(before, after)
    assert (found.n_common, found.n_moved) == (5, 1)
    first, second = found.clusters
    assert (first.before, first.after, first.kept, first.joined, first.removed) == (0, 1, 2, 1, 1)
    assert (second.before, second.after, second.kept, second.left, second.added) == (1, 0, 2, 1, 1)
    assert not first.same_center


def test_clusters_without_a_counterpart():
    before = labeled([1, 2, 8, 9], [0, 0, 1, 1])
    after = labeled([1, 2, 20], [0, 0, 1])
    found = compare_cuts(before, after)
    assert [(c.before, c.after) for c in found.clusters] == [(0, 0), (1, None), (None, 1)]
    assert [(c.size_before, c.size_after) for c in found.clusters] == [(2, 2), (2, 0), (0, 1)]


def test_weights_and_signs_of_zero_count():
    found = compare_cuts(labeled([0.0], [0], [5.0]), labeled([-0.0, 3.0], [0, 0], [2.0, 1.0]))
    (cluster,) = found.clusters
    assert (cluster.kept, cluster.removed, cluster.added) == (2, 3, 1)


sides = st.dictionaries(
    st.integers(0, 12), st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1
)


@given(sides, sides)
@settings(max_examples=200, deadline=None)
def test_counts_add_up(a, b):
    before = labeled(list(a), [t for t, _ in a.values()], [w for _, w in a.values()], 4)
    after = labeled(list(b), [t for t, _ in b.values()], [w for _, w in b.values()], 4)
    found = compare_cuts(before, after)
    common = {row: min(a[row][1], b[row][1]) for row in a.keys() & b.keys()}
    assert found.n_common == sum(common.values())
    partner = {c.before: c.after for c in found.clusters if c.before is not None}
    moved = sum(w for row, w in common.items() if partner[a[row][0]] != b[row][0])
    assert found.n_moved == pytest.approx(moved)
    for c in found.clusters:
        assert c.size_before == pytest.approx(c.kept + c.left + c.removed)
        assert c.size_after == pytest.approx(c.kept + c.joined + c.added)
    assert sum(c.size_before for c in found.clusters) == found.n_before
    assert sum(c.size_after for c in found.clusters) == found.n_after
    assert sum(c.left for c in found.clusters) == pytest.approx(found.n_moved)


@pytest.mark.parametrize(
    ("shared", "before", "after", "expected"),
    [
        ([[9]], [10], [9], [(0, 0, "kept", -1)]),
        ([[8]], [10], [8], [(0, 0, "shrunk", -1)]),
        ([[10]], [10], [12], [(0, 0, "grown", -1)]),
        # Half of the rows of a new cluster come from another one: it was split off.
        ([[6, 4]], [10], [6, 8], [(0, 0, "split", 1), (-1, 1, "new", 0)]),
        ([[10, 4]], [14], [13, 9], [(0, 0, "kept", -1), (-1, 1, "new", -1)]),
        ([[5, 2, 3]], [10], [5, 2, 3], [(0, 0, "split", 1), (0, 0, "split", 2), (-1, 1, "new", 0),
                                        (-1, 2, "new", 0)]),
        # Half of the rows of a cluster without a partner are still there: it was merged.
        ([[10], [5]], [10, 10], [11], [(0, 0, "kept", -1), (1, -1, "merged", 0)]),
        ([[10], [4]], [10, 10], [11], [(0, 0, "kept", -1), (1, -1, "ended", -1)]),
    ],
)  # fmt: skip
def test_events_go_by_most_of_the_rows(shared, before, after, expected):
    sizes = (np.array(side, dtype=np.float64) for side in (before, after))
    assert list(name_events(np.array(shared, dtype=np.float64), *sizes, {0: 0})) == expected
