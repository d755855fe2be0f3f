"""``holdfast explain`` and ``holdfast lineage``: ask a model, or a series of releases, without changing it."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import holdfast
from holdfast._machine import np
from holdfast.cli import options as opt
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.inputs import check_cuts, load_model, table_of
from holdfast.cli.labels import show_value
from holdfast.cli.options import option
from holdfast.tables.write import check_outputs, write_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.lineage import Lineage

EXPLAIN_EXAMPLES = (
    "holdfast explain wine.holdfast",
    "holdfast explain wine.holdfast --clusters 4 --row 17",
)
LINEAGE_EXAMPLES = (
    "holdfast lineage wine.lineage",
    "holdfast lineage wine.lineage --cluster 0",
    "holdfast lineage wine.lineage --out page.html --plot wine.png",
)

_PICTURES = (".png", ".svg", ".pdf")
_RULES = (
    ("cluster", "cluster", ""), ("rows", "rows", ","), ("rule", "rule", ""),
    ("of the cluster", "coverage", ".0%"), ("of the others", "others", ".0%"),
    ("stability", "stability", ".2f"),
)  # fmt: skip
_VALUES = ("before", "after")  # of the column that carried a row
_MOST_LINES = 50  # of a table for people; JSON has them all


def explain(
    model: opt.ModelFile,
    display: opt.DisplayOptions,
    clusters: str | None = option(
        "--clusters -k K", "Number of clusters; by default that of the fit."
    ),
    row: str | None = option("--row ID", "Explain this row: its id, or its number from 0."),
    splits: bool = option("--splits", "Also describe the splits that led to the clusters.", False),
) -> None:
    """Describe clusters by short rules, or say why one row is in its cluster.

    A rule such as "income > 62000 and age <= 40: 93% of cluster 2, 4% of the others" describes a
    cluster in the units of the table. A cluster has up to three rules. The model must hold its rows.
    """
    console = Console("explain", display)
    fitted = load_model(model, rows_for="explained")
    k, *more = table_of(fitted).cuts[:1] if clusters is None else opt.parse_counts(clusters)
    if more:
        raise InputError(f"--clusters takes one number here; got {clusters}.")
    check_cuts(fitted, (k,), model)
    with input_errors():
        if row is not None:
            _show_row(console, fitted, row, k)
            return
        explanation = fitted.explain(k)
    if display.json:
        console.show_json({"n_clusters": k, "rules": explanation.records()})
        return
    records = [r for r in explanation.records() if splits or r["kind"] == "cluster"]
    for record in records:
        if record["kind"] == "split":
            record["cluster"] = f"{record['cluster']} from {record['parent']}"
    console.show_records(_RULES, records)


def _show_row(console: Console, fitted: Any, row: str, k: int) -> None:
    source, rows = table_of(fitted), fitted.rows_
    if (ids := source.used_ids) is None:
        if not row.isdecimal() or int(row) >= rows.shape[0]:
            raise InputError(
                f"--row must be a row number from 0 to {rows.shape[0] - 1}; got {row}."
            )
        index = int(row)
    else:
        same = np.flatnonzero(np.array([str(i) for i in ids]) == row)
        if same.size == 0:
            raise InputError(f"the model has no row with the id {row}.")
        index = int(same[0])
    explained = fitted.explain_row(index, k)
    if console.display.json:
        boundaries = [vars(boundary) for boundary in explained.boundaries]
        found = {"n_clusters": k, "row": row, "cluster": explained.cluster}
        console.show_json({**found, "boundaries": boundaries})
        return
    console.show_line(f"row {row} is in cluster {explained.cluster} of {k}")
    for boundary in sorted(explained.boundaries, key=lambda b: b.distance):
        console.show_line(f"  {boundary}")


def lineage(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Lineage from follow --lineage.")],
    display: opt.DisplayOptions,
    of: str | None = option("--of ID", "Show where this row was, release by release."),
    cluster: int | None = option("--cluster NAME", "Show the history of this cluster."),
    since: str | None = option(
        "--since RELEASE", "List the rows that moved in this release and later."
    ),
    level: int | None = option("--level K", "Show only this number of clusters."),
    fresh: bool = option(
        "--fresh", "Fit the rows of each release again, and show what that costs and moves.", False
    ),
    out: str | None = option("--out -o FILE.html", "Write a page."),
    plot: str | None = option("--plot FILE", "Draw the releases: .png, .svg or .pdf."),
    no_rows: bool = option("--no-rows", "Leave ids and values out of the page.", False),
    title: str | None = option("--title", "Title of the page; by default the name of the lineage."),
    force: opt.Force = False,
) -> None:
    """Show the releases of a lineage: what changed, who moved, what became of clusters.

    Without options, one line for each release. --of, --cluster and --since ask for more; --out writes
    a page that opens offline, --plot a picture.
    """
    from holdfast.report import build_lineage_report

    console = Console("lineage", display)
    if sum(value is not None for value in (of, cluster, since, fresh or None)) > 1:
        raise InputError("give only one of --of, --cluster, --since and --fresh.")
    outputs = {"--out": (out, (".html", ".htm")), "--plot": (plot, _PICTURES)}
    check_outputs(outputs, force=force, inputs=())
    if not Path(folder).exists():
        raise InputError(
            f"there is no lineage {folder}. `holdfast follow MODEL DATA --lineage {folder}` starts one."
        )
    series = open_lineage(folder)
    if not len(series):
        raise InputError(f"{folder} has no releases; expected the folder of a lineage.")
    with input_errors():
        answer = _ask(series, of, cluster, since, level, fresh)
        contents: dict[str, bytes] = {}
        if plot is not None:
            contents[plot] = _draw(series, level, plot)
        if out is not None:
            named = title or Path(folder).name
            page = build_lineage_report(series, level=level, title=named, rows=not no_rows)
            contents[out] = page.to_html().encode()
    for path, content in contents.items():
        write_file(path, content)
    _show(console, series, answer, {"out": out, "plot": plot}, level)


def open_lineage(path: str) -> "Lineage":
    """Open a lineage; anything wrong with it is wrong input."""
    with input_errors(path):
        return holdfast.Lineage(path)


def _ask(
    series: "Lineage", of: str | None, cluster: int | None, since: str | None, level: int | None,
    fresh: bool,
) -> "tuple[str, NDArray[Any]]":  # fmt: skip
    from holdfast.lineage.show import choose_level

    if cluster is not None:
        return "history", series.history(cluster, level)
    if since is not None:
        try:
            what, found = "moves", series.moves(since)
        except IndexError as error:
            raise InputError(str(error)) from None
    else:
        what = "of" if of is not None else "fresh" if fresh else "levels"
        found = series.levels(fresh=fresh) if of is None else series.of(of)
    if level is not None:
        found = found[found["level"] == level]
        if not found.size:  # no line, or no such level
            choose_level(series, level)
    return what, found


def _draw(series: "Lineage", level: int | None, path: str) -> bytes:
    buffer = io.BytesIO()
    axes: Any = series.plot(level)
    axes.figure.savefig(buffer, format=Path(path).suffix[1:].lower(), dpi=150)
    return buffer.getvalue()


def _show(
    console: Console,
    series: "Lineage",
    answer: "tuple[str, NDArray[Any]]",
    files: dict[str, str | None],
    level: int | None,
) -> None:
    from holdfast.lineage.show import describe_release

    what, table = answer
    fields = table.dtype.names or ()
    lines = [dict(zip(fields, line, strict=True)) for line in table.tolist()]
    if console.display.json:
        console.show_json({"n_releases": len(series), what: lines, "files": files})
        return
    if what == "levels":
        chosen = None if level is None else [level]
        shown = set(table["release"].tolist())  # the others did not follow this level
        for release in series:
            if release.number in shown:
                console.show_line(f"{release.label}: {describe_release(release, chosen)}")
    elif what == "moves" and not table.size:
        console.show_line("No row moved.")
    else:
        if what == "moves":
            dates = series[-1].dates
            for line in lines:
                line |= {name: show_value(line[name], line["column"] in dates) for name in _VALUES}
        numbers = [table.dtype[name].kind == "f" and name not in _VALUES for name in fields]
        forms = [".4g" if number else "" for number in numbers]
        console.show_records(zip(fields, fields, forms, strict=True), lines[-_MOST_LINES:])
        if table.size > _MOST_LINES:
            console.notice(f"and {table.size - _MOST_LINES:,} earlier lines; --json has them all.")
    console.show_files(files)
