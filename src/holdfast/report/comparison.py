"""Part 3: how much each method moves, and what it costs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.clusterers import Clusterer
from holdfast.report.inputs import Inputs
from holdfast.report.methods import OURS
from holdfast.report.numbers import list_numbers, round_number
from holdfast.stability import SensitivityResult, average_sensitivity, mean_cost
from holdfast.stability.keys import repeat_seeds

__all__ = ["MEASURE", "count_fits", "list_interval", "summarise_comparison"]

MEASURE = "moved_fraction"

_PEER_REPEATS = 5  # seeds of other randomised methods, whose fits take longer
_FEW_KS = 4  # for clusterers that are fitted again for each k


def summarise_comparison(inputs: Inputs) -> dict[str, Any]:
    """Sensitivity against deletions and against k, and the cost, for every method."""
    rows = inputs.rows[inputs.compared]
    methods, left_out = [], []
    for name, clusterer in inputs.methods.items():
        inputs.course.start(f"measuring {name}")
        try:
            methods.append(_measure_method(inputs, name, clusterer, rows))
        except RuntimeError as error:  # every fit of this method failed
            if name == OURS:
                raise
            left_out.append({"name": name, "reason": str(error)})
    return {
        "measure": MEASURE,
        "k": inputs.k,
        "main": _name_change(inputs.main_delete),
        "deletes": _describe_deletes(inputs, rows.shape[0]),
        "trials": inputs.trials,
        "n_rows": rows.shape[0],
        "sampled_from": inputs.rows.shape[0] if inputs.is_sampled else None,
        "methods": methods,
        "left_out": left_out,
    }


def _describe_deletes(inputs: Inputs, n_rows: int) -> list[dict[str, Any]]:
    """Name and number of rows of each change."""
    return [
        {
            "name": _name_change(amount),
            "rows": inputs.deleted_rows(amount, n_rows),
            "share": round_number(inputs.deleted_rows(amount, n_rows) / n_rows, 4),
        }
        for amount in inputs.deletes
    ]


def _name_change(amount: float) -> str:
    return f"{100 * amount:.6g}%" if isinstance(amount, float) else f"{amount}"


def _measure_method(
    inputs: Inputs, name: str, clusterer: Clusterer, rows: NDArray[np.float64]
) -> dict[str, Any]:
    """One method: a fit serves every k, or the curve against k has few of them."""
    main = inputs.deletes.index(inputs.main_delete)
    if clusterer.hierarchical:
        ks = inputs.ks
        result = _measure(inputs, clusterer, rows, ks, inputs.deletes)
        deletions = list_interval(result, range(len(inputs.deletes)), [ks.index(inputs.k)])
        against_k = list_interval(result, [main], range(len(ks)))
    else:
        ks = _few(inputs.ks, inputs.k)
        result = _measure(inputs, clusterer, rows, (inputs.k,), inputs.deletes)
        deletions = list_interval(result, range(len(inputs.deletes)), [0])
        result = _measure(inputs, clusterer, rows, ks, (inputs.main_delete,))
        against_k = list_interval(result, [0], range(len(ks)))
    seeds = repeat_seeds(inputs.seed, _count_seeds(inputs, clusterer))
    costs = mean_cost(clusterer, rows, n_clusters=ks, seeds=seeds)
    at = ks.index(inputs.k)
    return {
        "name": name,
        "ours": name == OURS or name.startswith(f"{OURS},"),
        "against_deletions": deletions,
        "against_k": {"k": list(ks), **against_k, "cost": list_numbers(costs)},
        "moved": deletions["mean"][main],
        "standard_error": deletions["standard_error"][main],
        "low": deletions["low"][main],
        "high": deletions["high"][main],
        "cost": round_number(costs[at]),
    }


def _measure(
    inputs: Inputs,
    clusterer: Clusterer,
    rows: NDArray[np.float64],
    ks: tuple[int, ...],
    deletes: tuple[int | float, ...],
) -> SensitivityResult:
    return average_sensitivity(
        clusterer, rows, n_clusters=ks, delete=list(deletes),
        trials=inputs.trials if clusterer.hierarchical else max(2, inputs.trials // 2),
        repeats=_count_seeds(inputs, clusterer), measure=MEASURE, n_jobs=inputs.n_jobs,
        random_state=inputs.seed, progress=inputs.progress,
    )  # fmt: skip


def count_fits(inputs: Inputs, clusterer: Clusterer) -> int:
    """How many fits the comparison takes of one method, about."""
    seeds = _count_seeds(inputs, clusterer) if clusterer.randomized else 1
    if clusterer.hierarchical:
        return seeds * inputs.trials * len(inputs.deletes)
    return seeds * max(2, inputs.trials // 2) * (len(inputs.deletes) + _FEW_KS + 1)


def _count_seeds(inputs: Inputs, clusterer: Clusterer) -> int:
    is_own = clusterer is inputs.methods[OURS]
    return inputs.repeats if is_own else min(inputs.repeats, _PEER_REPEATS)


def _few(ks: tuple[int, ...], k: int) -> tuple[int, ...]:
    spread = np.linspace(0, len(ks) - 1, min(_FEW_KS, len(ks))).round().astype(int)
    return tuple(sorted({*(ks[j] for j in spread), k}))


def list_interval(result: SensitivityResult, changes: Any, ks: Any) -> dict[str, Any]:
    """Mean, standard error and 95% interval along one line of the table of changes and ks."""
    c, j = np.array(list(changes))[:, None], np.array(list(ks))[None, :]
    interval = result.interval()
    if result.measure == "moved_fraction":
        interval = np.minimum(interval, 1.0)  # no more than all rows
    return {
        "mean": list_numbers(result.mean[c, j], 4),
        "standard_error": list_numbers(result.standard_error[c, j], 3),
        "low": list_numbers(interval[c, j, 0], 4),
        "high": list_numbers(interval[c, j, 1], 4),
    }
