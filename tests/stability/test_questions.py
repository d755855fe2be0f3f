"""Influence of rows, clusters found again, names carried over, k and epsilon suggested."""

from itertools import permutations

import numpy as np
import pytest
from stability.brute_force import clusters_of, most_matched
from stability.clusterers import ByQuantile, by_rank, by_sign

from holdfast import (
    HierarchicalKMedian,
    average_sensitivity,
    cluster_stability,
    clustering_distance,
    match_labels,
    row_influence,
    suggest_k,
    tune_epsilon,
)
from holdfast.clusterers import ward_linkage
from holdfast.stability import Add, Delete, Jitter, tune

rng = np.random.RandomState(13)
ROWS = rng.standard_normal((30, 2)) + 5.0 * rng.randint(0, 3, size=(30, 1))


# Rows


@pytest.mark.parametrize("measure", ["moved", "symmetric_difference", "moved_fraction"])
def test_mean_influence_is_the_average_sensitivity(measure):
    for clusterer in (ward_linkage(), by_rank, HierarchicalKMedian(method="tree")):
        found = row_influence(clusterer, ROWS, 3, repeats=2, measure=measure, n_jobs=1)
        average = average_sensitivity(
            clusterer, ROWS, n_clusters=3, trials="all", repeats=2, measure=measure, n_jobs=1
        )
        assert found.influence.mean() == pytest.approx(average.mean.item())
        assert found.floor == average.floor.item()
        assert found.influence.min() >= found.floor


class Renaming(ByQuantile):
    """Gives clusters other names when the number of rows changes."""

    def cut(self, k):
        return (super().cut(k) + self.rows.shape[0]) % k


def test_influence_and_unrest_equal_counting_by_hand():
    before = Renaming().fit(ROWS).cut(3)
    found = row_influence(Renaming(), ROWS, 3, n_jobs=1, measure="moved")
    moved = np.zeros(30)
    for gone in range(30):
        kept = np.delete(np.arange(30), gone)
        after = Renaming().fit(ROWS[kept]).cut(3)
        sets = clusters_of(before.tolist(), range(30)), clusters_of(after.tolist(), kept.tolist())
        assert found.influence[gone] == 30 - most_matched(*sets)
        overlaps = [(np.take(order, after) == before[kept]) for order in permutations(range(3))]
        overlaps.sort(key=np.sum)
        assert overlaps[-1].sum() > overlaps[-2].sum()  # one best matching
        moved[kept] += ~overlaps[-1]
    np.testing.assert_allclose(found.unrest, moved / 29)
    assert moved.sum() > 0


def test_sums_of_influence_and_unrest_count_the_same_moves():
    found = row_influence(by_rank, ROWS, 3, repeats=3, n_jobs=1, measure="moved")
    # Beyond the deleted row itself, each move is counted once by influence and once by unrest.
    assert (found.influence - 1.0).sum() == pytest.approx((found.unrest * 29).sum())
    assert found.unrest.max() > 0.0


def test_rows_to_look_at_first():
    found = row_influence(by_rank, ROWS, 3, n_jobs=1)
    for by in ("influence", "unrest"):
        top = found.top(5, by=by)
        values = getattr(found, by)
        assert top.size == 5
        assert (np.diff(values[top]) <= 0).all()
        assert values[top[-1]] >= np.delete(values, top).max()
    assert found.top(1000).size == 30
    assert str(found.top(1)[0]) in repr(found)
    calm = row_influence(by_sign, ROWS, 2, n_jobs=1)
    assert calm.top(3).tolist() == [0, 1, 2]
    assert (calm.unrest == 0.0).all()
    with pytest.raises(ValueError, match="got 'size'"):
        found.top(3, by="size")
    with pytest.raises(ValueError, match="count must be"):
        found.top(0)


def test_some_deletions_give_unrest_for_all_rows_and_influence_for_some(tmp_path):
    some = row_influence(by_rank, ROWS, 3, trials=10, n_jobs=1, checkpoint=tmp_path)
    whole = row_influence(by_rank, ROWS, 3, n_jobs=1)
    tried = np.isfinite(some.influence)
    assert tried.sum() == 10
    np.testing.assert_array_equal(some.influence[tried], whole.influence[tried])
    assert np.isfinite(some.unrest).all()
    assert some.top(30).size == 10
    again = row_influence(by_rank, ROWS, 3, trials=10, n_jobs=1, checkpoint=tmp_path)
    np.testing.assert_array_equal(some.unrest, again.unrest)
    with pytest.raises(ValueError, match="there trials is 10 rows, now it is all"):
        row_influence(by_rank, ROWS, 3, n_jobs=1, checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 30}, "29 of 30"),
        ({"n_clusters": 2, "trials": 0}, "trials must be"),
    ],
)
def test_bad_arguments_of_row_influence_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        row_influence(by_rank, ROWS, n_jobs=1, **arguments)


# Clusters


