"""Rows to look at: those that the clustering depends on, and those that change cluster often."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.progress import ProgressOption
from holdfast.hierarchy import Hierarchy
from holdfast.report.inputs import Inputs
from holdfast.report.page import list_numbers, round_number
from holdfast.stability import average_sensitivity, row_influence

__all__ = ["count_refits", "find_rows", "named_rows"]

_LISTED = 10
_MAX_LEFT_OUT = 100  # for each seed; each leaves one row out
_MAX_SEEDS = 2

Numbers = NDArray[np.float64]


def find_rows(
    inputs: Inputs, hierarchy: Hierarchy, columns: NDArray[np.int64], progress: ProgressOption
) -> dict[str, Any]:
    """List the most influential and the most unstable rows, on average over seeds.

    The influence of a row is the number of *other* rows that change cluster when it is removed.
    For the tree method it is known for every row without refitting; otherwise for the rows that
    are left out in turn.
    """
    n_measured = int(inputs.sample.size)
    n_left_out = min(n_measured, _MAX_LEFT_OUT)
    is_all = n_left_out == n_measured
    measured = row_influence(
        inputs.estimator, inputs.rows[inputs.sample], inputs.k,
        trials="all" if is_all else n_left_out, repeats=_count_seeds(inputs), measure="moved",
        n_jobs=inputs.n_jobs, random_state=inputs.seed, progress=progress,
    )  # fmt: skip
    n_rows = inputs.rows.shape[0]
    instability = _spread_over(n_rows, inputs.sample, measured.instability)
    if inputs.estimator.method == "tree" and n_left_out < n_rows:
        influence, n_known = _all_influences(inputs), n_rows
    else:
        others = measured.influence - measured.floor
        influence, n_known = _spread_over(n_rows, inputs.sample, others), n_left_out
    labels = hierarchy.cut(inputs.k)
    return {
        "k": inputs.k,
        "n_rows": n_rows,
        "n_seeds": _count_seeds(inputs),
        "n_left_out": n_left_out,
        "n_measured": n_measured,
        "n_influence_known": n_known,
        "n_influential": int((influence > 0).sum()),
        "n_unstable": int((instability > 0).sum()),
        "influential": _list_rows(inputs, influence, labels, columns),
        "unstable": _list_rows(inputs, instability, labels, columns),
    }


def named_rows(found: dict[str, Any] | None) -> NDArray[np.int64]:
    """Return the rows in either list."""
    if found is None:
        return np.empty(0, dtype=np.int64)
    named = [entry["row"] for part in ("influential", "unstable") for entry in found[part]]
    return np.array(sorted({*named}), dtype=np.int64)


def count_refits(inputs: Inputs) -> int:
    """Return how many fits `find_rows` takes."""
    return _count_seeds(inputs) * min(int(inputs.sample.size), _MAX_LEFT_OUT)


def _count_seeds(inputs: Inputs) -> int:
    return min(inputs.repeats, _MAX_SEEDS)


def _spread_over(n_rows: int, measured: NDArray[np.int64], values: Numbers) -> Numbers:
    """Put the values of the measured rows where these rows are; NaN elsewhere."""
    everywhere = np.full(n_rows, np.nan)
    everywhere[measured] = values
    return everywhere


def _all_influences(inputs: Inputs) -> Numbers:
    result = average_sensitivity(
        inputs.estimator, inputs.rows, n_clusters=[inputs.k], trials="all",
        repeats=_count_seeds(inputs), measure="moved", random_state=inputs.seed,
    )  # fmt: skip
    others: Numbers = result.values[0, 0].mean(axis=1) - result.floor[0]
    return others


def _list_rows(
    inputs: Inputs,
    value: Numbers,
    labels: NDArray[np.int32],
    columns: NDArray[np.int64],
) -> list[dict[str, Any]]:
    """List the rows with the largest positive values."""
    order = np.argsort(-value, kind="stable")  # NaN last
    return [
        {
            "row": int(row),
            "id": None if inputs.ids is None else inputs.ids[row],
            "value": round_number(value[row], 3),
            "cluster": int(labels[row]),
            "values": list_numbers(inputs.values[row, columns]),
        }
        for row in order[:_LISTED]
        if value[row] > 0
    ]
