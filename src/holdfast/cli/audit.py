"""``holdfast audit``: how much each method moves when rows go, side by side."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import (
    Clusters,
    ColumnOptions,
    DataFile,
    MeasureOptions,
    ReadOptions,
    TalkOptions,
)
from holdfast.cli.parse import check_counts, parse_amounts, parse_counts, parse_names, parse_seed
from holdfast.cli.problems import InputProblem, Unsuccessful, blame_input
from holdfast.clusterers.registry import METHODS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.cli.dataset import Dataset

__all__ = ["EXAMPLES", "audit"]

EXAMPLES = (
    "holdfast audit wine.csv --methods means,ward -k 4 --delete 5% --trials 5",
    "holdfast audit wine.csv --methods ward,kmeans -k 4 --trials 5 --json",
    "holdfast audit wine.csv --methods single -k 2,4 --checkpoint runs -o a.csv",
)

_MEASURES = ("moved_fraction", "moved", "symmetric_difference")
_MOST_QUADRATIC = 30_000  # rows: 3.6 GB of distances


@dataclass(frozen=True)
class _Audit:
    """What is measured, of every method."""

    ks: tuple[int, ...]
    delete: list[int | float]
    measure: str
    how: MeasureOptions
    checkpoint: str | None


def audit(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    how: MeasureOptions,
    talk: TalkOptions,
    methods: Annotated[
        str, typer.Option("--methods", metavar="M,M,...", help=f"Some of {', '.join(METHODS)}.")
    ] = "means,medoids,tree,ward,average,complete,single,bisecting_kmeans",
    clusters: Clusters = "8",
    delete: Annotated[
        str,
        typer.Option("--delete", metavar="N,N%,...", help="How many rows go: numbers or shares."),
    ] = "1,1%,5%",
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            help="moved_fraction (of the rows that stay), moved (rows, the deleted ones included) or "
            "symmetric_difference (the paper's).",
        ),
    ] = "moved_fraction",
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=2, metavar="N", help="Measure on so many rows of the table."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="FOLDER",
            help="Keep what is measured there; the same command continues after an interruption.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Also write the table to this file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace that file.")] = False,
) -> None:
    """Compare how much methods move when rows go, and what their clusters cost.

    Every method is fitted to the table and to the table without some rows. Printed is the share of
    the remaining rows that change cluster, with its standard error, and the k-median cost (sum of
    distances to the best center of each cluster). Low is good for both.
    """
    from holdfast.cli.outputs import TABLE_ENDINGS, check_targets
    from holdfast.cli.pace import share_work, tell_share

    console = Console("audit", talk, table_on_stdout=out == "-" and not talk.json)
    asked = _Audit(parse_counts(clusters), parse_amounts(delete), measure, how, checkpoint)
    chosen = _check_methods(methods, measure)
    parse_seed(how.seed)
    check_targets({"--out": (out, TABLE_ENDINGS[:-1])}, force=force, inputs=(data,))
    if checkpoint is not None and Path(checkpoint).is_file():
        raise InputProblem(f"--checkpoint {checkpoint} is a file; expected a folder.")
    dataset, rows = _read(data, read, column, sample, how.seed, chosen, console)
    check_counts(asked.ks, rows.shape[0])
    records: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with console.bar("trying each method once") as bar:
        repeats = how.repeats if console.shows_bars else None
        shares = share_work(chosen, rows, asked.ks, repeats, bar.update)
        bar.restart()
        for number, (method, clusterer) in enumerate(chosen.items(), start=1):
            bar.rename(f"{method} ({number} of {len(chosen)})")
            tell = functools.partial(tell_share, bar.update, *shares[method])
            try:
                records += _measure(method, clusterer(), rows, asked, tell)
            except (RuntimeError, MemoryError) as error:
                failed[method] = str(error) or "not enough memory"
    _show(records, failed, dataset, rows.shape[0], asked, out, console)


def _check_methods(text: str, measure: str) -> dict[str, Callable[[], Any]]:
    if measure not in _MEASURES:
        raise InputProblem(f"--measure must be one of {', '.join(_MEASURES)}; got {measure!r}.")
    names = parse_names("--methods", text)
    for name in names:
        if name not in METHODS:
            raise InputProblem(f"--methods knows {', '.join(METHODS)}; got {name!r}.")
    return {name: METHODS[name].build for name in names}


def _read(
    path: str,
    read: ReadOptions,
    column: ColumnOptions,
    sample: int | None,
    seed: int,
    chosen: dict[str, Callable[[], Any]],
    console: Console,
) -> "tuple[Dataset, NDArray[np.float64]]":
    from holdfast.cli.dataset import announce, prepare_table
    from holdfast.cli.tables import read_table
    from holdfast.report.inputs import keyed_sample

    dataset = prepare_table(read_table(path, read, console), column, console)
    announce(dataset, console)
    rows = dataset.rows
    if sample is not None and sample < rows.shape[0]:
        rows = rows[keyed_sample(rows, sample, seed, "audit")]
        console.notice(f"measured on a sample of {sample:,} rows.")
    heavy = [name for name in chosen if METHODS[name].quadratic]
    if heavy and rows.shape[0] > _MOST_QUADRATIC:
        raise InputProblem(
            f"{' and '.join(heavy)} linkage need a distance for every pair of {rows.shape[0]:,} "
            f"rows. Leave them out of --methods, or add --sample 5000."
        )
    return dataset, rows


def _measure(
    method: str,
    clusterer: Any,
    rows: "NDArray[np.float64]",
    asked: _Audit,
    tell: Callable[[str, float, float | None], None],
) -> list[dict[str, Any]]:
    """Measure one method: a record for each number of deleted rows and of clusters."""
    from holdfast import average_sensitivity
    from holdfast.stability import mean_cost

    folder = None if asked.checkpoint is None else Path(asked.checkpoint) / method
    with blame_input():
        result = average_sensitivity(
            clusterer, rows, n_clusters=asked.ks, delete=asked.delete, trials=asked.how.trials,
            repeats=asked.how.repeats, measure=asked.measure, n_jobs=asked.how.jobs,
            random_state=asked.how.seed, progress=tell, checkpoint=folder,
        )  # fmt: skip
    if not result.complete:
        kept = "" if folder is None else " What is done is kept: the same command continues."
        raise KeyboardInterrupt(f"interrupted while measuring {method}.{kept}")
    costs = mean_cost(clusterer, rows, n_clusters=asked.ks, seeds=result.seeds)
    interval = result.interval()
    return [
        {
            "method": method,
            "k": k,
            "delete": change.removeprefix("delete "),
            "mean": float(result.mean[c, j]),
            "standard_error": float(result.standard_error[c, j]),
            "low": float(interval[c, j, 0]),
            "high": float(interval[c, j, 1]),
            "floor": float(result.floor[c]),
            "cost": float(costs[j]),
        }
        for c, change in enumerate(result.changes)
        for j, k in enumerate(result.n_clusters)
    ]


def _show(
    records: list[dict[str, Any]],
    failed: dict[str, str],
    dataset: "Dataset",
    n_measured: int,
    asked: _Audit,
    out: str | None,
    console: Console,
) -> None:
    deletes = list(dict.fromkeys(r["delete"] for r in records))  # as they were asked for
    records.sort(key=lambda r: (r["k"], deletes.index(r["delete"]), r["mean"]))
    if records and out is not None and not (out == "-" and console.talk.json):
        import pyarrow as pa

        from holdfast.cli.outputs import write_table

        write_table(out, pa.Table.from_pylist(records))
    if console.talk.json:
        console.show_json(
            {
                "n_rows": int(dataset.used.size),
                "n_used": n_measured,
                "preparation": dataset.preparation.to_json(),
                "measure": asked.measure,
                "trials": asked.how.trials,
                "repeats": asked.how.repeats,
                "seed": asked.how.seed,
                "results": records,
                "failed": failed,
                "files": {"out": None if out == "-" else out},
            }
        )
    elif records:
        share = asked.measure == "moved_fraction"
        form = "{:.1%}" if share else "{:.4g}"
        console.show_table(
            ["clusters", "deleted", "method", "moved", "±", "cost"],
            [
                [
                    str(r["k"]),
                    r["delete"],
                    r["method"],
                    form.format(r["mean"]),
                    form.format(r["standard_error"]),
                    f"{r['cost']:.6g}",
                ]
                for r in records
            ],
        )
    if failed:
        told = "; ".join(f"{method}: {why}" for method, why in failed.items())
        raise Unsuccessful(f"{len(failed)} of the methods failed. {told}")
