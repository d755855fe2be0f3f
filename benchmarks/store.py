"""Finished measurements on disk, so that an interrupted run continues."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tasks import Numbers, Task


@dataclass(frozen=True)
class Store:
    """One file a measurement, named by what was measured and by `fingerprint`.

    A change of machine, versions, code or settings makes other names: nothing is mixed.
    """

    folder: Path
    fingerprint: str

    def load(self, task: Task, repeat: int) -> Numbers | None:
        try:
            stored = json.loads(self._path(task, repeat).read_text())
        except FileNotFoundError:
            return None
        numbers: Numbers = stored["numbers"]
        return numbers

    def save(self, task: Task, repeat: int, numbers: Numbers) -> None:
        """Write in one step: a file is complete or not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(task, repeat)
        unfinished = path.with_suffix(".tmp")
        content = {"task": task.title, "repeat": repeat, "numbers": numbers}
        unfinished.write_text(json.dumps(content, indent=1))
        os.replace(unfinished, path)

    def forget(self) -> None:
        """Remove all measurements: they are reported or unwanted, the next run measures anew."""
        for path in self.folder.glob("*.json"):
            path.unlink()

    def _path(self, task: Task, repeat: int) -> Path:
        name = hashlib.sha256(f"{self.fingerprint} {task!r} {repeat}".encode()).hexdigest()
        return self.folder / f"{name[:24]}.json"
