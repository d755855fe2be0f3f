"""The figure: excess movement against cost, both divided by Ward's, one dot a method."""

import itertools
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from methods import METHODS, OURS
from report import JUDGED_KS, PAPER, TARGETS, group_data, judging_data
from summary import Cells, average_ratio

from holdfast_paper.label_dots import Dot, freeze_layout, label_dots

# Okabe and Ito's colors, told apart by color-blind readers too; markers differ as well.
_STYLES = {
    "euclidean": ("#0072B2", "o"),
    "refined": ("#D55E00", "*"),
    "tree": ("#009E73", "s"),
    "tree peer": ("#000000", "v"),
    "linkage": ("#000000", "D"),
    "flat": ("#777777", "^"),
    "density": ("#777777", "x"),
}
_FLOOR = 0.02  # what lies below is drawn here: the axis is logarithmic


def draw_frontier(path: Path, cells: Cells) -> None:
    """Two kinds of deletion beside each other, two collections of data below each other."""
    figure = Figure(figsize=(13.0, 11.0), dpi=110, layout="constrained")
    axes = figure.subplots(2, 2, sharex="row", sharey=True)
    rows = (
        ("the paper's seven data sets", group_data(cells, PAPER)),
        ("all data that nothing was tuned on", judging_data(cells)),
    )
    panels: list[tuple[Axes, list[Dot], list[tuple[float, float]]]] = []
    for line, (title, data) in zip(axes, rows, strict=True):
        for ax, quantity, what in zip(
            line, ("one", "five"), ("one row goes", "5% of the rows go"), strict=True
        ):
            panels.append((ax, *_draw_panel(ax, cells, data, quantity)))
            ax.set_title(f"{title}: {what}")
            ax.set_xlabel("k-median cost / Ward's")
        line[0].set_ylabel("excess movement / Ward's")
    figure.suptitle(
        f"Cost against movement, means over data sets and k = {JUDGED_KS[0]} and {JUDGED_KS[1]}; "
        "down is steadier, left is closer"
    )
    freeze_layout(axes[0, 0])
    for ax, dots, bars in panels:
        label_dots(ax, dots, marks=bars)
    figure.savefig(path)


def _draw_panel(
    ax: Axes, cells: Cells, data: list[str], quantity: str
) -> tuple[list[Dot], list[tuple[float, float]]]:
    """Draw dots, bars and lines; return the dots to name, and what names should not cover."""
    ax.set(xscale="log", yscale="log")
    ax.axhline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
    ax.axvline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
    limit = TARGETS[quantity]
    ax.add_patch(
        Rectangle((0.5, 1e-3), TARGETS["cost"] - 0.5, limit - 1e-3, color="#0072B2", alpha=0.08)
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    dots: list[Dot] = []
    bars: list[tuple[float, float]] = []
    for method in METHODS:
        cost = average_ratio(cells, data, method.name, "cost", JUDGED_KS)
        excess = average_ratio(cells, data, method.name, quantity, JUDGED_KS)
        color, marker = _STYLES[method.family]
        ours = method.family in OURS
        y = max(excess.value, _FLOOR)
        size = 12.0 if marker == "*" else 8.0
        ax.errorbar(
            cost.value, y, xerr=cost.error, yerr=excess.error, color=color, marker=marker,
            markersize=size, lw=1.0, ls="none", zorder=3 if ours else 2,
            markeredgecolor=color if marker == "x" else "white", markeredgewidth=0.6,
        )  # fmt: skip
        dots.append(Dot(method.name, cost.value, y, color, ours, 0.5 * size))
        bars += [(cost.value, y + share * excess.error) for share in (-1.0, -0.5, 0.5, 1.0)]
        if ours:
            lines.setdefault(method.family, []).append((cost.value, y))
    for family, points in lines.items():
        ax.plot(*zip(*points, strict=True), color=_STYLES[family][0], lw=0.8, zorder=1)
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            steps = [step / 12 for step in range(13)]
            bars += [(x0 ** (1 - t) * x1**t, y0 ** (1 - t) * y1**t) for t in steps]
    ax.set_xlim(0.84, 1.9)
    ax.set_ylim(_FLOOR * 0.8, 12.0)
    ticks = [0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    heights = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    ax.set_yticks(heights, [f"{height:g}" for height in heights])
    ax.grid(alpha=0.25)
    # Only logarithms of the height are even along a bar; what lies below the axis covers nothing.
    return dots, [(x, y) for x, y in bars if y > 0.0]
