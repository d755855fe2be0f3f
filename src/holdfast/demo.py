"""``python -m holdfast.demo``: cluster the Wine data, and see how much each method moves.

Prints the first cuts of the hierarchy and a comparison with the classic methods, and writes the
report page.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import HierarchicalKMedian, Hierarchy, build_report, k_median_cost
from holdfast._machine.progress import Shown
from holdfast.report import Report

__all__ = ["main", "report_wine"]

N_CUTS = 10
N_CLUSTERS = 4
PAGE = Path("demo-report.html")


def main(show: "Callable[[], AbstractContextManager[Shown]] | None" = None) -> None:
    """Fit, print, compare, write the page.

    Parameters
    ----------
    show : callable, default=None
        Opens what shows the progress of a report; None shows nothing.
    """
    X, _, _ = _load_wine()
    model = choose_model().fit(X)
    print(f"Wine: {X.shape[0]} rows, {X.shape[1]} columns, standardized.")
    _print_cuts(X, model.hierarchy_)
    print("\nComparing with the classic methods. This takes about half a minute ...\n", flush=True)
    with nullcontext(False) if show is None else show() as progress:
        report = report_wine(progress=progress)
    _print_comparison(report.content["comparison"])
    print(f"\n{report.verdict}")
    report.to_html(PAGE)
    print(f"\nThe report, for your browser:\n  {PAGE.resolve()}")


def choose_model() -> HierarchicalKMedian:
    """Take the default method."""
    return HierarchicalKMedian(n_clusters=N_CLUSTERS)


def report_wine(**options: Any) -> Report:
    """Build the report of the Wine data; `options` are those of `build_report`."""
    X, values, names = _load_wine()
    given = {
        "n_clusters": N_CLUSTERS,
        "estimator": choose_model(),
        "names": names,
        "values": values,
        "title": "Wine",
        "command": "python -m holdfast.demo",
    }
    return build_report(X, **{**given, **options})


def _load_wine() -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Rows to cluster, rows to show, names of the columns."""
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import StandardScaler

    wine = load_wine()
    return StandardScaler().fit_transform(wine.data), wine.data, list(wine.feature_names)


def _print_cuts(X: NDArray[np.float64], hierarchy: Hierarchy) -> None:
    print(f"One hierarchy, {hierarchy.n_centers} cuts; the first {N_CUTS}:\n")
    print(f"{'k':>2}  {'new center':>10}  {'splits':>6}  {'cost':>6}  sizes")
    for k in range(1, N_CUTS + 1):
        labels = hierarchy.cut(k)
        center = f"row {hierarchy.center_indices[k - 1]}"
        split = "-" if k == 1 else f"{hierarchy.parent[k - 1]}"
        sizes = " ".join(str(size) for size in hierarchy.sizes(k))
        print(f"{k:>2}  {center:>10}  {split:>6}  {k_median_cost(X, labels):>6.0f}  {sizes}")
    print(
        "\ncost: the k-median cost, the sum of the distances of all rows to the best medoid of their"
        "\ncluster."
    )


def _print_comparison(comparison: dict[str, Any]) -> None:
    """Print movement and relative cost, the most stable method first."""
    print(
        f"Fraction of the remaining rows that change cluster (k = {comparison['k']}) when "
        f"{comparison['main']} of the rows are\nremoved, and k-median cost relative to "
        f"{comparison['cost_reference']}:\n"
    )
    print(f"{'method':<20}{'moved':>8}{'+-':>8}{'cost':>8}")
    for method in sorted(comparison["methods"], key=lambda m: m["moved"]):
        print(
            f"{method['title']:<20}{method['moved']:>8.1%}{method['standard_error']:>8.1%}"
            f"{method['relative_cost']:>8.0%}"
        )


if __name__ == "__main__":
    main()
