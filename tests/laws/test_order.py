"""Law 6: the result is a function of the rows, their weights, the parameters and the seed.

Never of the order, repetition, dtype or layout of the rows, nor of threads or the compiler.
"""

import _thread
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from laws.configurations import CONFIGURATIONS, Configuration
from laws.digests import digest, digests, large_input
from laws.inputs import INPUTS, Input
from models import build_model
from notes import noting

from holdfast import HierarchicalKMedian, Hierarchy
from holdfast._machine import work as parallel
from holdfast.centers import medoids
from holdfast.hierarchy import locate
from holdfast_paper.draws import normal, uniform

over_configurations = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
NAMED = {data.name: data for data in INPUTS}
TREE = [c for c in CONFIGURATIONS if c.is_tree]


def some_cuts(n_centers: int) -> list[int]:
    """All small k, and some large ones up to the last."""
    return sorted({*range(1, min(n_centers, 12) + 1), *range(12, n_centers, 7), n_centers})


def fit(configuration: Configuration, data: Input, **more: Any) -> Hierarchy:
    return configuration.estimator(**more).fit(data.rows, sample_weight=data.weight).hierarchy_


def check_same_up_to_rows(
    expected: Hierarchy, data: Input, found: Hierarchy, other: Input, row: np.ndarray
) -> None:
    """Check that `found`, of rows ``data.rows[row]``, is `expected`, for k up to the locations."""
    d = data.n_locations
    np.testing.assert_array_equal(found.costs[:d], expected.costs[:d])
    np.testing.assert_array_equal(found.parent[:d], expected.parent[:d])
    np.testing.assert_array_equal(
        other.rows[found.center_indices[:d]], data.rows[expected.center_indices[:d]]
    )
    for k in some_cuts(d):
        np.testing.assert_array_equal(found.cut(k), expected.cut(k)[row])


# Order


def check_permuted(
    configuration: Configuration, data: Input, expected: Hierarchy, permutation: np.ndarray
) -> None:
    other = data.reordered(permutation)
    found = fit(configuration, other)
    check_same_up_to_rows(expected, data, found, other, permutation)
    # Beyond the locations too, up to the exchange of identical rows.
    assert found.n_centers == expected.n_centers
    np.testing.assert_array_equal(found.costs, expected.costs)
    np.testing.assert_array_equal(found.parent, expected.parent)
    location = data.location[permutation]
    for k in some_cuts(expected.n_centers):
        pairs = sorted(zip(location, found.cut(k), other.present, strict=True))
        assert pairs == sorted(zip(data.location, expected.cut(k), data.present, strict=True))


@over_configurations
def test_permuting_rows_permutes_labels(configuration: Configuration):
    for data in INPUTS:
        expected, n = fit(configuration, data), data.n_rows
        with noting(data, "reversed"):
            check_permuted(configuration, data, expected, np.arange(n)[::-1])
        with noting(data, "shuffled"):
            shuffled = np.random.RandomState(n).permutation(n)
            check_permuted(configuration, data, expected, shuffled)


@pytest.mark.parametrize("rows", [[0, 0, 1e-30, 1], [1e-30, 0, 2e-30, 0, 1], [0, 1, 1e-40, 1e-30]])
def test_permuting_rows_that_the_grid_merges_changes_nothing(rows: list[float]):
    seen = set()
    for turn in range(len(rows)):
        column = np.roll(rows, turn)[:, None]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hierarchy = HierarchicalKMedian(1, method="tree", epsilon=0).fit(column).hierarchy_
        (message,) = [str(warning.message) for warning in caught]
        centers = tuple(column[hierarchy.center_indices, 0].tolist())
        seen.add((message, centers, hierarchy.costs.tobytes()))
    assert len(seen) == 1


