"""What is wanted of following, and what was measured of it."""

import math
from collections.abc import Sequence

from estimates import Figure, divide, markdown_table
from methods import BUDGETED, FOLLOW, GUARDED, METHODS, WARM
from planted import CHANGES, JITTER, JUDGED_K, NOISE
from series import KS, NOISY, SLOW, SYNTHETIC, WINDOWS, Series
from summary import (
    BUDGET_KEPT,
    COST,
    EVENT,
    GUARD_KEPT,
    MOVED,
    REMOVED,
    SAME,
    TOTAL,
    Table,
)

_TITLES = {m.name: m.title.removeprefix("follow, ") for m in METHODS}


def judge(table: Table) -> str:
    """Return the table of verdicts."""
    if not table.list_series(FOLLOW):
        return "Following was not measured."
    windows, slow, noisy, synthetic = (table.select(g) for g in (WINDOWS, SLOW, NOISY, SYNTHETIC))
    lines = []
    if windows:
        lines += _judge_windows(table, windows)
    for title, series, limit in (("slow", slow, 0.25), ("noisy", noisy, 0.85)):
        if series:
            what = f"{title} panels, {_TITLES[GUARDED]}"
            ratio = _relative(table, series, GUARDED, MOVED)
            lines.append(_line(f"{what}: moved / warm k-means'", ratio, limit))
            lines.append(_line(f"{what}: cost", table.average(series, GUARDED, COST), 1.02))
    lines += _judge_promises(table)
    if synthetic:
        lines += _judge_synthetic(table, synthetic)
    return markdown_table(["following, price 0.25 unless stated", "figure", "wanted", "met"], lines)


def _judge_windows(table: Table, windows: Sequence[Series]) -> list[list[str]]:
    lines = [
        _line(
            "windows: moved / moved by k-means from yesterday's centers (warm)",
            _relative(table, windows, FOLLOW, MOVED),
            0.5,
        )
    ]
    for k in KS:
        moved = table.average(windows, FOLLOW, MOVED, [k])
        percent = Figure(100.0 * moved.value, 100.0 * moved.error)
        lines.append(_line(f"windows: moved per step, k = {k}, in %", percent, 2.0))
    lines.append(_line("windows: cost", table.average(windows, FOLLOW, COST), 1.01))
    total = _relative(table, windows, FOLLOW, TOTAL)
    lines.append(_line("windows: total / warm k-means'", total, 0.5))
    removed = table.average(windows, FOLLOW, REMOVED)
    percent = Figure(100.0 * removed.value, 100.0 * removed.error)
    lines.append(_line("windows: moved when 5% of the rows are removed, in %", percent, 0.5))
    return lines


def _judge_promises(table: Table) -> list[list[str]]:
    budget = table.average(table.list_series(BUDGETED), BUDGETED, BUDGET_KEPT, KS[:1])
    guard = table.average(table.list_series(GUARDED), GUARDED, GUARD_KEPT, KS[:1])
    again = [table.extreme(table.list_series(m.name), m.name, SAME) for m in METHODS if m.follows]
    same = max(value for value in again if math.isfinite(value))
    lines = [
        _line(f"{what}, in % of the releases", Figure(100.0 * figure.value), 100.0, least=True)
        for what, figure in (
            ("budget of 1% kept", budget),
            (f"{_TITLES[GUARDED]}: tolerance kept", guard),
        )
    ]
    return [*lines, _line("the same rows again: moved, at most, in %", Figure(100.0 * same), 0.0)]


def _judge_synthetic(table: Table, synthetic: Sequence[Series]) -> list[list[str]]:
    lines = []
    for one in synthetic:
        if one.name in (NOISE, JITTER):
            moved = table.average([one], FOLLOW, MOVED)
            percent = Figure(100.0 * moved.value, 100.0 * moved.error)
            lines.append(_line(f"{one.name}: moved, in %", percent, 0.0))
        if one.name in CHANGES:
            told = table.average([one], FOLLOW, EVENT, [JUDGED_K])
            what = f"{one.name}: followed within two releases, with the right event, in %"
            lines.append(_line(what, Figure(100.0 * told.value), 90.0, least=True))
    return lines


def _line(what: str, figure: Figure, wanted: float, least: bool = False) -> list[str]:
    limit = f"{'at least' if least else 'at most'} {wanted:g}"
    if not figure.known:
        return [what, "-", limit, "not measured"]
    met = figure.value >= wanted if least else figure.value <= wanted
    text = figure.precise if figure.error else f"{figure.value:.4g}"
    return [what, text, limit, "met" if met else "**MISSED**"]


def _relative(table: Table, series: Sequence[Series], method: str, quantity: str) -> Figure:
    """Ratio of the averages over series and k to those of k-means from yesterday's centers."""
    return divide(table.average(series, method, quantity), table.average(series, WARM, quantity))
