"""The choice of k and epsilon: curves, a suggestion, and its reason."""

from dataclasses import replace
from typing import Any

import numpy as np

from holdfast._machine.work import ProgressOption
from holdfast.report.inputs import Inputs
from holdfast.report.page import format_fraction, list_numbers, round_number
from holdfast.report.verdict import CLEAR_SEPARATION, find_most_separated
from holdfast.stability import SensitivityResult, Suggestion, tune_epsilon
from holdfast.stability.selection import suggest_from

_MAX_COST_RATIO = 1.1
_HARDLY_MOVED = 0.01
_EPSILON_TRIALS = 8  # for each epsilon, where every trial is a fit
_EPSILON_SEEDS = 2
_EPSILON_COUNT = 7  # values that the search tries first
_EPSILON_RANGE = {"tree": (0.01, 100.0), "medoids": (0.001, 10.0), "means": (0.001, 10.0)}


def choose_k(inputs: Inputs, own: SensitivityResult, segments: dict[str, Any]) -> dict[str, Any]:
    """Describe movement against k on the compared rows, as `measure_own` found it."""
    main = inputs.deletes.index(inputs.main_delete)
    names = ("changes", "n_before", "n_after", "n_kept", "matched")
    chosen = {name: getattr(own, name)[main : main + 1] for name in names}
    suggestion = suggest_from(replace(own, **chosen, rand=None, jaccard=None))
    picked, stable_to = _pick(suggestion), _find_last_stable(suggestion)
    separated, separation = _find_separated(segments), segments["separation"]
    headline, reason = _explain_k(suggestion, picked, stable_to, separated, separation)
    interval = np.minimum(suggestion.result.interval()[0], 1.0)  # no more than all rows
    return {
        "k": list(suggestion.n_clusters),
        "mean": list_numbers(suggestion.mean, 4),
        "low": list_numbers(interval[:, 0], 4),
        "high": list_numbers(interval[:, 1], 4),
        "chosen": inputs.k,
        "suggested": picked,
        "stable_to": stable_to,
        "most_separated": separated,
        "headline": headline,
        "reason": reason,
    }


def _find_separated(segments: dict[str, Any]) -> int | None:
    """Return the best separated k if its segments are clearly separated, and larger k are worse."""
    best = find_most_separated(segments)
    if best in (None, segments["max_k"]) or segments["separation"][best - 1] < CLEAR_SEPARATION:
        return None
    return best


def _find_last_stable(suggestion: Suggestion) -> int | None:
    """Return the last k before movement clearly rises from next to nothing; None if it does not."""
    mean, error = suggestion.mean, suggestion.standard_error
    for j in range(len(suggestion.n_clusters) - 1):
        if not mean[j] <= _HARDLY_MOVED:
            return None
        rise = mean[j + 1] - mean[j]
        if mean[j + 1] > _HARDLY_MOVED and rise > 2.0 * np.hypot(error[j], error[j + 1]):
            return suggestion.n_clusters[j] if j > 0 else None
    return None


def _pick(suggestion: Suggestion) -> int | None:
    """Return the most stable k that is clearly better than its neighbors, never the smallest.

    It stands out only if no other k but the smallest moves less, by more than hardly anything.
    """
    clear = [k for k, c in zip(suggestion.best, suggestion.clear, strict=True) if c]
    inner = [k for k in clear if k != suggestion.n_clusters[0]]
    if not inner:
        return None
    moved = suggestion.mean[suggestion.n_clusters.index(inner[0])]
    return inner[0] if moved <= suggestion.mean[1:].min() + _HARDLY_MOVED else None


def _explain_k(
    suggestion: Suggestion, picked: int | None, stable_to: int | None, separated: int | None,
    separation: list[Any],
) -> tuple[str, str]:  # fmt: skip
    """Say in a few words, and in sentences, what the measurements say about k."""
    ks, mean = suggestion.n_clusters, suggestion.mean
    if picked is not None:
        index = ks.index(picked)
        sides = "both neighbors" if index < len(ks) - 1 else "its neighbor"
        headline = f"k = {picked} stands out"
        reason = (
            f"At k = {picked}, {format_fraction(float(mean[index]))} of the remaining rows change "
            f"cluster: less than at {sides}, by more than two standard errors."
        )
    elif stable_to is not None:
        index = ks.index(stable_to) + 1
        headline = f"Stable up to k = {stable_to}"
        reason = (
            f"Up to k = {stable_to}, at most {format_fraction(_HARDLY_MOVED)} of the remaining rows "
            f"change cluster; at k = {ks[index]}, {format_fraction(float(mean[index]))} do."
        )
    else:
        headline = "No k stands out" if separated is None else f"k = {separated} is best separated"
        reason = "No k moves clearly less than the others. "
        if mean[0] <= mean.min():
            reason += (
                f"The smallest one, k = {ks[0]}, moves least, but most data are stable in few "
                "clusters. "
            )
        reason += "Choose k for your purpose, and check how well each cluster is found again."
    if separated is not None:
        silhouette = f"mean silhouette {separation[separated - 1]:.2f}"
        reason += f" Separation is best at k = {separated} ({silhouette})."
    return headline, reason


def count_epsilon_fits(inputs: Inputs) -> int:
    """Return how many fits the search for epsilon takes; those of the tree follow from one."""
    trials = 1 if inputs.estimator.method == "tree" else _EPSILON_TRIALS
    return _EPSILON_COUNT * (trials + 1) * min(inputs.repeats, _EPSILON_SEEDS)


def choose_epsilon(inputs: Inputs, epsilon: float, progress: ProgressOption) -> dict[str, Any]:
    """Measure movement and cost against epsilon, one row removed at a time; mark the one used."""
    estimator = inputs.estimator
    search = tune_epsilon(
        estimator, inputs.rows[inputs.sample], inputs.k, max_cost_ratio=_MAX_COST_RATIO,
        epsilons=np.geomspace(*_EPSILON_RANGE[estimator.method], _EPSILON_COUNT), refinements=1,
        trials="all" if estimator.method == "tree" else _EPSILON_TRIALS,
        repeats=min(inputs.repeats, _EPSILON_SEEDS), measure="moved", n_jobs=inputs.n_jobs,
        random_state=inputs.seed, progress=progress,
    )  # fmt: skip
    # "moved" counts the removed row; the page counts the others.
    return {
        "epsilon": list_numbers(search.epsilons, 3),
        "moved": list_numbers(search.sensitivity - 1.0, 4),
        "standard_error": list_numbers(search.standard_error, 3),
        "cost_ratio": list_numbers(search.cost_ratio, 4),
        "suggested": None if search.epsilon is None else round_number(search.epsilon, 3),
        "used": round_number(epsilon),
        "n_rows": int(inputs.sample.size),
        "reason": _explain_epsilon(search.epsilon),
    }


def _explain_epsilon(epsilon: float | None) -> str:
    limit = f"{round(100 * (_MAX_COST_RATIO - 1))}% higher than with epsilon 0 (greedy centers)"
    if epsilon is None:
        return (
            f"With every epsilon tried, the k-median cost is more than {limit} and the same seeds."
        )
    return (
        f"Of the values tried whose k-median cost is at most {limit} and the same seeds, "
        f"{epsilon:.3g} moves least."
    )
