"""A lineage -> one page: what changed, segments over time, who moved and why."""

from collections import Counter
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.lineage.release import Release
from holdfast.lineage.show import choose_level, describe_release, lay_out, list_events
from holdfast.report.page import DATE_DIGITS, Report, list_numbers, round_number
from holdfast.report.segments import MAX_COLUMNS, MIN_DESCRIBED

if TYPE_CHECKING:
    from holdfast.lineage import Lineage


FORMAT = 1
"""Version of the dictionary's layout."""

MAX_MOVES = 200
"""Rows listed that moved in the latest release: those with the largest gain."""

MAX_ROWS = 20
"""Rows to look at, in each list."""


_TOLD = (
    "label", "time", "n_rows", "n_survivors", "n_new", "n_left", "budget", "budget_binds",
    "tolerance_exceeded",
)  # fmt: skip
_COSTS = ("cost", "cost_of_staying", "fresh_cost")


def build_lineage_report(
    lineage: "Lineage",
    *,
    level: int | None = None,
    title: str = "Segments over time",
    rows: bool = True,
) -> Report:
    """Describe the releases of a segmentation on one page.

    Parameters
    ----------
    lineage : Lineage
        With at least one release.
    level : int, default=None
        The number of clusters that is shown first. None takes the smallest that was followed.
    title : str, default="Segments over time"
    rows : bool, default=True
        False leaves out everything about single rows: ids and values.

    Returns
    -------
    Report
        With `show`, `to_html`, `to_json`, `to_dict` and `verdict`. docs/report.md describes its
        dictionary.
    """
    if not len(lineage):
        raise ValueError("the lineage has no releases; append a model first.")
    try:
        title.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`title` must be valid Unicode; got {title!r}.") from None
    last = lineage[-1]
    first_shown = choose_level(lineage, level)
    seen = [_see(release) for release in lineage]
    levels = [int(k) for k in last.levels["level"]]
    columns = _choose_columns(last)
    sentence = _compose_headline(last, lineage.labels, first_shown)
    return Report(
        {
            "format": FORMAT,
            "kind": "lineage",
            "title": title,
            "verdict": {"headline": sentence, "sentence": sentence},
            "data": {
                "n_rows": last.n_rows,
                "n_columns": last.n_columns,
                "names": [last.columns[j] for j in columns],
                "dates": list(last.dates),
                "id_name": last.id_name,
                "shows_rows": rows,
            },
            "lineage": {
                "labels": lineage.labels,
                "levels": levels,
                "level": first_shown,
                "pictures": {str(k): _describe_picture(seen, k) for k in levels},
                "releases": [_describe_release(one) for one in seen],
                "clusters": {
                    str(k): _describe_clusters(seen, k, columns, rows, last.dates) for k in levels
                },
            },
            "moves": {str(k): _describe_moves(last, k, rows) for k in levels},
            "rows": _find_rows(last, seen, first_shown) if rows and last.ids is not None else [],
            "provenance": {
                "lineage": lineage.path.name,
                "time": last.time,
                "holdfast": version("holdfast"),
                "digest": last.digest,
            },
        }
    )


@dataclass(frozen=True, eq=False)
class _Seen:
    """A release without what takes memory for each row, and what was found out with it."""

    release: Release
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    moved: list[Any]
    n_held: int


def _see(release: Release) -> _Seen:
    mean, spread = _spread(release)
    moved = release.ids_of(release.moves["row"]).tolist()
    nothing = np.broadcast_to(np.int32(0), release.assigned.shape)
    none = np.empty(0, dtype=bool)
    small = replace(release, rows=None, ids=None, assigned=nothing, held=none, record=None)
    return _Seen(small, mean, spread, moved, int(np.count_nonzero(release.held)))


def _compose_headline(release: Release, labels: list[str], level: int) -> str:
    text = _say_segments(describe_release(release, [level]))
    if release.number:
        return f"Since {labels[release.number - 1]}, {text[0].lower()}{text[1:]}"
    return text


def _say_segments(text: str) -> str:
    """Use the word of the page."""
    return text.replace("cluster", "segment").replace("Cluster", "Segment")


def _describe_picture(seen: list[_Seen], level: int) -> dict[str, Any]:
    picture = lay_out([one.release for one in seen], level)
    return {
        "order": list(picture.order),
        "height": round_number(picture.height, 8),
        "bars": [
            [bar.release, bar.name, *list_numbers([bar.low, bar.high], 8), bar.event]
            for bar in picture.bars
        ],
        "bands": [
            [band.release, band.source, band.target, band.size]
            + list_numbers([band.start, band.end], 8)
            for band in picture.bands
        ],
    }


def _describe_release(seen: _Seen) -> dict[str, Any]:
    release = seen.release
    return {
        **{name: getattr(release, name) for name in _TOLD},
        "n_held": seen.n_held,
        "levels": {
            str(line["level"]): {
                **{name: round_number(line[name]) for name in ("moved", "fresh_moved")},
                **{name: round_number(line[name], 8) for name in _COSTS},
                "events": list(map(_say_segments, list_events(release.events, line["level"]))),
            }
            for line in release.levels
        },
    }


