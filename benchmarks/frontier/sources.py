"""Where movement comes from: which cluster is split next, which center, or only the boundary.

The library's own code runs with its draws replaced. The run on all rows is recorded; the run on the
rows that are left then repeats some of its choices:

- boundary: it splits the same clusters from the same rows; only where the split settles is new.
- which cluster: the same rows split each cluster, but which cluster is next is drawn anew.
- which center: the same clusters are split in the same order, but by rows drawn anew.
- all: nothing is repeated; the library as it is.

Clusters of two runs are told by the largest overlap (Jaccard), rows by their keys. Where a recorded
row was deleted, the row of the same cluster that is closest to it stands in.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from data import Array, Data
from measure import FULL, SHARE, Effort
from methods import KS
from numpy.typing import NDArray

from holdfast.centers import means as refined
from holdfast.centers import medoids as euclidean
from holdfast.centers.means import choose_means, collect_table
from holdfast.centers.medoids import choose_by_distance, collect_locations, prepare_rows
from holdfast.hierarchy.replay import build_plane_locator, build_split_locator
from holdfast.stability.measures import encode_labels, match_clusters, overlap_table
from holdfast.stability.plan import keyed_generator, repeat_seeds

FROZEN = {
    "boundary": ("order", "rows"),
    "which cluster": ("rows",),
    "which center": ("order",),
    "all": (),
}
VARIANTS = {"plain": 0.05, "refined": 0.001}
EUCLIDEAN = 0
DATA_NAMES = ("iris", "wine", "wholesale", "diabetes", "wdbc")  # refits of small data are cheap

Keys = NDArray[np.uint64]


@dataclass
class Choice:
    """Members of a cluster and the row that was drawn in it, by keys."""

    members: Keys
    row: np.uint64


@dataclass
class Record:
    """What a run chose: the cluster split in each round, and the row drawn in each cluster."""

    order: list[Choice] = field(default_factory=list)
    proposals: list[Choice] = field(default_factory=list)


def find_same(members: Keys, choices: list[Choice]) -> Choice:
    """Return the choice about the most similar cluster."""

    def similarity(choice: Choice) -> float:
        common = np.isin(choice.members, members, assume_unique=True).sum()
        return float(common / (choice.members.size + members.size - common))

    return max(choices, key=similarity)


@dataclass(frozen=True)
class Places:
    """Coordinates of all rows, also of deleted ones, by their sorted keys."""

    key: Keys
    rows: Array

    def find(self, key: Any) -> Array:
        found: Array = self.rows[np.searchsorted(self.key, key)]
        return found


class Freezer:
    """Draws as the library does, records what it draws, and repeats what is frozen."""

    def __init__(self, places: Places, frozen: tuple[str, ...], record: Record) -> None:
        self.places, self.frozen, self.base = places, frozen, record
        self.record = Record()

    def stand_in(self, row: np.uint64, keys: Keys, useful: NDArray[np.bool_]) -> int:
        """Where the row, or else the closest useful one, is among `keys`."""
        distance = np.linalg.norm(self.places.find(keys) - self.places.find(row), axis=1)
        return int(np.argmin(np.where(useful, distance, np.inf)))


class PlainFreezer(Freezer):
    """For splits between rows: the draw sees all rows, so the clusters are followed here."""

    def __init__(self, places: Places, frozen: tuple[str, ...], record: Record) -> None:
        super().__init__(places, frozen, record)
        self.draw_candidate = euclidean.draw_candidate
        self.label: NDArray[np.int64] | None = None

    def draw(self, t: int, gain: Array, free: NDArray[np.bool_], *rest: Any) -> int:
        _, key, _ = rest
        if self.label is None:
            self.label = np.zeros(key.size, np.int64)
            self.rows = self.places.find(key)
            self.centers: list[int] = []
        allowed = self._restrict(t, free, key)
        x = int(self.draw_candidate(t, gain, allowed, *rest))
        cluster = self.label == self.label[x]
        self.record.order.append(Choice(key[cluster], key[x]))
        if t > 0:
            own = self.rows[self.centers[self.label[x]]]
            near = np.linalg.norm(self.rows - self.rows[x], axis=1)
            moves = cluster & (near < np.linalg.norm(self.rows - own, axis=1))
            moves[x] = True
            self.label[moves] = t
        self.centers.append(x)
        return x

    def _restrict(self, t: int, free: NDArray[np.bool_], key: Keys) -> NDArray[np.bool_]:
        assert self.label is not None
        allowed = free.copy()
        if "order" in self.frozen and t > 0:
            target = self.base.order[t]
            parts = [Choice(key[self.label == j], key[0]) for j in range(t)]
            same = find_same(target.members, parts)
            inside = free & np.isin(key, same.members)
            allowed = inside if inside.any() else free
        if "rows" in self.frozen:
            rows = self.base.order if "order" not in self.frozen else [self.base.order[t]]
            chosen = np.zeros(free.size, np.bool_)
            for choice in rows:
                x = self.stand_in(choice.row, key, allowed)
                chosen[x] |= bool((key == choice.row).any() or not free.all())
            allowed = allowed & chosen if (allowed & chosen).any() else allowed
        return allowed


class RefinedFreezer(Freezer):
    """For refined splits: one draw in each cluster, and one among the clusters."""

    def __init__(self, places: Places, frozen: tuple[str, ...], record: Record) -> None:
        super().__init__(places, frozen, record)
        self.draw_candidate = refined.draw_candidate
        self.draw_proposal = refined._Engine.draw_cluster

    def draw(self, word: int, gain: Array, useful: NDArray[np.bool_], *rest: Any) -> int:
        """Draw a row within one cluster; `word` tells what for."""
        _, key, _ = rest
        x = int(self.draw_candidate(word, gain, useful, *rest))
        if word == refined._CHOOSE:
            return x
        if "rows" in self.frozen and word == refined._PROPOSE:
            x = self.stand_in(find_same(key, self.base.proposals).row, key, useful)
        if word == refined._PROPOSE:
            self.record.proposals.append(Choice(key, key[x]))
        return x

    def draw_cluster(self, engine: Any, clusters: list[Any]) -> int:
        """Draw the cluster that is split next."""
        j, key = self.draw_proposal(engine, clusters), engine.table.key
        if "order" in self.frozen:
            target = self.base.order[len(clusters) - 1]
            parts = [Choice(key[c.members], np.uint64(i)) for i, c in enumerate(clusters)]
            same = int(find_same(target.members, parts).row)
            j = same if clusters[same].members.size > 1 else j
        self.record.order.append(Choice(key[clusters[j].members], np.uint64(0)))
        return j


@contextmanager
def replaced_draws(freezer: Freezer) -> Iterator[None]:
    if isinstance(freezer, PlainFreezer):
        with patch.object(euclidean, "draw_candidate", freezer.draw):
            yield
    elif isinstance(freezer, RefinedFreezer):
        with (
            patch.object(refined, "draw_candidate", freezer.draw),
            patch.object(
                refined._Engine,
                "draw_cluster",
                lambda engine, clusters: freezer.draw_cluster(engine, clusters),
            ),
        ):
            yield


def run_variant(
    variant: str, rows: Array, exponent: int, seed: int, build: Callable[[Places], Freezer]
) -> tuple[list[NDArray[np.int64]], Record]:
    """Labels for each k, and what was chosen; `rows` are prepared with `exponent`, and distinct."""
    locations = collect_locations(rows, None, seed, EUCLIDEAN, exponent)
    freezer = build(Places(locations.key, rows[locations.first_rows]))
    with replaced_draws(freezer):
        if variant == "plain":
            center, parent = choose_by_distance(
                locations, VARIANTS[variant], max(KS), rows.shape[0], EUCLIDEAN, seed
            )
            places = rows[locations.first_rows[center]]
            locators = [build_split_locator(places[:k], parent[:k], EUCLIDEAN, 0) for k in KS]
        else:
            table = collect_table(np.ldexp(rows, exponent), None, False, seed)
            splits = choose_means(table, VARIANTS[variant], max(KS), seed)
            planes = (splits.point, splits.normal, splits.parent)
            whole = build_plane_locator(*planes, EUCLIDEAN, exponent)
            locators = [whole.first(k) for k in KS]
    labels = [locator.finest(rows).astype(np.int64) for locator in locators]
    return labels, freezer.record


def measure_sources(data: Data, variant: str, effort: Effort) -> dict[str, Any]:
    """Excess movement, seed by seed, for each kind of freezing and deletion and each k."""
    X = np.unique(data.make(), axis=0)
    exponent = int(np.frexp(np.abs(X).max())[1])
    rows = prepare_rows(X, EUCLIDEAN, exponent)
    n = rows.shape[0]
    seeds, singles, shares = (8, 10, 3) if effort == FULL else (1, 2, 1)
    found: dict[str, Any] = {name: {"one": [], "five": []} for name in FROZEN}
    for number, seed in enumerate(repeat_seeds(0, seeds)):
        rng = keyed_generator(0, "sources", number)
        size = max(1, round(SHARE * n))
        deletions = {
            "one": [[row] for row in rng.choice(n, singles, replace=False)],
            "five": [rng.choice(n, size, replace=False) for _ in range(shares)],
        }
        for name, by_kind in _measure_seed(variant, rows, exponent, seed, deletions).items():
            for kind, excess in by_kind.items():
                found[name][kind].append(excess)
    return {"data": data.name, "method": f"sources: {variant}", "n": n, "found": found}


def _measure_seed(
    variant: str, rows: Array, exponent: int, seed: int, deletions: dict[str, list[Any]]
) -> dict[str, dict[str, list[float]]]:
    """Mean excess for each k, by kind of freezing and of deletion."""
    freezer_type = PlainFreezer if variant == "plain" else RefinedFreezer
    everywhere: list[Places] = []

    def build_recorder(places: Places) -> Freezer:
        everywhere.append(places)
        return freezer_type(places, (), Record())

    run = partial(run_variant, variant, exponent=exponent, seed=seed)
    base, record = run(rows, build=build_recorder)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in FROZEN}
    for name, kind in itertools.product(FROZEN, deletions):
        total = np.zeros(len(KS))
        for gone in deletions[kind]:
            kept = np.delete(np.arange(rows.shape[0]), gone)
            repeat = partial(freezer_type, everywhere[0], FROZEN[name], record)
            after, _ = run(rows[kept], build=lambda _, repeat=repeat: repeat())
            for i, labels in enumerate(after):
                table = overlap_table(encode_labels(base[i][kept]), encode_labels(labels))
                total[i] += kept.size - match_clusters(table).matched
        found[name][kind] = (total / len(deletions[kind])).tolist()
    return found
