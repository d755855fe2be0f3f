"""The number of clusters and epsilon, chosen by stability."""

import numpy as np
import pytest
from stability.clusterers import by_rank

from holdfast import HierarchicalKMedian, average_sensitivity, suggest_k, tune_epsilon
from holdfast.clusterers import METHODS
from holdfast.stability import Delete, selection

rng = np.random.RandomState(13)
ROWS = rng.standard_normal((30, 2)) + 5.0 * rng.randint(0, 3, size=(30, 1))


# The number of clusters


def test_the_right_number_of_clusters_is_locally_most_stable():
    centers = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [30.0, 30.0]])
    blobs = np.repeat(centers, 15, axis=0) + rng.standard_normal((60, 2))
    found = suggest_k(METHODS["ward"].build(), blobs, range(2, 8), trials=30, n_jobs=1)
    assert 4 in found.best
    assert found.clear[found.best.index(4)]
    assert found.mean[found.n_clusters.index(4)] == 0.0
    assert found.standard_error.shape == (6,)
    assert "best=" in repr(found)
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + 6
    assert "<td>4</td><td>0% ± 0%</td><td>clearly most stable</td>" in html
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
    with pytest.raises(ValueError, match="suggest_k needs one change; got delete 1, delete 2"):
        suggest_k(by_rank, ROWS, [2, 3], perturb=[Delete(1), Delete(2)], trials=2, n_jobs=1)


# Epsilon


@pytest.fixture(scope="module")
def uniform_rows():
    return np.random.RandomState(6).random_sample((120, 2))


def test_cheapest_epsilon_for_a_sensitivity(uniform_rows):
    arguments = {"epsilons": np.geomspace(5.0, 1000.0, 6), "repeats": 20, "n_jobs": 1}
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

    monkeypatch.setattr(selection, "average_sensitivity", Curve)

    def cost(model, X, **_):
        return np.array([[1.0 + np.log1p(model.epsilon)]])

    monkeypatch.setattr(selection, "cost_by_seed", cost)
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
    arguments = {"repeats": 2, "epsilons": np.geomspace(0.01, 1000.0, 4), "n_jobs": 1}
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
    arguments = {"repeats": 2, "epsilons": [3.0, 0.01, 1000.0], "refinements": 0, "n_jobs": 1}
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
        ({}, "pass either target_sensitivity or max_cost_ratio"),
        (
            {"target_sensitivity": 3.0, "max_cost_ratio": 1.1},
            "pass either target_sensitivity or max_cost_ratio",
        ),
        ({"target_sensitivity": -1.0}, "at least 0; got -1.0"),
        ({"max_cost_ratio": 0.0}, "must be positive"),
        ({"max_cost_ratio": 1.1, "epsilons": (0.0, 1.0)}, r"positive numbers; got \(0.0, 1.0\)"),
        ({"max_cost_ratio": 1.1, "epsilons": []}, "positive numbers"),
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
        tune_epsilon(METHODS["ward"].build(), ROWS, 3, max_cost_ratio=1.1)
