"""Each guarantee in docs/guarantees.md names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "guarantees.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/\S+?\.py)::(\w+)`", TEXT)))


def test_there_are_guarantees():
    assert len(NAMED) > 40


@pytest.mark.parametrize(("file", "name"), NAMED, ids=map("::".join, NAMED))
def test_named_test_exists(file: str, name: str):
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), flags=re.MULTILINE)


def test_every_guarantee_in_a_table_names_a_test():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    guarantees = [row for row in rows if not row.endswith("| test |") and "---" not in row]
    assert len(guarantees) > 30
    assert [row for row in guarantees if "::test_" not in row.rpartition(" | ")[2]] == []


def test_what_the_readme_promises_is_here():
    readme = (ROOT / "README.md").read_text()
    promised = re.findall(r"^- \*\*([\w ]+)\.\*\*", readme, flags=re.MULTILINE)
    assert {"Exact", "Keyed randomness", "History independence", "Lasting names"} <= set(promised)
    assert "docs/guarantees.md" in readme


def test_makefile_goals_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text()
    for goal in set(re.findall(r"`make (\w+)`", TEXT)):
        assert re.search(rf"^{goal}:", makefile, flags=re.MULTILINE), goal
