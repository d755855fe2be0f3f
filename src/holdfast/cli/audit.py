"""``holdfast audit``: how much each method moves when rows are removed, side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast._machine.progress import Progress, ProgressOption
from holdfast.cli.clusterer import (
    RawData,
    chooses_clusters,
    describe_results,
    load_clusterer,
    measure_clusterer,
    read_raw,
)
from holdfast.cli.console import Console, IncompleteResult, InputError, input_errors
from holdfast.cli.inputs import check_counts, read_dataset, read_distances, read_sparse_file
from holdfast.cli.options import (
    CLUSTERS,
    DELETE,
    ColumnOptions,
    DataFile,
    DisplayOptions,
    Force,
    Full,
    MeasureOptions,
    ReadOptions,
    check_seed,
    option,
    parse_amounts,
    parse_counts,
    parse_names,
)
from holdfast.clusterers import METHODS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.stability import SensitivityResult

EXAMPLES = (
    "holdfast audit wine.csv --methods means,ward -k 4 --delete 5% --trials 5",
    "holdfast audit wine.csv --methods ward,kmeans -k 4 --trials 5 --json",
    "holdfast audit wine.csv --methods single -k 2,4 --checkpoint runs -o a.csv",
    "holdfast audit wine.csv --methods means -k 4 --trials 5 --by-stage",
    "holdfast audit wine.csv --clusterer sklearn.cluster:HDBSCAN --trials 5",
)

SAMPLE_ROWS = 1000  # of a larger table are measured, unless more are asked for: as on the page
_DEFAULT = ("means", "medoids", "tree", "ward", "average", "complete", "single", "bisecting_kmeans")
_ABOUT_HELD = (
    "held: moved with the preparation of the whole table; the difference is due to preparing again."
)
_ABOUT_CLUSTERER = (
    "moved: of the remaining rows, with all that the clusterer does to the data; ARI and NMI: of the "
    "labels before and after."
)
_ABOUT_STEPS = f"{_ABOUT_CLUSTERER} after STEP: moved with that step and all before it held."
_ABOUT_COST = (
    "cost: sum of the distances to the best medoid of each cluster, in prepared units; of one: relative "
    "to one cluster; of Ward: relative to Ward linkage."
)
_MOST_QUADRATIC = 30_000  # rows: 3.6 GB of distances


@dataclass(frozen=True)
class AuditOptions:
    """What is measured for every method."""

    methods: str = option(
        "",
        "--methods M,M,...",
        f"Some of {', '.join(METHODS)}; by default the first eight that suit the data, without CLNSS.",
    )
    clusterer: str | None = option(
        None,
        "--clusterer FILE.py:NAME",
        "Measure this clusterer, Pipeline or function (X, k, seed) on the table as it is read, not "
        "prepared. MODULE:NAME works too. The code of the file is executed.",
    )
    text: str | None = option(
        None, "--text COLUMN", "Pass the texts of this column to --clusterer, as a list."
    )
    clusters: str | None = option(
        None, CLUSTERS[0], f"{CLUSTERS[1]} By default 8, or what --clusterer chooses."
    )
    delete: str = option("1,1%,5%", *DELETE)
    measure: str = option(
        "moved_fraction",
        "--measure",
        "moved_fraction (of the remaining rows), moved (rows, including the removed ones) "
        "or symmetric_difference (the paper's).",
    )
    sample: int | None = option(
        None, "--sample N", "Measure on a sample of N rows; by default 1,000.", min=2
    )
    full: Full = False
    hold_preparation: bool = option(
        False,
        "--hold-preparation",
        "Prepare the whole table once. By default, the table is prepared again without the removed "
        "rows: scales, categories and the values that fill gaps.",
    )
    by_stage: bool = option(
        False,
        "--by-stage",
        "Also measure with the preparation held, or with the steps of a Pipeline held, to show what "
        "each adds.",
    )
    metric: str = option(
        "euclidean",
        "--metric",
        "euclidean, or precomputed: the table holds the distances between its rows.",
    )
    checkpoint: str | None = option(
        None,
        "--checkpoint FOLDER",
        "Keep measurements in this folder, so that the same command can resume.",
    )
    out: str | None = option(None, "--out -o FILE", "Also write the table to this file.")
    force: Force = False

    @property
    def by_distance(self) -> bool:
        """Whether the table has distances."""
        return self.metric == "precomputed"

    @property
    def ks(self) -> tuple[int, ...]:
        """The numbers of clusters that are measured."""
        return parse_counts(self.clusters or "8")

    def names(self, sparse: bool) -> tuple[str, ...]:
        """List the methods that are measured, of those for such data."""
        known = [name for name in METHODS if METHODS[name].by_distance or not self.by_distance]
        known = [name for name in known if METHODS[name].sparse or not sparse]
        if not self.methods:
            return tuple(name for name in _DEFAULT if name in known)
        names = parse_names("--methods", self.methods)
        kind = " of distances" if self.by_distance else " of sparse rows" if sparse else ""
        for name in (name for name in names if name not in known):
            needs = kind if name in METHODS else ""
            raise InputError(f"--methods{needs} must be some of {', '.join(known)}; got {name!r}.")
        return names

    def check(self) -> None:
        """Refuse what cannot be measured before the data are read."""
        from holdfast.stability import MEASURES

        parse_amounts(self.delete)
        if self.metric not in ("euclidean", "precomputed"):
            raise InputError(f"--metric must be euclidean or precomputed; got {self.metric!r}.")
        if self.measure not in MEASURES:
            known = ", ".join(MEASURES)
            raise InputError(f"--measure must be one of {known}; got {self.measure!r}.")
        if self.clusterer is not None and self.methods:
            raise InputError("give --methods or --clusterer, not both.")
        if self.clusterer is not None and self.hold_preparation:
            raise InputError(
                "--clusterer prepares by itself; use --by-stage, which holds steps of it."
            )
        if self.clusterer is None and self.text is not None:
            raise InputError("--text needs --clusterer, which gets the texts.")
        if self.by_stage and (self.hold_preparation or self.by_distance):
            raise InputError("--by-stage also measures with --hold-preparation; leave that out.")
        if self.full and self.sample is not None:
            raise InputError("give --full or --sample, not both.")
        if self.checkpoint is not None and Path(self.checkpoint).is_file():
            raise InputError(f"--checkpoint {self.checkpoint} is a file; expected a folder.")


@dataclass(frozen=True)
class _Measured:
    """Rows that are measured, and how each fit prepares them."""

    rows: Any  # prepared as a whole, distances, or sparse
    n_rows: int  # of the table
    preparation: dict[str, Any] | None = None
    # Turns the clusterer of a method into one that prepares the rows of every fit; None holds the preparation.
    prepare: Callable[[Any, str], Any] | None = None

    @property
    def n_used(self) -> int:
        """Number of rows that are measured."""
        return len(self.rows) if isinstance(self.rows, list) else int(self.rows.shape[0])


def audit(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    how: MeasureOptions,
    asked: AuditOptions,
    display: DisplayOptions,
) -> None:
    """Compare how much methods move when rows are removed, and what their clusters cost.

    Every method is fitted to the table and to the table without some rows. The result shows the
    fraction of the remaining rows that change cluster, its standard error, and the k-median cost (the
    sum of distances to the best medoid of each cluster, in the units of the prepared rows), also
    relative to one cluster and to Ward linkage. Lower is better. The table is prepared again without
    the removed rows, so movement that the preparation causes is included; --by-stage shows how much
    that is. Tables of more than 1,000 rows are sampled; --full measures all rows. --clusterer measures
    a clusterer or a whole pipeline of your own; a .npz file holds a sparse matrix.
    """
    from holdfast.tables.write import STREAM_ENDINGS, check_outputs

    console = Console("audit", display, table_on_stdout=asked.out == "-" and not display.json)
    asked.check()
    names = asked.names(sparse=data.lower().endswith(".npz"))
    ks = asked.ks
    check_seed(how.seed)
    check_outputs({"--out": (asked.out, STREAM_ENDINGS)}, force=asked.force, inputs=(data,))
    if asked.clusterer is not None:
        raw = read_raw(data, read, column, asked.text, asked.by_distance, console)
        _audit_clusterer(asked.clusterer, raw, how, asked, console)
        return
    found = _read(data, read, column, asked, how.seed, console)
    rows = found.rows
    _check_quadratic(rows.shape[0], names)
    check_counts(ks, rows.shape[0])
    records: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with (
        console.progress("measuring") as progress,
        Progress(progress, len(names), "methods") as shown,
    ):
        for number, name in enumerate(names, start=1):
            part = shown.part(f"{name} ({number} of {len(names)})")
            try:
                records += _measure(name, found, asked, how, part)
            except (RuntimeError, MemoryError) as error:
                failed[name] = str(error) or "not enough memory"
            shown.advance()
    _relate_costs(records, rows, asked.by_distance)
    measured = {"trials": how.trials, "repeats": how.repeats, "seed": how.seed}
    _show(measured, records, failed, found, asked, console)


def _read(
    data: str, read: ReadOptions, column: ColumnOptions, asked: AuditOptions, seed: int,
    console: Console,
) -> _Measured:  # fmt: skip
    """Read the rows that are measured, or the distances between them."""
    if data.lower().endswith(".npz"):
        sparse = read_sparse_file(data, column)
        console.notice(f"{data}: {sparse.shape[0]:,} sparse rows, used as they are.")
        chosen = _choose_rows(_numbers(sparse.shape[0]), asked, seed, console)
        return _Measured(sparse[chosen], sparse.shape[0])
    if asked.by_distance:
        distances = read_distances(data, read, column, console)
        chosen = _choose_rows(distances, asked, seed, console)
        return _Measured(distances[chosen][:, chosen], distances.shape[0])
    from holdfast.tables.preparer import prepare_again

    dataset = read_dataset(data, read, column, console)
    chosen = _choose_rows(dataset.rows, asked, seed, console)

    def again(clusterer: Any, name: str) -> Any:
        return prepare_again(dataset, chosen, clusterer, column.scale(name))

    prepare = None if asked.hold_preparation else again
    described = dataset.preparation.to_json()
    return _Measured(dataset.rows[chosen], int(dataset.used.size), described, prepare)


def _numbers(n_rows: int) -> "NDArray[np.float64]":
    """Row numbers, by which rows are sampled that have no columns of numbers."""
    import numpy as np

    return np.arange(n_rows, dtype=np.float64)[:, None]


def _choose_rows(
    rows: "NDArray[np.float64]", asked: AuditOptions, seed: int, console: Console
) -> "NDArray[np.int64]":
    """Numbers of the rows that are measured."""
    import numpy as np

    from holdfast._machine.hash import keyed_sample

    n_rows = rows.shape[0]
    sample = None if asked.full else asked.sample or SAMPLE_ROWS
    if sample is None or sample >= n_rows:
        return np.arange(n_rows)
    console.notice(f"measuring on a sample of {sample:,} of {n_rows:,} rows; --full uses all.")
    return keyed_sample(rows, sample, seed, "audit")


def _check_quadratic(n_rows: int, names: tuple[str, ...]) -> None:
    quadratic = [name for name in names if METHODS[name].quadratic]
    if quadratic and n_rows > _MOST_QUADRATIC:
        raise InputError(
            f"with {' and '.join(quadratic)} linkage, a distance is stored for every pair of the "
            f"{n_rows:,} rows. Leave that out of --methods, or add --sample 5000."
        )


def _measure(
    name: str,
    found: _Measured,
    asked: AuditOptions,
    how: MeasureOptions,
    progress: ProgressOption,
) -> list[dict[str, Any]]:
    """Measure one method: a record for each number of removed rows and of clusters."""
    import numpy as np

    from holdfast.stability import mean_cost

    method = METHODS[name]
    clusterer: Any = ((asked.by_distance and method.by_distance) or method.build)()
    if found.prepare is None:
        result = _measure_movement(name, clusterer, found.rows, asked, how, progress)
    else:
        numbers = np.arange(found.rows.shape[0])[:, None]
        again = found.prepare(clusterer, name)
        result = _measure_movement(name, again, numbers, asked, how, progress)
    held = None
    if asked.by_stage:
        held = _measure_movement(f"{name}, held", clusterer, found.rows, asked, how, progress).mean
    costs = mean_cost(clusterer, found.rows, n_clusters=asked.ks, seeds=result.seeds)
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
        | ({} if held is None else {"held": float(held[c, j])})
        for c, change in enumerate(result.changes)
        for j, k in enumerate(result.n_clusters)
    ]


def _measure_movement(
    name: str,
    clusterer: Any,
    X: "NDArray[Any]",
    asked: AuditOptions,
    how: MeasureOptions,
    progress: ProgressOption,
) -> "SensitivityResult":
    from holdfast import average_sensitivity

    folder = None if asked.checkpoint is None else Path(asked.checkpoint) / name
    with input_errors():
        result = average_sensitivity(
            clusterer, X, n_clusters=asked.ks, delete=parse_amounts(asked.delete),
            trials=how.trials, repeats=how.repeats, measure=asked.measure, n_jobs=how.jobs,
            random_state=how.seed, progress=progress, checkpoint=folder,
        )  # fmt: skip
    return _check_complete(result, name, folder)


def _check_complete(
    result: "SensitivityResult", name: str, folder: Path | None
) -> "SensitivityResult":
    if not result.complete:
        kept = "" if folder is None else " The same command continues from its checkpoint."
        raise KeyboardInterrupt(f"interrupted while measuring {name}.{kept}")
    return result


def _audit_clusterer(
    text: str, raw: RawData, how: MeasureOptions, asked: AuditOptions, console: Console
) -> None:
    """Measure a clusterer of a user on data as they were read."""
    name, clusterer = load_clusterer(text, console)
    data = raw.take(_choose_rows(_numbers(raw.n_rows), asked, how.seed, console))
    chooses, ks = chooses_clusters(clusterer), asked.ks
    if chooses and asked.clusters is not None:
        console.notice(f"{name} chooses the number of clusters itself; --clusters is not used.")
    if chooses or (chooses is None and asked.clusters is None):
        ks = ()
    else:
        check_counts(ks, data.n_rows)
    console.notice(f"measuring {name} with all its steps, fitted again each time, on {data.kind}.")
    folder = None if asked.checkpoint is None else Path(asked.checkpoint) / name
    options = {
        "delete": parse_amounts(asked.delete), "measure": asked.measure, "checkpoint": folder,
        "by_stage": asked.by_stage,
    }  # fmt: skip
    with console.progress(f"measuring {name}") as progress:
        result = measure_clusterer(clusterer, data, ks or None, how, options, progress, console)
    _check_complete(result, name, folder)
    measured = {"trials": how.trials, "repeats": how.repeats, "seed": how.seed}
    told = {**measured, "clusterer": text, "data": data.kind}
    found = _Measured(data.rows, raw.n_rows)
    _show(told, describe_results(name, result), {}, found, asked, console)


def _relate_costs(
    records: list[dict[str, Any]], rows: "NDArray[np.float64]", by_distance: bool
) -> None:
    """Add costs relative to one cluster and to Ward linkage; None where that is not known."""
    import numpy as np

    from holdfast import k_median_cost

    if not records:
        return
    metric: Any = "precomputed" if by_distance else "euclidean"
    one = k_median_cost(rows, np.zeros(rows.shape[0]), metric=metric)
    ward = {record["k"]: record["cost"] for record in records if record["method"] == "ward"}
    for record in records:
        reference = ward.get(record["k"], 0.0)
        record["cost_of_one"] = record["cost"] / one if one > 0.0 else None
        record["cost_of_ward"] = record["cost"] / reference if reference > 0.0 else None


def _show(
    measured: dict[str, Any],
    records: list[dict[str, Any]],
    failed: dict[str, str],
    found: _Measured,
    asked: AuditOptions,
    console: Console,
) -> None:
    out, deletes = asked.out, list(dict.fromkeys(r["delete"] for r in records))  # as asked for
    records.sort(key=lambda r: (r["k"] or 0, deletes.index(r["delete"]), r["mean"]))
    if records and out is not None and not (out == "-" and console.display.json):
        import pyarrow as pa

        from holdfast.tables.write import write_table

        write_table(out, pa.Table.from_pylist(records))
    if console.display.json:
        rows = {"n_rows": found.n_rows, "n_used": found.n_used}
        record = {**rows, "preparation": found.preparation, "measure": asked.measure, **measured}
        files = {"out": None if out == "-" else out}
        console.show_json({**record, "results": records, "failed": failed, "files": files})
    elif records and asked.clusterer is not None:
        form = "{:.1%}" if asked.measure == "moved_fraction" else "{:.4g}"
        stages = [name for name in records[0] if name.startswith("held_")]
        header = ["clusters", "removed", "clusterer", "moved", "±"]
        header += [f"after {name.removeprefix('held_')}" for name in stages] + ["ARI", "NMI"]
        console.show_table(header, [_cells_of_clusterer(r, stages, form) for r in records])
        console.show_line(_ABOUT_STEPS if stages else _ABOUT_CLUSTERER)
    elif records:
        form = "{:.1%}" if asked.measure == "moved_fraction" else "{:.4g}"
        header = ["clusters", "removed", "method", "moved", "±", *(["held"] * asked.by_stage)]
        header += ["cost", "of one", "of Ward"]
        console.show_table(header, [_cells(record, form) for record in records])
        if asked.by_stage:
            console.show_line(_ABOUT_HELD)
        console.show_line(_ABOUT_COST)
    if failed:
        told = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise IncompleteResult(f"{len(failed)} of the methods failed. {told}")


def _cells_of_clusterer(record: dict[str, Any], stages: list[str], form: str) -> list[str]:
    chosen = f"{record['clusters_found']:.3g} found"
    named = [
        chosen if record["k"] is None else str(record["k"]),
        record["delete"],
        record["method"],
    ]
    moved = [form.format(record[name]) for name in ("mean", "standard_error", *stages)]
    return [*named, *moved, f"{record['rand']:.3f}", f"{record['information']:.3f}"]


def _cells(record: dict[str, Any], form: str) -> list[str]:
    moved = [form.format(record[n]) for n in ("mean", "standard_error", "held") if n in record]
    relative = [record["cost_of_one"], record["cost_of_ward"]]
    percent = ["-" if value is None else f"{value:.1%}" for value in relative]
    named = [str(record["k"]), record["delete"], record["method"]]
    return [*named, *moved, f"{record['cost']:.5g}", *percent]
