"""``holdfast report``: one self-contained page about a clustering."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import (
    ColumnOptions,
    DataFile,
    MeasureOptions,
    ReadOptions,
    TalkOptions,
)
from holdfast.cli.parse import parse_amounts, parse_cost, parse_epsilon, parse_names, parse_seed
from holdfast.cli.problems import blame_input

if TYPE_CHECKING:
    from holdfast.cli.dataset import Dataset

__all__ = ["EXAMPLES", "report"]

EXAMPLES = ("holdfast report wine.csv -k 4 --methods ward --trials 3 --out report.html",)


def report(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    how: MeasureOptions,
    talk: TalkOptions,
    clusters: Annotated[
        int,
        typer.Option("--clusters", "-k", min=1, help="The cut that is measured and shown first."),
    ] = 8,
    epsilon: Annotated[str, typer.Option("--epsilon", help="As for fit.")] = "auto",
    cost: Annotated[str, typer.Option("--cost", help="tree, euclidean or refined.")] = "tree",
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="M,M,...",
            help="What to compare with: other_cost, ward, average, complete, single, "
            "bisecting_kmeans (these by default), kmeans, birch, hdbscan, clnss.",
            show_default=False,
        ),
    ] = None,
    delete: Annotated[
        str, typer.Option("--delete", metavar="N,N%,...", help="How many rows go.")
    ] = "1,1%,5%,10%,20%",
    title: Annotated[
        str | None,
        typer.Option("--title", help="Title of the page; the name of the file if not given."),
    ] = None,
    no_rows: Annotated[
        bool,
        typer.Option(
            "--no-rows", help="Leave out everything about single rows: values, ids, points."
        ),
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")
    ] = "report.html",
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace that file.")] = False,
) -> None:
    """Write one HTML file about a clustering: how it looks, how steady it is, what to look at.

    The page needs nothing but itself: it opens from disk, offline. Printed is its verdict; with
    --json, everything that is on the page.
    """
    from holdfast.cli.dataset import announce, prepare_table
    from holdfast.cli.outputs import check_targets, write_file
    from holdfast.cli.tables import read_table

    console = Console("report", talk)
    parse_seed(how.seed)
    options: dict[str, Any] = {
        "n_clusters": clusters,
        "methods": None if methods is None else parse_names("--methods", methods),
        "delete": parse_amounts(delete),
        "trials": how.trials,
        "repeats": how.repeats,
        "rows": not no_rows,
        "title": title or Path(data).name,
        "command": shlex.join(["holdfast", *sys.argv[1:]]),
        "n_jobs": how.jobs,
        "random_state": how.seed,
    }
    chosen = parse_epsilon(epsilon), parse_cost(cost)
    check_targets({"--out": (out, (".html", ".htm"))}, force=force, inputs=(data,))
    dataset = prepare_table(read_table(data, read, console), column, console)
    announce(dataset, console)
    page = _build(dataset, options, chosen, console)
    html = page.to_html().encode()
    write_file(out, lambda file: file.write(html))
    if talk.json:
        console.show_json({"report": page.to_dict(), "files": {"out": out}})
    else:
        console.say(page.verdict)
        console.notice(f"wrote {out}")


def _build(dataset: "Dataset", options: dict[str, Any], chosen: Any, console: Console) -> Any:
    import numpy as np

    from holdfast import HierarchicalKMedian
    from holdfast.report import build_report

    epsilon, cost = chosen
    ids = None
    if dataset.ids is not None:
        ids = dataset.ids.to_numpy()[dataset.used].tolist()
    elif not dataset.used.all():
        ids = np.flatnonzero(dataset.used).tolist()
    with console.bar("starting") as bar, blame_input():
        return build_report(
            dataset.rows,
            names=dataset.preparation.columns,
            ids=ids,
            values=dataset.values,  # gaps are shown as gaps, whatever filled them
            estimator=HierarchicalKMedian(epsilon=epsilon, **cost),
            progress=bar.follow if console.shows_bars else False,
            **options,
        )
