"""``--chunked``: the same as without it, from files that are read in parts."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import holdfast as library
from holdfast import load


@pytest.fixture
def table(folder):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(500, 3)) * [1.0, 30.0, 0.01], columns=["a", "b", "c"])
    frame["word"] = "x"
    frame.to_parquet(folder / "rows.parquet", row_group_size=64)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_feather(folder / "rows.feather")
    return frame


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.feather"])
@pytest.mark.parametrize("out", ["found.csv", "found.parquet", "found.feather"])
def test_chunked_fit_gives_the_labels_of_a_fit(name, out, holdfast, table):
    done = holdfast("fit", name, "-k", "3,7", "-o", "expected.csv")
    assert done.code == 0, done.err
    done = holdfast("fit", name, "-k", "3,7", "--chunked", "-o", out, "--model", "m.holdfast")
    assert done.code == 0, done.err
    assert "ignoring columns: word (one value only)" in done.err
    expected = pd.read_csv("expected.csv")
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "feather": pd.read_feather}
    found = read[out.partition(".")[2]](out)
    for column in ("row", "cluster_3", "cluster_7"):
        np.testing.assert_array_equal(found[column], expected[column])
    done = holdfast("predict", "m.holdfast", name, "--chunked", "-o", "again.csv", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["n_rows"] == 500
    again = pd.read_csv("again.csv")
    np.testing.assert_array_equal(again["cluster_7"], expected["cluster_7"])


def test_chunked_model_is_the_model_of_a_fit(holdfast, table):
    for extra, model in (([], "whole.holdfast"), (["--chunked"], "parts.holdfast")):
        done = holdfast("fit", "rows.parquet", "-k", "4", "-o", f"{model}.csv", "--model", model,
                        "--quiet", *extra)  # fmt: skip
        assert done.code == 0, done.err
    done = holdfast("diff", "whole.holdfast", "parts.holdfast")
    assert "0 of the 500 rows in both (0.0%)" in done.out
    whole, parts = load("whole.holdfast"), load("parts.holdfast")
    assert whole.table_.preparation == parts.table_.preparation
    np.testing.assert_array_equal(whole.hierarchy_.costs, parts.hierarchy_.costs)
    done = holdfast("fit", "rows.csv", "-k", "4", "--like", "parts.holdfast", "--chunked", "-o",
                    "like.csv", "--quiet")  # fmt: skip
    assert done.code == 0, done.err


def test_capped_model_leaves_its_rows_out(holdfast, table, monkeypatch):
    monkeypatch.setattr(library.fit_chunks, "__kwdefaults__",
                        {**library.fit_chunks.__kwdefaults__, "max_cells": 50})  # fmt: skip
    done = holdfast("fit", "rows.parquet", "-k", "4", "--chunked", "-o", "l.csv", "--model", "m")
    assert done.code == 0, done.err
    assert "cells of the grid represent" in done.err
    assert "_held" not in vars(load("m"))


def test_columns_are_chosen(holdfast, table):
    for extra in (["--columns", "a,b"], ["--drop", "c"]):
        done = holdfast("fit", "rows.csv", "-k", "3", "--chunked", *extra, "-o", "x.csv", "--model",
                        "m", "--force", "--quiet", "--no-standardize")  # fmt: skip
        assert done.code == 0, done.err
        preparation = load("m").table_.preparation
        assert (preparation.columns, preparation.scale) == (("a", "b"), None)


def test_what_does_not_go_in_parts_is_named(holdfast, table, folder):
    (folder / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (folder / "words.csv").write_text("a\nx\n")
    (folder / "half.csv").write_text("a,w\n1,0.5\n2,1\n")
    for arguments, message in (
        (["half.csv", "-o", "l.csv", "-k", "1", "--weights", "w"], "must be integers"),
        (["rows.csv", "-o", "l.csv", "--linkage", "z.npy"], "--linkage"),
        (["rows.csv"], "--out"),
        (["rows.csv", "-o", "l.npy"], "--out"),
        (["-", "-o", "l.csv"], "not standard input"),
        (["nothing.csv", "-o", "l.csv"], "nothing.csv"),
        (["rows.csv", "-o", "l.csv", "--columns", "z"], "'z'"),
        (["rows.csv", "-o", "l.csv", "--drop", "z"], "z"),
        (["rows.csv", "-o", "l.csv", "--strict"], "word"),
        (["gap.csv", "-o", "l.csv", "-k", "1", "--strict"], "row 1"),
        (["words.csv", "-o", "l.csv", "-k", "1"], "no numeric column"),
    ):
        done = holdfast("fit", *arguments, "--chunked")
        assert done.code == 2, (arguments, done.err)
        assert message in done.err
        assert not (folder / "l.csv").exists()


def fit_both_ways(holdfast, name, *options):
    """Labels of a fit at once and in parts."""
    tables = []
    for extra, out in (([], "whole.csv"), (["--chunked"], "parts.csv")):
        done = holdfast("fit", name, "-k", "3", *options, *extra, "-o", out, "--force", "--quiet")
        assert done.code == 0, done.err
        tables.append(pd.read_csv(out))
    whole, parts = tables
    return whole.drop(columns="center_from"), parts


def test_the_format_of_a_text_file_counts_in_parts_too(holdfast, table, folder):
    """--separator, --decimal, --encoding and --no-header were ignored once."""
    frame = table.drop(columns="word").rename(columns={"a": "größe"})
    frame.to_csv(folder / "odd.csv", sep=";", decimal=",", encoding="latin-1", index=False)
    form = ("--separator", ";", "--decimal", ",", "--encoding", "latin-1")
    pd.testing.assert_frame_equal(*fit_both_ways(holdfast, "odd.csv", *form))
    frame.to_csv(folder / "bare.tsv", sep="\t", header=False, index=False)
    whole, parts = fit_both_ways(holdfast, "bare.tsv", "--no-header")
    assert len(parts) == 500
    pd.testing.assert_frame_equal(whole, parts)
    pd.testing.assert_frame_equal(*fit_both_ways(holdfast, "odd.csv", *form[4:]))
    done = holdfast("fit", "odd.csv", "--chunked", "-o", "x.csv", *form[:4])
    assert done.code == 2
    assert "--encoding latin-1" in done.err


def test_large_values_are_standardized_in_parts_too(holdfast, folder):
    """Squares of values above 1e154 overflowed once."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)) * [1e200, 1e-200], columns=["a", "b"])
    frame.to_parquet(folder / "large.parquet")
    whole, parts = fit_both_ways(holdfast, "large.parquet", "--model", "m.holdfast")
    pd.testing.assert_frame_equal(whole, parts)
    scale = np.array(load("m.holdfast").table_.preparation.scale)
    assert np.isfinite(scale).all()
    assert (0.5 < scale / [1e200, 1e-200]).all()
    assert (scale / [1e200, 1e-200] < 2.0).all()


