"""Units -> blocks: which process computes what, and what is kept on disk.

Work starts in this process. Only if it takes long do worker processes (joblib) take over. If a
worker dies, the units it may have had are tried once more, each alone: a unit that kills its worker
again is left out and reported. Every unit is delivered exactly once, and which process computed it
never shows.

A checkpoint is a folder with `arguments.json`, what the numbers depend on, and one `.npz` file per
block, without pickles.
"""

import functools
import hashlib
import json
import os
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
from joblib import delayed, effective_n_jobs
from joblib import hash as joblib_hash
from threadpoolctl import threadpool_limits

from holdfast._machine.files import write_whole
from holdfast._machine.work import results_of
from holdfast.stability.plan import Plan, Unit
from holdfast.stability.trials import Block, Failure, Job, empty_block, run_block

_SECONDS_ALONE = 1.0  # before workers are considered
_SECONDS_WORTH_WORKERS = 8.0  # of remaining work: a worker imports for about two
_BLOCK_SECONDS = 0.5
_LONGEST_BLOCK_SECONDS = 10.0
_BLOCKS = 200  # blocks in a long run
_MOST_DEATHS = 3  # units that may kill a worker before the run is given up
_FORMAT = 2

Take = Callable[[Block], None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    note: str = ""  # empty when all units were computed
    deaths: tuple[Block, ...] = ()  # without numbers: the units whose worker process died twice
    retried: tuple[str, ...] = ()  # how worker processes ended whose units were tried again


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of processes, as joblib counts them."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | None) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be an integer other than 0, or -1 for all cores; got {n_jobs!r}."
        )
    return int(effective_n_jobs(n_jobs))


def limit_threads() -> Any:
    """Give OpenMP and BLAS one thread: trials run in parallel, and sums round alike everywhere."""
    return threadpool_limits(limits=1)


def run_units(job: Job, units: list[Unit], n_jobs: int, take: Take) -> Outcome:
    """Compute all units and pass their blocks to `take` as they arrive; Ctrl-C ends the run."""
    todo = list(reversed(units))
    try:
        seconds = _run_here(job, todo, take, _SECONDS_ALONE if n_jobs > 1 else float("inf"))
        if todo and seconds * len(todo) < _SECONDS_WORTH_WORKERS:
            _run_here(job, todo, take, float("inf"))
        return _run_in_workers(job, todo[::-1], n_jobs, take, seconds)
    except KeyboardInterrupt:
        return Outcome("interrupted by the keyboard")


def _run_here(job: Job, todo: list[Unit], take: Take, seconds: float) -> float:
    """Take units from the end of `todo` for this long; return the seconds per unit."""
    start, done = time.perf_counter(), 0
    while todo and (elapsed := time.perf_counter() - start) < seconds:
        size = _block_size(elapsed / done, _BLOCK_SECONDS) if done else 1
        units = [todo.pop() for _ in range(min(size, len(todo)))]
        take(run_block(job, units))
        done += len(units)
    return (time.perf_counter() - start) / max(done, 1)


def _block_size(seconds_per_unit: float, seconds: float) -> int:
    return max(1, int(seconds / max(seconds_per_unit, 1e-6)))


