"""``holdfast predict``: a model and new rows -> labels."""

from typing import Annotated

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import (
    Chunked,
    DataFile,
    ModelFile,
    OutputOptions,
    ReadOptions,
    TalkOptions,
)
from holdfast.cli.parse import parse_counts

__all__ = ["EXAMPLES", "predict"]

EXAMPLES = (
    "holdfast predict wine.holdfast wine.csv --out predicted.csv",
    "tail -n 5 wine.csv | holdfast predict wine.holdfast - --no-header -k 4",
)


def predict(
    model: ModelFile,
    data: DataFile,
    read: ReadOptions,
    output: OutputOptions,
    talk: TalkOptions,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K,K,...",
            help="Numbers of clusters; those of the fit if not given.",
            show_default=False,
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="What names a row; that of the fit, where the table has it.",
            show_default=False,
        ),
    ] = None,
    chunked: Chunked = False,
) -> None:
    """Label rows as if they had been there at the fit, without moving any center.

    The columns are found by name, in any order (by position where the table has no names), and
    prepared as they were at the fit.
    """
    from holdfast.cli.dataset import prepare_like
    from holdfast.cli.labels import build_label_table, predict_cuts, show_labels
    from holdfast.cli.models import check_cuts, load_model
    from holdfast.cli.outputs import TABLE_ENDINGS, check_targets, write_table
    from holdfast.cli.tables import read_table

    console = Console("predict", talk, table_on_stdout=output.out == "-" and not talk.json)
    asked = None if clusters is None else parse_counts(clusters)
    check_targets({"--out": (output.out, TABLE_ENDINGS)}, force=output.force, inputs=(model, data))
    fitted = load_model(model)
    ks = fitted.n_clusters if asked is None else asked
    check_cuts(fitted, ks, model)
    if chunked:
        from holdfast.cli.chunked import predict_in_parts

        predict_in_parts(fitted.hierarchy, fitted.preparation, data, output.out, ks, console)
        return
    table = read_table(data, read, console)
    if id is None and table.named and fitted.id_name in table.data.column_names:
        id = fitted.id_name
    dataset = prepare_like(
        table, fitted.preparation, console, id_name=id, positional=not table.named
    )
    with console.bar(f"labelling {dataset.rows.shape[0]:,} rows") as bar:
        labels = predict_cuts(fitted.hierarchy, dataset.rows, ks, bar.update)
    result = build_label_table(id, dataset.ids, dataset.used, labels)
    if output.out != "-":
        write_table(output.out, result)
    record = {"n_rows": result.num_rows, "n_used": int(dataset.rows.shape[0])}
    show_labels(console, record, result, output.out, {})
