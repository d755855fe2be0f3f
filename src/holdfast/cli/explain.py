"""``holdfast explain``: a model -> rules that describe its clusters, or why one row is where it is."""

from typing import Any

from holdfast.cli.console import Console, InputError
from holdfast.cli.inputs import check_cuts, load_model, table_of
from holdfast.cli.options import (
    DisplayOptions,
    ModelFile,
    option,
    parse_counts,
)

EXAMPLES = (
    "holdfast explain wine.holdfast",
    "holdfast explain wine.holdfast --clusters 4 --row 17",
)


def explain(
    model: ModelFile,
    display: DisplayOptions,
    clusters: str | None = option(
        None, "--clusters -k K", "Number of clusters; by default that of the fit."
    ),
    row: str | None = option(None, "--row ID", "Explain this row: its id, or its number from 0."),
    splits: bool = option(False, "--splits", "Also describe the splits that led to the clusters."),
) -> None:
    """Describe clusters by short rules, or say why one row is in its cluster.

    A rule such as "income > 62000 and age <= 40: 93% of cluster 2, 4% of the others" describes a
    cluster in the units of the table. A cluster has up to three rules. The model must hold its rows.
    """
    console = Console("explain", display)
    fitted = load_model(model)
    k = table_of(fitted).cuts[0] if clusters is None else _one_count(clusters)
    check_cuts(fitted, (k,), model)
    try:
        if row is not None:
            _show_row(console, fitted, row, k)
            return
        explanation = fitted.explain(k)
    except ValueError as error:
        if "without its rows" not in str(error):
            raise InputError(str(error)) from None
        raise InputError(
            f"{model} was saved without its rows (--no-rows), which explain needs. Fit again."
        ) from None
    if display.json:
        console.show_json({"n_clusters": k, "rules": explanation.records()})
        return
    header = ("cluster", "rows", "rule", "of the cluster", "of the others", "stability")
    records = [r for r in explanation.records() if splits or r["kind"] == "cluster"]
    console.show_table(header, [_cells(record) for record in records])


def _cells(record: dict[str, Any]) -> list[str]:
    split = record["kind"] == "split"
    name = f"{record['cluster']} from {record['parent']}" if split else str(record["cluster"])
    fractions = [f"{record[name]:.0%}" for name in ("coverage", "others")]
    rows = f"{record['rows']:,}"
    return [name, rows, record["rule"], *fractions, f"{record['stability']:.2f}"]


def _one_count(clusters: str) -> int:
    ks = parse_counts(clusters)
    if len(ks) != 1:
        raise InputError(f"--clusters takes one number here; got {clusters}.")
    return ks[0]


def _show_row(console: Console, fitted: Any, row: str, k: int) -> None:
    import numpy as np

    source, rows = table_of(fitted), fitted.rows_
    if source.ids is None:
        if not row.isdecimal() or int(row) >= rows.shape[0]:
            raise InputError(
                f"--row must be a row number from 0 to {rows.shape[0] - 1}; got {row}."
            )
        index = int(row)
    else:
        found = np.flatnonzero(np.array([str(i) for i in source.ids[source.used]]) == row)
        if found.size == 0:
            raise InputError(f"the model has no row with the id {row}.")
        index = int(found[0])
    explained = fitted.explain_row(index, k)
    if console.display.json:
        boundaries = [vars(boundary) for boundary in explained.boundaries]
        console.show_json(
            {"n_clusters": k, "row": row, "cluster": explained.cluster, "boundaries": boundaries}
        )
        return
    console.show_line(f"row {row} is in cluster {explained.cluster} of {k}")
    for boundary in sorted(explained.boundaries, key=lambda b: b.distance):
        console.show_line(f"  {boundary}")
