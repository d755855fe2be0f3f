"""``holdfast demo``: the Wine data, clustered, compared and on a page."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import TalkOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast._machine.progress import Shown

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = ("holdfast demo --data wine.csv",)


def demo(
    talk: TalkOptions,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Only write the Wine data to this file: what the examples of the help use.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace files that are there.")
    ] = False,
) -> None:
    """Cluster the Wine data, compare with the classic methods, write demo-report.html.

    Takes about a minute. With --data, only the data are written.
    """
    from holdfast.cli.outputs import TABLE_ENDINGS, check_targets, write_table

    console = Console("demo", talk)
    if data is not None:
        check_targets({"--data": (data, TABLE_ENDINGS[:-1])}, force=force, inputs=())
        table = _wine()
        write_table(data, table)
        if talk.json:
            console.show_json({"n_rows": table.num_rows, "files": {"data": data}})
        else:
            console.notice(f"wrote {data}: {table.num_rows} rows, {table.num_columns} columns.")
        return
    from holdfast import demo as library

    page = str(library.PAGE)
    check_targets({"demo": (page, ())}, force=force, inputs=())

    @contextmanager
    def show() -> "Iterator[Shown]":
        with console.bar("comparing") as bar:
            yield bar.follow if console.shows_bars else False

    if talk.json:
        with show() as progress:
            report = library.report_wine(progress=progress)
        report.to_html(page)
        console.show_json({"report": report.to_dict(), "files": {"out": page}})
    else:
        library.main(show)


def _wine() -> "pa.Table":
    import pyarrow as pa
    from sklearn.datasets import load_wine

    wine = load_wine()
    return pa.table(dict(zip(wine.feature_names, wine.data.T, strict=True)))
