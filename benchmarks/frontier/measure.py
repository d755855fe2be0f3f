"""One cell: a data set and a method -> costs and movements, unit by unit.

A unit is what is independent of the other units. For a method with a seed it is a seed: each seed
has removals of its own, so the standard error of the units' mean covers both. For a method without
a seed it is a removal.

Excess movement = rows that moved - rows removed, where moved = n - matched: 0 if every remaining
row stays with its cluster.
"""

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from costs import cost_to_means
from data import DATA, LARGE, Array
from methods import METHODS
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from holdfast import k_median_cost
from holdfast.clusterers.adapt import Clusterer, KMedianClusterer
from holdfast.follow.report import match_clusters
from holdfast.stability.deletions import matched_after_deletions
from holdfast.stability.measures import encode_labels, overlap_table
from holdfast.stability.plan import keyed_generator, repeat_seeds

FRACTION = 0.05
MANY_ROWS = 700  # from here on, fewer removals are tried
REFERENCE = "ward"
Labels = list[NDArray[Any]]


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Attributes
    ----------
    seeds : int
    singles, many_singles, fractions, many_fractions : int
        Removals of one row and of 5% for each seed; `many_` for tables with many rows. Of one row,
        as many as it takes for every row to have its turn, if that is more, the table has not many
        rows and one fit serves every k.
    units, flat_units, many_units : int
        Removals of either kind for a method without seeds; `flat_units` where it is fitted for
        each k. Where one fit serves every k and the table has not many rows: of one row, all.
    large_seeds : int
        Seeds for the large data, each with one removal of 5%.
    large_rows : int
        Rows of the large data, at most; 0 for all.
    """

    seeds: int = 40
    singles: int = 5
    many_singles: int = 2
    fractions: int = 4
    many_fractions: int = 1
    units: int = 100
    flat_units: int = 60
    many_units: int = 40
    large_seeds: int = 8
    large_rows: int = 0


FULL = Effort()
QUICK = Effort(2, 2, 1, 1, 1, 4, 2, 2, 2, 2000)


@dataclass(frozen=True)
class Cell:
    """A data set and a method, by name."""

    data: str
    method: str
    effort: Effort = field(default=FULL)

    @property
    def title(self) -> str:
        return f"{self.data} {self.method}"


def measure_cell(cell: Cell) -> dict[str, Any]:
    """Return what the tables need, as plain numbers: lists of units for each k."""
    (data,) = (data for data in DATA if data.name == cell.data)
    (method,) = (method for method in METHODS if method.name == cell.method)
    X = np.ascontiguousarray(data.make())
    if LARGE in data.groups and 0 < cell.effort.large_rows < X.shape[0]:
        X = X[keyed_generator(0, "rows").permutation(X.shape[0])[: cell.effort.large_rows]]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # peers that reach fewer clusters or do not converge
        trial = Trial(X, method.build(X, data.ks), data.ks, cell.effort)
        if LARGE in data.groups:
            found = trial.run_large()
        elif trial.clusterer.randomized:
            found = trial.run_seeds()
        else:
            found = trial.run_once(method.name == REFERENCE)
    return {"n": X.shape[0], "d": X.shape[1], **found}


@dataclass(frozen=True)
class Trial:
    """Rows, a clusterer, and how much is tried."""

    X: Array
    clusterer: Clusterer
    ks: tuple[int, ...]
    effort: Effort

    def run_large(self) -> dict[str, Any]:
        """Cost and movement at 5% for a few seeds, or as many removals."""
        units = []
        base: Labels = []
        for number, seed in enumerate(repeat_seeds(0, self.effort.large_seeds)):
            if self.clusterer.randomized or not base:
                base = self.cut(self.X, seed)
            removals = self.draw_fractions(1, keyed_generator(0, "fractions", number))
            units.append(
                {
                    "cost": [cost_to_means(self.X, labels) for labels in base],
                    "five": self.mean_excess(seed, base, removals),
                    "clusters": [np.unique(labels).size for labels in base],
                }
            )
        return {**_by_k(units), "exhaustive": False}

    def run_seeds(self) -> dict[str, Any]:
        n, effort, clusterer = self.X.shape[0], self.effort, self.clusterer
        exact = isinstance(clusterer, KMedianClusterer) and clusterer.estimator.method == "tree"
        singles, fractions = effort.singles, effort.fractions
        if n >= MANY_ROWS:
            singles, fractions = effort.many_singles, effort.many_fractions
        elif effort == FULL and clusterer.hierarchical:
            singles = max(singles, math.ceil(n / effort.seeds))
        turns = keyed_generator(0, "turns").permutation(n)
        units = []
        for number, seed in enumerate(repeat_seeds(0, effort.seeds)):
            base = self.cut(self.X, seed)
            if exact:
                assert isinstance(clusterer, KMedianClusterer)
                matched = matched_after_deletions(clusterer.estimator, self.X, list(self.ks), seed)
                one = (n - 1 - matched).mean(axis=0).tolist()
            else:
                rows = turns[np.arange(number * singles, (number + 1) * singles) % n]
                one = self.mean_excess(seed, base, [[row] for row in rows])
            removals = self.draw_fractions(fractions, keyed_generator(0, "shares", number))
            units.append(
                {**self.describe(base), "one": one, "five": self.mean_excess(seed, base, removals)}
            )
        return {**_by_k(units), "exhaustive": False}

    def run_once(self, is_reference: bool) -> dict[str, Any]:
        n, effort = self.X.shape[0], self.effort
        many = n >= MANY_ROWS
        count = effort.units if self.clusterer.hierarchical else effort.flat_units
        if many:
            # Every ratio is divided by the reference.
            count = effort.many_units * (5 if is_reference else 1)
        exhaustive = effort == FULL and not many and self.clusterer.hierarchical
        singles = np.arange(n)
        if not exhaustive:
            singles = keyed_generator(0, "turns").permutation(n)[:count]
        base = self.cut(self.X, 0)
        removals = self.draw_fractions(count, keyed_generator(0, "shares", 0))
        return {
            **_by_k([self.describe(base)]),
            **_by_k([{"one": self.mean_excess(0, base, [[row]])} for row in singles]),
            **_by_k([{"five": self.mean_excess(0, base, [rows])} for rows in removals]),
            "exhaustive": exhaustive,
        }

    def cut(self, X: Array, seed: int) -> Labels:
        result = self.clusterer.fit(X, seed)
        return [np.asarray(result.cut(k)) for k in self.ks]

    def describe(self, base: Labels) -> dict[str, list[float]]:
        return {
            "cost": [k_median_cost(self.X, labels) for labels in base],
            "clusters": [np.unique(labels).size for labels in base],
        }

    def draw_fractions(self, count: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        n = self.X.shape[0]
        size = max(1, round(FRACTION * n))
        return [rng.choice(n, size=size, replace=False) for _ in range(count)]

    def mean_excess(self, seed: int, base: Labels, removals: Any) -> list[float]:
        """Mean over removals, for each k."""
        total = np.zeros(len(self.ks))
        for rows in removals:
            kept = np.delete(np.arange(self.X.shape[0]), rows)
            after = self.cut(self.X[kept], seed)
            for i in range(len(self.ks)):
                table = overlap_table(encode_labels(base[i][kept]), encode_labels(after[i]))
                total[i] += kept.size - match_clusters(table).matched
        mean: list[float] = (total / len(removals)).tolist()
        return mean


def _by_k(units: list[dict[str, list[float]]]) -> dict[str, Any]:
    """Turn units into lists of units for each k."""
    return {name: np.transpose([unit[name] for unit in units]).tolist() for name in units[0]}
