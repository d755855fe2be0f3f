"""match renames today's clusters after yesterday's."""

import json

import pytest

OLD = "id,cluster_3,center_from\na,0,1\nb,0,\nc,1,2\nd,1,\ne,2,3\nf,2,\ng,,\n"
NEW = "id,cluster_3,center_from\nf,0,1\ne,0,\nd,1,2\nc,2,3\nb,2,\nh,1,\ni,,\n"


@pytest.fixture
def tables(folder):
    (folder / "old.csv").write_text(OLD)
    (folder / "new.csv").write_text(NEW)


def test_clusters_keep_their_names(holdfast, tables, folder):
    done = holdfast("match", "old.csv", "new.csv", "--id", "id", "--out", "out.csv")
    assert done.code == 0, done.err
    # 0 = {f, e} was 2; of {c, b} and {d, h} either may be 1, and then the other is 0 or new.
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "id,cluster_3,center_from"
    assert lines[1:3] == ["f,2,1", "e,2,"]
    assert lines[7] == "i,,"
    record = json.loads(holdfast("match", "old.csv", "new.csv", "--id", "id", "--json").out)
    (summary,) = record["columns"]
    assert summary["column"] == "cluster_3"
    assert (summary["n_common"], summary["n_removed"], summary["n_new"]) == (5, 1, 1)
    assert (summary["n_moved"], summary["moved_fraction"]) == (1, 0.2)
    assert record["rows"]["cluster_3"][:2] == [2, 2]
    assert "20.0%" in done.out


def test_texts_numbers_and_new_names(holdfast, folder):
    (folder / "old.csv").write_text("key,kind\n1,red\n2,red\n3,blue\n")
    (folder / "new.csv").write_text("key,kind\n3,x\n1,y\n2,y\n4,z\n")
    done = holdfast("match", "old.csv", "new.csv", "--id", "key", "--columns", "kind", "-q")
    assert done.out.splitlines() == ["key,kind", "3,blue", "1,red", "2,red", "4,new 1"]
    assert done.err == ""


def test_noise_is_no_cluster(holdfast, folder):
    (folder / "old.csv").write_text("cluster_2\n0\n0\n-1\n-1\n-1\n")
    (folder / "new.csv").write_text("cluster_2\n-1\n-1\n5\n5\n5\n")
    done = holdfast("match", "old.csv", "new.csv", "--noise", -1, "-q")
    assert done.out.split() == ["cluster_2", "-1", "-1", "1", "1", "1"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["old.csv", "new.csv", "--id", "name"], "has no column 'name'"),
        (["old.csv", "new.csv", "--id", "id", "--columns", "x"], "has no column x"),
        (["old.csv", "short.csv"], "name the column that identifies rows with --id"),
        (["old.csv", "none.csv"], "there is no file"),
        (["old.csv", "twice.csv", "--id", "id"], "rows 0 and 1 (from 0) have the same id"),
        (["old.csv", "other.csv", "--id", "id"], "no id in common in column id, such as a and x"),
        (["old.csv", "plain.csv", "--id", "id"], "no column cluster_... in common"),
        (["-", "-"], "only one"),
    ],
)
def test_what_cannot_be_matched_is_told(holdfast, tables, folder, arguments, told):
    (folder / "short.csv").write_text("id,cluster_3\na,1\n")
    (folder / "twice.csv").write_text("id,cluster_3\na,1\na,2\n")
    (folder / "other.csv").write_text("id,cluster_3\nx,1\ny,2\n")
    (folder / "plain.csv").write_text("id,group\na,1\n")
    done = holdfast("match", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
