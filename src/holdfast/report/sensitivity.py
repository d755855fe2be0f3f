"""One measured clusterer as a page of its own."""

from typing import Any

from holdfast.report.comparison import list_interval
from holdfast.report.made import list_versions
from holdfast.report.model import Report
from holdfast.report.numbers import list_numbers
from holdfast.report.summarise import FORMAT
from holdfast.stability import SensitivityResult

__all__ = ["report_sensitivity"]


def report_sensitivity(result: SensitivityResult) -> Report:
    """Put a result of `average_sensitivity` on a page.

    Parameters
    ----------
    result : SensitivityResult

    Returns
    -------
    Report
    """
    lines = [
        list_interval(result, [c], range(len(result.n_clusters)))
        for c in range(len(result.changes))
    ]
    content: dict[str, Any] = {
        "format": FORMAT,
        "kind": "sensitivity",
        "title": f"Average sensitivity of {result.clusterer}",
        "verdict": {"sentence": _compose_sentence(result), "numbers": []},
        "sensitivity": {
            "clusterer": result.clusterer,
            "measure": result.measure,
            "changes": list(result.changes),
            "n_clusters": list(result.n_clusters),
            "floor": list_numbers(result.floor),
            "lines": lines,
        },
        "made": {
            "command": None,
            "seed": None,
            "parameters": {
                "clusterer": result.clusterer,
                "measure": result.measure,
                "coupling": result.coupling,
            },
            "measurements": {
                "trials": result.matched.shape[2],
                "seeds": ", ".join(str(seed) for seed in result.seeds),
                "every row deleted in turn": str(result.exhaustive),
                "failed fits": len(result.failures),
                "complete": result.note or "yes",
            },
            "versions": list_versions(),
        },
    }
    return Report(content)


def _compose_sentence(result: SensitivityResult) -> str:
    """Say the first number, in the unit of the measure."""
    value, error = float(result.mean[0, 0]), float(result.standard_error[0, 0])
    what = {
        "moved_fraction": "of the rows that stay change cluster",
        "moved": "rows are lost from matched clusters",
        "symmetric_difference": "is the symmetric difference of matched clusters, in rows",
    }[result.measure]
    if result.measure == "moved_fraction":
        shown = f"{100 * value:.3g}% ± {100 * error:.2g}%"
    else:
        shown = f"{value:.4g} ± {error:.2g}"
    return (
        f"{result.clusterer}, {result.changes[0]}, k = {result.n_clusters[0]}: {shown} {what}; the "
        f"least possible is {float(result.floor[0]):.4g}."
    )
