"""One cell: a series and a method -> movement and cost, release by release.

*Moved*: fraction of the rows that are in both of two neighboring releases and whose cluster has
another name in the second. *Back*: fraction of these moves that a row takes back within five
releases. *Total*: fraction of the rows whose last name is not their first one; a row's first and
last name are those of the first and last release that it is in. *Removed*: fraction of the others
that move when 5% of the rows of a release are removed at random, and nothing else changes; *same*:
when nothing is removed.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from changes import judge_change
from costs import cost_to_means
from methods import METHODS, Follow, Method, State, Stepper
from numpy.typing import NDArray
from planted import CHANGES, Release
from series import KS, SERIES, SYNTHETIC
from threadpoolctl import threadpool_limits

from holdfast.stability.plan import keyed_generator

FRACTION = 0.05
BACK_WITHIN = 5
ABSENT = -1


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Attributes
    ----------
    releases : int
        Of each real series, at most.
    trials : int
        Of each synthetic series.
    removals : int
        Releases of a series from which rows are removed.
    """

    releases: int = 1000
    trials: int = 20
    removals: int = 6


FULL = Effort()
QUICK = Effort(8, 2, 2)


@dataclass(frozen=True)
class Cell:
    """A series and a method, by name."""

    series: str
    method: str
    effort: Effort = field(default=FULL)

    @property
    def title(self) -> str:
        return f"{self.series} {self.method}"


def measure_cell(cell: Cell) -> dict[str, Any]:
    """Return what the tables need, as plain numbers: for each k, lists of units.

    Units are the steps of a real series, and the trials of a synthetic one.
    """
    (series,) = (one for one in SERIES if one.name == cell.series)
    (method,) = (one for one in METHODS if one.name == cell.method)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # peers that reach fewer clusters or do not converge
        if series.group != SYNTHETIC:
            return measure_series(series.make(0)[: cell.effort.releases], method, cell.effort)
        found = []
        for trial in range(cell.effort.trials):
            releases = series.make(trial)
            states = run_states(method.build(), releases)
            one = summarize(measure_states(states))
            if series.planted in CHANGES:
                one |= judge_change(series.planted, states, method)
            found.append(one | count_promises(states, method))
        return collect_trials(found, releases[0])


def measure_series(releases: Sequence[Release], method: Method, effort: Effort) -> dict[str, Any]:
    stepper = method.build()
    states = run_states(stepper, releases)
    chosen = np.unique(np.linspace(0, len(states) - 1, effort.removals).round().astype(int))
    tried = [remove_some(stepper, states[t], int(t)) for t in chosen]
    return {
        "shape": [len(releases), *np.mean([r.X.shape for r in releases], axis=0).tolist()],
        **measure_states(states),
        "removed": {str(k): [one[0][k] for one in tried] for k in KS},
        "same": {str(k): [one[1][k] for one in tried] for k in KS},
        **count_promises(states, method),
    }


def run_states(stepper: Stepper, releases: Sequence[Release]) -> list[State]:
    states = [stepper.start(releases[0])]
    for release in releases[1:]:
        states.append(stepper.step(states[-1], release))
    return states


def measure_states(states: Sequence[State]) -> dict[str, Any]:
    """Movement of every step and cost of every release, for each k."""
    table = Histories.of([state.release.ids for state in states])
    found: dict[str, Any] = {name: {} for name in ("moved", "cost", "back", "total", "clusters")}
    for k in KS:
        names = table.spread([state.names[k] for state in states])
        key = str(k)
        found["moved"][key] = count_moves(names)
        found["back"][key] = count_back(names)
        found["total"][key] = count_total(names)
        found["cost"][key] = [cost_to_means(one.release.X, one.names[k]) for one in states]
        found["clusters"][key] = [int(np.unique(one.names[k]).size) for one in states]
    return found


