"""Cells -> a table of means with standard errors -> ratios to a reference -> averages.

The standard error of a ratio a / b of independent means is that of the first-order expansion:
sqrt(se(a)^2 + (a / b)^2 se(b)^2) / b. An average over data sets takes these as independent; the
errors of several k on one data set, which share fits, are added as they are: the worst case.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data import DATA, LARGE, Data
from estimates import NONE, Figure, average, divide, mean_of
from measure import FRACTION, REFERENCE, Cell
from methods import METHODS

from holdfast_paper.cells import Stored

COST, ONE, FIVE, MOVED = "cost", "one", "five", "moved"
LARGE_REFERENCE = "bisecting_kmeans"
_COLUMNS = {COST: "cost", ONE: "excess_1_row", FIVE: "excess_5_percent"}


@dataclass(frozen=True)
class Entry:
    """A method on a data set at one k: mean cost, and excess when one row or 5% are removed."""

    rows: int
    columns: int
    clusters: float
    figures: Mapping[str, Figure]

    def __getitem__(self, quantity: str) -> Figure:
        """Return a mean; "moved" is the movement at 5% over its floor, the rows removed."""
        if quantity != MOVED:
            return self.figures[quantity]
        removed = max(1, round(FRACTION * self.rows))
        excess = self.figures[FIVE]
        return Figure(1.0 + excess.value / removed, excess.error / removed)


@dataclass(frozen=True)
class Table:
    """Everything that was measured."""

    entries: Mapping[tuple[str, str, int], Entry]

    def select(self, group: str | None = None, judging: bool = False) -> list[Data]:
        """Data with all methods that are not optional; judging: without what was chosen on."""
        return [
            data
            for data in DATA
            if (group is None or group in data.groups)
            and not (judging and data.chosen_on)
            and self._has(data)
        ]

    def list_methods(self, data: Sequence[Data]) -> list[str]:
        """Return the methods that were measured on all of these data."""
        return [
            m.name
            for m in METHODS
            if data and all((d.name, m.name, d.ks[0]) in self.entries for d in data)
        ]

    def _has(self, data: Data) -> bool:
        needed = [m.name for m in METHODS if m.clusters(data) and not m.package]
        return all((data.name, name, data.ks[0]) in self.entries for name in needed)

    def ratio(self, data: Data, method: str, quantity: str, k: int) -> Figure:
        """Ratio to the reference of these data; the reference's to itself is exactly 1."""
        reference = LARGE_REFERENCE if LARGE in data.groups else REFERENCE
        base = self.entries[data.name, reference, k][quantity]
        if method == reference:
            return Figure(1.0) if base.value > 0.0 else NONE
        return divide(self.entries[data.name, method, k][quantity], base)

    def average(
        self,
        data: Sequence[Data],
        method: str,
        quantity: str,
        ks: Iterable[int],
        relative: bool = True,
    ) -> Figure:
        """Mean over data and ks of the ratios, or of the figures themselves; unknown ones left out."""
        ks = tuple(ks)
        return average(
            [
                self.ratio(one, method, quantity, k)
                if relative
                else self.entries[one.name, method, k][quantity]
                for k in ks
            ]
            for one in data
        )

    def pooled(self, data: Sequence[Data], method: str, quantity: str, ks: Iterable[int]) -> float:
        """Ratio of totals, each data set as a fraction of its rows: no single ratio dominates it."""
        ks, total = tuple(ks), {}
        for who in (method, REFERENCE):
            found = [self.entries[one.name, who, k] for one in data for k in ks]
            total[who] = sum(entry[quantity].value / entry.rows for entry in found)
        return total[method] / total[REFERENCE] if total[REFERENCE] > 0.0 else math.nan

    def find_better(
        self, data: Sequence[Data], method: str, ks: Iterable[int]
    ) -> dict[str, list[str]]:
        """Peers with both a lower cost and less excess movement, by means over data and `ks`.

        For each such peer, when: "1 row", "5%".
        """
        ks = tuple(ks)

        def level(name: str, quantity: str) -> float:
            if quantity == COST:
                return sum(self.ratio(one, name, COST, k).value for one in data for k in ks)
            found = [self.entries[one.name, name, k] for one in data for k in ks]
            return sum(entry[quantity].value / entry.rows for entry in found)

        found: dict[str, list[str]] = {}
        peers = [m for m in METHODS if m.is_peer and m.name in self.list_methods(data)]
        for peer in peers:
            if level(peer.name, COST) >= level(method, COST):
                continue
            for quantity, title in ((ONE, "1 row"), (FIVE, "5%")):
                if LARGE in data[0].groups and quantity == ONE:
                    continue
                if level(peer.name, quantity) < level(method, quantity):
                    found.setdefault(peer.title, []).append(title)
        return found


def tabulate(stored: Iterable[Stored]) -> Table:
    """Take the means of all units."""
    entries = {}
    by_name = {data.name: data for data in DATA}
    for one in stored:
        cell: Cell = one.cell
        for i, k in enumerate(by_name[cell.data].ks):
            figures = {q: _mean_of(one.result, q, i) for q in _COLUMNS}
            clusters = float(np.mean(one.result["clusters"][i]))
            shape = one.result["n"], one.result["d"]
            entries[cell.data, cell.method, k] = Entry(*shape, clusters, figures)
    return Table(entries)


def _mean_of(result: dict[str, Any], quantity: str, i: int) -> Figure:
    """Mean over units; no error where the units are all there are."""
    if quantity not in result:
        return NONE
    units = np.asarray(result[quantity][i], dtype=np.float64)
    whole = quantity == ONE and result["exhaustive"]
    return Figure(float(units.mean())) if whole else mean_of(units)


def format_table(table: Table) -> str:
    """Return the text of frontier.csv."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns = [f"{name}{suffix}" for name in _COLUMNS.values() for suffix in ("", "_se")]
    writer.writerow(["data", "chosen_on", "rows", "columns", "method", "k", "clusters", *columns])
    chosen = {data.name: data.chosen_on for data in DATA}
    for (data, method, k), entry in table.entries.items():
        numbers = [x for q in _COLUMNS for x in (entry[q].value, entry[q].error)]
        facts = [data, chosen[data], entry.rows, entry.columns, method, k, f"{entry.clusters:g}"]
        writer.writerow([*facts, *("" if math.isnan(x) else f"{x:.6g}" for x in numbers)])
    return stream.getvalue()


def read_table(path: Path) -> Table:
    """Read frontier.csv."""
    entries = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            figures = {
                q: Figure(float(row[name] or "nan"), float(row[f"{name}_se"] or "nan"))
                for q, name in _COLUMNS.items()
            }
            shape = int(row["rows"]), int(row["columns"])
            key = row["data"], row["method"], int(row["k"])
            entries[key] = Entry(*shape, float(row["clusters"]), figures)
    return Table(entries)
