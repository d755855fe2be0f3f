"""The picture: movement against cost, and movement without a reason against changes followed."""

from collections.abc import Callable, Sequence
from pathlib import Path

from estimates import Figure
from matplotlib.axes import Axes
from methods import FOLLOW, METHODS, PRICED, REFERENCE, Method
from planted import CHANGES, JITTER, NOISE, WANDER
from series import NOISY, SLOW, SYNTHETIC, WINDOWS, Series
from summary import COST, MOVED, WITHIN, Table

from holdfast_paper.label_dots import Dot, Line, freeze_layout, label_dots
from holdfast_paper.style import LOOKS, new_figure, save_figure, styled

_FLOOR = 0.01  # percent; less is drawn here: the axis is logarithmic
_HEIGHTS = [_FLOOR, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 70.0, 100.0]
_TITLES = {
    WINDOWS: "windows of real data: rows come and go",
    SLOW: "real panels whose values change slowly",
    NOISY: "real panels whose values change much",
}
Place = Callable[[Method], tuple[Figure, Figure]]


def draw(folder: Path, table: Table) -> None:
    """Draw drift.png."""
    groups = [group for group in _TITLES if table.select(group)]
    synthetic = table.select(SYNTHETIC)
    n_panels = len(groups) + bool(synthetic)
    if not n_panels:
        return
    with styled():
        title = "Clusters from release to release, means over series and k = 4, 8 and 16"
        figure, axes = new_figure(n_panels, title, columns=2)
        figure.set_size_inches(13.0, 5.6 * -(-n_panels // 2))
        panels = []
        for ax, group in zip(axes, groups, strict=False):
            ax.set_title(f"{_TITLES[group]}; lower left is better")
            ax.set(xlabel="cost / that of holdfast means fitted again")
            ax.axvline(1.0, color="#bbbbbb", lw=0.8, zorder=0)
            panels.append((ax, *_draw_panel(ax, _by_cost(table, table.select(group)))))
            low, high = ax.dataLim.intervalx
            ax.set_xlim(low - 0.35 * (high - low), high + 0.18 * (high - low))  # room for names
        if synthetic:
            ax = axes[len(groups)]
            ax.set_title("synthetic series; lower right is better")
            ax.set(xlabel="planted changes followed within two releases, in %", xlim=(-8.0, 112.0))
            panels.append((ax, *_draw_panel(ax, _by_change(table, synthetic))))
            ax.set_ylabel("rows that move per step when nothing changes, in %")
        freeze_layout(axes[0])
        for ax, dots, lines in panels:
            unit: Line = [(1.0, height) for height in ax.get_ylim()]  # the vertical line at 1
            label_dots(ax, dots, lines=[*lines, unit])
        save_figure(figure, folder, "drift", formats=("png",))


def _by_cost(table: Table, series: Sequence[Series]) -> Place:
    def place(method: Method) -> tuple[Figure, Figure]:
        return table.average(series, method.name, COST), table.average(series, method.name, MOVED)

    return place


def _by_change(table: Table, synthetic: Sequence[Series]) -> Place:
    changes = [one for one in synthetic if one.name in CHANGES]
    still = [one for one in synthetic if one.name in (NOISE, JITTER, WANDER)]

    def place(method: Method) -> tuple[Figure, Figure]:
        followed = table.average(changes, method.name, WITHIN)
        return Figure(100.0 * followed.value), table.average(still, method.name, MOVED)

    return place


def _draw_panel(ax: Axes, place: Place) -> tuple[list[Dot], list[Line]]:
    """Draw dots and bars; return the dots to name, and the lines that names must not cover."""
    ax.set(yscale="log", ylabel="rows that move per step, in %")
    dots, lines, line = [], [], []
    for method in METHODS:
        x, moved = place(method)
        if not (x.known and moved.known):
            continue
        look, own = LOOKS[method.look], method.follows or method.name == REFERENCE
        y, error = max(100.0 * moved.value, _FLOOR), 100.0 * moved.error
        ax.errorbar(
            x.value, y, xerr=x.error, yerr=min(error, 0.9 * y), color=look.color,
            marker=method.marker or look.marker, markersize=9.0 if method.name == FOLLOW else 7.0,
            lw=1.0, ls="none", zorder=3 if own else 2, markeredgecolor="white",
            markeredgewidth=0.6,
        )  # fmt: skip
        dots.append(Dot(method.title, x.value, y, look.color, own, 4.0))
        below = max(y - min(error, 0.9 * y), 0.1 * _FLOOR)
        lines.append([(x.value, below), (x.value, y + error)])
        lines.append([(x.value - x.error, y), (x.value + x.error, y)])
        if method.name in PRICED:
            line.append((x.value, y))
    if line:
        ax.plot(*zip(*line, strict=True), color=LOOKS["means"].color, lw=0.8, zorder=1)
        lines.append(line)
    ax.grid(alpha=0.25)
    ax.minorticks_off()
    heights = [dot.y for dot in dots]
    low, high = 0.5 * min(heights), 4.0 * max(heights)  # room for names
    shown = {h: f"{h:g}" for h in _HEIGHTS if low <= h <= high}
    if min(heights) == _FLOOR:
        low, shown[_FLOOR] = 0.8 * _FLOOR, f"0 to {_FLOOR}"
    ax.set_ylim(low, high)
    ax.set_yticks(list(shown), list(shown.values()))
    return dots, lines
