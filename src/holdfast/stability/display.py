"""Results on paper and screen: pictures, HTML tables and numbers with their errors.

The only place in this package that imports matplotlib.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holdfast.stability.result import SensitivityResult
    from holdfast.stability.selection import EpsilonSearch, Suggestion

__all__ = [
    "draw_search",
    "draw_sensitivity",
    "draw_suggestion",
    "format_value",
    "html_table",
    "new_axes",
]

_AXIS_TITLES = {
    "moved_fraction": "fraction of the remaining rows that move",
    "moved": "rows that move",
    "symmetric_difference": "average sensitivity (symmetric difference, rows)",
}


def format_value(measure: str, value: float, error: float | None = None) -> str:
    """Format a value of a measure, with its standard error: "2.1% ± 0.3%" or "5.2 ± 0.4"."""
    percent = measure == "moved_fraction"
    scale, unit = (100.0, "%") if percent else (1.0, "")
    text = f"{scale * value:.3g}{unit}"
    return text if error is None else f"{text} ± {scale * error:.2g}{unit}"


def html_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], note: str = ""
) -> str:
    """Build a table for notebooks; everything is escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    foot = f"<p>{escape(note)}</p>" if note else ""
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead>{line(header, 'th')}</thead>"
        f"<tbody>{body}</tbody></table>{foot}</div>"
    )


def draw_sensitivity(result: "SensitivityResult", ax: "Axes | None" = None) -> "Axes":
    """Draw the mean with its 95% interval, and the floor (dotted)."""
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
    """Draw movement against k, with the locally most stable ks marked."""
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
    """Draw sensitivity (left) and cost ratio (right) against epsilon, the limit and the choice."""
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


def new_axes(ax: "Axes | None") -> "Axes":
    """Return `ax`, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib.pyplot import subplots
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install holdfast[plot].") from error
    return subplots(layout="constrained")[1]
