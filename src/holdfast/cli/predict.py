"""``holdfast predict``: a model and new rows -> labels."""

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast._machine.progress import ProgressOption
from holdfast.cli.cut import append_labels, show_labels
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
from holdfast.cli.parts import Parts, show_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy
    from holdfast.tables.dataset import Dataset

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
    from holdfast.tables.write import build_label_table

    asked = None if clusters is None else parse_counts(clusters)
    console = output.open("predict", display, (model, data))
    fitted = load_model(model)
    source = table_of(fitted)
    ks = source.cuts if asked is None else asked
    check_cuts(fitted, ks, model)
    if chunked:
        parts = Parts.of(data, read, output.out, console, keep_written=append)
        id = choose_id(id, source, parts.first())
        parts = replace(parts, preparation=source.preparation, id=id)
        record = parts.write_labels(fitted.hierarchy_, ks, output.out, console)
        show_parts(record, {"out": output.out}, console)
        return
    table = read_file(data, read, console, exact=(id, source.id_name), keep_written=append)
    dataset = prepare_as(table, fitted, console, id=id)
    with console.progress(f"labeling {dataset.rows.shape[0]:,} rows") as progress:
        labels = predict_cuts(fitted.hierarchy_, dataset.rows, ks, progress)
    _keep_fitted(fitted, dataset, labels)
    names = {k: fitted.hierarchy_.names(k)[found] for k, found in labels.items()}
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
