"""Records -> figures: one function a kind of figure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.config import Panel
from holdfast_paper.label_dots import Dot, freeze_layout, label_dots
from holdfast_paper.methods import METHODS
from holdfast_paper.plan import title_of
from holdfast_paper.records import Record
from holdfast_paper.style import (
    LOOKS,
    EndLabel,
    dodge,
    draw_series,
    label_ends,
    new_figure,
    use_log_scale,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Records = list[Record]
Missing = Mapping[str, str]

_X_TITLES = {"n_rows": "rows", "n_clusters": "number of clusters k", "delete": "rows deleted"}
_BAND = ("sensitivity", "low", "high")
_PROTOCOLS: Mapping[str, Mapping[str, Any]] = {
    "rebuild": {"linestyle": "-"},
    # A ring around the other marker where both are equal.
    "fixed_tree": {
        "linestyle": (0, (2, 1.5)),
        "markerfacecolor": "white",
        "markersize": 6.5,
        "zorder": 1.8,
    },
}
_LINEAR = 0.01  # smaller moved fractions are drawn on a linear scale, so that 0 can be shown
_EQ1 = "average sensitivity (Eq. 1), rows"


def draw_panel(panel: Panel, records: Records, missing: Missing) -> "dict[str, Figure]":
    """Draw the figures of a panel, by the names of their files; say which data sets are missing."""
    if panel.kind == "sensitivity":
        return _draw_sensitivities(panel, records, missing)
    if panel.kind == "cost":
        return {
            panel.name: _draw_costs(panel, records, missing, relative=False),
            f"{panel.name}_ratio": _draw_costs(panel, records, missing, relative=True),
        }
    if panel.kind == "clusterability":
        return {panel.name: _draw_bars(panel, records, missing)}
    return {}


def select_series(records: Records, name: str) -> Records:
    """Select the records of a figure: "same_seed", "protocols" or "earth_mover"."""
    if name == "earth_mover":
        return [record for record in records if record["coupling"] == name]
    same = [record for record in records if record["coupling"] == "same_seed"]
    if name == "same_seed":
        return [record for record in same if record["protocol"] == "rebuild"]
    both = {record["method"] for record in same if record["protocol"] == "fixed_tree"}
    return [record for record in same if record["method"] in both]


def _draw_sensitivities(panel: Panel, records: Records, missing: Missing) -> "dict[str, Figure]":
    figures = {}
    for name, suffix, title, draw in (
        ("same_seed", "", "same seed, tree rebuilt", _draw_methods),
        ("protocols", "_protocols", "tree rebuilt (solid), tree of all rows (hollow, dashed)",
         _draw_protocols),
        ("earth_mover", "_earth_mover", "earth mover's distance less self-distance (Eq. 2)",
         _draw_methods),
    ):  # fmt: skip
        chosen = [record for record in select_series(records, name) if record["_shown"]]
        if not chosen and name != "same_seed":
            continue
        facets = _facets(panel, chosen, missing)
        figure, axes = new_figure(len(facets), f"{panel.title}\n{title}; bars: 95%")
        for place, (facet, rows) in zip(axes, facets.items(), strict=True):
            place.set_title(facet)
            if not rows:
                _say_missing(place)
                continue
            _set_up(place, panel, rows, name)
            label_ends(place, draw(place, panel, rows))
        figures[f"{panel.name}{suffix}"] = figure
    return figures


def _facets(panel: Panel, records: Records, missing: Missing) -> dict[str, Records]:
    """Sort records by the axes they are drawn on; a data set that is missing has none."""
    if panel["x"] == "n_rows":
        return {title_of(panel["data"][0]): records}
    if panel.settings.get("facet") == "n_clusters":
        return {
            f"k = {k}": [record for record in records if record["n_clusters"] == k]
            for k in panel["n_clusters"]
        }
    found = {}
    for data in panel["data"]:
        rows = [record for record in records if record["data"] == data]
        title = title_of(data)
        if rows and panel["x"] == "delete":
            title += f", n = {rows[0]['n_rows']}, k = {rows[0]['n_clusters']}"
        if rows or data in missing:
            found[title] = rows
    return found


def _say_missing(axes: "Axes") -> None:
    axes.text(0.5, 0.5, "missing:\ndata set not found", ha="center", va="center", color="0.4")
    axes.set_xticks([])
    axes.set_yticks([])


def _set_up(axes: "Axes", panel: Panel, rows: Records, series: str) -> None:
    """Name the axes and let them hold all bars.

    Against the number of rows the claims are about linear growth, so axes are linear there.
    """
    axes.set_xlabel(_X_TITLES[panel["x"]])
    lowest, highest = min(row["low"] for row in rows), max(row["high"] for row in rows)
    floor = min(row["floor"] for row in rows)
    if series == "earth_mover":
        axes.set_ylabel("distance − self-distance, rows")
        axes.axhline(0.0, color="0.6", linewidth=0.6)
        room = 0.04 * (max(highest, 1.0) - min(lowest, 0.0))
        axes.set_ylim(min(lowest, 0.0) - room, max(highest, 1.0) + room)
    elif panel["x"] == "n_rows":
        axes.set_ylabel(_EQ1)
        axes.set_ylim(-0.06 * highest, 1.04 * highest)
    else:
        axes.set_ylabel(_EQ1)
        use_log_scale(axes)
        axes.set_ylim(0.62 * floor, max(1.15 * highest, 2.0 * floor))
    if panel["x"] == "delete":
        deletes = panel["delete"]
        names = ["1 row" if d == 1 else f"{d:.0%}" for d in deletes]
        axes.set_xticks(range(len(deletes)), names)
    _draw_floor(axes, panel, rows, series)


def _draw_floor(axes: "Axes", panel: Panel, rows: Records, series: str) -> None:
    if series == "earth_mover":
        return
    floor = {_place(panel, row): row["floor"] for row in rows}
    xs = sorted(floor)
    axes.plot(xs, [floor[x] for x in xs], color="0.55", linewidth=0.8, linestyle=(0, (1, 2)))
    axes.annotate(
        "floor: the deleted rows", (xs[0], floor[xs[0]]), (2, -7), textcoords="offset points",
        fontsize=5.5, color="0.45",
    )  # fmt: skip


def _place(panel: Panel, record: Record) -> float:
    """Where a record stands on the x axis."""
    if panel["x"] == "delete":
        return float(panel["delete"].index(record["delete"]))
    return float(record[panel["x"]])


def _columns(panel: Panel, rows: Records) -> list[NDArray[np.float64]]:
    ordered = sorted(rows, key=lambda row: _place(panel, row))
    x = np.array([_place(panel, row) for row in ordered])
    return [x, *(np.array([row[key] for row in ordered], dtype=np.float64) for key in _BAND)]


def _by_method(rows: Records) -> dict[str, Records]:
    found: dict[str, Records] = {}
    for method in METHODS:
        chosen = [row for row in rows if row["method"] == method]
        if chosen:
            found[method] = chosen
    return found


def _draw(axes: "Axes", method: str, *columns: NDArray[np.float64], **style: Any) -> EndLabel:
    return draw_series(axes, method, METHODS[method].title, *columns, **style)


def _draw_methods(axes: "Axes", panel: Panel, rows: Records) -> list[EndLabel]:
    found = _by_method(rows)
    labels = []
    for i, (method, chosen) in enumerate(found.items()):
        x, *values = _columns(panel, chosen)
        labels.append(_draw(axes, method, dodge(x, i, len(found)), *values))
    return labels


def _draw_protocols(axes: "Axes", panel: Panel, rows: Records) -> list[EndLabel]:
    found = _by_method(rows)
    labels = []
    for i, (method, chosen) in enumerate(found.items()):
        for j, (protocol, style) in enumerate(_PROTOCOLS.items()):
            x, *values = _columns(panel, [row for row in chosen if row["protocol"] == protocol])
            x = dodge(x, 2 * i + j, 2 * len(found))
            label = _draw(axes, method, x, *values, **style)
        labels.append(label)
    return labels


def _draw_costs(panel: Panel, records: Records, missing: Missing, relative: bool) -> "Figure":
    facets = list(panel["data"])
    what = " over that of Ward linkage" if relative else ""
    figure, axes = new_figure(len(facets), f"{panel.title}{what}\nmean over seeds; bands: 95%")
    for place, data in zip(axes, facets, strict=True):
        place.set_title(title_of(data))
        rows = [record for record in records if record["data"] == data]
        if not rows:
            _say_missing(place)
            continue
        labels = []
        ward = np.array([row["cost"] for row in rows if row["method"] == "ward"])
        for method, chosen in _by_method(rows).items():
            x, y, low, high = (
                np.array([row[key] for row in chosen], dtype=np.float64)
                for key in ("n_clusters", "cost", "low", "high")
            )
            unit = ward if relative else np.ones_like(y)
            label = draw_series(
                place, method, METHODS[method].title, x, y / unit, low / unit, high / unit,
                band=True, markevery=6,
            )  # fmt: skip
            labels.append(label)
        place.set_xlabel(_X_TITLES["n_clusters"])
        place.set_ylabel("cost / cost of Ward linkage" if relative else "k-median cost")
        label_ends(place, labels)
    return figure


def _draw_bars(panel: Panel, records: Records, missing: Missing) -> "Figure":
    """MaxIntra beside MinInter for each cluster, ordered by their ratio."""
    facets = list(panel["data"])
    figure, axes = new_figure(len(facets), f"{panel.title}\nMinInter light, MaxIntra dark")
    for place, data in zip(axes, facets, strict=True):
        rows = [record for record in records if record["data"] == data]
        place.set_title(title_of(data))
        if not rows:
            _say_missing(place)
            continue
        title = f"{title_of(data)}: radius {rows[0]['radius']:g}, noise {rows[0]['noise']}"
        place.set_title(f"{title} of {rows[0]['n_rows']} rows", fontsize=8)
        rows = [row for row in rows if row["max_intra"]]
        if not rows:
            place.text(0.5, 0.5, "no cluster:\nall rows are noise", ha="center", va="center")
            place.set_xticks([])
            place.set_yticks([])
            continue
        rows.sort(key=lambda row: row["min_inter"] / row["max_intra"])
        x = np.arange(len(rows))
        place.bar(x - 0.2, [row["max_intra"] for row in rows], 0.4, color="#0B3C5D")
        place.bar(x + 0.2, [row["min_inter"] for row in rows], 0.4, color="#F0B429")
        above = sum(row["min_inter"] > row["max_intra"] for row in rows)
        place.text(
            0.02, 0.97, f"MinInter larger for {above} of {len(rows)}", transform=place.transAxes,
            fontsize=6.5, va="top",
        )  # fmt: skip
        place.margins(y=0.15)
        place.set_xlabel("DBSCAN cluster, by ratio")
        place.set_ylabel("distance")
    return figure


def draw_summary(panel: Panel, records: list[Record]) -> "Figure":
    """Small dots for each (data set, k), a large one with a name for each method's mean."""
    figure, (axes,) = new_figure(
        1, f"{panel.title}: {panel['delete']:.0%} of the rows deleted, k = "
        + ", ".join(str(k) for k in panel["n_clusters"])
    )  # fmt: skip
    figure.set_size_inches(8.0, 5.6)
    dots: list[Dot] = []
    small: list[tuple[float, float]] = []
    for method in METHODS:
        look = LOOKS[method]
        rows = [record for record in records if record["method"] == method]
        if not rows:
            continue
        x = np.array([row["cost_ratio"] for row in rows])
        y = np.array([row["moved_fraction"] for row in rows])
        axes.scatter(x, y, s=12, marker=look.marker, color=look.color, alpha=0.45, linewidths=0.8)
        middle = (float(np.exp(np.log(x).mean())), float(y.mean()))
        axes.scatter(
            *middle, s=90, marker=look.marker, color=look.color, edgecolors="black", linewidths=0.8,
            zorder=5,
        )  # fmt: skip
        dots.append(Dot(METHODS[method].title, *middle, look.color, bold=True))
        small += zip(x, y, strict=True)
    axes.set_xscale("log")
    ticks = [1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 2.5, 3.0]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_yscale("symlog", linthresh=_LINEAR)
    axes.set_ylim(bottom=-0.0007)
    axes.set_yticks(
        [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], ["0", "1%", "2%", "5%", "10%", "20%", "50%"]
    )
    axes.set_xlabel("k-median cost over the lowest of any method (farther left is better)")
    axes.set_ylabel("fraction of the remaining rows that change cluster (lower is more stable)")
    freeze_layout(axes)
    label_dots(axes, dots, size=8.0, marks=small)
    return figure
