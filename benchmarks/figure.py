"""One figure: time against the number of rows, and how far every limit is."""

import itertools
from collections import defaultdict
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from table import Row
from tasks import Fit, Results

from holdfast_paper.label_dots import Dot, freeze_layout, label_dots

# Okabe and Ito's colors, told apart by color-blind readers too; markers and dashes differ as well.
_BLUE, _ORANGE, _GREEN, _RED, _PURPLE, _BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#000000",
)
_STYLES = {
    "holdfast, whole hierarchy, epsilon 1": (_BLUE, "o", "-"),
    "holdfast, whole hierarchy, greedy": (_BLUE, "P", "none"),
    "holdfast, 100 centers": (_BLUE, "o", ":"),
    "Genie": (_ORANGE, "s", "-"),
    "BisectingKMeans": (_GREEN, "^", "-"),
    "Ward (fastcluster)": (_RED, "D", "-"),
    "naive counting": (_BLACK, "x", "-"),
}
_NAIVE = "naive counting"
_ROOM = 30.0  # right of the last point, for names
_LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}


def draw_results(path: Path, rows: list[Row], results: Results) -> None:
    """Draw what there is to draw of a run to a PNG file."""
    judged = [row for row in rows if row.met is not None]
    height = max(5.5, 1.2 + 0.36 * len(judged))  # two lines of a name for each bar
    figure = Figure(figsize=(13.0, height) if judged else (6.5, 5.5), layout="constrained")
    axes = figure.subplots(1, 2 if judged else 1, squeeze=False)[0]
    series = collect_series(results)
    draw_times(axes[0], series)
    if judged:
        draw_limits(axes[1], judged)
    freeze_layout(axes[0])
    name_times(axes[0], series)
    figure.savefig(path, dpi=120)


def collect_series(results: Results) -> dict[str, list[tuple[int, float]]]:
    """Return (rows, seconds) of every clusterer on the Gaussian groups in three dimensions."""
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for task in results.repeats:
        if not isinstance(task, Fit) or task.quantity != "seconds":
            continue
        label = _label(task)
        if label in _STYLES and task.rows.kind == "gaussian" and task.rows.d == 3:
            series[label].append((task.rows.n, results.best(task)))
    return {label: sorted(series[label]) for label in _STYLES if label in series}


def _label(task: Fit) -> str:
    if task.clusterer != "holdfast":
        return task.name
    options = dict(task.options)
    if "max_centers" in options:
        return f"holdfast, {options['max_centers']} centers"
    epsilon = options["epsilon"]
    kind = "greedy" if epsilon == 0.0 else f"epsilon {epsilon:g}"
    return f"holdfast, whole hierarchy, {kind}"


def draw_times(axes: Axes, series: dict[str, list[tuple[int, float]]]) -> None:
    """Draw seconds against rows, both on logarithmic axes."""
    for label, points in series.items():
        color, marker, line = _STYLES[label]
        sizes, seconds = zip(*points, strict=True)
        axes.plot(sizes, seconds, color=color, marker=marker, linestyle=line)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    axes.set_title("Time against the number of rows (3 columns)")
    axes.grid(alpha=0.3)
    if series:
        axes.set_xlim(right=_ROOM * max(points[-1][0] for points in series.values()))
    if _NAIVE in series and len(series) > 1:
        # Continued by n^3 up to where the axes end, which the line must not stretch.
        limits = axes.get_xlim(), axes.get_ylim()
        last, its_seconds = series[_NAIVE][-1]
        end = limits[0][1]
        axes.plot(
            [last, end], [its_seconds, its_seconds * (end / last) ** 3], color=_BLACK, linestyle=":"
        )
        axes.set(xlim=limits[0], ylim=limits[1])


def name_times(axes: Axes, series: dict[str, list[tuple[int, float]]]) -> None:
    """Write the name of each series beside its last point, on none of the lines."""
    dots = [
        Dot(
            label.replace(", ", ",\n").replace("naive ", "naive\n"),
            *points[-1],
            _STYLES[label][0],
            radius=4.0,
        )
        for label, points in series.items()
    ]
    marks = [point for points in series.values() for point in points]
    for points in series.values():
        for (n0, s0), (n1, s1) in itertools.pairwise(points):
            steps = [step / 40 for step in range(1, 40)]
            marks += [(n0 ** (1 - t) * n1**t, s0 ** (1 - t) * s1**t) for t in steps]
    if _NAIVE in series:  # its continuation, as long as it is in sight
        last, seconds = series[_NAIVE][-1]
        marks += [(last * t, seconds * t**3) for t in (1.0 + 0.05 * step for step in range(1, 30))]
    label_dots(axes, dots, size=8.5, marks=marks)


def draw_limits(axes: Axes, rows: list[Row]) -> None:
    """Draw each figure that has a limit as a share of it; up to 1 the limit is met."""
    for place, row in enumerate(rows):
        assert row.judged is not None
        assert row.limit is not None
        share = row.judged / row.limit
        axes.barh(
            place, share, color=_BLUE if row.met else _ORANGE, hatch=None if row.met else "//"
        )
        text = f" {share:.2g}" if row.met else f" {share:.2g} MISSED"
        axes.text(share, place, text, va="center", fontsize="small", bbox=_LABEL_BOX)
        if row.aim is not None:
            axes.plot([row.aim / row.limit] * 2, [place - 0.4, place + 0.4], color=_PURPLE, lw=3)
    axes.axvline(1.0, color=_BLACK, linestyle="--", zorder=2.5)
    names = [f"{row.what}\nagainst {row.against}" if row.against else row.what for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize="small")
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="share of the limit (dashed: the limit; purple: the aim)")
    shares = [row.judged / row.limit for row in rows if row.judged and row.limit]
    # A logarithmic axis has no zero to start from; on the right, room for the figures beside bars.
    axes.set_xlim(min([0.05, *(0.5 * share for share in shares)]), max([1.0, *shares]) * 5.0)
    axes.set_title("Every limit")
