"""Names beside dots: next to their own dot, on nothing, and with a thin line where they stand off.

Each name has candidate places around its dot. Names are placed one after another where they cost
least, and a few rounds of placing each one again settle the rest. Nothing here is random.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.style import darken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Line = list[tuple[float, float]]

_GAPS = (2.5, 5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0, 82.0, 104.0)  # points from dot to name
_ANGLES = np.deg2rad(np.arange(0.0, 360.0, 15.0))
_LEADER_FROM = 6.0  # a name that is farther from its dot gets a line to it
_ROUNDS = 6
_GOOD = 24  # places that a name may claim for itself
_SWEEPS = ((1.0, 0), (-1.0, 0), (1.0, 1), (-1.0, 1))
_NEVER, _HARD, _LINE, _SOFT = 1e5, 2e3, 400.0, 15.0
_SAMPLED = 2.0  # points from one place on a line to the next
_STEPS = np.linspace(0.0, 1.0, 16)[:, None]  # where lines are looked at


@dataclass(frozen=True)
class Dot:
    """A dot with a name, in data coordinates.

    Attributes
    ----------
    text : str
    x, y : float
    color : str
    bold : bool
    radius : float
        Of the dot, in points.
    """

    text: str
    x: float
    y: float
    color: str
    bold: bool = False
    radius: float = 5.0


@dataclass(frozen=True)
class _Places:
    """Candidate places of one name, in points: boxes (x0, y0, x1, y1), leaders, what each costs."""

    boxes: Floats
    leaders: Floats  # (places, steps, 2)
    gaps: Floats
    costs: Floats


def freeze_layout(axes: "Axes") -> None:
    """Lay out the figure of some axes for good: names need to know where the dots are."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def label_dots(
    axes: "Axes",
    dots: list[Dot],
    size: float = 8.5,
    marks: list[tuple[float, float]] | None = None,
    lines: Sequence[Line] = (),
) -> None:
    """Write the names of dots; `freeze_layout` first.

    Parameters
    ----------
    axes : Axes
    dots : list of Dot
    size : float
        Of the letters, in points.
    marks : list of (x, y), optional
        What names should rather not cover, in data coordinates.
    lines : sequence of list of (x, y), optional
        Bars and lines that names must not cover, in data coordinates.
    """
    if not dots:
        return
    figure = axes.get_figure(root=True)
    assert figure is not None
    points = 72.0 / figure.dpi
    centers = axes.transData.transform([(dot.x, dot.y) for dot in dots]) * points
    avoid = axes.transData.transform(marks) * points if marks else np.empty((0, 2))
    drawn = [_sample(axes.transData.transform(line) * points) for line in lines]
    bounds = np.array(axes.bbox.extents) * points
    sizes = [np.array(_measure(axes, dot, size)) * points for dot in dots]
    places = [
        _find_places(i, dots, centers, sizes[i], bounds, avoid, drawn) for i in range(len(dots))
    ]
    chosen = _choose(places, centers)
    for dot, center, place, one in zip(dots, centers, places, chosen, strict=True):
        _write(axes, dot, center, place.boxes[one], float(place.gaps[one]), size)


def _sample(corners: Floats) -> Floats:
    """Places along a line, close to each other; those that are nowhere, as on log axes, are left out."""
    corners = corners[np.isfinite(corners).all(axis=1)]
    parts = [
        a + np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(b - a) / _SAMPLED))[:, None] * (b - a)
        for a, b in pairwise(corners)
    ]
    return np.concatenate(parts) if parts else corners


def _measure(axes: "Axes", dot: Dot, size: float) -> tuple[float, float]:
    text = axes.text(0, 0, dot.text, fontsize=size, fontweight="bold" if dot.bold else "normal")
    extent = text.get_window_extent()
    text.remove()
    return extent.width, extent.height


def _find_places(
    i: int,
    dots: list[Dot],
    centers: Floats,
    size: Floats,
    bounds: Floats,
    avoid: Floats,
    drawn: list[Floats],
) -> _Places:
    """List the places of name i, with what they cost whatever the other names do."""
    gaps, angles = np.array(list(product(_GAPS, _ANGLES))).T
    reach = (gaps + dots[i].radius)[:, None] + size / 2.0
    middles = centers[i] + reach * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    boxes = np.concatenate([middles - size / 2.0, middles + size / 2.0], axis=1)
    nearest = np.clip(centers[i], boxes[:, :2], boxes[:, 2:])
    gaps = np.linalg.norm(nearest - centers[i], axis=1) - dots[i].radius
    leaders = centers[i] + _STEPS[None] * (nearest - centers[i])[:, None]
    outside = (boxes[:, :2] < bounds[:2] + 1.0).any(axis=1) | (boxes[:, 2:] > bounds[2:] - 1.0).any(
        axis=1
    )
    costs = 1.5 * gaps + 0.5 * np.abs(np.sin(angles)) + _NEVER * outside
    costs += np.where(gaps > _LEADER_FROM, 4.0, 0.0)
    for j, other in enumerate(dots):
        costs += _HARD * _covers(boxes, centers[j], other.radius + 1.0)
        if j == i:
            continue
        # A name next to two dots belongs to neither; a line that passes a dot is taken for its own.
        away = np.clip(centers[j], boxes[:, :2], boxes[:, 2:]) - centers[j]
        theirs = np.linalg.norm(away, axis=1) - other.radius
        costs += 25.0 * (theirs < np.maximum(1.4 * gaps, gaps + 4.0)) * (gaps <= _LEADER_FROM)
        costs += 12.0 * (theirs < 4.0)
        apart = np.linalg.norm(leaders - centers[j], axis=2).min(axis=1)
        near_own = np.linalg.norm(centers[i] - centers[j]) < other.radius + 1.0
        costs += 0.0 if near_own else 60.0 * ((apart < other.radius + 1.5) & (gaps > _LEADER_FROM))
    for mark in avoid:
        costs += _SOFT * _covers(boxes, mark, 1.5)
    for line in drawn:
        low, high = boxes[:, None, :2] - 1.5, boxes[:, None, 2:] + 1.5
        inside: NDArray[np.bool_] = (low < line) & (line < high)
        costs += _LINE * (inside[..., 0] & inside[..., 1]).any(axis=1)
    return _Places(boxes, leaders, gaps, costs)


