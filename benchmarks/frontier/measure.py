"""One cell: a data set and a method -> costs and excess movements, unit by unit.

A unit is what is independent of the other units. For a method with a seed it is a seed: each seed
has deletions of its own, so the standard error of the units' mean covers seeds and deletions both.
For a method without one it is a deletion.

Excess movement = rows that moved - rows deleted, where moved = n - matched: 0 when every surviving
row stays with its cluster.
"""

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from data import Array, Data
from methods import KS, REFERENCE, Method
from numpy.typing import NDArray

from holdfast import k_median_cost
from holdfast.clusterers.adapt import KMedianClusterer
from holdfast.clusterers.protocol import Clusterer
from holdfast.stability.deletions import matched_after_deletions
from holdfast.stability.measures import encode_labels, match_clusters, overlap_table
from holdfast.stability.plan import keyed_generator, repeat_seeds

SHARE = 0.05
LARGE = 700  # rows from which fewer deletions are tried


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Attributes
    ----------
    seeds : int
    singles, large_singles, shares, large_shares : int
        Deletions of one row and of 5% for each seed. Of one row, as many as it takes for every row
        to have its turn, if that is more, the data is not large and one fit serves every k.
    units, flat_units, large_units : int
        Deletions of either kind for a method without seeds; `flat_units` where it is fitted for
        each k. Where one fit serves every k and the data is not large, of one row: all of them.
    """

    seeds: int = 40
    singles: int = 5
    large_singles: int = 2
    shares: int = 4
    large_shares: int = 1
    units: int = 100
    flat_units: int = 60
    large_units: int = 40


FULL = Effort()
QUICK = Effort(2, 2, 1, 1, 1, 4, 2, 2)


def measure_cell(data: Data, method: Method, effort: Effort) -> dict[str, Any]:
    """Return what the table needs, as plain numbers: lists of units for each k."""
    start = time.perf_counter()
    X = np.ascontiguousarray(data.make())
    clusterer = method.build(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers that reach fewer clusters or do not converge
        if clusterer.randomized:
            found = _measure_seeds(X, clusterer, effort)
        else:
            found = _measure_once(X, clusterer, effort, method.name == REFERENCE)
    return {
        "data": data.name,
        "method": method.name,
        "n": X.shape[0],
        "d": X.shape[1],
        **found,
        "seconds": time.perf_counter() - start,
    }


def _measure_seeds(X: Array, clusterer: Clusterer, effort: Effort) -> dict[str, Any]:
    n = X.shape[0]
    exact = isinstance(clusterer, KMedianClusterer) and clusterer.estimator.cost == "tree"
    singles, shares = effort.singles, effort.shares
    if n >= LARGE:
        singles, shares = effort.large_singles, effort.large_shares
    elif effort == FULL and clusterer.hierarchical:
        singles = max(singles, math.ceil(n / effort.seeds))
    turns = keyed_generator(0, "turns").permutation(n)
    cost, one, five, counts = [], [], [], []
    for number, seed in enumerate(repeat_seeds(0, effort.seeds)):
        base = _cut(clusterer, X, seed)
        cost.append([k_median_cost(X, labels) for labels in base])
        counts.append([np.unique(labels).size for labels in base])
        if exact:
            assert isinstance(clusterer, KMedianClusterer)
            matched = matched_after_deletions(clusterer.estimator, X, list(KS), seed)
            one.append((n - 1 - matched).mean(axis=0).tolist())
        else:
            rows = turns[np.arange(number * singles, (number + 1) * singles) % n]
            one.append(_mean_excess(X, clusterer, seed, base, [[row] for row in rows]))
        rng = keyed_generator(0, "shares", number)
        five.append(_mean_excess(X, clusterer, seed, base, _draw_shares(n, shares, rng)))
    return {**_by_k(cost, one, five, counts), "exhaustive": False}


def _measure_once(
    X: Array, clusterer: Clusterer, effort: Effort, is_reference: bool
) -> dict[str, Any]:
    n = X.shape[0]
    large = n >= LARGE
    units = effort.units if clusterer.hierarchical else effort.flat_units
    if large:
        # Every ratio is divided by the reference.
        units = effort.large_units * (5 if is_reference else 1)
    exhaustive = effort == FULL and not large and clusterer.hierarchical
    singles = np.arange(n)
    if not exhaustive:
        singles = keyed_generator(0, "turns").permutation(n)[:units]
    base = _cut(clusterer, X, 0)
    one = [_mean_excess(X, clusterer, 0, base, [[row]]) for row in singles]
    rng = keyed_generator(0, "shares", 0)
    five = [_mean_excess(X, clusterer, 0, base, [rows]) for rows in _draw_shares(n, units, rng)]
    cost = [[k_median_cost(X, labels) for labels in base]]
    counts = [[np.unique(labels).size for labels in base]]
    return {**_by_k(cost, one, five, counts), "exhaustive": exhaustive}


def _by_k(cost: Any, one: Any, five: Any, counts: Any) -> dict[str, Any]:
    named = {"cost": cost, "one": one, "five": five, "clusters": counts}
    return {name: np.transpose(values).tolist() for name, values in named.items()}


def _draw_shares(n: int, count: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    size = max(1, round(SHARE * n))
    return [rng.choice(n, size=size, replace=False) for _ in range(count)]


def _cut(clusterer: Clusterer, X: Array, seed: int) -> list[NDArray[Any]]:
    result = clusterer.fit(X, seed)
    return [np.asarray(result.cut(k)) for k in KS]


def _mean_excess(
    X: Array, clusterer: Clusterer, seed: int, base: list[NDArray[Any]], deletions: Any
) -> list[float]:
    """Mean over deletions, for each k."""
    total = np.zeros(len(KS))
    for rows in deletions:
        kept = np.delete(np.arange(X.shape[0]), rows)
        after = _cut(clusterer, X[kept], seed)
        for i in range(len(KS)):
            table = overlap_table(encode_labels(base[i][kept]), encode_labels(after[i]))
            total[i] += kept.size - match_clusters(table).matched
    mean: list[float] = (total / len(deletions)).tolist()
    return mean
