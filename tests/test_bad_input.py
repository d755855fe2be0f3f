"""Bad input: an error or warning that names the argument, what was got and what is expected.

Nothing half-fitted remains: after a failure an estimator is what it was before.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models import build_model
from scipy import sparse
from sklearn.exceptions import NotFittedError

from holdfast import HierarchicalKMedian
from holdfast_paper.unshifted import UnshiftedKMedian

ROWS = np.random.RandomState(8).standard_normal((10, 2))
ONES = np.ones(10)
DETERMINISTIC = {"random_shift": False}
BOXED = {"random_shift": False, "root_box": ([-8.0, -8.0], 16.0)}


def rows_with(value: object, dtype: type = np.float64) -> np.ndarray:
    rows = ROWS.astype(dtype)
    rows[3, 1] = value
    return rows


def weight_with(value: float) -> np.ndarray:
    weight = ONES.copy()
    weight[3] = value
    return weight


SPARSE = ["X is sparse", 'method="tree"', 'method="means"', "toarray"]

# name: (rows, exception, what the message says)
BAD_ROWS: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "NaN": (rows_with(np.nan), ValueError, ["X", "NaN"]),
    "NaN in float32": (rows_with(np.nan, np.float32), ValueError, ["X", "NaN"]),
    "missing in pandas": (pd.DataFrame(ROWS).mask(ROWS > 1), ValueError, ["X", "NaN"]),
    "infinity": (rows_with(np.inf), ValueError, ["X", "infinity"]),
    "minus infinity": (rows_with(-np.inf), ValueError, ["X", "infinity"]),
    "complex": (ROWS + 1j, ValueError, ["Complex data not supported"]),
    "words": (rows_with("far", object), ValueError, ["X must be numeric", "'far'", "encode"]),
    "array of words": (
        np.array([["a", "b"], ["c", "d"]]),
        ValueError,
        ["X must be numeric", "'a'", "encode"],
    ),
    "sparse matrix": (sparse.csr_matrix(ROWS), TypeError, SPARSE),
    "sparse array": (sparse.coo_array(ROWS), TypeError, SPARSE),
    "no rows": (np.empty((0, 2)), ValueError, ["0 sample(s)", "(0, 2)", "minimum of 1"]),
    "empty list": ([], ValueError, ["Expected 2D array", "got 1D array"]),
    "one dimension": (ROWS[:, 0], ValueError, ["Expected 2D array", "got 1D array"]),
    "three dimensions": (ROWS[None], ValueError, ["dim 3", "dim <= 2 is required"]),
    "a number": (3.0, ValueError, ["Expected 2D array", "got scalar array"]),
    "no columns": (np.empty((10, 0)), ValueError, ["0 feature(s)", "(10, 0)", "minimum of 1"]),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, ["inhomogeneous"]),
    "nothing": (None, ValueError, ["Expected 2D array", "got scalar"]),
    "span overflows": (1.7e308 * np.eye(10)[:, :2], ValueError, ["X", "1.7e+308", "overflows"]),
    "difference overflows": ([[1.7e308], [-1.7e308]], ValueError, ["-1.7e+308 to 1.7e+308"]),
}

# name: (weights, what the message says besides the name of the argument)
BAD_WEIGHTS: dict[str, tuple[Any, list[str]]] = {
    "negative": (weight_with(-0.5), ["non-negative", "-0.5", "row 3"]),
    "NaN": (weight_with(np.nan), ["finite", "nan", "row 3"]),
    "infinite": (weight_with(np.inf), ["finite", "inf", "row 3"]),
    "several": (-ONES, ["non-negative", "10 values", "-1.0", "row 0"]),
    "too short": (ONES[:9], ["(10,)", "(9,)"]),
    "too long": (np.ones(11), ["(10,)", "(11,)"]),
    "empty": ([], ["(10,)", "(0,)"]),
    "a column": (ONES[:, None], ["(10,)", "(10, 1)"]),
    "a number": (2.0, ["(10,)", "()"]),
    "all zero": (0 * ONES, ["positive", "zero"]),
    "words": (["heavy"] * 10, ["number"]),
    "ragged": ([[1.0], *[1.0, 2.0] * 4, 1.0], ["number"]),
    "complex": (ONES + 1j, ["number"]),
    "a mapping": ({"weight": 1}, ["number"]),
    "total overflows": (np.full(10, 1e308), ["1e+308"]),
}

# name: (parameters, what the message says)
BAD_PARAMETERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "n_clusters zero": ({"n_clusters": 0}, ["n_clusters", "got 0", "integer", "1"]),
    "n_clusters negative": ({"n_clusters": -3}, ["n_clusters", "got -3", "integer", "1"]),
    "n_clusters float": ({"n_clusters": 2.0}, ["n_clusters", "got 2.0", "integer"]),
    "n_clusters bool": ({"n_clusters": True}, ["n_clusters", "got True", "integer"]),
    "n_clusters numpy bool": ({"n_clusters": np.True_}, ["n_clusters", "True", "integer"]),
    "n_clusters string": ({"n_clusters": "2"}, ["n_clusters", "got '2'", "integer"]),
    "n_clusters None": ({"n_clusters": None}, ["n_clusters", "got None", "integer"]),
    "n_clusters > rows": ({"n_clusters": 11}, ["n_clusters", "11", "at most", "10"]),
    "epsilon negative": ({"epsilon": -1e-9}, ["epsilon", "got -1e-09", "non-negative"]),
    "epsilon minus infinity": ({"epsilon": -np.inf}, ["epsilon", "-inf", "non-negative"]),
    "epsilon NaN": ({"epsilon": np.nan}, ["epsilon", "got nan", "non-negative"]),
    "epsilon string": ({"epsilon": "1"}, ["epsilon", "got '1'", '"auto"']),
    "epsilon Auto": ({"epsilon": "Auto"}, ["epsilon", "got 'Auto'", '"auto"']),
    "epsilon bool": ({"epsilon": True}, ["epsilon", "got True", "number"]),
    "epsilon numpy bool": ({"epsilon": np.False_}, ["epsilon", "False", "number"]),
    "epsilon None": ({"epsilon": None}, ["epsilon", "got None", "number"]),
    "epsilon complex": ({"epsilon": 1j}, ["epsilon", "got 1j", "number"]),
    "epsilon list": ({"epsilon": [1.0]}, ["epsilon", "got [1.0]", "number"]),
    "epsilon too large": ({"epsilon": 10**400}, ["epsilon", "number"]),
    "method unknown": ({"method": "ward"}, ["method", "got 'ward'", "tree"]),
    "method None": ({"method": None}, ["method", "got None", "tree"]),
    "method list": ({"method": ["tree"]}, ["method", "got ['tree']", "one of"]),
    "verbose string": ({"verbose": "yes"}, ["verbose", "got 'yes'", "True"]),
    "max_centers zero": ({"max_centers": 0}, ["max_centers", "got 0", "integer"]),
    "max_centers float": ({"max_centers": 5.0}, ["max_centers", "got 5.0", "integer"]),
    "max_centers bool": ({"max_centers": True}, ["max_centers", "got True", "integer"]),
    "max_centers string": (
        {"max_centers": "most"},
        ["max_centers", "got 'most'", "integer", '"all"'],
    ),
    "max_centers < n_clusters": (
        {"n_clusters": 3, "max_centers": 2},
        ["max_centers=2", "at least n_clusters=3"],
    ),
    "metric unknown": (
        {"method": "medoids", "metric": "chebyshev"},
        ["metric", "got 'chebyshev'", "euclidean", "manhattan", "cosine"],
    ),
    "metric of another method": (
        {"metric": "manhattan"},
        ["metric", "got 'manhattan'", "euclidean", 'method="tree"'],
    ),
    "metric list": (
        {"method": "medoids", "metric": ["euclidean"]},
        ["metric", "got ['euclidean']", "one of"],
    ),
    "random_state string": ({"random_state": "x"}, ["random_state", "got 'x'", "integer"]),
    "random_state float": ({"random_state": 1.5}, ["random_state", "got 1.5", "integer"]),
    "random_state list": ({"random_state": [1, 2]}, ["random_state", "got [1, 2]", "integer"]),
    "root_box number": (DETERMINISTIC | {"root_box": 16.0}, ["root_box", "got 16.0", "corner"]),
    "root_box string": (DETERMINISTIC | {"root_box": "ab"}, ["root_box", "got 'ab'", "corner"]),
    "root_box corner only": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0],)},
        ["root_box", "got ([-8.0, -8.0],)", "side"],
    ),
    "root_box three parts": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0], 16.0, 1.0)},
        ["root_box", "got ([-8.0, -8.0], 16.0, 1.0)", "side"],
    ),
    "root_box shape": (
        DETERMINISTIC | {"root_box": ([-8.0], 16.0)},
        ["root_box", "2 finite numbers", "got [-8.0]"],
    ),
    "root_box corner NaN": (
        DETERMINISTIC | {"root_box": ([-8.0, np.nan], 16.0)},
        ["root_box", "2 finite numbers", "nan"],
    ),
    "root_box corner words": (
        DETERMINISTIC | {"root_box": (["a", "b"], 16.0)},
        ["root_box", "corner", "'a'"],
    ),
    "root_box side zero": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0], 0)},
        ["root_box", "side", "positive", "got 0"],
    ),
    "root_box side negative": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0], -1.0)},
        ["root_box", "side", "positive", "got -1.0"],
    ),
    "root_box side NaN": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0], np.nan)},
        ["root_box", "side", "finite", "got nan"],
    ),
    "root_box side infinite": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0], np.inf)},
        ["root_box", "side", "finite", "got inf"],
    ),
    "root_box too small": (
        DETERMINISTIC | {"root_box": ([-8.0, -8.0], 8.5)},
        ["root_box", "contain", f"{((ROWS >= 0.5).any(axis=1)).sum()} lie outside"],
    ),
    "root_box too high": (
        DETERMINISTIC | {"root_box": ([0.0, -8.0], 16.0)},
        ["root_box", "contain", f"first is row {(ROWS[:, 0] < 0).argmax()}"],
    ),
}


def check_message(message: str, fragments: list[str]) -> None:
    assert [fragment for fragment in fragments if fragment not in message] == [], message


def state_of(model: HierarchicalKMedian) -> dict[str, int]:
    """Every attribute, parameters and fitted ones alike, by identity."""
    return {name: id(value) for name, value in vars(model).items()}


def check_failure(
    parameters: dict[str, Any], rows: Any, weight: Any, kind: type[Exception], said: list[str]
) -> None:
    """Check that a fit fails as it should, and that a new and an old estimator stay as they are."""
    new = build_model(**{"n_clusters": 2, **parameters})
    before = state_of(new)
    with pytest.raises(kind) as caught:
        new.fit(rows, sample_weight=weight)
    check_message(str(caught.value), said)
    assert state_of(new) == before
    with pytest.raises(NotFittedError):
        new.predict(ROWS)

    shift = parameters.get("random_shift", True)
    changes = {name: value for name, value in parameters.items() if name != "random_shift"}
    old = build_model(4, random_shift=shift).fit(pd.DataFrame(ROWS[:, :1], columns=["a"]))
    column = pd.DataFrame(ROWS[:, :1], columns=["a"])
    labels, costs = old.labels_.copy(), old.hierarchy_.costs.copy()
    old.set_params(**{"n_clusters": 2, **changes})
    before = state_of(old)
    for method in (old.fit, old.fit_predict, old.fit_transform):
        with pytest.raises(kind):
            method(rows, sample_weight=weight)
        assert state_of(old) == before
    np.testing.assert_array_equal(old.predict(column), labels)
    np.testing.assert_array_equal(old.hierarchy_.costs, costs)
    assert old.transform(column).shape == (10, 4)


@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows(case: str):
    rows, kind, said = BAD_ROWS[case]
    check_failure({}, rows, None, kind, said)


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_weights(case: str):
    weight, said = BAD_WEIGHTS[case]
    check_failure({}, ROWS, weight, ValueError, ["sample_weight", *said])


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_parameters(case: str):
    parameters, said = BAD_PARAMETERS[case]
    check_failure(parameters, ROWS, None, ValueError, said)


def test_more_clusters_than_rows_of_positive_weight():
    weight = np.arange(10.0) % 2
    said = ["n_clusters=6", "at most", "positive weight", "5"]
    check_failure({"n_clusters": 6}, ROWS, weight, ValueError, said)


def test_row_without_a_direction():
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 1.0]])
    parameters = {"method": "medoids", "metric": "cosine"}
    check_failure(parameters, rows, None, ValueError, ['metric="cosine"', "Row 1", "zero"])


def test_cost_that_overflows_through_the_weights():
    said = ["overflows", "weights"]
    check_failure({}, 1e300 * ROWS, np.full(10, 1e20), ValueError, said)


def test_values_near_the_largest_double_are_clustered_if_their_cost_fits():
    rows = np.array([[1.0e307], [1.1e307], [2.0e307]])
    model = HierarchicalKMedian(3, method="tree", epsilon=0).fit(rows)
    assert sorted(model.labels_) == [0, 1, 2]
    assert np.isfinite(model.hierarchy_.costs).all()
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    # A new row farther away than any double can tell.
    with pytest.warns(UserWarning, match="2 of 2 rows lie outside"):
        assert model.predict([[-1.79e308], [1.79e308]]).tolist() == [0, 0]


def test_equal_rows_of_the_largest_double():
    model = HierarchicalKMedian(2, method="tree").fit(np.full((3, 2), np.finfo(np.float64).max))
    assert model.hierarchy_.costs.tolist() == [0.0, 0.0, 0.0]


def test_tiny_root_box_works_or_says_why():
    # One over its side is beyond the largest double.
    model = UnshiftedKMedian(2, root_box=([0.0], 1e-310))
    try:
        model.fit([[0.0], [5e-324]])
    except ValueError as error:
        check_message(str(error), ["root_box", "side", "1e-310"])
    else:
        assert sorted(model.labels_) == [0, 1]


def test_row_of_no_weight_may_lie_outside_the_root_box():
    rows = np.concatenate((ROWS, [[100.0, 0.0]]))
    weight = np.append(ONES, 0.0)
    model = build_model(2, **BOXED).fit(rows, sample_weight=weight)
    expected = build_model(2, **BOXED).fit(ROWS)
    np.testing.assert_array_equal(model.labels_[:-1], expected.labels_)


def test_failed_fit_draws_nothing():
    generator = np.random.RandomState(0)
    before = generator.get_state()[2]
    for parameters in (
        {"epsilon": -1.0},
        {"random_shift": False, "root_box": 3},
        {"n_clusters": 11},
        {"method": "ward"},
    ):
        model = build_model(**{"random_state": generator, "n_clusters": 2, **parameters})
        with pytest.raises(ValueError, match="must be"):
            model.fit(ROWS)
        assert generator.get_state()[2] == before, parameters


# New rows


BAD_NEW_ROWS = {
    "more columns": (np.ones((3, 5)), ["5 features", "expecting 2 features"]),
    "fewer columns": (np.ones((3, 1)), ["1 features", "expecting 2 features"]),
    "NaN": (rows_with(np.nan), ["X", "NaN"]),
    "infinity": (rows_with(np.inf), ["X", "infinity"]),
    "one dimension": (np.ones(2), ["Expected 2D array", "got 1D array"]),
    "no rows": (np.empty((0, 2)), ["0 sample(s)", "minimum of 1"]),
    "complex": (ROWS + 1j, ["Complex data not supported"]),
}


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
@pytest.mark.parametrize("case", BAD_NEW_ROWS)
def test_new_rows(method: str, case: str):
    rows, said = BAD_NEW_ROWS[case]
    model = HierarchicalKMedian(2, method="tree").fit(ROWS)
    before = state_of(model)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        getattr(model, method)(rows)
    check_message(str(caught.value), said)
    assert state_of(model) == before


@pytest.mark.parametrize("case", BAD_WEIGHTS.keys() - {"total overflows"})
def test_weights_of_score(case: str):
    weight, said = BAD_WEIGHTS[case]
    model = HierarchicalKMedian(2, method="tree").fit(ROWS)
    with pytest.raises(ValueError, match="sample_weight") as caught:
        model.score(ROWS, sample_weight=weight)
    check_message(str(caught.value), said)


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("other", [1, 2, 3, 7])
def test_hierarchy_predicts_rows_of_its_own_width_only(n_features: int, other: int):
    rows = np.random.RandomState(0).standard_normal((10, n_features))
    hierarchy = HierarchicalKMedian(2, method="tree").fit(rows).hierarchy_
    new = np.ones((4, other))
    if other == n_features:
        assert hierarchy.predict(new, 2).shape == (4,)
    else:
        with pytest.raises(ValueError, match=str(n_features)):
            hierarchy.predict(new, 2)


# Cuts


@pytest.mark.parametrize("method", ["cut", "sizes", "predict"])
@pytest.mark.parametrize(
    ("k", "kind", "said"),
    [
        (0, ValueError, ["n_clusters", "from 1 to 10", "got 0"]),
        (-1, ValueError, ["n_clusters", "from 1 to 10", "got -1"]),
        (11, ValueError, ["n_clusters", "from 1 to 10", "got 11"]),
        (10**30, ValueError, ["n_clusters", "from 1 to 10", f"got {10**30}"]),
        (2.0, TypeError, ["n_clusters", "integer", "got 2.0"]),
        ("3", TypeError, ["n_clusters", "integer", "got '3'"]),
        (None, TypeError, ["n_clusters", "integer", "got None"]),
        (True, TypeError, ["n_clusters", "integer", "got True"]),
        (np.True_, TypeError, ["n_clusters", "integer", "True"]),
        ([1, 2], TypeError, ["n_clusters", "integer", "got [1, 2]"]),
    ],
    ids=str,
)
def test_cut_outside_its_range(method: str, k: Any, kind: type[Exception], said: list[str]):
    hierarchy = HierarchicalKMedian(2, method="tree").fit(ROWS).hierarchy_
    arguments = (ROWS, k) if method == "predict" else (k,)
    with pytest.raises(kind) as caught:
        getattr(hierarchy, method)(*arguments)
    check_message(str(caught.value), said)


def test_cut_beyond_max_centers_says_so():
    hierarchy = HierarchicalKMedian(2, method="tree", max_centers=4).fit(ROWS).hierarchy_
    with pytest.raises(ValueError, match=r"from 1 to 4.*max_centers.*got 5"):
        hierarchy.cut(5)


def test_cut_beyond_the_rows_of_positive_weight_says_so():
    weight = np.arange(10.0) % 2
    hierarchy = HierarchicalKMedian(2, method="tree").fit(ROWS, sample_weight=weight).hierarchy_
    with pytest.raises(ValueError, match=r"from 1 to 5.*got 6") as caught:
        hierarchy.cut(6)
    assert "max_centers" not in str(caught.value)
    assert "weight" in str(caught.value)


# Rows that the grid cannot can resolve


@pytest.mark.parametrize(
    ("column", "count"),
    [
        ([0, 1e-30, 1], 1),
        ([0, 1e-30, 2e-30, 1], 2),
        ([0, 1e-30, 1, 1, 1, 0], 1),
        ([0, 1e-30, 1e6, 1e6 + 1], 1),
        ([1e300, 1.0, 2.0, 3.0, -7.0], 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("epsilon", [0, 1.0])
def test_rows_that_the_grid_merges_are_counted(column: list[float], count: int, epsilon: float):
    rows = np.array(column)[:, None]
    with pytest.warns(UserWarning, match=rf"^{count} row.* of X.*can resolve") as caught:
        hierarchy = HierarchicalKMedian(1, method="tree", epsilon=epsilon).fit(rows).hierarchy_
    assert len(caught) == 1
    # They are repeats: still one cluster each in the last cut.
    n = rows.size
    assert sorted(hierarchy.cut(n)) == list(range(n))
    assert hierarchy.costs[-count - 1 :].tolist() == [0.0] * (count + 1)


def test_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="can resolve") as caught:
        HierarchicalKMedian(1, method="tree").fit([[0.0], [1e-30], [1.0]])
    assert caught[0].filename == __file__


def test_repeats_and_rows_of_no_weight_are_not_warned_about():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        HierarchicalKMedian(1, method="tree").fit([[0.0], [0.0], [-0.0], [1.0]])
        HierarchicalKMedian(1, method="tree").fit([[0.0], [1e-30], [1.0]], sample_weight=[1, 0, 1])
        HierarchicalKMedian(1, method="tree").fit([[1.0], [1.0 + 2.0**-52], [1024.0]])
    assert caught == []
