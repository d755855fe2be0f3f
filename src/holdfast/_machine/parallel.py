"""Threads, whose number changes no result; worker processes that stop cleanly; locks of objects."""

import _thread
import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

_WORTHWHILE = 1 << 17

_LOCKS: WeakKeyDictionary[object, threading.RLock] = WeakKeyDictionary()
_LOCKS_GUARD = threading.Lock()


def lock_of(owner: object) -> threading.RLock:
    """Return the lock of an object.

    It is kept beside the object, not in it: copies and pickles of the object have none.
    """
    with _LOCKS_GUARD:
        return _LOCKS.setdefault(owner, threading.RLock())


def share_rows(n_rows: int, work: Callable[[slice], object], width: int = 1) -> None:
    """Call `work` for consecutive parts of the rows, in threads if there are many values.

    `width` is the number of values in a row that `work` reads.
    `work` must write to separate locations for each row. Kernels release the GIL.
    """
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
