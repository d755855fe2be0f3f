"""``holdfast update``: a model and rows to add or remove -> the model of the remaining rows."""

import copy
from typing import TYPE_CHECKING, Any

from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.diff import compare_models, show_differences
from holdfast.cli.inputs import (
    hold_model,
    load_model,
    prepare_as,
    read_file,
    save_model,
    table_of,
)
from holdfast.cli.options import (
    DisplayOptions,
    Force,
    ModelFile,
    ReadOptions,
    option,
)

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.tables.dataset import Dataset

EXAMPLES = (
    "head wine.csv | holdfast update wine.holdfast --remove - --to new.holdfast",
    "head wine.csv | holdfast update new.holdfast --add -",
)


def update(
    model: ModelFile,
    read: ReadOptions,
    display: DisplayOptions,
    add: str | None = option(None, "--add DATA", "Table of rows to add."),
    remove: str | None = option(None, "--remove DATA", "Table of rows to remove."),
    to: str | None = option(None, "--to FILE", "File to write; by default MODEL is replaced."),
    force: Force = False,
) -> None:
    """Add rows to a model and remove rows from it. The result equals a fit on the remaining rows.

    Columns are prepared as they were for the fit. In a model with ids, rows are found by their ids,
    and a row to add whose id is there already replaces the one that has it. Otherwise, every row to
    remove must be in the model with the same values, and the updated model holds its distinct rows,
    sorted by their values. If a row to remove is not there, nothing changes. What moved is shown as
    by diff. Updates of one file that run at the same time wait for each other.
    """
    from holdfast.tables.write import check_outputs

    console = Console("update", display)
    if add is None and remove is None:
        raise InputError("give rows to --add, to --remove, or both.")
    if add == remove == "-":
        raise InputError("only one of --add and --remove can be standard input.")
    inputs = tuple(path for path in (model, add, remove) if path is not None)
    check_outputs({"--to": (to, ())}, force=force, inputs=inputs)
    with hold_model(model, console, replaced=to is None) as check:
        before = load_model(model, rows_for="updated")
        exact = (table_of(before).id_name,)  # ids are text as written, as in the fit
        added, removed = (
            None
            if path is None
            else prepare_as(read_file(path, read, console, exact=exact), before, console)
            for path in (add, remove)
        )
        after = _apply(before, added, removed, console)
        ks = tuple(k for k in table_of(before).cuts if k <= after.hierarchy_.n_centers)
        with console.progress("comparing") as progress:
            differences = compare_models(before, after, ks, progress)
        check()
        written = model if to is None else to
        save_model(after, written)
    record = {
        "added": 0 if added is None else len(added.rows),
        "removed": 0 if removed is None else len(removed.rows),
        "model": written,
    }
    show_differences(console, record, differences)


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
    after: "HierarchicalKMedian",
    added: "Dataset | None",
    removed: "Dataset | None",
) -> "HierarchicalKMedian":
    """Remove rows, then add rows; those whose ids are there are replaced."""
    from holdfast.rows.ids import find_ids

    if removed is not None:
        after.forget(ids=_ids_of(removed))
    if added is not None:
        new, known = _ids_of(added), after.ids_
        assert known is not None
        if new.dtype.kind == known.dtype.kind:  # otherwise partial_fit says what is wrong
            after.forget(ids=known[find_ids(known, new) >= 0])
        after.partial_fit(added.values, ids=new)
    _ = after.hierarchy_
    after.set_params(verbose=False)
    return after


def _ids_of(dataset: "Dataset") -> Any:
    from holdfast.rows.ids import normal_ids

    assert dataset.ids is not None
    return normal_ids(dataset.ids.to_numpy()[dataset.used])
