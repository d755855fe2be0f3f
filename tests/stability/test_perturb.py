"""The ways to perturb: what they keep, and that draws are keyed."""

import numpy as np
import pytest
from stability.clusterers import by_rank, by_sign

from holdfast import average_sensitivity
from holdfast.stability import Add, Bootstrap, Delete, Jitter, Perturbation, Replace
from holdfast.stability.plan import build_plan, keyed_generator, keyed_seed

rng = np.random.RandomState(1)
ROWS = rng.standard_normal((50, 3))

KINDS = [Delete(1), Delete(0.3), Add(2), Add(0.1, 0.4), Replace(3), Bootstrap(), Jitter(0.1)]


def plan_for(perturb, random_state=0, trials=4):
    return build_plan(
        by_sign,
        ROWS,
        n_clusters=2,
        delete=None,
        perturb=perturb,
        trials=trials,
        repeats=1,
        coupling="same_seed",
        random_state=random_state,
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kept_rows_are_the_rows_they_are_said_to_be(kind):
    assert isinstance(kind, Perturbation)
    plan = plan_for(kind)
    base = plan.bases[0]
    for trial in range(4):
        rows, kept = plan.perturbed((0, trial))
        assert rows.shape == (kept.size, 3)
        old = kept >= 0
        if isinstance(kind, Jitter):
            assert np.array_equal(kept, np.arange(50))
            noise = (rows - base.rows) / base.rows.std(axis=0)
            assert 0.05 < noise.std() < 0.2
        else:
            np.testing.assert_array_equal(rows[old], base.rows[kept[old]])
        for row in rows[~old]:
            assert (base.spare == row).all(axis=1).any()
            assert not (base.rows == row).all(axis=1).any()


@pytest.mark.parametrize(
    ("kind", "n_base", "n_after", "n_new"),
    [
        (Delete(7), 50, 43, 0),
        (Delete(0.1), 50, 45, 0),
        (Delete(0.001), 50, 49, 0),
        (Add(4), 40, 44, 4),
        (Add(0.1, 0.5), 25, 27, 2),
        (Replace(4), 40, 40, 4),
        (Replace(0.2, 0.3), 35, 35, 7),
        (Bootstrap(), 50, 50, 0),
        (Jitter(), 50, 50, 0),
    ],
    ids=str,
)
def test_how_many_rows_come_and_go(kind, n_base, n_after, n_new):
    plan = plan_for(kind)
    assert plan.bases[0].rows.shape[0] == n_base
    assert plan.bases[0].spare.shape[0] == (0 if not kind.held_back else 50 - n_base)
    rows, kept = plan.perturbed((0, 0))
    assert rows.shape[0] == n_after
    assert (kept < 0).sum() == n_new
    if not isinstance(kind, Bootstrap):
        assert np.unique(kept[kept >= 0]).size == n_after - n_new


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_trials_differ_and_seeds_matter_and_nothing_else_does(kind):
    drawn = [plan_for(kind).perturbed((0, trial))[0] for trial in range(4)]
    again = [plan_for([Jitter(0.5), kind], trials=9).perturbed((1, trial))[0] for trial in range(4)]
    for a, b in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(drawn[0], drawn[1])
    other = plan_for(kind, random_state=1)
    assert not np.array_equal(drawn[0], other.perturbed((0, 0))[0])


def test_every_row_is_as_likely_to_go():
    plan = plan_for(Delete(5), trials=2000)
    gone = np.zeros(50)
    for trial in range(2000):
        kept = plan.perturbed((0, trial))[1]
        gone += 1
        gone[kept] -= 1
    # 200 expected each, standard deviation 13.4; five of these are missed with chance 3e-5.
    assert gone.sum() == 10000
    assert np.abs(gone - 200).max() < 67
    assert gone.std() > 4


def test_floors_of_all_kinds_for_a_clusterer_that_ignores_the_others():
    result = average_sensitivity(
        by_sign,
        ROWS,
        n_clusters=2,
        perturb=[Add(2), Replace(3), Bootstrap()],
        trials=3,
        n_jobs=1,
        measure="symmetric_difference",
    )
    assert result.n_before.tolist() == [40.0, 40.0, 50.0]
    np.testing.assert_array_equal(
        result.values,
        np.broadcast_to(
            (result.n_before[:, None] + result.n_after - 2 * result.n_kept)[:, None, :, None],
            result.values.shape,
        ),
    )
    assert result.floor[:2].tolist() == [2.0, 6.0]
    assert 10 < result.floor[2] < 28  # 36.8% of 50 rows are not drawn, on average
    moved = result.in_measure("moved")
    assert moved.floor[:2].tolist() == [0.0, 3.0]
    assert (result.in_measure("moved_fraction").values == 0.0).all()


def test_a_function_of_the_user_perturbs():
    def drop_the_largest(X, rng):
        kept = np.delete(np.arange(X.shape[0]), X[:, 0].argmax())
        return X[kept], kept

    result = average_sensitivity(
        by_rank, ROWS, n_clusters=2, perturb=drop_the_largest, trials=2, repeats=1, n_jobs=1
    )
    assert result.changes == ("drop_the_largest",)
    assert result.n_after.tolist() == [[49.0, 49.0]]
    assert result.values[0, 0, 0] == result.values[0, 0, 1]


def test_wrong_rows_of_a_users_function_are_failures_with_a_trial():
    def wrong(X, rng):
        return X, np.arange(X.shape[0]) + 1

    with pytest.raises(RuntimeError, match=r"trial 0 \(wrong\): ValueError: kept must be from 0"):
        average_sensitivity(by_sign, ROWS, n_clusters=2, perturb=wrong, trials=2, n_jobs=1)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Add(11), "Add needs 11 rows, but only 10 are held back"),
        (Replace(0.9), "Replace needs 36 rows, but only 10"),
        (Add(1, 1.0), "less than 1.*got 1.0"),
        (Add(1, 0.999), "leave a row to fit; got 0.999 of 50 rows"),
        (Replace(25, 0.6), "at most all 20 rows"),
        (Jitter(0.0), "positive and finite; got 0.0"),
        (Delete(True), "got True"),
    ],
    ids=str,
)
def test_bad_amounts_are_named(kind, message):
    with pytest.raises(ValueError, match=message):
        plan_for(kind)


def test_what_perturbs_nothing_is_named():
    with pytest.raises(TypeError, match="such as Delete"):
        plan_for("bootstrap")
    with pytest.raises(TypeError, match="Bootstrap"):
        plan_for(Bootstrap)


def test_keys_differ_by_seed_purpose_and_number():
    found = {
        keyed_seed(seed, what, *numbers)
        for seed in (0, 1, 2**63)
        for what in ("repeat", "self")
        for numbers in [(0,), (1,), (0, 0), (0, 1), (1, 0)]
    }
    assert len(found) == 30
    assert all(0 <= seed < 2**32 for seed in found)
    a, b = (keyed_generator(5, "x", 3).random(4) for _ in range(2))
    np.testing.assert_array_equal(a, b)
