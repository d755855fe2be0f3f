"""``holdfast report``: one self-contained page about a clustering."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine import np
from holdfast.cli import options as opt
from holdfast.cli.console import Console, input_errors
from holdfast.cli.inputs import check_method, read_dataset
from holdfast.cli.options import option
from holdfast.clusterers import METHODS
from holdfast.tables.errors import count, list_columns, show_name
from holdfast.tables.write import check_outputs, write_file

if TYPE_CHECKING:
    from holdfast.report import Report
    from holdfast.tables.dataset import Dataset

_MOST_NAMES = 40
_MOST_SCALES = 16

EXAMPLES = ("holdfast report wine.csv -k 4 --methods ward --trials 3 --out report.html",)


def report(
    data: opt.DataFile,
    read: opt.ReadOptions,
    column: opt.ColumnOptions,
    how: opt.ReportMeasureOptions,
    display: opt.DisplayOptions,
    clusters: int = option(
        "--clusters -k", "Number of clusters that is measured and shown first.", 8, min=1
    ),
    method: opt.MethodOption = "means",
    epsilon: opt.Epsilon = "auto",
    methods: str | None = option(
        "--methods M,M,...",
        f"Methods to compare with: some of {', '.join(METHODS)}. By default the first "
        "three, the linkages and bisecting_kmeans.",
    ),
    delete: str = option(*opt.DELETE, default="1,5%,20%"),
    title: str | None = option("--title", "Title of the page; by default the name of the file."),
    no_rows: bool = option(
        "--no-rows", "Leave out everything about single rows: values, ids, points.", False
    ),
    out: str = option("--out -o FILE", "The page to write.", "report.html"),
    force: opt.Force = False,
) -> None:
    """Write one HTML page about a clustering: what the clusters are and how stable they are.

    The page is one file that opens offline. Its verdict is printed; with --json, everything that is
    on the page.
    """
    console = Console("report", display)
    opt.check_seed(how.seed)
    check_method(method)
    model: dict[str, Any] = {"method": method, "epsilon": opt.parse_epsilon(epsilon)}
    options: dict[str, Any] = {
        "n_clusters": clusters,
        "methods": None if methods is None else opt.parse_names("--methods", methods),
        "delete": opt.parse_amounts(delete),
        "rows": not no_rows,
        "title": title or Path(data).name,
        "command": _describe_command(sys.argv[1:]),
        **how.measuring,
    }
    check_outputs({"--out": (out, (".html", ".htm"))}, force=force, inputs=(data,))
    with console.remember() as notices:
        dataset = read_dataset(data, read, column, console, method=method)
    options["preparation"] = _describe_preparation(dataset, notices[:-1])  # the last sums up
    options["estimator"] = holdfast.HierarchicalKMedian(**model)
    with console.progress("measuring") as progress, input_errors():
        page = _build(dataset, progress, options)
    write_file(out, page.to_html().encode())
    _show(page.to_dict(), out, console)


def _describe_command(arguments: list[str]) -> str:
    """Repeat the command without folders: the page may be sent to people who should not see them."""

    def shorten(word: str) -> str:
        option, equals, value = word.rpartition("=")
        return option + equals + (Path(value).name if Path(value).is_absolute() else value)

    return shlex.join(["holdfast", *map(shorten, arguments)])


def _build(dataset: "Dataset", progress: Any, options: dict[str, Any]) -> "Report":
    from holdfast.estimator.explaining import columns_of

    ids = dataset.used_ids
    if ids is None and not dataset.used.all():
        ids = np.flatnonzero(dataset.used)
    return holdfast.build_report(
        dataset.rows, names=columns_of(dataset.preparation), ids=ids, progress=progress,
        values=dataset.values, **options,  # gaps are shown as gaps, whatever filled them
    )  # fmt: skip


def _show(page: dict[str, Any], out: str, console: Console) -> None:
    if console.display.json:
        console.show_json({"report": page, "files": {"out": out}})
        return
    verdict = page["verdict"]
    console.show_line(verdict["headline"])
    for sentence in (verdict["sentence"], *(finding["text"] for finding in verdict["findings"])):
        console.show_line(sentence)
    if verdict["better"] is not None:
        console.show_line(verdict["better"]["text"])
        if verdict["better"]["command"] is not None:
            console.show_line(f"  {verdict['better']['command']}")
    console.notice(f"wrote {out}")


def _describe_preparation(dataset: "Dataset", notices: list[str]) -> list[str]:
    """Say what was done to the table, one sentence each."""
    names = [source.name for source in dataset.preparation.sources]
    listed = ", ".join(map(show_name, names[:_MOST_NAMES]))
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    found = [f"{count(len(names), 'column')} used: {listed}{more}."]
    if dataset.id_name is not None:
        found.append(f"Rows are named by the column {dataset.id_name}.")
    found += [notice[:1].upper() + notice[1:] for notice in notices]
    return found + _describe_treatments(dataset)


def _describe_treatments(dataset: "Dataset") -> list[str]:
    """Put columns that are only scaled into one sentence, and others into one each."""
    plain = [t for t in dataset.treatments if t.how.startswith("divided by ") and ";" not in t.how]
    found = [
        f"{show_name(t.name)}: {t.kind}; {t.how}."
        for t in dataset.treatments[:_MOST_NAMES]
        if t not in plain
    ]
    if not dataset.preparation.scale:
        return [*found, "The columns are not scaled."]
    found.append("Numbers are divided by a robust standard deviation.")
    by_scale: dict[str, list[str]] = {}
    for t in plain:
        by_scale.setdefault(t.how.removeprefix("divided "), []).append(t.name)
    scales = [f"{list_columns(names)} {scale}" for scale, names in by_scale.items()]
    if scales:
        more = f"; {len(scales) - _MOST_SCALES:,} more" if len(scales) > _MOST_SCALES else ""
        found[-1] = f"{found[-1][:-1]}: {'; '.join(scales[:_MOST_SCALES])}{more}."
    return found
