"""Progress of long work: one system for fits, measurements, reports and the command line.

Work that knows its rounds counts them: ``Progress(shown, total)``, then `advance`. Work inside one
of these rounds gets `part`, a listener of its own that fills the round. Work that does not know its
rounds reports a total of None, which is drawn as a spinner. Nothing is ever timed in advance.

Whoever waits passes ``progress=True`` for lines on standard error, or a `Listener` such as the
command line's bar.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

__all__ = ["Listener", "Progress", "ProgressOption", "describe_seconds"]

Listener = Callable[[str, float, float | None], None]
"""Called with what is being done, and how much of how much is done; the total may be None."""

ProgressOption = bool | Listener
"""The type of ``progress`` parameters: whether to write to standard error, or a function to call."""

_QUIET_SECONDS = 2.0  # shorter work shows nothing
_SECONDS_BETWEEN = {True: 0.2, False: 10.0}  # on a terminal, elsewhere


class Progress:
    """Rounds done of rounds to do.

    Parameters
    ----------
    shown : bool or Listener
    total : float or None
        Number of rounds; None if unknown.
    noun : str, default="fits"
        What the rounds are, in lines on standard error.
    what : str, default=""
        What is being done, for listeners.
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

    @property
    def listens(self) -> bool:
        """Whether progress is shown or reported at all."""
        return self._listener is not None

    def advance(self, count: float = 1.0) -> None:
        """Count rounds done now."""
        self.done += count
        self._tell(0.0)

    def skip(self, count: float) -> None:
        """Count rounds that an earlier run has done: they say nothing about speed."""
        self.skipped += count
        if isinstance(self._listener, _StderrLine):
            self._listener.skipped += count
        self._tell(0.0)

    def part(self, what: str = "", size: float = 1.0) -> ProgressOption:
        """Listen to the work inside the next `size` rounds; call `advance(size)` after it."""
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
    """One line that changes on a terminal, else a line every ten seconds."""

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
        """Say how many rounds are done and how much time is left at this speed."""
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
    """Say a time in one unit."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
