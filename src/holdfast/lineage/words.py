"""What happened to clusters, in words: the same in commands, notebooks and pages."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from holdfast.lineage.release import Release

__all__ = ["NOTABLE", "describe_event", "describe_moves", "describe_release", "list_events"]

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


def describe_release(release: Release, levels: Iterable[int] | None = None) -> str:
    """Say in one or two sentences what changed since the release before."""
    if not release.number:
        cuts = " and ".join(str(k) for k in release.levels["level"])
        return f"First release: {release.n_rows:,} rows in {cuts} clusters."
    chosen = release.levels["level"].tolist() if levels is None else list(levels)
    lines = {int(line["level"]): line for line in release.levels}
    parts = [describe_moves(k, float(lines[k]["moved"]), release.n_survivors) for k in chosen]
    text = f"{'; '.join(parts)}; {release.n_new:,} rows are new, {release.n_left:,} left."
    events = [event for k in chosen for event in list_events(release.events, k)]
    if events:
        told = "; ".join(dict.fromkeys(events))
        text += f" {told[0].upper()}{told[1:]}."
    if release.budget_binds:
        text += f" The budget of {release.budget:.2%} binds." if release.budget is not None else ""
    fresh = float(np.nanmax(release.levels["cost"] / release.levels["fresh_cost"], initial=-1.0))
    if fresh > 0.0:
        text += f" Cost: at most {fresh:.3f} times that of a fresh fit."
    return text