def _describe_clusters(
    seen: list[_Seen], level: int, columns: NDArray[np.int64], rows: bool, dates: tuple[str, ...]
) -> list[dict[str, Any]]:
    """For each cluster that ever was: size, cost and profile in each release."""
    found: dict[int, dict[str, Any]] = {}
    for one_seen in seen:
        release = one_seen.release
        for i in np.flatnonzero(release.clusters["level"] == level).tolist():
            line = release.clusters[i]
            size, center = int(line["size"]), release.centers[i]
            difference = (center - one_seen.mean) / one_seen.spread
            if not rows and size < MIN_DESCRIBED:
                center, difference = np.full((2, center.size), np.nan)
            values = {
                "releases": release.number,
                "sizes": size,
                "costs": round_number(line["cost"] / max(size, 1)),
                "means": [_round_value(release, j, center[j], dates) for j in columns],
                "differences": list_numbers(difference[columns], 3),
            }
            one = found.setdefault(int(line["name"]), {name: [] for name in values})
            for name, value in values.items():
                one[name].append(value)
    return [{"name": name, **found[name]} for name in sorted(found)]


def _describe_moves(release: Release, level: int, rows: bool) -> dict[str, Any]:
    """Count the moves between each two clusters, and list the rows with the largest gain."""
    chosen = np.flatnonzero(release.moves["level"] == level)
    moves, carried = release.moves[chosen], release.carried[chosen]
    pairs = Counter(zip(moves["from"].tolist(), moves["to"].tolist(), strict=True))
    columns = Counter(int(j) for j in carried["column"][:, 0] if j >= 0)
    shown, dates = [], release.dates
    if rows:
        order = np.argsort(-moves["gain"], kind="stable")[:MAX_MOVES]
        ids = release.ids_of(moves["row"][order]).tolist()
        shown = [
            {
                "id": str(id),
                "from": int(moves["from"][i]),
                "to": int(moves["to"][i]),
                "reason": str(moves["reason"][i]),
                "gain": round_number(moves["gain"][i], 3),
                "columns": [
                    [release.columns[j], *(_round_value(release, j, v, dates) for v in values)]
                    for j, *values in zip(*carried[i].tolist(), strict=True)
                    if j >= 0
                ],
            }
            for id, i in zip(ids, order.tolist(), strict=True)
        ]
    return {
        "total": int(moves.size),
        "pairs": [[a, b, n] for (a, b), n in sorted(pairs.items(), key=lambda p: (-p[1], p[0]))],
        "columns": [[release.columns[j], n] for j, n in columns.most_common()],
        "shown": shown,
    }


def _round_value(
    release: Release, column: int, value: float, dates: tuple[str, ...]
) -> float | int | None:
    return round_number(value, DATE_DIGITS if release.columns[column] in dates else 5)


def _find_rows(last: Release, seen: list[_Seen], level: int) -> list[dict[str, Any]]:
    """Find rows that would move next, and rows that moved most often."""
    following = last.next_moves[last.next_moves["level"] == level]
    following = following[np.argsort(-following["gain"], kind="stable")][:MAX_ROWS]
    ids = last.ids_of(following["row"]).tolist()
    next_lines: list[list[Any]] = [
        [str(id), int(m["from"]), int(m["to"]), round_number(m["gain"], 3)]
        for id, m in zip(ids, following, strict=True)
    ]
    paths: dict[Any, list[int]] = {}
    for one in seen:
        places = one.release.moves[["level", "from", "to"]].tolist()
        for id, (k, a, b) in zip(one.moved, places, strict=True):
            if k == level:
                paths.setdefault(id, [a]).append(b)
    often = sorted(paths.items(), key=lambda item: -len(item[1]))[:MAX_ROWS]
    often_lines: list[list[Any]] = [
        [str(id), len(path) - 1, " → ".join(map(str, path))] for id, path in often if len(path) > 2
    ]
    held = (
        "Without the budget, these rows would move, too. Gain: how much closer the mean of the new "
        "segment is than that of the old one."
    )
    near = "These rows lie near a boundary or change a lot."
    lists = (
        ("Would move next", held, ["Row", "From", "To", "Gain"], next_lines),
        ("Moved most often", near, ["Row", "Times", "Segments"], often_lines),
    )
    keys = ("title", "text", "head", "lines")
    return [dict(zip(keys, found, strict=True)) for found in lists if found[-1]]


def _spread(release: Release) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each column: of the rows, or of the means without them."""
    if release.rows is not None:
        mean, spread = release.rows.mean(axis=0), release.rows.std(axis=0)
    else:
        finest = release.clusters["level"] == release.levels["level"].max()
        weight = release.clusters["size"][finest].astype(np.float64)
        centers = release.centers[finest]
        mean = np.average(centers, axis=0, weights=weight)
        spread = np.sqrt(np.average((centers - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(spread > 0.0, spread, 1.0)


def _choose_columns(release: Release) -> NDArray[np.int64]:
    """Choose the columns whose means differ most between clusters, in the order of the table."""
    finest = release.clusters["level"] == release.levels["level"].max()
    differ = release.centers[finest].std(axis=0) / _spread(release)[1]
    chosen: NDArray[np.int64] = np.sort(np.argsort(-differ, kind="stable")[:MAX_COLUMNS])
    return chosen
