"""``holdfast diff``: what moved between two models, in words, as a table and as JSON."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast._machine.progress import Progress, ProgressOption
from holdfast.cli.console import Console
from holdfast.cli.cut import check_cuts, load_model, table_of
from holdfast.cli.errors import InputError
from holdfast.cli.options import DisplayOptions, parse_counts
from holdfast.cli.predict import predict_cuts

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.stability.match import ClusterChange, CutDifference

__all__ = ["EXAMPLES", "compare_models", "diff", "show_differences"]

EXAMPLES = ("holdfast diff wine.holdfast new.holdfast --clusters 4",)

_HEADER = ("k", "before", "after", "size before", "size after", "kept", "left", "joined", "removed")


def diff(
    before: Annotated[str, typer.Argument(metavar="MODEL_A", help="Model file before.")],
    after: Annotated[str, typer.Argument(metavar="MODEL_B", help="Model file after.")],
    display: DisplayOptions,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K,K,...",
            help="Numbers of clusters; by default those that both models were fitted for.",
        ),
    ] = None,
) -> None:
    """Show what moved between two models, cluster by cluster, in words and as a table.

    Rows are recognized by their values. Clusters are matched one to one by the rows that they have
    in common. Both models must hold their rows and have prepared their columns in the same way.
    """
    console = Console("diff", display)
    asked = None if clusters is None else parse_counts(clusters)
    models = [load_model(path) for path in (before, after)]
    cuts = [table_of(model).cuts for model in models]
    ks = asked or tuple(k for k in cuts[0] if k in cuts[1])
    if not ks:
        raise InputError(
            "the models were fitted for different numbers of clusters; add --clusters."
        )
    for model, path in zip(models, (before, after), strict=True):
        check_cuts(model, ks, path)
    with console.progress("comparing") as progress:
        differences = compare_models(models[0], models[1], ks, progress)
    show_differences(console, {}, differences)


def compare_models(
    before: "HierarchicalKMedian",
    after: "HierarchicalKMedian",
    ks: tuple[int, ...],
    progress: ProgressOption,
) -> dict[int, "CutDifference"]:
    """Compare the cuts of two models that hold their rows."""
    import numpy as np

    from holdfast.stability.match import LabeledRows, compare_cuts

    if table_of(before).preparation != table_of(after).preparation:
        raise InputError(
            "the models prepared their columns differently, so their rows cannot be compared. Fit "
            "the second model with --like and the first."
        )

    def find_distinct(model: "HierarchicalKMedian") -> Any:
        try:
            rows, weight = model.rows_, model.row_weights_
        except ValueError:
            raise InputError(
                "a model without its rows cannot be compared. Fit it again without --no-rows."
            ) from None
        distinct, index = np.unique(rows, axis=0, return_inverse=True)
        return model.hierarchy_, rows, distinct, np.bincount(index.ravel(), weights=weight)

    def label(held: Any, k: int) -> LabeledRows:
        hierarchy, rows, distinct, weight = held
        labels = predict_cuts(hierarchy, distinct, (k,), shown.part("comparing"))[k]
        shown.advance()
        return LabeledRows(distinct, weight, labels, rows[hierarchy.center_indices[:k]])

    sides = [find_distinct(model) for model in (before, after)]
    found = {}
    with Progress(progress, 3 * len(ks), "steps", "comparing") as shown:
        for k in ks:
            found[k] = compare_cuts(*(label(side, k) for side in sides))
            shown.advance()
    return found


def _describe_difference(k: int, found: "CutDifference") -> list[str]:
    """Say in words what moved at one k."""
    added, removed = found.n_after - found.n_common, found.n_before - found.n_common
    fraction = f" ({found.n_moved / found.n_common:.1%})" if found.n_common else ""
    first = (
        f"{k} clusters: {found.n_moved:,g} of the {found.n_common:,g} rows in both{fraction} changed "
        f"cluster; {added:,g} rows were added, {removed:,g} were removed."
    )
    changed = [c for c in found.clusters if c.left or c.joined or c.removed or c.added]
    lines = [_describe_cluster(change) for change in changed]
    if len(changed) < len(found.clusters):
        lines.append(f"{len(found.clusters) - len(changed)} clusters have the same rows as before.")
    return [first, *(f"  {line}" for line in lines)]


def _describe_cluster(change: "ClusterChange") -> str:
    if change.before is None:
        return f"cluster {change.after} has no counterpart before: {change.size_after:,g} rows."
    if change.after is None:
        return f"cluster {change.before} of {change.size_before:,g} rows has no counterpart after."
    name = f"cluster {change.before}"
    if change.after != change.before:
        name += f" (now {change.after})"
    parts = [
        f"{number:,g} {what}"
        for number, what in (
            (change.left, "left for other clusters"),
            (change.joined, "joined from other clusters"),
            (change.removed, "were removed"),
            (change.added, "were added"),
        )
        if number
    ]
    center = "same center" if change.same_center else "another center"
    sizes = f"{change.size_before:,g} rows before, {change.size_after:,g} after"
    return f"{name}: {sizes}; {', '.join(parts)}; {center}."


def show_differences(
    console: Console, record: dict[str, Any], differences: dict[int, "CutDifference"]
) -> None:
    """Print words and a table, or JSON."""
    if console.display.json:
        cuts = [{"k": k, **asdict(found)} for k, found in differences.items()]
        console.show_json({**record, "cuts": cuts})
        return
    for k, found in differences.items():
        for line in _describe_difference(k, found):
            console.show_line(line)
    rows = [
        (str(k), *(_cell(value) for value in _values(change)))
        for k, found in differences.items()
        for change in found.clusters
    ]
    console.show_table((*_HEADER, "added", "center"), rows)


def _values(change: "ClusterChange") -> list[Any]:
    center = "stays" if change.same_center else "other"
    counts = [change.size_before, change.size_after, change.kept, change.left, change.joined]
    return [change.before, change.after, *counts, change.removed, change.added, center]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,g}"