@over_configurations
@pytest.mark.parametrize("row", [0, 13, 39])
def test_deleting_and_adding_a_row_again_restores_everything(
    configuration: Configuration, row: int
):
    rows = NAMED["far away"].rows
    model = configuration.estimator(2)
    before = digest(model.fit(rows).hierarchy_)
    without = digest(model.fit(np.delete(rows, row, axis=0)).hierarchy_)
    assert without != before
    back = np.insert(np.delete(rows, row, axis=0), row, rows[row], axis=0)
    assert digest(model.fit(back).hierarchy_) == before
    # Added at the end instead: the same, up to the order of the rows.
    order = np.append(np.delete(np.arange(rows.shape[0]), row), row)
    data = Input("whole", rows)
    other = data.reordered(order)
    expected, found = fit(configuration, data), model.fit(other.rows).hierarchy_
    check_same_up_to_rows(expected, data, found, other, order)


# Weights


@over_configurations
@pytest.mark.parametrize("name", ["weighted", "repeated, weighted", "repeated, zero weights"])
def test_integer_weights_equal_repeated_rows(configuration: Configuration, name: str):
    data = NAMED[name]
    times = data.weight.astype(int)
    row = np.repeat(np.arange(data.n_rows), times)
    repeated = Input("repeated", data.rows[row])
    assert repeated.n_rows > data.present.sum()
    expected, found = fit(configuration, data), fit(configuration, repeated)
    check_same_up_to_rows(expected, data, found, repeated, row)


@over_configurations
@pytest.mark.parametrize("name", ["blobs", "repeated", "two locations"])
def test_weights_of_one_equal_no_weights(configuration: Configuration, name: str):
    data = NAMED[name]
    weighted = Input("ones", data.rows, np.ones(data.n_rows))
    assert digest(fit(configuration, weighted)) == digest(fit(configuration, data))


@over_configurations
def test_scaling_weights_by_a_power_of_two_scales_costs_only(configuration: Configuration):
    """Where it can: the mechanism is as random as the logarithm of the total weight; below 2, 2."""
    mechanism = 0.0 < configuration.parameters["epsilon"] < np.inf
    for name in ("fractional weights", "repeated, fractional weights", "wide weights"):
        data = NAMED[name]
        expected = fit(configuration, data)
        for power in (-900, -60, -9, 9, 60, 900):
            total = data.weight.sum() * max(1.0, math.ldexp(1.0, power))
            if total <= 2.0 or not mechanism:
                with noting(name, power):
                    check_scaled(configuration, data, expected, math.ldexp(1.0, power))


def check_scaled(
    configuration: Configuration, data: Input, expected: Hierarchy, factor: float
) -> None:
    found = fit(configuration, Input("scaled", data.rows, data.weight * factor))
    np.testing.assert_array_equal(found.costs, expected.costs * factor)
    np.testing.assert_array_equal(found.center_indices, expected.center_indices)
    np.testing.assert_array_equal(found.parent, expected.parent)
    for k in some_cuts(found.n_centers):
        np.testing.assert_array_equal(found.cut(k), expected.cut(k))


@pytest.mark.parametrize("configuration", CONFIGURATIONS[:3], ids=str)
def test_weights_below_the_normal_doubles_still_count(configuration: Configuration):
    data = NAMED["weighted"]
    small = fit(configuration, Input("small", data.rows, data.weight * 2.0**-1000))
    smallest = fit(configuration, Input("smallest", data.rows, data.weight * 2.0**-1074))
    np.testing.assert_array_equal(smallest.center_indices, small.center_indices)
    np.testing.assert_array_equal(smallest.parent, small.parent)


@over_configurations
@pytest.mark.parametrize("max_centers", [None, 7])
def test_zero_weight_equals_absence(configuration: Configuration, max_centers: int | None):
    for name in ("zero weights", "fractional weights"):
        for data in (NAMED[name], NAMED[f"repeated, {name}"]):
            with noting(data):
                check_absence(configuration, data, max_centers)