def test_clusters_that_are_found_again():
    loose, tight = rng.standard_normal((25, 2)), rng.standard_normal((25, 2))
    blobs = np.concatenate([loose, 40.0 + 0.01 * tight])
    found = cluster_stability(ward_linkage(), blobs, 3, trials=30, n_jobs=1)
    # The tight blob is whole, the other is torn in two, somewhere else in each trial.
    whole = int(found.labels[-1])
    assert found.sizes[whole] == 25
    assert found.jaccard[whole] == 1.0
    assert np.delete(found.jaccard, whole).max() < 0.95
    assert np.bincount(found.labels).tolist() == found.sizes.tolist()
    assert 0.3 < found.rand < 1.0
    calm = cluster_stability(ward_linkage(), blobs, 2, perturb=Jitter(1e-6), trials=3, n_jobs=1)
    assert calm.jaccard.tolist() == [1.0, 1.0]
    assert calm.rand == 1.0


def test_cluster_stability_needs_all_rows():
    with pytest.raises(ValueError, match="holds some back"):
        cluster_stability(ward_linkage(), ROWS, 2, perturb=Add(1))
    with pytest.raises(ValueError, match="n_clusters must be"):
        cluster_stability(ward_linkage(), ROWS, 0)


# Names


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
        (([0, 1], [0]), "pass reference_ids"),
        (([], []), "at least one"),
        (([0.5, 1.0], [0, 1]), "integers or strings"),
    ],
)
def test_bad_labels_to_match_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        match_labels(*arguments)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({"reference_ids": [1, 2]}, "both sides or for none"),
        ({"reference_ids": [1, 2, 3], "new_ids": [1, 2]}, "each of 2 labels"),
        ({"reference_ids": [1, 1], "new_ids": [1, 2]}, "occurs again"),
        ({"reference_ids": [1, 2], "new_ids": [3, 4]}, "no id in common"),
    ],
)
def test_bad_ids_are_named(ids, message):
    with pytest.raises(ValueError, match=message):
        match_labels([0, 1], [0, 1], **ids)


# The number of clusters


def test_the_right_number_of_clusters_is_locally_most_stable():
    centers = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [30.0, 30.0]])
    blobs = np.repeat(centers, 15, axis=0) + rng.standard_normal((60, 2))
    found = suggest_k(ward_linkage(), blobs, range(2, 8), trials=30, n_jobs=1)
    assert 4 in found.best
    assert found.clear[found.best.index(4)]
    assert found.mean[found.n_clusters.index(4)] == 0.0
    assert found.standard_error.shape == (6,)
    assert "best=" in repr(found)
    axes = found.plot()
    marked = next(line for line in axes.lines if line.get_label() == "locally most stable")
    assert sorted(marked.get_xdata().tolist()) == sorted(found.best)


def test_suggestions_are_minima_of_the_curve():
    found = suggest_k(by_rank, ROWS, [6, 2, 3, 9, 3], delete=3, trials=8, n_jobs=1)
    assert found.n_clusters == (2, 3, 6, 9)
    mean = dict(zip(found.n_clusters, found.mean, strict=True))
    for k, neighbours in {2: [3], 3: [2, 6], 6: [3, 9], 9: [6]}.items():
        lowest = all(mean[k] <= mean[n] for n in neighbours)
        above = any(mean[k] < mean[n] for n in neighbours)
        assert (k in found.best) == (lowest and above)
    assert list(found.best) == sorted(found.best, key=mean.__getitem__)


def test_one_kind_of_change_at_a_time():
    with pytest.raises(ValueError, match="one kind of change"):
        suggest_k(by_rank, ROWS, [2, 3], perturb=[Delete(1), Delete(2)], trials=2, n_jobs=1)


# Epsilon


@pytest.fixture(scope="module")
def uniform_rows():
    return np.random.RandomState(6).random_sample((120, 2))


def test_cheapest_epsilon_for_a_sensitivity(uniform_rows):
    arguments = {"epsilon_range": (5.0, 1000.0), "repeats": 20, "n_jobs": 1}
    search = tune_epsilon(
        HierarchicalKMedian(method="tree"),
        uniform_rows,
        6,
        target_sensitivity=4.0,
        **arguments,
        measure="symmetric_difference",
    )
    assert search.target == "sensitivity"
    assert search.sensitivity.max() > 4.0 > search.sensitivity.min()
    assert (np.diff(search.epsilons) > 0).all()
    met = search.sensitivity <= 4.0
    chosen = search.epsilons.tolist().index(search.epsilon)
    assert met[chosen]
    assert search.cost[chosen] == search.cost[met].min()
    direct = average_sensitivity(
        HierarchicalKMedian(method="tree", epsilon=search.epsilon),
        uniform_rows,
        n_clusters=6,
        trials="all",
        repeats=20,
        measure="symmetric_difference",
    )
    assert direct.mean.item() == search.sensitivity[chosen]
    assert direct.standard_error.item() == search.standard_error[chosen]
    assert f"{search.epsilon:.4g}" in search.message