@dataclass(frozen=True)
class Histories:
    """Rows by their ids: one line a row, one column a release."""

    places: list[NDArray[np.intp]]
    n_rows: int

    @classmethod
    def of(cls, ids: Sequence[NDArray[Any]]) -> "Histories":
        known, codes = np.unique(np.concatenate(ids), return_inverse=True)
        ends = np.cumsum([one.size for one in ids])[:-1]
        return cls(np.split(codes, ends), known.size)

    def spread(self, names: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Names by row and release; ABSENT where a row is not there."""
        found = np.full((self.n_rows, len(names)), ABSENT, dtype=np.int64)
        for t, (place, name) in enumerate(zip(self.places, names, strict=True)):
            found[place, t] = name
        return found


def count_moves(names: NDArray[np.int64]) -> list[float]:
    before, after = names[:, :-1], names[:, 1:]
    both = (before != ABSENT) & (after != ABSENT)
    return ((both & (before != after)).sum(axis=0) / both.sum(axis=0)).tolist()


def count_back(names: NDArray[np.int64]) -> list[int]:
    """Moves that can be seen to last or not, and how many of them are taken back."""
    moves = back = 0
    n_releases = names.shape[1]
    for t in range(1, n_releases - 1):
        before, after = names[:, t - 1], names[:, t]
        moved = (before != ABSENT) & (after != ABSENT) & (before != after)
        moved &= names[:, t + 1] != ABSENT
        later = names[moved, t + 1 : t + 1 + BACK_WITHIN]
        moves += int(moved.sum())
        back += int((later == before[moved, None]).any(axis=1).sum())
    return [moves, back]


def count_total(names: NDArray[np.int64]) -> float:
    there = names != ABSENT
    stayed = there.sum(axis=1) > 1
    names, there = names[stayed], there[stayed]
    rows = np.arange(names.shape[0])
    first = names[rows, there.argmax(axis=1)]
    last = names[rows, names.shape[1] - 1 - there[:, ::-1].argmax(axis=1)]
    return float((first != last).mean())


def remove_some(
    stepper: Stepper, state: State, t: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Fractions of the others that move when 5% of the rows are removed, and when none are."""
    release = state.release
    n = release.ids.size
    kept = np.sort(keyed_generator(t, "removals").permutation(n)[round(FRACTION * n) :])
    fewer = stepper.step(state, Release(release.ids[kept], release.X[kept]))
    same = stepper.step(state, release)
    return (
        {k: float((fewer.names[k] != state.names[k][kept]).mean()) for k in KS},
        {k: float((same.names[k] != state.names[k]).mean()) for k in KS},
    )


def count_promises(states: Sequence[State], method: Method) -> dict[str, Any]:
    """For a method that follows: how often it kept its budget, and what it reported."""
    stepper = method.build()
    if not isinstance(stepper, Follow):
        return {}
    budget = stepper.options.get("budget", 1.0)
    moved = measure_states(states)["moved"]
    worst = np.max([moved[str(k)] for k in KS], axis=0)
    reports = [state.memory.follow_ for state in states[1:]]
    return {
        "budget_kept": int((worst <= budget).sum()),
        "budget_binds": [bool(report.budget_binds) for report in reports],
        "tolerance_exceeded": [bool(report.tolerance_exceeded) for report in reports],
        "steps": len(states) - 1,
        "held": float(np.mean([state.memory.held_.mean() for state in states[1:]])),
    }


def summarize(found: dict[str, Any]) -> dict[str, Any]:
    """One trial: the means of its steps."""
    return {
        "moved": {k: float(np.mean(steps)) for k, steps in found["moved"].items()},
        "worst": {k: float(np.max(steps)) for k, steps in found["moved"].items()},
        "cost": found["cost"],
        "total": found["total"],
        "back": found["back"],
    }


def collect_trials(found: Sequence[dict[str, Any]], first: Release) -> dict[str, Any]:
    """Lists over trials."""
    keys = [str(k) for k in KS]
    result: dict[str, Any] = {
        name: {k: [one[name][k] for one in found] for k in keys}
        for name in ("moved", "worst", "cost", "total")
    }
    result["back"] = {k: np.sum([one["back"][k] for one in found], axis=0).tolist() for k in keys}
    result["shape"] = [len(found[0]["cost"][keys[0]]), *first.X.shape]
    for name in ("delay", "event", "budget_kept", "steps", "held"):
        if name in found[0]:
            result[name] = [one[name] for one in found]
    return result
