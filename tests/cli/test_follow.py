"""``holdfast follow`` and ``holdfast lineage``."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from holdfast import Lineage, load
from holdfast.report import build_lineage_report

N = 90
ROOT = Path(__file__).parents[2]


def write_week(number: int) -> Path:
    """Write customers of three groups: each week five leave, five come, and one moves far."""
    rng = np.random.default_rng(7)
    places = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 30.0]])
    values = places[np.arange(N + 20) % 3] + rng.integers(-64, 65, size=(N + 20, 2)) / 64.0
    for week in range(1, number + 1):
        values[40 + week] = places[(41 + week) % 3]
    lines = ["customer,town,spend,visits"]
    for i in range(5 * number, N + 5 * number):
        lines.append(f"C{i:03d},Ulm,{values[i, 0]:.6f},{values[i, 1]:.6f}")
    path = Path(f"week{number}.csv")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def model(holdfast):
    done = holdfast("fit", write_week(0), "-k", "2,3", "--id", "customer", "-o", "week0-labels.csv",
                    "--model", "segments.holdfast", "--quiet")  # fmt: skip
    assert done.code == 0, done.err
    return Path("segments.holdfast")


def read_labels(path: str) -> dict[str, dict[str, str]]:
    with open(path, newline="") as file:
        return {row["customer"]: row for row in csv.DictReader(file)}


def everything() -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Path().rglob("*") if p.is_file()}


def test_a_weekly_run(holdfast, model):
    done = holdfast("follow", model, write_week(1), "--lineage", "segments.lineage", "--label",
                    "week 1", "--out", "labels.csv", "--model", "new.holdfast")  # fmt: skip
    assert done.code == 0, done.err
    assert "of 85 rows (1.18%) changed cluster at 2 clusters, 1 (1.18%) at 3;" in done.out
    assert "5 rows were added, 5 removed." in done.out
    before, after = read_labels("week0-labels.csv"), read_labels("labels.csv")
    moved = {
        id for id in after if id in before and after[id]["cluster_3"] != before[id]["cluster_3"]
    }
    assert moved == {"C041"}
    assert list(after["C041"]) == ["customer", "cluster_2", "cluster_3", "center_from", "held"]
    assert set(after) == {f"C{i:03d}" for i in range(5, 95)}

    done = holdfast("follow", "segments.lineage", write_week(2), "--label", "week 2", "--out",
                    "labels.csv", "--force")  # fmt: skip
    assert done.code == 0, done.err
    lineage = Lineage("segments.lineage")
    assert lineage.labels == ["start", "week 1", "week 2"]
    assert lineage.moves(level=3)["id"].tolist() == ["C041", "C042"]
    assert lineage[1].model().ids_.tolist() == load("new.holdfast").ids_.tolist()

    # From the files of the week before instead of from the lineage: the same labels.
    done = holdfast("follow", "new.holdfast", "week2.csv", "--out", "again.csv")
    assert Path("again.csv").read_bytes() == Path("labels.csv").read_bytes()


def test_all_commands_call_clusters_by_their_lasting_names(holdfast, model):
    path = write_week(1)
    path.write_text(path.read_text().replace("\nC", "\nX"))  # strangers: all names are new
    followed = holdfast("follow", model, path, "-o", "l.csv", "--model", "new.holdfast", "--json")
    assert followed.code == 0, followed.err
    expected = {id: row["cluster_3"] for id, row in read_labels("l.csv").items()}
    assert min(map(int, expected.values())) > 2
    for command in (("cut", "new.holdfast", "-k", "3"), ("predict", "new.holdfast", path)):
        done = holdfast(*command, "-o", "found.csv", "--force")
        assert done.code == 0, done.err
        found = read_labels("found.csv")
        assert {id: row["cluster_3"] for id, row in found.items()} == expected
    done = holdfast("diff", model, "new.holdfast", "-k", 3)
    assert "cluster 0 ended" in done.out
    assert f"cluster {min(expected.values())} is new" in done.out


def test_held_rows_keep_their_labels_in_parts_too(holdfast, model):
    followed = holdfast("follow", model, write_week(1), "--budget", "0%", "-o", "l.csv", "--model",
                        "new.holdfast")  # fmt: skip
    assert followed.code == 3, followed.err
    labels = read_labels("l.csv")
    assert any(row["held"] == "true" for row in labels.values())
    for more in ((), ("--chunked",)):
        done = holdfast("predict", "new.holdfast", "week1.csv", *more, "-o", "p.csv", "--force")
        assert done.code == 0, done.err
        for id, row in read_labels("p.csv").items():
            assert row == {name: labels[id][name] for name in row}


def test_python_and_the_command_agree(holdfast, model):
    holdfast("follow", model, write_week(1), "--levels", "2,3", "--price", 0.1, "-o", "l.csv",
             "--model", "new.holdfast")  # fmt: skip
    table = np.genfromtxt("week1.csv", delimiter=",", skip_header=1, usecols=(2, 3))
    ids = np.genfromtxt("week1.csv", delimiter=",", skip_header=1, usecols=0, dtype=str)
    expected = load(model).follow(table, ids=ids, levels=[2, 3], price=0.1)
    np.testing.assert_array_equal(load("new.holdfast").labels_, expected.labels_)
    names = expected.hierarchy_.names(3)[expected.labels_]
    assert [row["cluster_3"] for row in read_labels("l.csv").values()] == [str(n) for n in names]


def test_the_commands_of_the_how_to_run_week_after_week(holdfast):
    for week, name in enumerate(("monday.csv", "next.csv", "after.csv")):
        write_week(week).rename(name)
    text = (ROOT / "docs/howto/keep_segments.md").read_text(encoding="utf-8")
    lines = [shlex.split(line)[2:] for line in text.splitlines() if line.startswith("$ holdfast ")]
    assert len(lines) == 4
    for line in lines:
        done = holdfast(*line)
        assert done.code in (0, 3), (line, done.err)
    assert len(Lineage("segments.lineage")) == 3


def test_a_followed_model_without_rows_predicts_by_the_nearest_means(holdfast, model):
    holdfast("follow", model, write_week(1), "--model", "next.holdfast", "--quiet")
    followed = load("next.holdfast")
    followed.save("small.holdfast", include_rows=False)
    done = holdfast("predict", "small.holdfast", "week1.csv", "-o", "labels.csv", "--quiet")
    assert done.code == 0, done.err
    expected = followed.hierarchy_.names(3)[followed.hierarchy_.predict(followed.rows_, 3)]
    found = read_labels("labels.csv")
    assert [int(found[id]["cluster_3"]) for id in followed.ids_] == expected.tolist()


def test_a_run_can_be_repeated_after_a_crash(holdfast, model):
    run = ("follow", model, write_week(1), "--lineage", "s.lineage", "--label", "w", "-o", "l.csv",
           "--force", "--model", model)  # fmt: skip
    old = model.read_bytes()
    assert holdfast(*run).code == 0
    complete = everything()
    model.write_bytes(old)  # as if the run had been killed before it replaced the model
    assert holdfast(*run).code == 0
    assert everything() == complete


def test_a_run_in_a_lineage_can_be_repeated_after_a_crash(holdfast, model):
    holdfast(
        "follow", model, write_week(1), "--lineage", "s.lineage", "--label", "a", "-o", "a.csv"
    )
    for label in ((), ("--label", "c")):
        run = ("follow", "s.lineage", write_week(2), *label, "-o", "l.csv", "--force")
        assert holdfast(*run).code == 0
        complete = everything()
        Path("l.csv").unlink()  # as if the run had been killed before it wrote the labels
        done = holdfast(*run)
        assert done.code == 0, done.err
        assert "exists already" in done.err
        assert everything() == complete
    other = holdfast("follow", "s.lineage", write_week(1), *label, "-o", "l.csv", "--force")
    assert (other.code, everything()) == (2, complete)
    assert "belongs to release 3, which has other clusters" in other.err


def test_a_binding_budget_is_exit_code_3_with_all_files(holdfast, model):
    run = ("follow", model, write_week(1), "--budget", "0%", "-o", "l.csv", "--model",
           "new.holdfast", "--lineage", "s.lineage")  # fmt: skip
    assert holdfast(*run, "--dry-run").code == 3
    assert not Path("s.lineage").exists()
    done = holdfast(*run)
    assert done.code == 3
    assert "the budget of 0.00% binds" in done.err
    assert "Traceback" not in done.err
    assert len(read_labels("l.csv")) == N
    assert load("new.holdfast").ids_.size == N
    assert Lineage("s.lineage")[-1].budget_binds
    assert "The budget of 0.00% binds." in holdfast("lineage", "s.lineage").out


def test_a_new_fit_is_compared_with(holdfast, model):
    done = holdfast("follow", model, write_week(1), "--tolerance", "5%", "-o", "l.csv", "--json",
                    "--lineage", "s.lineage", "--staleness")  # fmt: skip
    assert done.code == 0, done.err
    for line in json.loads(done.out)["levels"]:
        assert 0.0 < line["cost_to_fresh"] <= 1.05
        assert 0.0 < line["cost_to_staying"] <= 1.0
        assert 0.0 < line["cost_of_one"] < 1.0
    levels = Lineage("s.lineage")[-1].levels
    assert (levels["fresh_cost"] > 0.0).all()
    assert ((levels["fresh_moved"] >= 0.0) & (levels["fresh_moved"] <= 1.0)).all()


def test_sentence_and_table_have_the_same_words(holdfast, model):
    done = holdfast("follow", model, write_week(1), "--tolerance", "5%", "--dry-run")
    sentence, head, *_ = done.out.splitlines()
    assert sentence.endswith("times that of a new fit.")
    assert head.endswith("of a new fit")


def test_follow_prints_the_cost_that_cut_prints(holdfast, model):
    done = holdfast(
        "follow", model, write_week(1), "-o", "l.csv", "--model", "new.holdfast", "--json"
    )
    levels = json.loads(done.out)["levels"]
    ks = ",".join(str(line["k"]) for line in levels)
    cuts = json.loads(holdfast("cut", "new.holdfast", "--clusters", ks, "--json").out)["cuts"]
    for name in ("k", "cost", "cost_of_one"):
        assert [line[name] for line in levels] == [cut[name] for cut in cuts]
    assert [line["cost_to_fresh"] for line in levels] == [None] * len(levels)
    shown = holdfast("follow", model, write_week(1), "--dry-run").out
    assert "of staying" in shown
    assert f"{cuts[0]['cost']:.4g}" in shown


def test_a_table_of_strangers_is_fitted_again_and_says_so(holdfast, model):
    path = write_week(1)
    path.write_text(path.read_text().replace("\nC", "\nX"))
    done = holdfast("follow", model, path, "-o", "l.csv", "--lineage", "s.lineage")
    assert done.code == 0, done.err
    assert "No row of X is in the model that it follows" in done.err
    assert "cluster 0 ended" in done.out.lower()
    assert not set(Lineage("s.lineage")[0].names(3)) & set(Lineage("s.lineage")[1].names(3))


def test_a_dry_run_writes_nothing(holdfast, model):
    write_week(1)
    before = everything()
    done = holdfast("follow", model, "week1.csv", "--dry-run", "-o", "l.csv", "--model", "m.holdfast",
                    "--lineage", "s.lineage")  # fmt: skip
    assert done.code == 0, done.err
    assert "of 85 rows (1.18%) would change cluster at 2 clusters, 1 (1.18%) at 3;" in done.out
    assert everything() == before
    record = json.loads(holdfast("follow", model, "week1.csv", "--dry-run", "--json").out)
    assert record["dry_run"]
    assert [line["k"] for line in record["levels"]] == [2, 3]
    assert record["levels"][1]["moved"] == 1 / 85


@pytest.fixture
def series(holdfast, model):
    for week in (1, 2):
        source = model if week == 1 else "segments.lineage"
        more = ("--lineage", "segments.lineage") if week == 1 else ()
        done = holdfast("follow", source, write_week(week), *more, "--label", f"week {week}", "-o",
                        "l.csv", "--force", "--quiet")  # fmt: skip
        assert done.code == 0, done.err
    return "segments.lineage"


def test_lineage_answers_questions(holdfast, series):
    done = holdfast("lineage", series)
    assert done.code == 0, done.err
    assert [line.partition(":")[0] for line in done.out.splitlines()] == [
        "start", "week 1", "week 2"
    ]  # fmt: skip
    found = json.loads(holdfast("lineage", series, "--of", "C041", "--level", 3, "--json").out)
    names = [line["name"] for line in found["of"]]
    assert names[0] != names[1] == names[2]
    shown = holdfast("lineage", series, "--of", "C041", "--level", 3).out.splitlines()[1:]
    held = ["yes" if line["held"] else "no" for line in found["of"]]
    assert [line.split()[-1] for line in shown] == held
    found = json.loads(holdfast("lineage", series, "--since", "week 2", "--json").out)
    assert {line["id"] for line in found["moves"]} == {"C042"}
    assert {line["column"] for line in found["moves"]} <= {"spend", "visits"}
    found = json.loads(holdfast("lineage", series, "--cluster", 0, "--json").out)
    assert [line["label"] for line in found["history"]] == ["start", "week 1", "week 2"]
    assert "C042" in holdfast("lineage", series, "--since", "-1").out
    holdfast("follow", series, "week2.csv", "--label", "again", "-o", "l.csv", "--force")
    assert holdfast("lineage", series, "--since", "again").out == "No row moved.\n"


def test_a_level_that_only_some_releases_follow_is_shown(holdfast):
    done = holdfast("fit", write_week(0), "-k", 5, "--id", "customer", "--model", "five.holdfast")
    assert done.code == 0, done.err
    for label, levels, where in (("a", "3,5", "five.holdfast"), ("b", "2,5", "five.lineage")):
        holdfast("follow", where, "week0.csv", "--levels", levels, "--label", label, "-o", "l.csv",
                 "--force", *(["--lineage", "five.lineage"] if label == "a" else []))  # fmt: skip
    for level, labels in ((5, ["start", "a", "b"]), (3, ["start", "a"]), (2, ["b"])):
        done = holdfast("lineage", "five.lineage", "--level", level)
        assert done.code == 0, done.err
        assert [line.partition(":")[0] for line in done.out.splitlines()] == labels


def test_the_date_that_carried_a_row_is_shown_as_a_date(holdfast):
    for week, day in enumerate(("2024-01-03", "2024-05-06")):
        dates = [f"2024-0{1 + 4 * (i % 2)}-0{1 + i % 7}" for i in range(60)]
        lines = [f"C{i},{'ABC'[i // 20]},{day if i == 2 else dates[i]}" for i in range(60)]
        Path(f"dates{week}.csv").write_text("\n".join(["customer,town,since", *lines]) + "\n")
    holdfast("fit", "dates0.csv", "-k", 2, "--id", "customer", "--model", "dates.holdfast")
    holdfast("follow", "dates.holdfast", "dates1.csv", "--lineage", "dates.lineage", "-o", "l.csv")
    done = holdfast("lineage", "dates.lineage", "--since", 1)
    assert done.out.splitlines()[1].split()[-3:] == ["since", "2024-01-03", "2024-05-06"]
    content = build_lineage_report(Lineage("dates.lineage")).content
    ((_, *seconds),) = content["moves"]["2"]["shown"][0]["columns"]
    assert np.array(seconds, dtype="M8[s]").astype("M8[D]").astype(str).tolist() == [
        "2024-01-03", "2024-05-06"
    ]  # fmt: skip
    assert (content["data"]["n_columns"], content["data"]["dates"]) == (2, ["since"])


def test_lineage_writes_a_page_and_a_picture(holdfast, series):
    done = holdfast("lineage", series, "--out", "p.html", "--plot", "p.png", "--level", 3)
    assert done.code == 0, done.err
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    page = Path("p.html").read_text(encoding="utf-8")
    assert "segments.lineage" in page
    assert "C042" in page
    holdfast("lineage", series, "--out", "q.html", "--no-rows")
    assert "C042" not in Path("q.html").read_text(encoding="utf-8")


WRONG = {
    "budget below 0": (["--budget", "-1%"], "--budget must be a fraction"),
    "budget above 1": (["--budget", "101%"], "--budget must be a fraction"),
    "no budget": (["--budget", "many"], "--budget must be a fraction"),
    "price": (["--price", "-1"], "--price must be a number of at least 0"),
    "levels": (["--levels", "0"], "--levels must be positive numbers"),
    "too many levels": (["--levels", "2,300"], "--levels must be at most"),
    "id": (["--id", "nobody"], "no column 'nobody'"),
    "id is a value": (["--id", "spend"], "column spend is one of those that the model clusters by"),
    "tolerance": (["--tolerance", "-5%"], "--tolerance must be a fraction"),
    "label": (["--label", "x"], "describe a release; add --lineage"),
    "same file": (["--model", "segments.holdfast"], "is the model that is followed; add --force"),
    "lineage is a file": (["--lineage", "week0.csv"], "it is not a folder of releases"),
    "labels in place of a lineage": (["--lineage", "l.csv"], "is the file of --out"),
    "folder of something else": (["--lineage", "."], "and no releases"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_use_is_one_line_and_writes_nothing(holdfast, model, what):
    options, text = WRONG[what]
    write_week(1)
    before = everything()
    done = holdfast("follow", model, "week1.csv", "-o", "l.csv", *options)
    assert done.code == 2, (done.out, done.err)
    assert text in done.err
    assert "Traceback" not in done.err
    assert everything() == before


def repeat_an_id(lines):
    return [*lines, lines[-1]]


def drop_a_column(lines):
    return [line.rpartition(",")[0] for line in lines]


def drop_the_ids(lines):
    return [line.partition(",")[2] for line in lines]


TABLES = {
    "repeated id": (repeat_an_id, "C094"),
    "missing id": (lambda lines: [*lines[:-1], lines[-1].replace("C094", "")], "id"),
    "other columns": (drop_a_column, "lacks 1 of the 2 columns that the model needs: visits"),
    "no ids": (drop_the_ids, "name the column that identifies rows with --id"),
    "too few rows": (lambda lines: lines[:3], "as many rows as there are clusters, 3; got 2"),
    "no rows": (lambda lines: lines[:1], "no rows"),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_wrong_table_is_one_line_and_writes_nothing(holdfast, model, what):
    change, text = TABLES[what]
    path = write_week(1)
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    before = everything()
    done = holdfast("follow", model, path, "-o", "l.csv", "--lineage", "s.lineage")
    assert done.code == 2, (done.out, done.err)
    assert text in done.err
    assert "Traceback" not in done.err
    assert everything() == before


def test_a_damaged_lineage_is_one_line_and_writes_nothing(holdfast, series):
    path = Path(series, "000001.release")
    whole = path.read_bytes()
    write_week(3)
    for damage in (whole[:-7], None, whole):
        path.unlink() if damage is None else path.write_bytes(damage)
        if damage == whole:
            Path(series, "000002.release").write_bytes(whole)
        before = everything()
        for command in (("lineage", series), ("follow", series, "week3.csv", "-o", "x.csv")):
            done = holdfast(*command)
            assert done.code == 2, (done.out, done.err)
            assert ".release cannot be loaded" in done.err
            assert "Traceback" not in done.err
        assert everything() == before


def test_questions_without_an_answer_are_one_line(holdfast, series):
    for options, text in (
        (["--of", "nobody"], "no release has a row with the id 'nobody'"),
        (["--cluster", 99], "no release has a cluster 99"),
        (["--since", "never"], "no release is called 'never'"),
        (["--since", "17"], "has 3 releases"),
        (["--level", 5, "--plot", "p.png"], "level must be one of 2, 3; got 5"),
        (["--level", 5, "--of", "C041"], "level must be one of 2, 3; got 5"),
        (["--level", 5, "--since", 1], "level must be one of 2, 3; got 5"),
        (["--of", "a", "--cluster", 1], "only one of"),
        (["--out", "page.txt"], "must end in one of"),
        (["--out", "p.html", "--title", "\udcff"], r"--title must be valid Unicode; got '\udcff'."),
    ):
        done = holdfast("lineage", series, *options)
        assert done.code == 2, (options, done.out, done.err)
        assert text in done.err
        assert not Path("p.png").exists()
    assert "--lineage nowhere` starts one" in holdfast("lineage", "nowhere").err
    assert "`holdfast follow` with --model FILE" in holdfast("cut", series, "-k", 2).err
    assert "`holdfast lineage` shows" in holdfast("report", series, "-o", "r.html").err
    assert "such as a model" in holdfast("report", "segments.holdfast", "-o", "r.html").err


def test_a_polished_fit_is_followed_under_the_names_that_it_wrote(holdfast):
    done = holdfast("fit", write_week(0), "-k", "2,5", "--id", "customer", "--polish", "--out",
                    "first.csv", "--model", "polished.holdfast", "--quiet")  # fmt: skip
    assert done.code == 0, done.err
    done = holdfast("cut", "polished.holdfast", "-k", 6)
    assert "has at most 5 clusters; --clusters asks for 6" in done.err
    assert "fit again with --clusters 6" in done.err
    found = load("polished.holdfast")
    assert found.hierarchy_.naming.levels == (2, 5)
    done = holdfast("follow", "polished.holdfast", write_week(0), "--out", "same.csv", "--lineage",
                    "polished.lineage")  # fmt: skip
    assert done.code == 0, done.err
    before, after = read_labels("first.csv"), read_labels("same.csv")
    for k in ("cluster_2", "cluster_5"):
        assert {id: row[k] for id, row in before.items()} == {id: r[k] for id, r in after.items()}
    assert Lineage("polished.lineage").moves().size == 0
    done = holdfast("fit", "week0.csv", "-k", "2", "--polish", "--chunked", "-o", "x.csv")
    assert done.code == 2
    assert "leave out --chunked" in done.err
