"""Panels -> the cells that they need, and what cannot be had."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast_paper.cells import Cell
from holdfast_paper.config import Panel, Series
from holdfast_paper.datasets import DatasetNotAvailable
from holdfast_paper.inputs import InputSource, is_synthetic
from holdfast_paper.methods import METHODS

__all__ = ["LaidOut", "estimate_effort", "lay_out_panel"]

_DETERMINISTIC = ("single", "complete", "average", "ward", "clnss_unshifted")


@dataclass(frozen=True)
class LaidOut:
    """The work of a panel.

    Attributes
    ----------
    panel : Panel
    cells : tuple of Cell
    missing : dict of str to str
        Data sets that are not at hand, and why.
    """

    panel: Panel
    cells: tuple[Cell, ...]
    missing: dict[str, str]


def lay_out_panel(panel: Panel, source: InputSource, seed: int) -> LaidOut:
    """List the cells of a panel; data sets that are not at hand are left out and named."""
    cells: list[Cell] = []
    missing: dict[str, str] = {}
    for name in panel.settings.get("data", ()):
        try:
            source.load(name)
        except DatasetNotAvailable as error:
            missing[name] = str(error)
            continue
        if panel.kind == "sensitivity":
            cells += _sensitivity_cells(panel, name, source, seed)
        elif panel.kind == "cost":
            cells += _cost_cells(panel, name, source, seed)
        else:
            cells.append(_single_cell(panel, name, source, seed))
    return LaidOut(panel, tuple(cells), missing)


def estimate_effort(cell: Cell, n_rows: int) -> float:
    """Seconds that a cell takes, roughly: only for the order of work and the time left."""
    if not cell.method:
        return 0.1
    method = METHODS[cell.method]
    repeats = 1 if cell.method in _DETERMINISTIC else cell.repeats
    growth = n_rows if method.is_tree else n_rows**2 / 1800
    one_fit = 0.0015 + 1e-6 * method.effort * growth
    if cell.kind == "cost":
        return (cell.last - cell.first) * (one_fit + 3e-5 * n_rows)
    if cell.kind == "all_deletions":
        return (cell.last - cell.first) * (0.02 + 1e-4 * n_rows)
    sets = min(max(cell.trials, 2), 20) if cell.series == "earth_mover" else 0
    return repeats * (1 + sets + cell.last - cell.first) * one_fit


def _sensitivity_cells(panel: Panel, name: str, source: InputSource, seed: int) -> Iterator[Cell]:
    for series in panel.series:
        for draw in range(series.draws if is_synthetic(name) else 1):
            digest = source.load(name, draw).digest
            for method in series.methods:
                for delete in panel["delete"]:
                    common = {
                        "panel": panel.name,
                        "data": name,
                        "draw": draw,
                        "digest": digest,
                        "method": method,
                        "series": series.name,
                        "delete": delete,
                        "n_clusters": tuple(panel["n_clusters"]),
                        "repeats": series.repeats_of.get(method, series.repeats),
                        "seed": seed + draw,
                    }
                    yield from _blocks_of_trials(panel, series, common)


def _blocks_of_trials(panel: Panel, series: Series, common: dict[str, Any]) -> Iterator[Cell]:
    method = common["method"]
    randomized_tree = METHODS[method].is_tree and method not in _DETERMINISTIC
    if series.name != "earth_mover" and common["delete"] == 1 and randomized_tree:
        yield Cell(kind="all_deletions", last=common["repeats"], **common)
        return
    trials = series.trials_of.get(method, series.trials)
    # The self-distance belongs to all trials together.
    size = trials if series.name == "earth_mover" else panel.settings.get("block", trials)
    for first in range(0, trials, size):
        yield Cell(
            kind="trials", first=first, last=min(first + size, trials), trials=trials, **common
        )


def _cost_cells(panel: Panel, name: str, source: InputSource, seed: int) -> Iterator[Cell]:
    digest = source.load(name).digest
    for method in panel["methods"]:
        repeats = panel.settings.get("repeats_of", {}).get(method, panel["repeats"])
        repeats = 1 if method in _DETERMINISTIC else repeats
        size = panel.settings.get("block", repeats)
        for first in range(0, repeats, size):
            yield Cell(
                panel=panel.name,
                kind="cost",
                data=name,
                digest=digest,
                seed=seed,
                method=method,
                n_clusters=tuple(range(1, panel["max_clusters"] + 1)),
                first=first,
                last=min(first + size, repeats),
                repeats=repeats,
            )


def _single_cell(panel: Panel, name: str, source: InputSource, seed: int) -> Cell:
    options: tuple[tuple[str, float], ...] = ()
    if panel.kind == "clusterability":
        options = (
            ("min_samples", float(panel["min_samples"])),
            ("radius", float(panel["radius"][name])),
        )
    digest = source.load(name).digest
    return Cell(panel.name, panel.kind, name, digest, seed, options=options)