def check_absence(configuration: Configuration, data: Input, max_centers: int | None) -> None:
    present = data.present
    assert not present.all()
    alone = Input("alone", data.rows[present], data.weight[present])
    expected = fit(configuration, alone, max_centers=max_centers)
    found = fit(configuration, data, max_centers=max_centers)
    np.testing.assert_array_equal(found.costs, expected.costs)
    np.testing.assert_array_equal(found.parent, expected.parent)
    np.testing.assert_array_equal(
        found.center_indices, np.flatnonzero(present)[expected.center_indices]
    )
    for k in some_cuts(found.n_centers):
        cut = found.cut(k)
        np.testing.assert_array_equal(cut[present], expected.cut(k))
        np.testing.assert_array_equal(cut[~present], expected.predict(data.rows[~present], k))


@over_configurations
def test_an_extreme_row_of_no_weight_does_not_move_the_grid(configuration: Configuration):
    data = NAMED["blobs"]
    rows = np.concatenate((data.rows, [[1e200, -1e200]]))
    weight = np.append(np.ones(data.n_rows), 0.0)
    expected, found = fit(configuration, data), fit(configuration, Input("far", rows, weight))
    np.testing.assert_array_equal(found.costs, expected.costs)
    np.testing.assert_array_equal(found.center_indices, expected.center_indices)
    np.testing.assert_array_equal(found.cut(20)[:-1], expected.cut(20))
    assert found.cut(20)[-1] == expected.predict(rows[-1:], 20)[0]
    if configuration.parameters.get("method") != "means":  # planes reach as far as any row
        assert found.cut(20)[-1] == 0  # outside of everything


# The whole and its beginning


