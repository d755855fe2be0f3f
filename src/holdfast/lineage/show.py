"""Releases in words and as a picture.

Words are the same in commands, notebooks and pages. The picture is alluvial: clusters are bars, and rows
that stay or move are bands.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.hierarchy.model import cluster_color, cluster_hatch, new_axes
from holdfast.lineage.release import Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holdfast.lineage.series import Lineage


_BAR = 0.22  # half the width of a bar, if releases are 1 apart
_GAP = 0.012  # between bars, as a fraction of the most rows
_LABEL_FRACTION = 0.02  # smaller bars have no label
_FAINT_FRACTION = 0.001  # smaller bands are thin lines
_MOST_TICKS = 16


NOTABLE = ("split", "merged", "new", "ended")
"""Events other than those that every release has: kept, grown, shrunk."""


def describe_event(event: str, name: int, other: int) -> str:
    """Say what happened to a cluster."""
    if event == "split":
        return f"cluster {name} split" + (f": cluster {other} is new" if other >= 0 else "")
    if event == "merged":
        return f"cluster {name} merged" + (f" into cluster {other}" if other >= 0 else "")
    if event == "new":
        return f"cluster {name} is new" + (f", from cluster {other}" if other >= 0 else "")
    return f"cluster {name} {event if event in ('ended', 'grown', 'shrunk') else 'is kept'}"


def list_events(events: Any, level: int) -> list[str]:
    """Describe the notable events of one level, each once."""
    found = []
    told = set()
    for line in events[events["level"] == level]:
        event, name, other = str(line["event"]), int(line["name"]), int(line["other"])
        if event in NOTABLE and name not in told:
            found.append(describe_event(event, name, other))
            told |= {name} | ({other} if event == "split" else set())
    return found


def _describe_moves(moved: dict[int, float], n_survivors: int, changed: str) -> str:
    """Say how many rows changed cluster, level by level."""
    words = []
    for level, fraction in moved.items():
        count = round(fraction * n_survivors)
        words.append((f"{count:,}", f" ({fraction:.2%})" if count else "", f" at {level}"))
    first, percent, at = words[0]
    text = f"{first} of {n_survivors:,} rows{percent} {changed} cluster{at} clusters"
    return ", ".join([text, *map("".join, words[1:])])


def describe_follow(
    report: Any, events: Any, levels: Iterable[int] | None = None, *, dry_run: bool = False
) -> str:
    """Say what changed, by what is like `follow_` and `events_`: at all levels, or those chosen."""
    place = {int(k): j for j, k in enumerate(report.levels)}
    chosen = list(place if levels is None else levels)
    moved = {k: float(report.moved[place[k]]) for k in chosen}
    moves = _describe_moves(moved, report.n_survivors, "would change" if dry_run else "changed")
    added = "row was" if report.n_new == 1 else "rows were"
    text = f"{moves}; {report.n_new:,} {added} added, {report.n_left:,} removed."
    told = "; ".join(dict.fromkeys(e for k in chosen for e in list_events(events, k)))
    if told:
        text += f" {told[0].upper()}{told[1:]}."
    if report.budget_binds and report.budget is not None:
        text += f" The budget of {report.budget:.2%} binds."
    fresh = [report.cost[place[k]] / report.fresh_cost[place[k]] for k in chosen]
    if np.isfinite(fresh).all():
        text += f" Cost: at most {max(fresh):.3f} times that of a new fit."
    return text


def describe_release(release: Release, levels: Iterable[int] | None = None) -> str:
    """Say in a few sentences what changed since the release before."""
    if not release.number:
        cuts = ", ".join(str(k) for k in release.levels["level"])
        return f"First release: {release.n_rows:,} rows in {cuts} clusters."
    report = SimpleNamespace(
        levels=release.levels["level"].tolist(),
        **{name: release.levels[name] for name in ("moved", "cost", "fresh_cost")},
        **{name: getattr(release, name) for name in ("n_survivors", "n_new", "n_left", "budget")},
        budget_binds=release.budget_binds,
    )
    return describe_follow(report, release.events, levels)


@dataclass(frozen=True)
class Bar:
    """A cluster in one release: from `low` to `high`, in rows."""

    release: int
    name: int
    low: float
    high: float
    event: str


@dataclass(frozen=True)
class Band:
    """Rows that went from a cluster to one of the next release; `start` and `end` are lower edges."""

    release: int
    source: int
    target: int
    size: int
    start: float
    end: float


@dataclass(frozen=True)
class Picture:
    """Bars and bands of one level, in rows, with the order of the clusters from below."""

    level: int
    labels: tuple[str, ...]
    order: tuple[int, ...]
    bars: tuple[Bar, ...]
    bands: tuple[Band, ...]
    height: float


def lay_out(releases: Iterable[Release], level: int) -> Picture:
    """Place the clusters of each release on top of each other, and the bands between them.

    Clusters have one order in all releases, in which those with a common parent stay together.
    Bands leave and reach a bar in this order too, so that they cross as little as possible.
    """
    labels, tables, flows = [], [], []
    paths: dict[int, tuple[int, ...]] = {}
    for release in releases:
        labels.append(release.label)
        chosen = release.clusters[release.clusters["level"] == level]
        events = release.events[release.events["level"] == level]
        names = dict(zip(events["name"].tolist(), events["event"].tolist(), strict=True))
        tables.append(
            {int(c["name"]): (int(c["size"]), names.get(int(c["name"]), "")) for c in chosen}
        )
        flows.append(release.flows[release.flows["level"] == level])
        paths |= _paths(release, level)
    order = sorted(paths, key=lambda name: (paths[name], name))
    whole = max((sum(size for size, _ in table.values()) for table in tables), default=1)
    gap = _GAP * whole
    bars, places = [], []
    for number, table in enumerate(tables):
        low, place = 0.0, {}
        for name in order:
            if name in table:
                size, event = table[name]
                bars.append(Bar(number, name, low, low + size, event))
                place[name] = low
                low += size + gap
        places.append(place)
    bands = []
    for number in range(1, len(tables)):
        bands += _place_bands(number - 1, flows[number], places[number - 1], places[number], order)
    return Picture(
        level, tuple(labels), tuple(order), tuple(bars), tuple(bands),
        max((bar.high for bar in bars), default=1.0),
    )  # fmt: skip


def _paths(release: Release, level: int) -> dict[int, tuple[int, ...]]:
    """For each cluster, the names of the clusters that contain it, from the coarsest level."""
    parents = {(int(c["level"]), int(c["name"])): int(c["parent"]) for c in release.clusters}
    coarser = [int(k) for k in release.levels["level"] if k <= level]
    found = {}
    for k, name in parents:
        if k == level:
            path, here = [name], name
            for j in range(len(coarser) - 1, 0, -1):
                here = parents[coarser[j], here]
                path.append(here)
            found[name] = tuple(reversed(path))
    return found


def _place_bands(
    release: int, flows: Any, before: dict[int, float], after: dict[int, float], order: list[int]
) -> list[Band]:
    rank = {name: i for i, name in enumerate(order)}
    known = [
        (a, b, size)
        for a, b, size in flows[["from", "to", "size"]].tolist()
        if a in before and b in after
    ]
    start, end = dict(before), dict(after)
    starts, ends = {}, {}
    for a, b, size in sorted(known, key=lambda flow: (rank[flow[0]], rank[flow[1]])):
        starts[a, b] = start[a]
        start[a] += size
    for a, b, size in sorted(known, key=lambda flow: (rank[flow[1]], rank[flow[0]])):
        ends[a, b] = end[b]
        end[b] += size
    return [Band(release, a, b, size, starts[a, b], ends[a, b]) for a, b, size in known]


def draw_lineage(lineage: "Lineage", level: int | None = None, ax: Any = None) -> "Axes":
    """Draw a lineage; see `Lineage.plot`."""
    if not len(lineage):
        raise ValueError("the lineage has no releases to draw; append a model first.")
    chosen = choose_level(lineage, level)
    picture = lay_out(lineage, chosen)
    axes = new_axes(ax, (float(np.clip(2.5 + 0.75 * len(picture.labels), 6.0, 24.0)), 6.0))
    for band in picture.bands:
        _draw_band(axes, band, picture.height)
    for bar in picture.bars:
        _draw_bar(axes, bar, picture)
    _label_axes(axes, picture)
    drawn: Axes = axes
    return drawn


def choose_level(lineage: "Lineage", level: int | None) -> int:
    """Take the level that was asked for, or the smallest of the latest release."""
    known = lineage[-1].levels["level"].tolist()
    if level is None:
        return int(min(known))
    if level not in known:
        raise ValueError(f"level must be one of {', '.join(map(str, known))}; got {level}.")
    return int(level)


def _draw_band(ax: Any, band: Band, height: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, right = band.release + _BAR, band.release + 1 - _BAR
    middle = (left + right) / 2
    corners = [
        (left, band.start), (middle, band.start), (middle, band.end), (right, band.end),
        (right, band.end + band.size), (middle, band.end + band.size),
        (middle, band.start + band.size), (left, band.start + band.size), (left, band.start),
    ]  # fmt: skip
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    moved = band.source != band.target
    color = cluster_color(band.source)
    faint = band.size < _FAINT_FRACTION * height
    ax.add_patch(
        PathPatch(
            Path(corners, codes),
            facecolor=color,
            edgecolor=color if moved else "none",
            linewidth=0.3 if faint else 0.7,
            alpha=(0.5 if faint else 0.85) if moved else 0.28,
            zorder=2 if moved else 1,
        )
    )


def _draw_bar(ax: Any, bar: Bar, picture: Picture) -> None:
    size, last = bar.high - bar.low, len(picture.labels) - 1
    drawn = ax.bar(
        bar.release, size, 2 * _BAR, bottom=bar.low, color=cluster_color(bar.name), zorder=3,
        edgecolor="white",
    )  # fmt: skip
    drawn[0].set_hatch(cluster_hatch(bar.name))
    if size < _LABEL_FRACTION * picture.height:
        return
    middle = bar.low + size / 2
    for end, side, align in ((0, -1, "right"), (last, 1, "left")):
        if bar.release == end:
            place = (end + side * (_BAR + 0.06), middle)
            ax.text(*place, f"{size:,.0f}", ha=align, va="center", fontsize=8)
    notable = bar.release > 0 and bar.event in NOTABLE
    if notable or last < _MOST_TICKS or bar.release in (0, last):
        text = f"{bar.name} {bar.event}" if notable else str(bar.name)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        ax.text(bar.release, middle, text, ha="center", va="center", fontsize=8, zorder=4, bbox=box)


def _label_axes(ax: Any, picture: Picture) -> None:
    n = len(picture.labels)
    ticks = range(0, n, -(-n // _MOST_TICKS))
    slant = {"rotation": 30, "ha": "right"} if n > 6 else {}
    ax.set_xticks(ticks, [picture.labels[i] for i in ticks], **slant)
    ax.set_yticks([])
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(0, picture.height)
    ax.set_title(
        f"{picture.level} clusters: rows that stay (light) and rows that change cluster (dark)",
        fontsize=10,
    )
    for side in ("top", "right", "bottom", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(bottom=False)


def lineage_html(lineage: "Lineage") -> str:
    """Describe a lineage as an HTML table, the latest release first."""
    lines = [
        f"<tr><td>{release.number}</td><td>{escape(release.label)}</td>"
        f'<td style="text-align:right">{release.n_rows:,}</td>'
        f'<td style="text-align:left">{escape(describe_release(release))}</td></tr>'
        for release in lineage
    ]
    return (
        f"<table><caption>Lineage of {len(lineage)} releases in {escape(str(lineage.path))}"
        "</caption><thead><tr><th>release</th><th>label</th><th>rows</th><th>what changed</th></tr>"
        f"</thead><tbody>{''.join(reversed(lines))}</tbody></table>"
    )
