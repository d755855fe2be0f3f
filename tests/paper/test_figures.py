"""Names in figures: each at its own dot or line, none on another; looks that differ in gray."""

import itertools

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from holdfast_paper.config import read_panels
from holdfast_paper.figures import draw_panel
from holdfast_paper.label_dots import Dot, freeze_layout, label_dots
from holdfast_paper.methods import METHODS
from holdfast_paper.style import _LABEL_GAP, LOOKS, EndLabel, _spread, label_ends, styled


def draw_dots(dots: list[Dot], lines: list[list[tuple[float, float]]] | None = None) -> Axes:
    axes = Figure(figsize=(6.0, 5.0), dpi=100, layout="constrained").subplots()
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    axes.plot([dot.x for dot in dots], [dot.y for dot in dots], "o", linestyle="none")
    freeze_layout(axes)
    label_dots(axes, dots, lines=lines or [])
    return axes


def names_of(axes: Axes) -> dict[str, Annotation]:
    return {
        text.get_text(): text
        for text in axes.texts
        if isinstance(text, Annotation) and text.get_text()
    }


@pytest.mark.parametrize("spread", [0.4, 0.1, 0.03])
def test_names_of_dots_stand_apart_and_belong_to_their_dot(spread):
    rng = np.random.default_rng(3)
    places = np.clip(0.5 + spread * rng.normal(size=(12, 2)), 0.05, 0.95)
    dots = [Dot(f"method {i}", x, y, "black") for i, (x, y) in enumerate(places)]
    axes = draw_dots(dots)
    names = names_of(axes)
    assert set(names) == {dot.text for dot in dots}
    boxes = {text: name.get_window_extent() for text, name in names.items()}
    for one, other in itertools.combinations(boxes.values(), 2):
        assert not one.overlaps(other)
    leaders = {
        tuple(text.xy)
        for text in axes.texts
        if isinstance(text, Annotation) and not text.get_text()
    }
    centers = axes.transData.transform(places)
    for dot in dots:
        box = boxes[dot.text]
        corners = np.array([[box.x0, box.y0], [box.x1, box.y1]])
        gaps = np.linalg.norm(np.clip(centers, *corners) - centers, axis=1)
        assert axes.bbox.x0 < box.x0 < box.x1 < axes.bbox.x1
        own = gaps[dots.index(dot)]
        # Either the nearest dot is its own, or a line leads to it.
        assert own <= gaps.min() + 1e-9 or (dot.x, dot.y) in leaders
        assert own < 16.0 or (dot.x, dot.y) in leaders


def test_names_of_dots_cover_no_bar_and_no_line():
    """Ten dots on one line, each with a long bar: no name may touch any of them."""
    heights = np.arange(10) * 7 % 10 / 20 + 0.25
    dots = [Dot(f"method {i}", 0.1 + 0.08 * i, y, "black") for i, y in enumerate(heights.tolist())]
    bars = [[(dot.x, dot.y - 0.12), (dot.x, dot.y + 0.12)] for dot in dots]
    lines = [*bars, [(dot.x, dot.y) for dot in dots]]
    axes = draw_dots(dots, lines)
    for name in names_of(axes).values():
        box = name.get_window_extent()
        for line in lines:
            ends = axes.transData.transform(line)
            steps = np.linspace(0.0, 1.0, 200)[:, None]
            for a, b in itertools.pairwise(ends):
                x, y = (a + steps * (b - a)).T
                inside = (box.x0 < x) & (x < box.x1) & (box.y0 < y) & (y < box.y1)
                assert not inside.any(), name.get_text()


def test_names_of_lines_keep_their_order_and_a_gap():
    wanted = np.array([0.5, 0.5, 0.51, 0.02, 1.4, 0.98])
    places = _spread(wanted)
    assert (np.diff(np.sort(places)) >= _LABEL_GAP - 1e-9).all()
    assert places.min() >= 0.0
    assert places.max() <= 1.0 + 1e-9
    assert (np.argsort(places) == np.argsort(wanted, kind="stable")).all()
    assert places[3] == pytest.approx(0.02)  # alone, so where it wants to be
    assert places[:3].mean() == pytest.approx(wanted[:3].mean())


def test_leaders_cross_no_name():
    axes = Figure(figsize=(4.0, 3.0), dpi=100).subplots()
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    labels = [EndLabel(f"the name of line {i}", 0.99, 0.5 + 0.001 * i, "black") for i in range(10)]
    label_ends(axes, labels)
    axes.get_figure().draw_without_rendering()
    names = names_of(axes)
    for text, name in names.items():
        path = name.arrow_patch.get_path().vertices
        path = name.arrow_patch.get_transform().transform(path)
        steps = path[0] + np.linspace(0.0, 1.0, 50)[:, None] * (path[-1] - path[0])
        for other, box in ((key, one) for key, one in names.items() if key != text):
            frame = super(Annotation, box).get_window_extent()
            inside = (steps > frame.min) & (steps < frame.max)
            assert not inside.all(axis=1).any(), (text, other)


def test_looks_differ_by_color_and_in_gray():
    looks = [LOOKS[method] for method in METHODS]
    assert len({look.color for look in looks}) == len(looks)
    assert len({look.marker for look in looks}) == len(looks)
    epsilons = [LOOKS[f"tree_{epsilon}"].color for epsilon in (1, 10, 100, 1000)]
    lightness = [np.dot(to_rgb(color), (0.299, 0.587, 0.114)) for color in epsilons]
    assert np.diff(lightness).min() > 0.1  # from dark to light


def fake_record(method: str, data: str, n: int, k: int, value: float, **changes: object) -> dict:
    return {
        "data": data, "n_rows": n, "method": method, "protocol": "rebuild", "delete": 1,
        "coupling": "same_seed", "n_clusters": k, "sensitivity": value, "low": 1.0,
        "high": 9.0 * value, "floor": 1.0, "_shown": True, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "scale"), [("line", "linear"), ("regression", "log")])
def test_axes_hold_all_intervals(name, scale):
    (panel,) = read_panels([name], "full")
    records = [
        fake_record("tree_1", data, 50 * (i + 1), k, 2.0 + i + k, **changes)
        for i, data in enumerate(panel["data"])
        for k in panel["n_clusters"]
        for changes in (
            {},
            {"protocol": "fixed_tree"},
            {"coupling": "earth_mover", "low": -300.0},
        )
    ]
    with styled():
        figures = draw_panel(panel, records, {})
    assert set(figures) == {name, f"{name}_protocols", f"{name}_earth_mover"}
    highest = max(record["high"] for record in records)
    for title, figure in figures.items():
        bottom, top = figure.axes[0].get_ylim()
        assert top > highest
        moved = title.endswith("earth_mover")
        assert bottom < (-300.0 if moved else 1.0)
        # Linear growth is seen on linear axes.
        assert figure.axes[0].get_yscale() == ("linear" if moved else scale)
