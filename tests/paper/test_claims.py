"""Claims: what *close* means where fractions are counted, and that each verdict has a sentence."""

import re
from pathlib import Path

import numpy as np
import pytest

from holdfast_paper.claims import UNEXPLAINED, describe_verdicts, judge_claims
from holdfast_paper.config import read_claims
from holdfast_paper.rules import SENSITIVITY_RULES, _fraction_error

PAGE = (Path(__file__).parents[2] / "results" / "claims.md").read_text(encoding="utf-8")


def record(method: str, data: str, fraction: float, error: float) -> dict:
    return {
        "method": method, "title": method, "data": data, "delete": 1, "n_clusters": 4,
        "moved_fraction": fraction, "moved_fraction_error": error,
    }  # fmt: skip


def test_error_of_a_fraction_is_its_spread_over_repeats():
    rng = np.random.default_rng(11)
    gaps = np.array([-0.03, -0.01, 0.0, 0.004, 0.02, 0.5, -0.5])
    errors = np.array([0.02, 0.01, 0.01, 0.01, 0.02, 0.1, 0.0])
    drawn = gaps + errors * rng.normal(size=(200_000, gaps.size))
    # 200,000 draws: the standard deviation is known to 0.2%.
    assert _fraction_error(gaps, errors) == pytest.approx(
        (drawn >= 0.0).mean(axis=1).std(), rel=0.01
    )
    assert _fraction_error(gaps, 0.0 * errors) == 0.0


@pytest.mark.parametrize(("error", "close"), [(0.0001, False), (0.05, True)])
def test_fractions_are_close_only_where_pairs_are_unsure(error, close):
    gaps = [-0.02] * 5 + [0.02] * 5  # steadier in half of the pairs
    rows = [record("first", f"set {i}", 0.1 + gap, error) for i, gap in enumerate(gaps)]
    rows += [record("other", f"set {i}", 0.1, error) for i in range(10)]
    claim = {"id": "x", "method": "first", "others": ["other"], "fraction": 0.75}
    outcome = SENSITIVITY_RULES["more_stable"](claim, rows)
    assert outcome.margin == pytest.approx(-0.25)
    assert (abs(outcome.margin) < 2.0 * outcome.error) is close
    claim = {"id": "x", "methods": ["first", "other"], "limit": 0.03, "fraction": 0.9}
    outcome = SENSITIVITY_RULES["overlap"](claim, rows)
    assert outcome.margin == pytest.approx(0.1)
    assert (abs(outcome.margin) < 2.0 * outcome.error) is close


def test_an_outcome_without_an_explanation_says_so():
    claim = {
        "id": "x", "statement": "S.", "criterion": "C.", "rule": "more_stable", "panel": "p",
        "method": "first", "others": ["other"], "fraction": 0.75, "because": {"holds": "Why."},
    }  # fmt: skip
    for moved, sentence in ((0.0, "Why."), (0.2, UNEXPLAINED)):
        rows = [record("first", "set", moved, 0.0), record("other", "set", 0.1, 0.0)]
        page = describe_verdicts(judge_claims([claim], {"p": rows}, {}), "")
        assert page.endswith(f"\n- {sentence}\n")


def test_every_committed_verdict_has_a_sentence():
    parts = re.split(r"^## (\w+) ", PAGE, flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(sections) == [claim["id"] for claim in read_claims()]
    known = [sentence for claim in read_claims() for sentence in claim.get("because", {}).values()]
    for name, text in sections.items():
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        assert [line.split(":")[0] for line in lines[:3]] == [
            "- criterion",
            "- figures",
            "- verdict",
        ]
        (sentence,) = lines[3:]
        assert sentence.removeprefix("- ") in known, name
