"""Law 9: HierarchicalKMedian is a scikit-learn estimator like any other."""

import doctest
import importlib
import os
import pickle
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from models import FewCandidates
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import holdfast
from holdfast import HierarchicalKMedian, Hierarchy, k_median_cost_to
from holdfast_paper.unshifted import UnshiftedKMedian

ROWS = np.random.RandomState(1).standard_normal((80, 3)) + 6.0 * (np.arange(80) % 4)[:, None]

ESTIMATORS = [
    HierarchicalKMedian(),
    HierarchicalKMedian(method="tree"),
    HierarchicalKMedian(2, method="tree", epsilon=0, random_state=7),
    HierarchicalKMedian(3, method="medoids"),
    HierarchicalKMedian(3, method="means", epsilon=5.0),
    UnshiftedKMedian(2, max_centers=5),
]


# scikit-learn's own checks


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_checks_pass_and_none_is_skipped(estimator):
    assert os.environ.get("SCIPY_ARRAY_API") == "1", (
        "set SCIPY_ARRAY_API=1 (`make test` does), or scikit-learn skips its array API checks"
    )
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 40
    not_passed = [
        (result["check_name"], result["status"], str(result["exception"]))
        for result in results
        if result["status"] != "passed"
    ]
    assert not_passed == []
    assert not any(result["expected_to_fail"] for result in results)


# Attributes


def test_fitted_attributes_agree():
    model = HierarchicalKMedian(5, method="tree")
    assert model.fit(ROWS) is model
    hierarchy = model.hierarchy_
    assert isinstance(hierarchy, Hierarchy)
    assert model.labels_.dtype == np.int32
    assert model.center_indices_.dtype == np.int64
    np.testing.assert_array_equal(model.labels_, hierarchy.cut(5))
    np.testing.assert_array_equal(model.center_indices_, hierarchy.center_indices[:5])
    np.testing.assert_array_equal(model.cluster_centers_, ROWS[model.center_indices_])
    np.testing.assert_array_equal(model.labels_[model.center_indices_], np.arange(5))
    np.testing.assert_array_equal(model.fit_predict(ROWS), model.labels_)
    np.testing.assert_array_equal(model.predict(ROWS), model.labels_)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert model.seed_ == 0


@pytest.mark.parametrize(
    ("epsilon", "used"),
    [("auto", 1.0), (0, 0.0), (2, 2.0), (np.float32(0.5), 0.5), (float("inf"), float("inf"))],
)
def test_epsilon_used_is_kept(epsilon, used):
    model = HierarchicalKMedian(2, method="tree", epsilon=epsilon).fit(ROWS)
    assert model.epsilon_ == used
    assert type(model.epsilon_) is float
    assert model.epsilon is epsilon
    expected = HierarchicalKMedian(2, method="tree", epsilon=used).fit(ROWS).hierarchy_
    np.testing.assert_array_equal(model.hierarchy_.center_indices, expected.center_indices)


def test_epsilon_matters():
    orders = [
        HierarchicalKMedian(1, method="tree", epsilon=epsilon)
        .fit(ROWS)
        .hierarchy_.center_indices.tolist()
        for epsilon in (0, 0.1, 1, 10, float("inf"))
    ]
    assert len({tuple(order) for order in orders}) == len(orders)


def test_random_shift_matters():
    costs = [
        model.fit(ROWS).hierarchy_.costs[0]
        for model in (
            HierarchicalKMedian(1, method="tree", epsilon=0),
            UnshiftedKMedian(1, epsilon=0),
        )
    ]
    assert costs[0] != costs[1]


def test_parameters_of_numpy_types_are_accepted():
    model = HierarchicalKMedian(
        np.int32(4),
        method="tree",
        max_centers=np.int64(9),
        random_state=np.uint8(3),
        verbose=np.False_,
    ).fit(ROWS)
    expected = HierarchicalKMedian(4, method="tree", max_centers=9, random_state=3).fit(ROWS)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.hierarchy_.n_centers == 9
    np.testing.assert_array_equal(model.hierarchy_.cut(np.int16(2)), expected.hierarchy_.cut(2))


def test_repr_of_a_hierarchy_says_its_sizes():
    hierarchy = HierarchicalKMedian(2, method="tree", max_centers=7).fit(ROWS).hierarchy_
    assert repr(hierarchy) == "Hierarchy(n_rows=80, n_centers=7)"


def test_repr_of_an_estimator_shows_what_was_set():
    model = UnshiftedKMedian(2, epsilon=0, root_box=([0.0, 0.0], 4.0))
    shown = repr(model)
    assert shown.startswith("UnshiftedKMedian(")
    for setting in (
        "n_clusters=2",
        "epsilon=0",
        "root_box=([0.0, 0.0], 4.0)",
    ):
        assert setting in shown
    assert "method" not in shown


