"""The benchmarks run, finish, continue and report; no figure that they measure is tested here."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
RUN = BENCHMARKS / "run.py"

# All groups, with figures that follow known laws in the place of measured ones: everything but the
# measuring itself, within seconds and without the peers.
INVENTED = """
import sys
import chunks, run, startup, tasks

SECONDS = {
    "holdfast": lambda n: 1e-6 * n**1.1,
    "naive": lambda n: 1e-9 * n**3,
    "genie": lambda n: 1e-6 * n**1.1 / 0.15,
    "bisecting": lambda n: 1e-6 * n**1.1 / 0.5,
    "ward": lambda n: 1e-6 * n**1.1 / 0.02,
    "deletions": lambda n: 4e-6 * n**1.1,
    "audit": lambda n: 1.2e-6 * n**1.1,
    "refits": lambda n: 1e-6 * n**1.1,
    "update": lambda n: 5e-8 * n**1.1,
}

def invent_fit(task):
    seconds = SECONDS[task.clusterer](task.rows.n) * task.rows.d / 3
    first = 1.2 * seconds if task.clusterer == "holdfast" else seconds
    n = task.rows.n
    memory = {"peak": 200.0 * n, "kept": 50.0 * n, "freed": 10.0 * n, "reset": 1}
    return {"seconds": seconds, "first": first, **memory}

def invent_start(task):
    return {"cold": 9.0, "warm": 2.0, "ended": 2.5, "files": 5, "added": 0, "blocked": 0}

def invent_chunks(task):
    seconds = 1e-6 * task.n**1.1
    return {
        "seconds": seconds, "fit": seconds / 2, "label": seconds / 2, "cells": task.n / 10,
        "peak": 50.0 * task.n, "capped": 101.0, "whole": 100.0, "moved": 0.001,
    }

tasks.Fit.run = invent_fit
chunks.ChunkedFit.run = invent_chunks
startup.Import.run = lambda task: {"seconds": 1.0, "ended": 1.5}
startup.FirstFit.run = invent_start
run.find_missing = lambda tasks: []
sys.exit(run.main())
"""


def command(folder: Path, only: str, repeats: int) -> list[str]:
    size = ["--scale", "0.001", "--repeats", str(repeats)]
    return [sys.executable, str(RUN), "--only", only, *size, "--output", str(folder)]


def execute(call: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    merged = {**os.environ, **environment}
    return subprocess.run(call, env=merged, capture_output=True, text=True, check=False)


def check_table(folder: Path, printed: str) -> list[dict[str, Any]]:
    """Rows of a run, each of which must be in the printed table and in the report too."""
    rows = json.loads((folder / "results.json").read_text())["rows"]
    report = (folder / "results.md").read_text()
    for row in rows:
        assert row["what"] in printed
        assert f"| {row['what']}" in report
        assert row["value"] is not None or row["peer"] is not None
    judged = [row["met"] for row in rows if row["wanted"] is not None]
    last = printed.splitlines()[-1]
    assert last.startswith(f"{sum(judged)} of {len(judged)} wanted figures met")
    return rows


def test_table_of_all_groups_follows_from_the_figures(tmp_path: Path):
    call = [sys.executable, "-c", INVENTED, "--output", str(tmp_path)]
    done = execute(call, PYTHONPATH=os.pathsep.join([str(BENCHMARKS), *sys.path]))
    assert done.returncode == 0, done.stderr
    rows = check_table(tmp_path, done.stdout)
    verdicts = {row["what"]: row["met"] for row in rows if row["wanted"] is not None}
    assert verdicts == {
        "1,000,000 x 10, 100 centers, first run": True,
        "1,000,000 x 2, 256 centers, first run": True,
        "100,000 x 384 unit rows, 64 centers, first run": True,
        "10,000 x 784, 256 centers, first run": True,
        "2,000 x 10, 32 centers, after warm-up": True,
        "1,000,000 x 10, 100 centers: memory beyond the input": False,
        "exponent of time in n, 10,000 to 10,000,000": False,
        "exponent of time in d, 4 to 1,024": True,
        "1,000,000 x 3, whole hierarchy, epsilon 1, first run": True,
        "1,000,000 x 3, whole hierarchy, epsilon 1": True,
        "1,000,000 x 3, whole hierarchy, epsilon 0 (greedy), first run": False,
        "1,000,000 x 3, whole hierarchy, epsilon 0 (greedy)": False,
        "1,000,000 x 3, tree, 100 centers, first run": False,
        "1,000,000 x 3, tree, 100 centers": False,
        "1,000,000 x 10, 100 centers, medoids": True,
        "20,000 x 3, whole hierarchy": True,
        "100,000 x 3, every row deleted in turn, k = 2, 4, 8, 16": True,
        "1,000 x 3, ward: 40 deletions, k = 16": False,
        "1,000 x 3, average: 40 deletions, k = 16": False,
        "1,000 x 3, kmeans: 40 deletions, k = 16": False,
        "exponent of time, 10,000 to 3,000,000 rows": False,
        "1,000,000 x 3, whole hierarchy: memory beyond the input": False,
        "1,000,000 x 3, tree, 100 centers: memory beyond the input": False,
        "1,000,000 x 3: 1,000 rows added first, nothing asked, tree": True,
        "1,000,000 x 3: 1,000 rows added first, nothing asked, medoids": True,
        "1,000,000 x 3: 1,000 rows added first, nothing asked, means": True,
        "1,000,000 x 3: 1,000 rows removed first, nothing asked, tree": True,
        "1,000,000 x 3: 1,000 rows removed first, nothing asked, medoids": True,
        "1,000,000 x 3: 1,000 rows removed first, nothing asked, means": True,
        **{
            f"1,000,000 x 3: 1,000 rows {done} {when}, cut(100) of {what}": True
            for done in ("added", "removed")
            for when in ("first", "later")
            for what in ("100 centers", "the whole hierarchy")
        },
        "50,000,000 x 3 in chunks: peak memory": False,
        "exponent of time in chunks, 500,000 to 50,000,000 rows": True,
        "import holdfast": True,
        "from holdfast import HierarchicalKMedian": True,
        "first fit, means, beyond the bare imports, empty cache": False,
        "first fit, means, beyond the bare imports, warm cache": False,
        "first fit, tree, beyond the bare imports, empty cache": True,
        "first fit, tree, beyond the bare imports, warm cache": False,
        "first fit, package folder read-only, warm cache": False,
    }
    assert done.stdout.count("MISSED") == 17
    assert "met, aim not" in done.stdout
    figures = {row["what"]: row for row in rows}
    growth = figures["exponent of time, 10,000 to 3,000,000 rows"]["value"]
    assert growth == pytest.approx(1.1)
    assert figures["exponent of naive counting"]["peer"] == pytest.approx(3.0)
    extrapolated = [row["peer"] for row in rows if row["against"] == "naive, extrapolated"]
    assert extrapolated == [pytest.approx(1e9)]
    capped = figures["5,000,000 x 3 under a cap of 2,097,152: k-median cost, k = 100"]
    assert capped["ratio"] == pytest.approx(1.01)
    shown = {row["what"] for row in rows if row["wanted"] is None}
    for what in (
        "1,000,000 x 2, whole hierarchy",
        "1,000,000 x 10, whole hierarchy",
        "1,000,000 x 50, whole hierarchy",
        "1,000,000 x 3, whole hierarchy, epsilon 0.1",
        "1,000,000 x 3, whole hierarchy, epsilon 10",
        "1,000,000 x 3, heavy-tailed, whole hierarchy",
        "10,000,000 x 3, tree, 1,000 centers",
    ):
        assert what in shown


def test_times_are_the_best_of_two_runs_and_count_no_ending():
    code = """
