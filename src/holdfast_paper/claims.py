"""Claims of the paper and records -> verdicts, and the page that lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast_paper.cost_rules import COST_RULES
from holdfast_paper.rules import SENSITIVITY_RULES, NotMeasured, Outcome
from holdfast_paper.tidy import Record

__all__ = ["HOLDS", "UNEXPLAINED", "Verdict", "describe_verdicts", "judge_claims"]

HOLDS, FAILS, UNKNOWN = "holds", "does not hold here", "not measured"
UNEXPLAINED = "No explanation was prepared for this outcome."
_RULES = {**SENSITIVITY_RULES, **COST_RULES}


@dataclass(frozen=True)
class Verdict:
    """A claim and what was found.

    Attributes
    ----------
    claim : dict
        Its table in claims.toml.
    verdict : {"holds", "does not hold here", "not measured"}
    outcome : Outcome or None
    note : str
        A sentence of explanation: from the claim, or that there is none, or why nothing was
        measured.
    """

    claim: Mapping[str, Any]
    verdict: str
    outcome: Outcome | None
    note: str

    @property
    def is_close(self) -> bool:
        """Whether the margin is within two standard errors of 0."""
        return self.outcome is not None and abs(self.outcome.margin) < 2.0 * self.outcome.error


def judge_claims(
    claims: list[dict[str, Any]],
    records: Mapping[str, list[Record]],
    missing: Mapping[str, Mapping[str, str]],
) -> list[Verdict]:
    """Judge every claim by the records of its panel.

    Parameters
    ----------
    claims : list of dict
        From `read_claims`.
    records : dict of str to list of Record
        For each panel that was run.
    missing : dict of str to dict
        For each panel, the data sets that were not at hand.
    """
    return [_judge(claim, records, missing.get(claim["panel"], {})) for claim in claims]


def _judge(
    claim: dict[str, Any], records: Mapping[str, list[Record]], missing: Mapping[str, str]
) -> Verdict:
    wanted = claim.get("data")
    absent = [name for name in missing if wanted is None or name in wanted]
    gaps = f" Without {', '.join(absent)}, which were not at hand." if absent else ""
    try:
        outcome = _RULES[claim["rule"]](claim, records[claim["panel"]])
    except (NotMeasured, KeyError) as error:
        return Verdict(claim, UNKNOWN, None, f"Its figure was not run ({error}).{gaps}")
    holds = outcome.margin >= 0.0
    why = claim.get("because", {}).get("holds" if holds else "fails", UNEXPLAINED)
    return Verdict(claim, HOLDS if holds else FAILS, outcome, why + gaps)


def describe_verdicts(verdicts: list[Verdict], how: str) -> str:
    """Write the page: how it was made, a table, then each claim with its figures."""
    held = sum(verdict.verdict == HOLDS for verdict in verdicts)
    lines = [
        "# The paper's claims, measured",
        "",
        how,
        "",
        (
            f"{held} of {len(verdicts)} claims hold here. Criteria are in "
            "`src/holdfast_paper/config/claims.toml`, fixed before the run. ± is one standard "
            "error; *close* means that the distance from the criterion is within two of them. The "
            "error of a share of pairs takes the errors of the pairs as normal and independent. What "
            "is behind the verdicts: [reproduction.md](../docs/reproduction.md)."
        ),
        "",
        "| claim | | verdict |",
        "| --- | --- | --- |",
    ]
    for verdict in verdicts:
        close = " (close)" if verdict.is_close else ""
        lines.append(
            f"| {verdict.claim['id']} | {verdict.claim['statement']} | *{verdict.verdict}*{close} |"
        )
    for verdict in verdicts:
        claim = verdict.claim
        lines += ["", f"## {claim['id']} {claim['statement']}", ""]
        lines.append(f"- criterion: {claim['criterion']}")
        if verdict.outcome is not None:
            lines.append(f"- figures: {verdict.outcome.figures}")
        lines.append(f"- verdict: *{verdict.verdict}*{' (close)' if verdict.is_close else ''}")
        lines.append(f"- {verdict.note.strip()}")
    return "\n".join(lines) + "\n"