def test_root_box_places_the_root():
    # Cells of the unit cube halve at 1/2: of 0, 0.4 and 0.6 the last is the odd one out.
    rows = [[0.0], [0.4], [0.6]]
    boxed = UnshiftedKMedian(2, epsilon=0, root_box=([0.0], 1.0)).fit(rows)
    assert boxed.labels_[0] == boxed.labels_[1] != boxed.labels_[2]
    # Of the cube from -0.5 to 1.1 the middle is 0.3.
    moved = UnshiftedKMedian(2, epsilon=0, root_box=([-0.5], 1.6)).fit(rows)
    assert moved.labels_[0] != moved.labels_[1] == moved.labels_[2]


@pytest.mark.parametrize(
    ("lower", "side"), [(0.0, 1.0), (0.0, 0.3), (-0.5, 1.0), (-0.1, 0.2), (0.3, 0.7)]
)
def test_row_below_the_upper_face_is_inside_the_root_box(lower, side):
    # Rows at both ends of the box part at its middle, at distance 2 sqrt(d) side/2.
    rows = [[lower], [np.nextafter(lower + side, lower)]]
    model = UnshiftedKMedian(1, epsilon=0, root_box=([lower], side))
    (cost, _) = model.fit(rows).hierarchy_.costs
    assert cost == pytest.approx(2.0 * side, rel=1e-12)


# random_state


def order_of(random_state) -> tuple[int, ...]:
    model = HierarchicalKMedian(1, method="tree", random_state=random_state).fit(ROWS)
    assert 0 <= model.seed_ < 2**64
    return tuple(model.hierarchy_.center_indices.tolist())


def test_default_is_reproducible():
    assert order_of(0) == tuple(
        HierarchicalKMedian(1, method="tree").fit(ROWS).hierarchy_.center_indices
    )
    assert order_of(0) == order_of(0)


@pytest.mark.parametrize("seed", [1, 2**31, 2**32, 2**63, 2**64 - 1, -1, np.int64(5)])
def test_integers_are_seeds(seed):
    assert order_of(seed) == order_of(seed)
    assert order_of(seed) != order_of(0)
    assert (
        HierarchicalKMedian(1, method="tree", random_state=seed).fit(ROWS).seed_
        == int(seed) % 2**64
    )


def test_seeds_that_differ_in_one_bit_give_different_results():
    seeds = [0, *(1 << i for i in range(64))]
    assert len({order_of(seed) for seed in seeds}) == len(seeds)


def test_none_differs_each_time():
    assert len({order_of(None) for _ in range(4)}) == 4


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_are_drawn_from(make):
    generator = make(3)
    first, second = order_of(generator), order_of(generator)
    assert first != second
    again = make(3)
    assert (order_of(again), order_of(again)) == (first, second)


def test_fit_leaves_the_global_generator_alone():
    np.random.seed(4)  # noqa: NPY002
    before = np.random.get_state()[2]  # noqa: NPY002
    HierarchicalKMedian(2, method="tree", random_state=None).fit(ROWS)
    assert np.random.get_state()[2] == before  # noqa: NPY002


# predict, transform, score


