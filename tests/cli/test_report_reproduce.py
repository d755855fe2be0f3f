"""report, reproduce and demo hand over to the library."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from holdfast import TablePreparer
from holdfast.cli import app, measure
from holdfast.report import Report
from holdfast_paper.claims import Verdict
from holdfast_paper.flow import Reproduction

NUMBERS = ["height", "width", "count"]
SMALL = ("--trials", 2, "--repeats", 1, "--jobs", 1, "--methods", "ward", "--delete", "5%")


def test_report_writes_the_page_and_prints_the_verdict(holdfast, people, folder, monkeypatch):
    use = ("report", people, "--id", "id", "-k", 3, *SMALL, "--out", "page.html")
    done = holdfast(*use, "--json")
    assert done.code == 0, done.err
    assert (folder / "page.html").read_text().lower().startswith("<!doctype html>")
    record = json.loads(done.out)
    assert record["report"]["data"]["names"] == ["town: Bern", "town: Ulm", *NUMBERS]
    assert record["files"] == {"out": "page.html"}
    again = holdfast(*use)
    assert again.code == 2
    assert "exists; add --force" in again.err
    # The same report once more, without measuring it again.
    monkeypatch.setattr("holdfast.report.build_report", lambda *_, **__: Report(record["report"]))
    shown = holdfast(*use, "--force")
    verdict = record["report"]["verdict"]
    assert shown.out.startswith(f"{verdict['headline']}\n{verdict['sentence']}\n")
    assert verdict["findings"]
    assert all(f"\n{finding['text']}\n" in shown.out for finding in verdict["findings"])


def test_page_says_what_was_done_to_the_table(holdfast, people, folder):
    lines = people.read_text().splitlines()
    lines[1] = "p0,Bern,,0.5,1"
    people.write_text("\n".join(lines) + "\n")
    use = ("report", people, "--id", "id", "-k", 3, *SMALL, "-o", "page.html", "--json", "--quiet")
    done = holdfast(*use, "--drop-missing")
    assert done.code == 0, done.err
    content = json.loads(done.out)["report"]
    kept = pd.read_csv(people)[NUMBERS].dropna()
    treatments = TablePreparer().fit(kept).treatments_
    assert content["data"]["preparation"] == [
        "4 columns used: town, height, width, count.",
        "Rows are named by the column id.",
        "1 value missing in 1 row; these rows are left out and get no labels (height 1).",
        "town: category; 2 levels.",
        "Numbers are divided by a robust standard deviation: "
        + "; ".join(f"{t.name} {t.how.replace('divided ', '')}" for t in treatments)
        + ".",
    ]
    town = content["segments"]["categories"][0]
    assert (town["name"], sorted(town["levels"])) == ("town", ["Bern", "Ulm"])
    assert [fraction for _, fraction in town["most"][0]] == [0.508, 0.492]


def test_page_repeats_the_command_without_folders():
    words = ["report", "/home/ann/secret/a b.csv", "-k", "4", "x/y.csv", "--out=/home/ann/p.html"]
    shown = measure._describe_command(words)
    assert shown == "holdfast report 'a b.csv' -k 4 x/y.csv --out=p.html"


def test_report_without_rows_names_none(holdfast, people, folder):
    done = holdfast("report", people, "--id", "id", "-k", 3, *SMALL, "-o", "page.html", "--no-rows")
    assert done.code == 0, done.err
    page = (folder / "page.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["data"]["names"] == ["town: Bern", "town: Ulm", *NUMBERS]
    assert data["data"]["shows_rows"] is False
    assert [data["rows"], data["segments"]["points"], data["segments"]["centers"]] == [None] * 3
    assert '"p1"' not in page


def test_report_shows_gaps_that_were_filled(holdfast, people, folder):
    lines = people.read_text().splitlines()
    lines[1] = "p0,Bern,,0.5,1"
    people.write_text("\n".join(lines) + "\n")
    use = ("report", people, "--id", "id", "-k", 3, *SMALL, "-o", "page.html", "--json")
    done = holdfast(*use, "--impute", "median", "--quiet")
    assert done.code == 0, done.err
    points = json.loads(done.out)["report"]["segments"]["points"]
    assert points["ids"][0] == "p0"
    assert [column[0] for column in points["values"]] == [None, 0.5, 1]


def test_wrong_reports(holdfast, people):
    assert "name must end in one of .html" in holdfast("report", people, "--out", "page.pdf").err
    assert "needs the name of a file" in holdfast("report", people, "--out", "-").err
    done = holdfast("report", people, *SMALL, "-k", 59)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_reproduce_prints_verdicts(holdfast, folder, monkeypatch):
    claim = {"id": "1a", "statement": "It grows.", "panel": "line"}
    given = {}

    def run(out, **options):
        given.update(options, out=out)
        return Reproduction([Verdict(claim, "holds", None, "")], {}, {"line": {}}, {})

    monkeypatch.setattr("holdfast_paper.reproduce", run)
    done = holdfast("reproduce", "--quick", "--panels", "line,cost", "--out", "r", "--json")
    assert json.loads(done.out)["verdicts"] == [{"claim": claim, "verdict": "holds", "note": ""}]
    assert (given["quick"], given["panels"], given["out"]) == (True, ["line", "cost"], "r")
    shown = holdfast("reproduce")
    assert shown.out.splitlines()[1].split() == ["1a", "holds", "It", "grows."]


def test_reproduce_tells_wrong_panels(holdfast):
    wrong = holdfast("reproduce", "--panels", "nothing")
    assert wrong.code == 2
    assert "panels must be among" in wrong.err


def test_a_missing_package_is_told(holdfast, monkeypatch):
    def run(out, **options):
        raise ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure")

    monkeypatch.setattr("holdfast_paper.reproduce", run)
    done = holdfast("reproduce")
    assert done.code == 1
    assert "needs the package matplotlib, which is not installed" in done.err


def test_demo_writes_its_data(holdfast, folder):
    done = holdfast("demo", "--data", "wine.parquet", "--json")
    assert json.loads(done.out)["n_rows"] == 178
    assert holdfast("demo", "--data", "wine.csv").code == 0
    assert pa.csv.read_csv("wine.csv").num_columns == 13
    assert holdfast("demo", "--data", "wine.csv").code == 2
    (folder / "demo-report.html").write_text("mine")
    assert "exists; add --force" in holdfast("demo").err


def test_all_commands_are_there():
    names = {"fit", "predict", "cut", "audit", "tune", "match", "report", "reproduce", "demo"}
    registered = {command.name for command in app.app.registered_commands}
    assert names <= registered
