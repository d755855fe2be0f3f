"""``holdfast update`` and ``holdfast diff``."""

import json
import threading

import numpy as np
import pytest

import holdfast as library
from holdfast import load
from holdfast.cli import changes
from holdfast.cli.app import run_program
from holdfast.stability.match import LabeledRows


@pytest.fixture
def model(holdfast, people):
    done = holdfast("fit", people, "-k", "3,5", "--id", "id", "--ignore", "count,town", "-o", "l.csv",
                    "--model", "people.holdfast", "--quiet")  # fmt: skip
    assert done.code == 0, done.err
    return people.parent / "people.holdfast"


def rows_of(people, first: int, last: int, name: str) -> str:
    lines = people.read_text().splitlines()
    (people.parent / name).write_text("\n".join([lines[0], *lines[1 + first : 1 + last]]) + "\n")
    return name


def fit_left(holdfast, people, name: str):
    done = holdfast("fit", name, "-k", "3,5", "--drop", "count", "--like", "people.holdfast", "-o",
                    "x.csv", "--model", "expected.holdfast", "--force", "--quiet")  # fmt: skip
    assert done.code != 0, "--like chooses the columns"
    done = holdfast("fit", name, "-k", "3,5", "--like", "people.holdfast", "-o", "x.csv", "--model",
                    "expected.holdfast", "--force", "--quiet")  # fmt: skip
    assert done.code == 0, done.err
    return load("expected.holdfast")


def check_same(found, expected) -> None:
    """Equal up to the order of rows: the file's before, sorted after an update."""
    rows, index = np.unique(expected.rows_, axis=0, return_inverse=True)
    index = index.ravel()
    found_rows, found_index = np.unique(found.rows_, axis=0, return_inverse=True)
    found_index = found_index.ravel()
    np.testing.assert_array_equal(found_rows, rows)
    weights = [
        np.bincount(i, weights=m.row_weights_) for m, i in ((found, found_index), (expected, index))
    ]
    np.testing.assert_array_equal(*weights)
    np.testing.assert_array_equal(found.hierarchy_.costs, expected.hierarchy_.costs)
    np.testing.assert_array_equal(
        found_index[found.hierarchy_.center_indices], index[expected.hierarchy_.center_indices]
    )
    first = np.argsort(found_index, kind="stable")
    np.testing.assert_array_equal(
        found.hierarchy_.cut(5)[first][np.searchsorted(found_index[first], index)],
        expected.hierarchy_.cut(5),
    )


