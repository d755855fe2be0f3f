"""Movement: how much each method moves when rows are removed, what it costs, and which rows matter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats
from holdfast._machine.work import Progress, ProgressOption
from holdfast.clusterers import HOLDFAST_METHODS
from holdfast.hierarchy import Hierarchy
from holdfast.report.inputs import ComparedMethod, Inputs
from holdfast.report.page import list_numbers, round_number
from holdfast.report.segments import Shown
from holdfast.stability import SensitivityResult, average_sensitivity, cost_by_seed, row_influence
from holdfast.stability.measures import mean_error
from holdfast.stability.plan import describe_amount, repeat_seeds
from holdfast.stability.run import limit_threads

MEASURE = "moved_fraction"

_REFERENCE = "ward"  # costs are given relative to it where it is compared
_PEER_REPEATS = 3  # random states of other methods
_FEW_KS = 4  # for clusterers that are fitted again for each k
_LISTED = 10  # rows to look at
_MAX_LEFT_OUT = 100  # for each seed; each leaves one row out
_MAX_SEEDS = 2


def measure_own(inputs: Inputs, progress: Progress) -> SensitivityResult:
    """Measure the report's own method, for all amounts of rows and all k."""
    rows = inputs.rows[inputs.sample]
    return _measure(inputs, inputs.methods[0], rows, inputs.ks, inputs.deletes, progress)


def compare_methods(inputs: Inputs, own: SensitivityResult, progress: Progress) -> dict[str, Any]:
    """Measure all methods on the rows of `own`: movement against deletions and k, and cost."""
    rows = inputs.rows[inputs.sample]
    measured, left_out = [], []
    for method in inputs.methods:
        finished = progress.done + (0 if method.is_own else count_fits(inputs, method))
        try:
            measured.append(_describe_method(inputs, method, rows, own, progress))
        except RuntimeError as error:  # every fit of this method failed
            left_out.append({"name": method.name, "title": method.title, "reason": str(error)})
        progress.advance(finished - progress.done)  # what a failed method left undone
    reference = next((m for m in measured if m["name"] == _REFERENCE), measured[0])
    for entry in measured:
        _relate_costs(entry, reference)
    return {
        "measure": MEASURE,
        "k": inputs.k,
        "main": describe_amount(inputs.main_delete),
        "deletes": _describe_deletes(inputs),
        "trials": inputs.trials,
        "n_rows": rows.shape[0],
        "sampled_from": inputs.rows.shape[0] if inputs.is_sampled else None,
        "cost_reference": reference["title"],
        "methods": measured,
        "left_out": left_out,
    }


def count_fits(inputs: Inputs, method: ComparedMethod) -> int:
    """Return how many fits the comparison takes of one method."""
    seeds = _count_seeds(inputs, method) if method.clusterer.randomized else 1
    n_changes = len(inputs.deletes)
    if not method.clusterer.hierarchical:  # a fit for each k, and a curve against k of its own
        n_changes += len(_spread_ks(inputs.ks, inputs.k))
    return seeds * _count_trials(inputs, method) * n_changes


def _list_interval(result: SensitivityResult, line: Any) -> dict[str, Any]:
    """List mean, standard error and 95% interval along one line of the table of changes and ks."""
    interval = np.minimum(result.interval()[line], 1.0)  # no more than all rows
    return {
        "mean": list_numbers(result.mean[line], 4),
        "standard_error": list_numbers(result.standard_error[line], 3),
        "low": list_numbers(interval[:, 0], 4),
        "high": list_numbers(interval[:, 1], 4),
    }


def _describe_deletes(inputs: Inputs) -> list[dict[str, Any]]:
    """Name, number and fraction of the rows that each change removes."""
    return [
        {
            "name": describe_amount(amount),
            "rows": inputs.count_deleted(amount),
            "fraction": round_number(inputs.count_deleted(amount) / inputs.sample.size, 4),
        }
        for amount in inputs.deletes
    ]


