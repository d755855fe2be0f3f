"""Results on paper and screen: pictures, the consensus matrix, HTML tables, numbers with errors.

The only place in this package that imports matplotlib.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holdfast.stability.result import SensitivityResult
    from holdfast.stability.selection import EpsilonSearch, Suggestion

__all__ = [
    "Consensus",
    "draw_search",
    "draw_sensitivity",
    "draw_suggestion",
    "find_consensus",
    "format_value",
    "html_table",
    "new_axes",
]

MOST_ROWS = 5000
"""Rows of a consensus matrix, at most."""

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


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    """A consensus matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows), dtype float64
        For each pair of rows, the fraction of the fits with both in which they are in the same
        cluster; NaN for pairs that were never fitted together. Two rows of noise are in no common
        cluster. The diagonal is 1.
    """

    matrix: NDArray[np.float64]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Row indices in an order that puts rows with the same clusters next to each other."""
        distance = 1.0 - np.nan_to_num(self.matrix, nan=0.0)
        np.fill_diagonal(distance, 0.0)
        found: NDArray[np.int64] = leaves_list(
            linkage(squareform(distance, checks=False), "average")
        )
        return found

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the matrix in `order`: clear blocks are stable clusters. Needs matplotlib."""
        axes = new_axes(ax)
        shown: Any = axes.imshow(
            self.matrix[np.ix_(self.order, self.order)],
            cmap="Blues",
            vmin=0.0,
            vmax=1.0,
            interpolation="nearest",
        )
        axes.figure.colorbar(shown, ax=axes, label="fraction of fits in the same cluster")
        axes.set_xlabel("rows, similar ones together")
        axes.set_ylabel("rows")
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    def __repr__(self) -> str:
        """Say how many pairs are undecided."""
        pairs = self.matrix[np.triu_indices(self.matrix.shape[0], 1)]
        unsure = np.mean((pairs > 0.1) & (pairs < 0.9)) if pairs.size else 0.0
        return f"Consensus({self.matrix.shape[0]} rows, {unsure:.1%} of pairs between 0.1 and 0.9)"


def find_consensus(labels: NDArray[np.int32]) -> Consensus:
    """Count pairs of rows in the same cluster.

    Parameters
    ----------
    labels : ndarray of shape (n_fits, n_rows), dtype int32
        -1 for noise, -2 for rows that were not fitted.
    """
    n_rows = labels.shape[1]
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"a consensus matrix has an entry for each pair of rows, and X has {n_rows:,} rows; "
            f"at most {MOST_ROWS:,} are supported. Measure on a sample of the rows."
        )
    together, both = np.zeros((n_rows, n_rows)), np.zeros((n_rows, n_rows))
    for fit in labels:
        present = np.flatnonzero(fit > -2)
        both[np.ix_(present, present)] += 1.0
        members = np.flatnonzero(fit >= 0)
        one = np.ones(members.size)
        shape = (n_rows, int(fit.max(initial=0)) + 1)
        indicator = csr_array((one, (members, fit[members])), shape=shape)
        together += (indicator @ indicator.T).toarray()
    matrix = np.where(both > 0.0, together / np.maximum(both, 1.0), np.nan)
    np.fill_diagonal(matrix, 1.0)
    return Consensus(matrix)
