"""How good and how steady the clusterings of well-known data are: no change makes them worse unseen.

For each data set, method and number of clusters, at fixed seeds: the k-median cost of a row, the
average sensitivity to one deleted row ([LHBP25], Eq. 1) and the share of rows that change cluster
when 5% go, each with its standard error. What they were is in quality.json beside this file.

``python tests/golden/quality.py`` says which numbers moved by more than their standard error. A
change that moves them on purpose, and says why in CHANGELOG.md, writes the table anew:
``python tests/golden/quality.py --write``.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # the folder that pytest puts on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from golden.recipe import crc
from numpy.typing import NDArray
from sklearn import datasets

from holdfast import HierarchicalKMedian, average_sensitivity
from holdfast.stability.measures import mean_error

STORED = Path(__file__).with_name("quality.json")
KS = (4, 8)
METHODS: dict[str, dict[str, Any]] = {
    "tree, epsilon 1": {"method": "tree", "epsilon": 1.0},
    "tree, greedy": {"method": "tree", "epsilon": 0.0},
    "euclidean, auto": {"method": "medoids"},
}
LOADERS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "diabetes": lambda: datasets.load_diabetes(scaled=False),
    "wdbc": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
CASES = [(name, method) for name in LOADERS for method in METHODS]
FIGURES = ("cost", "one row", "5%")

Row = dict[str, Any]


def load_standardised(name: str) -> NDArray[np.float64]:
    """Columns of mean 0 and deviation 1 (constant ones 0), rounded to multiples of 2^-16.

    Keys are hashes of content: a last bit that another version of NumPy rounds differently would
    give other random numbers, so these bits are not there.
    """
    rows = np.asarray(LOADERS[name]().data, dtype=np.float64)
    deviation = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    return np.round(scaled * 2.0**16) / 2.0**16


@dataclass(frozen=True)
class Effort:
    """How many fits: seeds for the cost, seeds and trials for the sensitivities."""

    cost_seeds: int
    seeds: int
    trials: int


def effort_for(n_rows: int, cost: str) -> Effort:
    """As many as a few seconds allow."""
    if cost == "tree":
        return Effort(24, 16, 8)
    return Effort(12, 6, 8) if n_rows < 1000 else Effort(4, 2, 3)


def measure(rows: NDArray[np.float64], parameters: dict[str, Any]) -> Iterator[Row]:
    """One row of the table for each k."""
    tree = parameters["method"] == "tree"
    effort = effort_for(rows.shape[0], "tree" if tree else "euclidean")
    model = HierarchicalKMedian(max(KS), max_centers=max(KS), **parameters)
    costs = np.array([_costs(rows, model, seed) for seed in range(effort.cost_seeds)])
    arguments = {"n_clusters": list(KS), "repeats": effort.seeds, "n_jobs": 1, "random_state": 0}
    # Of the tree cost, all single deletions follow without refits.
    one = average_sensitivity(
        model, rows, trials="all" if tree else effort.trials, measure="symmetric_difference",
        **arguments,
    )  # fmt: skip
    many = average_sensitivity(
        model, rows, delete=0.05, trials=effort.trials, measure="moved_fraction", **arguments
    )
    for j, k in enumerate(KS):
        cost = mean_error(costs[:, j, None], exhaustive=False)
        yield {
            "k": k,
            "cost": [cost.mean, cost.standard_error],
            "one row": [one.mean[0, j], one.standard_error[0, j]],
            "5%": [many.mean[0, j], many.standard_error[0, j]],
        }


def _costs(rows: NDArray[np.float64], model: HierarchicalKMedian, seed: int) -> list[float]:
    """Mean distance of a row to the center of its own cluster, for each k."""
    hierarchy = model.set_params(random_state=seed).fit(rows).hierarchy_
    own = [rows[hierarchy.center_indices[hierarchy.cut(k)]] for k in KS]
    return [float(np.sqrt(((rows - centers) ** 2).sum(axis=1)).mean()) for centers in own]


def measure_case(name: str, method: str) -> list[Row]:
    """Rows of the table of one data set and method."""
    rows = load_standardised(name)
    first = {"data": name, "input": crc(rows, "<f8"), "method": method}
    return [{**first, **row} for row in measure(rows, METHODS[method])]


def stored() -> list[Row]:
    """Read what was written."""
    found: list[Row] = json.loads(STORED.read_text())
    return found


def moved_figures(before: Row, after: Row) -> list[str]:
    """Describe each figure that differs by more than its standard error (before the change)."""
    found = []
    for name in FIGURES:
        (was, error), (now, _) = before[name], after[name]
        if not abs(now - was) <= max(error, 1e-9 * abs(was)):
            found.append(f"{name}: {was:.6g} ± {error:.2g} became {now:.6g}")
    return found


def _write(table: list[Row]) -> None:
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in table) + "\n]\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the quality table, or write it anew.")
    parser.add_argument("--write", action="store_true", help="write quality.json anew")
    write = parser.parse_args().write
    table = [row for name, method in CASES for row in measure_case(name, method)]
    if write:
        _write(table)
        print(f"{len(table)} rows written to {STORED.name}; say in CHANGELOG.md what moved and why")
        return 0
    moved = 0
    for before, after in zip(stored(), table, strict=True):
        for change in moved_figures(before, after):
            moved += 1
            print(f"{after['data']}, {after['method']}, k={after['k']}: {change}")
    print(f"{len(table)} rows, {moved} figures moved by more than their standard error")
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
