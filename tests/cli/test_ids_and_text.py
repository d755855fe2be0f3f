"""Ids come out as they are written; text files are read as people write them."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast import load

ODD_IDS = ["000001", "123456789012345678901234567890", "123456789012345678901234567891", "1.10",
           "NA", "1e3", " x", "true"]  # fmt: skip


@pytest.mark.parametrize("chunked", [[], ["--chunked"]])
def test_ids_are_text_as_written(holdfast, folder, chunked):
    lines = [f"{id},{i % 4},{i}" for i, id in enumerate(ODD_IDS)]
    (folder / "ids.csv").write_text("key,a,b\n" + "\n".join(lines) + "\n")
    done = holdfast(
        "fit", "ids.csv", "--id", "key", "-k", 2, "-o", "l.csv", "--model", "m", *chunked
    )
    assert done.code == 0, done.err
    assert pd.read_csv("l.csv", dtype=str, keep_default_na=False)["key"].tolist() == ODD_IDS
    predicted = holdfast("predict", "m", "ids.csv", "-q")
    assert [line.split(",")[0] for line in predicted.out.splitlines()[1:]] == ODD_IDS
    if not chunked:
        assert load("m").table_.ids.tolist() == ODD_IDS
    matched = holdfast("match", "l.csv", "l.csv", "--id", "key", "-q")
    assert [line.split(",")[0] for line in matched.out.splitlines()[1:]] == ODD_IDS


@pytest.mark.parametrize("chunked", [[], ["--chunked"]])
def test_repeated_and_missing_ids_are_refused(holdfast, folder, chunked):
    (folder / "twice.csv").write_text(
        "key,a\n" + "\n".join(f"{i % 7},{i}" for i in range(9)) + "\n"
    )
    done = holdfast("fit", "twice.csv", "--id", "key", "-k", 2, "-o", "l.csv", *chunked)
    assert done.code == 2
    assert "column key of twice.csv cannot be --id: rows 0 and 7 (from 0) have the same" in done.err
    assert "Repeated ids in all: 2" in done.err
    (folder / "gap.csv").write_text("key,a\nx,1\n,2\nz,3\n")
    done = holdfast("fit", "gap.csv", "--id", "key", "-k", 2, "-o", "l.csv", *chunked)
    assert done.code == 2
    assert "1 value missing, the first in row 1" in done.err
    assert not (folder / "l.csv").exists()


def test_ids_of_bytes(holdfast, folder):
    for name, ids in (("words", [b"ab", b"cd", b"ef"]), ("bytes", [b"\xff\x00", b"\xfe", b"\xfd"])):
        table = pa.table({"key": pa.array(ids, pa.binary()), "a": [1.0, 2.0, 4.0]})
        pq.write_table(table, folder / f"{name}.parquet")
    words = holdfast("fit", "words.parquet", "--id", "key", "-k", 2, "-q")
    assert [line.split(",")[0] for line in words.out.splitlines()[1:]] == ["ab", "cd", "ef"]
    done = holdfast("fit", "bytes.parquet", "--id", "key", "-k", 2)
    assert done.code == 2
    assert "cannot be --id: it holds binary that is not text" in done.err


def test_empty_files_of_other_kinds_have_no_header(holdfast, folder):
    np.save("none.npy", np.zeros((0, 3)))
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), folder / "none.parquet")
    for name in ("none.npy", "none.parquet"):
        for extra in ([], ["--chunked", "-o", "l.csv"]):
            done = holdfast("fit", name, *extra)
            assert done.code == 2, done.err
            assert "but no rows" in done.err
            assert "header" not in done.err


def test_names_with_commas_newlines_and_blanks(holdfast, folder):
    (folder / "names.csv").write_text('"a,b", c ,"d\ne",f\n' + "1,2,3,4\n5,7,6,8\n9,1,3,0\n")
    for text, expected in (
        ("a,b,c", ["a,b", "c"]),
        ('"a,b",f', ["a,b", "f"]),
        ("c, d\\ne", ["c", "d\ne"]),
        ("a,b", ["a,b"]),
    ):
        done = holdfast("fit", "names.csv", "-k", 2, "--columns", text, "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["preparation"]["columns"] == expected
    done = holdfast("fit", "names.csv", "-k", 2)
    assert '"a,b", c, d\\ne, f' in done.err
    assert all(line.startswith("holdfast: ") for line in done.err.splitlines())


def test_semicolons_and_decimal_commas_are_found(holdfast, folder):
    (folder / "de.csv").write_text('höhe;breite;"ort;land"\n1,5;2;Ulm\n3,25;4;Bern\n0,5;9;Bonn\n')
    done = holdfast("fit", "de.csv", "-k", 2, "--json")
    assert done.code == 0, done.err
    assert "columns are separated by ';' and numbers have decimal commas" in done.err
    assert "höhe" in json.loads(done.out)["preparation"]["columns"]
    (folder / "bars.txt").write_text("a|b\n1.5|2\n3|4\n")
    assert holdfast("fit", "bars.txt", "-k", 2, "-q").code == 0


def test_grouped_digits_and_signs(holdfast, folder):
    (folder / "money.csv").write_text(
        "paid,owed,price,rate,n\n"
        '"1,234","1,234","$1,234.50",12%,1\n"1,234,567","2,345","$20.00",7%,2\n'
        '12,"3,456","-$3.10",9%,4\n'
    )
    done = holdfast("fit", "money.csv", "-k", 2, "--json", "--columns", "paid,n")
    assert done.code == 0, done.err
    profile = json.loads(done.out)["profile"]["means"]["paid"]
    assert sum(profile) > 1000.0
    for name, told in (
        ("owed", "for decimal commas add --decimal ','; grouped digits"),
        ("price", "looks like numbers, but has signs, such as '$1,234.50'"),
        ("rate", "looks like numbers, but has signs, such as '12%'"),
    ):
        done = holdfast("fit", "money.csv", "-k", 2, "--columns", f"{name},n", "--strict")
        assert done.code == 2
        assert told in done.err


def test_a_header_of_more_than_a_megabyte(holdfast, folder):
    n = 2000
    names = ",".join(f"{'a long name ' * 50}{j}" for j in range(n))
    rows = "\n".join(",".join(str((i * j) % 7) for j in range(n)) for i in range(3))
    (folder / "wide.csv").write_text(f"{names}\n{rows}\n")
    assert len(names) > 1 << 20
    done = holdfast("fit", "wide.csv", "-k", 2, "-o", "l.csv", "--json")
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["preparation"]["columns"]) == n
    parts = holdfast("fit", "wide.csv", "-k", 2, "-o", "p.csv", "--chunked")
    assert parts.code == 0, parts.err


@pytest.mark.parametrize("chunked", [[], ["--chunked"]])
def test_append_writes_the_table_with_labels(holdfast, folder, people, chunked):
    text = people.read_text().replace("p7,", "007.10,")
    people.write_text(text)
    use = ("--id", "id", "--columns", "height,width", "-k", 3)
    done = holdfast("fit", people, *use, "--append", "-o", "all.csv", "--model", "m", *chunked)
    assert done.code == 0, done.err
    lines = (folder / "all.csv").read_text().splitlines()
    added = ",cluster_3" if chunked else ",cluster_3,center_from"
    assert lines[0] == text.splitlines()[0] + added
    for written, given in zip(lines, text.splitlines(), strict=True):
        assert written.startswith(given + ",")
    again = holdfast("predict", "m", people, "--append", "-q")
    assert again.out.splitlines()[8].startswith(text.splitlines()[8] + ",")
    twice = holdfast("fit", "all.csv", "--columns", "height", "-k", 3, "--append", "-q")
    assert twice.code == 2
    assert "has a column 'cluster_3' already" in twice.err


def test_the_profile_shows_means_in_units_of_the_table(holdfast, people):
    use = ("--id", "id", "--columns", "height,width", "-k", 3)
    done = holdfast("fit", people, *use, "-o", "l.csv")
    table = pd.read_csv(people).assign(label=pd.read_csv("l.csv")["cluster_3"])
    expected = table.groupby("label")[["height", "width"]].mean()
    assert "Means of the 3 clusters (most different first):" in done.out
    found = json.loads(holdfast("fit", people, *use, "--json").out)["profile"]["means"]
    for name in ("height", "width"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


def test_like_repeats_everything_and_says_what_differs(holdfast, people):
    use = ("--id", "id", "--columns", "height,width", "-k", "3,5", "--method", "medoids")
    holdfast("fit", people, *use, "--seed", 4, "--model", "m", "-o", "first.csv")
    again = holdfast("fit", people, "--like", "m", "--model", "n", "-o", "again.csv")
    assert again.code == 0, again.err
    assert people.with_name("first.csv").read_text() == people.with_name("again.csv").read_text()
    assert "replaces" not in again.err
    parts = holdfast("fit", people, "--like", "m", "-o", "p.csv", "--chunked")
    assert parts.code == 0, parts.err
    first = pd.read_csv("first.csv").drop(columns="center_from")
    pd.testing.assert_frame_equal(pd.read_csv("p.csv"), first)
    changed = holdfast("fit", people, "--like", "m", "--method", "tree", "-k", 4, "--seed", 4)
    assert changed.code == 0
    assert "--method tree replaces medoids of the model" in changed.err
    assert "--clusters 4 replaces 3,5 of the model" in changed.err
    assert "--seed" not in changed.err
    for wrong in (["--no-standardize"], ["--drop", "town"], ["--drop-missing"]):
        refused = holdfast("fit", people, "--like", "m", *wrong)
        assert refused.code == 2
        assert f"{wrong[0]} would change it" in refused.err


def test_errors_speak_the_language_of_the_command_line(holdfast, folder, people):
    (folder / "one.csv").write_text("a,b\n1,2\n")
    (folder / "huge.csv").write_text("a,b\n1,1e308\n2,-1e308\n3,0\n")
    done = holdfast("fit", "one.csv", "-k", 2)
    assert "2 clusters of 1 row; ask for at most 1" in done.err
    use = ("--columns", "height,width", "-k", 3)
    holdfast("fit", people, *use, "--model", "m", "-o", "l.csv")
    words = ("partial_fit", "n_samples", "n_clusters", "sample_weight", "HierarchicalKMedian")
    for wrong in (
        ("update", "m", "--remove", people),
        ("fit", people, *use, "--metric", "manhattan"),
        ("fit", people, *use, "--weights", "zero"),
        ("fit", people, *use, "--metric", "cosine", "--method", "tree"),
        ("fit", "huge.csv", "-k", 2, "--no-standardize"),
        ("audit", people, *use, "--delete", 400),
        ("report", people, *use, "--methods", "x"),
    ):
        done = holdfast(*wrong)
        assert done.code == 2
        assert not re.search(
            r"\bX\b|float64|mapping|(?<!-)\b(metric|delete|methods) must", done.err
        )
        assert not [word for word in words if word in done.err], done.err


def test_compiling_is_announced(holdfast, people, monkeypatch):
    use = ("fit", people, "--columns", "height", "-k", 2)
    assert "compiling" not in holdfast(*use).err
    monkeypatch.setattr("holdfast._machine.jit.is_compiled", lambda function: False)
    assert "compiling once" in holdfast(*use).err