import time
import measure, report, startup
assert report.format_range(report.Measured.over(1.0, [1.0, 1.25]), "s") == "1 s (1 to 1.25)"
assert report.format_range(report.Measured.over(1.0, [1.0, 1.0004]), "s") == "1 s"
pauses = iter([0.4, 0.2])
numbers = measure.measure_seconds(lambda: time.sleep(next(pauses)))
assert numbers["runs"] == 2 and 0.2 <= numbers["seconds"] < 0.4 <= numbers["first"], numbers
code = "import atexit, time; atexit.register(time.sleep, 1.0)"
numbers = startup.time_start(code)
assert numbers["ended"] - numbers["seconds"] >= 0.9, numbers
try:
    startup.time_start("raise SystemExit('broken')")
except startup.MeasurementError as error:
    assert "broken" in str(error)
else:
    raise AssertionError("a failed start was counted")
"""
    done = execute(
        [sys.executable, "-c", code], PYTHONPATH=os.pathsep.join([str(BENCHMARKS), *sys.path])
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Folder and printed table of a small run that needs no peer."""
    folder = tmp_path_factory.mktemp("results")
    done = execute(command(folder, "memory,naive", 1))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def test_table_of_a_measured_run_is_complete(measured: tuple[Path, str]):
    rows = check_table(*measured)
    assert {row["group"] for row in rows} == {"memory", "naive"}
    naive = [row for row in rows if row["group"] == "naive"]
    assert len(naive) == 6
    assert all(row["peer"] > 0 for row in naive)


def test_report_says_where_it_comes_from(measured: tuple[Path, str]):
    folder, _ = measured
    report = (folder / "results.md").read_text()
    for fact in ("date", "command", "CPU", "cores", "memory", "versions"):
        assert re.search(rf"^- {fact}: \S", report, flags=re.MULTILINE), fact
    assert (folder / "results.png").read_bytes().startswith(b"\x89PNG")
    assert not list((folder / "work").rglob("*.json"))


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_interrupted_run_continues(tmp_path: Path):
    call = command(tmp_path, "imports", 1)
    stored = tmp_path / "work" / "measured"
    with subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not list(stored.glob("*.json")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate()
    assert process.returncode == 130
    assert "run again to continue" in printed
    assert not (tmp_path / "results.md").exists()
    kept = {path: path.stat().st_mtime_ns for path in stored.glob("*.json")}
    assert 0 < len(kept) < 3

    again = execute(call)
    assert again.returncode == 0, again.stderr
    assert len(check_table(tmp_path, again.stdout)) == 2


def test_missing_peer_is_named(tmp_path: Path):
    script = "import sys; sys.modules['genieclust'] = None; import run; sys.exit(run.main())"
    call = [sys.executable, "-c", script, *command(tmp_path, "genie", 1)[2:]]
    done = execute(call, PYTHONPATH=os.pathsep.join([str(BENCHMARKS), *sys.path]))
    assert done.returncode == 1
    assert "Not installed: genieclust" in done.stderr
    assert "holdfast[bench,plot]" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "value"), [("--only", "genie,nobody"), ("--scale", "2"), ("--repeats", "0")]
)
def test_wrong_option_is_named(option: str, value: str):
    done = execute([sys.executable, str(RUN), option, value])
    assert done.returncode == 2
    assert option in done.stderr.splitlines()[-1]


def test_scripts_do_not_hide_packages():
    """Python finds scripts beside the one it runs first: Dask once imported benchmarks/sparse.py."""
    code = "import dask.array, distributed, pandas, pyarrow, sklearn.cluster"
    call = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); {code}"]
    assert subprocess.run(call, check=False, cwd="/").returncode == 0
