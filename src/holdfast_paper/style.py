"""One style for all figures, of the experiments and of the benchmarks.

Methods differ by color, by marker and by dashes, so that they can be told apart with any color
vision and in gray. Labels stand at the ends of lines, with a thin leader to their line.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FACET = (3.7, 3.1)  # inches
_LABEL_SIZE = 6.5
_LABEL_GAP = 0.056  # of an axes' height
_DODGE = 0.045  # of the step between two places on the x axis
_RULES: Any = {
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "holdfast",
    "svg.fonttype": "none",
}


@dataclass(frozen=True)
class Look:
    """How a method is drawn.

    Attributes
    ----------
    color, marker : str
    dashes : tuple of float
        As matplotlib takes them; empty for a solid line.
    """

    color: str
    marker: str
    dashes: tuple[float, ...] = ()


LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        # Colors of Okabe and Ito; the epsilons of the tree from dark to light.
        "means": Look("#D55E00", "p"),
        "medoids": Look("#7A0177", "P", (6, 1)),
        "tree": Look("#0072B2", "s"),
        "tree_1": Look("#08306B", "o"),
        "tree_10": Look("#0072B2", "s", (5, 1.5)),
        "tree_100": Look("#3E9BDB", "*", (2, 1.5)),
        "tree_1000": Look("#7CC0EE", "D", (1, 1)),
        "clnss": Look("#009E73", "^"),
        "clnss_unshifted": Look("#004D3B", "x", (4, 1, 1, 1)),
        "single": Look("#000000", "v", (1, 1.5)),
        "complete": Look("#777777", "X", (6, 2)),
        "average": Look("#E69F00", "<", (3, 1, 1, 1)),
        "ward": Look("#CC79A7", ">"),
        "bisecting_kmeans": Look("#000000", "D"),
        "kmeans": Look("#555555", "h"),
        "minibatch_kmeans": Look("#777777", "H", (4, 1.5)),
        "birch": Look("#777777", "^"),
        "hdbscan": Look("#999999", "x"),
        "fast_hdbscan": Look("#999999", "+"),
        "evoc": Look("#8C6D31", "d"),
        "fasterpam": Look("#555555", "8"),
        "genie": Look("#E69F00", "s"),
        "naive": Look("#000000", "x"),
    }
)
"""How every method is drawn, in all figures."""


@dataclass(frozen=True)
class EndLabel:
    """A name for the end of a line."""

    text: str
    x: float
    y: float
    color: str


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the common style; raise a clear error if matplotlib is missing."""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'holdfast[plot]'.") from error
    with rc_context(_RULES):
        yield


def new_figure(n_facets: int, title: str, columns: int = 4) -> "tuple[Figure, list[Axes]]":
    """Axes in a grid under one title."""
    from matplotlib.figure import Figure

    columns = min(columns, n_facets)
    rows = -(-n_facets // columns)
    size = (_FACET[0] * columns, _FACET[1] * rows + 0.35)
    if n_facets == 1:
        size = (6.0, 4.2)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.ravel())
    for unused in axes[n_facets:]:
        unused.set_axis_off()
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure, axes[:n_facets]


def use_log_scale(axes: "Axes") -> None:
    """Logarithmic y axis with plain numbers at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def line_style(method: str) -> dict[str, Any]:
    """Color, marker and dashes of a method."""
    look = LOOKS[method]
    dashes = (0, look.dashes) if look.dashes else "-"
    return {"color": look.color, "marker": look.marker, "linestyle": dashes}


def draw_series(
    axes: "Axes",
    method: str,
    title: str,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    band: bool = False,
    **changes: Any,
) -> EndLabel:
    """Draw a line with its 95% interval at each point; return the label for its end.

    Intervals are thin bars: bands of ten methods would cover each other and the lines. A narrow
    interval of many points can be a band.
    """
    style = {**line_style(method), "markersize": 3.8, "linewidth": 1.1, **changes}
    color = LOOKS[method].color
    axes.plot(x, y, **style)
    if band:
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    else:
        axes.vlines(x, low, high, color=color, linewidth=0.7, alpha=0.6, zorder=1.5)
    return EndLabel(title, float(x[-1]), float(y[-1]), color)


def dodge(x: NDArray[np.float64], i: int, n: int) -> NDArray[np.float64]:
    """Places of series i of n, a little aside, so that bars do not hide each other."""
    step = float(np.diff(x).min()) if x.size > 1 else 1.0
    return x + (i - (n - 1) / 2.0) * _DODGE * step


def label_ends(axes: "Axes", labels: list[EndLabel]) -> None:
    """Write names right of the axes, apart from each other, each tied to the end of its line.

    Names keep the order of the ends, and leaders go to where names begin: none crosses a name.
    """
    if not labels:
        return
    axes.autoscale_view()  # else limits are settled only when the figure is drawn
    to_share = axes.transData + axes.transAxes.inverted()
    ends = [to_share.transform((label.x, label.y)) for label in labels]
    places = _spread(np.array([end[1] for end in ends]))
    for label, end, place in zip(labels, ends, places, strict=True):
        axes.annotate(
            label.text, xy=(end[0], end[1]), xytext=(1.09, place), xycoords="axes fraction",
            textcoords="axes fraction", fontsize=_LABEL_SIZE, color=darken(label.color), va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "linewidth": 0.5, "color": label.color, "shrinkA": 1,
                "shrinkB": 2, "relpos": (0.0, 0.5),
            },
        )  # fmt: skip


def darken(color: str) -> tuple[float, float, float]:
    """Return the color of a name: letters are thinner than lines and need more contrast."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return 0.78 * red, 0.78 * green, 0.78 * blue


def _spread(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places nearest to the wanted ones, in their order, at least a gap apart, near the axes.

    Names that are too close form a block around the mean of what they want; blocks that touch
    become one.
    """
    order = np.argsort(wanted, kind="stable")
    blocks: list[list[float]] = []  # of wanted places, less the gaps before them
    for i, one in enumerate(np.clip(wanted[order], 0.0, 1.0)):
        blocks.append([float(one) - i * _LABEL_GAP])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    starts = np.concatenate([np.full(len(block), np.mean(block)) for block in blocks])
    highest = 1.0 - (wanted.size - 1) * _LABEL_GAP
    starts = np.clip(starts, min(0.0, highest), max(0.0, highest))
    found = np.empty(wanted.size)
    found[order] = starts + np.arange(wanted.size) * _LABEL_GAP
    return found


def save_figure(
    figure: "Figure", folder: Path, name: str, formats: Sequence[str] = ("png", "svg")
) -> None:
    """Write the figure's files, without a date; each file is complete or not there."""
    dates: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}}

    def write(file: Any, kind: str) -> None:
        figure.savefig(file, format=kind, dpi=130, metadata=dates[kind])

    for kind in formats:
        write_whole(folder / f"{name}.{kind}", partial(write, kind=kind))
