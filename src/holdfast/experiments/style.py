"""One look for all figures: sizes, labels at the ends of lines, files.

Methods differ by color, by marker and by dashes, so that they can be told apart with any color
vision and in grey. Labels stand at the ends of lines; a thin leader shows which.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.methods import METHODS
from holdfast.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "EndLabel",
    "draw_series",
    "label_ends",
    "line_style",
    "new_figure",
    "save_figure",
    "styled",
    "use_log_scale",
]

_FACET = (3.25, 2.7)  # inches
_LABEL_SIZE = 6.5
_LABEL_GAP = 0.052  # of an axes' height
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
class EndLabel:
    """A name for the end of a line."""

    text: str
    x: float
    y: float
    color: str


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the common style; a clear error where matplotlib is missing."""
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
    look = METHODS[method]
    dashes = (0, look.dashes) if look.dashes else "-"
    return {"color": look.color, "marker": look.marker, "linestyle": dashes}


def draw_series(
    axes: "Axes",
    method: str,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    **changes: Any,
) -> EndLabel:
    """Draw a line with its 95% band; return the label for its end."""
    style = {**line_style(method), "markersize": 3.8, "linewidth": 1.1, **changes}
    axes.plot(x, y, **style)
    axes.fill_between(x, low, high, color=METHODS[method].color, alpha=0.1, linewidth=0)
    return EndLabel(METHODS[method].label, float(x[-1]), float(y[-1]), METHODS[method].color)


def label_ends(axes: "Axes", labels: list[EndLabel]) -> None:
    """Write names right of the axes, apart from each other, each tied to the end of its line."""
    if not labels:
        return
    to_share = axes.transData + axes.transAxes.inverted()
    ends = [to_share.transform((label.x, label.y)) for label in labels]
    places = _spread(np.array([end[1] for end in ends]))
    for label, end, place in zip(labels, ends, places, strict=True):
        axes.annotate(
            label.text,
            xy=(end[0], end[1]),
            xytext=(1.06, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=_LABEL_SIZE,
            color=label.color,
            va="center",
            annotation_clip=False,
            bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"},
            arrowprops={
                "arrowstyle": "-",
                "linewidth": 0.4,
                "color": label.color,
                "shrinkA": 0,
                "shrinkB": 1,
            },
        )


def _spread(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places near the wanted ones, in their order, at least a gap apart and inside the axes."""
    order = np.argsort(wanted, kind="stable")
    top = 1.0 + 0.02 * len(wanted)
    places = np.clip(wanted[order], 0.0, 1.0)
    for i in range(1, places.size):
        places[i] = max(places[i], places[i - 1] + _LABEL_GAP)
    limit = top
    for i in range(places.size - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - _LABEL_GAP
    found = np.empty_like(places)
    found[order] = places
    return found


def save_figure(figure: "Figure", folder: Path, name: str) -> None:
    """Write PNG and SVG, whole or not at all, without a date."""
    write_whole(
        folder / f"{name}.png",
        lambda file: figure.savefig(file, format="png", dpi=130, metadata={"Software": None}),
    )
    write_whole(
        folder / f"{name}.svg",
        lambda file: figure.savefig(file, format="svg", metadata={"Date": None}),
    )
