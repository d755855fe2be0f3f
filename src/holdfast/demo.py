"""``python -m holdfast.demo``: cluster the Wine data, and see how much each method moves.

Prints the first cuts of the hierarchy and a comparison with the classic methods; draws both.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from holdfast import HierarchicalKMedian, Hierarchy, average_sensitivity, baselines, k_median_cost
from holdfast.hierarchy.cost import k_median_cost_to
from holdfast.hierarchy.draw import cluster_color, draw_hierarchy

__all__ = ["compare_methods", "main"]

N_CUTS = 10
N_CLUSTERS = 4
DELETED = 0.05
TRIALS = 40
HIERARCHY_PICTURE = Path("demo-hierarchy.png")
STABILITY_PICTURE = Path("demo-stability.png")


@dataclass(frozen=True)
class Comparison:
    """One method: rows that moved beyond the deleted ones, its standard error, and its cost."""

    name: str
    moved: float
    standard_error: float
    cost: float


def main() -> None:
    """Fit, print, compare, draw."""
    X = StandardScaler().fit_transform(load_wine().data)
    model = HierarchicalKMedian(n_clusters=N_CLUSTERS, random_state=0).fit(X)
    print(f"Wine: {X.shape[0]} rows, {X.shape[1]} columns, standardised.")
    _print_cuts(X, model.hierarchy_)
    print(
        f"\nHow many rows change cluster (k = {N_CLUSTERS}) when {DELETED:.0%} of the rows go, "
        f"mean of {TRIALS} trials, and the k-median cost:\n"
    )
    comparisons = compare_methods(X)
    print(f"{'method':<22}{'moved rows':>10}{'+-':>7}{'cost':>8}")
    for c in comparisons:
        print(f"{c.name:<22}{c.moved:>10.1f}{c.standard_error:>7.1f}{c.cost:>8.0f}")
    _draw(model.hierarchy_, comparisons)
    print("\nDrawn in:")
    for picture in (HIERARCHY_PICTURE, STABILITY_PICTURE):
        print(f"  {picture.resolve()}")


def _print_cuts(X: NDArray[np.float64], hierarchy: Hierarchy) -> None:
    print(f"One hierarchy, {hierarchy.n_centers} cuts; the first {N_CUTS}:\n")
    print(f"{'k':>2}  {'new center':>10}  {'splits':>6}  {'tree cost':>9}  {'cost':>6}  sizes")
    for k in range(1, N_CUTS + 1):
        rows = hierarchy.center_indices[:k]
        split = "-" if k == 1 else f"{hierarchy.parent[k - 1]}"
        sizes = " ".join(str(size) for size in hierarchy.sizes(k))
        print(
            f"{k:>2}  {f'row {rows[-1]}':>10}  {split:>6}  {hierarchy.costs[k - 1]:>9.0f}  "
            f"{k_median_cost_to(X, X[rows]):>6.0f}  {sizes}"
        )
    print("\ntree cost: k-median cost on the tree; cost: in Euclidean distance to nearest center.")


def compare_methods(X: NDArray[np.float64]) -> list[Comparison]:
    """Measure movement and cost of holdfast and the classic methods at `N_CLUSTERS` clusters."""
    methods: dict[str, Any] = {
        "holdfast, tree": HierarchicalKMedian(N_CLUSTERS, max_centers=N_CLUSTERS),
        "holdfast, euclidean": HierarchicalKMedian(
            N_CLUSTERS, cost="euclidean", max_centers=N_CLUSTERS
        ),
        "single linkage": baselines.single_linkage(),
        "average linkage": baselines.average_linkage(),
        "complete linkage": baselines.complete_linkage(),
        "Ward linkage": baselines.ward_linkage(),
        "bisecting k-means": baselines.bisecting_kmeans(),
    }
    comparisons = []
    for name, method in methods.items():
        r = average_sensitivity(
            method, X, n_clusters=[N_CLUSTERS], delete=[DELETED], trials=TRIALS, repeats=5,
            measure="moved", n_jobs=1,
        )  # fmt: skip
        deleted = round(DELETED * X.shape[0])
        clusterer = baselines.as_clusterer(method)
        seeds = range(5) if clusterer.randomized else range(1)
        costs = [k_median_cost(X, clusterer.fit(X, seed).cut(N_CLUSTERS)) for seed in seeds]
        moved, error = float(r.mean.item()) - deleted, float(r.standard_error.item())
        comparisons.append(Comparison(name, moved, error, float(np.mean(costs))))
    return sorted(comparisons, key=lambda c: c.moved)


def _draw(hierarchy: Hierarchy, comparisons: list[Comparison]) -> None:
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = draw_hierarchy(hierarchy, N_CUTS, figure.add_subplot())
    axes.set_title("Wine: every cut splits one cluster of the cut above", loc="left", fontsize=10)
    figure.savefig(HIERARCHY_PICTURE, dpi=120)
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for c in comparisons:
        ours = c.name.startswith("holdfast")
        color = cluster_color(0) if ours else "#777777"
        axes.errorbar(
            c.cost, c.moved, yerr=c.standard_error, fmt="o" if ours else "s", color=color, capsize=3
        )
        axes.annotate(
            c.name, (c.cost, c.moved), (7, 5), textcoords="offset points", fontsize=9,
            fontweight="bold" if ours else "normal",
        )  # fmt: skip
    axes.set_xlabel("k-median cost (left is closer)")
    axes.set_ylabel("rows that change cluster (low is steadier)")
    axes.set_title(
        f"Wine, k = {N_CLUSTERS}, {DELETED:.0%} of the rows deleted", loc="left", fontsize=10
    )
    axes.set_ylim(bottom=0)
    axes.margins(x=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(STABILITY_PICTURE, dpi=120)


if __name__ == "__main__":
    main()
