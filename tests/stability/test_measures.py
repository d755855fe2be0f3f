"""Laws 1 to 3: the matching against all bijections, floors, relations between measures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from stability.brute_force import clusters_of, least_difference, most_matched

from holdfast import clustering_distance
from holdfast.follow.report import match_clusters
from holdfast.stability.measures import (
    Labels,
    adjusted_rand,
    cluster_jaccard,
    encode_labels,
    overlap_table,
)

few = settings(derandomize=True, database=None, deadline=None, max_examples=150)


@st.composite
def changed_clusterings(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Labels before, labels after, and which row before each row after is (-1: a new one)."""
    n = draw(st.integers(1, 10))
    before = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    stays = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    kept = [row for row in range(n) if stays[row]]
    kept += [-1] * draw(st.integers(0 if kept else 1, 3))
    kept = draw(st.permutations(kept))
    after = draw(st.lists(st.integers(0, 3), min_size=len(kept), max_size=len(kept)))
    return before, after, list(kept)


def as_sets(
    before: list[int], after: list[int], kept: list[int]
) -> tuple[list[set[int]], list[set[int]]]:
    # New rows get numbers that no row before has.
    rows_after = [row if row >= 0 else 100 + i for i, row in enumerate(kept)]
    return clusters_of(before, range(len(before))), clusters_of(after, rows_after)


@few
@given(changed_clusterings())
def test_distances_equal_a_search_over_all_bijections(case):
    before, after, kept = case
    sets = as_sets(*case)
    matched = most_matched(*sets)
    survived = sum(row >= 0 for row in kept)

    def distance(measure: str) -> float:
        return clustering_distance(before, after, measure=measure, kept=kept)

    assert distance("symmetric_difference") == least_difference(*sets)
    assert distance("moved") == len(before) - matched
    if survived:
        assert distance("moved_fraction") == pytest.approx((survived - matched) / survived)


@few
@given(changed_clusterings(), st.permutations(range(5)), st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(case, names_before, names_after):
    before, after, kept = case
    for measure in ("symmetric_difference", "moved", "moved_fraction"):
        expected = clustering_distance(before, after, measure=measure, kept=kept)
        renamed = clustering_distance(
            [f"cluster {names_before[label]}" for label in before],
            [names_after[label] - 7 for label in after],
            measure=measure,
            kept=kept,
        )
        assert renamed == expected


@few
@given(changed_clusterings())
def test_relations_and_floor_after_deletions(case):
    before, after, kept = case
    after = [label for label, row in zip(after, kept, strict=True) if row >= 0]
    kept = [row for row in kept if row >= 0]
    n, m = len(before), len(before) - len(kept)
    moved = clustering_distance(before, after, measure="moved", kept=kept)
    assert (
        clustering_distance(before, after, kept=kept, measure="symmetric_difference")
        == 2 * moved - m
    )
    assert m <= moved <= n
    # The other way round, rows come instead of going.
    back = [kept.index(row) if row in kept else -1 for row in range(n)]
    assert (
        clustering_distance(after, before, kept=back, measure="symmetric_difference")
        == 2 * moved - m
    )


def test_equal_clusterings_are_at_distance_zero():
    labels = [3, 3, 0, 1, 1, 1]
    for measure in ("symmetric_difference", "moved", "moved_fraction"):
        assert clustering_distance(labels, [f"{label}" for label in labels], measure=measure) == 0.0


def test_repeated_rows_count_once():
    # Rows 0 and 1 were drawn twice; the second copy of row 1 lies elsewhere, the first counts.
    assert clustering_distance([0, 0, 1], [0, 0, 0, 1], kept=[0, 0, 1, 1], measure="moved") == 1.0
    assert (
        clustering_distance(
            [0, 0, 1], [0, 0, 0, 1], kept=[0, 0, 1, 1], measure="symmetric_difference"
        )
        == 3 + 2 - 2 * 2
    )


@few
@given(changed_clusterings())
def test_rand_index_equals_that_of_scikit_learn(case):
    before, after = case[0], (case[1] * 10)[: len(case[0])]
    table = overlap_table(encode_labels(before), encode_labels(after))
    assert adjusted_rand(table) == pytest.approx(adjusted_rand_score(before, after), abs=1e-12)


@few
@given(changed_clusterings())
def test_jaccard_index_equals_the_definition(case):
    before, after = case[0], (case[1] * 10)[: len(case[0])]
    sets_before, sets_after = as_sets(before, after, list(range(len(before))))
    found = cluster_jaccard(overlap_table(encode_labels(before), encode_labels(after)))
    expected = [max(len(a & b) / len(a | b) for b in sets_after) for a in sets_before]
    assert found[np.isfinite(found)] == pytest.approx(expected)
    assert np.isfinite(found).sum() == len(sets_before)


def test_matching_is_found_where_greedy_choice_is_not_best():
    table = np.array([[10, 9], [9, 1]])
    match = match_clusters(table)
    assert match.matched == 18
    assert match.after[match.before == 0] == 1


def test_many_clusters_and_large_labels():
    rng = np.random.RandomState(0)
    before = rng.randint(0, 300, size=3000)
    names = rng.permutation(10**6)[:300]
    assert clustering_distance(before, names[before]) == 0.0
    moved = before.copy()
    moved[:7] = (moved[:7] + 1) % 300
    assert clustering_distance(before, names[moved], measure="moved") == 7.0


@pytest.mark.parametrize(
    "labels", [[0, 1, 5], [-1, 3, 3], ["b", "a", "b"], [2.0, 1.0, 7.5], [True]]
)
def test_encoding_keeps_the_partition(labels):
    encoded = encode_labels(labels)
    assert isinstance(encoded, Labels)
    assert encoded.codes.min() >= 0
    assert encoded.codes.max() < encoded.count
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            assert (encoded.codes[i] == encoded.codes[j]) == (a == b)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0]), "got 2 and 1. Pass kept"),
        (([0, 1], [[0, 1]]), "one label per row"),
        (([0.0, np.nan], [0, 1]), "NaN"),
    ],
)
def test_bad_labels_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        clustering_distance(*arguments)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ([0], "each of the 2 rows"),
        ([0, 5], "from 0 to 2"),
        ([0, -2], "from 0 to 2"),
        ([0.0, 1.0], "float"),
    ],
)
def test_bad_kept_is_named(kept, message):
    with pytest.raises(ValueError, match=message):
        clustering_distance([0, 1, 1], [0, 1], kept=kept)


def test_unknown_measure_is_named():
    with pytest.raises(ValueError, match="symmetric_difference; got 'distance'"):
        clustering_distance([0], [0], measure="distance")
