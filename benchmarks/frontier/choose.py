"""Compare settings of means on small data that judge nothing.

``python benchmarks/frontier/choose.py 16 "" CANDIDATES=64,SAMPLE_SPLITS=8`` measures the settings of
`holdfast.centers.proposals` as they are, then with two changes, each with 16 random states. Prints
cost, excess at one row and excess at 5% for k = 4 and 8, divided by those of Ward linkage: the mean of
the costs, and the totals of the excesses as fractions of the rows.

``python benchmarks/frontier/choose.py causes 8`` says what changes first when one row is removed, and
which part of the excess at 8 clusters goes with it.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for inputs

import numpy as np
from data import DATA, LARGE, Array
from measure import Effort, Trial
from methods import METHODS
from sklearn.base import clone

from holdfast import HierarchicalKMedian, Hierarchy
from holdfast.centers import proposals
from holdfast.stability.measures import encode_labels, match_clusters, overlap_table

KS = (4, 8)
TABLES = 12
COLUMNS = (3, 3, 4, 3, 8, 12)
TURNED = 0.9  # cosine below which a direction is another one
JUMP = 0.02  # of the rows


def make_table(number: int) -> Array:
    """Three to six groups of different size and shape, every third table with heavy tails."""
    rng = np.random.default_rng([77, number])
    n, d, groups = int(rng.integers(150, 900)), COLUMNS[number % 6], int(rng.integers(3, 7))
    centers = rng.normal(size=(groups, d)) * rng.uniform(0.8, 2.2)
    group = rng.choice(groups, size=n, p=rng.dirichlet(np.full(groups, 2.0)))
    X = np.empty((n, d))
    for g in range(groups):
        shape = 0.5 * rng.normal(size=(d, d)) + 0.6 * np.eye(d)
        noise = rng.normal(size=(n, d)) if number % 3 else rng.standard_t(4, size=(n, d))
        X[group == g] = centers[g] + (noise @ shape)[group == g]
    scaled: Array = (X - X.mean(axis=0)) / X.std(axis=0)
    return scaled


def list_tables() -> list[Array]:
    """List the small data that a version of means was chosen on, and the tables above."""
    chosen = [data.make() for data in DATA if data.chosen_on and LARGE not in data.groups]
    return [*map(np.ascontiguousarray, chosen), *map(make_table, range(TABLES))]


def measure(method: str, tables: list[Array], effort: Effort) -> Array:
    """Cost, excess at one row and at 5%, these as fractions of the rows; for each table and k."""
    (build,) = (one.build for one in METHODS if one.name == method)
    found = []
    for X in tables:
        trial = Trial(X, build(X, KS), KS, effort)
        result = trial.run_seeds() if trial.clusterer.randomized else trial.run_once(False)
        cost, one, five = (np.mean(result[name], axis=1) for name in ("cost", "one", "five"))
        found.append([cost, one / len(X), five / len(X)])
    return np.array(found)


@contextmanager
def changed(setting: str) -> Iterator[None]:
    """Change constants of means for a while."""
    changes = {
        name: int(value)
        for name, _, value in (x.partition("=") for x in setting.split(","))
        if name
    }
    kept = {name: getattr(proposals, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(proposals, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(proposals, name, value)


def find_causes(tables: list[Array], seeds: int) -> int:
    """Print the parts of removals and of the excess by the first split that differs."""
    count, excess, jumps = Counter[str](), Counter[str](), 0.0
    for number, X in enumerate(tables):
        for seed in range(seeds):
            model = HierarchicalKMedian(8, max_centers=8, random_state=seed)
            whole = clone(model).fit(X).hierarchy_
            for row in np.random.default_rng([number, seed]).choice(len(X), seeds, replace=False):
                kept = np.delete(np.arange(len(X)), row)
                less = clone(model).fit(X[kept]).hierarchy_
                labels = encode_labels(whole.cut(8)[kept]), encode_labels(less.cut(8))
                moved = 1.0 - match_clusters(overlap_table(*labels)).matched / kept.size
                cause = name_cause(whole, less)
                count[cause] += 1
                excess[cause] += moved
                jumps += moved if moved > JUMP else 0.0
    for cause in count:
        parts = count[cause] / count.total(), excess[cause] / excess.total()
        print(f"{cause}: {parts[0]:.1%} of the removals, {parts[1]:.1%} of the excess")
    print(f"removals that move more than {JUMP:.0%}: {jumps / excess.total():.1%} of the excess")
    return 0


def name_cause(one: Hierarchy, other: Hierarchy) -> str:
    """Name the first difference: another cluster is split, or it is split in another direction."""
    for t in range(1, 8):
        if one.parent[t] != other.parent[t]:
            return "order"
        a, b = one.locator.normals[t], other.locator.normals[t]
        if abs(a @ b) < TURNED * np.sqrt((a @ a) * (b @ b)):
            return "direction"
    return "boundary"


def main() -> int:
    if sys.argv[1] == "causes":
        return find_causes(list_tables(), int(sys.argv[2]))
    seeds, settings = int(sys.argv[1]), sys.argv[2:]
    effort = Effort(seeds, 6, 6, 2, 2, 40, 40, 40)
    tables = list_tables()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ward = measure("ward", tables, effort)
        for setting in settings:
            with changed(setting):
                means = measure("means", tables, effort)
            cost = (means[:, 0] / ward[:, 0]).mean()
            one, five = means[:, 1:].sum(axis=(0, 2)) / ward[:, 1:].sum(axis=(0, 2))
            print(f"{cost:.4f} {one:.3f} {five:.3f}  {setting or 'as they are'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
