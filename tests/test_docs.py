"""What the site promises and `make docs` does not check; it runs the examples and checks links."""

import ast
import importlib
import re
from pathlib import Path

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


def test_files_that_pages_name_exist():
    homes = ["", "src", "src/holdfast", "src/holdfast/report", "src/holdfast_paper/config"]
    homes += ["tests", "tests/laws", ".github/workflows"]
    named = re.compile(r"`([\w./]+\.(?:py|toml|yml|yaml|sh))(?::[^`]*)?`")
    absent = [
        f"{page.name}: {name}"
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        if not re.search(r"/(gallery|tutorials|api)/|commands.md", page.as_posix())
        for name in named.findall(page.read_text(encoding="utf-8"))
        if not any((ROOT / home / name).exists() for home in homes)
    ]
    assert not absent
