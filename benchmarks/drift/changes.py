"""Whether and when a planted change is followed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from methods import Method, State
from planted import BIRTH, CHANGE_AT, CHANGING, DEATH, JUDGED_K, NEW, PAIR, SPLIT

PURE = 0.9  # of a group in one cluster
NEVER = -1


def judge_change(kind: str, states: Sequence[State], method: Method) -> dict[str, Any]:
    """After how many releases the change is followed (0: at once), and whether an event says so."""
    before = states[CHANGE_AT - 1]
    old = find_name(before, CHANGING)[0]
    for delay, state in enumerate(states[CHANGE_AT:]):
        if is_followed(kind, state, old):
            told = [
                has_event(kind, one, old, state)
                for one in states[CHANGE_AT : CHANGE_AT + delay + 1]
            ]
            return {"delay": delay, "event": any(told) if method.follows else None}
    return {"delay": NEVER, "event": False if method.follows else None}


def find_name(state: State, group: int) -> tuple[int, bool]:
    """Name that most rows of a group have, and whether nearly all of them have it."""
    assert state.release.groups is not None
    names, counts = np.unique(
        state.names[JUDGED_K][state.release.groups == group], return_counts=True
    )
    return int(names[counts.argmax()]), bool(counts.max() >= PURE * counts.sum())


def is_followed(kind: str, state: State, old: int) -> bool:
    """Whether the clusters are those of the groups after the change.

    Split and birth: nearly all rows of the new group are in one cluster, and no other group is.
    Death: nobody has the name of the dead one, and most rows of the neighbors, until now one
    cluster, are in two. Neighbors overlap, so no more than most is asked of them.
    """
    assert state.release.groups is not None
    if kind == DEATH:
        one, other = (find_name(state, group)[0] for group in PAIR)
        return one != other and old not in state.names[JUDGED_K]
    new, pure = find_name(state, NEW)
    others = {
        find_name(state, group)[0] for group in np.unique(state.release.groups) if group != NEW
    }
    return pure and new not in others


def has_event(kind: str, state: State, old: int, last: State) -> bool:
    """Whether the events of one release name the change."""
    events = state.memory.events_ if hasattr(state.memory, "events_") else np.empty(0)
    events = events[events["level"] == JUDGED_K] if events.size else events
    for event in events:
        what, name, other = str(event["event"]), int(event["name"]), int(event["other"])
        if kind == SPLIT and what == "split" and old in (name, other):
            return True
        if kind == BIRTH and what == "new" and name == find_name(last, NEW)[0]:
            return True
        if kind == DEATH and what == "ended" and name == old:
            return True
    return False
