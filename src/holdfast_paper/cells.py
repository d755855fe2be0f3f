"""Pieces of work whose results are kept on disk, so that an interrupted run continues.

The experiments, the benchmarks and the frontier all run here. Each result has a file that is named
after everything the result depends on, so a file that exists is the answer, whichever run wrote it.
Files are written under another name first and then renamed: a file is complete or not there.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from joblib import delayed

from holdfast._machine.files import write_whole
from holdfast._machine.work import Progress, results_of


class Work(Protocol):
    """A piece of work: hashable; its `repr` says everything that its result depends on."""

    @property
    def title(self) -> str:
        """The readable part of its file's name."""
        ...


W = TypeVar("W", bound=Work)


@dataclass(frozen=True)
class Stored:
    """A finished cell.

    Attributes
    ----------
    cell : Work
    result : Any
        What was computed: numbers, strings, lists and dicts of them.
    seconds : float
        How long it took.
    """

    cell: Any
    result: Any
    seconds: float


@dataclass(frozen=True)
class CellStore:
    """Finished cells in a folder, one file each.

    Attributes
    ----------
    folder : Path
    context : str
        What all results depend on besides their cell, such as the version of the code.
    """

    folder: Path
    context: str = ""

    def path_of(self, cell: Work) -> Path:
        """Return the path of a cell's file."""
        digest = hashlib.sha256(f"{self.context} {cell!r}".encode()).hexdigest()
        readable = re.sub(r"[^\w.]+", "-", cell.title)[:90]
        return self.folder / f"{readable}-{digest[:16]}.json"

    def write(self, cell: Work, result: Any, seconds: float) -> None:
        """Keep a finished cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {"cell": repr(cell), "seconds": seconds, "result": result}
        text = json.dumps(record, separators=(",", ":"))
        write_whole(self.path_of(cell), lambda file: file.write(text.encode()))

    def read(self, cell: Work) -> Stored | None:
        """Return a finished cell; None if its file is missing or damaged."""
        try:
            record = json.loads(self.path_of(cell).read_text(encoding="utf-8"))
            return Stored(cell, record["result"], float(record["seconds"]))
        except (FileNotFoundError, ValueError, KeyError):
            return None  # a damaged file is computed again

    def forget(self) -> None:
        """Remove all finished cells."""
        for path in self.folder.glob("*.json"):
            path.unlink()


def run_cells(
    cells: Sequence[W],
    compute: Callable[[W], Any],
    store: CellStore,
    progress: Progress,
    *,
    n_jobs: int = 1,
    effort: Callable[[W], float] = lambda _: 1.0,
) -> list[Stored]:
    """Compute the cells that are not stored, those with the largest effort first.

    Parameters
    ----------
    cells : sequence of Work
    compute : callable
        Cell -> result; runs in worker processes if `n_jobs` is more than 1.
    store : CellStore
        Every result is written as soon as it is known.
    progress : Progress
        Advances by the effort of each cell.
    n_jobs : int, default=1
    effort : callable, optional
        Cell -> about how long it takes, in any unit. Cells of equal effort keep their order.

    Returns
    -------
    list of Stored
        In the order of `cells`.
    """
    found = {cell: stored for cell in cells if (stored := store.read(cell)) is not None}
    progress.skip(sum(effort(cell) for cell in found))
    todo = sorted((c for c in dict.fromkeys(cells) if c not in found), key=lambda c: -effort(c))
    for index in _compute_all(todo, compute, store, n_jobs):
        stored = store.read(todo[index])
        if stored is None:
            raise OSError(f"{store.path_of(todo[index])} was written, but cannot be read.")
        found[todo[index]] = stored
        progress.advance(effort(todo[index]))
    return [found[cell] for cell in cells]


def _compute_all(
    cells: list[W], compute: Callable[[W], Any], store: CellStore, n_jobs: int
) -> Iterator[int]:
    """Yield the numbers of cells as they are finished."""
    if n_jobs == 1 or len(cells) < 2:
        for i, cell in enumerate(cells):
            yield _compute_and_store(i, cell, compute, store)
        return
    tasks = (delayed(_compute_and_store)(i, c, compute, store) for i, c in enumerate(cells))
    # One cell at a time to each process: a killed run loses only the cells in flight.
    with results_of(tasks, n_jobs=n_jobs, pre_dispatch="n_jobs") as results:
        # Not by "yield from", which would close the results before the block does.
        for index in results:  # noqa: UP028
            yield index


def _compute_and_store(index: int, cell: W, compute: Callable[[W], Any], store: CellStore) -> int:
    start = time.perf_counter()
    result = compute(cell)
    store.write(cell, result, time.perf_counter() - start)
    return index
