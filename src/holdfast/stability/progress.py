"""Where a run stands, on standard error."""

import sys
import time
from collections.abc import Callable

__all__ = ["Progress", "Shown"]

Shown = bool | Callable[[float, float], None]
"""Whether to show progress; or who is told, each time, how much of how much is done."""

_QUIET_SECONDS = 2.0  # shorter work shows nothing
_SECONDS_BETWEEN = {True: 0.2, False: 10.0}  # on a terminal, elsewhere


class Progress:
    """One line that changes on a terminal, else a line every ten seconds.

    Parameters
    ----------
    total : int
        Number of fits.
    enabled : bool or callable
        A function is called with what is done and what there is, and nothing is written.
    noun : str, default="fits"
        What is counted.
    """

    def __init__(self, total: int, enabled: Shown, noun: str = "fits") -> None:
        self.total = total
        self.noun = noun
        self.enabled = enabled is True
        self.tell = enabled if callable(enabled) else None
        self.done = 0
        self.known = 0
        self.start = time.monotonic()
        self.shown = 0.0
        self.on_terminal = sys.stderr.isatty()

    def skip(self, count: int) -> None:
        """Count fits that an earlier run has done: they say nothing about speed."""
        self.known += count
        self._tell()

    def advance(self, count: int) -> None:
        """Count fits done now, and show where things stand if it is time to."""
        self.done += count
        self._tell()
        now = time.monotonic()
        due = now - self.shown >= _SECONDS_BETWEEN[self.on_terminal]
        if self.enabled and due and now - self.start >= _QUIET_SECONDS:
            self.shown = now
            self._write(self.describe(now - self.start))

    @property
    def inside(self) -> Shown:
        """Who is to be told about the one that is being worked on: nobody where lines are written."""
        return False if self.tell is None else self._tell_part

    def _tell_part(self, done: float, total: float) -> None:
        if self.tell is not None:
            self.tell(self.done + self.known + done / max(total, 1), self.total)

    def _tell(self) -> None:
        if self.tell is not None:
            self.tell(self.done + self.known, self.total)

    def describe(self, elapsed: float) -> str:
        """Share done and time left, at the speed so far."""
        finished = self.done + self.known
        left = elapsed / max(self.done, 1) * max(self.total - finished, 0)
        share = 100.0 * finished / max(self.total, 1)
        left_text = _describe_seconds(left)
        return f"{finished} of {self.total} {self.noun} ({share:.0f}%), {left_text} left"

    def close(self) -> None:
        """Remove the line from the terminal."""
        if self.shown and self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _write(self, text: str) -> None:
        if self.on_terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _describe_seconds(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
