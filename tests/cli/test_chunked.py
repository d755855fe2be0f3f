"""``--chunked``: the same as without it, from files that are read in parts."""

import json

import numpy as np
import pandas as pd
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
    assert "ignoring columns that are not numeric: word" in done.err
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
    assert "cells of the grid stand for" in done.err
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
        (["rows.csv", "-o", "l.csv", "--impute", "median"], "--impute"),
        (["rows.csv"], "--out"),
        (["rows.csv", "-o", "l.npy"], "--out"),
        (["-", "-o", "l.csv"], "not standard input"),
        (["nothing.csv", "-o", "l.csv"], "nothing.csv"),
        (["rows.csv", "-o", "l.csv", "--columns", "z"], "'z'"),
        (["rows.csv", "-o", "l.csv", "--drop", "z"], "z"),
        (["rows.csv", "-o", "l.csv", "--strict"], "word"),
        (["gap.csv", "-o", "l.csv", "-k", "1"], "row 1"),
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
    done = holdfast("fit", "odd.csv", "--chunked", "-o", "x.csv")
    assert done.code == 2
    assert "--separator ';'" in done.err
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


def test_ids_weights_and_gaps_go_in_parts_too(holdfast, table, folder):
    frame = table.assign(word=[f"row {i}" for i in range(500)], w=np.arange(500) % 4)
    frame.loc[frame.index % 50 == 7, "b"] = np.nan
    frame.to_csv(folder / "all.csv", index=False)
    options = ("--id", "word", "--weights", "w", "--drop-missing")
    whole, parts = fit_both_ways(holdfast, "all.csv", *options)
    assert parts["cluster_3"].isna().sum() == 10
    pd.testing.assert_frame_equal(whole, parts)


def test_a_number_that_turns_into_text_later_is_named(holdfast, folder, monkeypatch):
    monkeypatch.setattr("holdfast.tables.text._BLOCK_BYTES", 1 << 10)
    lines = [f"{i},{i % 7}" for i in range(2000)]
    lines[1234] = "1.5,oops"
    (folder / "late.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    done = holdfast("fit", "late.csv", "-k", "3", "--chunked", "-o", "l.csv")
    assert done.code == 2, done.err
    assert "line 1236, column 2 has 'oops'; expected a number" in done.err
