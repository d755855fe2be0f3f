"""What was chosen at the fit is repeated for new rows; models are cut without fitting again."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from holdfast import load


@pytest.fixture
def model(holdfast, people):
    done = holdfast(
        "fit", people, "--id", "id", "--ignore", "count,town", "-k", "3,6", "--model", "m.holdfast",
        "-o", "labels.csv",
    )  # fmt: skip
    assert done.code == 0, done.err
    return people.with_name("m.holdfast")


def columns_of(path):
    return pa.csv.read_csv(path).to_pydict()


def test_rows_of_the_fit_keep_their_labels(holdfast, people, model):
    done = holdfast("predict", model, people, "-o", "predicted.csv")
    assert done.code == 0, done.err
    labels, predicted = columns_of("labels.csv"), columns_of("predicted.csv")
    assert list(predicted) == ["id", "cluster_3", "cluster_6"]
    for name, values in predicted.items():
        assert values == labels[name]
    assert "ignoring columns that the model does not use: town, count" in done.err


def test_columns_are_found_by_name_in_any_order(holdfast, people, model):
    table = pa.csv.read_csv(people)
    pa.csv.write_csv(table.select(["width", "id", "height"]), "turned.csv")
    done = holdfast("predict", model, "turned.csv", "-k", 6, "--json")
    assert json.loads(done.out)["rows"]["cluster_6"] == columns_of("labels.csv")["cluster_6"]
    assert done.err == ""
    np.save("bare.npy", np.column_stack([table.column(n).to_numpy() for n in ("height", "width")]))
    bare = holdfast("predict", model, "bare.npy", "-k", 6, "--json")
    assert json.loads(bare.out)["rows"]["cluster_6"] == columns_of("labels.csv")["cluster_6"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,height\na,1\n", "lacks 1 of the 2 columns that the model needs: width"),
        ("height,width\n1,tall\n", "column width of new.csv is not numeric: text"),
        ("height,width\n1,1e999\n", "infinite"),
    ],
)
def test_wrong_tables_are_told(holdfast, model, folder, text, told):
    (folder / "new.csv").write_text(text)
    done = holdfast("predict", model, "new.csv")
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_gaps_are_filled_as_at_the_fit(holdfast, people, folder):
    table = "a,b\n1,1\n2,\n3,30\n4,40\n"
    (folder / "t.csv").write_text(table)
    holdfast("fit", "t.csv", "--impute", "median", "-k", 2, "--model", "f.holdfast", "-o", "l.csv")
    assert load("f.holdfast").table_.preparation.fill == (2.5, 30.0)
    (folder / "new.csv").write_text("a,b\n,30\n2.5,\n2.5,30\n")
    done = holdfast("predict", "f.holdfast", "new.csv", "-k", 4, "--json")
    assert len(set(json.loads(done.out)["rows"]["cluster_4"])) == 1
    holdfast("fit", "t.csv", "--drop-missing", "-k", 2, "--model", "d.holdfast", "-o", "m.csv")
    dropped = holdfast("predict", "d.holdfast", "new.csv", "--json")
    assert [v is None for v in json.loads(dropped.out)["rows"]["cluster_2"]] == [True, True, False]


def test_marks_are_told_only_where_the_fit_has_them(holdfast, folder):
    (folder / "full.csv").write_text("a,b\n1,1\n2,20\n3,30\n4,40\n")
    (folder / "gaps.csv").write_text("a,b\n1,1\n2,20\n3,30\n4,\n")
    holdfast("fit", "full.csv", "-k", 2, "--model", "f.holdfast", "-o", "l.csv")
    told = holdfast("predict", "f.holdfast", "gaps.csv").err
    assert "filled with the median of their column (b 1)" in told
    told = holdfast("fit", "gaps.csv", "-k", 2).err
    assert "filled with the median of their column and marked in columns of their own (b 1)" in told


def test_cut_gives_any_number_of_clusters(holdfast, model):
    done = holdfast("cut", model, "-k", "6,60", "--json")
    record = json.loads(done.out)
    hierarchy = load(model).hierarchy_
    assert record["rows"]["cluster_6"] == columns_of("labels.csv")["cluster_6"]
    assert record["rows"]["cluster_60"] == hierarchy.cut(60).tolist()
    assert record["rows"]["id"] == columns_of("labels.csv")["id"]
    assert [cut["k"] for cut in record["cuts"]] == [6, 60]
    far = holdfast("cut", model, "-k", 61)
    assert far.code == 2
    assert "has at most 60 clusters" in far.err


def test_a_model_keeps_its_rows_unless_told_not_to(holdfast, people, model):
    stored = load(model)
    values = pa.csv.read_csv(people)
    expected = load(model).table_.preparation.apply(
        np.column_stack([values.column(n).to_numpy() for n in ("height", "width")])
    )
    np.testing.assert_array_equal(stored.rows_, expected)
    assert stored.row_weights_.sum() == 60
    done = holdfast(
        "fit", people, "--id", "id", "--ignore", "count,town", "-k", 3, "--model", "n.holdfast",
        "--no-rows", "-o", "n.csv",
    )  # fmt: skip
    assert done.code == 0
    assert "_held" not in vars(load("n.holdfast"))
    np.testing.assert_array_equal(
        load("n.holdfast").hierarchy_.finest, load(model).hierarchy_.finest
    )


@pytest.mark.parametrize("damage", [b"", b"not a model", "cut", "flip"])
def test_damaged_models_are_told(holdfast, model, damage):
    whole = model.read_bytes()
    if damage == "cut":
        model.write_bytes(whole[: len(whole) // 2])
    elif damage == "flip":
        changed = bytearray(whole)
        changed[len(whole) // 3] ^= 1
        model.write_bytes(bytes(changed))
    else:
        model.write_bytes(damage)
    done = holdfast("cut", model, "-k", 2)
    assert (done.code, done.out) == (2, "")
    assert "cannot be loaded" in done.err


def test_a_table_is_not_a_model(holdfast, people, model):
    assert holdfast("cut", people, "-k", 2).code == 2
    assert "there is no file" in holdfast("cut", "nothing.holdfast", "-k", 2).err
    assert "is a folder" in holdfast("cut", ".", "-k", 2).err


def test_rules_are_in_the_units_of_the_table(holdfast, people, model):
    done = holdfast("explain", model, "--splits", "--json")
    assert done.code == 0, done.err
    rules = json.loads(done.out)["rules"]
    assert [r["cluster"] for r in rules if r["number"] == 1] == [0, 1, 2, 1, 2]
    table, labels = pa.csv.read_csv(people), np.array(columns_of("labels.csv")["cluster_3"])
    values = {name: table.column(name).to_numpy() for name in ("height", "width")}
    for rule in (r for r in rules if r["kind"] == "cluster"):
        met = np.ones(labels.size, dtype=bool)
        for condition in filter(None, rule["rule"].split(" and ")):
            met &= eval(condition, {}, values)  # such as height > 3.5
        inside = labels == rule["cluster"]
        assert rule["coverage"] == pytest.approx((met & inside).sum() / inside.sum())
        assert rule["others"] == pytest.approx((met & ~inside).sum() / (~inside).sum())
    shown = holdfast("explain", model, "-k", 3)
    assert shown.code == 0
    assert rules[1]["rule"] in shown.out


def test_a_row_is_explained_by_its_id(holdfast, model):
    labels = columns_of("labels.csv")
    name = str(labels["id"][4])
    done = holdfast("explain", model, "-k", 6, "--row", name, "--json")
    found = json.loads(done.out)
    assert found["cluster"] == labels["cluster_6"][4]
    assert min(b["distance"] for b in found["boundaries"]) > 0.0
    assert f"row {name} is in cluster" in holdfast("explain", model, "--row", name).out
    for arguments, told in [
        (("--row", "nobody"), "no row with the id nobody"),
        (("-k", "2,3"), "--clusters takes one number"),
        (("-k", "9999"), "has at most"),
    ]:
        refused = holdfast("explain", model, *arguments)
        assert (refused.code, refused.out) == (2, "")
        assert told in refused.err
