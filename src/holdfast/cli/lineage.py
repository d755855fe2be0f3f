"""``holdfast lineage``: what changed, release by release; who moved; where a row was."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.options import (
    DisplayOptions,
    Force,
    option,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.lineage import Lineage

EXAMPLES = (
    "holdfast lineage wine.lineage",
    "holdfast lineage wine.lineage --cluster 0",
    "holdfast lineage wine.lineage --out page.html --plot wine.png",
)

_PICTURES = (".png", ".svg", ".pdf")
_MOST_LINES = 50  # of a table for people; JSON has them all


def lineage(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Lineage from follow --lineage.")],
    display: DisplayOptions,
    of: str | None = option(None, "--of ID", "Show where this row was, release by release."),
    cluster: int | None = option(None, "--cluster NAME", "Show the history of this cluster."),
    since: str | None = option(
        None, "--since RELEASE", "List the rows that moved in this release and later."
    ),
    level: int | None = option(None, "--level K", "Show only this number of clusters."),
    fresh: bool = option(
        False, "--fresh", "Fit the rows of each release again, and show what that costs and moves."
    ),
    out: str | None = option(None, "--out -o FILE.html", "Write a page."),
    plot: str | None = option(None, "--plot FILE", "Draw the releases: .png, .svg or .pdf."),
    no_rows: bool = option(False, "--no-rows", "Leave ids and values out of the page."),
    title: str | None = option(
        None, "--title", "Title of the page; by default the name of the lineage."
    ),
    force: Force = False,
) -> None:
    """Show the releases of a lineage: what changed, who moved, what became of clusters.

    Without options, one line for each release. --of, --cluster and --since ask for more; --out writes
    a page that opens offline, --plot a picture.
    """
    from holdfast.tables.write import check_outputs

    console = Console("lineage", display)
    if sum(value is not None for value in (of, cluster, since, fresh or None)) > 1:
        raise InputError("give only one of --of, --cluster, --since and --fresh.")
    outputs = {"--out": (out, (".html", ".htm")), "--plot": (plot, _PICTURES)}
    check_outputs(outputs, force=force, inputs=())
    if not Path(folder).exists():
        raise InputError(f"there is no lineage {folder}.")
    series = open_lineage(folder)
    if not len(series):
        raise InputError(f"{folder} has no releases.")
    with input_errors():
        answer = _ask(series, of, cluster, since, level, fresh)
        drawn = None if plot is None else _draw(series, level, plot)
        page = None if out is None else _render(series, level, title or Path(folder).name, no_rows)
    _write({out: page, plot: drawn})
    _show(console, series, answer, {"out": out, "plot": plot}, level)


def open_lineage(path: str) -> "Lineage":
    """Open a lineage; anything wrong with it is wrong input."""
    from holdfast import Lineage
    from holdfast.tables.errors import describe_reason

    try:
        with input_errors():
            return Lineage(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {describe_reason(error)}.") from None


def _ask(
    series: "Lineage",
    of: str | None,
    cluster: int | None,
    since: str | None,
    level: int | None,
    fresh: bool,
) -> "tuple[str, NDArray[Any]]":
    if of is not None:
        found = series.of(of)
        return "of", found if level is None else found[found["level"] == level]
    if cluster is not None:
        return "history", series.history(cluster, level)
    if since is not None:
        try:
            return "moves", series.moves(since, level)
        except IndexError as error:
            raise InputError(str(error)) from None
    found = series.levels(fresh=fresh)
    found = found if level is None else found[found["level"] == level]
    return "fresh" if fresh else "levels", found


def _draw(series: "Lineage", level: int | None, path: str) -> bytes:
    import io

    buffer = io.BytesIO()
    axes: Any = series.plot(level)
    axes.figure.savefig(buffer, format=Path(path).suffix[1:].lower(), dpi=150)
    return buffer.getvalue()


def _render(series: "Lineage", level: int | None, title: str, no_rows: bool) -> bytes:
    from holdfast.report import build_lineage_report

    page = build_lineage_report(series, level=level, title=title, rows=not no_rows)
    return page.to_html().encode()


def _write(contents: dict[str | None, bytes | None]) -> None:
    from holdfast.tables.write import write_file

    for path, content in contents.items():
        if path is not None and content is not None:
            write_file(path, lambda file, data=content: file.write(data))  # type: ignore[misc]


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
    if console.display.json:
        lines = [dict(zip(fields, line, strict=True)) for line in table.tolist()]
        console.show_json({"n_releases": len(series), what: lines, "files": files})
        return
    if what == "levels":
        for release in series:
            chosen = None if level is None else [level]
            console.show_line(f"{release.label}: {describe_release(release, chosen)}")
    else:
        shown = table[-_MOST_LINES:]
        console.show_table(fields, [[_cell(value) for value in line] for line in shown.tolist()])
        if shown.size < table.size:
            console.notice(f"and {table.size - shown.size:,} earlier lines; --json has them all.")
    for path in files.values():
        if path is not None:
            console.notice(f"wrote {path}")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "-"
    return str(value)
