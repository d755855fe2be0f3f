"""The command line of benchmarks whose cells are stored as soon as they are finished."""

import argparse
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from holdfast import __version__
from holdfast._machine.work import Progress
from holdfast_paper.cells import CellStore, Stored, run_cells

INTERRUPTED = 130


def add_options(parser: argparse.ArgumentParser, *, quick: str, names: Sequence[str]) -> None:
    """Add what all of them take; `names` are the options that take names out of a list."""
    parser.add_argument("--quick", action="store_true", help=quick)
    for name in names:
        parser.add_argument(name, default="", metavar="NAME;...", help="only these, no report")
    parser.add_argument(
        "--update", action="store_true", help="report, with the rest as it was measured before"
    )
    parser.add_argument(
        "--report", action="store_true", help="measure nothing: report what was measured before"
    )
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores by default")
    parser.add_argument("--fresh", action="store_true", help="discard stored cells")
    parser.add_argument("--output", type=Path, help="folder of the results; work/ if --quick")


def parse_names(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    known: Mapping[str, Sequence[str]],
) -> argparse.Namespace:
    """Parse the arguments, and the lists of names in them."""
    options = parser.parse_args(arguments)
    for option, names in known.items():
        asked = [name for name in getattr(options, option[2:]).split(";") if name]
        unknown = sorted(set(asked) - set(names))
        if unknown:
            parser.error(f"{option} takes names out of {'; '.join(names)}; got {unknown}.")
        setattr(options, option[2:], asked)
    return options


def name_missing(packages: Sequence[str], target: str) -> str:
    """Say which packages are missing; "" if none is."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    return (
        f"Not installed: {', '.join(missing)}. Use `make {target}`, or install them with "
        "`pip install 'holdfast[bench,plot]'`."
    )


def run_benchmark(
    folder: Path,
    options: argparse.Namespace,
    packages: Sequence[str],
    measure: Callable[[], Any],
    read_table: Callable[[Path], Any],
    report: Any,
) -> int:
    """Measure, or read what was measured before; report it, and fill in the page; return an exit code.

    The benchmark has the name of its folder. `measure` returns a table, or an exit code. `report` has
    `write_report` and `fill_docs`.
    """
    if missing := name_missing(packages, folder.name):
        print(missing, file=sys.stderr)
        return 1
    output = options.output or (work_folder(folder) if options.quick else folder)
    known = output / f"{folder.name}.csv"
    table = read_table(known) if options.report else measure()
    if isinstance(table, int):
        return table
    if options.update and known.exists():
        table = replace(table, entries={**read_table(known).entries, **table.entries})
    names = report.write_report(output, table)
    if output == folder:
        report.fill_docs(folder.parents[1] / "docs" / f"{folder.name}.md", table)
    print(f"Written: {', '.join(names)} in {output}")
    return 0


def work_folder(folder: Path) -> Path:
    """Return where a benchmark stores cells, and the results of a quick run."""
    return folder.parent / "work" / folder.name


def open_store(folder: Path, options: argparse.Namespace) -> CellStore:
    """Open the stored cells; the code is no part of their names: --fresh after it changed results."""
    store = CellStore(work_folder(folder) / "cells", __version__)
    if options.fresh:
        store.forget()
    return store


def run_stored(
    cells: Sequence[Any],
    measure: Callable[[Any], Any],
    store: CellStore,
    options: argparse.Namespace,
    effort: Callable[[Any], float],
) -> list[Stored] | None:
    """Measure what is not stored; None after an interruption, which is told."""
    work = {cell: effort(cell) for cell in cells}
    try:
        with Progress(True, sum(work.values()), "s of work, estimated") as progress:
            jobs = int(effective_n_jobs(options.jobs))
            return run_cells(cells, measure, store, progress, n_jobs=jobs, effort=work.__getitem__)
    except KeyboardInterrupt:
        print(
            f"\nInterrupted. Finished cells are in {store.folder}; run again to continue.",
            file=sys.stderr,
        )
        return None
