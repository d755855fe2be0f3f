"""Plots of a hierarchy: one bar of clusters for each k."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holdfast.hierarchy.model import Hierarchy

__all__ = ["cluster_color", "cluster_hatch", "draw_hierarchy", "hierarchy_html", "nested_order"]

# The palette of Okabe and Ito: distinct for color-blind readers, and in print without color.
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

# Hatches distinguish clusters when the colors repeat.
_HATCHES = ("", "//", "..", "xx")


def cluster_color(cluster: int) -> str:
    """Color of a cluster, the same in every cut."""
    return _PALETTE[cluster % len(_PALETTE)]


def cluster_hatch(cluster: int) -> str:
    """Hatch of a cluster: none for the first ones, whose colors differ."""
    return _HATCHES[cluster // len(_PALETTE) % len(_HATCHES)]


def nested_order(parent: NDArray[np.int32], n_clusters: int) -> list[int]:
    """Order the first `n_clusters` clusters so that clusters of coarser cuts stay together.

    Each cluster is followed by the clusters that were split from it, the latest first.
    """
    children: list[list[int]] = [[] for _ in range(n_clusters)]
    for t in range(1, n_clusters):
        children[parent[t]].append(t)
    order, todo = [], [0]
    while todo:
        t = todo.pop()
        order.append(t)
        todo.extend(children[t])
    return order


def hierarchy_html(hierarchy: "Hierarchy") -> str:
    """Describe a hierarchy as an HTML table: a few cuts, their costs and clusters as bars."""
    cuts = [k for k in (1, 2, 3, 4, 6, 8, 12, 16) if k <= hierarchy.n_centers]
    whole = float(hierarchy.costs[0])
    lines = []
    for k in cuts:
        sizes = hierarchy.sizes(k)
        bars = "".join(
            f'<span title="cluster {t}: {sizes[t]:,} rows" style="display:inline-block;height:1em;'
            f'width:{100.0 * sizes[t] / hierarchy.n_rows:.2f}%;background:{cluster_color(t)}"></span>'
            for t in nested_order(hierarchy.parent, k)
        )
        cost = 100.0 * float(hierarchy.costs[k - 1]) / whole if whole > 0.0 else 0.0
        lines.append(
            f'<tr><td style="text-align:right">{k}</td>'
            f'<td style="text-align:right">{cost:.0f}%</td>'
            f'<td style="min-width:20em;white-space:nowrap">{bars}</td></tr>'
        )
    return (
        f"<table><caption>Hierarchy of {hierarchy.n_rows:,} rows, up to {hierarchy.n_centers:,} "
        "clusters</caption><thead><tr><th>clusters</th><th>cost, relative to one cluster</th>"
        f"<th>rows in each cluster</th></tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def draw_hierarchy(hierarchy: "Hierarchy", n_clusters: int, ax: Any = None) -> "Axes":
    """Draw the cuts 1 to `n_clusters` below each other, with clusters as bars of their size.

    A cluster keeps its color and label in every cut. Needs matplotlib.

    Parameters
    ----------
    hierarchy : Hierarchy
    n_clusters : int
        The finest cut to draw.
    ax : matplotlib.axes.Axes, default=None
        None creates a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError(
                "Plotting needs matplotlib, which is not installed. Install it with "
                "pip install 'holdfast[plot]'."
            ) from None
        ax = Figure(figsize=(9, 0.42 * n_clusters + 1.2), layout="constrained").add_subplot()
    order = nested_order(hierarchy.parent, n_clusters)
    for k in range(1, n_clusters + 1):
        sizes = hierarchy.sizes(k)
        left = 0
        for t in order:
            if t >= k:
                continue
            width = int(sizes[t])
            bar = ax.barh(
                k, width, left=left, height=0.86, color=cluster_color(t), edgecolor="white"
            )
            bar[0].set_hatch(cluster_hatch(t))
            if width > 0.015 * hierarchy.n_rows:
                box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
                ax.text(left + width / 2, k, str(t), ha="center", va="center", fontsize=8, bbox=box)
            left += width
    ax.set_ylim(n_clusters + 0.5, 0.5)
    ax.set_xlim(0, hierarchy.n_rows)
    ax.set_yticks(range(1, n_clusters + 1))
    ax.set_ylabel("k")
    ax.set_xlabel("rows")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(left=False)
    axes: Axes = ax
    return axes