def check_prefix(configuration: Configuration, data: Input, stops: list[int]) -> None:
    whole = fit(configuration, data)
    for stop in stops:
        found = fit(configuration, data, max_centers=stop)
        assert found.n_centers == min(stop, whole.n_centers)
        np.testing.assert_array_equal(found.center_indices, whole.center_indices[:stop])
        # Costs of the tree are exact sums; Euclidean ones may be added up in another order.
        tolerance = 0.0 if configuration in TREE else 1e-13
        np.testing.assert_allclose(found.costs, whole.costs[:stop], rtol=tolerance)
        np.testing.assert_array_equal(found.parent, whole.parent[:stop])
        for k in {1, (found.n_centers + 1) // 2, found.n_centers}:
            np.testing.assert_array_equal(found.cut(k), whole.cut(k))


@over_configurations
def test_max_centers_is_a_prefix_of_the_whole(configuration: Configuration):
    for data in INPUTS:
        with noting(data):
            n_centers = int(data.present.sum())
            check_prefix(configuration, data, some_cuts(n_centers)[::3])


# Many rows, where a few centers are found without putting all rows in order.


# At these, the gains that matter are too many to be found among the first few.
COLDER = [
    Configuration(f"tree-{e:g}", {"method": "tree", "epsilon": e}) for e in (1e-3, 0.01, 0.03)
]


def many_columns() -> Input:
    return Input("many columns", normal(np.random.RandomState(4), (20_000, 10)))


def many_ties() -> Input:
    rows = np.stack(np.meshgrid(np.arange(128.0), np.arange(128.0)), axis=-1).reshape(-1, 2)
    return Input("many ties", rows)


@pytest.mark.parametrize("configuration", [*TREE, *COLDER], ids=str)
@pytest.mark.parametrize("data", [large_input(), many_ties(), many_columns()], ids=str)
def test_max_centers_is_a_prefix_of_many(configuration: Configuration, data: Input):
    check_prefix(configuration, data, [1, 2, 3, 8, 21, 100, 1000])


@pytest.mark.parametrize("configuration", TREE, ids=str)
@pytest.mark.parametrize("max_centers", [5, None])
@pytest.mark.parametrize("data", [large_input(), many_ties()], ids=str)
def test_permuting_many_rows_permutes_labels(
    configuration: Configuration, data: Input, max_centers: int | None
):
    order = np.random.RandomState(1).permutation(data.n_rows)
    other = data.reordered(order)
    expected = fit(configuration, data, max_centers=max_centers)
    found = fit(configuration, other, max_centers=max_centers)
    np.testing.assert_array_equal(found.costs, expected.costs)
    np.testing.assert_array_equal(found.parent, expected.parent)
    for k in (1, 2, 5, min(data.n_locations, found.n_centers)):
        np.testing.assert_array_equal(found.cut(k), expected.cut(k)[order])


# Dtypes, layouts, containers

# Multiples of 1/8 between -8 and 8: exact in every dtype with a fraction; 0 .. 127 in all others.
FRACTIONS = np.random.RandomState(5).randint(-64, 65, size=(60, 3)) / 8.0
INTEGERS = np.random.RandomState(6).randint(0, 128, size=(60, 3)).astype(np.float64)


def strided(rows: np.ndarray) -> np.ndarray:
    wide = np.full((2 * rows.shape[0], 3 * rows.shape[1]), np.nan)
    wide[::2, ::3] = rows
    return wide[::2, ::3]


def read_only(rows: np.ndarray) -> np.ndarray:
    copy = rows.copy()
    copy.flags.writeable = False
    return copy


def unaligned(rows: np.ndarray) -> np.ndarray:
    buffer = np.zeros(rows.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(np.float64).reshape(rows.shape)
    view[:] = rows
    return view


NAMES = ["a", "b", "c"]
LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "list": np.ndarray.tolist,
    "list of tuples": lambda rows: [tuple(row) for row in rows.tolist()],
    "object": lambda rows: rows.astype(object),
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "pandas, own index": lambda rows: pd.DataFrame(rows, index=range(99, 39, -1)),
    "pandas, nullable": lambda rows: pd.DataFrame(rows, columns=NAMES).astype("Float64"),
    "pandas, Arrow": lambda rows: pd.DataFrame(rows, columns=NAMES).astype("float64[pyarrow]"),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "pyarrow": lambda rows: pa.table(dict(zip(NAMES, rows.T.copy(), strict=True))),
}
FLOATS = ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8", "longdouble"]
INTS = ["i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", ">u8"]


over_some = pytest.mark.parametrize(
    "parameters", [{"epsilon": 0}, {"epsilon": 1}, {"method": "medoids"}], ids=str
)


@pytest.mark.parametrize("dtype", FLOATS)
@over_some
def test_floating_dtypes_give_the_same(dtype: str, parameters: dict[str, Any]):
    model = build_model(4, **parameters)
    expected = digest(model.fit(FRACTIONS).hierarchy_)
    rows = FRACTIONS.astype(dtype)
    assert (rows == FRACTIONS).all()
    assert digest(model.fit(rows).hierarchy_) == expected
    np.testing.assert_array_equal(model.predict(rows), model.predict(FRACTIONS))
    assert model.cluster_centers_.dtype == np.float64


@pytest.mark.parametrize("dtype", INTS)
@over_some
def test_integer_dtypes_give_the_same(dtype: str, parameters: dict[str, Any]):
    model = build_model(4, **parameters)
    expected = digest(model.fit(INTEGERS).hierarchy_)
    assert digest(model.fit(INTEGERS.astype(dtype)).hierarchy_) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@over_some
def test_layouts_and_containers_give_the_same(layout: str, parameters: dict[str, Any]):
    model = build_model(4, **parameters)
    expected = digest(model.fit(FRACTIONS).hierarchy_)
    rows = LAYOUTS[layout](FRACTIONS)
    assert digest(model.fit(rows).hierarchy_) == expected
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize(
    "container",
    [list, tuple, pd.Series, pl.Series, pa.array, np.float32, np.int8, np.asfortranarray],
    ids=lambda container: container.__name__,
)
def test_containers_of_weights_give_the_same(container: Callable[[np.ndarray], Any]):
    weight = np.arange(60.0) % 5
    model = HierarchicalKMedian(4, method="tree")
    expected = digest(model.fit(FRACTIONS, sample_weight=weight).hierarchy_)
    given = container(weight)
    assert digest(model.fit(FRACTIONS, sample_weight=given).hierarchy_) == expected


def test_fit_changes_neither_rows_nor_weights():
    rows, weight = FRACTIONS.copy(), np.arange(60.0) % 5 / 8
    HierarchicalKMedian(4, method="tree").fit(rows, sample_weight=weight).predict(rows)
    np.testing.assert_array_equal(rows, FRACTIONS)
    np.testing.assert_array_equal(weight, np.arange(60.0) % 5 / 8)


def test_changing_the_rows_after_a_fit_changes_nothing():
    rows = FRACTIONS.copy()
    model = HierarchicalKMedian(4, method="tree").fit(rows)
    centers, predicted = model.cluster_centers_.copy(), model.predict(FRACTIONS)
    rows[:] = 0.0
    np.testing.assert_array_equal(model.cluster_centers_, centers)
    np.testing.assert_array_equal(model.predict(FRACTIONS), predicted)


def test_minus_zero_is_zero():
    rows = FRACTIONS.copy()
    rows[:, 1] = 0.0
    expected = digest(HierarchicalKMedian(4, method="tree").fit(rows).hierarchy_)
    rows[::2, 1] = -0.0
    assert np.signbit(rows[0, 1])
    assert digest(HierarchicalKMedian(4, method="tree").fit(rows).hierarchy_) == expected


# Threads, processes, the compiler


def test_fits_in_eight_threads_give_the_same():
    work = [(configuration, data) for configuration in CONFIGURATIONS for data in INPUTS] * 2
    expected = [digest(fit(configuration, data)) for configuration, data in work]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda pair: digest(fit(*pair)), work))
    assert found == expected