def _run_in_workers(
    job: Job, units: list[Unit], n_jobs: int, take: Take, seconds_per_unit: float
) -> Outcome:
    seconds = min(
        max(seconds_per_unit * len(units) / _BLOCKS, _BLOCK_SECONDS), _LONGEST_BLOCK_SECONDS
    )
    size = min(_block_size(seconds_per_unit, seconds), max(1, -(-len(units) // n_jobs)))
    waiting = [units[i : i + size] for i in range(0, len(units), size)]
    deaths: list[Block] = []
    retried: list[str] = []
    while waiting:
        suspects, waiting, error = _run_until_death(job, waiting, n_jobs, take)
        if error:
            retried.append(error)
        for unit in (unit for block in suspects for unit in block):
            if len(deaths) == _MOST_DEATHS:
                note = f"stopped because worker processes kept dying ({error})"
                return Outcome(note, tuple(deaths), tuple(retried))
            again, _, error_again = _run_until_death(job, [[unit]], n_jobs, take)
            if again:
                what = f"the worker process died twice ({error_again})"
                failure = Failure(job.plan.changes[unit[0]].name, unit[1], -1, -1, what)
                deaths.append(empty_block(job, [unit], (failure,)))
    return Outcome(deaths=tuple(deaths), retried=tuple(retried))


def _run_until_death(
    job: Job, blocks: list[list[Unit]], n_jobs: int, take: Take
) -> tuple[list[list[Unit]], list[list[Unit]], str]:
    """Compute blocks in workers; return those in progress when one died, those not begun, and why."""
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
            f"the clusterer cannot be sent to other processes ({unpicklable}); continuing in this "
            "one. Pass n_jobs=1 to avoid this warning.",
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


class Checkpoint:
    """Blocks of one plan in a folder; a folder with other arguments is an error."""

    def __init__(self, path: str | os.PathLike[str], arguments: dict[str, str]) -> None:
        self.folder = Path(path)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"checkpoint must be a folder; {self.folder} is a file.")
        self.folder.mkdir(parents=True, exist_ok=True)
        stored = self.folder / "arguments.json"
        if not stored.exists():
            if any(self.folder.glob("*.npz")) or any(self.folder.glob("*.json")):
                raise ValueError(
                    f"checkpoint must be an empty or new folder; {self.folder} has other files."
                )
            text = json.dumps(arguments, indent=1)
            write_whole(stored, lambda file: file.write(text.encode()))
            return
        known = json.loads(stored.read_text(encoding="utf-8"))
        for name in sorted({*known, *arguments}):
            if known.get(name) != arguments.get(name):
                raise ValueError(
                    f"the checkpoint {self.folder} belongs to another run: there {name} is "
                    f"{known.get(name)}, now it is {arguments.get(name)}. Use the same arguments, "
                    "or another folder."
                )

    def load(self) -> list[Block]:
        """Read all blocks, in the order of their names."""
        return [_read_block(path) for path in sorted(self.folder.glob("block-*.npz"))]

    def store(self, block: Block) -> None:
        """Write one block."""
        change, trial = block.units[0]
        path = self.folder / f"block-{change}-{trial}.npz"
        arrays = {f.name: getattr(block, f.name) for f in fields(block) if f.name != "failures"}
        failures = json.dumps([asdict(failure) for failure in block.failures])
        # No allow_pickle: NumPy 1 would store it as one more array. None of these holds objects.
        write_whole(path, lambda file: np.savez(file, failures=np.array(failures), **arrays))


def _read_block(path: Path) -> Block:
    try:
        # Opened here: np.load leaves the file open where it is damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        failures = json.loads(str(arrays.pop("failures")))
        return Block(**arrays, failures=tuple(Failure(**failure) for failure in failures))
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} cannot be read ({error}); delete it to compute it again."
        ) from None


def describe_plan(plan: Plan, per_row: bool, keep_labels: bool = False) -> dict[str, str]:
    """Describe what a plan's numbers depend on; the number of trials may grow."""
    every = "all" if plan.limit is None else f"{plan.limit} rows"
    return {
        "format": str(_FORMAT),
        "holdfast": version("holdfast"),
        "clusterer": _describe(plan.clusterer),
        "data": ", ".join(_describe(base.rows) for base in plan.bases),
        "changes": ", ".join(_describe(change.perturbation) for change in plan.changes),
        "n_clusters": str(list(plan.ks)),
        "trials": every if plan.exhaustive else "sampled",
        "repeats": str(plan.repeats),
        "coupling": plan.coupling,
        "random_state": str(plan.seed),
        "per_row": str(per_row),
        "keep_labels": str(keep_labels),
    }


def _describe(value: Any) -> str:
    """Text that is equal for equal values, in every process."""
    if isinstance(value, np.ndarray):
        digest = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
        return f"{value.dtype} array of shape {value.shape} ({digest})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_describe, value))}]"
    if isinstance(value, dict):
        return _describe_items("", value.items())
    if isinstance(value, functools.partial):
        return f"partial({_describe(value.func)}, {_describe(value.args)}, {_describe(value.keywords)})"
    if hasattr(value, "__dataframe__") or hasattr(value, "tocsr"):
        return f"{type(value).__name__} of shape {value.shape} ({joblib_hash(value)})"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params"):
        return _describe_items(name, value.get_params(deep=False).items())
    if is_dataclass(value):
        parts = ((f.name, getattr(value, f.name)) for f in fields(value) if f.compare)
        return _describe_items(name, parts)
    if repr(value) == object.__repr__(value):  # an address says nothing
        return _describe_items(name, getattr(value, "__dict__", {}).items())
    return repr(value)


def _describe_items(name: str, items: Iterable[tuple[Any, Any]]) -> str:
    inside = sorted(f"{key}={_describe(value)}" for key, value in items)
    return f"{name}({', '.join(inside)})"
