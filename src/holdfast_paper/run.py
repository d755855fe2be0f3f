"""Cells -> finished cells: over processes, each stored as soon as it is there."""

import time
from dataclasses import dataclass

from joblib import delayed

from holdfast._machine.progress import Progress
from holdfast._machine.workers import results_of
from holdfast_paper.cells import Cell, CellStore, Stored
from holdfast_paper.compute import compute_cell
from holdfast_paper.inputs import InputSource
from holdfast_paper.lay_out import LaidOut, estimate_effort

__all__ = ["PanelRun", "run_panel"]

_UNITS_A_SECOND = 100  # what progress counts


@dataclass(frozen=True)
class PanelRun:
    """A panel with all its cells.

    Attributes
    ----------
    laid_out : LaidOut
    stored : tuple of Stored
    n_new : int
        Cells that this run has computed; the others were there.
    seconds : float
        How long this run took, by the clock.
    """

    laid_out: LaidOut
    stored: tuple[Stored, ...]
    n_new: int
    seconds: float

    @property
    def work(self) -> float:
        """Seconds of work in all cells, also those of earlier runs."""
        return sum(stored.seconds for stored in self.stored)


def run_panel(
    laid_out: LaidOut, store: CellStore, source: InputSource, n_processes: int, progress: bool
) -> PanelRun:
    """Compute the cells that are not stored, the longest first."""
    start = time.perf_counter()
    known = {cell: stored for cell in laid_out.cells if (stored := store.read(cell)) is not None}
    effort = {cell: _effort_of(cell, source) for cell in laid_out.cells}
    todo = sorted((c for c in laid_out.cells if c not in known), key=lambda c: -effort[c])
    shown = Progress(progress, sum(effort.values()), f"units of {laid_out.panel.name}")
    shown.skip(sum(effort[cell] for cell in known))
    try:
        for index in _compute_all(todo, store, source, n_processes):
            shown.advance(effort[todo[index]])
    finally:
        shown.close()
    for cell in todo:
        stored = store.read(cell)
        if stored is None:
            raise OSError(f"{store.path_of(cell)} was written, but cannot be read.")
        known[cell] = stored
    seconds = time.perf_counter() - start
    return PanelRun(laid_out, tuple(known[c] for c in laid_out.cells), len(todo), seconds)


def _effort_of(cell: Cell, source: InputSource) -> int:
    n_rows = source.load(cell.data, cell.draw).X.shape[0]
    return max(1, round(_UNITS_A_SECOND * estimate_effort(cell, n_rows)))


def _compute_all(cells: list[Cell], store: CellStore, source: InputSource, n_processes: int):  # type: ignore[no-untyped-def]
    """Numbers of cells as they are finished."""
    tasks = (delayed(_compute_and_store)(i, cell, store, source) for i, cell in enumerate(cells))
    if n_processes == 1 or len(cells) < 2:
        for function, arguments, _ in tasks:
            yield function(*arguments)
        return
    # One cell at a time to each process: what a killed run loses is the cells in flight.
    with results_of(tasks, n_jobs=n_processes, pre_dispatch="n_jobs") as results:
        # Not by "yield from", which would close the results before the block does.
        for index in results:  # noqa: UP028
            yield index


def _compute_and_store(index: int, cell: Cell, store: CellStore, source: InputSource) -> int:
    start = time.perf_counter()
    result = compute_cell(cell, source)
    store.write(cell, result, time.perf_counter() - start)
    return index