@pytest.mark.parametrize(
    ("target", "exact"),
    [({"target_sensitivity": 5.0}, 19.0), ({"max_cost_ratio": 2.0}, np.e - 1.0)],
)
def test_the_limit_is_found_on_monotone_curves(target, exact, monkeypatch):
    class Curve:
        def __init__(self, clusterer, *args, **kwargs):
            self.mean = np.array([[100.0 / (1.0 + clusterer.epsilon)]])
            self.standard_error = np.zeros((1, 1))

    monkeypatch.setattr(tune, "average_sensitivity", Curve)

    def cost(model, X, **_):
        return np.array([1.0 + np.log1p(model.epsilon)])

    monkeypatch.setattr(tune, "mean_cost", cost)
    search = tune_epsilon(HierarchicalKMedian(method="tree"), ROWS, 2, **target)
    nearer = exact / search.epsilon if "max_cost_ratio" in target else search.epsilon / exact
    # On the right side, and after four halvings within a factor of 3^(1/16).
    assert 1.0 <= nearer <= 3.0 ** (1 / 16)
    assert search.epsilons.size == 12 + 4
    assert search.epsilons[[0, -1]].tolist() == pytest.approx([0.01, 1000.0])


def test_calmest_epsilon_for_a_cost(uniform_rows):
    search = tune_epsilon(
        HierarchicalKMedian(method="tree"),
        uniform_rows,
        6,
        max_cost_ratio=1.2,
        repeats=10,
        refinements=2,
        n_jobs=1,
    )
    met = search.cost_ratio <= 1.2
    assert 0 < met.sum() < met.size
    chosen = search.epsilons.tolist().index(search.epsilon)
    assert met[chosen]
    assert search.sensitivity[chosen] == search.sensitivity[met].min()
    assert search.cost_ratio[0] == pytest.approx(1.0, abs=0.05)  # hardly random: greedy
    axes = search.plot()
    assert axes.get_xscale() == "log"
    assert axes.get_title(loc="left") == search.message
    axes.figure.canvas.draw()


def test_targets_that_no_value_meets_are_said_clearly(uniform_rows):
    arguments = {"repeats": 2, "factor": 100.0, "n_jobs": 1}
    search = tune_epsilon(
        HierarchicalKMedian(method="tree"),
        uniform_rows,
        6,
        target_sensitivity=0.5,
        **arguments,
        measure="symmetric_difference",
    )
    assert search.epsilon is None
    assert "no epsilon from 0.01 to 1000 has a symmetric_difference" in search.message
    assert f"{search.sensitivity.min():.4g}" in repr(search)
    search.plot().figure.canvas.draw()
    costly = tune_epsilon(
        HierarchicalKMedian(method="tree"),
        uniform_rows,
        6,
        max_cost_ratio=0.5,
        **arguments,
        measure="symmetric_difference",
    )
    assert costly.epsilon is None
    assert "cost ratio of at most 0.5" in costly.message


def test_all_values_share_trials_and_seeds_even_from_a_generator(uniform_rows):
    arguments = {"repeats": 2, "factor": 1000.0, "refinements": 0, "n_jobs": 1}
    one = tune_epsilon(
        HierarchicalKMedian(method="tree"),
        uniform_rows,
        3,
        max_cost_ratio=9.0,
        random_state=np.random.default_rng(1),
        **arguments,
    )
    two = tune_epsilon(
        HierarchicalKMedian(method="tree"),
        uniform_rows,
        3,
        max_cost_ratio=9.0,
        random_state=np.random.default_rng(1),
        **arguments,
    )
    np.testing.assert_array_equal(one.sensitivity, two.sensitivity)
    np.testing.assert_array_equal(one.cost, two.cost)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of the two"),
        ({"target_sensitivity": 3.0, "max_cost_ratio": 1.1}, "one of the two"),
        ({"target_sensitivity": -1.0}, "at least 0; got -1.0"),
        ({"max_cost_ratio": 0.0}, "must be positive"),
        ({"max_cost_ratio": 1.1, "epsilon_range": (0.0, 1.0)}, "two positive numbers"),
        ({"max_cost_ratio": 1.1, "epsilon_range": (2.0, 1.0)}, "smaller first"),
        ({"max_cost_ratio": 1.1, "factor": 1.0}, "more than 1; got 1.0"),
        ({"max_cost_ratio": 1.1, "n_clusters": 0}, "n_clusters must be"),
        ({"max_cost_ratio": 1.1, "repeats": 0}, "repeats must be"),
        ({"max_cost_ratio": 1.1, "measure": "x"}, "measure must be"),
    ],
)
def test_bad_arguments_of_tune_epsilon_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        tune_epsilon(HierarchicalKMedian(method="tree"), ROWS, **{"n_clusters": 3, **arguments})


def test_only_our_estimator_has_an_epsilon():
    with pytest.raises(TypeError, match="HierarchicalKMedian.*got LinkageClusterer"):
        tune_epsilon(ward_linkage(), ROWS, 3, max_cost_ratio=1.1)
