"""What moved between two models, in words, as a table and as JSON."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from holdfast.cli.console import Console
from holdfast.cli.problems import InputProblem

if TYPE_CHECKING:
    from holdfast.model_file import FittedModel
    from holdfast.stability.match import ClusterChange, CutDifference

__all__ = ["compare_models", "describe_difference", "show_differences"]

_HEADER = ("k", "before", "after", "size before", "size after", "kept", "left", "came", "gone")


def compare_models(
    before: "FittedModel",
    after: "FittedModel",
    ks: tuple[int, ...],
    tell: Callable[[float, float], None],
) -> dict[int, "CutDifference"]:
    """Compare the cuts of two models that hold their rows; `tell` learns how far it is."""
    from holdfast.cli.labels import predict_cuts
    from holdfast.stability.match import LabeledRows, compare_cuts

    if before.preparation != after.preparation:
        raise InputProblem(
            "the models prepared their columns differently, so their rows cannot be compared. Fit "
            "the second one with --like and the first model."
        )

    def label(model: "FittedModel", k: int) -> LabeledRows:
        if model.stored is None:
            raise InputProblem("a model without its rows cannot be compared: fit without --no-rows")
        rows, index = model.stored.rows, model.stored.index
        labels = predict_cuts(model.hierarchy, rows, (k,), step)[k]
        centers = rows[index[model.hierarchy.center_indices[:k]]]
        return LabeledRows(rows, model.stored.weight, labels, centers)

    steps = 3 * len(ks)  # label one, label the other, compare
    done = 0

    def step(part: float, whole: float) -> None:
        tell(done + part / whole, steps)

    found = {}
    for k in ks:
        sides = []
        for model in (before, after):
            sides.append(label(model, k))
            done += 1
        found[k] = compare_cuts(*sides)
        done += 1
        tell(done, steps)
    return found


def describe_difference(k: int, found: "CutDifference") -> list[str]:
    """Say in words what moved at one k."""
    new, gone = found.n_after - found.n_common, found.n_before - found.n_common
    share = f" ({found.n_moved / found.n_common:.1%})" if found.n_common else ""
    first = (
        f"{k} clusters: {found.n_moved:,g} of the {found.n_common:,g} rows in both{share} changed "
        f"cluster; {new:,g} rows are new, {gone:,g} are gone."
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
            (change.joined, "came from other clusters"),
            (change.removed, "are gone"),
            (change.added, "are new"),
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
    if console.talk.json:
        cuts = [{"k": k, **asdict(found)} for k, found in differences.items()]
        console.show_json({**record, "cuts": cuts})
        return
    for k, found in differences.items():
        for line in describe_difference(k, found):
            console.say(line)
    rows = [
        (str(k), *(_cell(value) for value in _values(change)))
        for k, found in differences.items()
        for change in found.clusters
    ]
    console.show_table((*_HEADER, "new", "center"), rows)


def _values(change: "ClusterChange") -> list[Any]:
    center = "stays" if change.same_center else "other"
    counts = [change.size_before, change.size_after, change.kept, change.left, change.joined]
    return [change.before, change.after, *counts, change.removed, change.added, center]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,g}"
