"""Finished cells on disk, so that an interrupted run continues; and how long the rest will take."""

import hashlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Effort

from holdfast import __version__
from holdfast._machine.files import write_whole


@dataclass(frozen=True)
class CellStore:
    """One file a cell, named by data, method, effort and version of the package.

    The code is not part of the name: after a change that moves results, start with ``--fresh``.
    """

    folder: Path
    effort: Effort

    def load(self, data: str, method: str) -> dict[str, Any] | None:
        path = self._path(data, method)
        if not path.exists():
            return None
        cell: dict[str, Any] = json.loads(path.read_text())
        return cell

    def save(self, cell: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(cell).encode()
        write_whole(self._path(cell["data"], cell["method"]), lambda file: file.write(text))

    def forget(self) -> None:
        for path in self.folder.glob("*.json"):
            path.unlink()

    def _path(self, data: str, method: str) -> Path:
        words = f"{__version__} {self.effort!r} {data} {method}"
        return self.folder / f"{hashlib.sha256(words.encode()).hexdigest()[:24]}.json"


class TimeLeft:
    """Says on standard error what is done and about how long the rest takes.

    The work of a cell is taken to grow with the square of the number of rows.
    """

    def __init__(self, work: list[float]) -> None:
        self.left, self.done, self.count = sum(work), 0.0, len(work)
        self.finished = 0
        self.start = time.perf_counter()

    def finish(self, title: str, work: float) -> None:
        self.finished += 1
        self.left -= work
        self.done += work
        seconds = (time.perf_counter() - self.start) / self.done * max(self.left, 0.0)
        left = f"about {seconds / 60.0:.1f} min left" if self.left > 0.0 else "done"
        print(f"[{self.finished}/{self.count}] {title}; {left}", file=sys.stderr, flush=True)
