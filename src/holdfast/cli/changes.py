"""``holdfast update`` and ``holdfast diff``: change the rows of a model; what moved between two models."""

import copy
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast._machine import np
from holdfast._machine.work import Progress, ProgressOption
from holdfast.cli import inputs
from holdfast.cli import options as opt
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.options import option
from holdfast.tables.write import check_outputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy
    from holdfast.stability.match import ClusterChange, CutDifference, LabeledRows
    from holdfast.tables.dataset import Dataset

UPDATE_EXAMPLES = (
    "head wine.csv | holdfast update wine.holdfast --remove - --to new.holdfast",
    "head wine.csv | holdfast update new.holdfast --add -",
)
DIFF_EXAMPLES = ("holdfast diff wine.holdfast new.holdfast --clusters 4",)

_NUMBERS = ("size_before", "size_after", "kept", "left", "joined", "removed", "added")
_COLUMNS = (
    ("k", "k", ""), ("before", "before", ","), ("after", "after", ","), ("event", "event", ""),
    *((name.replace("_", " "), name, ",g") for name in _NUMBERS), ("center", "center", ""),
)  # fmt: skip


def update(
    model: opt.ModelFile,
    read: opt.ReadOptions,
    display: opt.DisplayOptions,
    add: str | None = option("--add DATA", "Table of rows to add."),
    remove: str | None = option("--remove DATA", "Table of rows to remove."),
    to: str | None = option("--to FILE", "File to write; by default MODEL is replaced."),
    force: opt.Force = False,
) -> None:
    """Add rows to a model and remove rows from it. The result equals a fit on the remaining rows.

    Columns are prepared as they were for the fit. In a model with ids, rows are found by their ids,
    and a row to add whose id is there already replaces the one that has it. Otherwise, every row to
    remove must be in the model with the same values, and the updated model holds its distinct rows,
    sorted by their values. If a row to remove is not there, nothing changes. What moved is shown as
    by diff. Updates of one file that run at the same time wait for each other.
    """
    console = Console("update", display)
    if add is None and remove is None:
        raise InputError("give rows to --add, to --remove, or both.")
    if add == remove == "-":
        raise InputError("only one of --add and --remove can be standard input.")
    sources = tuple(path for path in (model, add, remove) if path is not None)
    check_outputs({"--to": (to, ())}, force=force, inputs=sources)
    with inputs.hold_model(model, console, replaced=to is None) as check:
        before = inputs.load_model(model, rows_for="updated")
        added, removed = (
            None if path is None else inputs.read_as(path, read, before, console)
            for path in (add, remove)
        )
        after = _apply(before, added, removed, console)
        ks = tuple(k for k in inputs.table_of(before).cuts if k <= after.hierarchy_.n_centers)
        with console.progress("comparing") as progress:
            differences = compare_models(before, after, ks, progress)
        check()
        written = model if to is None else to
        inputs.save_model(after, written)
    record = {
        "added": 0 if added is None else len(added.rows),
        "removed": 0 if removed is None else len(removed.rows),
        "model": written,
    }
    _show_differences(console, record, differences)


def _apply(
    before: "HierarchicalKMedian",
    added: "Dataset | None",
    removed: "Dataset | None",
    console: Console,
) -> "HierarchicalKMedian":
    tables = [table for table in (added, removed) if table is not None]
    with console.progress("clustering the remaining rows") as progress, input_errors():
        after: HierarchicalKMedian = copy.copy(before).set_params(verbose=progress)
        if before.ids_ is not None and all(table.ids is not None for table in tables):
            return _apply_by_id(after, added, removed)
        if before.ids_ is not None:
            console.notice(
                "not all tables have ids, so rows are found by their values; the ids are dropped."
            )
            after._drop_ids()
        if added is not None:
            after.partial_fit(added.values)
        if removed is not None:
            after.forget(removed.values)
        _ = after.hierarchy_  # compute it here, where progress is shown
    return after


