"""``holdfast predict``: a model and new rows -> labels."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from holdfast._machine.progress import ProgressOption
from holdfast.cli.console import Console
from holdfast.cli.cut import append_labels, name_labels, show_labels
from holdfast.cli.errors import InputError
from holdfast.cli.inputs import (
    check_cuts,
    choose_id,
    load_model,
    prepare_as,
    read_file,
    table_of,
)
from holdfast.cli.options import (
    ID,
    Append,
    Chunked,
    DataFile,
    DisplayOptions,
    ModelFile,
    OutputOptions,
    ReadOptions,
    option,
    parse_counts,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy
    from holdfast.storage.model import TableRecord
    from holdfast.tables.dataset import Dataset
    from holdfast.tables.preparation import Preparation
    from holdfast.tables.read import TextFormat

__all__ = [
    "EXAMPLES",
    "check_parts",
    "label_parts",
    "predict",
    "predict_cuts",
    "prepare_parts_like",
]

EXAMPLES = (
    "holdfast predict wine.holdfast wine.csv --out predicted.csv",
    "tail -n 5 wine.csv | holdfast predict wine.holdfast - --no-header -k 4",
)

_BLOCK_ROWS = 1 << 16  # labeled between two reports of progress


def predict(
    model: ModelFile,
    data: DataFile,
    read: ReadOptions,
    output: OutputOptions,
    display: DisplayOptions,
    clusters: str | None = option(
        None, "--clusters -k K,K,...", "Numbers of clusters; by default those of the fit."
    ),
    id: str | None = option(None, "--id COLUMN", ID),
    append: Append = False,
    chunked: Chunked = False,
) -> None:
    """Label new rows without moving any center.

    Columns are found by name, in any order (by position in files without names), and prepared as
    they were for the fit.
    """
    from holdfast.tables.write import TABLE_ENDINGS, build_label_table, check_outputs

    console = Console("predict", display, table_on_stdout=output.out == "-" and not display.json)
    asked = None if clusters is None else parse_counts(clusters)
    check_outputs({"--out": (output.out, TABLE_ENDINGS)}, force=output.force, inputs=(model, data))
    fitted = load_model(model)
    source = table_of(fitted)
    ks = source.cuts if asked is None else asked
    check_cuts(fitted, ks, model)
    if chunked:
        check_parts(data, output.out)
        _predict_parts(
            fitted.hierarchy_, source, data, read.text, id, output.out, ks, append, console
        )
        return
    table = read_file(data, read, console, exact=(id, source.id_name), keep_written=append)
    dataset = prepare_as(table, fitted, console, id=id)
    with console.progress(f"labeling {dataset.rows.shape[0]:,} rows") as progress:
        labels = predict_cuts(fitted.hierarchy_, dataset.rows, ks, progress)
    _keep_fitted(fitted, dataset, labels)
    names = {k: name_labels(fitted.hierarchy_, k, found) for k, found in labels.items()}
    result = build_label_table(dataset.id_name, dataset.ids, dataset.used, names)
    if append:
        result = append_labels(dataset.table, result)
    record = {"n_rows": result.num_rows, "n_used": int(dataset.rows.shape[0])}
    show_labels(console, record, result, output.out, {})


def _keep_fitted(
    model: "HierarchicalKMedian", dataset: "Dataset", labels: "dict[int, NDArray[np.int32]]"
) -> None:
    """Give rows of a followed model, known by id and unchanged, their own labels: some are held."""
    from holdfast.rows.ids import find_ids, normal_ids

    if model.hierarchy_.naming is None or model.ids_ is None or dataset.ids is None:
        return
    place = find_ids(normal_ids(dataset.ids.to_numpy()[dataset.used]), model.ids_)
    found = (place >= 0).nonzero()[0]
    same = found[(model.rows_[place[found]] == dataset.rows[found]).all(axis=1)]
    for k, predicted in labels.items():
        predicted[same] = model.hierarchy_.cut(k)[place[same]]


def predict_cuts(
    hierarchy: "Hierarchy",
    rows: "NDArray[np.float64]",
    ks: tuple[int, ...],
    progress: ProgressOption,
) -> "dict[int, NDArray[np.int32]]":
    """Label rows for each k, block by block."""
    import numpy as np

    from holdfast._machine.progress import Progress

    found = {k: np.empty(rows.shape[0], dtype=np.int32) for k in ks}
    what = f"labeling {rows.shape[0]:,} rows"
    with Progress(progress, len(ks) * rows.shape[0], "rows", what) as shown:
        for k, labels in found.items():
            for first in range(0, rows.shape[0], _BLOCK_ROWS):
                block = slice(first, first + _BLOCK_ROWS)
                labels[block] = hierarchy.predict(rows[block], k)
                shown.advance(labels[block].size)
    return found


def _predict_parts(
    hierarchy: "Hierarchy",
    source: "TableRecord",
    data: str,
    text: "TextFormat",
    id: str | None,
    out: str,
    ks: tuple[int, ...],
    append: bool,
    console: Console,
) -> None:
    from holdfast.tables.read import find_kinds, read_parts

    kinds = find_kinds(data, text, notify=console.notice)
    first = next(read_parts(data, text, kinds=kinds), None)
    if first is None:
        raise InputError(f"{data} has no rows; expected at least one.")
    id = choose_id(id, source, first)
    with console.progress(f"writing {out}") as progress:
        parts = prepare_parts_like(
            data, text, source.preparation, console, progress, f"writing {out}",
            id=id, kinds=kinds, keep_written=append,
        )  # fmt: skip
        n_rows, n_used = label_parts(hierarchy, ks, parts, out, append=append)
    record = {"n_rows": n_rows, "n_used": n_used, "files": {"out": out}}
    if console.display.json:
        console.show_json(record)
    else:
        console.show_line(f"labeled {n_rows:,} rows: {out}")


def check_parts(data: str, out: str) -> None:
    """Refuse what cannot be read or written in parts."""
    from pathlib import Path

    from holdfast.tables.write import STREAM_ENDINGS

    if data == "-":
        raise InputError("--chunked reads a file, not standard input.")
    if Path(out).suffix.lower() not in STREAM_ENDINGS:
        raise InputError(
            f"--chunked needs an --out that ends in one of {', '.join(STREAM_ENDINGS)}; got {out}."
        )


def prepare_parts_like(
    data: str,
    text: "TextFormat",
    preparation: "Preparation",
    console: Console,
    progress: ProgressOption,
    what: str,
    *,
    id: str | None = None,
    weights: str | None = None,
    columns: tuple[str, ...] | None = None,
    kinds: dict[str, str] | None = None,
    keep_written: bool = False,
) -> "Iterator[Dataset]":
    """Read a file in parts, all columns or some, each part prepared as for the fit."""
    from holdfast._machine.progress import Progress
    from holdfast.tables.dataset import prepare_like
    from holdfast.tables.errors import ignore
    from holdfast.tables.read import read_parts

    notify = console.notice
    with Progress(progress, 1.0, "", what) as shown:
        for part in read_parts(
            data, text, columns=columns, exact=(id,), kinds=kinds, keep_written=keep_written
        ):
            yield prepare_like(part, preparation, id_name=id, weights=weights, notify=notify)
            shown.advance(part.fraction_read - shown.done)
            notify = ignore


def label_parts(
    hierarchy: "Hierarchy",
    ks: tuple[int, ...],
    parts: "Iterable[Dataset]",
    out: str,
    append: bool = False,
) -> tuple[int, int]:
    """Write labels as a stream; return the number of rows, and of those that have labels."""
    from holdfast.tables.write import build_label_table, write_parts

    locators = {k: hierarchy.locator.first(k) for k in ks}
    counts = [0, 0]

    def label() -> Iterator[Any]:
        for part in parts:
            counts[0] += part.used.size
            counts[1] += part.rows.shape[0]
            labels = {
                k: name_labels(hierarchy, k, locator.finest(part.rows))
                for k, locator in locators.items()
            }
            found = build_label_table(
                part.id_name, part.ids, part.used, labels, first_row=part.first_row
            )
            yield append_labels(part.table, found) if append else found

    write_parts(out, label())
    return counts[0], counts[1]
