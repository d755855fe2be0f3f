"""The smallest pieces of work, and where their results are kept.

A cell is a data set (or one draw of an instance), a method, a parameter and a block of trials. Its
file is named after everything that its numbers depend on, so a file that is there is the answer,
whichever run wrote it; it is written under another name first and renamed, so it is whole.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holdfast._machine.files import write_whole

__all__ = ["Cell", "CellStore", "Stored"]

_FORMAT = 1


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    Attributes
    ----------
    panel : str
        The figure it is for.
    kind : {"trials", "all_deletions", "cost", "clusterability", "datasets"}
    data : str
    draw : int
        Number of a synthetic instance.
    digest : str
        Of the rows.
    method : str
        "" where there is none.
    series : str
        "same_seed", "fixed_tree" or "earth_mover"; "" where there is none.
    delete : int or float
        0 where nothing is deleted.
    n_clusters : tuple of int
    first, last : int
        Trials (or, for costs, seeds) from `first` to below `last`.
    trials, repeats : int
        Of the whole series.
    seed : int
    options : tuple of (str, float)
        What else the numbers depend on.
    """

    panel: str
    kind: str
    data: str
    digest: str
    seed: int
    draw: int = 0
    method: str = ""
    series: str = ""
    delete: float = 0
    n_clusters: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    trials: int = 0
    repeats: int = 0
    options: tuple[tuple[str, float], ...] = ()

    @property
    def key(self) -> str:
        """Name of its file: readable, then a hash of everything."""
        record = {**asdict(self), "format": _FORMAT, "holdfast": version("holdfast")}
        text = json.dumps(record, sort_keys=True)
        parts = (self.kind, self.data, self.draw, self.method, self.series, self.delete, self.first)
        readable = "-".join(str(part) for part in parts if part != "")
        return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Stored:
    """A finished cell.

    Attributes
    ----------
    cell : Cell
    result : dict
        What `compute_cell` returned: numbers and nested lists of them.
    seconds : float
        What it took.
    """

    cell: Cell
    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class CellStore:
    """Finished cells in a folder, one file each.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    def path_of(self, cell: Cell) -> Path:
        """Return where the cell is kept."""
        return self.folder / cell.panel / f"{cell.key}.json"

    def write(self, cell: Cell, result: dict[str, Any], seconds: float) -> None:
        """Keep a finished cell."""
        path = self.path_of(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"cell": asdict(cell), "seconds": seconds, "result": result}
        text = json.dumps(record, separators=(",", ":"))
        write_whole(path, lambda file: file.write(text.encode()))

    def read(self, cell: Cell) -> Stored | None:
        """Return a finished cell; None if it is not there or cannot be read."""
        try:
            record = json.loads(self.path_of(cell).read_text())
            return Stored(cell, record["result"], float(record["seconds"]))
        except (FileNotFoundError, ValueError, KeyError):
            return None  # a damaged file is computed anew