def _apply_by_id(
    after: "HierarchicalKMedian", added: "Dataset | None", removed: "Dataset | None"
) -> "HierarchicalKMedian":
    """Remove rows, then add rows; those whose ids are there are replaced."""
    from holdfast.rows.ids import find_ids

    if removed is not None:
        after.forget(ids=removed.used_ids)
    if added is not None:
        new, known = added.used_ids, after.ids_
        assert known is not None
        if new.dtype.kind == known.dtype.kind:  # otherwise partial_fit says what is wrong
            after.forget(ids=known[find_ids(known, new) >= 0])
        after.partial_fit(added.values, ids=new)
    _ = after.hierarchy_
    after.set_params(verbose=False)
    return after


def diff(
    before: Annotated[str, typer.Argument(metavar="MODEL_A", help="Model file before.")],
    after: Annotated[str, typer.Argument(metavar="MODEL_B", help="Model file after.")],
    display: opt.DisplayOptions,
    clusters: str | None = option(
        "--clusters -k K,K,...",
        "Numbers of clusters; by default those that both models were fitted for.",
    ),
) -> None:
    """Show what moved between two models, cluster by cluster, in words and as a table.

    Rows are recognized by their ids if both models have them, otherwise by their values. Clusters
    are matched one to one: by their names if the second model follows the first, otherwise by the
    rows that they have in common. Both models must hold their rows and have prepared their columns
    in the same way.
    """
    console = Console("diff", display)
    asked = None if clusters is None else opt.parse_counts(clusters)
    models = [inputs.load_model(path, rows_for="compared") for path in (before, after)]
    cuts = [inputs.table_of(model).cuts for model in models]
    ks = asked or tuple(k for k in cuts[0] if k in cuts[1])
    if not ks:
        raise InputError(
            "the models were fitted for different numbers of clusters; add --clusters."
        )
    for model, path in zip(models, (before, after), strict=True):
        inputs.check_cuts(model, ks, path)
    with console.progress("comparing") as progress:
        differences = compare_models(models[0], models[1], ks, progress)
    _show_differences(console, {}, differences)


def compare_models(
    before: "HierarchicalKMedian",
    after: "HierarchicalKMedian",
    ks: tuple[int, ...],
    progress: ProgressOption,
) -> dict[int, "CutDifference"]:
    """Compare the cuts of two models that hold their rows."""
    if inputs.table_of(before).preparation != inputs.table_of(after).preparation:
        raise InputError(
            "the models prepared their columns differently, so their rows cannot be compared. Fit "
            "the second model with --like and the first."
        )

    models = (before, after)
    by_id = before.ids_ is not None and after.ids_ is not None
    sides = _rows_by_id(*models) if by_id else [_find_distinct(model) for model in models]
    found = {}
    with Progress(progress, len(ks), "cuts", "comparing") as shown:
        for k in ks:
            hierarchies = [model.hierarchy_ for model in models]
            labeled = [side.label(h, k) for side, h in zip(sides, hierarchies, strict=True)]
            found[k] = _compare(labeled, [hierarchy.names(k) for hierarchy in hierarchies])
            shown.advance()
    return found


@dataclass(frozen=True, eq=False)
class _Side:
    """Rows as keys with weights: the distinct ones, or the numbers of ids."""

    keys: "NDArray[np.float64]"
    weight: "NDArray[np.float64]"
    rows: "NDArray[np.int64]"  # for each key, a row of the model that has it
    key_of: "NDArray[np.int64]"  # for each row of the model, its key

    def label(self, hierarchy: "Hierarchy", k: int) -> "LabeledRows":
        from holdfast.stability.match import LabeledRows

        centers = self.keys[self.key_of[hierarchy.center_indices[:k]]]
        return LabeledRows(self.keys, self.weight, hierarchy.cut(k)[self.rows], centers)


