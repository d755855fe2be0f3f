"""The frontier benchmark: its table follows from its figures, and its cells measure what they say."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "frontier"

# Cells with known numbers for every data set and method. Ward: cost 100, excess 10 and 20.
INVENTED = """
import sys
from pathlib import Path
from data import DATA
from methods import KS, METHODS
from report import write_report
from sources import DATA_NAMES, FROZEN, VARIANTS

LEVELS = {
    "Ward": (100.0, 10.0, 20.0),
    "refined (eps 0.01)": (98.0, 1.0, 8.0),
    "euclidean (eps 0.05)": (101.0, 3.0, 9.0),
    "KMeans": (99.0, 2.0, 9.5),
}
cells = {}
for data in DATA:
    for method in METHODS:
        cost, one, five = LEVELS.get(method.name, (120.0, 30.0, 40.0))
        if data.name == "uniform" and method.name == "FasterPAM":
            cost, one, five = 90.0, 0.5, 1.0
        cells[data.name, method.name] = {
            "n": 100, "d": 2, "exhaustive": method.name == "Ward",
            "cost": [[cost - 1.0, cost + 1.0]] * 3,
            "one": [[one - 0.5, one + 0.5]] * 3,
            "five": [[five - 0.5, five + 0.5]] * 3,
            "clusters": [[k] for k in KS],
        }
for data in DATA_NAMES:
    for variant in VARIANTS:
        found = {name: {"one": [[1.0] * 3] * 2, "five": [[2.0] * 3] * 2} for name in FROZEN}
        cells[data, f"sources: {variant}"] = {"n": 100, "found": found}
write_report(Path(sys.argv[1]), cells)
"""

# Two cells, small: a method with seeds and one without; and the library with nothing frozen.
MEASURED = """
import json
import numpy as np
from data import DATA, Data
from measure import QUICK, FULL, Effort, measure_cell
from methods import METHODS
from sources import PlainFreezer, Record, RefinedFreezer, measure_sources, run_variant
from holdfast import HierarchicalKMedian

rng = np.random.default_rng(0)
rows = rng.normal(size=(30, 2)) * 0.1 + 5.0 * np.arange(30)[:, None] // 10
data = Data("three groups", "made", lambda: rows)
by_name = {method.name: method for method in METHODS}
found = {name: measure_cell(data, by_name[name], QUICK) for name in ("Ward", "tree (eps 1)")}
found["all"] = measure_cell(data, by_name["Ward"], FULL)
for name, freezer in (("plain", PlainFreezer), ("refined", RefinedFreezer)):
    labels, _ = run_variant(
        name, np.ldexp(rows, -4), 4, 3, lambda places, freezer=freezer: freezer(places, (), Record())
    )
    model = HierarchicalKMedian(
        16, cost="euclidean", refine=name == "refined", max_centers=16, random_state=3
    ).fit(rows)
    cuts = [model.hierarchy_.cut(k) for k in (4, 8, 16)]
    found[name] = all((a == b).all() for a, b in zip(labels, cuts))
    found[name + " sources"] = measure_sources(data, name, QUICK)["found"]
print(json.dumps(found))
"""


def execute(script: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_report_follows_from_the_figures(tmp_path: Path):
    execute(INVENTED, str(tmp_path))
    text = (tmp_path / "frontier.md").read_text()
    lines = text.splitlines()
    assert "| refined (eps 0.01) | cost | 0.980 ± 0.005 |  | 1.02 | met |" in lines
    assert "| refined (eps 0.01) | excess, 1 row | 0.100 ± 0.019 | 0.10 | 0.2 | met |" in lines
    assert (
        "| euclidean (eps 0.05) | excess, 1 row | 0.300 ± 0.019 | 0.30 | 0.2 | **MISSED** |"
        in lines
    )
    better = text[text.index("## Where a peer is better") : text.index("## Where the movement")]
    rows = {line.split(" | ")[0]: line.split(" | ")[1:] for line in better.splitlines()}
    # KMeans beats the plain splits at one row only, and the refined ones nowhere.
    assert rows["| iris"] == ["KMeans (1 row)", "none |"]
    assert rows["| uniform"] == [
        "KMeans (1 row); FasterPAM (1 row, 5%)",
        "FasterPAM (1 row, 5%) |",
    ]
    with (tmp_path / "frontier.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == 20 * 18 * 3
    ward = [row for row in table if row["method"] == "Ward"]
    assert {float(row["cost_ratio"]) for row in ward} == {1.0}
    assert {float(row["excess_1_row_se"]) for row in ward} == {0.0}
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")


def test_cells_measure_what_they_say():
    found = json.loads(execute(MEASURED))
    assert found["plain"] is True
    assert found["refined"] is True
    # 30 rows, each deleted once: no sampling error is left. 5% of them are 2.
    assert found["all"]["exhaustive"] is True
    assert len(found["all"]["one"][0]) == 30
    assert len(found["all"]["five"][0]) == 100
    assert len(found["tree (eps 1)"]["one"][0]) == 2
    for name in ("Ward", "tree (eps 1)", "all"):
        assert found[name]["clusters"] == [[k] * len(found[name]["cost"][0]) for k in (4, 8, 16)]
        assert min(found[name]["one"][2] + found[name]["five"][2]) >= 0.0
    assert set(found["plain sources"]) == {"boundary", "which cluster", "which center", "all"}


def test_wrong_name_is_told():
    call = [sys.executable, str(FOLDER / "run.py"), "--data", "no such data"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--data takes names out of iris; wine" in done.stderr


@pytest.mark.parametrize("name", ["frontier.md", "frontier.csv", "frontier.png"])
def test_results_are_committed(name: str):
    assert (FOLDER / name).stat().st_size > 0
