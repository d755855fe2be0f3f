"""Whether probabilities of `membership` are those of new deletions, on synthetic tables.

For each table of 200 rows in up to four groups, 20 refits give each row a probability; 6 new deletions
of 5% of the rows count how often it stays. Errors are over tables, since whole boundaries move.

    python benchmarks/membership.py    # the line in docs/stability.md; a few minutes
"""

import argparse
from itertools import pairwise

import numpy as np

from holdfast import HierarchicalKMedian
from holdfast.stability.inspection import _refit
from holdfast.stability.plan import Delete
from holdfast_paper.draws import normal

EDGES = np.array([0.0, 0.6, 0.75, 0.85, 0.95, 0.99, 1.01])
K = 4


def make_rows(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    places = np.floor(4.0 * rng.random((K, 2)))
    return normal(rng, (200, 2)) + places[rng.integers(K, size=200)]


def count_rows(seed: int, fresh: int = 6) -> np.ndarray:
    """For each bin: rows, their mean probability times rows, and how many stayed."""
    rows = make_rows(seed)
    model = HierarchicalKMedian(K).fit(rows)
    found = model.membership()
    top, given = found.argmax(axis=1), found.max(axis=1)
    bins = np.digitize(given, EDGES) - 1
    weight = np.ones(rows.shape[0])
    counts = np.zeros((3, EDGES.size - 1))
    for trial in range(fresh):
        hierarchy, names, _ = _refit(model, K, Delete(0.05), 1_000_000 + seed, trial)
        stays = names[hierarchy.predict(rows, K)] == top
        for i, values in enumerate((weight, given, stays)):
            counts[i] += np.bincount(bins, values, minlength=EDGES.size - 1)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=500)
    args = parser.parse_args()
    counts = np.array([count_rows(seed) for seed in range(30_000, 30_000 + args.tables)])
    print("| given | mean given | stayed | error |\n|---|---:|---:|---:|")
    for i, (low, high) in enumerate(pairwise(EDGES)):
        rows, given, stayed = counts[:, :, i].T
        apart = (stayed - given).sum() / rows.sum()
        error = np.sqrt(((stayed - given - apart * rows) ** 2).sum()) / rows.sum()
        mean, seen = given.sum() / rows.sum(), stayed.sum() / rows.sum()
        print(f"| {low:.0%} to {min(high, 1.0):.0%} | {mean:.1%} | {seen:.1%} | {error:.1%} |")


if __name__ == "__main__":
    main()
