"""Measure cost against movement, holdfast's and its peers', on small and on large data.

Writes frontier.md (tables), frontier.csv (numbers), frontier.png and large.png. Each finished cell,
a data set and a method, is stored at once: after an interruption the same command continues.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for what the benchmarks share

import report
from data import DATA, LARGE
from measure import FULL, QUICK, Cell, Effort, measure_cell
from methods import METHODS, Method, installed
from resumable import INTERRUPTED, add_options, open_store, parse_names, run_benchmark, run_stored
from summary import Table, read_table, tabulate

from holdfast_paper.datasets import DatasetNotAvailable

HERE = Path(__file__).resolve().parent
PACKAGES = ("fastcluster", "kmedoids", "matplotlib")
PARTS = ("small", "large", "all")
LARGE_ROWS = 5000


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="all", help="which data (default: all)")
    parser.add_argument(
        "--optional", action="store_true", help="also EVoC and fast_hdbscan, which take far longer"
    )
    add_options(parser, quick="few seeds, removals and rows", names=("--data", "--methods"))
    known = {"--data": [d.name for d in DATA], "--methods": [m.name for m in METHODS]}
    return parse_names(parser, arguments, known)


def list_cells(options: argparse.Namespace, effort: Effort) -> list[Cell]:
    """List the cells that were asked for and can be measured here; name what is missing."""
    cells = []
    for data in DATA:
        part = "large" if LARGE in data.groups else "small"
        if options.part not in (part, "all") or (options.data and data.name not in options.data):
            continue
        if not installed(data.package):
            print(f"Without {data.name}: {data.package} is not installed.", file=sys.stderr)
            continue
        cells += [
            Cell(data.name, method.name, effort)
            for method in METHODS
            if method.clusters(data) and _is_asked(method, options)
        ]
    return cells


def _is_asked(method: Method, options: argparse.Namespace) -> bool:
    if options.methods:
        return method.name in options.methods
    return not method.package or (options.optional and installed(method.package))


def estimate_effort(cell: Cell, rows: dict[str, int]) -> float:
    """Estimate the seconds of a cell; only the order of work and the time left depend on it."""
    n = rows[cell.data]
    if n < LARGE_ROWS:
        return 1e-6 * n**2
    slow = 4.0 if cell.method == "kmeans" else 1.0
    return 3e-4 * slow * min(n, cell.effort.large_rows or n)


def count_rows(names: set[str]) -> tuple[dict[str, int], list[str]]:
    """Load the data: how many rows each has, and which could not be loaded (a first look does without)."""
    rows, missing = {}, []
    for data in DATA:
        if data.name in names:
            try:
                rows[data.name] = data.make().shape[0]
            except DatasetNotAvailable as error:
                missing.append(data.name)
                print(f"Without {data.name}: {error}", file=sys.stderr)
    return rows, missing


def measure(options: argparse.Namespace) -> Table | int:
    """Measure what was asked for; an exit code after an interruption, or without a report."""
    effort, store = QUICK if options.quick else FULL, open_store(HERE, options)
    cells = list_cells(options, effort)
    rows, missing = count_rows({cell.data for cell in cells})
    if missing and not options.quick:
        return 1
    cells = [cell for cell in cells if cell.data in rows]
    work = {cell: estimate_effort(cell, rows) for cell in cells}
    stored = run_stored(cells, measure_cell, store, options, work.__getitem__)
    if stored is None:
        return INTERRUPTED
    if (options.data or options.methods) and not options.update:
        return 0
    everything = argparse.Namespace(part="all", data=[], methods=[], optional=True)
    others = list_cells(everything, effort)
    found = [one for cell in others if cell not in work and (one := store.read(cell))]
    return tabulate([*stored, *found])


if __name__ == "__main__":
    given = read_arguments()
    sys.exit(run_benchmark(HERE, given, PACKAGES, lambda: measure(given), read_table, report))
