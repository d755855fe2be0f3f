"""Cells -> means with standard errors -> ratios to Ward's -> averages over data sets.

The standard error of a ratio a / b of independent means is that of the first-order expansion:
sqrt(se(a)^2 + (a / b)^2 se(b)^2) / b. An average over data sets takes these as independent; the
errors of several k on one data set, which share fits, are added as they are, which is the worst
case.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from methods import KS, REFERENCE

QUANTITIES = ("cost", "one", "five")
Cells = Mapping[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A number with its standard error; NaN where there is none (such as a ratio to 0)."""

    value: float
    error: float

    @property
    def known(self) -> bool:
        return math.isfinite(self.value)


def mean_of(cell: dict[str, Any], quantity: str, k: int) -> Figure:
    """Mean over units; no error where the units are all there are."""
    units = np.asarray(cell[quantity][KS.index(k)], dtype=np.float64)
    whole = quantity == "one" and cell["exhaustive"]
    if units.size == 1 or whole:
        return Figure(float(units.mean()), 0.0)
    return Figure(float(units.mean()), float(units.std(ddof=1)) / math.sqrt(units.size))


def divide(a: Figure, b: Figure) -> Figure:
    if b.value <= 0.0:
        return Figure(math.nan, math.nan)
    ratio = a.value / b.value
    return Figure(ratio, math.sqrt(a.error**2 + (ratio * b.error) ** 2) / b.value)


def ratio_to_ward(cells: Cells, data: str, method: str, quantity: str, k: int) -> Figure:
    """Ratio of means; Ward's to itself is exactly 1."""
    ward = mean_of(cells[data, REFERENCE], quantity, k)
    if method == REFERENCE:
        return Figure(1.0 if ward.value > 0.0 else math.nan, 0.0)
    return divide(mean_of(cells[data, method], quantity, k), ward)


def average_ratio(
    cells: Cells, data: Sequence[str], method: str, quantity: str, ks: Iterable[int]
) -> Figure:
    """Mean of the ratios over data sets and ks, without those that Ward's 0 leaves undefined."""
    ks = tuple(ks)
    values, variance = [], 0.0
    for name in data:
        ratios = [ratio_to_ward(cells, name, method, quantity, k) for k in ks]
        known = [ratio for ratio in ratios if ratio.known]
        values += [ratio.value for ratio in known]
        variance += sum(ratio.error for ratio in known) ** 2
    if not values:
        return Figure(math.nan, math.nan)
    return Figure(float(np.mean(values)), math.sqrt(variance) / len(values))


def pooled_ratio(
    cells: Cells, data: Sequence[str], method: str, quantity: str, ks: Iterable[int]
) -> float:
    """Ratio of totals, each data set as a share of its rows: no single ratio can dominate it."""
    totals = {}
    for who in (method, REFERENCE):
        totals[who] = sum(
            mean_of(cells[name, who], quantity, k).value / cells[name, who]["n"]
            for name in data
            for k in ks
        )
    return totals[method] / totals[REFERENCE] if totals[REFERENCE] > 0.0 else math.nan


def find_better(
    cells: Cells, data: Sequence[str], ours: str, peers: Sequence[str], ks: Iterable[int]
) -> dict[str, list[str]]:
    """Peers with both a lower cost and less excess movement than ours, by means over `ks`.

    For each such peer, at which deletions: "1 row", "5%".
    """
    ks = tuple(ks)

    def level(method: str, quantity: str) -> float:
        return sum(
            mean_of(cells[name, method], quantity, k).value
            / mean_of(cells[name, REFERENCE], "cost", k).value
            if quantity == "cost"
            else mean_of(cells[name, method], quantity, k).value / cells[name, method]["n"]
            for name in data
            for k in ks
        )

    found: dict[str, list[str]] = {}
    for peer in peers:
        if level(peer, "cost") >= level(ours, "cost"):
            continue
        for quantity, title in (("one", "1 row"), ("five", "5%")):
            if level(peer, quantity) < level(ours, quantity):
                found.setdefault(peer, []).append(title)
    return found
