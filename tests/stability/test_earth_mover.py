"""Eq. 2 from samples: the transport, the self-distance, their difference."""

from itertools import permutations

import numpy as np
import pytest
from stability.clusterers import at_random, by_rank, by_sign

from holdfast import HierarchicalKMedian, average_sensitivity, clustering_distance
from holdfast.clusterers import METHODS
from holdfast.stability.measures import encode_labels, match_outputs
from holdfast.stability.plan import keyed_seed

rng = np.random.RandomState(5)
ROWS = rng.standard_normal((24, 2)) + 4.0 * rng.randint(0, 3, size=(24, 1))


def test_transport_equals_a_search_over_all_assignments():
    for _ in range(20):
        before = [rng.randint(0, 3, size=8) for _ in range(4)]
        after = [rng.randint(0, 3, size=8) for _ in range(4)]
        found = match_outputs(
            [encode_labels(labels) for labels in before],
            [encode_labels(labels) for labels in after],
        )
        cheapest = min(
            np.mean(
                [
                    clustering_distance(before[i], after[j], measure="symmetric_difference")
                    for i, j in enumerate(order)
                ]
            )
            for order in permutations(range(4))
        )
        assert 2 * (8 - found) == pytest.approx(cheapest)


def test_values_are_transports_between_outputs_of_independent_seeds():
    m = 3
    result = average_sensitivity(
        at_random, ROWS, n_clusters=3, trials="all", repeats=m, coupling="earth_mover", n_jobs=1
    )
    assert result.values.shape == (1, 1, 24, 1)
    before = [at_random(ROWS, 3, seed) for seed in result.seeds]
    for trial in (0, 11):
        seeds = [keyed_seed(0, "output", trial, r) for r in range(m)]
        assert not set(seeds) & set(result.seeds)
        kept = np.delete(np.arange(24), trial)
        after = [at_random(ROWS[kept], 3, seed) for seed in seeds]
        cheapest = min(
            np.mean(
                [clustering_distance(before[i], after[j], kept=kept) for i, j in enumerate(order)]
            )
            for order in permutations(range(m))
        )
        assert result.values[0, 0, trial, 0] == pytest.approx(cheapest)


def test_mean_is_the_distance_less_the_self_distance():
    result = average_sensitivity(
        by_rank,
        ROWS,
        n_clusters=[2, 4],
        trials=25,
        repeats=4,
        coupling="earth_mover",
        n_jobs=1,
        measure="moved",
    )
    assert result.matched_self.shape == (1, 2, 20)
    np.testing.assert_allclose(result.mean, result.distance - result.self_distance)
    np.testing.assert_allclose(result.distance, result.values.mean(axis=(2, 3)))
    np.testing.assert_allclose(result.self_distance, (24 - result.matched_self).mean(axis=2))
    assert (result.self_distance > 0.0).any()
    squares = result.values[..., 0].var(axis=2, ddof=1) / 25
    squares += result.matched_self.var(axis=2, ddof=1) / 20
    np.testing.assert_allclose(result.standard_error, np.sqrt(squares))
    assert result.rand is None
    assert result.jaccard is None


def test_deterministic_clusterers_have_no_self_distance():
    arguments = {"n_clusters": [2, 3], "trials": "all", "n_jobs": 1}
    both = average_sensitivity(METHODS["ward"].build(), ROWS, coupling="earth_mover", **arguments)
    same = average_sensitivity(METHODS["ward"].build(), ROWS, **arguments)
    assert (both.self_distance == 0.0).all()
    np.testing.assert_array_equal(both.mean, same.mean)
    assert (same.self_distance == 0.0).all()


def test_a_clusterer_that_ignores_what_goes_is_at_the_floor():
    result = average_sensitivity(
        by_sign,
        ROWS,
        n_clusters=2,
        delete=3,
        trials=4,
        coupling="earth_mover",
        n_jobs=1,
        measure="symmetric_difference",
    )
    assert result.mean.item() == result.floor.item() == 3.0


def test_self_distance_shrinks_with_the_number_of_outputs():
    found = [
        average_sensitivity(
            HierarchicalKMedian(method="tree"),
            ROWS,
            n_clusters=2,
            trials=12,
            repeats=m,
            coupling="earth_mover",
            n_jobs=1,
        ).self_distance.item()
        for m in (2, 8, 32)
    ]
    assert found[0] > found[1] > found[2] > 0.0


def test_a_failed_output_leaves_a_gap():
    def fails_at_times(X, k, seed):
        if X.shape[0] < 24 and seed % 5 == 0:
            raise ValueError("unlucky")
        return by_rank(X, k, seed)

    with pytest.warns(UserWarning, match="unlucky"):
        result = average_sensitivity(
            fails_at_times,
            ROWS,
            n_clusters=2,
            trials=12,
            repeats=3,
            coupling="earth_mover",
            n_jobs=1,
        )
    failed = {failure.trial for failure in result.failures}
    assert failed
    assert set(np.flatnonzero(np.isnan(result.values[0, 0, :, 0])).tolist()) == failed
    assert np.isfinite(result.mean).all()
