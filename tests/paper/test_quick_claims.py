"""What `holdfast reproduce --quick` runs, run: the claims that hold in the committed results hold."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast_paper import flow, reproduce
from holdfast_paper.claims import HOLDS, Verdict
from holdfast_paper.config import read_claims

PAGE = (Path(__file__).parents[2] / "results" / "claims.md").read_text(encoding="utf-8")
LASTING = re.findall(rf"^\| (\w+) \| .* \| \*{HOLDS}\*", PAGE, flags=re.MULTILINE)

# Quick has fewer trials, seeds and deletions than the committed run, so that a claim may miss its
# criterion by noise. Two standard errors of the margin: were it exactly 0, noise alone would go
# beyond once in 40 runs; the seed is fixed, so this only bounds how far a change may move it.
TOLERANCE = 2.0
# 2b compares roughnesses that lie within two standard errors of each other; with a tolerance, its
# test could not fail. Quick has all deletions and all seeds of the committed run for it: the two
# must agree, and no tolerance is due.
WITHOUT_TOLERANCE = ("2b",)


def test_as_many_claims_are_looked_at_as_the_page_counts():
    (count,) = re.findall(r"^(\d+) of (\d+) claims hold here", PAGE, flags=re.MULTILINE)
    assert (len(LASTING), len(read_claims())) == tuple(map(int, count))
    assert len(LASTING) >= 15


def test_claims_that_hold_keep_holding(tmp_path, subtests, monkeypatch):
    # Tables and figures are written in test_reproduce.py; they are a quarter of the work here.
    monkeypatch.setattr(flow, "_write_panel", lambda folder, panel, records, missing: None)
    # One test, so that two processes never run the experiments twice.
    found = reproduce(tmp_path, quick=True, n_jobs=1, progress=False)
    verdicts = {verdict.claim["id"]: verdict for verdict in found.verdicts}
    for claim in LASTING:
        with subtests.test(claim):
            check_holds(verdicts[claim], found.missing[verdicts[claim].claim["panel"]])
    for claim in WITHOUT_TOLERANCE:
        with subtests.test(f"{claim}, figures"):
            assert f"- figures: {verdicts[claim].outcome.figures}\n" in PAGE


def check_holds(verdict: Verdict, missing: Mapping[str, str]) -> None:
    if missing and "data" not in verdict.claim:
        pytest.skip(f"it speaks of all data sets; {' '.join(missing.values())}")
    assert verdict.outcome is not None, verdict.note
    tolerance = 0.0 if verdict.claim["id"] in WITHOUT_TOLERANCE else TOLERANCE
    highest = verdict.outcome.margin + tolerance * verdict.outcome.error
    assert highest >= 0.0, f"{verdict.claim['statement']} {verdict.outcome.figures}"
