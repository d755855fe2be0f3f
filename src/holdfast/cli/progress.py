"""Bars with the time left, on a terminal, for what takes longer than two seconds."""

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

__all__ = ["Bar", "make_bar"]

_QUIET_SECONDS = 2.0
_TICK_SECONDS = 0.2


class Bar:
    """One piece of work. This one shows nothing; `make_bar` chooses."""

    def __enter__(self) -> Self:
        """Start."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End: nothing of the bar remains."""

    def update(self, done: float, total: float) -> None:
        """Say how far the work is."""

    def rename(self, what: str) -> None:
        """Say what is being done now."""

    def follow(self, what: str, done: float, total: float | None) -> None:
        """Say what is being done, and how far the work is."""
        self.rename(what)
        if total is not None:
            self.update(done, total)

    def restart(self) -> None:
        """Start the clock again: what was done so far says nothing about the time left."""

    def expect(self, seconds: float | None) -> None:
        """Say how long the rest will take, where nobody will say how far it is."""


class _TerminalBar(Bar):
    """A bar of rich that a thread draws, so that work without news is seen to go on.

    Where nobody calls `update`, it moves by the clock towards `expected_seconds`, and is an
    endless one without them. Work that takes longer than expected is always nearly done.
    """

    def __init__(self, what: str, expected_seconds: float | None) -> None:
        self._what = what
        self._expected = expected_seconds
        self._start = time.monotonic()
        self._known: tuple[float, float] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def update(self, done: float, total: float) -> None:
        self._known = (done, max(total, done, 1.0))

    def rename(self, what: str) -> None:
        self._what = what

    def restart(self) -> None:
        self._start, self._known, self._expected = time.monotonic(), None, None

    def expect(self, seconds: float | None) -> None:
        elapsed = time.monotonic() - self._start
        self._known = None
        self._expected = None if seconds is None else elapsed + seconds

    def _share(self) -> tuple[float, float] | None:
        """How much of how much is done, as far as anybody can know."""
        if self._known is not None:
            return self._known
        if self._expected is None:
            return None
        elapsed = max(time.monotonic() - self._start, 1e-3)
        return elapsed, max(self._expected, 1.15 * elapsed)

    def _draw(self) -> None:
        if self._over.wait(_QUIET_SECONDS):
            return
        from rich.console import Console as Screen
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns: list[Any] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
        ]
        screen = Screen(file=sys.stderr)
        with Progress(
            *columns, console=screen, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as progress:
            task = progress.add_task(self._what, total=None, left="")
            while True:
                progress.update(task, description=self._what)
                share = self._share()
                if share is not None:
                    progress.update(
                        task, completed=share[0], total=share[1], left=self._describe_left(*share)
                    )
                if self._over.wait(_TICK_SECONDS):
                    return

    def _describe_left(self, done: float, total: float) -> str:
        if done <= 0.0:
            return ""
        elapsed = time.monotonic() - self._start
        left = elapsed * (total - done) / done
        return f"{100.0 * done / total:.0f}%, {describe_seconds(left)} left"


def make_bar(what: str, shown: bool, expected_seconds: float | None = None) -> Bar:
    """Make a bar, or something that takes its place and shows nothing."""
    return _TerminalBar(what, expected_seconds) if shown else Bar()


def describe_seconds(seconds: float) -> str:
    """Say a time in one unit."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
