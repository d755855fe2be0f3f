"""``holdfast update``: a model and rows that came or went -> the model of what is left."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import ModelFile, ReadOptions, TalkOptions
from holdfast.cli.parse import COSTS
from holdfast.cli.problems import InputProblem, OutputProblem, blame_input

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.model_file import FittedModel, StoredRows

__all__ = ["EXAMPLES", "update", "write_model"]

EXAMPLES = (
    "head wine.csv | holdfast update wine.holdfast --remove - --to new.holdfast",
    "head wine.csv | holdfast update new.holdfast --add -",
)


def update(
    model: ModelFile,
    read: ReadOptions,
    talk: TalkOptions,
    add: Annotated[
        str | None,
        typer.Option("--add", metavar="DATA", help="Table of rows to add.", show_default=False),
    ] = None,
    remove: Annotated[
        str | None,
        typer.Option(
            "--remove", metavar="DATA", help="Table of rows to remove.", show_default=False
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FILE", help="Write there; without it, into MODEL itself."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace a file that is there.")
    ] = False,
) -> None:
    """Add rows to a model and remove rows from it: the model of a fit on what is left.

    Columns are prepared as at the fit. Every row to remove must be there, with the same values; if
    one is not, nothing changes. The model then speaks of its distinct rows, in the order of their
    values, without ids. What moved is shown as by diff.
    """
    from holdfast.cli.differences import compare_models, show_differences
    from holdfast.cli.models import load_model
    from holdfast.cli.outputs import check_targets
    from holdfast.cli.pace import expect_fit_seconds

    console = Console("update", talk)
    if add is None and remove is None:
        raise InputProblem("give rows to --add, to --remove, or both.")
    if add == remove == "-":
        raise InputProblem("only one of --add and --remove can be standard input.")
    inputs = tuple(path for path in (model, add, remove) if path is not None)
    check_targets({"--to": (to, ())}, force=force, inputs=inputs)
    before = load_model(model)
    changes = {
        "added": _read_rows(add, before, read, console),
        "removed": _read_rows(remove, before, read, console),
    }
    with console.bar("clustering what is left") as bar, blame_input():
        estimator = _build_estimator(before, model)
        if console.shows_bars and before.stored is not None:
            bar.expect(expect_fit_seconds(estimator, before.stored.rows))
        _change(estimator, before.stored, changes["added"], changes["removed"])
        after = _to_model(before, estimator)
    ks = tuple(k for k in before.n_clusters if k <= after.hierarchy.n_centers)
    with console.bar("comparing") as bar:
        differences = compare_models(before, after, ks, bar.update)
    write_model(model if to is None else to, after)
    record = {name: 0 if rows is None else len(rows) for name, rows in changes.items()}
    show_differences(console, {**record, "model": model if to is None else to}, differences)


def _read_rows(path: str | None, model: "FittedModel", read: ReadOptions, console: Console) -> Any:
    from holdfast.cli.dataset import prepare_like
    from holdfast.cli.tables import read_table

    if path is None:
        return None
    table = read_table(path, read, console)
    known = table.named and model.id_name in table.data.column_names
    prepared = prepare_like(
        table,
        model.preparation,
        console,
        id_name=model.id_name if known else None,
        positional=not table.named,
    )
    return prepared.rows


def _build_estimator(model: "FittedModel", path: str) -> "HierarchicalKMedian":
    from holdfast.estimator import HierarchicalKMedian

    if model.stored is None:
        raise InputProblem(
            f"{path} was stored without its rows (--no-rows), so they cannot change. Fit again."
        )
    parameters = model.parameters
    return HierarchicalKMedian(
        max(model.n_clusters),
        epsilon=parameters["epsilon"],
        max_centers=parameters["max_centers"],
        random_state=parameters["seed"],
        **COSTS[parameters["cost"]],
    )


def _change(
    estimator: "HierarchicalKMedian", stored: "StoredRows | None", added: Any, removed: Any
) -> None:
    assert stored is not None
    estimator.partial_fit(stored.rows, sample_weight=stored.weight)
    if added is not None:
        estimator.partial_fit(added)
    if removed is not None:
        estimator.forget(removed)
    _ = estimator.cluster_centers_


def _to_model(before: "FittedModel", estimator: "HierarchicalKMedian") -> "FittedModel":
    import numpy as np

    from holdfast.model_file import StoredRows

    rows = estimator.rows_
    return replace(
        before,
        hierarchy=estimator.hierarchy_,
        ids=None,  # rows of equal values are one now; tables still name theirs by `id_name`
        used=np.ones(rows.shape[0], dtype=np.bool_),
        stored=StoredRows(rows, estimator.row_weights_, np.arange(rows.shape[0])),
    )


def write_model(path: str, model: "FittedModel") -> None:
    """Write a model file, whole or not at all."""
    import os

    from holdfast.cli.tables import describe_reason
    from holdfast.model_file import save_model

    try:
        save_model(os.path.realpath(path), model)
    except OSError as error:
        raise OutputProblem(f"{path} cannot be written: {describe_reason(error)}.") from error
