"""Mixed tables: the same preparation in Python and on the command line; distances as Gower's."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from holdfast import HierarchicalKMedian, TablePreparer, average_sensitivity, load
from holdfast.tables.preparation import Preparation


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "town": rng.choice(["Ulm", "Bern", "Bonn"], n),
            "member": rng.random(n) < 0.3,
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True
            ),
            "joined": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D"),
            "visits": rng.integers(0, 9, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    return frame


def test_distances_are_those_of_gower():
    """Kaufman and Rousseeuw's coefficient, as R's daisy computes it, worked out by hand."""
    size = pd.Categorical(["S", "L", "M", "S"], categories=["S", "M", "L"], ordered=True)
    frame = pd.DataFrame(
        {"x": [1.0, 3.0, 11.0, 2.0], "color": ["r", "g", "r", "g"], "size": size,
         "old": [True, False, False, True]}
    )  # fmt: skip
    rows = TablePreparer(scale="range", metric="manhattan").fit_transform(frame)
    found = np.abs(rows[:, None] - rows[None]).sum(axis=2) / 4
    expected = {
        (0, 1): (0.2 + 1 + 1 + 1) / 4,
        (0, 2): (1.0 + 0 + 0.5 + 1) / 4,
        (0, 3): (0.1 + 1 + 0 + 0) / 4,
        (1, 2): (0.8 + 1 + 0.5 + 0) / 4,
        (1, 3): (0.1 + 0 + 1 + 1) / 4,
        (2, 3): (0.9 + 1 + 0.5 + 1) / 4,
    }
    for (i, j), value in expected.items():
        assert found[i, j] == pytest.approx(value, abs=1e-12)
        assert found[j, i] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("scale", ["core", "range"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_one_mismatch_weighs_like_a_stated_distance(scale, metric):
    frame = pd.DataFrame(
        {"x": np.arange(40.0) ** 2, "town": list("aabb") * 10, "yes": [True, False] * 20}
    )
    rows = TablePreparer(scale=scale, metric=metric).fit(frame).transform(
        pd.DataFrame({"x": [0.0] * 3, "town": ["a", "b", "a"], "yes": [True, True, False]})
    )  # fmt: skip
    order = 2 if metric == "euclidean" else 1
    expected = 1.0 if scale == "range" else 2.0**0.5
    for other in (1, 2):
        assert np.linalg.norm(rows[0] - rows[other], order) == pytest.approx(expected, abs=1e-12)


def test_every_library_gives_the_same_rows(table):
    preparer = TablePreparer(cycles=["weekday"])
    expected = preparer.fit_transform(table)
    nullable = table.convert_dtypes()
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    plain = table.assign(size=table["size"].cat.codes)
    for other in (nullable, arrow):
        np.testing.assert_array_equal(clone(preparer).fit_transform(other), expected)
        np.testing.assert_array_equal(preparer.transform(other), expected)
    expected = preparer.fit_transform(plain)
    np.testing.assert_array_equal(clone(preparer).fit_transform(pl.from_pandas(plain)), expected)
    shuffled = np.random.default_rng(1).permutation(len(table))
    again = clone(preparer).fit(plain.iloc[shuffled])
    assert again.preparation_ == preparer.preparation_
    framed = clone(preparer).set_output(transform="pandas").fit_transform(plain)
    assert list(framed.columns) == preparer.get_feature_names_out().tolist()


def test_the_command_line_prepares_alike_in_parts_too(holdfast, table, folder):
    pq.write_table(pa.Table.from_pandas(table), folder / "t.parquet", row_group_size=17)
    preparation = TablePreparer().fit(table).preparation_
    for extra in ([], ["--chunked"]):
        done = holdfast(
            "fit", "t.parquet", "-k", 3, "--model", "m", "-o", "l.csv", "--force", *extra
        )
        assert done.code == 0, done.err
        model = load("m")
        assert model.table_.preparation == preparation
        np.testing.assert_array_equal(pd.read_csv("l.csv")["cluster_3"], model.predict(table))
    assert "age     number    divided by" in done.err
    update = table.iloc[:20]
    update.to_parquet(folder / "some.parquet")
    assert holdfast("update", "m", "--remove", "some.parquet").code == 0
    left = load("m")
    assert left.row_weights_.sum() == 100
    assert left.table_.preparation == preparation
    left.partial_fit(update)
    assert left.row_weights_.sum() == 120


def test_a_preparation_is_stored_as_json(table):
    found = TablePreparer(cycles=["hour", "weekday"], log=["visits"]).fit(table).preparation_
    assert Preparation.from_json(json.loads(json.dumps(found.to_json()))) == found
    for damage in (
        {"kind": "word"},
        {"levels": [1]},
        {"cycles": ["year"]},
        {"extra": 1},
        {"name": 3},
    ):
        record = found.to_json()
        record["inputs"][1] = {**record["inputs"][1], **damage}
        with pytest.raises(ValueError, match="preparation"):
            Preparation.from_json(record)
    old = {"columns": ["a", "b"], "missing": "median", "fill": [1.0, 2.0], "scale": [4.0, 0.5]}
    assert Preparation.from_json(old).sources[1].kind == "number"


def test_rare_levels_share_a_column_and_unknown_ones_have_none():
    towns = ["Ulm"] * 150 + ["Bern"] * 147 + ["Jena", "Gera", "Wyhl"]
    preparer = TablePreparer().fit(pd.DataFrame({"town": towns}))
    assert list(preparer.get_feature_names_out()) == ["town=Bern", "town=Ulm", "town=(other)"]
    rows = preparer.transform(pd.DataFrame({"town": ["Ulm", "Gera", "Rome", None]}))
    assert rows.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_gaps_are_filled_and_marked():
    frame = pd.DataFrame({"x": [1.0, None, 3.0, 5.0, 9.0], "yes": [True, True, None, True, False]})
    preparer = TablePreparer(scale=None).fit(frame.astype({"yes": "boolean"}))
    assert list(preparer.get_feature_names_out()) == ["x", "x is missing", "yes", "yes is missing"]
    assert preparer.transform(frame.astype({"yes": "boolean"}))[1:3].tolist() == [
        [4.0, 1.0, 1.0, 0.0],
        [3.0, 0.0, 1.0, 1.0],
    ]
    with pytest.raises(ValueError, match="2 values missing in 2 rows of 5 .*first in row 1"):
        TablePreparer(missing="error").fit_transform(frame.astype({"yes": "boolean"}))


def test_dates_turn_in_circles():
    times = pd.to_datetime(["2024-01-01 00:30", "2024-01-01 12:15", "2024-01-02 06:00", None])
    preparer = TablePreparer(cycles=["hour", "weekday"]).fit(pd.DataFrame({"t": times}))
    names = preparer.get_feature_names_out().tolist()
    rows = preparer.transform(pd.DataFrame({"t": times}))
    hour = rows[:, [names.index("t hour x"), names.index("t hour y")]]
    np.testing.assert_allclose(hour[:3] * 2**0.5, [[1, 0], [-1, 0], [0, 1]], atol=1e-12)
    day = rows[:, [names.index("t weekday x"), names.index("t weekday y")]] * 2**0.5
    angle = 2 * np.pi / 7
    np.testing.assert_allclose(
        day[:3], [[1, 0], [1, 0], [np.cos(angle), np.sin(angle)]], atol=1e-12
    )


def test_ids_and_row_numbers_are_left_out(table):
    frame = table.assign(key=[f"c{i}" for i in range(len(table))], row=np.arange(len(table))[::-1])
    preparer = TablePreparer().fit(frame)
    told = {t.name: t.how for t in preparer.treatments_}
    assert told["key"] == "not used: 120 different texts in 120 rows: ids?"
    assert told["row"] == "not used: numbers the rows"
    assert preparer.preparation_ == TablePreparer().fit(table).preparation_


def test_heavy_tails_are_named_and_logarithms_help():
    rng = np.random.default_rng(0)
    heavy = (1.0 / rng.random(500)) ** 2
    (told,) = TablePreparer().fit(pd.DataFrame({"x": heavy})).treatments_
    assert "heavy tails: try --transform 'log:x'" in told.how
    preparer = TablePreparer(log=["x"], scale=None).fit(pd.DataFrame({"x": heavy}))
    assert "tails" not in preparer.treatments_[0].how
    rows = preparer.transform(pd.DataFrame({"x": heavy}))[:, 0]
    np.testing.assert_allclose(rows, np.log1p(heavy), rtol=1e-14)


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ({"x": [None, None]}, {}, "no numeric column"),
        ({"x": [1, "a", 2]}, {}, "column x of X mixes types: row 1 .* has 'a'"),
        ({"x": ["2024-01-01", "May"]}, {"dates": ["x"]}, "has 'May' in row 1"),
        ({"x": [1.0, -2.0]}, {"log": ["x"]}, "has -2.0 in row 1"),
        ({"x": ["a", "b"]}, {"log": ["x"]}, "holds no numbers"),
        ({"x": [1.0, np.inf]}, {}, "column x of X has 1 infinite value, the first in row 1"),
        ({"x": [1.0]}, {"ignore": ["y"]}, "no column 'y'"),
        ({"x": [1.0]}, {"scale": "deviation"}, "scale must be one of"),
        ({"x": [f"t{i}" for i in range(20_000)]}, {"categories": ["x"]},
         r"column x has 20,000 or more categories; expected at most 10,000, which row 10000 \(from 0\)"),
        ({"x": ["a", None, *(f"t{i // 2}" for i in range(30_000))]}, {"categories": ["x"]},
         "10,000, which row 20000 "),
    ],
)  # fmt: skip
def test_bad_columns_are_named(columns, options, told):
    with pytest.raises(ValueError, match=told):
        TablePreparer(**options).fit(pd.DataFrame(columns))


def test_a_pipeline_is_measured_with_its_preparation(table):
    pipeline = make_pipeline(TablePreparer(), HierarchicalKMedian(3))
    labels = pipeline.fit(table).predict(table)
    assert np.unique(labels).size == 3
    result = average_sensitivity(pipeline, table, 3, delete=[0.05], trials=3, repeats=1, n_jobs=1)
    assert 0.0 <= result.mean.item() <= 1.0


def test_it_is_an_estimator_of_scikit_learn():
    check_estimator(TablePreparer())


def test_frames_of_the_other_byte_order_are_read():
    rows = np.arange(12.0).reshape(6, 2)
    other = pd.DataFrame(rows.astype(">f8"))
    labels = HierarchicalKMedian(2).fit(other).labels_
    np.testing.assert_array_equal(labels, HierarchicalKMedian(2).fit(rows).labels_)
    np.testing.assert_array_equal(
        TablePreparer().fit_transform(other), TablePreparer().fit_transform(rows)
    )


def test_categories_of_polars_are_those_of_pandas():
    pl = pytest.importorskip("polars")
    towns = 3 * ["Ulm", "Bern", "Ulm", None, "Rom"]
    frame = pd.DataFrame({"size": np.arange(15.0) ** 2, "town": pd.Categorical(towns)})
    other = pl.DataFrame({"size": frame["size"].to_list(), "town": towns})
    for kind in (pl.Categorical, pl.String):
        given = other.with_columns(pl.col("town").cast(kind))
        np.testing.assert_array_equal(
            TablePreparer().fit_transform(given), TablePreparer().fit_transform(frame)
        )


def test_text_of_polars_is_that_of_pandas():
    pl = pytest.importorskip("polars")
    for text in (["1", "2", "x"], ["2024-01-01", "2024-03-01", "2024-09-01"]):
        column, options = 4 * text, {"dates": ["a"]} if "x" not in text else {}
        given = [TablePreparer(**options).fit_transform(kind({"a": column, "b": np.arange(12.0)}))
                 for kind in (pl.DataFrame, pd.DataFrame)]  # fmt: skip
        np.testing.assert_array_equal(*given)


def test_a_missing_integer_of_pandas_is_named():
    for missing in (pd.array([1, 2, None, 4], dtype="Int64"), [1, 2, pd.NA, 4]):
        frame = pd.DataFrame({"a": missing, "b": np.arange(4.0)})
        with pytest.raises(ValueError, match="contains NaN in row 2, column a"):
            HierarchicalKMedian(2).fit(frame)


def test_errors_say_where_and_what_to_do_in_python():
    gaps = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, None, 2.0]})
    with pytest.raises(
        ValueError, match=r'first in row 1 .* missing="indicate" or missing="median"'
    ):
        TablePreparer(missing="error").fit_transform(gaps)
    with pytest.raises(ValueError, match=r"no categories; it has x \(empty\)"):
        TablePreparer().fit(pd.DataFrame({"x": [None, None, None]}, dtype=float))
    with pytest.raises(
        ValueError, match=r"contains NaN in row 1, column b; .*TablePreparer fills gaps"
    ):
        HierarchicalKMedian(2).fit(gaps)
    with pytest.raises(ValueError, match=r"contains infinity in row 2, column 0;"):
        HierarchicalKMedian(2).fit([[1.0], [2.0], [np.inf]])
    with pytest.raises(ValueError, match=r"'x' \(column c\). .*TablePreparer does that"):
        HierarchicalKMedian(2).fit(gaps.assign(b=0.0, c=["x", "y", "z"]))


def test_heavy_tails_are_told_and_light_ones_are_not():
    ranks = np.arange(1.0, 400.0)
    light, heavy = ranks / (400.0 - ranks) ** 0.2, 1.0 / (1.0 - ranks / 400.0) ** 2
    said = TablePreparer().fit(pd.DataFrame({"light": light, "heavy": heavy})).treatments_
    assert "heavy tails" not in said[0].how
    assert "heavy tails: try --transform 'log:heavy'" in said[1].how
