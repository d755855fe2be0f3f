"""Units -> blocks -> processes: who computes what, and what happens when something goes wrong.

Work starts in this process; only when it proves long do worker processes (joblib) take over in
blocks of about a second. When a worker dies, that is reported, and the units it may have had are
tried once more, each alone: the one that kills its worker again is left out and named, the others
are kept. A unit's numbers depend on that unit alone, so the second try gives what the first would
have given.

Invariant: every unit is handed on exactly once, and which process computed it never shows.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

from joblib import delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from holdfast._machine.workers import results_of
from holdfast.stability.blocks import Block, Failure
from holdfast.stability.plan import Unit
from holdfast.stability.trials import Job, empty_block, run_block

__all__ = ["Ending", "check_n_jobs", "limit_threads", "run_units"]

_SECONDS_ALONE = 1.0  # before workers are considered
_SECONDS_WORTH_WORKERS = 8.0  # of remaining work: a worker imports for about two
_BLOCK_SECONDS = 0.5
_LONGEST_BLOCK_SECONDS = 10.0
_BLOCKS = 200  # blocks in a long run
_MOST_DEATHS = 3  # units that may kill a worker before the run is given up

Take = Callable[[Block], None]


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes
    ----------
    note : str
        Empty when all units were computed.
    deaths : tuple of Block
        Without numbers: the units whose worker process died twice.
    retried : tuple of str
        How the worker processes ended whose units were tried again.
    """

    note: str = ""
    deaths: tuple[Block, ...] = ()
    retried: tuple[str, ...] = ()


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of processes, as joblib counts them."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | None) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be an integer other than 0, -1 for all cores; got {n_jobs!r}."
        )
    return int(effective_n_jobs(n_jobs))


def limit_threads() -> Any:
    """Give OpenMP and BLAS one thread: trials run side by side, and sums round alike everywhere."""
    return threadpool_limits(limits=1)


def run_units(job: Job, units: list[Unit], n_jobs: int, take: Take) -> Ending:
    """Compute all units and hand their blocks to `take`, here, as they come.

    Ctrl-C ends the run; what was handed on stays.
    """
    todo = list(reversed(units))
    try:
        pace = _run_here(job, todo, take, _SECONDS_ALONE if n_jobs > 1 else float("inf"))
        if todo and pace * len(todo) < _SECONDS_WORTH_WORKERS:
            _run_here(job, todo, take, float("inf"))
        return _run_in_workers(job, todo[::-1], n_jobs, take, pace)
    except KeyboardInterrupt:
        return Ending("interrupted by the keyboard")


def _run_here(job: Job, todo: list[Unit], take: Take, seconds: float) -> float:
    """Work off `todo` from its end, for so long; return the seconds a unit took."""
    start, pace, done = time.perf_counter(), 0.0, 0
    while todo and (elapsed := time.perf_counter() - start) < seconds:
        pace = elapsed / max(done, 1)
        size = _block_size(pace, _BLOCK_SECONDS) if done else 1
        units = [todo.pop() for _ in range(min(size, len(todo)))]
        take(run_block(job, units))
        done += len(units)
    return (time.perf_counter() - start) / max(done, 1)


def _block_size(pace: float, seconds: float) -> int:
    return max(1, int(seconds / max(pace, 1e-6)))


def _run_in_workers(job: Job, units: list[Unit], n_jobs: int, take: Take, pace: float) -> Ending:
    seconds = min(max(pace * len(units) / _BLOCKS, _BLOCK_SECONDS), _LONGEST_BLOCK_SECONDS)
    size = min(_block_size(pace, seconds), max(1, -(-len(units) // n_jobs)))
    waiting = [units[i : i + size] for i in range(0, len(units), size)]
    deaths: list[Block] = []
    retried: list[str] = []
    while waiting:
        suspects, waiting, error = _run_until_death(job, waiting, n_jobs, take)
        if error:
            retried.append(error)
        for unit in (unit for block in suspects for unit in block):
            if len(deaths) == _MOST_DEATHS:
                note = f"given up: worker processes kept dying ({error})"
                return Ending(note, tuple(deaths), tuple(retried))
            again, _, error_again = _run_until_death(job, [[unit]], n_jobs, take)
            if again:
                deaths.append(_report_death(job, unit, error_again))
    return Ending(deaths=tuple(deaths), retried=tuple(retried))


def _report_death(job: Job, unit: Unit, error: str) -> Block:
    what = f"the worker process died, twice ({error})"
    failure = Failure(job.plan.changes[unit[0]].name, unit[1], -1, -1, what)
    return empty_block(job, [unit], (failure,))


def _run_until_death(
    job: Job, blocks: list[list[Unit]], n_jobs: int, take: Take
) -> tuple[list[list[Unit]], list[list[Unit]], str]:
    """Compute blocks in workers; return those under way when one died, those not begun, and why."""
    begun: set[int] = set()
    finished: set[int] = set()

    def tasks() -> Iterator[Any]:
        for number, units in enumerate(blocks):
            begun.add(number)
            yield delayed(_run_numbered)(job, units, number, os.getpid())

    error = ""
    try:
        with results_of(tasks(), n_jobs=n_jobs) as results:
            for number, block in results:
                finished.add(number)
                take(block)
    except BrokenExecutor as broken:
        error = " ".join(str(broken).partition("Detailed")[0].split())
    except PicklingError as unpicklable:
        warnings.warn(
            f"the clusterer cannot be sent to other processes ({unpicklable}); going on in this "
            "one. n_jobs=1 avoids this warning.",
            stacklevel=2,
        )
        for number in range(len(blocks)):
            if number not in finished:
                finished.add(number)
                take(run_block(job, blocks[number]))
    suspects = [blocks[number] for number in sorted(begun - finished)]
    rest = [units for number, units in enumerate(blocks) if number not in begun]
    return suspects, rest, error


def _run_numbered(job: Job, units: list[Unit], number: int, parent: int) -> tuple[int, Block]:
    """One block, in a worker: a process of its own, or a thread where joblib is told so."""
    if os.getpid() == parent:  # a thread: the limit is set for all of them by the caller
        return number, run_block(job, units)
    with limit_threads():
        return number, run_block(job, units)