def test_update_equals_a_fit_on_what_is_left(holdfast, people, model):
    gone = rows_of(people, 0, 12, "gone.csv")
    left = rows_of(people, 12, 60, "left.csv")
    done = holdfast("update", model, "--remove", gone, "--to", "new.holdfast")
    assert done.code == 0, done.err
    assert "12 were removed" in done.out
    check_same(load("new.holdfast"), fit_left(holdfast, people, left))
    before = model.read_bytes()
    done = holdfast("update", "new.holdfast", "--add", gone, "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert (record["command"], record["added"], record["removed"]) == ("update", 12, 0)
    assert [cut["k"] for cut in record["cuts"]] == [3, 5]
    check_same(load("new.holdfast"), load(model))
    assert model.read_bytes() == before


def test_tables_keep_their_ids_after_an_update(holdfast, people, model):
    gone = rows_of(people, 0, 12, "gone.csv")
    left = rows_of(people, 12, 60, "left.csv")
    assert holdfast("update", model, "--remove", gone, "--quiet").code == 0
    done = holdfast("predict", model, left, "-k", "3", "--out", "labels.csv", "--quiet")
    assert done.code == 0, done.err
    header, *lines = (people.parent / "labels.csv").read_text().splitlines()
    assert header == "id,cluster_3"
    ids = [line.split(",")[0] for line in people.read_text().splitlines()[13:]]
    assert [line.split(",")[0].strip('"') for line in lines] == ids
    done = holdfast("cut", model, "-k", "3", "--out", "cut.csv", "--quiet")
    assert done.code == 0, done.err
    header, *lines = (people.parent / "cut.csv").read_text().splitlines()
    assert header == "id,cluster_3,center_from"
    assert [line.split(",")[0] for line in lines] == ids


def test_rows_are_found_by_id_also_if_their_values_changed(holdfast, people, model):
    lines = people.read_text().splitlines()
    changed = [lines[0], "p7,Ulm,10.5,0.25,1", "new,Ulm,0.5,29.5,1"]
    (people.parent / "changed.csv").write_text("\n".join(changed) + "\n")
    (people.parent / "gone.csv").write_text("id,height,width\np3,99,99\n")
    done = holdfast("update", model, "--add", "changed.csv", "--remove", "gone.csv", "--json")
    assert done.code == 0, done.err
    first = json.loads(done.out)["cuts"][0]
    assert (first["n_common"], first["n_before"], first["n_after"]) == (59, 60, 60)
    assert first["n_moved"] == 1
    left = [line for line in lines if line.split(",")[0] not in ("p3", "p7")]
    (people.parent / "left.csv").write_text("\n".join([*left, *changed[1:]]) + "\n")
    check_same(load(model), fit_left(holdfast, people, "left.csv"))
    (people.parent / "gone.csv").write_text("id,height,width\np3,99,99\n")
    before = model.read_bytes()
    done = holdfast("update", model, "--remove", "gone.csv")
    assert done.code == 2
    assert "ids of rows to remove must be in the model; got 'p3'" in done.err
    assert model.read_bytes() == before


def test_adding_and_removing_at_once(holdfast, people, model):
    some = rows_of(people, 5, 9, "some.csv")
    done = holdfast("update", model, "--add", some, "--remove", some, "--to", "new.holdfast")
    assert done.code == 0, done.err
    check_same(load("new.holdfast"), load(model))
    assert "0 of the 60 rows in both (0.0%) changed cluster" in done.out


def test_ids_of_an_update_are_text_as_written(holdfast, people):
    """Padded ids are numbers to a reader of CSV that does not know that they are ids."""
    lines = people.read_text().splitlines()
    padded = [lines[0], *(f"{i:05}{line[line.index(',') :]}" for i, line in enumerate(lines[1:]))]
    (people.parent / "old.csv").write_text("\n".join(padded[:51]) + "\n")
    (people.parent / "new.csv").write_text("\n".join([padded[0], *padded[51:]]) + "\n")
    use = ("--id", "id", "--ignore", "count,town", "-k", 3, "--model", "m", "-q", "-o", "l.csv")
    assert holdfast("fit", "old.csv", *use).code == 0
    done = holdfast("update", "m", "--add", "new.csv")
    assert done.code == 0, done.err
    assert load("m").ids_.tolist() == [f"{i:05}" for i in range(len(padded) - 1)]
    done = holdfast("fit", "new.csv", "--like", "m", "-o", "again.csv", "-q")
    assert done.code == 0, done.err
    assert (people.parent / "again.csv").read_text().splitlines()[1].startswith("00050,")


def test_rows_that_are_not_there_change_nothing(holdfast, people, model):
    before = model.read_bytes()
    (people.parent / "no.csv").write_text("height,width\n77,1\n")
    done = holdfast("update", model, "--remove", "no.csv")
    assert done.code == 2
    assert "not present" in done.err
    assert model.read_bytes() == before


def test_wrong_use_of_update_is_named(holdfast, people, model):
    some = rows_of(people, 0, 5, "some.csv")
    for arguments, message in (
        ([model], "--add"),
        ([model, "--add", "-", "--remove", "-"], "standard input"),
        ([model, "--add", some, "--to", some], "also uses"),
        ([model, "--add", some, "--to", "l.csv"], "--force"),
        ([model, "--add", "nothing.csv"], "nothing.csv"),
        ([some, "--add", some], "some.csv"),
    ):
        done = holdfast("update", *arguments)
        assert done.code == 2, arguments
        assert message in done.err
    done = holdfast("fit", people, "-k", "3", "-o", "m.csv", "--model", "bare.holdfast",
                    "--no-rows", "--quiet")  # fmt: skip
    assert done.code == 0
    done = holdfast("update", "bare.holdfast", "--add", people)
    assert done.code == 2
    assert "--no-rows" in done.err
    done = holdfast("diff", "bare.holdfast", "bare.holdfast")
    assert done.code == 2
    assert "--no-rows" in done.err


def test_updates_at_the_same_time_wait_for_each_other(holdfast, people, model, monkeypatch):
    """The others find the file held; each update is in the file at the end."""
    parts = [rows_of(people, 10 * i, 10 * (i + 1), f"part{i}.csv") for i in range(3)]
    for part in parts:  # under new ids
        path = people.parent / part
        path.write_text(path.read_text().replace("\np", "\nq"))
    together = threading.Barrier(3)
    hold = changes.inputs.hold_model

    def hold_together(*arguments, **options):
        together.wait(60)  # all have started, none has locked the model
        return hold(*arguments, **options)

    monkeypatch.setattr(changes.inputs, "hold_model", hold_together)
    codes = []
    programs = [
        threading.Thread(
            target=lambda part=part: codes.append(
                run_program(["update", str(model), "--add", part, "--quiet"])
            )
        )
        for part in parts
    ]
    for program in programs:
        program.start()
    for program in programs:
        program.join()
    assert codes == [0, 0, 0]
    assert load(model).row_weights_.sum() == 90


def test_a_model_that_was_replaced_meanwhile_is_not_overwritten(
    holdfast, people, model, monkeypatch
):
    some = rows_of(people, 0, 5, "some.csv")
    other = load(model).partial_fit([[0.0, 0.0]], ids=["new"])
    compare = changes.compare_models

    def compare_and_replace(*arguments):
        other.save(model)
        return compare(*arguments)

    monkeypatch.setattr(changes, "compare_models", compare_and_replace)
    done = holdfast("update", model, "--add", some)
    assert done.code == 2
    assert "was replaced while it was in use" in done.err
    assert load(model).row_weights_.sum() == 61


def test_diff_says_what_moved_in_words_and_as_a_table(holdfast, people, model):
    gone = rows_of(people, 0, 12, "gone.csv")
    assert holdfast("update", model, "--remove", gone, "--to", "new.holdfast").code == 0
    done = holdfast("diff", model, "new.holdfast", "-k", "3")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("3 clusters: ")
    assert "of the 48 rows in both" in lines[0]
    assert "12 were removed" in lines[0]
    assert any(line.startswith("  cluster") and "were removed" in line for line in lines[1:])
    header = next(i for i, line in enumerate(lines) if line.split()[:3] == ["k", "before", "after"])
    assert len(lines) - header == 4
    record = json.loads(holdfast("diff", model, "new.holdfast", "--json").out)
    assert [cut["k"] for cut in record["cuts"]] == [3, 5]
    assert record["cuts"][0]["n_before"] - record["cuts"][0]["n_after"] == 12


def test_diff_of_a_model_with_itself_is_nothing(holdfast, model):
    done = holdfast("diff", model, model)
    assert done.code == 0
    assert "0 of the 60 rows in both (0.0%)" in done.out
    assert "clusters have the same rows as before" in done.out


def test_models_that_cannot_be_compared_are_named(holdfast, people, model):
    done = holdfast("fit", people, "-k", "4", "--no-standardize", "-o", "m.csv", "--model",
                    "raw.holdfast", "--quiet")  # fmt: skip
    assert done.code == 0
    for arguments, message in (
        ([model, "raw.holdfast"], "--clusters"),
        ([model, "raw.holdfast", "-k", "3"], "--like"),
        ([model, model, "-k", "999"], "999"),
        ([model, people], "people.csv"),
    ):
        done = holdfast("diff", *arguments)
        assert done.code == 2, arguments
        assert message in done.err


def test_refined_splits_survive_an_update(holdfast, people):
    common = (
        "--ignore",
        "count,town",
        "-k",
        3,
        "--method",
        "means",
        "-o",
        "l.csv",
        "--force",
        "--quiet",
    )
    gone = rows_of(people, 0, 12, "gone.csv")
    done = holdfast("fit", people, "--model", "all.holdfast", *common)
    assert done.code == 0, done.err
    model = load("all.holdfast")
    assert model.method == "means"
    estimator = library.HierarchicalKMedian(3, method="means", random_state=model.seed_)
    estimator.fit(model.rows_, sample_weight=model.row_weights_)
    assert estimator.hierarchy_.costs[2] == model.hierarchy_.costs[2]
    assert holdfast("update", "all.holdfast", "--remove", gone, "--to", "less.holdfast").code == 0
    assert holdfast("update", "less.holdfast", "--add", gone).code == 0
    again = load("less.holdfast")
    np.testing.assert_array_equal(again.hierarchy_.costs, model.hierarchy_.costs)


def test_a_model_from_the_command_line_is_updated_in_python(holdfast, people, model):
    """In the units of the table; the file that comes out is a model like any other."""
    gone = rows_of(people, 0, 12, "gone.csv")
    assert holdfast("update", model, "--remove", gone, "--to", "new.holdfast").code == 0
    estimator = load(model)
    table = np.genfromtxt(people.parent / gone, delimiter=",", skip_header=1, usecols=(2, 3))
    ids = [line.split(",")[0] for line in (people.parent / gone).read_text().splitlines()[1:]]
    estimator.forget(ids=ids).save("python.holdfast")
    check_same(load("python.holdfast"), load("new.holdfast"))
    assert holdfast("cut", "python.holdfast", "-k", 3, "--quiet").out.startswith("id,cluster_3")
    estimator.partial_fit(table, ids=ids)
    check_same(estimator, load(model))


def test_a_model_from_python_is_cut_and_labels_tables(holdfast, people):
    frame = np.genfromtxt(people, delimiter=",", skip_header=1, usecols=(2, 3))
    library.HierarchicalKMedian(3).fit(frame).save("python.holdfast")
    np.save("bare.npy", frame)
    cut = holdfast("cut", "python.holdfast", "-k", 3, "--json")
    assert cut.code == 0, cut.err
    predicted = holdfast("predict", "python.holdfast", "bare.npy", "--json")
    assert predicted.code == 0, predicted.err
    labels = [json.loads(done.out)["rows"]["cluster_3"] for done in (cut, predicted)]
    assert labels[0] == labels[1]


def test_update_keeps_the_names_of_a_followed_model(holdfast, people, model):
    first, late = rows_of(people, 0, 50, "first.csv"), rows_of(people, 50, 55, "late.csv")
    done = holdfast("follow", "people.holdfast", first, "--levels", "3,5", "--id", "id", "--out", "f.csv",
                    "--model", "followed.holdfast", "--quiet")  # fmt: skip
    assert done.code in (0, 3), done.err
    before = load("followed.holdfast")
    ended = before.hierarchy_.names(5)[1]
    gone = {str(id) for id in before.ids_[before.labels_ == 1]}
    lines = people.read_text().splitlines()
    text = [lines[0], *(line for line in lines[1:51] if line.split(",")[0] in gone)]
    (people.parent / "gone.csv").write_text("\n".join(text) + "\n")
    done = holdfast("update", "followed.holdfast", "--remove", "gone.csv", "--add", late, "--quiet")
    assert done.code == 0, done.err
    after = load("followed.holdfast")
    names = after.hierarchy_.names(5)
    assert ended not in names
    assert max(names) >= before.hierarchy_.naming.next_name
    kept = np.isin(names, before.hierarchy_.names(5))
    assert 2 <= kept.sum() < 5


def test_names_that_most_rows_have_left_do_not_match_clusters():
    rows, weight = np.arange(4.0)[:, None], np.ones(4)
    before = LabeledRows(rows, weight, np.array([0, 0, 1, 1], np.int32), rows[[0, 2]])
    after = LabeledRows(rows, weight, np.array([1, 1, 0, 0], np.int32), rows[[2, 0]])
    found = changes._compare([before, after], [np.array([0, 1]), np.array([0, 5])])
    assert found.n_moved == 0.0
    assert [(c.before, c.after) for c in found.clusters] == [(0, 5), (1, 0)]
