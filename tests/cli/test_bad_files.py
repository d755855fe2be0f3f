"""Whatever is wrong with a file is told in one line, with exit code 2."""

import gzip
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

GOOD = "a,b\n1,2\n3,4\n5,7\n"

BAD = {
    "empty": (b"", "is empty"),
    "only a newline": (b"\n", "cannot be read"),
    "header only": (b"a,b\n", "has a header of 2 columns but no rows"),
    "ragged": (b"a,b\n1,2\n3\n", "line 3 has 1 columns and the header has 2"),
    "too long": (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 columns and the header has 2"),
    "latin-1 text": ("a,b,c\n1,2,Köln\n3,4,Bern\n".encode("latin-1"), "--encoding latin-1"),
    "latin-1 header": ("größe,b\n1,2\n3,4\n".encode("latin-1"), "--encoding latin-1"),
    "utf-16": ("a,b\n1,2\n3,4\n".encode("utf-16"), "--encoding utf-16"),
    "NUL bytes": (b"a,b\n1,2\n\x00\x00,4\n", "NUL bytes"),
    "same name twice": (b"a,b,a\n1,2,3\n4,5,6\n", "several columns with the same name: a"),
    "other semicolons": (b"a;b,c\n1;2\n3;4\n", "line 2 has 1 columns and the header has 2"),
    "decimal commas": (b'a,b\n"1,5","2,5"\n"3,5","4,5"\n', "no numeric column"),
    "text only": (b"a,b\nx,y\nz,u\nv,w\n", "no numeric column"),
    "infinite": (
        b"a,b\n1,inf\n3,4\n",
        "column b of bad.csv has 1 infinite value, the first in row 0",
    ),
    "all missing": (b"a,b\n1,\n3,\n", None),
    "open quote": (
        b'a,b\n1,"2\n3,4\n',
        "a quote opens in the last row of column b and never closes",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_csv_is_told(holdfast, folder, what):
    content, told = BAD[what]
    (folder / "bad.csv").write_bytes(content)
    done = holdfast("fit", "bad.csv", "-k", 1, "-o", "labels.csv")
    if told is None:
        assert done.code == 0  # column b is empty: left out with a notice
        assert "ignoring columns: b (empty)" in done.err
        return
    assert done.code == 2, done.err
    assert told in done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 2  # a notice may come first
    assert os.listdir(folder) == ["bad.csv"]


def test_what_the_advice_says_works(holdfast, folder):
    (folder / "e.csv").write_bytes("größe,b\n1,2\n3,4\n".encode("latin-1"))
    assert holdfast("fit", "e.csv", "-k", 2, "--encoding", "latin-1", "-q").code == 0
    (folder / "w.csv").write_bytes("a,b\n1,2\n3,4\n".encode("utf-16"))
    assert holdfast("fit", "w.csv", "-k", 2, "--encoding", "utf-16", "-q").code == 0
    (folder / "s.csv").write_text("a;b\n1,5;2\n3,5;4\n")
    bad = holdfast("fit", "s.csv", "-k", 2, "--decimal", ".")
    assert "for decimal commas add --decimal ','" in bad.err
    done = holdfast("fit", "s.csv", "-k", 2, "--separator", ";", "--decimal", ",", "--json")
    assert json.loads(done.out)["preparation"]["columns"] == ["a", "b"]


def test_harmless_oddities_are_read(holdfast, folder):
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n")
    done = holdfast("fit", "bom.csv", "-k", 2, "--json")
    assert json.loads(done.out)["preparation"]["columns"] == ["a", "b"]
    (folder / "one.csv").write_text("a,b\n1,2\n")
    assert holdfast("fit", "one.csv", "-k", 1, "-q").out.splitlines()[1] == "0,0,1"
    (folder / "packed.csv.gz").write_bytes(gzip.compress(GOOD.encode()))
    assert holdfast("fit", "packed.csv.gz", "-k", 2, "-q").code == 0
    (folder / "index.csv").write_text(",a\n0,1\n1,2\n")
    index = holdfast("fit", "index.csv", "-k", 2, "--json")
    assert json.loads(index.out)["preparation"]["columns"] == ["a"]
    assert "it has no name" in index.err


def test_unusual_columns(holdfast, folder):
    (folder / "u.csv").write_text(
        "big,yes,day,n\n9007199254740993,true,2024-01-01,1\n9007199254740995,false,2024-01-02,2\n"
        "18446744073709551615,true,2024-01-03,3\n"
    )
    done = holdfast("fit", "u.csv", "-k", 2, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["preparation"]["columns"] == ["big", "yes", "day", "n"]
    assert "day     date" in done.err
    (folder / "v.csv").write_text("big\n9007199254740993\n9007199254740995\n")
    assert (
        "rounding integers beyond 2^53 to doubles in: big" in holdfast("fit", "v.csv", "-k", 2).err
    )


def test_ten_thousand_columns(holdfast, folder):
    names = ",".join(f"c{j}" for j in range(10_000))
    rows = "\n".join(",".join(str(i * j % 7) for j in range(10_000)) for i in range(1, 4))
    (folder / "wide.csv").write_text(f"{names}\n{rows}\n")
    done = holdfast("fit", "wide.csv", "-k", 2, "--model", "wide.holdfast", "-o", "labels.csv")
    assert done.code == 0, done.err
    assert "10,000 columns: c0, c1, c2" in done.err
    assert max(map(len, done.err.splitlines())) < 300
    assert holdfast("predict", "wide.holdfast", "wide.csv", "-q").code == 0


def test_folders_and_names_without_files(holdfast, folder):
    (folder / "f.csv").mkdir()
    assert "is a folder" in holdfast("fit", "f.csv").err
    assert "there is no file none.csv" in holdfast("fit", "none.csv").err
    assert holdfast("fit", "none.csv").code == 2
    assert "is empty" in holdfast("fit", "-", stdin=b"").err


def test_wrong_arrays_and_wrong_endings(holdfast, folder):
    np.save("cube.npy", np.zeros((2, 2, 2)))
    np.save("words.npy", np.array(["a", "b"]))
    np.save("objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    pa.parquet.write_table(pa.table({"x": [["a"], ["b"]]}), "lists.parquet")
    (folder / "cut.parquet").write_bytes((folder / "lists.parquet").read_bytes()[:-20])
    (folder / "text.parquet").write_text(GOOD)
    told = {
        "cube.npy": "two-dimensional",
        "words.npy": "two-dimensional",
        "objects.npy": "Python objects",
        "lists.parquet": "no numeric column",
        "cut.parquet": "cannot be read",
        "text.parquet": "is not a parquet file, though its name says so",
    }
    for name, words in told.items():
        done = holdfast("fit", name, "-k", 1)
        assert done.code == 2, name
        assert words in done.err


def test_hostile_names_cannot_write_to_the_terminal(holdfast, folder):
    (folder / "h.csv").write_text("id,\x1b[31mred,b\n\x1b]0;x\x07,1,2\nq,3,4\n")
    done = holdfast("fit", "h.csv", "--id", "id", "-k", 2, "-o", "labels.csv")
    assert done.code == 0, done.err
    assert "\x1b" not in done.out + done.err
    assert "\\x1b[31mred" in done.err


def test_a_shape_that_is_a_lie(holdfast, folder):
    with open("huge.npy", "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**15, 3)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(48))
    done = holdfast("fit", "huge.npy", "-k", 2, "-o", "labels.csv")
    assert done.code == 2
    assert "larger than memory" in done.err
    assert sorted(os.listdir(folder)) == ["huge.npy"]


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_index_of_a_pandas_table_is_no_column(holdfast, folder, name, chunked):
    import pandas as pd

    rows = np.random.default_rng(0).normal(size=(40, 2))
    plain = pa.table({"a": rows[:, 0], "b": rows[:, 1]})
    shuffled = pd.DataFrame(rows, columns=["a", "b"], index=np.arange(40) * 1000)
    stored = pa.Table.from_pandas(shuffled)
    assert "__index_level_0__" in stored.column_names
    for table, file in ((plain, "plain.parquet"), (stored, name)):
        if file.endswith("parquet"):
            pyarrow.parquet.write_table(table, file)
        else:
            pyarrow.feather.write_feather(table, file, compression="uncompressed")
        options = ["--chunked"] if chunked else []
        done = holdfast("fit", file, "-k", 3, "-o", f"{file}.csv", *options)
        assert done.code == 0, done.err
    assert (folder / f"{name}.csv").read_text() == (folder / "plain.parquet.csv").read_text()
    assert "the index of a pandas table" in done.err


def test_more_clusters_than_rows(holdfast, people):
    for command in (("fit",), ("audit", "--methods", "ward"), ("tune", "--target-moved", "5%")):
        done = holdfast(command[0], people, *command[1:], "-k", 61)
        assert (done.code, done.out) == (2, "")
        assert "--clusters asks for 61 clusters of 60 rows; ask for at most 60." in done.err
    done = holdfast("report", people, "-k", 40)
    assert done.code == 2
    assert "--clusters must be between 2 and 30 (at most half the rows" in done.err
