"""Part 4: the rows that the clustering hangs on, and those that never come to rest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.hierarchy import Hierarchy
from holdfast.report.inputs import Inputs
from holdfast.report.numbers import list_numbers, round_number
from holdfast.stability import average_sensitivity, row_influence

__all__ = ["count_left_out", "find_rows", "named_rows"]

_LISTED = 10
_MOST_REFITS = 300  # for each seed; each leaves one row out
_LEAST_REFITS = 20
_REFITTED_ROWS = 6_000_000  # rows in all refits of a seed: beyond 20,000 rows, fewer are left out

Numbers = NDArray[np.float64]


def find_rows(inputs: Inputs, hierarchy: Hierarchy, columns: NDArray[np.int64]) -> dict[str, Any]:
    """List the most influential and the most restless rows, on average over seeds.

    Influence is the number of *other* rows that change cluster when a row goes. For the tree cost
    it is known for every row without refitting; otherwise for the rows left out in turn.
    """
    n_rows = inputs.rows.shape[0]
    n_left_out = count_left_out(n_rows)
    is_all = n_left_out == n_rows
    measured = row_influence(
        inputs.estimator, inputs.rows, inputs.k, trials="all" if is_all else n_left_out,
        repeats=inputs.repeats, measure="moved", n_jobs=inputs.n_jobs, random_state=inputs.seed,
        progress=inputs.progress,
    )  # fmt: skip
    influence, n_measured = measured.influence - measured.floor, n_left_out
    if not is_all and inputs.estimator.method == "tree":
        influence, n_measured = _all_influences(inputs), n_rows
    labels = hierarchy.cut(inputs.k)
    return {
        "k": inputs.k,
        "n_rows": n_rows,
        "n_seeds": inputs.repeats,
        "n_left_out": n_left_out,
        "n_measured": n_measured,
        "n_influential": int((influence > 0).sum()),
        "n_restless": int((measured.unrest > 0).sum()),
        "influential": _list_rows(inputs, influence, labels, columns),
        "restless": _list_rows(inputs, measured.unrest, labels, columns),
    }


def named_rows(found: dict[str, Any] | None) -> NDArray[np.int64]:
    """Rows in either list."""
    if found is None:
        return np.empty(0, dtype=np.int64)
    named = [entry["row"] for part in ("influential", "restless") for entry in found[part]]
    return np.array(sorted({*named}), dtype=np.int64)


def count_left_out(n_rows: int) -> int:
    """How many rows are left out in turn."""
    if n_rows <= _MOST_REFITS:
        return n_rows
    return min(_MOST_REFITS, max(_LEAST_REFITS, _REFITTED_ROWS // n_rows))


def _all_influences(inputs: Inputs) -> Numbers:
    result = average_sensitivity(
        inputs.estimator, inputs.rows, n_clusters=[inputs.k], trials="all",
        repeats=inputs.repeats, measure="moved", random_state=inputs.seed,
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