def test_transform_gives_distances_to_the_centers():
    model = HierarchicalKMedian(6, method="tree").fit(ROWS)
    new = np.random.RandomState(2).standard_normal((9, 3))
    expected = np.sqrt(((new[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2))
    found = model.transform(new)
    assert found.shape == (9, 6)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(model.fit_transform(ROWS), model.transform(ROWS))


def test_score_is_minus_the_k_median_cost():
    model = HierarchicalKMedian(6, method="tree").fit(ROWS)
    new = np.random.RandomState(2).standard_normal((9, 3))
    nearest = model.transform(new).min(axis=1)
    assert model.score(new) == pytest.approx(-nearest.sum(), rel=1e-13)
    assert isinstance(model.score(new), float)
    weight = np.arange(9.0)
    assert model.score(new, sample_weight=weight) == pytest.approx(-nearest @ weight, rel=1e-13)
    assert model.score(ROWS[model.center_indices_]) == 0.0


@pytest.mark.parametrize(("metric", "name"), [("manhattan", "cityblock"), ("cosine", "cosine")])
def test_transform_and_score_use_the_metric(metric, name):
    model = HierarchicalKMedian(6, method="medoids", metric=metric).fit(ROWS)
    new = np.random.RandomState(2).standard_normal((9, 3))
    expected = cdist(new, model.cluster_centers_, name)
    np.testing.assert_allclose(model.transform(new), expected, rtol=1e-12)
    assert model.score(new) == pytest.approx(-expected.min(axis=1).sum(), rel=1e-12)
    assert k_median_cost_to(new, new, metric=metric) == 0.0
    with pytest.raises(ValueError, match="metric must be .*got 'hamming'"):
        k_median_cost_to(new, new, metric="hamming")


def test_more_clusters_than_candidates_is_an_error_that_names_them():
    estimator = FewCandidates(30, max_candidates=20, max_centers="all")
    with pytest.raises(ValueError, match=r"n_clusters must be at most 20 .*got n_clusters=30"):
        estimator.fit(ROWS)
    assert not hasattr(estimator, "hierarchy_")
    fitted = estimator.set_params(n_clusters=20).fit(ROWS)
    with pytest.raises(ValueError, match=r"from 1 to 20.*limited by max_centers.*got 21"):
        fitted.hierarchy_.cut(21)


def test_score_rises_with_the_number_of_clusters():
    scores = [HierarchicalKMedian(k, method="tree").fit(ROWS).score(ROWS) for k in (1, 2, 4, 8, 80)]
    assert scores == sorted(scores)
    assert scores[-1] == 0.0


def test_score_in_blocks_is_the_same(monkeypatch):
    model = HierarchicalKMedian(6, method="tree").fit(ROWS)
    weight = np.arange(80.0)
    whole = model.score(ROWS), model.score(ROWS, sample_weight=weight)
    monkeypatch.setattr("holdfast.hierarchy.cost._BLOCK", 50)  # 8 rows at a time
    blocks = model.score(ROWS), model.score(ROWS, sample_weight=weight)
    assert blocks == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_distances_neither_overflow_nor_vanish(scale):
    rows = np.array([[1.0, 1.0], [4.0, 5.0]]) * scale
    model = HierarchicalKMedian(2, method="tree").fit(rows)
    expected = np.array([[0.0, 5.0], [5.0, 0.0]]) * scale
    np.testing.assert_allclose(model.transform(rows)[:, model.labels_], expected, rtol=1e-13)
    assert HierarchicalKMedian(1, method="tree").fit(rows).score(rows) == pytest.approx(
        -5.0 * scale
    )


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_unfitted_estimator_says_so(method):
    with pytest.raises(NotFittedError, match="HierarchicalKMedian"):
        getattr(HierarchicalKMedian(method="tree"), method)(ROWS)


# Working with the rest of scikit-learn


def test_get_params_and_set_params():
    model = HierarchicalKMedian(4, method="tree", epsilon=0.5)
    assert model.get_params() == {
        "n_clusters": 4,
        "method": "tree",
        "metric": "euclidean",
        "epsilon": 0.5,
        "max_centers": None,
        "column_scale": None,
        "random_state": 0,
        "verbose": False,
    }
    assert model.set_params(n_clusters=2, epsilon="auto") is model
    assert model.fit(ROWS).labels_.max() == 1
    with pytest.raises(ValueError, match="no_such"):
        model.set_params(no_such=1)


def test_only_n_clusters_is_positional():
    with pytest.raises(TypeError, match="positional"):
        HierarchicalKMedian(4, 0.5, method="tree")


def test_changing_a_parameter_after_fit_leaves_the_fit_alone():
    model = HierarchicalKMedian(4, method="tree").fit(ROWS)
    model.set_params(n_clusters=7, epsilon=0)
    assert model.transform(ROWS).shape == (80, 4)
    np.testing.assert_array_equal(model.predict(ROWS), model.labels_)


def test_clone_is_unfitted_and_equal():
    model = UnshiftedKMedian(2, root_box=(ROWS.min(axis=0), 40.0), random_state=5).fit(ROWS)
    copy = clone(model)
    assert not hasattr(copy, "labels_")
    np.testing.assert_array_equal(copy.fit(ROWS).labels_, model.labels_)


@pytest.mark.parametrize("through", ["pickle", "joblib"])
def test_pickle_round_trip(through, tmp_path):
    model = HierarchicalKMedian(4, method="tree").fit(pd.DataFrame(ROWS, columns=list("abc")))
    if through == "pickle":
        copy = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model")
        copy = joblib.load(tmp_path / "model")
    new = pd.DataFrame(np.random.RandomState(2).uniform(-3, 25, (50, 3)), columns=list("abc"))
    np.testing.assert_array_equal(copy.predict(new), model.predict(new))
    np.testing.assert_array_equal(copy.hierarchy_.cut(40), model.hierarchy_.cut(40))
    np.testing.assert_array_equal(copy.hierarchy_.linkage(), model.hierarchy_.linkage())
    np.testing.assert_array_equal(copy.feature_names_in_, model.feature_names_in_)


def test_pipeline():
    pipeline = make_pipeline(StandardScaler(), HierarchicalKMedian(4, method="tree"))
    labels = pipeline.fit_predict(ROWS)
    scaled = StandardScaler().fit_transform(ROWS)
    np.testing.assert_array_equal(labels, HierarchicalKMedian(4, method="tree").fit(scaled).labels_)
    np.testing.assert_array_equal(pipeline.predict(ROWS), labels)
    assert pipeline.transform(ROWS).shape == (80, 4)
    assert pipeline.score(ROWS) == HierarchicalKMedian(4, method="tree").fit(scaled).score(scaled)
    assert list(pipeline.get_feature_names_out()) == [f"hierarchicalkmedian{i}" for i in range(4)]


def test_pipeline_hands_weights_on():
    pipeline = Pipeline([("cluster", HierarchicalKMedian(4, method="tree"))])
    weight = np.arange(80.0) % 3
    pipeline.fit(ROWS, cluster__sample_weight=weight)
    expected = HierarchicalKMedian(4, method="tree").fit(ROWS, sample_weight=weight)
    np.testing.assert_array_equal(pipeline["cluster"].labels_, expected.labels_)
    with config_context(enable_metadata_routing=True):
        model = HierarchicalKMedian(4, method="tree").set_fit_request(sample_weight=True)
        routed = Pipeline([("cluster", model)]).fit(ROWS, sample_weight=weight)
    np.testing.assert_array_equal(routed["cluster"].labels_, expected.labels_)


def test_weights_reach_fit_predict_and_fit_transform():
    weight = np.arange(80.0) % 3
    expected = HierarchicalKMedian(4, method="tree").fit(ROWS, sample_weight=weight)
    labels = HierarchicalKMedian(4, method="tree").fit_predict(ROWS, sample_weight=weight)
    np.testing.assert_array_equal(labels, expected.labels_)
    distances = HierarchicalKMedian(4, method="tree").fit_transform(ROWS, sample_weight=weight)
    np.testing.assert_array_equal(distances, expected.transform(ROWS))


@pytest.mark.parametrize(
    ("container", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_set_output(container, frame):
    model = HierarchicalKMedian(3, method="tree").set_output(transform=container)
    out = model.fit_transform(ROWS)
    assert isinstance(out, frame)
    assert list(out.columns) == [f"hierarchicalkmedian{i}" for i in range(3)]
    np.testing.assert_array_equal(
        out.to_numpy(), HierarchicalKMedian(3, method="tree").fit_transform(ROWS)
    )
    if container == "pandas":
        indexed = pd.DataFrame(ROWS, index=np.arange(80) + 100)
        assert list(model.fit(indexed).transform(indexed).index) == list(range(100, 180))


def test_feature_names():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    model = HierarchicalKMedian(3, method="tree").fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.get_feature_names_out()) == [f"hierarchicalkmedian{i}" for i in range(3)]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(ROWS)
    assert not hasattr(model.fit(ROWS), "feature_names_in_")


def test_grid_search_over_clusters_and_epsilon():
    grid = {"n_clusters": [1, 2, 4, 8], "epsilon": [0, 1.0, "auto"]}
    search = GridSearchCV(HierarchicalKMedian(method="tree"), grid, cv=3, error_score="raise").fit(
        ROWS
    )
    assert search.best_params_["n_clusters"] == 8
    table = search.cv_results_
    assert np.isfinite(table["mean_test_score"]).all()
    by_parameters = {
        (p["n_clusters"], p["epsilon"]): score
        for p, score in zip(table["params"], table["mean_test_score"], strict=True)
    }
    for k in grid["n_clusters"]:
        assert by_parameters[k, 1.0] == by_parameters[k, "auto"]
    assert by_parameters[1, 0] < by_parameters[8, 0]
    assert search.predict(ROWS).shape == (80,)


# Documentation that runs


def modules_with_examples() -> list[str]:
    source = Path(holdfast.__file__).parents[1]
    return [
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        for package in ("holdfast", "holdfast_paper")
        for path in sorted((source / package).rglob("*.py"))
        if ">>>" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_star_import_brings_the_public_names():
    namespace: dict[str, object] = {}
    exec("from holdfast import *", namespace)  # noqa: S102
    assert namespace["HierarchicalKMedian"] is HierarchicalKMedian
    assert namespace["Hierarchy"] is Hierarchy
    assert set(namespace) - {"__builtins__"} == set(holdfast.__all__)
