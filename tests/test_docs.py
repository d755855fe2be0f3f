"""What the site promises and `make docs` does not check itself; that runs the examples and links."""

import ast
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


def test_pages_that_are_made_are_not_committed():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    text = (ROOT / "docs" / "_site" / "pages.py").read_text(encoding="utf-8")
    made = re.findall(r'^    "\S+": "(explanation/\w+\.md)",$', text, flags=re.MULTILINE)
    assert len(made) > 5
    for page in made:
        assert f"/docs/{page}" in ignored


RECORDED = ("benchmarks/frontier/frontier.md", "benchmarks/drift/drift.md", "results/claims.md")
MEASURED_BY = {
    "README.md": "make demo",
    "docs/measured_laws.md": "tests/laws",
    "docs/reproduction.md": "make reproduce",
}
"""Pages that quote figures of no recorded table, and the command that they name for them."""


def quoted_figures(text):
    """Figures with a standard error, outside of what a command writes."""
    prose = re.sub(r"<!-- written by .*?<!-- end -->", "", text, flags=re.DOTALL)
    return re.findall(r"\d[\d.]*%? ± \d[\d.]*%?", prose)


def test_figures_in_the_prose_are_recorded_or_name_their_command():
    recorded = "".join((ROOT / name).read_text(encoding="utf-8") for name in RECORDED)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = page.relative_to(ROOT).as_posix()
        if any(part in name for part in ("/gallery/", "/tutorials/", "/api/", "/explanation/")):
            continue
        text = page.read_text(encoding="utf-8")
        missing = [figure for figure in quoted_figures(text) if figure not in recorded]
        assert not missing or MEASURED_BY.get(name, "no command is known") in text, (name, missing)
