"""What the site promises and `make docs` does not check itself; that runs the examples and links."""

import ast
import csv
import importlib
import re
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "docs" / "lessons").glob("*.py")])


def test_the_gallery_lists_every_script():
    text = (ROOT / "docs" / "_site" / "gallery.py").read_text(encoding="utf-8")
    (order,) = re.findall(r"ORDER = \((.*?)\n\)", text, flags=re.DOTALL)
    assert sorted(re.findall(r'"(\w+)"', order)) == sorted(script.stem for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_a_title_a_picture_and_a_lesson(script):
    text = script.read_text(encoding="utf-8")
    title, line, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert len(line) == len(title)
    assert set(line) == {"="}
    assert text.count("\nplt.show()\n") >= 1
    assert text.rstrip().rpartition("# %%\n")[2].startswith("# **What was learned:** ")


def test_the_pictures_of_the_front_page_find_their_methods(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    front = importlib.import_module("_site.front")
    removed = front.read_table("benchmarks/frontier/frontier.md", "## All small data that judge")
    weekly = front.read_table("benchmarks/drift/drift.md", "## Windows")
    assert front.REMOVED.keys() <= removed.keys()
    assert front.WEEKLY.keys() <= weekly.keys()
    assert removed["Ward linkage"][:3] == [1.0, 1.0, 1.0]
    assert weekly["holdfast means, fitted again"][6] == 1.0


def test_pages_that_are_made_are_not_committed():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    text = (ROOT / "docs" / "_site" / "pages.py").read_text(encoding="utf-8")
    made = re.findall(r'^    "\S+": "(explanation/\w+\.md)",$', text, flags=re.MULTILINE)
    assert len(made) > 5
    for page in made:
        assert f"/docs/{page}" in ignored


RECORDED = (
    "benchmarks/results.md",
    "benchmarks/frontier/frontier.md",
    "benchmarks/drift/drift.md",
    "benchmarks/drift/year.md",
    "results/claims.md",
    *(f"benchmarks/recorded/{path.name}" for path in (ROOT / "benchmarks/recorded").glob("*.md")),
)
"""What committed commands wrote; `benchmarks/record.py` writes the last ones."""
SET_BY_HAND = {
    "": {"1%", "5%", "10%", "20%", "95%"},  # on every page: rows removed, budgets, intervals
    "docs/command_line.md": {"4%"},
    "docs/distributed.md": {"1 GB"},
    "docs/follow.md": {"4%"},
    "docs/report.md": {"2%", "80%", "0.25", "0.67", "0.85", "6 MB"},
    "docs/reproduction.md": {"9.42", "9.82"},  # the test of the table of protocols
}
"""Parameters, limits and definitions: figures that no command measures."""
_UNIT = r"(?:%|\s(?:s|ms|µs|MB|GB|kB|seconds|minutes?)\b)"
_FIGURE = re.compile(
    rf"(?<![\w.=/^-])\d[\d.,]*{_UNIT}|(?<![\w.])\d[\d.]* ± \d[\d.]*|(?<![\w.^])\d\.\d\d+(?![\w.])"
)


def figures_of(text):
    """Figures with a unit or an error, and numbers with two decimals; not those in code."""
    prose = re.sub(
        r"<!-- written by .*?<!-- end -->|^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE
    )
    prose = re.sub(r"`[^`]*`", "", prose)
    return {part for found in _FIGURE.findall(prose) for part in found.split(" ± ")}


def test_every_figure_on_a_page_was_recorded_by_a_command():
    """A figure that a later run no longer gives fails here, with the page that quotes it."""
    recorded = "".join((ROOT / name).read_text(encoding="utf-8") for name in RECORDED)
    known = set(re.findall(rf"\d[\d.,]*\d(?:{_UNIT})?|\d(?:{_UNIT})?", recorded))
    known |= {figure.rstrip("%") for figure in known}
    wrong = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = page.relative_to(ROOT).as_posix()
        if re.search(r"/(gallery|tutorials|api|explanation)/|/(commands|python)\.md", name):
            continue
        figures = (
            figures_of(page.read_text(encoding="utf-8"))
            - SET_BY_HAND[""]
            - SET_BY_HAND.get(name, set())
        )
        wrong += [(name, figure) for figure in sorted(figures) if figure not in known]
    assert not wrong, wrong


def test_the_table_of_protocols_follows_from_the_results():
    """The mean excess over the floor, from the CSV files of `make reproduce`."""
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    named = {"growing line": "line", "CLNSS instance": "clnss", "regression": "regression"}
    methods = {"Alg. 2, ε = 1": "tree_1", "Alg. 2, ε = 10": "tree_10", "CLNSS": "clnss"}
    shown = re.findall(
        r"^\|([^|]*)\| (Alg[^|]*|CLNSS) \| ([\d.]+) \| ([\d.]+) \|$", text, re.MULTILINE
    )
    assert len(shown) == 7
    data = ""
    for words, method, *figures in shown:
        if words.strip():
            data = next((v for k, v in named.items() if words.strip().startswith(k)), "wine")
        with (ROOT / "results" / f"{data}_protocols.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["method"] == methods[method]]
        deleted = "0.1" if data == "wine" else "1"
        for protocol, figure in zip(("rebuild", "fixed_tree"), figures, strict=True):
            excess = [
                float(row["sensitivity"]) - float(row["floor"])
                for row in rows
                if row["protocol"] == protocol and row["delete"] == deleted
            ]
            assert f"{fmean(excess):.2f}" == figure, (data, method, protocol)


def test_a_figure_that_was_not_recorded_is_found():
    text = "costs 0.976 and 1.9 GB, moves 2.1 ± 0.3, `0.11`\n```text\n0.22\n```\nin 3 s and 12%"
    assert figures_of(text) == {"0.976", "1.9 GB", "2.1", "0.3", "3 s", "12%"}