def test_one_model_predicts_the_same_in_eight_threads():
    model = HierarchicalKMedian(40, method="tree").fit(FRACTIONS)
    rows = uniform(np.random.RandomState(3), -9, 9, (500, 3))
    expected = model.predict(rows)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict(rows), range(40)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("cores", [1, 3])
def test_number_of_cores_changes_nothing(
    cores: int, monkeypatch: pytest.MonkeyPatch, digests_here: dict[str, str]
):
    for module, name in ((parallel, "_WORTHWHILE"), (medoids, "_THREADED"), (locate, "_BLOCK")):
        monkeypatch.setattr(module, name, 7)  # so that a few rows are shared out as many are
    started = []
    start = _thread.start_new_thread
    monkeypatch.setattr(
        _thread, "start_new_thread", lambda *job: (started.append(job), start(*job))[1]
    )
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    found = digests(large=False)
    assert (len(started) > 0) == (cores > 1)
    assert [case for case in found if found[case] != digests_here[case]] == []


SIMD = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


@pytest.fixture(scope="module")
def digests_here() -> dict[str, str]:
    return digests(large=True)


@pytest.mark.parametrize(
    "environment",
    [
        {"NUMBA_DISABLE_JIT": "1"},
        {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CPU_NAME": "generic"},
        {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"},
        {"NPY_DISABLE_CPU_FEATURES": " ".join(SIMD)},  # sorts equal values in another order
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_other_processes_give_the_same(
    environment: dict[str, str], digests_here: dict[str, str], tmp_path: Path
):
    if "NUMBA_BOUNDSCHECK" in environment:  # or code compiled without it would be loaded
        environment = {**environment, "NUMBA_CACHE_DIR": str(tmp_path)}
    large = [] if "NUMBA_DISABLE_JIT" in environment else ["--large"]
    run = subprocess.run(
        [sys.executable, "-W", "error", Path(__file__).with_name("digests.py"), *large],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.keys() >= digests(large=False).keys()
    assert [case for case in found if found[case] != digests_here[case]] == []


def test_digest_sees_every_part():
    hierarchy = HierarchicalKMedian(1, method="tree").fit(FRACTIONS).hierarchy_
    others = [
        HierarchicalKMedian(1, method="tree", random_state=1).fit(FRACTIONS).hierarchy_,
        HierarchicalKMedian(1, method="tree", max_centers=59).fit(FRACTIONS).hierarchy_,
        HierarchicalKMedian(1, method="tree").fit(FRACTIONS * 2.0).hierarchy_,
        HierarchicalKMedian(1, method="tree").fit(FRACTIONS[::-1]).hierarchy_,
    ]
    assert len({digest(h) for h in [hierarchy, *others]}) == 5
