"""Records -> whether a claim holds: one function a kind of claim.

Each gets a claim (its table in claims.toml) and the records of its panel, and returns an `Outcome`.
The margin is positive where the claim holds; its error is the standard error, 0 where nothing is
random. Numbers of data sets count as they are.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from holdfast_paper.records import Record

Claim = Mapping[str, Any]
Records = list[Record]
_EQUAL = 1e-12  # fractions that differ by rounding only


class NotMeasured(LookupError):
    """The records that a claim is about are missing."""


@dataclass(frozen=True)
class Outcome:
    """What was found.

    Attributes
    ----------
    margin : float
        At least 0 where the claim holds.
    error : float
        Standard error of the margin.
    figures : str
        The numbers that say so.
    """

    margin: float
    error: float
    figures: str


def grows(claim: Claim, records: Records) -> Outcome:
    """Judge whether sensitivity grows linearly with the number of rows."""
    rows = _select(records, claim["method"])
    n, y = _column(rows, "n_rows"), _column(rows, "sensitivity")
    errors = _column(rows, "standard_error")
    centered = n - n.mean()
    slope = float(centered @ y / (centered @ centered))
    error = float(np.sqrt((centered**2) @ errors**2) / (centered @ centered))
    rest = y - y.mean() - slope * centered
    fit = 1.0 - float(rest @ rest) / float(((y - y.mean()) ** 2).sum())
    straight = fit >= claim["fit"]
    values = ", ".join(f"{value:.1f}" for value in y)
    figures = f"slope {slope:.3f} ± {error:.3f} rows a row, R² {fit:.4f}; {values} at n = "
    figures += ", ".join(f"{size:.0f}" for size in n)
    if not straight:
        return Outcome(fit - claim["fit"], 0.0, figures)
    return Outcome(slope - claim["slope"], error, figures)


def stays_low(claim: Claim, records: Records) -> Outcome:
    """Judge whether at the largest n, one of the methods is at most a fraction of a reference."""
    reference = _select(records, claim["reference"])[-1]
    best: tuple[float, float, str] | None = None
    shown = []
    for method in claim["methods"]:
        last = _select(records, method)[-1]
        ratio = last["sensitivity"] / reference["sensitivity"]
        error = last["standard_error"] / reference["sensitivity"]
        shown.append(f"{last['title']} {_with_error(last)}")
        if best is None or ratio < best[0]:
            best = (ratio, error, last["title"])
    assert best is not None
    figures = (
        f"at n = {reference['n_rows']}: {', '.join(shown)}; "
        f"{reference['title']} {_with_error(reference)}"
    )
    return Outcome(claim["fraction"] - best[0], best[1], figures)


def at_most(claim: Claim, records: Records) -> Outcome:
    """Judge whether moved rows never exceed a limit."""
    worst = max(
        (record for method in claim["methods"] for record in _select(records, method)),
        key=lambda record: record["moved"],
    )
    error = worst["standard_error"] / 2.0
    figures = (
        f"largest: {worst['title']} at k = {worst['n_clusters']}, {worst['moved']:.1f} ± {error:.1f} "
        f"moved rows (Eq. 1: {_with_error(worst)})"
    )
    return Outcome(claim["limit"] - worst["moved"], error, figures)


def smoother(claim: Claim, records: Records) -> Outcome:
    """Judge whether curves over k are smoother in the order of the methods."""
    found = [_roughness(_select(records, method)) for method in claim["methods"]]
    steps = [(a[0] - b[0], float(np.hypot(a[1], b[1]))) for a, b in itertools.pairwise(found)]
    labels = [_select(records, method)[0]["title"] for method in claim["methods"]]
    figures = "roughness " + ", ".join(
        f"{label} {value:.2f} ± {error:.2f}"
        for label, (value, error) in zip(labels, found, strict=True)
    )
    return Outcome(*min(steps), figures)


def _roughness(rows: Records) -> tuple[float, float]:
    """Mean absolute second difference over k, and its error by leaving out one seed at a time."""
    by_seed = np.array([record["_by_seed"] for record in rows])
    whole = _bend(by_seed.mean(axis=1))
    n_seeds = by_seed.shape[1]
    if n_seeds < 2:
        return whole, 0.0
    without = np.array(
        [_bend(np.delete(by_seed, seed, axis=1).mean(axis=1)) for seed in range(n_seeds)]
    )
    spread = (n_seeds - 1) / n_seeds * ((without - without.mean()) ** 2).sum()
    return whole, float(np.sqrt(spread))


def _bend(curve: NDArray[np.float64]) -> float:
    return float(np.abs(np.diff(curve, 2)).mean())


def slightly_worse(claim: Claim, records: Records) -> Outcome:
    """Judge whether a method moves more than another method, by no more than a limit."""
    first, second = _pair(claim, records, claim["method"], claim["other"])
    gap = float((_column(first, "moved_fraction") - _column(second, "moved_fraction")).mean())
    error = _mean_error(first, second)
    figures = (
        f"mean moved fraction {_mean_fraction(first):.4f} against {_mean_fraction(second):.4f}; "
        f"difference {gap:.4f} ± {error:.4f} over {len(first)} pairs"
    )
    return Outcome(min(gap, claim["limit"] - gap), error, figures)


def more_stable(claim: Claim, records: Records) -> Outcome:
    """Judge whether a method moves no more than each of the others, in a fraction of all pairs."""
    margins, shown = [], []
    for other in claim["others"]:
        first, second = _pair(claim, records, claim["method"], other)
        gap = _column(first, "moved_fraction") - _column(second, "moved_fraction")
        fraction = float((gap <= _EQUAL).mean())
        error = _fraction_error(-gap, _gap_errors(first, second))
        margins.append((fraction - claim["fraction"], error))
        shown.append(
            f"{second[0]['title']}: in {fraction:.0%} ± {error:.0%} of {len(first)} pairs, mean moved fraction "
            f"{_mean_fraction(first):.4f} against {_mean_fraction(second):.4f} "
            f"(± {_mean_error(first, second):.4f})"
        )
    return Outcome(*min(margins), "; ".join(shown))


def falls(claim: Claim, records: Records) -> Outcome:
    """Judge whether the mean moved fraction falls in the order of the methods."""
    steps, shown = [], []
    for before, after in zip(claim["methods"], claim["methods"][1:], strict=False):
        first, second = _pair(claim, records, before, after)
        steps.append((_mean_fraction(first) - _mean_fraction(second), _mean_error(first, second)))
        shown.append(
            f"{second[0]['title']} {_mean_fraction(second):.4f} after {first[0]['title']} "
            f"{_mean_fraction(first):.4f} (difference ± {steps[-1][1]:.4f})"
        )
    return Outcome(*min(steps), "mean moved fraction " + "; ".join(shown))


def overlap(claim: Claim, records: Records) -> Outcome:
    """Judge whether moved fractions of the methods differ little in a fraction of all pairs."""
    rows = [_pair(claim, records, claim["methods"][0], method)[1] for method in claim["methods"]]
    table = np.array([_column(one, "moved_fraction") for one in rows])
    errors = np.array([_column(one, "moved_fraction_error") for one in rows])
    spread = np.ptp(table, axis=0)
    ends, pairs = (table.argmin(axis=0), table.argmax(axis=0)), np.arange(spread.size)
    error = _fraction_error(
        claim["limit"] - spread, np.hypot(errors[ends[0], pairs], errors[ends[1], pairs])
    )
    fraction = float((spread <= claim["limit"]).mean())
    worst = rows[0][int(spread.argmax())]
    figures = (
        f"within {claim['limit']} in {fraction:.0%} ± {error:.0%} of {spread.size} pairs; largest difference "
        f"{spread.max():.4f} ({worst['data']}, delete {worst['delete']}), typical standard error "
        f"{errors.mean():.4f}"
    )
    return Outcome(fraction - claim["fraction"], error, figures)


def low_for_every_k(claim: Claim, records: Records) -> Outcome:
    """Judge whether the moved fraction is low for each k."""
    means = [_by_k(records, method) for method in claim["methods"]]
    value, error = max(found for by_k in means for found in by_k.values())
    return Outcome(claim["limit"] - value, error, _describe_ks(records, claim["methods"]))


def high_for_some_k(claim: Claim, records: Records) -> Outcome:
    """Judge whether each method has a k at which the moved fraction is not low."""
    worst = [max(_by_k(records, method).values()) for method in claim["methods"]]
    value, error = min(worst)
    return Outcome(value - claim["limit"], error, _describe_ks(records, claim["methods"]))


def _by_k(records: Records, method: str) -> dict[int, tuple[float, float]]:
    rows = _select(records, method)
    found = {}
    for k in sorted({row["n_clusters"] for row in rows}):
        chosen = [row for row in rows if row["n_clusters"] == k]
        error = float(np.sqrt((_column(chosen, "moved_fraction_error") ** 2).sum())) / len(chosen)
        found[k] = (_mean_fraction(chosen), error)
    return found


def _describe_ks(records: Records, methods: list[str]) -> str:
    shown = []
    for method in methods:
        values = ", ".join(
            f"{mean:.3f} ± {error:.3f} (k = {k})"
            for k, (mean, error) in _by_k(records, method).items()
        )
        shown.append(f"{_select(records, method)[0]['title']} {values}")
    return "moved fraction: " + "; ".join(shown)


def _select(records: Records, method: str) -> Records:
    """Points of a method: same seed, tree rebuilt, the k that the figure shows."""
    found = [
        record
        for record in records
        if record["method"] == method
        and record.get("protocol", "rebuild") == "rebuild"
        and record.get("coupling", "same_seed") == "same_seed"
        and record.get("_shown", True)
    ]
    if not found:
        raise NotMeasured(f"no record of {method}")
    return found


def _pair(claim: Claim, records: Records, one: str, other: str) -> tuple[Records, Records]:
    """Points of two methods at the same data sets and deletions."""
    place = ("data", "delete", "n_clusters")
    second = {tuple(record[key] for key in place): record for record in _select(records, other)}
    pairs = [
        (record, second[where])
        for record in _select(records, one)
        if (where := tuple(record[key] for key in place)) in second
    ]
    if not pairs:
        raise NotMeasured(f"claim {claim['id']}: {one} and {other} have no point in common")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _column(rows: Records, key: str) -> NDArray[np.float64]:
    return np.array([row[key] for row in rows], dtype=np.float64)


def _mean_fraction(rows: Records) -> float:
    return float(_column(rows, "moved_fraction").mean())


def _gap_errors(first: Records, second: Records) -> NDArray[np.float64]:
    errors: NDArray[np.float64] = np.hypot(
        _column(first, "moved_fraction_error"), _column(second, "moved_fraction_error")
    )
    return errors


def _mean_error(first: Records, second: Records) -> float:
    """Error of the mean difference; points as independent."""
    return float(np.sqrt((_gap_errors(first, second) ** 2).sum())) / len(first)


def _fraction_error(gaps: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Estimate the error of the fraction of points whose gap is at least 0, points as independent.

    Each point is on its side with the probability that a normal error leaves it there.
    """
    known = np.where(errors > 0.0, errors, 1.0)
    sure = np.where(errors > 0.0, ndtr(np.abs(gaps) / known), 1.0)
    return float(np.sqrt((sure * (1.0 - sure)).sum())) / gaps.size


def _with_error(record: Record) -> str:
    return f"{record['sensitivity']:.1f} ± {record['standard_error']:.1f}"


Rule = Callable[[Claim, Records], Outcome]

SENSITIVITY_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "grows": grows,
        "stays_low": stays_low,
        "at_most": at_most,
        "smoother": smoother,
        "slightly_worse": slightly_worse,
        "more_stable": more_stable,
        "falls": falls,
        "overlap": overlap,
        "low_for_every_k": low_for_every_k,
        "high_for_some_k": high_for_some_k,
    }
)