def _find_distinct(model: "HierarchicalKMedian") -> _Side:
    """Take distinct rows as keys."""
    distinct, first, key_of = np.unique(model.rows_, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(key_of.ravel(), weights=model.row_weights_).astype(np.float64)
    return _Side(distinct, total, first, key_of.ravel())


def _rows_by_id(before: "HierarchicalKMedian", after: "HierarchicalKMedian") -> list[_Side]:
    """Take ids as keys: the number of the row before, or a new number."""
    from holdfast.rows.ids import find_ids

    assert before.ids_ is not None
    assert after.ids_ is not None
    place = find_ids(after.ids_, before.ids_)
    fresh = place < 0
    place[fresh] = before.ids_.size + np.arange(np.count_nonzero(fresh))
    sides = []
    for model, numbers in ((before, np.arange(before.ids_.size)), (after, place)):
        rows = np.arange(numbers.size)
        keys = numbers[:, None].astype(np.float64)
        sides.append(_Side(keys, model.row_weights_, rows, rows))
    return sides


def _compare(labeled: "list[LabeledRows]", names: "list[NDArray[np.int64]]") -> "CutDifference":
    """Match clusters by their lasting names if most rows keep theirs, otherwise by common rows."""
    from holdfast.stability.match import compare_cuts

    found = compare_cuts(*labeled)
    named = compare_cuts(*(replace(r, names=n) for r, n in zip(labeled, names, strict=True)))
    if 2.0 * named.n_moved <= named.n_common and (names[1] != range(names[1].size)).any():
        found = named

    def name(label: int | None, side: int) -> int | None:
        return None if label is None else int(names[side][label])

    def rename(c: "ClusterChange") -> "ClusterChange":
        other = name(c.other, 0 if c.event == "new" else 1)
        return replace(c, before=name(c.before, 0), after=name(c.after, 1), other=other)

    return replace(found, clusters=tuple(map(rename, found.clusters)))


def _describe_difference(k: int, found: "CutDifference") -> list[str]:
    """Say in words what moved at one k."""
    added, removed = found.n_after - found.n_common, found.n_before - found.n_common
    fraction = f" ({found.n_moved / found.n_common:.1%})" if found.n_common else ""
    first = (
        f"{k} clusters: {found.n_moved:,g} of the {found.n_common:,g} rows in both{fraction} changed "
        f"cluster; {_count(added, 'row')} {_was_or_were(added)} added, {removed:,g} {_was_or_were(removed)} removed."
    )
    changed = [c for c in found.clusters if c.left or c.joined or c.removed or c.added]
    lines = [_describe_cluster(change) for change in changed]
    if n_same := len(found.clusters) - len(changed):
        have = "has" if n_same == 1 else "have"
        lines.append(f"{_count(n_same, 'cluster')} {have} the same rows as before.")
    return [first, *(f"  {line}" for line in lines)]


def _describe_cluster(change: "ClusterChange") -> str:
    from holdfast.lineage.show import describe_event

    other = -1 if change.other is None else change.other
    if change.before is None:
        assert change.after is not None
        return f"{describe_event('new', change.after, other)}: {_count(change.size_after, 'row')}."
    if change.after is None:
        rows = _count(change.size_before, "row")
        return f"{describe_event(change.event, change.before, other)}: {rows}."
    now = "" if change.after == change.before else f" (now {change.after})"
    counts = (
        (change.left, "left for other clusters"),
        (change.joined, "joined from other clusters"),
        (change.removed, f"{_was_or_were(change.removed)} removed"),
        (change.added, f"{_was_or_were(change.added)} added"),
    )
    parts = ", ".join(f"{number:,g} {what}" for number, what in counts if number)
    center = "same center" if change.same_center else "another center"
    sizes = f"{_count(change.size_before, 'row')} before, {change.size_after:,g} after"
    return f"cluster {change.before}{now} ({change.event}): {sizes}; {parts}; {center}."


def _count(number: float, noun: str) -> str:
    """Write a number of things, or of their weight."""
    return f"{number:,g} {noun}{'' if number == 1 else 's'}"


def _was_or_were(number: float) -> str:
    return "was" if number == 1 else "were"


def _show_differences(
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
    records = [
        {**vars(change), "k": k, "center": "stays" if change.same_center else "other"}
        for k, found in differences.items()
        for change in found.clusters
    ]
    console.show_records(_COLUMNS, records)
