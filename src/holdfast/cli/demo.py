"""``holdfast demo``: the Wine data, clustered, compared and on a page.

``python -m holdfast.cli.demo`` runs it without the extra `cli`: nothing optional is imported here.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast._machine import pa
from holdfast.tables.write import STREAM_ENDINGS, check_outputs, write_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.cli.options import DemoData, DisplayOptions, Force
    from holdfast.report import Report

EXAMPLES = ("holdfast demo --data wine.csv",)

N_CUTS = 10
N_CLUSTERS = 4
PAGE = Path("demo-report.html")


def demo(display: "DisplayOptions", data: "DemoData" = None, force: "Force" = False) -> None:
    """Cluster the Wine data, compare with classic methods, and write demo-report.html.

    With --data, only the data are written.
    """
    from holdfast.cli.console import Console

    console = Console("demo", display)
    if data is not None:
        check_outputs({"--data": (data, STREAM_ENDINGS)}, force=force, inputs=())
        _, values, names = _load_wine()
        write_table(data, pa.table(dict(zip(names, values.T, strict=True))))
        if display.json:
            console.show_json({"n_rows": values.shape[0], "files": {"data": data}})
        else:
            console.notice(f"wrote {data}: {values.shape[0]} rows, {values.shape[1]} columns.")
        return
    check_outputs({"demo": (str(PAGE), ())}, force=force, inputs=())
    if not display.json:
        _show_cuts()
    with console.progress("comparing") as progress:
        report = report_wine(progress=progress)
    report.to_html(PAGE)
    if display.json:
        console.show_json({"report": report.to_dict(), "files": {"out": str(PAGE)}})
    else:
        _show_report(report)


def main() -> None:
    """Fit, print, compare, and write the page."""
    _show_cuts()
    report = report_wine(progress=True)
    report.to_html(PAGE)
    _show_report(report)


def report_wine(**options: Any) -> "Report":
    """Build the report of the Wine data; `options` are those of `build_report`."""
    from holdfast import build_report

    X, values, names = _load_wine()
    given = {
        "n_clusters": N_CLUSTERS,
        "names": names,
        "values": values,
        "title": "Wine",
        "command": "holdfast demo",
    }
    return build_report(X, **{**given, **options})


def _load_wine() -> "tuple[NDArray[np.float64], NDArray[np.float64], list[str]]":
    """Rows to cluster, rows to show, names of the columns."""
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import StandardScaler

    wine = load_wine()
    return StandardScaler().fit_transform(wine.data), wine.data, list(wine.feature_names)


def _show_cuts() -> None:
    from holdfast import HierarchicalKMedian, k_median_cost

    X, _, _ = _load_wine()
    hierarchy = HierarchicalKMedian(N_CLUSTERS).fit(X).hierarchy_
    print(f"Wine: {X.shape[0]} rows, {X.shape[1]} columns, standardized.")
    print(f"One hierarchy, {hierarchy.n_centers} cuts; the first {N_CUTS}:\n")
    print(f"{'k':>2}  {'new center':>10}  {'splits':>6}  {'cost':>6}  sizes")
    for k in range(1, N_CUTS + 1):
        center = f"row {hierarchy.center_indices[k - 1]}"
        split = "-" if k == 1 else f"{hierarchy.parent[k - 1]}"
        sizes = " ".join(str(size) for size in hierarchy.sizes(k))
        cost = k_median_cost(X, hierarchy.cut(k))
        print(f"{k:>2}  {center:>10}  {split:>6}  {cost:>6.0f}  {sizes}")
    print(
        "\ncost: the k-median cost, the sum of the distances of all rows to the best medoid of their"
        "\ncluster."
    )
    print("\nComparing with the classic methods ...\n", flush=True)


def _show_report(report: "Report") -> None:
    """Print movement and relative cost, the most stable method first."""
    comparison = report.content["comparison"]
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
    print(f"\n{report.verdict}")
    print(f"\nThe report, for your browser:\n  {PAGE.resolve()}")


if __name__ == "__main__":
    main()
