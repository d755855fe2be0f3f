"""``--chunked``: the same as without it, from files that are read in parts."""

import json

import numpy as np
import pandas as pd
import pytest

import holdfast as library


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
    assert "left out, not numeric: word" in done.err
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
    whole, parts = library.load("whole.holdfast"), library.load("parts.holdfast")
    assert whole.preparation == parts.preparation
    np.testing.assert_array_equal(whole.hierarchy.costs, parts.hierarchy.costs)
    done = holdfast("fit", "rows.csv", "-k", "4", "--like", "parts.holdfast", "--chunked", "-o",
                    "like.csv", "--quiet")  # fmt: skip
    assert done.code == 0, done.err


def test_capped_model_leaves_its_rows_out(holdfast, table, monkeypatch):
    monkeypatch.setattr(library.fit_chunks, "__kwdefaults__",
                        {**library.fit_chunks.__kwdefaults__, "max_cells": 50})  # fmt: skip
    done = holdfast("fit", "rows.parquet", "-k", "4", "--chunked", "-o", "l.csv", "--model", "m")
    assert done.code == 0, done.err
    assert "cells of the grid stand for" in done.err
    assert library.load("m").stored is None


def test_columns_are_chosen(holdfast, table):
    for extra in (["--columns", "a,b"], ["--drop", "c"]):
        done = holdfast("fit", "rows.csv", "-k", "3", "--chunked", *extra, "-o", "x.csv", "--model",
                        "m", "--force", "--quiet", "--no-standardize")  # fmt: skip
        assert done.code == 0, done.err
        preparation = library.load("m").preparation
        assert (preparation.columns, preparation.scale) == (("a", "b"), None)


def test_what_does_not_go_in_parts_is_named(holdfast, table, folder):
    (folder / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (folder / "words.csv").write_text("a\nx\n")
    for arguments, message in (
        (["rows.csv", "-o", "l.csv", "--id", "word"], "--id"),
        (["rows.csv", "-o", "l.csv", "--weights", "a"], "--weights"),
        (["rows.csv", "-o", "l.csv", "--impute", "median"], "--impute"),
        (["rows.csv"], "--out"),
        (["rows.csv", "-o", "l.npy"], "--out"),
        (["-", "-o", "l.csv"], "reads"),
        (["nothing.csv", "-o", "l.csv"], "nothing.csv"),
        (["rows.csv", "-o", "l.csv", "--columns", "z"], "'z'"),
        (["rows.csv", "-o", "l.csv", "--drop", "z"], "z"),
        (["rows.csv", "-o", "l.csv", "--strict"], "word"),
        (["gap.csv", "-o", "l.csv", "-k", "1"], "row 1"),
        (["words.csv", "-o", "l.csv", "-k", "1"], "no numeric columns"),
    ):
        done = holdfast("fit", *arguments, "--chunked")
        assert done.code == 2, (arguments, done.err)
        assert message in done.err
        assert not (folder / "l.csv").exists()
