"""Progress of long work: one system for fits, measurements, reports and the command line.

Work with a known number of rounds creates ``Progress(shown, total)`` and calls `advance` after each
round. Work inside a round gets `part`, a listener that fills this round. Work with an unknown
number of rounds reports a total of None, which is shown as a spinner. Nothing is timed in advance.

Callers pass ``progress=True`` for lines on standard error, or a `Listener` such as the bar of the
command line.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

Listener = Callable[[str, float, float | None], None]
"""Called with the current step, the work done, and the total work or None."""

ProgressOption = bool | Listener
"""The type of ``progress`` parameters: whether to write to standard error, or a function to call."""

_QUIET_SECONDS = 2.0  # shorter work shows nothing
_SECONDS_BETWEEN = {True: 0.2, False: 10.0}  # on a terminal, elsewhere


class Progress:
    """Counts the rounds that are done, and reports them.

    Parameters
    ----------
    shown : bool or Listener
    total : float or None
        Number of rounds; None if unknown.
    noun : str, default="fits"
        What a round is called on standard error.
    what : str, default=""
        The current step, for listeners.
    """

    def __init__(
        self, shown: ProgressOption, total: float | None, noun: str = "fits", what: str = ""
    ) -> None:
        self.total = total
        self.noun = noun
        self.what = what or noun
        self.done = 0.0
        self.skipped = 0.0
        self._listener = shown if callable(shown) else _StderrLine(noun) if shown else None
        self._tell(0.0)

    def __enter__(self) -> Self:
        """Start."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the line from the terminal."""
        self.close()

    def advance(self, count: float = 1.0) -> None:
        """Count rounds as done."""
        self.done += count
        self._tell(0.0)

    def skip(self, count: float) -> None:
        """Count rounds that an earlier run did; they do not count for the speed."""
        self.skipped += count
        if isinstance(self._listener, _StderrLine):
            self._listener.skipped += count
        self._tell(0.0)

    def part(self, what: str = "", size: float = 1.0) -> ProgressOption:
        """Return a listener for the next `size` rounds; call `advance(size)` after them."""
        if self._listener is None:
            return False

        def tell(inside: str, done: float, total: float | None) -> None:
            if what or inside:
                self.what = what or inside
            self._tell(size * done / total if total else 0.0)

        return tell

    def close(self) -> None:
        """Remove the line from the terminal."""
        if isinstance(self._listener, _StderrLine):
            self._listener.close()

    def _tell(self, within: float) -> None:
        if self._listener is not None:
            self._listener(self.what, self.done + self.skipped + within, self.total)


class _StderrLine:
    """A line that is updated on a terminal, and a new line every ten seconds elsewhere."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self.skipped = 0.0
        self.start = time.monotonic()
        self.written = 0.0
        self.on_terminal = sys.stderr.isatty()

    def __call__(self, what: str, done: float, total: float | None) -> None:
        now = time.monotonic()
        due = now - self.written >= _SECONDS_BETWEEN[self.on_terminal]
        if not due or now - self.start < _QUIET_SECONDS:
            return
        self.written = now
        text = self.describe(what, done, total, now - self.start)
        if self.on_terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def describe(self, what: str, done: float, total: float | None, elapsed: float) -> str:
        """Describe how many rounds are done and how much time is left at this speed."""
        if not total:
            return f"{what}, {describe_seconds(elapsed)} so far"
        percent = 100.0 * done / total
        text = f"{done:.0f} of {total:.0f} {self.noun} ({percent:.0f}%)"
        now_done = done - self.skipped
        if now_done <= 0.0:
            return text
        return f"{text}, {describe_seconds(elapsed / now_done * (total - done))} left"

    def close(self) -> None:
        if self.written and self.on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def describe_seconds(seconds: float) -> str:
    """Describe a time in one unit."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
