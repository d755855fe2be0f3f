"""The whole flow on the test profile: figures, pages, runs that resume, gaps that are said."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast_paper import datasets, reproduce
from holdfast_paper.config import PANELS
from holdfast_paper.plan import _load


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    return out, reproduce(out, profile="test", n_jobs=1, progress=False)


def test_every_figure_is_written(small_run):
    out, found = small_run
    assert set(found.records) == set(PANELS)
    for name in PANELS:
        assert (out / f"{name}.csv").stat().st_size > 0
        if name != "datasets":
            assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert b"<svg" in (out / f"{name}.svg").read_bytes()
    for name in ("line_protocols", "line_earth_mover", "cost_ratio"):
        assert (out / f"{name}.png").exists()


def test_page_lists_every_claim_with_its_figures(small_run):
    out, found = small_run
    page = (out / "claims.md").read_text()
    for verdict in found.verdicts:
        assert f"## {verdict.claim['id']} {verdict.claim['statement']}" in page
        assert verdict.claim["criterion"] in page
        if verdict.outcome is not None:
            assert verdict.outcome.figures in page


def test_run_is_described_without_places_of_this_machine(small_run):
    out, _ = small_run
    about = json.loads((out / "run.json").read_text())
    assert about["seed"] == 2025
    assert about["versions"]["holdfast"]
    assert str(out.parent) not in (out / "run.json").read_text()


def numbers(folder: Path) -> dict[str, object]:
    """Results of all cells, by name, without their times."""
    return {
        path.name: json.loads(path.read_text())["result"] for path in folder.rglob("cells/*.json")
    }


KILLED = """
import os, signal, sys
from pathlib import Path
from holdfast_paper import reproduce

out, replace = sys.argv[1], os.replace

def replace_or_die(part, whole):
    if Path(whole).parent.name == "cells" and len(list(Path(out).glob("cells/*.json"))) == 5:
        os.kill(os.getpid(), signal.SIGKILL)  # the sixth cell is written, under another name
    replace(part, whole)

os.replace = replace_or_die
reproduce(out, profile="test", n_jobs=1, panels=["line", "clnss"], progress=False)
"""


def test_a_killed_run_continues_with_equal_numbers(small_run, tmp_path):
    out, whole = small_run
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    before = numbers(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*.json")}
    assert len(before) == len(times) == 5
    assert not (tmp_path / "claims.md").exists()

    again = reproduce(tmp_path, profile="test", n_jobs=1, panels=["line", "clnss"], progress=False)
    wanted = numbers(out)
    after = numbers(tmp_path)
    assert after == {name: wanted[name] for name in after}
    assert before.items() <= after.items()
    assert all(path.stat().st_mtime_ns == old for path, old in times.items())  # not run again
    for panel in ("line", "clnss"):
        seen = [(r["method"], r["sensitivity"]) for r in again.records[panel]]
        assert seen == [(r["method"], r["sensitivity"]) for r in whole.records[panel]]


def test_number_of_processes_changes_no_number(small_run, tmp_path):
    out, _ = small_run
    reproduce(tmp_path, profile="test", n_jobs=2, panels=["wine"], progress=False)
    wanted, found = numbers(out), numbers(tmp_path)
    assert found == {name: wanted[name] for name in found}
    assert len(found) == 10


def test_a_damaged_cell_is_computed_again(tmp_path):
    reproduce(tmp_path, profile="test", n_jobs=1, panels=["clusterability"], progress=False)
    wanted = numbers(tmp_path)
    victim = next(tmp_path.rglob("cells/*iris*.json"))
    victim.write_text(victim.read_text()[:40])
    reproduce(tmp_path, profile="test", n_jobs=1, panels=["clusterability"], progress=False)
    assert numbers(tmp_path) == wanted


def test_a_failed_write_leaves_no_cell(tmp_path, monkeypatch):
    def full_disk(handle):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        reproduce(tmp_path, profile="test", n_jobs=1, panels=["clusterability"], progress=False)
    assert [path for path in (tmp_path / "cells").rglob("*") if path.is_file()] == []


def test_missing_data_sets_are_said_and_marked(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)
    _load.cache_clear()
    real = datasets.read_raw
    monkeypatch.setattr(datasets, "read_raw", lambda name, folder, _: real(name, folder, False))
    found = reproduce(
        tmp_path / "out",
        profile="test",
        n_jobs=1,
        data_dir=tmp_path,
        panels=["datasets", "sensitivity"],
    )
    said = capsys.readouterr().err
    assert "Continuing without wholesale" in said
    assert "Put yeast.csv" in said
    assert set(found.missing["sensitivity"]) == {"wholesale"}
    assert set(found.missing["datasets"]) == {"wholesale", "yeast", "yeast_mulan"}
    assert "missing: not found" in (tmp_path / "out" / "datasets.md").read_text()
    assert "data set not found" in (tmp_path / "out" / "sensitivity.svg").read_text()
    assert {record["data"] for record in found.records["sensitivity"]} == {"iris", "wine"}
    page = (tmp_path / "out" / "claims.md").read_text()
    assert "Without wholesale, which were not found." in page
    assert "*not measured*" in page


def test_store_tells_cells_apart_by_everything(small_run):
    out, _ = small_run
    names = [path.name for path in out.rglob("cells/*.json")]
    assert len(names) == len(set(names)) > 200


def test_raw_keeps_all_dimensions(small_run, tmp_path):
    _, prepared = small_run
    raw = reproduce(
        tmp_path, profile="test", n_jobs=1, panels=["datasets"], raw=True, progress=False
    )
    columns = {
        name: {record["data"]: record["prepared_columns"] for record in found.records["datasets"]}
        for name, found in (("raw", raw), ("prepared", prepared))
    }
    assert (columns["prepared"]["wdbc"], columns["raw"]["wdbc"]) == (3, 30)
    assert (columns["prepared"]["digits"], columns["raw"]["digits"]) == (3, 64)
    assert "--raw" in json.loads((tmp_path / "run.json").read_text())["command"]
