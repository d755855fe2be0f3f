"""Claims of the paper and records -> verdicts, and the page that lists them.

The rules for costs and for clusterability are here, those for sensitivity in `rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast_paper.records import Record
from holdfast_paper.rules import SENSITIVITY_RULES, Claim, NotMeasured, Outcome, Records, Rule

HOLDS, FAILS, UNKNOWN = "holds", "does not hold here", "not measured"
UNEXPLAINED = "No explanation was prepared for this outcome."


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
        For each panel, the data sets that were not found.
    """
    return [_judge(claim, records, missing.get(claim["panel"], {})) for claim in claims]


def _judge(
    claim: dict[str, Any], records: Mapping[str, list[Record]], missing: Mapping[str, str]
) -> Verdict:
    wanted = claim.get("data")
    absent = [name for name in missing if wanted is None or name in wanted]
    gaps = f" Without {', '.join(absent)}, which were not found." if absent else ""
    try:
        outcome = RULES[claim["rule"]](claim, records[claim["panel"]])
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
            "error of a fraction of pairs takes the errors of the pairs as normal and independent. "
            "`tree` is Algorithm 2 of the paper. The reasons behind the verdicts: [reproduction.md](../docs/reproduction.md)."
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


_FIRST_K = 2  # at k = 1 all methods are equal


def cost_ratio(claim: Claim, records: Records) -> Outcome:
    """Judge whether the mean cost ratio of two methods lies between two limits, on a fraction of the data sets."""
    inside, nearest, shown = 0, [], []
    sets = _data_sets(claim, records)
    for data in sets:
        ratio, error = _ratio(records, data, claim["method"], claim["other"])
        gap = min(ratio - claim["low"], claim["high"] - ratio)
        inside += gap >= 0.0
        nearest.append((gap, error))
        shown.append(f"{data} {ratio:.3f} ± {error:.3f}")
    needed = int(np.ceil(claim["fraction"] * len(sets) - 0.05))
    # The claim turns with the data set that ranks `needed`-th by its distance from the limits.
    margin, error = sorted(nearest, reverse=True)[needed - 1]
    figures = f"within {claim['low']:g} to {claim['high']:g} on {inside} of {len(sets)}: "
    return Outcome(margin, error, figures + ", ".join(shown))


def cost_worst(claim: Claim, records: Records) -> Outcome:
    """Judge whether a method costs more than the next worst one by a factor, on a fraction of the data sets."""
    gaps, shown, above = [], [], 0
    sets = _data_sets(claim, records)
    for data in sets:
        ratio, error, other = min(
            (*_ratio(records, data, claim["method"], other), other) for other in claim["others"]
        )
        gaps.append((ratio - claim["factor"], error))
        above += ratio >= claim["factor"]
        shown.append(f"{data} {ratio:.3f} ± {error:.3f} ({other})")
    needed = int(np.ceil(claim["fraction"] * len(sets) - 0.05))
    margin, error = sorted(gaps, reverse=True)[needed - 1]
    figures = f"at least {claim['factor']:g} times the next worst on {above} of {len(sets)}: "
    return Outcome(margin, error, figures + ", ".join(shown))


def cost_overtakes(claim: Claim, records: Records) -> Outcome:
    """Judge whether a method costs more than another at a small k and less at a large one."""
    (data,) = _data_sets(claim, records)
    first = _curve(records, data, claim["method"])
    second = _curve(records, data, claim["other"])
    early, late = claim["early"], claim["late"]
    ratios = {k: first[k][0] / second[k][0] for k in (early, late)}
    errors = {k: first[k][1] / second[k][0] for k in (early, late)}
    below = [k for k in sorted(first) if k >= early and first[k][0] < second[k][0]]
    figures = (
        f"cost ratio {ratios[early]:.3f} ± {errors[early]:.3f} at k = {early}, {ratios[late]:.3f} ± "
        f"{errors[late]:.3f} at k = {late}; first below 1 at k = {below[0] if below else 'none'}"
    )
    return Outcome(
        *min((ratios[early] - 1.0, errors[early]), (1.0 - ratios[late], errors[late])), figures
    )


def only_poor(claim: Claim, records: Records) -> Outcome:
    """Judge whether one method costs much more than the best one, and no other does."""
    gaps, shown = [], []
    for data in _data_sets(claim, records):
        methods = [claim["method"], *claim["others"]]
        best = min(methods, key=lambda method: _ratio(records, data, method, methods[0])[0])
        ratios = {method: _ratio(records, data, method, best) for method in methods}
        for method, (ratio, error) in ratios.items():
            over = ratio - claim["factor"]
            gaps.append((over if method == claim["method"] else -over, error))
        listed = ", ".join(f"{method} {ratio:.3f}" for method, (ratio, _) in ratios.items())
        shown.append(f"{data}: {listed}")
    return Outcome(*min(gaps), "ratio to the best: " + "; ".join(shown))


def clusterable(claim: Claim, records: Records) -> Outcome:
    """Judge whether clusters are farther apart than the longest step within them, on each data set."""
    margins, shown = [], []
    for data in _data_sets(claim, records):
        rows = [record for record in records if record["data"] == data and record["max_intra"]]
        if not rows:
            margins.append(-claim["fraction"])
            shown.append(f"{data}: DBSCAN finds no cluster, all rows are noise")
            continue
        ratios = np.array([row["min_inter"] / row["max_intra"] for row in rows])
        above, median = float((ratios > 1.0).mean()), float(np.median(ratios))
        margins.append(min(above - claim["fraction"], median - claim["ratio"]))
        shown.append(
            f"{data}: {above:.0%} of {ratios.size} clusters above 1, median ratio {median:.2f}, "
            f"{(ratios > 2.0).mean():.0%} above 2"
        )
    return Outcome(min(margins), 0.0, "; ".join(shown))


def _data_sets(claim: Claim, records: Records) -> list[str]:
    wanted = claim.get("data")
    present = list(dict.fromkeys(record["data"] for record in records))
    found = [data for data in present if wanted is None or data in wanted]
    if not found:
        raise NotMeasured(f"claim {claim['id']}: none of its data sets is there")
    return found


def _curve(records: Records, data: str, method: str) -> dict[int, tuple[float, float]]:
    found = {
        record["n_clusters"]: (record["cost"], record["standard_error"])
        for record in records
        if record["data"] == data and record["method"] == method
    }
    if not found:
        raise NotMeasured(f"no cost of {method} on {data}")
    return found


def _ratio(records: Records, data: str, one: str, other: str) -> tuple[float, float]:
    """Geometric mean over k >= 2 of the cost ratio; its error as if all k erred together."""
    first, second = _curve(records, data, one), _curve(records, data, other)
    ks = [k for k in first if k >= _FIRST_K]
    logs = np.array([np.log(first[k][0] / second[k][0]) for k in ks])
    relative = np.array(
        [np.hypot(first[k][1] / first[k][0], second[k][1] / second[k][0]) for k in ks]
    )
    mean = float(np.exp(logs.mean()))
    return mean, mean * float(relative.mean())


RULES: dict[str, Rule] = {
    **SENSITIVITY_RULES,
    "cost_ratio": cost_ratio,
    "cost_worst": cost_worst,
    "cost_overtakes": cost_overtakes,
    "only_poor": only_poor,
    "clusterable": clusterable,
}
"""The rule of each kind of claim."""
