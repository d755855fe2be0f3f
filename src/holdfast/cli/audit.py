"""``holdfast audit``: how much each method moves when rows are removed, side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast._machine.progress import Progress, ProgressOption
from holdfast.cli.console import Console
from holdfast.cli.errors import IncompleteResult, InputError, input_errors
from holdfast.cli.inputs import read_dataset
from holdfast.cli.options import (
    DELETE,
    Clusters,
    ColumnOptions,
    DataFile,
    DisplayOptions,
    Force,
    Full,
    MeasureOptions,
    ReadOptions,
    check_counts,
    check_seed,
    option,
    parse_amounts,
    parse_counts,
    parse_names,
)
from holdfast.clusterers.registry import METHODS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.tables.dataset import Dataset

__all__ = ["EXAMPLES", "audit"]

EXAMPLES = (
    "holdfast audit wine.csv --methods means,ward -k 4 --delete 5% --trials 5",
    "holdfast audit wine.csv --methods ward,kmeans -k 4 --trials 5 --json",
    "holdfast audit wine.csv --methods single -k 2,4 --checkpoint runs -o a.csv",
)

_MEASURES = ("moved_fraction", "moved", "symmetric_difference")
SAMPLE_ROWS = 1000
"""The rows of a larger table that are measured, unless more are asked for: as on the page."""

_MOST_QUADRATIC = 30_000  # rows: 3.6 GB of distances


@dataclass(frozen=True)
class _Audit:
    """What is measured for every method."""

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
    display: DisplayOptions,
    methods: str = option(
        "means,medoids,tree,ward,average,complete,single,bisecting_kmeans",
        "--methods M,M,...",
        f"Some of {', '.join(METHODS)}.",
    ),
    clusters: Clusters = "8",
    delete: str = option("1,1%,5%", *DELETE),
    measure: str = option(
        "moved_fraction",
        "--measure",
        "moved_fraction (of the remaining rows), moved (rows, including the removed ones) "
        "or symmetric_difference (the paper's).",
    ),
    sample: int | None = option(
        None, "--sample N", "Measure on N rows; 1,000 of a larger table.", min=2
    ),
    full: Full = False,
    hold_scales: bool = option(
        False,
        "--hold-scales",
        "Keep the scales of the whole table when rows are removed; by default they are "
        "found again, as a new fit would.",
    ),
    checkpoint: str | None = option(
        None,
        "--checkpoint FOLDER",
        "Keep measurements there; the same command continues after an interruption.",
    ),
    out: str | None = option(None, "--out -o FILE", "Also write the table to this file."),
    force: Force = False,
) -> None:
    """Compare how much methods move when rows are removed, and what their clusters cost.

    Every method is fitted to the table and to the table without some rows. The table shows the
    fraction of the remaining rows that change cluster, its standard error, and the k-median cost
    (the sum of distances to the best medoid of each cluster, in the units of the prepared rows), also
    relative to one cluster and to Ward linkage. Low is good for all. Scales are found again without
    the removed rows, so what they move counts (--hold-scales keeps them). Of a larger table, 1,000 rows
    are measured; --full measures all.
    """
    from holdfast.tables.write import STREAM_ENDINGS, check_outputs

    console = Console("audit", display, table_on_stdout=out == "-" and not display.json)
    asked = _Audit(parse_counts(clusters), parse_amounts(delete), measure, how, checkpoint)
    names = _check_methods(methods, measure)
    check_seed(how.seed)
    check_outputs({"--out": (out, STREAM_ENDINGS)}, force=force, inputs=(data,))
    if full and sample is not None:
        raise InputError("give --full or --sample, not both.")
    if checkpoint is not None and Path(checkpoint).is_file():
        raise InputError(f"--checkpoint {checkpoint} is a file; expected a folder.")
    dataset = read_dataset(data, read, column, console)
    most = SAMPLE_ROWS if sample is None else sample
    rows = _take_sample(dataset.rows, None if full else most, how.seed, names, console)
    check_counts(asked.ks, rows.shape[0])
    scaled = () if hold_scales else dataset.preparation.measured
    records: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with (
        console.progress("measuring") as progress,
        Progress(progress, len(names), "methods") as shown,
    ):
        for number, name in enumerate(names, start=1):
            part = shown.part(f"{name} ({number} of {len(names)})")
            try:
                records += _measure(name, rows, asked, part, scaled)
            except (RuntimeError, MemoryError) as error:
                failed[name] = str(error) or "not enough memory"
            shown.advance()
    _relate_costs(records, rows)
    _show(records, failed, dataset, rows.shape[0], asked, out, console)


def _check_methods(text: str, measure: str) -> tuple[str, ...]:
    if measure not in _MEASURES:
        raise InputError(f"--measure must be one of {', '.join(_MEASURES)}; got {measure!r}.")
    names = parse_names("--methods", text)
    for name in names:
        if name not in METHODS:
            raise InputError(f"--methods must be some of {', '.join(METHODS)}; got {name!r}.")
    return names


def _take_sample(
    rows: "NDArray[np.float64]",
    sample: int | None,
    seed: int,
    names: tuple[str, ...],
    console: Console,
) -> "NDArray[np.float64]":
    from holdfast._machine.hash import keyed_sample

    if sample is not None and sample < rows.shape[0]:
        n_rows = rows.shape[0]
        rows = rows[keyed_sample(rows, sample, seed, "audit")]
        console.notice(f"measuring on a sample of {sample:,} of {n_rows:,} rows; --full uses all.")
    quadratic = [name for name in names if METHODS[name].quadratic]
    if quadratic and rows.shape[0] > _MOST_QUADRATIC:
        raise InputError(
            f"with {' and '.join(quadratic)} linkage, a distance is stored for every pair of the "
            f"{rows.shape[0]:,} rows. Leave that out of --methods, or add --sample 5000."
        )
    return rows


def _measure(
    name: str,
    rows: "NDArray[np.float64]",
    asked: _Audit,
    progress: ProgressOption,
    scaled: tuple[int, ...] = (),
) -> list[dict[str, Any]]:
    """Measure one method: a record for each number of removed rows and of clusters."""
    from holdfast import average_sensitivity
    from holdfast.stability import mean_cost
    from holdfast.tables.scales import RescaledClusterer

    clusterer: Any = METHODS[name].build()
    measured = RescaledClusterer(clusterer, scaled) if scaled else clusterer
    folder = None if asked.checkpoint is None else Path(asked.checkpoint) / name
    with input_errors():
        result = average_sensitivity(
            measured, rows, n_clusters=asked.ks, delete=asked.delete, trials=asked.how.trials,
            repeats=asked.how.repeats, measure=asked.measure, n_jobs=asked.how.jobs,
            random_state=asked.how.seed, progress=progress, checkpoint=folder,
        )  # fmt: skip
    if not result.complete:
        kept = "" if folder is None else " The same command continues from its checkpoint."
        raise KeyboardInterrupt(f"interrupted while measuring {name}.{kept}")
    costs = mean_cost(clusterer, rows, n_clusters=asked.ks, seeds=result.seeds)
    interval = result.interval()
    return [
        {
            "method": name,
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


def _relate_costs(records: list[dict[str, Any]], rows: "NDArray[np.float64]") -> None:
    """Add costs relative to one cluster and to Ward linkage; None where that is not known."""
    import numpy as np

    from holdfast import k_median_cost

    if not records:
        return
    one = k_median_cost(rows, np.zeros(rows.shape[0]))
    ward = {record["k"]: record["cost"] for record in records if record["method"] == "ward"}
    for record in records:
        reference = ward.get(record["k"], 0.0)
        record["cost_of_one"] = record["cost"] / one if one > 0.0 else None
        record["cost_of_ward"] = record["cost"] / reference if reference > 0.0 else None


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
    if records and out is not None and not (out == "-" and console.display.json):
        import pyarrow as pa

        from holdfast.tables.write import write_table

        write_table(out, pa.Table.from_pylist(records))
    if console.display.json:
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
        form = "{:.1%}" if asked.measure == "moved_fraction" else "{:.4g}"
        header = ["clusters", "removed", "method", "moved", "±", "cost", "of one", "of Ward"]
        console.show_table(header, [_cells(record, form) for record in records])
        console.show_line(
            "cost: sum of the distances to the best medoid of each cluster, in prepared units; of one: "
            "relative to one cluster; of Ward: relative to Ward linkage."
        )
    if failed:
        told = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise IncompleteResult(f"{len(failed)} of the methods failed. {told}")


def _cells(record: dict[str, Any], form: str) -> list[str]:
    moved = [form.format(record[name]) for name in ("mean", "standard_error")]
    relative = [record["cost_of_one"], record["cost_of_ward"]]
    percent = ["-" if value is None else f"{value:.1%}" for value in relative]
    named = [str(record["k"]), record["delete"], record["method"]]
    return [*named, *moved, f"{record['cost']:.5g}", *percent]
