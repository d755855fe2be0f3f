"""Measure cost against movement, ours and the peers', on twenty data sets.

Writes frontier.md (the table), frontier.csv (the numbers) and frontier.png (the figure). Each
finished cell, a data set and a method, is stored at once: an interrupted run continues.
"""

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cells import CellStore, TimeLeft
from data import DATA, Data
from joblib import Parallel, delayed
from measure import FULL, QUICK, Effort, measure_cell
from methods import METHODS, Method
from sources import DATA_NAMES, VARIANTS, measure_sources
from threadpoolctl import threadpool_limits

from holdfast_paper.datasets import DatasetNotAvailable

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / "work" / "frontier"
DOCS = HERE.parents[1] / "docs" / "frontier.md"
PACKAGES = ("fastcluster", "kmedoids", "matplotlib")
INTERRUPTED = 130


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds and deletions: a try-out")
    parser.add_argument("--data", default="", metavar="NAME;...", help="measure these, no report")
    parser.add_argument("--methods", default="", metavar="NAME;...", help="of these methods only")
    parser.add_argument(
        "--report", action="store_true", help="measure nothing, report the data sets that are done"
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores by default")
    parser.add_argument("--fresh", action="store_true", help="forget stored cells")
    parser.add_argument(
        "--output", type=Path, help="folder of the results; work/ beside this one if --quick"
    )
    options = parser.parse_args(arguments)
    known = {"--data": [d.name for d in DATA], "--methods": [m.name for m in METHODS]}
    for option, names in known.items():
        asked = [name for name in getattr(options, option[2:]).split(";") if name]
        unknown = sorted(set(asked) - set(names))
        if unknown:
            parser.error(f"{option} takes names out of {'; '.join(names)}; got {unknown}.")
        setattr(options, option[2:], asked)
    return options


@dataclass(frozen=True)
class Task:
    """One cell: how it is named and how it is measured."""

    data: Data
    name: str
    measure: Callable[[Data, Effort], dict[str, Any]]


def list_tasks(data: Sequence[Data], methods: Sequence[Method]) -> list[Task]:
    tasks = [
        Task(d, m.name, lambda d, effort, m=m: measure_cell(d, m, effort))
        for d in data
        for m in methods
    ]
    if len(methods) == len(METHODS):
        tasks += [
            Task(d, f"sources: {v}", lambda d, effort, v=v: measure_sources(d, v, effort))
            for d in data
            for v in VARIANTS
            if d.name in DATA_NAMES
        ]
    return tasks


def measure_stored(store: CellStore, task: Task) -> Task:
    """Measure one cell in a worker process and store it there."""
    with threadpool_limits(1):
        store.save(task.measure(task.data, store.effort))
    return task


def measure_missing(store: CellStore, tasks: Sequence[Task], jobs: int) -> None:
    """Measure the cells, the largest data first, so that no core waits for another at the end."""
    todo = [task for task in tasks if store.load(task.data.name, task.name) is None]
    work = {task.data.name: float(task.data.make().shape[0]) ** 2 for task in todo}
    todo.sort(key=lambda task: -work[task.data.name])
    left = TimeLeft([work[task.data.name] for task in todo])
    calls = (delayed(measure_stored)(store, task) for task in todo)
    for task in Parallel(n_jobs=jobs, return_as="generator_unordered")(calls):
        left.finish(f"{task.data.name}: {task.name}", work[task.data.name])


def main() -> int:
    options = read_arguments()
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"Not installed: {', '.join(missing)}. Use `make frontier`, or install them by "
            "`pip install 'holdfast[bench,plot]'`.",
            file=sys.stderr,
        )
        return 1
    effort: Effort = QUICK if options.quick else FULL
    store = CellStore(WORK / "cells", effort)
    if options.fresh:
        store.forget()
    chosen = [d for d in DATA if not options.data or d.name in options.data]
    methods = [m for m in METHODS if not options.methods or m.name in options.methods]
    try:
        if not options.report:
            measure_missing(store, list_tasks(chosen, methods), options.jobs)
    except DatasetNotAvailable as error:
        print(f"{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nInterrupted. Finished cells are in {store.folder}; run again to continue.")
        return INTERRUPTED
    if (options.data or options.methods) and not options.report:
        return 0
    from report import fill_docs, write_report

    tasks = list_tasks(DATA, METHODS)
    found = {(t.data.name, t.name): store.load(t.data.name, t.name) for t in tasks}
    cells = {names: cell for names, cell in found.items() if cell is not None}
    output = options.output or (WORK if options.quick else HERE)
    write_report(output, cells)
    if output == HERE:
        fill_docs(DOCS, cells)
    print(f"Written: frontier.md, frontier.csv and frontier.png in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
