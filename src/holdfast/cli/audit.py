"""``holdfast audit``: how much each method moves when rows are removed, side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast._machine import pa
from holdfast._machine.work import Progress
from holdfast.cli import inputs
from holdfast.cli import options as opt
from holdfast.cli.clusterer import (
    Measured,
    check_quadratic,
    measure_clusterer,
    measure_method,
    relate_costs,
)
from holdfast.cli.console import Console, IncompleteResult, InputError
from holdfast.cli.options import option
from holdfast.clusterers import COMPARED_METHODS, METHODS
from holdfast.tables.write import STREAM_ENDINGS, check_outputs, write_table

EXAMPLES = (
    "holdfast audit wine.csv --methods means,ward -k 4 --delete 5% --trials 5",
    "holdfast audit wine.csv --methods ward,kmeans -k 4 --trials 5 --json",
    "holdfast audit wine.csv --methods single -k 2,4 --checkpoint runs -o a.csv",
    "holdfast audit wine.csv --methods means -k 4 --trials 5 --by-stage",
    "holdfast audit wine.csv --clusterer sklearn.cluster:HDBSCAN --trials 5",
)

SAMPLE_ROWS = 1000  # of a larger table are measured, unless more are asked for: as on the page
_INDICES = (("ARI", "rand", ".3f"), ("NMI", "information", ".3f"))
_COSTS = (
    ("cost", "cost", ".5g"),
    ("of one", "cost_of_one", ".1%"),
    ("of Ward", "cost_of_ward", ".1%"),
)
_ABOUT = (
    "moved: of the remaining rows, with all that the clusterer does to the data; ARI and NMI: of the "
    "labels before and after."
)
_ABOUT_STEPS = " after STEP: moved with that step and all before it held."
_ABOUT_HELD = (
    "held: moved with the preparation of the whole table; the difference is due to preparing again."
)
_ABOUT_COST = (
    "cost: sum of the distances to the best medoid of each cluster, in prepared units; of one: relative "
    "to one cluster; of Ward: relative to Ward linkage."
)


@dataclass(frozen=True)
class AuditOptions:
    """What is measured for every method."""

    methods: str = option(
        "--methods M,M,...",
        f"Some of {', '.join(METHODS)}; by default the first eight that suit the data, without CLNSS.",
        "",
    )
    clusterer: str | None = option(
        "--clusterer FILE.py:NAME",
        "Measure this clusterer, Pipeline or function (X, k, seed) on the table as it is read, not "
        "prepared. MODULE:NAME works too. The code of the file is executed.",
    )
    text: str | None = option(
        "--text COLUMN", "Pass the texts of this column to --clusterer, as a list."
    )
    clusters: str | None = option(
        opt.CLUSTERS[0], f"{opt.CLUSTERS[1]} By default 8, or what --clusterer chooses."
    )
    delete: str = option(*opt.DELETE, default="1,1%,5%")
    sample: int | None = option(
        "--sample N", "Measure on a sample of N rows; by default 1,000.", min=2
    )
    full: opt.Full = False
    by_stage: bool = option(
        "--by-stage",
        "Also measure with the preparation held, or with the steps of a Pipeline held, to show what "
        "each adds.",
        False,
    )
    metric: str = option(
        "--metric",
        "euclidean, or precomputed: the table holds the distances between its rows.",
        "euclidean",
    )
    checkpoint: str | None = option(
        "--checkpoint FOLDER",
        "Keep measurements in this folder, so that the same command can resume.",
    )
    out: str | None = option("--out -o FILE", "Also write the table to this file.")
    force: opt.Force = False

    @property
    def by_distance(self) -> bool:
        """Whether the table has distances."""
        return self.metric == "precomputed"

    @property
    def ks(self) -> tuple[int, ...]:
        """The numbers of clusters that are measured."""
        return opt.parse_counts(self.clusters or "8")

    @property
    def most(self) -> int | None:
        """How many rows are measured; None for all."""
        return None if self.full else self.sample or SAMPLE_ROWS

    def names(self, sparse: bool) -> tuple[str, ...]:
        """List the methods that are measured, of those for such data."""
        known = [name for name in METHODS if METHODS[name].by_distance or not self.by_distance]
        known = [name for name in known if METHODS[name].sparse or not sparse]
        if not self.methods:
            return tuple(name for name in COMPARED_METHODS if name in known)
        names = opt.parse_names("--methods", self.methods)
        kind = " of distances" if self.by_distance else " of sparse rows" if sparse else ""
        for name in (name for name in names if name not in known):
            needs = kind if name in METHODS else ""
            raise InputError(f"--methods{needs} must be some of {', '.join(known)}; got {name!r}.")
        return names

    def check(self) -> None:
        """Refuse what cannot be measured before the data are read."""
        opt.parse_amounts(self.delete)
        if self.metric not in ("euclidean", "precomputed"):
            raise InputError(f"--metric must be euclidean or precomputed; got {self.metric!r}.")
        own = self.clusterer is not None
        for wrong, told in (
            (own and self.methods, "give --methods or --clusterer, not both."),
            (not own and self.text is not None, "--text needs --clusterer, which gets the texts."),
            (
                self.by_stage and self.by_distance,
                "--by-stage needs a table; distances have no steps.",
            ),
            (self.full and self.sample is not None, "give --full or --sample, not both."),
        ):
            if wrong:
                raise InputError(told)
        if self.checkpoint is not None and Path(self.checkpoint).is_file():
            raise InputError(f"--checkpoint {self.checkpoint} is a file; expected a folder.")


def audit(
    data: opt.DataFile,
    read: opt.ReadOptions,
    column: opt.ColumnOptions,
    how: opt.MeasureOptions,
    asked: AuditOptions,
    display: opt.DisplayOptions,
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
    console = Console("audit", display, table_on_stdout=asked.out == "-" and not display.json)
    asked.check()
    names = asked.names(sparse=data.lower().endswith(".npz"))
    ks = asked.ks
    opt.check_seed(how.seed)
    check_outputs({"--out": (asked.out, STREAM_ENDINGS)}, force=asked.force, inputs=(data,))
    measured = {"trials": how.trials, "repeats": how.repeats, "seed": how.seed}
    if asked.clusterer is not None:
        raw = inputs.read_raw(data, read, column, asked.text, asked.by_distance, console)
        some = raw.take(inputs.choose_rows(raw.n_rows, asked.most, how.seed, console))
        records, told = measure_clusterer(asked.clusterer, some, how, asked, console)
        _show({**measured, **told}, records, {}, Measured(some.rows, raw.n_rows), asked, console)
        return
    found = _read(data, read, column, asked, how.seed, console)
    rows = found.rows
    check_quadratic(rows.shape[0], names)
    inputs.check_counts(ks, rows.shape[0])
    records = []
    failed: dict[str, str] = {}
    with (
        console.progress("measuring") as progress,
        Progress(progress, len(names), "methods") as shown,
    ):
        for number, name in enumerate(names, start=1):
            part = shown.part(f"{name} ({number} of {len(names)})")
            try:
                records += measure_method(name, found, asked, how, part)
            except (RuntimeError, MemoryError) as error:
                failed[name] = str(error) or "not enough memory"
            shown.advance()
    relate_costs(records, rows, asked.by_distance)
    _show(measured, records, failed, found, asked, console)


def _read(
    data: str, read: opt.ReadOptions, column: opt.ColumnOptions, asked: AuditOptions, seed: int,
    console: Console,
) -> Measured:  # fmt: skip
    """Read the rows that are measured, or the distances between them."""
    if data.lower().endswith(".npz"):
        sparse = inputs.read_sparse_file(data, column)
        console.notice(f"{data}: {sparse.shape[0]:,} sparse rows, used as they are.")
        chosen = inputs.choose_rows(sparse.shape[0], asked.most, seed, console)
        return Measured(sparse[chosen], sparse.shape[0])
    if asked.by_distance:
        distances = inputs.read_distances(data, read, column, console)
        chosen = inputs.choose_rows(distances, asked.most, seed, console)
        return Measured(distances[chosen][:, chosen], distances.shape[0])
    from holdfast.clusterers.adapt import prepare_again

    dataset = inputs.read_dataset(data, read, column, console)
    chosen = inputs.choose_rows(dataset.rows, asked.most, seed, console)

    def again(clusterer: Any, name: str) -> Any:
        return prepare_again(dataset, chosen, clusterer, column.scale(name))

    described = dataset.preparation.to_json()
    return Measured(dataset.rows[chosen], int(dataset.used.size), described, again)


def _show(
    measured: dict[str, Any],
    records: list[dict[str, Any]],
    failed: dict[str, str],
    found: Measured,
    asked: AuditOptions,
    console: Console,
) -> None:
    out, deletes = asked.out, list(dict.fromkeys(r["delete"] for r in records))  # as asked for
    records.sort(key=lambda r: (r["k"] or 0, deletes.index(r["delete"]), r["mean"]))
    if records and out is not None and not (out == "-" and console.display.json):
        write_table(out, pa.Table.from_pylist(records))
    if console.display.json:
        rows = {"n_rows": found.n_rows, "n_used": found.n_used}
        record = {**rows, "preparation": found.preparation, "measure": "moved_fraction", **measured}
        files = {"out": None if out == "-" else out}
        console.show_json({**record, "results": records, "failed": failed, "files": files})
    elif records:
        _show_table(records, asked, console)
    if failed:
        told = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise IncompleteResult(f"{len(failed)} of the methods failed. {told}")


def _show_table(records: list[dict[str, Any]], asked: AuditOptions, console: Console) -> None:
    """Print records, and lines that say what the columns are."""
    own = asked.clusterer is not None
    held = [name for name in records[0] if name.startswith("held")]
    columns = [("clusters", "clusters", ""), ("removed", "delete", "")]
    columns += [("clusterer" if own else "method", "method", "")]
    columns += [("moved", "mean", ".1%"), ("±", "standard_error", ".1%")]
    columns += [(name.replace("held_", "after "), name, ".1%") for name in held]
    for record in records:
        record["clusters"] = record["k"] or f"{record['clusters_found']:.3g} found"
    console.show_records([*columns, *(_INDICES if own else _COSTS)], records)
    told = (
        [_ABOUT + _ABOUT_STEPS * bool(held)] if own else [_ABOUT_HELD] * bool(held) + [_ABOUT_COST]
    )
    for line in told:
        console.show_line(line)
