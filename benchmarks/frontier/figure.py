"""The pictures: movement against cost, one dot per method."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from data import LARGE, PAPER, Data
from estimates import Figure
from matplotlib.axes import Axes
from methods import METHODS
from report import FEW_KS, JUDGED_KS, MANY_KS, WANTED
from summary import COST, FIVE, MOVED, ONE, Table

from holdfast_paper.label_dots import Dot, Line, freeze_layout, label_dots
from holdfast_paper.style import LOOKS, new_figure, save_figure, styled

_FLOOR = 0.02  # smaller ratios are drawn here: the axis is logarithmic


def draw_small(folder: Path, table: Table) -> None:
    """Draw frontier.png: two kinds of removal side by side, for two collections of data."""
    rows = (
        ("the paper's data sets", table.select(PAPER, judging=True)),
        (
            "all small data that judge",
            [d for d in table.select(judging=True) if LARGE not in d.groups],
        ),
    )
    with styled():
        title = "Cost against movement, means over data sets and k = 4 and 8; lower left is better"
        figure, axes = new_figure(4, title, columns=2)
        figure.set_size_inches(13.0, 11.0)
        panels = []
        kinds = ((ONE, "one row removed"), (FIVE, "5% of the rows removed"))
        for ax, ((name, data), (quantity, what)) in zip(
            axes, itertools.product(rows, kinds), strict=True
        ):
            ax.set_title(f"{name}: {what}")
            ax.set(xlabel="k-median cost / Ward's", ylabel="excess movement / Ward's")
            ax.set(xscale="log", yscale="log", xlim=(0.84, 1.9), ylim=(0.8 * _FLOOR, 12.0))
            _shade(ax, WANTED["means"][COST][0], WANTED["means"][quantity][0])
            _tick(
                ax,
                [0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8],
                [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
            )

            def excess(
                method: str, data: Sequence[Data] = data, quantity: str = quantity
            ) -> Figure:
                return table.average(data, method, quantity, JUDGED_KS)

            panels.append((ax, *_draw_panel(ax, table, data, excess, JUDGED_KS)))
        _finish(panels)
        save_figure(figure, folder, "frontier", formats=("png",))


def draw_large(folder: Path, table: Table) -> None:
    """Draw large.png: movement over its floor, for few and for many clusters."""
    data = table.select(LARGE, judging=True) or table.select(LARGE)
    with styled():
        figure, axes = new_figure(2, "Large data, 5% of the rows removed; lower left is better")
        figure.set_size_inches(13.0, 5.6)
        panels = []
        for ax, ks in zip(axes, (FEW_KS, MANY_KS), strict=True):
            ax.set_title(f"k = {ks[0]} and {ks[1]}")
            ax.set(xlabel="cost / bisecting k-means'", ylabel="movement / floor")
            ax.set(xscale="log", yscale="log")
            _shade(ax, 0.99, {FEW_KS: 2.0, MANY_KS: 4.0}[ks])

            def moved(method: str, ks: tuple[int, ...] = ks) -> Figure:
                return table.average(data, method, MOVED, ks, relative=False)

            panels.append((ax, *_draw_panel(ax, table, data, moved, ks)))
            ax.margins(0.15)
            ax.autoscale_view()
            right, top = ax.get_xlim()[1], ax.get_ylim()[1]
            ax.set_ylim(0.9, max(top, 5.0))
            ticks = [t for t in (0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0) if t < right]
            heights = [h for h in (1, 1.5, 2, 3, 5, 7, 10, 15, 20) if h <= max(top, 5.0)]
            _tick(ax, ticks, [float(height) for height in heights])
        _finish(panels)
        save_figure(figure, folder, "large", formats=("png",))


def _draw_panel(
    ax: Axes,
    table: Table,
    data: Sequence[Data],
    height_of: Callable[[str], Figure],
    ks: Sequence[int],
) -> tuple[list[Dot], list[Line]]:
    """Draw dots, bars and lines; return the dots to name, and the lines that names must not cover."""
    ax.axhline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
    ax.axvline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
    series: dict[str, Line] = {}
    dots: list[Dot] = []
    lines: list[Line] = []
    for method in METHODS:
        if method.name not in table.list_methods(data):
            continue
        cost, height = table.average(data, method.name, COST, ks), height_of(method.name)
        look, y = LOOKS[method.look], max(height.value, _FLOOR)
        ax.errorbar(
            cost.value, y, xerr=cost.error, yerr=height.error, color=look.color, marker=look.marker,
            markersize=8.0, lw=1.0, ls="none", zorder=2 if method.is_peer else 3,
            markeredgecolor=look.color if look.marker in "x+" else "white", markeredgewidth=0.6,
        )  # fmt: skip
        dots.append(Dot(method.title, cost.value, y, look.color, not method.is_peer, 4.0))
        below = max(y - height.error, 1e-3 * y)  # the axis is logarithmic
        lines.append([(cost.value, below), (cost.value, y + height.error)])
        lines.append([(cost.value - cost.error, y), (cost.value + cost.error, y)])
        if not method.is_peer:
            series.setdefault(method.look, []).append((cost.value, y))
    for name, points in series.items():
        ax.plot(*zip(*points, strict=True), color=LOOKS[name].color, lw=0.8, zorder=1)
        lines.append(points)
    ax.grid(alpha=0.25)
    return dots, lines


def _shade(ax: Axes, cost: float, height: float) -> None:
    """Shade where both figures are as wanted."""
    from matplotlib.patches import Rectangle

    corner = (0.5, 1e-3)
    box = Rectangle(corner, cost - 0.5, height - 1e-3, color=LOOKS["means"].color, alpha=0.08)
    ax.add_artist(box)


def _tick(ax: Axes, ticks: list[float], heights: list[float]) -> None:
    ax.minorticks_off()
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks(heights, [f"{height:g}" for height in heights])


def _finish(panels: list[tuple[Axes, list[Dot], list[Line]]]) -> None:
    freeze_layout(panels[0][0])
    for ax, dots, lines in panels:
        # The two lines at 1 are as long as the axes.
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        ends: list[Line] = [[(left, 1.0), (right, 1.0)], [(1.0, low), (1.0, high)]]
        label_dots(ax, dots, lines=[*lines, *ends])
