"""``holdfast fit`` gives what the library gives, one row out for each row in."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy.cluster.hierarchy import is_valid_linkage

from holdfast import HierarchicalKMedian, k_median_cost, load
from holdfast.tables.summary import Distinct, core_deviation

USE = ("--id", "id", "--columns", "height,width")


def rows_of(path):
    return pa.csv.read_csv(path)


def matrix_of(path, *names):
    table = rows_of(path)
    return np.column_stack([table.column(name).to_numpy() for name in names])


def test_labels_are_those_of_the_library(holdfast, people):
    done = holdfast("fit", people, *USE, "-k", "3,5", "--no-standardize", "-o", "labels.csv")
    assert done.code == 0, done.err
    model = HierarchicalKMedian(5).fit(matrix_of(people, "height", "width"))
    labels = rows_of("labels.csv")
    assert labels.column_names == ["id", "cluster_3", "cluster_5", "center_from"]
    assert labels.column("id").to_pylist() == [f"p{i}" for i in range(60)]
    for k in (3, 5):
        np.testing.assert_array_equal(
            labels.column(f"cluster_{k}").to_numpy(), model.hierarchy_.cut(k)
        )
    marked = labels.column("center_from").to_pylist()
    assert [marked.index(t) for t in range(1, 6)] == model.hierarchy_.center_indices[:5].tolist()
    assert sum(mark is not None for mark in marked) == 5


def test_options_reach_the_estimator(holdfast, people):
    done = holdfast(
        "fit", people, *USE, "-k", 4, "--no-standardize", "--method", "medoids", "--epsilon", 0.3,
        "--seed", 7, "--weights", "count", "--json",
    )  # fmt: skip
    record = json.loads(done.out)
    model = HierarchicalKMedian(4, method="medoids", epsilon=0.3, random_state=7)
    model.fit(
        matrix_of(people, "height", "width"), sample_weight=matrix_of(people, "count").ravel()
    )
    assert record["rows"]["cluster_4"] == model.labels_.tolist()
    weight = model.row_weights_
    cost, one = (k_median_cost(model.rows_, model.hierarchy_.cut(k), weight) for k in (4, 1))
    assert record["cuts"] == [
        {
            "k": 4,
            "cost": pytest.approx(cost),
            "cost_of_one": pytest.approx(cost / one),
            "sizes": model.hierarchy_.sizes(4).tolist(),
            "centers": [f"p{i}" for i in model.center_indices_],
            "names": [0, 1, 2, 3],
        }
    ]
    assert (record["epsilon"], record["method"], record["seed"]) == (0.3, "medoids", model.seed_)
    assert record["command"] == "fit"
    assert record["format"] == 1


def test_standardize_divides_by_the_deviation_of_the_core_and_says_so(holdfast, people):
    done = holdfast("fit", people, *USE, "-k", 3, "--json")
    scale = json.loads(done.out)["preparation"]["scale"]
    columns = matrix_of(people, "height", "width").T
    assert scale == [core_deviation(Distinct.of(np.ascontiguousarray(c))) for c in columns]
    assert "divided by a robust standard deviation" in done.err
    again = holdfast("fit", people, *USE, "-k", 3, "--json", "--no-standardize")
    assert json.loads(again.out)["preparation"]["scale"] is None
    assert "not scaled" in again.err


def test_text_columns_are_categories_or_refused(holdfast, people):
    done = holdfast("fit", people, "-k", 3, "--json")
    columns = ["town=Bern", "town=Ulm", "height", "width", "count"]
    assert json.loads(done.out)["preparation"]["columns"] == columns
    assert "ignoring columns: id (60 different texts in 60 rows: ids?)" in done.err
    strict = holdfast("fit", people, "-k", 3, "--strict", "--id", "id")
    assert (strict.code, strict.out) == (2, "")
    assert "town (text)" in strict.err
    named = holdfast("fit", people, "-k", 3, "--columns", "id,height")
    assert named.code == 2


def test_rows_are_numbered_without_an_id(holdfast, people):
    done = holdfast("fit", people, "--columns", "height", "--quiet", "-k", 2)
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "row,cluster_2,center_from"
    assert [line.split(",")[0] for line in lines[1:]] == [str(i) for i in range(60)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "npy"])
def test_every_kind_of_file_is_read_and_written(holdfast, people, ending):
    table = rows_of(people).select(["height", "width"])
    given = people.with_name(f"given.{ending}")
    if ending == "csv":
        pa.csv.write_csv(table, given)
    elif ending == "tsv":
        pa.csv.write_csv(table, given, pa.csv.WriteOptions(delimiter="\t"))
    elif ending == "parquet":
        pa.parquet.write_table(table, given)
    elif ending == "npy":
        np.save(given, matrix_of(people, "height", "width"))
    else:
        pa.feather.write_feather(table, given)
    expected = holdfast("fit", people, "--columns", "height,width", "-k", "2,3", "--quiet").out
    done = holdfast("fit", given, "-k", "2,3", "-o", f"labels.{ending}", "--quiet")
    assert done.code == 0, done.err
    piped = holdfast("fit", "-", "-k", "2,3", "--quiet", stdin=given.read_bytes())
    assert piped.out == expected
    readers = {
        "csv": rows_of,
        "tsv": lambda p: pa.csv.read_csv(p, parse_options=pa.csv.ParseOptions(delimiter="\t")),
        "parquet": pa.parquet.read_table,
    }
    if ending == "npy":
        labels = np.load("labels.npy")
        assert labels.shape == (60, 2)
        written = [",".join(map(str, row)) for row in labels]
        assert written == [",".join(line.split(",")[1:3]) for line in expected.splitlines()[1:]]
    else:
        written = readers.get(ending, pa.feather.read_table)(f"labels.{ending}")
        assert written.to_pydict() == rows_of(pa.BufferReader(expected.encode())).to_pydict()


GAPS = "id,a,b\nx,1,5\ny,,6\nz,3,\nu,4,8\nv,2,7\n"


def test_missing_values_are_counted_and_two_ways_out_told(holdfast, folder):
    (folder / "gaps.csv").write_text(GAPS)
    done = holdfast("fit", "gaps.csv", "--id", "id", "-k", 2, "--strict")
    assert (done.code, done.out) == (2, "")
    assert "2 values missing in 2 rows of 5 (by column: a 1, b 1)" in done.err
    assert "--drop-missing" in done.err
    assert "--impute median" in done.err


def test_rows_with_gaps_are_left_out_or_filled(holdfast, folder):
    (folder / "gaps.csv").write_text(GAPS)
    use = ("fit", "gaps.csv", "--id", "id", "-k", 2, "--json")
    dropped = json.loads(holdfast(*use, "--drop-missing").out)
    assert dropped["rows"]["id"] == ["x", "y", "z", "u", "v"]
    assert [label is None for label in dropped["rows"]["cluster_2"]] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert (dropped["n_rows"], dropped["n_used"]) == (5, 3)
    filled = json.loads(holdfast(*use, "--impute", "median").out)
    assert filled["preparation"]["fill"] == [2.5, 6.5]
    assert None not in filled["rows"]["cluster_2"]


def test_linkage_is_valid_and_cuts_the_same(holdfast, people):
    done = holdfast("fit", people, *USE, "-k", 3, "--linkage", "z.npy", "-o", "labels.csv")
    assert done.code == 0, done.err
    merges = np.load("z.npy")
    assert is_valid_linkage(merges)
    assert merges.shape == (59, 4)
    model = holdfast("fit", people, *USE, "-k", 3, "--model", "m.holdfast", "-o", "more.csv")
    assert model.code == 0
    np.testing.assert_array_equal(merges, load("m.holdfast").hierarchy_.linkage())


def test_like_repeats_the_preparation(holdfast, people):
    holdfast("fit", people, *USE, "-k", 3, "--model", "m.holdfast", "-o", "labels.csv")
    part = people.with_name("part.csv")
    part.write_text("".join(people.read_text().splitlines(keepends=True)[:31]))
    alone = json.loads(holdfast("fit", part, *USE, "-k", 3, "--json").out)
    like = json.loads(
        holdfast("fit", part, "--id", "id", "-k", 3, "--like", "m.holdfast", "--json").out
    )
    stored = load("m.holdfast").table_.preparation
    assert like["preparation"] == stored.to_json()
    assert alone["preparation"] != like["preparation"]
    both = holdfast("fit", part, *USE, "-k", 3, "--like", "m.holdfast")
    assert both.code == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["-k", "0"], "--clusters must be positive"),
        (["-k", "4,x"], "--clusters must be positive"),
        (["-k", "61"], "61 clusters of 60 rows"),
        (["--epsilon", "-1"], "--epsilon must be"),
        (["--method", "ward"], "--method must be"),
        (["--seed", "-1"], "--seed must be"),
        (["--columns", "hight"], "no column 'hight'; it has id, town, height"),
        (["--columns", "height", "--drop", "width"], "not both"),
        (["--impute", "mean"], "must be median"),
        (["--weights", "town"], "not numeric"),
        (["--max-centers", "2"], "at least 8"),
        (["--out", "labels.xlsx"], "name must end in one of .csv"),
        (["--out", "nowhere/labels.csv"], "there is no folder"),
        (["--linkage", "z.csv"], "name must end in one of .npy"),
        (["--out", "people.csv"], "also uses"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_wrong_use_is_told_in_a_line_with_code_2(holdfast, people, wrong, told):
    done = holdfast("fit", "people.csv", *wrong)
    assert done.code == 2
    assert done.out == ""
    assert told in " ".join(done.err.split())
    assert "Traceback" not in done.err
