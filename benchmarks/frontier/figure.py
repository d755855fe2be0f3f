"""The figure: excess movement against cost, both divided by Ward's, one dot a method."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox
from methods import METHODS, OURS
from report import JUDGED_KS, PAPER, TARGETS, group_data, judging_data
from summary import Cells, average_ratio

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
# Where a label may stand, in points from its dot, first choice first.
_PLACES = [(x, y) for y in (5, -13, 17, -25, 29, -37, 41, -49) for x in (7, -7)]
_FLOOR = 0.02  # what lies below is drawn here: the axis is logarithmic


Dot = tuple[str, float, float, str, bool]
"""Name, cost, excess, color, whether it is ours."""


def draw_frontier(path: Path, cells: Cells) -> None:
    """Two kinds of deletion beside each other, two collections of data below each other."""
    figure = Figure(figsize=(13.0, 11.0), dpi=110, layout="constrained")
    axes = figure.subplots(2, 2, sharex="row", sharey=True)
    rows = (
        ("the paper's seven data sets", group_data(cells, PAPER)),
        ("all data that nothing was tuned on", judging_data(cells)),
    )
    panels: list[tuple[Axes, list[Dot]]] = []
    for line, (title, data) in zip(axes, rows, strict=True):
        for ax, quantity, what in zip(
            line, ("one", "five"), ("one row goes", "5% of the rows go"), strict=True
        ):
            panels.append((ax, _draw_panel(ax, cells, data, quantity)))
            ax.set_title(f"{title}: {what}")
            ax.set_xlabel("k-median cost / Ward's")
        line[0].set_ylabel("excess movement / Ward's")
    figure.suptitle(
        f"Cost against movement, means over data sets and k = {JUDGED_KS[0]} and {JUDGED_KS[1]}; "
        "down is steadier, left is closer"
    )
    FigureCanvasAgg(figure).draw()  # labels need to know where the dots are
    figure.set_layout_engine("none")
    for ax, dots in panels:
        _place_labels(ax, dots)
    figure.savefig(path)


def _place_labels(ax: Axes, dots: list[Dot]) -> None:
    """Write the names beside the dots so that no two overlap, those of ours first."""
    taken = [
        Bbox.from_bounds(*(ax.transData.transform((x, y)) - 6), 12, 12) for _, x, y, _, _ in dots
    ]
    for name, x, y, color, ours in sorted(dots, key=lambda dot: not dot[4]):
        for offset in _PLACES:
            label = ax.annotate(
                name, (x, y), xytext=offset, textcoords="offset points", fontsize=8.5, color=color,
                ha="left" if offset[0] > 0 else "right", fontweight="bold" if ours else "normal",
            )  # fmt: skip
            box = label.get_window_extent()
            inside = ax.bbox.x0 < box.x0 and box.x1 < ax.bbox.x1
            if inside and not any(box.overlaps(other) for other in taken):
                break
            if offset != _PLACES[-1]:
                label.remove()
        taken.append(box)


def _draw_panel(ax: Axes, cells: Cells, data: list[str], quantity: str) -> list[Dot]:
    ax.set(xscale="log", yscale="log")
    ax.axhline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
    ax.axvline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
    limit = TARGETS[quantity]
    ax.add_patch(
        Rectangle((0.5, 1e-3), TARGETS["cost"] - 0.5, limit - 1e-3, color="#0072B2", alpha=0.08)
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    dots: list[Dot] = []
    for method in METHODS:
        cost = average_ratio(cells, data, method.name, "cost", JUDGED_KS)
        excess = average_ratio(cells, data, method.name, quantity, JUDGED_KS)
        color, marker = _STYLES[method.family]
        ours = method.family in OURS
        y = max(excess.value, _FLOOR)
        ax.errorbar(
            cost.value, y, xerr=cost.error, yerr=excess.error, color=color, marker=marker,
            markersize=11 if marker == "*" else 7, lw=1.0, ls="none", zorder=3 if ours else 2,
        )  # fmt: skip
        dots.append((method.name, cost.value, y, color, ours))
        if ours:
            lines.setdefault(method.family, []).append((cost.value, y))
    for family, points in lines.items():
        ax.plot(*zip(*points, strict=True), color=_STYLES[family][0], lw=0.8, zorder=1)
    ax.set_xlim(0.84, 1.9)
    ax.set_ylim(_FLOOR * 0.8, 12.0)
    ticks = [0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    heights = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    ax.set_yticks(heights, [f"{height:g}" for height in heights])
    ax.grid(alpha=0.25)
    return dots