def test_a_notice_about_the_first_part_says_so_and_comes_once(holdfast, table, folder, monkeypatch):
    table.loc[table.index % 5 == 0, "a"] = np.nan
    table.to_csv(folder / "gaps.csv", index=False)
    monkeypatch.setattr("holdfast.tables.text._BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("holdfast.tables.text._SMALL_BLOCK", 1 << 12)
    done = holdfast("fit", "gaps.csv", "-k", 3, "--chunked", "-o", "labels.csv")
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if "missing in" in line]
    assert line.startswith("holdfast: of the first "), line


def test_ids_weights_and_gaps_go_in_parts_too(holdfast, table, folder):
    frame = table.assign(word=[f"row {i}" for i in range(500)], w=np.arange(500) % 4)
    frame.loc[frame.index % 50 == 7, "b"] = np.nan
    frame.to_csv(folder / "all.csv", index=False)
    options = ("--id", "word", "--weights", "w", "--drop-missing")
    whole, parts = fit_both_ways(holdfast, "all.csv", *options)
    assert parts["cluster_3"].isna().sum() == 10
    pd.testing.assert_frame_equal(whole, parts)


@pytest.fixture
def late(folder, monkeypatch):
    """A file in many parts whose columns show late what they hold."""
    monkeypatch.setattr("holdfast.tables.text._BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr("holdfast.tables.text._SMALL_BLOCK", 1 << 10)
    lines = [f"{i % 13},{i % 7},,{i % 5},{'yes' if i % 3 else 'no'},{i % 2}" for i in range(2000)]
    lines[1234] = "1.5,oops,0.25,3,no,true"
    lines[1500] = "1.5,1,7,3,no,false"
    (folder / "late.csv").write_text("a,b,c,d,e,f\n" + "\n".join(lines) + "\n")
    return "late.csv"


def test_all_values_decide_what_a_column_holds(holdfast, late):
    """A column without values in the first part was left out; a late word was an error."""
    columns = []
    for extra in ([], ["--chunked"]):
        done = holdfast("fit", late, "-k", "3", *extra, "-o", "l.csv", "--model", "m", "--force",
                        "--drop", "c")  # fmt: skip
        assert done.code == 0, done.err
        assert "b (text" in done.err
        columns.append(load("m").table_.preparation)
    assert columns[0] == columns[1]
    assert columns[0].columns == ("a", "d", "e=no", "e=yes", "f")
    done = holdfast("fit", late, "-k", "2", "--chunked", "--drop-missing", "-o", "l.csv", "--model",
                    "m", "--force", "--columns", "c,a")  # fmt: skip
    assert done.code == 0, done.err
    assert load("m").table_.preparation.columns == ("c", "a")


def test_a_wrong_value_is_told_by_its_row_in_the_file(holdfast, late, folder):
    lines = (folder / late).read_text().splitlines()
    lines[1801] = "inf,1,7,3,no,false"  # after the header
    (folder / late).write_text("\n".join(lines) + "\n")
    done = holdfast("fit", late, "-k", "3", "--chunked", "-o", "l.csv", "--drop", "b,c")
    assert done.code == 2
    assert "column a of late.csv has 1 infinite value, the first in row 1,800 (from 0)" in done.err


def test_decimals_booleans_and_empty_columns_of_parquet(holdfast, folder):
    rng = np.random.default_rng(2)
    n = 300
    cents = [Decimal(int(c)) / 100 for c in rng.integers(0, 10_000, n)]
    empty = [None] * 200 + [float(x) for x in rng.normal(size=100)]
    frame = pa.table({"price": cents, "old": rng.integers(0, 2, n) == 1, "late": empty,
                      "x": rng.normal(size=n)})  # fmt: skip
    pq.write_table(frame, folder / "odd.parquet", row_group_size=50)
    whole, parts = fit_both_ways(holdfast, "odd.parquet", "--drop-missing")
    pd.testing.assert_frame_equal(whole, parts)
    assert holdfast("fit", "odd.parquet", "--drop-missing", "--chunked", "-o", "l.csv", "--model",
                    "m", "-q").code == 0  # fmt: skip
    assert load("m").table_.preparation.columns == ("price", "old", "late", "x")


def test_columns_of_the_same_name_are_refused(holdfast, folder):
    twice = pa.table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"])
    pq.write_table(twice, folder / "twice.parquet")
    for extra in ([], ["--chunked"]):
        done = holdfast("fit", "twice.parquet", "-k", "2", "-o", "l.csv", *extra)
        assert done.code == 2
        assert "several columns with the same name: a" in done.err


def test_more_clusters_than_distinct_rows_are_announced(holdfast, folder):
    (folder / "few.csv").write_text("a,b\n" + "1,2\n3,4\n1,2\n5,6\n" * 5)
    tables = []
    for extra in ([], ["--chunked"]):
        done = holdfast("fit", "few.csv", "-k", "2,8", *extra, "-o", "l.csv", "--force")
        assert done.code == 0, done.err
        assert "3 of the 20 rows are distinct" in done.err
        assert "3 instead of 8" in done.err
        tables.append(pd.read_csv("l.csv")[["row", "cluster_2", "cluster_3"]])
    pd.testing.assert_frame_equal(*tables)
