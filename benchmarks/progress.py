"""Where a run stands: what is measured now, what remains, about how long that takes."""

import sys
from collections import Counter

from tasks import Task


class Progress:
    """Writes to standard error: one line that changes on a terminal, else a line a measurement."""

    def __init__(self, turns: list[tuple[Task, int]]) -> None:
        self.remaining = Counter(task for task, _ in turns)
        self.total = len(turns)
        self.seconds: dict[Task, float] = {}
        self.on_terminal = sys.stderr.isatty()

    def announce(self, task: Task) -> None:
        done = self.total - self.remaining.total()
        self._write(f"[{done + 1}/{self.total}] {task.title} ... {self._estimate()}")

    def finish(self, task: Task, seconds: float) -> None:
        self.seconds[task] = seconds
        self.skip(task)

    def skip(self, task: Task) -> None:
        """Count a measurement that was stored already."""
        self.remaining[task] -= 1

    def clear(self) -> None:
        if self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _estimate(self) -> str:
        """Return the time that remains, from earlier repeats of the same tasks.

        Tasks never run so far only count as many: their time is not known.
        """
        known = sum(self.seconds.get(task, 0.0) * count for task, count in self.remaining.items())
        unknown = sum(count for task, count in self.remaining.items() if task not in self.seconds)
        text = f"remain: {self.remaining.total()}"
        if known > 0.0:
            text += f", at least {known:.0f} s" if unknown else f", about {known:.0f} s"
        return text

    def _write(self, text: str) -> None:
        if self.on_terminal:
            print(f"\r\033[K{text[:150]}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)
