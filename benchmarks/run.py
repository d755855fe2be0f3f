"""Measure speed and memory of holdfast against other clusterers, as ratios in one run.

Prints a table and writes results.md, results.json and results.png. After an interruption, the same
command continues.
"""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import chunks
import growth
import machine
import means
import speed
import startup
import updates
from report import HEADER, Row, Run, format_line, summarize, write_report
from tasks import Group, MeasurementError, Results, Settings, Task, order_turns

from holdfast._machine.work import Progress
from holdfast_paper.cells import CellStore, run_cells

HERE = Path(__file__).resolve().parent
GROUPS = (
    *means.GROUPS,
    *speed.GROUPS,
    *growth.GROUPS,
    *updates.GROUPS,
    chunks.GROUP,
    *startup.GROUPS,
)
SMALLEST_SCALE = 0.001  # below, some inputs would have fewer rows than clusters
BUSY = 0.5
INTERRUPTED = 130


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    names = [group.name for group in GROUPS]
    parser = argparse.ArgumentParser(description=__doc__, epilog="groups: " + ", ".join(names))
    parser.add_argument("--only", default=",".join(names), metavar="GROUP,...", help="some groups")
    parser.add_argument("--scale", type=float, default=1.0, help="size of all inputs, up to 1")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--fresh", action="store_true", help="discard an interrupted run")
    parser.add_argument(
        "--output",
        type=Path,
        help="folder of the results; by default that of this file, or its subfolder work/ for a run "
        "that is scaled or leaves groups out",
    )
    options = parser.parse_args(arguments)
    options.only = [name for name in options.only.split(",") if name]
    unknown = sorted(set(options.only) - set(names))
    if unknown or not options.only:
        parser.error(f"--only takes groups out of {', '.join(names)}; got {unknown or 'none'}.")
    if not SMALLEST_SCALE <= options.scale <= 1.0:
        parser.error(f"--scale must be from {SMALLEST_SCALE} to 1; got {options.scale}.")
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}.")
    return options


def find_missing(tasks: Sequence[Task]) -> list[str]:
    """Return the packages that are needed and not installed."""
    needed = {package for task in tasks for package in task.packages} | {"matplotlib"}
    return sorted(package for package in needed if importlib.util.find_spec(package) is None)


def measure(
    groups: Sequence[Group], settings: Settings, store: CellStore
) -> tuple[list[tuple[Group, list[Row]]], Results]:
    """Run what is not stored yet, group by group; print the rows of each group when it is done."""
    turns = order_turns(groups, settings)
    results, tables = Results(), []
    print(format_line(HEADER))
    with Progress(True, sum(map(len, turns.values())), "measurements") as progress:
        for group in groups:
            cells = turns[group.name]
            for stored in run_cells(cells, lambda turn: turn.task.run(), store, progress):
                results.add(stored.cell.task, stored.result)
            rows = group.list_rows(settings, results)
            tables.append((group, rows))
            progress.close()
            lines = [f"-- {group.title}", *(format_line(row.format_cells()) for row in rows)]
            print("\n".join(lines), flush=True)
    return tables, results


def describe(settings: Settings) -> Run:
    """Note what the figures depend on, before the run itself makes the machine busy."""
    load = machine.measure_load()
    if load is not None and load > BUSY:
        print(f"The machine is busy (load {load:.2f}): ratios will be noisy.", file=sys.stderr)
    return Run(
        settings=settings,
        command=" ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        commit=machine.describe_commit(),
        load=load,
        machine=machine.describe_machine(),
        versions=machine.list_versions(),
    )


def main() -> int:
    options = read_arguments()
    groups = [group for group in GROUPS if group.name in options.only]
    settings = Settings(options.scale, options.repeats)
    missing = find_missing([task for group in groups for task in group.plan(settings)])
    if missing:
        print(
            f"Not installed: {', '.join(missing)}. Use `make bench`, install them with "
            "`pip install 'holdfast[bench,plot]'`, or choose groups with --only.",
            file=sys.stderr,
        )
        return 1
    complete = settings.scale == 1.0 and len(groups) == len(GROUPS)
    work = (options.output or HERE) / "work"
    output = options.output or (HERE if complete else work)
    store = CellStore(work / "measured", f"{machine.fingerprint()} {settings.scale}")
    if options.fresh:
        store.forget()
    run = describe(settings)
    try:
        tables, results = measure(groups, settings, store)
        write_report(output, run, tables, results)
    except KeyboardInterrupt:
        print(f"\nInterrupted. Finished measurements are in {store.folder}; run again to continue.")
        return INTERRUPTED
    except MeasurementError as error:
        print(f"\nA measurement failed; earlier ones are kept.\n{error}", file=sys.stderr)
        return 1
    store.forget()
    print(f"\nWritten: results.md, results.json and results.png in {output}")
    print(summarize([row for _, rows in tables for row in rows], settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
