"""How much clusters move from release to release: ``make drift``.

Writes drift.md, drift.csv and drift.png, and the tables of docs/drift.md. Each finished cell, a
series and a method, is stored at once: after an interruption the same command continues.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for what the benchmarks share

import report
from measure import FULL, QUICK, Cell, Effort, measure_cell
from methods import METHODS, REFERENCE
from resumable import INTERRUPTED, add_options, open_store, parse_names, run_benchmark, run_stored
from series import SERIES, SYNTHETIC
from summary import Table, read_table, tabulate

HERE = Path(__file__).resolve().parent
PACKAGES = ("fastcluster", "matplotlib", "pandas")


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, quick="few releases and trials", names=("--series", "--methods"))
    known = {"--series": [s.name for s in SERIES], "--methods": [m.name for m in METHODS]}
    return parse_names(parser, arguments, known)


def list_cells(series: Sequence[str], methods: Sequence[str], effort: Effort) -> list[Cell]:
    """List the cells of these names (all, if there are none); name what cannot be measured here.

    The reference is among them: costs are divided by its costs.
    """
    cells = []
    for one in SERIES:
        if series and one.name not in series:
            continue
        if one.package and find_spec(one.package) is None:
            print(f"Without {one.name}: {one.package} is not installed.", file=sys.stderr)
            continue
        cells += [
            Cell(one.name, method.name, effort)
            for method in METHODS
            if (not methods or method.name in (*methods, REFERENCE)) and method.can_run
        ]
    return cells


def estimate_effort(cell: Cell) -> float:
    """Estimate the seconds of a cell; only the order of work and the time left depend on it."""
    (series,) = (one for one in SERIES if one.name == cell.series)
    slow = 3.0 if cell.method.startswith(("follow", "frozen_refit", "kmeans")) else 1.0
    return slow * (cell.effort.trials if series.group == SYNTHETIC else 20.0)


def measure(options: argparse.Namespace) -> Table | int:
    """Measure what was asked for; an exit code after an interruption, or without a report."""
    effort, store = QUICK if options.quick else FULL, open_store(HERE, options)
    cells = list_cells(options.series, options.methods, effort)
    stored = run_stored(cells, measure_cell, store, options, estimate_effort)
    if stored is None:
        return INTERRUPTED
    if (options.series or options.methods) and not options.update:
        return 0
    others = [cell for cell in list_cells([], [], effort) if cell not in set(cells)]
    found = [one for cell in others if (one := store.read(cell)) is not None]
    return tabulate([*stored, *found])


if __name__ == "__main__":
    given = read_arguments()
    sys.exit(run_benchmark(HERE, given, PACKAGES, lambda: measure(given), read_table, report))
