"""Part 5: which k and which epsilon, and why."""

from typing import Any

import numpy as np

from holdfast.parameters import settings_for
from holdfast.report.inputs import Inputs
from holdfast.report.numbers import format_share, list_numbers, round_number
from holdfast.stability import Suggestion, suggest_k, tune_epsilon

__all__ = ["count_searched_fits", "summarise_choosing"]

_MAX_COST_RATIO = 1.1
_TRIALS = 40  # of the Euclidean cost, for each epsilon
_SEARCHED = 11  # values of epsilon
_EPSILONS = {"tree": (0.01, 100.0), "medoids": (0.001, 10.0), "means": (0.001, 10.0)}


def summarise_choosing(inputs: Inputs) -> dict[str, Any]:
    """Curves against k and epsilon, each with a suggestion and its reason."""
    inputs.course.start("choosing k")
    about_k = _summarise_k(inputs)
    inputs.course.start("choosing epsilon")
    return {"k": about_k, "epsilon": _summarise_epsilon(inputs)}


def count_searched_fits(inputs: Inputs) -> int:
    """How many fits the search for epsilon takes, about: those of the tree follow from one."""
    trials = 1 if inputs.estimator.method == "tree" else _TRIALS
    return _SEARCHED * (trials + 1) * min(inputs.repeats, 5)


def _summarise_k(inputs: Inputs) -> dict[str, Any]:
    suggestion = suggest_k(
        inputs.estimator, inputs.rows, inputs.ks, delete=inputs.main_delete, trials=inputs.trials,
        repeats=inputs.repeats, n_jobs=inputs.n_jobs, random_state=inputs.seed,
        progress=inputs.progress,
    )  # fmt: skip
    interval = np.minimum(suggestion.result.interval()[0], 1.0)  # no more than all rows
    return {
        "k": list(suggestion.n_clusters),
        "mean": list_numbers(suggestion.mean, 4),
        "low": list_numbers(interval[:, 0], 4),
        "high": list_numbers(interval[:, 1], 4),
        "best": list(suggestion.best),
        "clear": list(suggestion.clear),
        "chosen": inputs.k,
        "suggested": _pick(suggestion),
        "reason": explain_k(suggestion),
    }


def _pick(suggestion: Suggestion) -> int | None:
    """Return the steadiest k that stands out from its neighbours, the smallest one set aside."""
    clear = [k for k, c in zip(suggestion.best, suggestion.clear, strict=True) if c]
    inner = [k for k in clear if k != suggestion.n_clusters[0]]
    return inner[0] if inner else None


def explain_k(suggestion: Suggestion) -> str:
    """Why this k, in words."""
    picked = _pick(suggestion)
    first = suggestion.n_clusters[0]
    if picked is None and first in suggestion.best:
        return (
            f"No k moves clearly less than both its neighbours. k = {first}, the smallest tried, "
            f"moves least, but few clusters are steady for most data: that says little. Choose by "
            f"use, and look at how well each cluster is found again."
        )
    if picked is None:
        return (
            "No k moves clearly less than its neighbours: the data have no preferred number of "
            "clusters in this range. Choose by use, and look at how well each cluster is found "
            "again."
        )
    index = suggestion.n_clusters.index(picked)
    share = format_share(float(suggestion.mean[index]))
    sides = "both neighbours" if index < len(suggestion.n_clusters) - 1 else "its neighbour"
    return (
        f"At k = {picked}, {share} of the rows that stay change cluster, less than at {sides} by "
        f"more than two standard errors."
    )


def _summarise_epsilon(inputs: Inputs) -> dict[str, Any]:
    """Measured on the compared rows, without one row at a time."""
    estimator = inputs.estimator
    search = tune_epsilon(
        estimator, inputs.rows[inputs.compared], inputs.k, max_cost_ratio=_MAX_COST_RATIO,
        epsilon_range=_EPSILONS[estimator.method], factor=3.2, refinements=2,
        trials="all" if estimator.method == "tree" else _TRIALS, repeats=min(inputs.repeats, 5),
        measure="moved", n_jobs=inputs.n_jobs, random_state=inputs.seed, progress=inputs.progress,
    )  # fmt: skip
    # "moved" counts the row that goes; the page speaks of the others.
    return {
        "epsilon": list_numbers(search.epsilons, 3),
        "moved": list_numbers(search.sensitivity - 1.0, 4),
        "standard_error": list_numbers(search.standard_error, 3),
        "cost_ratio": list_numbers(search.cost_ratio, 4),
        "limit": _MAX_COST_RATIO,
        "suggested": None if search.epsilon is None else round_number(search.epsilon, 3),
        "used": round_number(settings_for(estimator, inputs.rows).epsilon),
        "n_rows": int(inputs.compared.size),
        "reason": explain_epsilon(search.epsilon),
    }


def explain_epsilon(epsilon: float | None) -> str:
    """Why this epsilon, in words."""
    limit = round(100 * (_MAX_COST_RATIO - 1))
    if epsilon is None:
        return (
            f"No epsilon tried keeps the k-median cost within {limit}% of that of greedy centers "
            f"(epsilon 0) with the same seeds."
        )
    return (
        f"Epsilon {epsilon:.3g} moves least among the values tried whose k-median cost is at most "
        f"{limit}% above that of greedy centers (epsilon 0) with the same seeds."
    )