def _describe_method(
    inputs: Inputs,
    method: ComparedMethod,
    rows: Floats,
    own: SensitivityResult,
    progress: Progress,
) -> dict[str, Any]:
    """Measure one method. Without a hierarchy, the curve against k has few points."""
    ks, main = inputs.ks, inputs.deletes.index(inputs.main_delete)
    if method.is_own:
        result = along_k = own
    elif method.clusterer.hierarchical:
        result = along_k = _measure(inputs, method, rows, ks, inputs.deletes, progress)
    else:
        ks = _spread_ks(ks, inputs.k)
        result = _measure(inputs, method, rows, (inputs.k,), inputs.deletes, progress)
        along_k = _measure(inputs, method, rows, ks, (inputs.main_delete,), progress)
    deletions = _list_interval(result, np.s_[:, result.n_clusters.index(inputs.k)])
    against_k = _list_interval(along_k, main if along_k is result else 0)
    seeds = repeat_seeds(inputs.seed, _count_seeds(inputs, method))
    costs = cost_by_seed(method.clusterer, rows, n_clusters=ks, seeds=seeds).mean(axis=0)
    with limit_threads():
        labels = np.asarray(method.clusterer.fit(rows, inputs.seed).cut(inputs.k))
    largest = np.unique(labels, return_counts=True)[1].max() / labels.size
    sibling = "holdfast" if method.name in HOLDFAST_METHODS else "other"
    return {
        "name": method.name,
        "title": method.title,
        "kind": "own" if method.is_own else sibling,
        "against_deletions": deletions,
        "against_k": {"k": list(ks), **against_k, "cost": list_numbers(costs)},
        "moved": deletions["mean"][main],
        **{name: deletions[name][main] for name in ("standard_error", "low", "high")},
        "cost": round_number(costs[ks.index(inputs.k)]),
        "largest": round_number(largest, 3),
        "difference": _compare_trials(inputs, result, own),
    }


def _compare_trials(
    inputs: Inputs, result: SensitivityResult, own: SensitivityResult
) -> dict[str, Any]:
    """Return how much more a method moves than the report's own, with a 95% interval.

    Trial by trial: the same rows are removed for every method, which tells more than two intervals.
    """
    main = inputs.deletes.index(inputs.main_delete)
    theirs, ours = (r.values[main, r.n_clusters.index(inputs.k)] for r in (result, own))
    n_trials = min(len(theirs), len(ours))
    seeds = {theirs.shape[1], ours.shape[1]} - {1}  # one without seeds stands beside each seed
    n_seeds = min(seeds, default=1)
    found = mean_error(theirs[:n_trials, :n_seeds] - ours[:n_trials, :n_seeds], exhaustive=False)
    numbers = list_numbers([found.mean, *found.interval()], 4)
    return dict(zip(("mean", "low", "high"), numbers, strict=True))


def _relate_costs(entry: dict[str, Any], reference: dict[str, Any]) -> None:
    """Add costs as multiples of the reference's; None where it has none."""
    entry["relative_cost"] = _ratio(entry["cost"], reference["cost"])
    known = dict(zip(reference["against_k"]["k"], reference["against_k"]["cost"], strict=True))
    own = entry["against_k"]
    own["relative_cost"] = [
        _ratio(cost, known.get(k)) for k, cost in zip(own["k"], own["cost"], strict=True)
    ]


def _ratio(value: float, reference: float | None) -> float | int | None:
    if reference is None:
        return None
    if reference == 0.0:  # rows at no more places than clusters
        return 1 if value == 0.0 else None
    return round_number(value / reference, 4)


def _measure(
    inputs: Inputs, method: ComparedMethod, rows: Floats, ks: tuple[int, ...],
    deletes: tuple[int | float, ...], progress: Progress,
) -> SensitivityResult:  # fmt: skip
    trials, repeats = _count_trials(inputs, method), _count_seeds(inputs, method)
    n_fits = trials * len(deletes) * (repeats if method.clusterer.randomized else 1)
    n_fits *= 1 if method.clusterer.hierarchical else len(ks)
    result = average_sensitivity(
        method.clusterer, rows, n_clusters=ks, delete=list(deletes), trials=trials,
        repeats=repeats, n_jobs=inputs.n_jobs, random_state=inputs.seed,
        progress=progress.part(f"measuring {method.title}", n_fits),
    )  # fmt: skip
    progress.advance(n_fits)
    return result