def _covers(boxes: Floats, point: Floats, margin: float) -> NDArray[np.bool_]:
    inside = (boxes[:, :2] - margin < point) & (point < boxes[:, 2:] + margin)
    return inside[:, 0] & inside[:, 1]


def _choose(places: list[_Places], centers: Floats) -> list[int]:
    """Choose one place a name: the best of several orders in which names are placed."""
    spans = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    crowd = (1.0 / (spans + 20.0)).sum(axis=1)
    orders = [np.argsort(-crowd, kind="stable"), np.argsort(crowd, kind="stable")]
    orders += [np.argsort(sign * centers[:, axis], kind="stable") for sign, axis in _SWEEPS]

    @cache  # orders come upon the same places again and again
    def clash(i: int, j: int, one: int) -> Floats:
        return _clash(places[i], places[j], one)

    tried = [_settle(places, order, clash, [-1] * len(places)) for order in orders]
    best = min(tried, key=lambda found: found.total)
    # A name on a line may need another one to give way: it takes a good place, and all others settle.
    for i in np.flatnonzero(np.array(best.costs) >= _LINE).tolist():
        for one in np.argsort(places[i].costs, kind="stable")[:_GOOD].tolist():
            start = [one if j == i else old for j, old in enumerate(best.chosen)]
            last = np.concatenate([np.delete(orders[0], orders[0] == i), [i]])
            best = min(best, _settle(places, last, clash, start), key=lambda found: found.total)
    return best.chosen


@dataclass(frozen=True)
class _Settled:
    """The places that names have, and what each of them costs."""

    chosen: list[int]
    costs: list[float]

    @property
    def total(self) -> float:
        return sum(self.costs)


def _settle(
    places: list[_Places],
    order: NDArray[np.intp],
    clash: Callable[[int, int, int], Floats],
    start: list[int],
) -> _Settled:
    """Place names in an order, each one again given the others, from where they are (-1: nowhere)."""
    chosen = list(start)
    found = [0.0] * len(places)
    for _ in range(_ROUNDS):
        before = list(chosen)
        for i in order.tolist():
            costs = places[i].costs.copy()
            for j, one in enumerate(chosen):
                if j != i and one >= 0:
                    costs += clash(i, j, one)
            chosen[i] = int(np.argmin(costs))
            found[i] = float(costs.min())
        if chosen == before:
            break
    return _Settled(chosen, found)


def _clash(mine: _Places, other: _Places, one: int) -> Floats:
    """Cost of each place of a name beside the place that another name has."""
    box = other.boxes[one]
    apart = (mine.boxes[:, 2:] + 1.0 <= box[:2]) | (box[2:] + 1.0 <= mine.boxes[:, :2])
    costs: Floats = np.where(apart[:, 0] | apart[:, 1], 0.0, _HARD)
    led, other_led = mine.gaps > _LEADER_FROM, other.gaps[one] > _LEADER_FROM
    on_box = ((box[:2] - 0.5 < mine.leaders) & (mine.leaders < box[2:] + 0.5)).all(axis=2)
    costs += _HARD / 2.0 * (on_box.any(axis=1) & led)
    if other_led:
        low, high = mine.boxes[:, None, :2] - 0.5, mine.boxes[:, None, 2:] + 0.5
        covered = ((low < other.leaders[one]) & (other.leaders[one] < high)).all(axis=2)
        costs += _HARD / 20.0 * covered.sum(axis=1)
        costs += 200.0 * (_cross(mine.leaders, other.leaders[one]) & led)
    return costs


def _cross(leaders: Floats, other: Floats) -> NDArray[np.bool_]:
    """Whether straight lines, of shape (places, steps, 2), cross another one."""
    a, b, c, d = leaders[:, 0], leaders[:, -1], other[0], other[-1]

    def side(p: Floats, q: Floats, r: Floats) -> Floats:
        u, v = q - p, r - p
        found: Floats = np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])
        return found

    crossing: NDArray[np.bool_] = (side(a, b, c) * side(a, b, d) < 0) & (
        side(c, d, a) * side(c, d, b) < 0
    )
    return crossing


def _write(axes: "Axes", dot: Dot, center: Floats, box: Floats, gap: float, size: float) -> None:
    corner = box[:2] - center
    axes.annotate(
        dot.text, (dot.x, dot.y), (float(corner[0]), float(corner[1])), textcoords="offset points",
        ha="left", va="bottom", fontsize=size, color=darken(dot.color), zorder=6,
        fontweight="bold" if dot.bold else "normal",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.2},  # over grids
    )  # fmt: skip
    if gap <= _LEADER_FROM:
        return
    end = np.clip(center, box[:2], box[2:]) - center
    axes.annotate(
        "", (dot.x, dot.y), (float(end[0]), float(end[1])), textcoords="offset points", zorder=2.5,
        arrowprops={
            "arrowstyle": "-", "linewidth": 0.6, "color": dot.color, "shrinkA": 0.0, "shrinkB": 0.0,
        },
    )  # fmt: skip
