"""Long work: in threads whose number changes no result, in worker processes that stop cleanly, with progress.

One system of progress serves all callers. Work with a known number of rounds creates
``Progress(shown, total)`` and calls `advance` after each round. Work inside a round gets `part`, a
listener that fills this round. A total of None has no fraction done. Callers pass ``progress=True``
for lines on standard error, or a `Listener` such as the bar of the command line.
"""

import _thread
import contextlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self
from weakref import WeakKeyDictionary

_WORTHWHILE = 1 << 17

_LOCKS: WeakKeyDictionary[object, threading.RLock] = WeakKeyDictionary()
_LOCKS_GUARD = threading.Lock()


def lock_of(owner: object) -> threading.RLock:
    """Return the lock of an object, kept beside it: copies and pickles have none."""
    with _LOCKS_GUARD:
        return _LOCKS.setdefault(owner, threading.RLock())


def share_rows(n_rows: int, work: Callable[[slice], object], width: int = 1) -> None:
    """Call `work` for parts of the rows, in threads if `work` reads many values (`width` a row)."""
    ends = cut_rows(n_rows, width)
    share_parts(len(ends) - 1, lambda i: work(slice(ends[i], ends[i + 1])))


def cut_rows(n_rows: int, width: int = 1) -> list[int]:
    """Return where the parts of the rows begin, and the end: one part a thread that is worth it."""
    parts = n_rows * width // _WORTHWHILE
    parts = 1 if parts < 2 else min(os.cpu_count() or 1, parts)
    return [n_rows * i // parts for i in range(parts + 1)]


def share_parts(count: int, work: Callable[[int], object]) -> None:
    """Call `work` for 0 to count - 1, in one thread per core, including the current thread.

    If a thread cannot be started (no memory for its stack, a limit of the system), or ends before
    it has begun, the others do its work. After an error or Ctrl-C, each thread stops after its
    current part, and the first error is raised here.
    """
    if count == 1:  # counting cores and making locks takes longer than a small part
        work(0)
        return
    numbers = iter(range(count))
    helping, change = 0, threading.Condition()
    errors: list[BaseException] = []

    def work_off() -> None:
        while not errors:
            with change:
                number = next(numbers, None)
            if number is None:
                return
            try:
                work(number)
            except BaseException as error:  # noqa: BLE001  # raised again by the caller
                errors.append(error)

    def help_out() -> None:
        nonlocal helping
        with change:
            helping += 1
        try:
            work_off()
        except BaseException as error:  # noqa: BLE001  # raised again by the caller
            errors.append(error)
        finally:
            with change:
                helping -= 1
                change.notify()

    try:
        for _ in range(min(os.cpu_count() or 1, count) - 1):
            # Thread.start would wait forever for a thread that has no memory to begin.
            _thread.start_new_thread(help_out, ())
    except RuntimeError:
        pass
    except BaseException as error:  # noqa: BLE001  # raised again below
        errors.append(error)
    while True:  # also after Ctrl-C: no thread may go on with arrays that are given up
        try:
            work_off()
            with change:
                change.wait_for(lambda: helping == 0)
            break
        except BaseException as error:  # noqa: BLE001  # raised again below
            errors.append(error)
    if errors:
        raise errors[0]


@contextlib.contextmanager
def results_of(tasks: Iterable[Any], **options: Any) -> Iterator[Iterator[Any]]:
    """Iterate over the results of joblib tasks in the order in which they finish.

    Leaving the block stops all running tasks immediately and without a warning. joblib itself would
    warn about unused tasks, at the line where the garbage collector finds its generator.
    """
    from joblib import Parallel

    results = Parallel(batch_size=1, return_as="generator_unordered", **options)(tasks)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*tasks", UserWarning, "joblib")
            results.close()


Listener = Callable[[str, float, float | None], None]
"""Called with the current step, the work done, and the total work or None."""

ProgressOption = bool | Listener
"""The type of ``progress`` parameters: whether to write to standard error, or a function to call."""

_QUIET_SECONDS = 2.0  # shorter work shows nothing
_SECONDS_BETWEEN = {True: 0.2, False: 10.0}  # on a terminal, elsewhere


class Progress:
    """Counts the rounds (`noun`) that are done, and reports them; `total` is None if unknown."""

    def __init__(
        self, shown: ProgressOption, total: float | None, noun: str = "fits", what: str = ""
    ) -> None:
        self.total, self.what = total, what or noun
        self.done = self.skipped = 0.0
        self._listener = shown if callable(shown) else _StderrLine(noun) if shown else None
        self._tell(0.0)

    def __enter__(self) -> Self:
        """Start."""
        return self

    def __exit__(self, *_: object) -> None:
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
