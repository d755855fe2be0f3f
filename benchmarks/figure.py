"""One figure: time against the number of rows, and how far everything wanted is met."""

from collections import defaultdict
from pathlib import Path

from matplotlib.axes import Axes
from report import Row
from tasks import Fit, Results

from holdfast_paper.label_dots import Dot, freeze_layout, label_dots
from holdfast_paper.style import LOOKS, Look, new_figure, save_figure, styled

_LOOKS = {
    "tree, whole hierarchy": LOOKS["tree_1"],
    "CLNSS, whole hierarchy": Look(LOOKS["clnss"].color, LOOKS["clnss"].marker, (1, 1)),
    "tree, 100 centers": LOOKS["tree_10"],
    "means, 32 centers": LOOKS["means"],
    "Genie": LOOKS["genie"],
    "BisectingKMeans": LOOKS["bisecting_kmeans"],
    "Ward (fastcluster)": LOOKS["ward"],
    "naive counting": LOOKS["naive"],
}
_NAIVE = "naive counting"
_ROOM = 30.0  # right of the last point, for names

Series = dict[str, list[tuple[int, float]]]


def draw_results(folder: Path, rows: list[Row], results: Results) -> None:
    """Draw results.png: what there is to draw of a run."""
    judged = [row for row in rows if row.met is not None]
    with styled():
        figure, axes = new_figure(2 if judged else 1, "holdfast and its peers")
        # Two lines of a name for each bar.
        figure.set_size_inches(13.0 if judged else 6.5, max(5.5, 1.2 + 0.36 * len(judged)))
        series = collect_series(results)
        draw_times(axes[0], series)
        if judged:
            draw_wanted(axes[1], judged)
        freeze_layout(axes[0])
        name_times(axes[0], series)
        save_figure(figure, folder, "results", formats=("png",))


def collect_series(results: Results) -> Series:
    """Return (rows, seconds) of every clusterer on the Gaussian groups in three dimensions."""
    series: Series = defaultdict(list)
    for task in results.repeats:
        if not isinstance(task, Fit) or task.quantity != "seconds":
            continue
        label = _label(task)
        if label in _LOOKS and task.rows.kind == "gaussian" and task.rows.d == 3:
            series[label].append((task.rows.n, results.best(task)))
    return {label: sorted(series[label]) for label in _LOOKS if label in series}


def _label(task: Fit) -> str:
    if task.clusterer != "holdfast":
        return task.name
    options = dict(task.options)
    if "max_centers" in options:
        return f"{options['method']}, {options['max_centers']} centers"
    names = {0.0: "CLNSS", 1.0: "tree"}
    return f"{names.get(options['epsilon'], 'other')}, whole hierarchy"


def draw_times(axes: Axes, series: Series) -> None:
    """Draw seconds against rows, both on logarithmic axes."""
    for label, points in series.items():
        look = _LOOKS[label]
        dashes = (0, look.dashes) if look.dashes else "-"
        sizes, seconds = zip(*points, strict=True)
        axes.plot(sizes, seconds, color=look.color, marker=look.marker, linestyle=dashes)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    axes.set_title("Time against the number of rows (3 columns)")
    axes.grid(alpha=0.3)
    if series:
        axes.set_xlim(right=_ROOM * max(points[-1][0] for points in series.values()))
    if _NAIVE in series and len(series) > 1:
        # Continued by n^3 up to where the axes end, which the line must not stretch.
        limits = axes.get_xlim(), axes.get_ylim()
        (last, its_seconds), end = series[_NAIVE][-1], limits[0][1]
        heights = [its_seconds, its_seconds * (end / last) ** 3]
        axes.plot([last, end], heights, color=_LOOKS[_NAIVE].color, linestyle=":")
        axes.set(xlim=limits[0], ylim=limits[1])


def name_times(axes: Axes, series: Series) -> None:
    """Write the name of each series beside its last point, clear of the lines."""
    dots = [
        Dot(
            label.replace(", ", ",\n").replace("naive ", "naive\n"),
            *points[-1],
            _LOOKS[label].color,
            radius=4.0,
        )
        for label, points in series.items()
    ]
    lines = [[(float(n), seconds) for n, seconds in points] for points in series.values()]
    if _NAIVE in series:  # its continuation
        last, seconds = series[_NAIVE][-1]
        lines.append([(last, seconds), (4.0 * last, 64.0 * seconds)])
    label_dots(axes, dots, size=8.5, lines=lines)


def draw_wanted(axes: Axes, rows: list[Row]) -> None:
    """Draw each figure as a fraction of what is wanted; up to 1 it is met."""
    fractions = []
    for place, row in enumerate(rows):
        assert row.judged is not None
        assert row.wanted is not None
        fractions.append(row.judged / row.wanted)
        color = LOOKS["tree"].color if row.met else LOOKS["average"].color
        axes.barh(place, fractions[-1], color=color, hatch=None if row.met else "//")
        text = f"{fractions[-1]:.2g}" if row.met else f"{fractions[-1]:.2g} MISSED"
        # Right of the axes, where no bar, aim or line is.
        right = axes.get_yaxis_transform()
        axes.text(1.02, place, text, va="center", fontsize="small", transform=right)
        if row.aim is not None:
            ends = [place - 0.4, place + 0.4]
            axes.plot([row.aim / row.wanted] * 2, ends, color=LOOKS["ward"].color, lw=3)
    axes.axvline(1.0, color="black", linestyle="--", zorder=2.5)
    names = [f"{row.what}\nagainst {row.against}" if row.against else row.what for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize="small")
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="fraction of what is wanted (dashed: 1; pink: the aim)")
    # A logarithmic axis has no zero to start from.
    low = min([0.05, *(0.5 * fraction for fraction in fractions if fraction > 0.0)])
    axes.set_xlim(low, max([1.0, *fractions]) * 1.5)
    axes.set_title("Everything wanted")
