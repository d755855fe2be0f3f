"""Rows -> the plain dictionary that the page is made of. docs/report.md describes it."""

from typing import Any

import numpy as np
from sklearn.base import clone

from holdfast.hierarchy import Hierarchy
from holdfast.report.choosing import count_searched_fits, summarise_choosing
from holdfast.report.comparison import MEASURE, count_fits, summarise_comparison
from holdfast.report.course import weigh_methods
from holdfast.report.explorer import summarise_explorer
from holdfast.report.inputs import Inputs
from holdfast.report.made import summarise_making
from holdfast.report.methods import OURS
from holdfast.report.nodes import choose_columns
from holdfast.report.rows import count_left_out, find_rows, named_rows
from holdfast.report.verdict import compose_verdict
from holdfast.stability import average_sensitivity

__all__ = ["FORMAT", "MOST_COLUMNS", "summarise"]

FORMAT = 1
MOST_COLUMNS = 12


def summarise(inputs: Inputs) -> dict[str, Any]:
    """Make every part of the page; nothing but strings, numbers, lists, dictionaries and None."""
    hierarchy: Hierarchy = clone(inputs.estimator).fit(inputs.rows).hierarchy_
    columns = choose_columns(inputs.values, hierarchy.cut(inputs.k), MOST_COLUMNS)
    inputs.course.plan(_weigh_parts(inputs))
    comparison = summarise_comparison(inputs)
    own = _measure_all_rows(inputs, comparison)
    found = None
    if inputs.show_rows:
        inputs.course.start("finding rows to look at")
        found = find_rows(inputs, hierarchy, columns)
    inputs.course.start("measuring each cluster")
    explorer = summarise_explorer(inputs, hierarchy, columns, named_rows(found))
    choosing = summarise_choosing(inputs)
    inputs.course.start("putting the page together")
    return {
        "format": FORMAT,
        "kind": "report",
        "title": inputs.title,
        "data": {
            "n_rows": inputs.rows.shape[0],
            "n_columns": inputs.rows.shape[1],
            "names": list(inputs.names),
            "columns": columns.tolist(),
            "shows_rows": inputs.show_rows,
        },
        "verdict": compose_verdict(comparison, own),
        "explorer": explorer,
        "stability": comparison,
        "rows": found,
        "choosing": choosing,
        "made": summarise_making(inputs),
    }


def _weigh_parts(inputs: Inputs) -> dict[str, float]:
    """How long each part takes against the others: fits, counted, times one of them, timed."""
    rows = inputs.rows[inputs.compared]
    seconds = dict.fromkeys(inputs.methods, 1.0)
    if inputs.listened:
        seconds = weigh_methods(inputs.methods, rows, (inputs.k,))
    parts = {
        f"measuring {name}": one * count_fits(inputs, inputs.methods[name])
        for name, one in seconds.items()
    }
    own = seconds[OURS] * inputs.rows.shape[0] / rows.shape[0]
    each = inputs.trials * inputs.repeats
    if inputs.is_sampled:
        parts["measuring all rows"] = own * each
    if inputs.show_rows:
        parts["finding rows to look at"] = (
            own * inputs.repeats * count_left_out(inputs.rows.shape[0])
        )
    parts["measuring each cluster"] = own * inputs.trials
    parts["choosing k"] = own * each
    parts["choosing epsilon"] = seconds[OURS] * count_searched_fits(inputs)
    parts["putting the page together"] = own
    return parts


def _measure_all_rows(inputs: Inputs, comparison: dict[str, Any]) -> dict[str, Any]:
    """Measure what moves of all rows: already known unless the methods were compared on a sample."""
    ours = next(m for m in comparison["methods"] if m["name"] == OURS)
    if not inputs.is_sampled:
        return {name: ours[name] for name in ("moved", "low", "high")} | {
            "n_rows": inputs.rows.shape[0]
        }
    inputs.course.start("measuring all rows")
    result = average_sensitivity(
        inputs.methods[OURS], inputs.rows, n_clusters=[inputs.k], delete=[inputs.main_delete],
        trials=inputs.trials, repeats=inputs.repeats, measure=MEASURE, n_jobs=inputs.n_jobs,
        random_state=inputs.seed, progress=inputs.progress,
    )  # fmt: skip
    low, high = np.squeeze(result.interval())
    return {
        "moved": float(result.mean[0, 0]),
        "low": float(low),
        "high": float(high),
        "n_rows": inputs.rows.shape[0],
    }
