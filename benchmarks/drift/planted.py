"""Synthetic series in which what changes is known.

Eight groups (nine before a death), of a hundred rows each, around random places of a lattice in four
dimensions. Two of the groups are neighbors, so that eight clusters have to choose: before a split or
a birth they are two clusters and then one, before a death one and then two. In every release a tenth
of the rows leave and as many come.

Only integers, + - * / and exact powers of two: the same numbers on every machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.stability.plan import keyed_generator

Array = NDArray[np.float64]
Rng = np.random.Generator

NOISE, JITTER, WANDER = "noise: rows replaced", "noise: values measured again", "wander"
SPLIT, BIRTH, DEATH = "split", "birth", "death"
KINDS: Mapping[str, str] = MappingProxyType(
    {
        NOISE: "a tenth of the rows are replaced; nothing else changes",
        JITTER: "and all values are measured again, with an error",
        WANDER: "and one group wanders with its rows",
        SPLIT: "and half of the rows of a group go to another place",
        BIRTH: "and the rows of a new group come",
        DEATH: "and the rows of a group leave",
    }
)
CHANGES = (SPLIT, BIRTH, DEATH)
"""The kinds with a change that has to be followed."""
JUDGED_K = 8
CHANGE_AT = 4
"""The first release that has the change."""
CHOOSING = 1000
"""Trials from here on are for choosing parameters; they never judge."""

_ROWS, _DIMENSIONS = 100, 4
_REPLACED = 10  # of a hundred
_SIDE, _APART, _NEIGHBOR = 24, 10, 3
_ERROR = 0.25  # of the standard deviation in a group
_STEP = 0.5  # of a group that wanders
_UNIFORMS = 12  # the sum of twelve uniforms has variance 1


@dataclass(frozen=True)
class Release:
    """Rows with their ids, and in synthetic series the group of each."""

    ids: NDArray[Any]
    X: Array
    groups: NDArray[np.int64] | None = None


def name_kind(kind: str) -> str:
    return KINDS[kind]


def count_releases(kind: str) -> int:
    return 10 if kind in CHANGES else 20


# Groups by number: 0 changes; 1 and 2 are neighbors; NEW is where rows split to or are born.
CHANGING, PAIR, NEW = 0, (1, 2), 99


def make_trial(kind: str, trial: int = 0) -> list[Release]:
    """All releases of one trial."""
    rng = keyed_generator(trial, f"planted {kind}")
    groups = 9 if kind == DEATH else 8
    # One place more than groups: where rows split to or are born.
    places = draw_places(rng, groups + 1, path=_STEP * 20 if kind == WANDER else 0.0)
    group = np.repeat(np.arange(groups), _ROWS)
    rows = _Rows(np.arange(group.size), group, draw_noise(rng, group.size))
    releases, used = [], group.size
    for t in range(count_releases(kind)):
        if t > 0:
            leaving = rng.permutation(rows.ids.size)[: rows.ids.size * _REPLACED // 100]
            rows = rows.replace(leaving, used, draw_noise(rng, leaving.size))
            used += leaving.size
        if t == CHANGE_AT and kind in CHANGES:
            rows = _change(kind, rows, rng, used)
            used += _ROWS
        X = places[np.where(rows.groups == NEW, groups, rows.groups)] + rows.noise
        if kind == WANDER:
            X[rows.groups == CHANGING, 0] += _STEP * t
        if kind == JITTER:
            X += _ERROR * draw_noise(rng, rows.ids.size)
        releases.append(Release(rows.ids, X, rows.groups))
    return releases


@dataclass(frozen=True)
class _Rows:
    ids: NDArray[np.int64]
    groups: NDArray[np.int64]
    noise: Array

    def replace(self, leaving: NDArray[np.int64], first_id: int, noise: Array) -> "_Rows":
        """Rows of the same groups for those that leave."""
        stay = np.delete(np.arange(self.ids.size), leaving)
        new = np.arange(first_id, first_id + leaving.size)
        return _Rows(
            np.concatenate([self.ids[stay], new]),
            np.concatenate([self.groups[stay], self.groups[leaving]]),
            np.concatenate([self.noise[stay], noise]),
        )


def _change(kind: str, rows: _Rows, rng: Rng, first_id: int) -> _Rows:
    members = np.flatnonzero(rows.groups == CHANGING)
    if kind == BIRTH:
        groups = np.concatenate([rows.groups, np.full(_ROWS, NEW)])
        noise = np.concatenate([rows.noise, draw_noise(rng, _ROWS)])
        return _Rows(np.concatenate([rows.ids, first_id + np.arange(_ROWS)]), groups, noise)
    if kind == DEATH:
        stay = np.delete(np.arange(rows.ids.size), members)
        return _Rows(rows.ids[stay], rows.groups[stay], rows.noise[stay])
    groups = rows.groups.copy()
    groups[rng.permutation(members)[: members.size // 2]] = NEW
    return _Rows(rows.ids, groups, rows.noise)


def draw_places(rng: Rng, count: int, path: float) -> Array:
    """Points of a lattice that are far apart, except that 1 and 2 are neighbors.

    The first one may walk a path along the first axis, and stays as far from the others.
    """
    while True:
        places = rng.integers(0, _SIDE, size=(count, _DIMENSIONS))
        places[PAIR[1]] = places[PAIR[0]]
        places[PAIR[1], 1] += _NEIGHBOR
        walked = [places[0] + np.array([step, 0, 0, 0]) for step in range(int(path) + 1)]
        others = np.delete(places, [0, PAIR[1]], axis=0)
        apart = [((point - others) ** 2).sum(axis=1).min() for point in walked]
        between = ((others[:, None] - others[None]) ** 2).sum(axis=2)
        between[np.diag_indices_from(between)] = _SIDE**2
        if min(*apart, between.min()) >= _APART**2:
            return places.astype(np.float64)


def draw_noise(rng: Rng, count: int) -> Array:
    """About normal, with variance 1: sums of integers, so that no rounding differs."""
    parts = rng.integers(0, 2**20, size=(count, _DIMENSIONS, _UNIFORMS))
    return parts.sum(axis=2) / 2**20 - _UNIFORMS / 2
