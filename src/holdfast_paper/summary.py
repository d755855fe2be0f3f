"""Stability against cost: one dot per method, data set and k."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast_paper.config import Panel
from holdfast_paper.label_dots import Dot, freeze_layout, label_dots
from holdfast_paper.methods import METHODS
from holdfast_paper.style import new_figure
from holdfast_paper.tidy import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_summary", "summarise"]

_LINEAR = 0.01  # moved shares below are drawn on a linear scale, so that 0 can be shown


def summarise(panel: Panel, sensitivity: list[Record], costs: list[Record]) -> list[Record]:
    """Join both: moved share at one deletion, cost over the least cost of any method."""
    cost = {(r["data"], r["method"], r["n_clusters"]): r for r in costs}
    records = []
    for record in sensitivity:
        k = record["n_clusters"]
        place = (record["data"], record["method"], k)
        wanted = (
            record["delete"] == panel["delete"]
            and k in panel["n_clusters"]
            and record["protocol"] == "rebuild"
            and record["coupling"] == "same_seed"
        )
        if not wanted or place not in cost:
            continue
        least = min(r["cost"] for (data, _, ks), r in cost.items() if (data, ks) == (place[0], k))
        records.append(
            {
                "data": record["data"],
                "method": record["method"],
                "label": record["label"],
                "n_clusters": k,
                "delete": record["delete"],
                "moved_share": record["moved_share"],
                "moved_share_error": record["moved_share_error"],
                "cost": cost[place]["cost"],
                "cost_ratio": cost[place]["cost"] / least,
                "cost_ratio_error": cost[place]["standard_error"] / least,
            }
        )
    return records


def draw_summary(panel: Panel, records: list[Record]) -> "Figure":
    """Small dots for each (data set, k), a large one with a name for each method's mean."""
    figure, (axes,) = new_figure(
        1, f"{panel.title}: {panel['delete']:.0%} of the rows deleted, k = "
        + ", ".join(str(k) for k in panel["n_clusters"])
    )  # fmt: skip
    figure.set_size_inches(8.0, 5.6)
    dots: list[Dot] = []
    small: list[tuple[float, float]] = []
    for method, look in METHODS.items():
        rows = [record for record in records if record["method"] == method]
        if not rows:
            continue
        x = np.array([row["cost_ratio"] for row in rows])
        y = np.array([row["moved_share"] for row in rows])
        axes.scatter(x, y, s=12, marker=look.marker, color=look.color, alpha=0.45, linewidths=0.8)
        middle = (float(np.exp(np.log(x).mean())), float(y.mean()))
        axes.scatter(
            *middle, s=90, marker=look.marker, color=look.color, edgecolors="black", linewidths=0.8,
            zorder=5,
        )  # fmt: skip
        dots.append(Dot(look.label, *middle, look.color, bold=True))
        small += zip(x, y, strict=True)
    axes.set_xscale("log")
    ticks = [1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 2.5, 3.0]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_yscale("symlog", linthresh=_LINEAR)
    axes.set_ylim(bottom=-0.0007)
    axes.set_yticks(
        [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], ["0", "1%", "2%", "5%", "10%", "20%", "50%"]
    )
    axes.set_xlabel("k-median cost over the least of any method (left is closer)")
    axes.set_ylabel("share of the remaining rows that change cluster (low is steadier)")
    freeze_layout(axes)
    label_dots(axes, dots, size=8.0, marks=small)
    return figure
