"""Records of costs and of clusterability -> whether a claim holds; see `rules`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from holdfast_paper.rules import Claim, NotMeasured, Outcome, Records

__all__ = ["COST_RULES"]

_FIRST_K = 2  # at k = 1 all methods are equal


def cost_ratio(claim: Claim, records: Records) -> Outcome:
    """Judge whether the mean cost ratio of two methods lies between two limits, on a share of the data sets."""
    inside, nearest, shown = 0, [], []
    sets = _data_sets(claim, records)
    for data in sets:
        ratio, error = _ratio(records, data, claim["method"], claim["other"])
        gap = min(ratio - claim["low"], claim["high"] - ratio)
        inside += gap >= 0.0
        nearest.append((gap, error))
        shown.append(f"{data} {ratio:.3f} ± {error:.3f}")
    needed = int(np.ceil(claim["share"] * len(sets) - 0.05))
    # The claim turns with the data set that ranks `needed`-th by its distance from the limits.
    margin, error = sorted(nearest, reverse=True)[needed - 1]
    figures = f"within {claim['low']:g} to {claim['high']:g} on {inside} of {len(sets)}: "
    return Outcome(margin, error, figures + ", ".join(shown))


def cost_worst(claim: Claim, records: Records) -> Outcome:
    """Judge whether a method costs more than the next worst one by a factor, on a share of the data sets."""
    gaps, shown, above = [], [], 0
    sets = _data_sets(claim, records)
    for data in sets:
        ratio, error, other = min(
            (*_ratio(records, data, claim["method"], other), other) for other in claim["others"]
        )
        gaps.append((ratio - claim["factor"], error))
        above += ratio >= claim["factor"]
        shown.append(f"{data} {ratio:.3f} ± {error:.3f} ({other})")
    needed = int(np.ceil(claim["share"] * len(sets) - 0.05))
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
            margins.append(-claim["share"])
            shown.append(f"{data}: DBSCAN finds no cluster, all rows are noise")
            continue
        ratios = np.array([row["min_inter"] / row["max_intra"] for row in rows])
        above, median = float((ratios > 1.0).mean()), float(np.median(ratios))
        margins.append(min(above - claim["share"], median - claim["ratio"]))
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


COST_RULES: Mapping[str, Callable[[Claim, Records], Outcome]] = MappingProxyType(
    {
        "cost_ratio": cost_ratio,
        "cost_worst": cost_worst,
        "cost_overtakes": cost_overtakes,
        "only_poor": only_poor,
        "clusterable": clusterable,
    }
)
