"""Pictures of results; the only place in this package that imports matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holdfast.stability.result import SensitivityResult
    from holdfast.stability.suggest import Suggestion
    from holdfast.stability.tune import EpsilonSearch

__all__ = ["draw_search", "draw_sensitivity", "draw_suggestion"]

_AXIS_TITLES = {
    "symmetric_difference": "average sensitivity (symmetric difference, rows)",
    "moved": "rows moved",
    "moved_fraction": "share of surviving rows that moved",
}


def new_axes(ax: "Axes | None") -> "Axes":
    """Return the axes given, or new ones on a figure of their own."""
    if ax is not None:
        return ax
    try:
        from matplotlib.pyplot import subplots
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install holdfast[plot].") from error
    return subplots(layout="constrained")[1]


def draw_sensitivity(result: "SensitivityResult", ax: "Axes | None" = None) -> "Axes":
    """Mean with its 95% interval, and the floor (dotted), on one set of axes."""
    axes = new_axes(ax)
    mean = result.mean
    reach = np.abs(np.moveaxis(result.interval(0.95), -1, 0) - mean)
    style: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.2}
    if len(result.n_clusters) == 1 and len(result.changes) > 1:
        places = np.arange(len(result.changes))
        axes.errorbar(
            places, mean[:, 0], reach[:, :, 0], label=f"k = {result.n_clusters[0]}", **style
        )
        axes.plot(places, result.floor, linestyle=":", color="0.5", label="floor")
        axes.set_xticks(places, result.changes)
    else:
        for c, change in enumerate(result.changes):
            lines = axes.errorbar(result.n_clusters, mean[c], reach[:, c], label=change, **style)
            axes.axhline(result.floor[c], linestyle=":", color=lines.lines[0].get_color())
        axes.set_xlabel("number of clusters")
    axes.set_ylabel(_AXIS_TITLES[result.measure])
    axes.set_title(result.clusterer, loc="left")
    axes.legend(frameon=False)
    return axes


def draw_suggestion(suggestion: "Suggestion", ax: "Axes | None" = None) -> "Axes":
    """Stability against k, the locally most stable ks marked."""
    axes = draw_sensitivity(suggestion.result, ax)
    chosen = np.isin(suggestion.n_clusters, suggestion.best)
    axes.plot(
        np.asarray(suggestion.n_clusters)[chosen],
        suggestion.mean[chosen],
        linestyle="none",
        marker="o",
        markersize=11,
        fillstyle="none",
        color="black",
        label="locally most stable",
    )
    axes.legend(frameon=False)
    return axes


def draw_search(search: "EpsilonSearch", ax: "Axes | None" = None) -> "Axes":
    """Sensitivity (left) and cost ratio (right) against epsilon, the target and the choice."""
    axes = new_axes(ax)
    right = axes.twinx()
    _draw_curve(axes, search.epsilons, search.sensitivity, "C0", search.standard_error)
    _draw_curve(right, search.epsilons, search.cost_ratio, "C1", None)
    goal = axes if search.target == "sensitivity" else right
    goal.axhline(search.limit, linestyle="--", color="0.4", linewidth=1.0)
    if search.epsilon is not None:
        axes.axvline(search.epsilon, linestyle="--", color="0.4", linewidth=1.0)
    axes.set_xscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel(_AXIS_TITLES[search.measure], color="C0")
    right.set_ylabel("k-median cost / greedy cost", color="C1")
    axes.set_title(search.message, loc="left", fontsize=9, wrap=True)
    return axes


def _draw_curve(
    axes: "Axes",
    epsilons: NDArray[np.float64],
    values: NDArray[np.float64],
    color: str,
    error: NDArray[np.float64] | None,
) -> None:
    axes.errorbar(epsilons, values, error, marker="o", markersize=4, capsize=2, color=color)
