"""Cells -> a table of figures -> averages.

Standard errors are over the steps of a real series, which are not independent of each other, and
over the trials of a synthetic one.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from changes import NEVER
from estimates import NONE, Figure, average, mean_of
from methods import METHODS, REFERENCE, TOLERANCE
from planted import CHANGES, JUDGED_K
from series import KS, SERIES, SYNTHETIC, Series

from holdfast_paper.cells import Stored

MOVED, WORST, TOTAL, BACK = "moved", "worst", "total", "back"
COST, COST_WORST, REMOVED, SAME = "cost", "cost_worst", "removed", "same"
WITHIN, EVENT, DELAY = "within_two", "right_event", "delay"
BUDGET_KEPT, GUARD_KEPT, HELD = "budget_kept", "guard_kept", "held"
QUANTITIES = (
    MOVED, WORST, TOTAL, BACK, COST, COST_WORST, REMOVED, SAME, WITHIN, EVENT, DELAY,
    BUDGET_KEPT, GUARD_KEPT, HELD,
)  # fmt: skip
SOON = 1  # releases after the one that has the change
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Entry:
    """A method on a series at one k.

    `shape` is releases, rows and columns. Fractions, and costs relative to a fit of means.
    """

    shape: tuple[int, int, int]
    figures: Mapping[str, Figure]

    def __getitem__(self, quantity: str) -> Figure:
        return self.figures.get(quantity, NONE)


@dataclass(frozen=True)
class Table:
    """Everything that was measured."""

    entries: Mapping[tuple[str, str, int], Entry]

    def select(self, group: str, judging: bool = True) -> list[Series]:
        """Series of a group that were measured; judging: without what was chosen on."""
        measured = {name for name, _, _ in self.entries}
        return [
            one
            for one in SERIES
            if one.group == group and one.name in measured and not (judging and one.chosen_on)
        ]

    def list_methods(self, series: Sequence[Series]) -> list[str]:
        """Return the methods that were measured on all of these series."""
        return [m.name for m in METHODS if series and all(self.has(s, m.name) for s in series)]

    def list_series(self, method: str) -> list[Series]:
        """Return all series that a method was measured on, also those for choosing."""
        return [one for one in SERIES if self.has(one, method)]

    def average(
        self,
        series: Sequence[Series],
        method: str,
        quantity: str,
        ks: Iterable[int] = KS,
    ) -> Figure:
        """Mean over series and ks; unknown figures left out. None unless all series were measured."""
        if not all(self.has(one, method) for one in series):
            return NONE
        ks = tuple(ks)
        return average([self.entries[one.name, method, k][quantity] for k in ks] for one in series)

    def extreme(
        self, series: Sequence[Series], method: str, quantity: str, ks: Iterable[int] = KS
    ) -> float:
        """Largest over series and ks."""
        found = [
            self.entries[one.name, method, k][quantity].value
            for k in ks
            for one in series
            if self.has(one, method)
        ]
        known = [value for value in found if math.isfinite(value)]
        return max(known, default=math.nan)

    def has(self, series: Series, method: str) -> bool:
        return (series.name, method, KS[0]) in self.entries


def tabulate(stored: Iterable[Stored]) -> Table:
    """Take the means of all units; series without the reference are left out."""
    results = {(one.cell.series, one.cell.method): one.result for one in stored}
    groups = {one.name: one.group for one in SERIES}
    entries = {}
    for (series, method), result in results.items():
        reference = results.get((series, REFERENCE))
        if reference is None:
            continue
        shape = tuple(round(number) for number in result["shape"])
        shared = _judge_promises(result, reference)
        for k in KS:
            figures = _describe(result, reference, str(k), groups[series] == SYNTHETIC) | shared
            if k == JUDGED_K and series in CHANGES:
                figures |= _describe_change(result)
            entries[series, method, k] = Entry(shape, figures)
    return Table(entries)


def _describe(
    result: Mapping[str, Any], reference: Mapping[str, Any], k: str, synthetic: bool
) -> dict[str, Figure]:
    cost = np.atleast_2d(result["cost"][k])[:, 1:] / np.atleast_2d(reference["cost"][k])[:, 1:]
    moves, back = result["back"][k]
    figures = {
        MOVED: mean_of(result["moved"][k]),
        WORST: Figure(float(np.max(result["worst" if synthetic else "moved"][k]))),
        TOTAL: mean_of(result["total"][k]),
        BACK: Figure(back / moves) if moves else NONE,
        COST: mean_of(cost.mean(axis=1) if synthetic else cost[0]),
        COST_WORST: Figure(float(cost.max())),
    }
    if not synthetic:
        figures |= {REMOVED: mean_of(result["removed"][k]), SAME: mean_of(result["same"][k])}
    return figures


def _describe_change(result: Mapping[str, Any]) -> dict[str, Figure]:
    """How many trials are followed soon, how many with the right event, and the mean delay."""
    delays = np.array(result["delay"])
    soon = (delays != NEVER) & (delays <= SOON)
    figures = {WITHIN: Figure(float(soon.mean()))}
    if (delays != NEVER).any():
        figures[DELAY] = mean_of(delays[delays != NEVER])
    if result["event"][0] is not None:
        figures[EVENT] = Figure(float((soon & np.array(result["event"], dtype=bool)).mean()))
    return figures


def _judge_promises(result: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Figure]:
    """Fractions of the steps in which budget and guard are kept, at every k."""
    if "budget_kept" not in result:
        return {}
    kept, steps = np.sum(result["budget_kept"]), np.sum(result["steps"])
    ratios = [
        np.atleast_2d(result["cost"][str(k)])[:, 1:]
        / np.atleast_2d(reference["cost"][str(k)])[:, 1:]
        for k in KS
    ]
    within = np.max(ratios, axis=0) <= (1.0 + TOLERANCE) * (1.0 + _ROUNDING)
    return {
        BUDGET_KEPT: Figure(float(kept / steps)),
        GUARD_KEPT: Figure(float(within.mean())),
        HELD: mean_of(result["held"]),
    }


def format_table(table: Table) -> str:
    """Return the text of drift.csv."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns = [f"{name}{suffix}" for name in QUANTITIES for suffix in ("", "_se")]
    facts = ["series", "chosen_on", "releases", "rows", "columns", "method", "k"]
    writer.writerow([*facts, *columns])
    chosen = {one.name: one.chosen_on for one in SERIES}
    for (series, method, k), entry in table.entries.items():
        numbers = [x for q in QUANTITIES for x in (entry[q].value, entry[q].error)]
        texts = ["" if math.isnan(x) else f"{x:.6g}" for x in numbers]
        writer.writerow([series, chosen[series], *entry.shape, method, k, *texts])
    return stream.getvalue()


def read_table(path: Path) -> Table:
    """Read drift.csv."""
    entries = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            figures = {
                q: Figure(float(row[q]), float(row[f"{q}_se"] or "nan"))
                for q in QUANTITIES
                if row[q]
            }
            shape = int(row["releases"]), int(row["rows"]), int(row["columns"])
            entries[row["series"], row["method"], int(row["k"])] = Entry(shape, figures)
    return Table(entries)
