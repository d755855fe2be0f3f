"""What happened to clusters, in words: the same in commands, notebooks and pages."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from holdfast.lineage.release import Release

__all__ = [
    "NOTABLE",
    "describe_event",
    "describe_follow",
    "describe_moves",
    "describe_release",
    "list_events",
]

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


def describe_moves(level: int, moved: float, n_survivors: int) -> str:
    """Say how many rows changed cluster."""
    count = round(moved * n_survivors)
    share = f" ({moved:.2%})" if count else ""
    return f"{count:,} of {n_survivors:,} rows{share} changed cluster at {level} clusters"


def describe_follow(report: Any, events: Any, levels: Iterable[int] | None = None) -> str:
    """Say in a few sentences what changed.

    Parameters
    ----------
    report : FollowReport
    events : ndarray
        As `HierarchicalKMedian.events_`.
    levels : iterable of int, default=None
        The levels to describe; None describes all.
    """
    place = {int(k): j for j, k in enumerate(report.levels)}
    chosen = list(place if levels is None else levels)
    parts = [describe_moves(k, float(report.moved[place[k]]), report.n_survivors) for k in chosen]
    new = "row is" if report.n_new == 1 else "rows are"
    text = f"{'; '.join(parts)}; {report.n_new:,} {new} new, {report.n_left:,} left."
    told = "; ".join(dict.fromkeys(e for k in chosen for e in list_events(events, k)))
    if told:
        text += f" {told[0].upper()}{told[1:]}."
    if report.budget_binds and report.budget is not None:
        text += f" The budget of {report.budget:.2%} binds."
    fresh = [report.cost[place[k]] / report.fresh_cost[place[k]] for k in chosen]
    if np.isfinite(fresh).all():
        text += f" Cost: at most {max(fresh):.3f} times that of a fresh fit."
    return text


def describe_release(release: Release, levels: Iterable[int] | None = None) -> str:
    """Say in a few sentences what changed since the release before."""
    if not release.number:
        cuts = " and ".join(str(k) for k in release.levels["level"])
        return f"First release: {release.n_rows:,} rows in {cuts} clusters."
    report = SimpleNamespace(
        levels=release.levels["level"].tolist(),
        **{name: release.levels[name] for name in ("moved", "cost", "fresh_cost")},
        **{name: getattr(release, name) for name in ("n_survivors", "n_new", "n_left", "budget")},
        budget_binds=release.budget_binds,
    )
    return describe_follow(report, release.events, levels)