def _count_trials(inputs: Inputs, method: ComparedMethod) -> int:
    return inputs.trials if method.clusterer.hierarchical else max(2, inputs.trials // 2)


def _count_seeds(inputs: Inputs, method: ComparedMethod) -> int:
    return inputs.repeats if method.is_own else min(inputs.repeats, _PEER_REPEATS)


def _spread_ks(ks: tuple[int, ...], k: int) -> tuple[int, ...]:
    spread = np.linspace(0, len(ks) - 1, min(_FEW_KS, len(ks))).round().astype(int)
    return tuple(sorted({*(ks[j] for j in spread), k}))


def find_rows(
    inputs: Inputs, hierarchy: Hierarchy, shown: Shown, progress: ProgressOption
) -> dict[str, Any]:
    """List the most influential and the most unstable rows, on average over seeds.

    The influence of a row is the number of *other* rows that change cluster when it is removed.
    The tree knows it for every row; otherwise, some rows are left out in turn.
    """
    n_measured = int(inputs.sample.size)
    n_left_out = min(n_measured, _MAX_LEFT_OUT)
    is_all = n_left_out == n_measured
    measured = row_influence(
        inputs.estimator, inputs.rows[inputs.sample], inputs.k,
        trials="all" if is_all else n_left_out, repeats=_count_row_seeds(inputs), measure="moved",
        n_jobs=inputs.n_jobs, random_state=inputs.seed, progress=progress,
    )  # fmt: skip
    n_rows, labels = inputs.rows.shape[0], hierarchy.cut(inputs.k)
    influence, instability = np.full((2, n_rows), np.nan)
    instability[inputs.sample] = measured.instability
    if inputs.estimator.method == "tree" and n_left_out < n_rows:
        influence, n_known = _all_influences(inputs), n_rows
    else:
        influence[inputs.sample] = measured.influence - measured.floor
        n_known = n_left_out
    return {
        "k": inputs.k,
        "n_rows": n_rows,
        "n_seeds": _count_row_seeds(inputs),
        "n_left_out": n_left_out,
        "n_measured": n_measured,
        "n_influence_known": n_known,
        "n_influential": int((influence > 0).sum()),
        "n_unstable": int((instability > 0).sum()),
        "influential": _list_rows(inputs, influence, labels, shown),
        "unstable": _list_rows(inputs, instability, labels, shown),
    }


def named_rows(found: dict[str, Any] | None) -> NDArray[np.int64]:
    """Return the rows in either list."""
    if found is None:
        return np.empty(0, dtype=np.int64)
    named = [entry["row"] for part in ("influential", "unstable") for entry in found[part]]
    return np.array(sorted({*named}), dtype=np.int64)


def count_refits(inputs: Inputs) -> int:
    """Return how many fits `find_rows` takes."""
    return _count_row_seeds(inputs) * min(int(inputs.sample.size), _MAX_LEFT_OUT)


def _count_row_seeds(inputs: Inputs) -> int:
    return min(inputs.repeats, _MAX_SEEDS)


def _all_influences(inputs: Inputs) -> Floats:
    result = average_sensitivity(
        inputs.estimator, inputs.rows, n_clusters=[inputs.k], trials="all",
        repeats=_count_row_seeds(inputs), measure="moved", random_state=inputs.seed,
    )  # fmt: skip
    others: Floats = result.values[0, 0].mean(axis=1) - result.floor[0]
    return others


def _list_rows(
    inputs: Inputs, value: Floats, labels: NDArray[np.int32], shown: Shown
) -> list[dict[str, Any]]:
    """List the rows with the largest positive values."""
    order = np.argsort(-value, kind="stable")  # NaN last
    return [
        {
            "row": int(row),
            "id": None if inputs.ids is None else inputs.ids[row],
            "value": round_number(value[row], 3),
            "cluster": int(labels[row]),
            **shown.describe_row(inputs, row),
        }
        for row in order[:_LISTED]
        if value[row] > 0
    ]
