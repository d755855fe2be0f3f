"""``holdfast follow``: yesterday's model and today's table -> the same clusters today."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast._machine import np, pa
from holdfast.cli import inputs
from holdfast.cli import options as opt
from holdfast.cli.ask import open_lineage
from holdfast.cli.console import BindingBudget, Console, InputError, input_errors
from holdfast.cli.labels import describe_costs, show_labels
from holdfast.cli.options import option
from holdfast.tables.errors import explain_writing
from holdfast.tables.write import TABLE_ENDINGS, Outputs, check_outputs

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.lineage import Lineage
    from holdfast.tables.dataset import Dataset

EXAMPLES = (
    "holdfast follow wine.holdfast wine.csv --budget 5% --out followed.csv",
    "holdfast follow wine.holdfast wine.csv --dry-run",
    "holdfast follow wine.holdfast wine.csv -o l.csv --lineage wine.lineage",
)

_LEVELS = (
    ("clusters", "k", ""), ("moved", "moved", ".2%"), ("cost", "cost", ".4g"),
    ("of one", "cost_of_one", ".1%"), ("of staying", "cost_to_staying", ".1%"),
    ("of a new fit", "cost_to_fresh", ".1%"),
)  # fmt: skip
_FIRST = "start"  # the release that a new lineage begins with


@dataclass(frozen=True)
class FollowOptions:
    """How much may move."""

    levels: str | None = option(
        "--levels K,K,...", "Numbers of clusters to follow; by default those of the model."
    )
    price: float = option(
        "--price",
        "Price of a move. With 0.25, moving 4% of the rows must lower the cost by more than 1%.",
        0.25,
    )
    budget: str | None = option(
        "--budget F%",
        "At most this fraction of the remaining rows may change cluster. Exit code 3 if more would.",
    )
    tolerance: str | None = option(
        "--tolerance F%",
        "Keep the cost within this fraction of that of a new fit, and move as few rows as that allows.",
    )
    dry_run: bool = option("--dry-run", "Only show what would move; write nothing.", False)


@dataclass(frozen=True)
class KeepOptions:
    """What is written besides labels."""

    panel = opt.OUTPUT
    to: str | None = option(
        "--model FILE", "Save today's model. With --force, it may be MODEL itself."
    )
    lineage: str | None = option(
        "--lineage FOLDER",
        "Append today's model to this lineage; if there is none, start it with MODEL.",
    )
    label: str | None = option("--label", "Name of the release; by default the date.")
    staleness: bool = option(
        "--staleness",
        "Also fit again, and record in the lineage how far the model is from that fit.",
        False,
    )


def follow(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Yesterday's model: a file from fit or follow, or a lineage, whose latest model is "
            "followed.",
            show_default=False,
        ),
    ],
    data: opt.DataFile,
    read: opt.ReadOptions,
    how: FollowOptions,
    keep: KeepOptions,
    output: opt.OutputOptions,
    display: opt.DisplayOptions,
    id: str | None = option("--id COLUMN", opt.ID),
    weights: opt.Weights = None,
) -> None:
    """Cluster today's table and keep yesterday's clusters.

    Rows are recognized by their ids, or by their values in a model without ids. They change cluster
    only if that lowers the cost enough. The columns cluster_K hold lasting names: a cluster keeps its
    name, and the name of a cluster that ended is never used again. The column held marks rows that
    would be in another cluster if moving were free.

    The exit code is 3 if the budget kept rows from moving; all results are still written.
    """
    on_stdout = output.out == "-" and not (display.json or how.dry_run)
    console = Console("follow", display, table_on_stdout=on_stdout)
    options = _read_options(how)
    in_lineage = os.path.isdir(model)
    series = _choose_lineage(model, keep, in_lineage)
    same = keep.to is not None and os.path.realpath(keep.to) == os.path.realpath(model)
    _check_outputs(model, data, output, keep, same=same)
    with inputs.hold_model(model, console, replaced=same) as check:
        if in_lineage and series is not None:
            before = _read_latest(series, how, keep, console)
        else:
            before = inputs.load_model(model, rows_for="followed")
        dataset = _read(data, read, before, id, weights, console)
        with console.progress(f"following {dataset.rows.shape[0]:,} rows") as progress:
            today = _follow(before, dataset, options, progress)
        if series is not None and not how.dry_run:
            _append(series, before, today, keep, console)
        check()
        if keep.to is not None and not how.dry_run:
            inputs.save_model(today, keep.to)
    record = _describe(today)
    if not how.dry_run:
        _write_labels(console, today, dataset, record, output.out, keep, series)
    elif display.json:
        console.show_json({"dry_run": True, **record})
    _show_summary(console, today, record, dry_run=how.dry_run)


def _show_summary(console: Console, today: Any, record: dict[str, Any], *, dry_run: bool) -> None:
    """Say what moved; end with another exit code if the budget kept rows from moving."""
    from holdfast.lineage.show import describe_follow

    report = today.follow_
    if not console.display.json:
        console.show_line(describe_follow(report, today.events_, dry_run=dry_run))
        console.show_records(_LEVELS, record["levels"])
    if report.budget_binds:
        raise BindingBudget(
            f"the budget of {report.budget:.2%} binds: more rows would move without it."
        )


def _read_options(how: FollowOptions) -> dict[str, Any]:
    if not 0.0 <= how.price < float("inf"):
        raise InputError(f"--price must be a number of at least 0; got {how.price}.")
    found: dict[str, Any] = {"price": how.price}
    if how.levels is not None:
        found["levels"] = opt.parse_counts(how.levels, "--levels")
    for name, text in (("budget", how.budget), ("tolerance", how.tolerance)):
        if text is not None:
            found[name] = opt.parse_fraction(f"--{name}", text)
    return found


def _choose_lineage(model: str, keep: KeepOptions, in_lineage: bool) -> "Lineage | None":
    other = keep.lineage is not None and os.path.realpath(keep.lineage) != os.path.realpath(model)
    if in_lineage and other:
        raise InputError(
            f"{model} is a lineage, to which today's model is appended. Leave out --lineage."
        )
    path = model if in_lineage else keep.lineage
    if path is None:
        if keep.label is not None or keep.staleness:
            raise InputError("--label and --staleness describe a release; add --lineage.")
        return None
    series = open_lineage(path)
    if in_lineage and not len(series):
        raise InputError(f"{path} is a folder without releases; expected a model or a lineage.")
    return series


def _read_latest(
    series: "Lineage", how: FollowOptions, keep: KeepOptions, console: Console
) -> "HierarchicalKMedian":
    """Read the model to follow; to repeat the run of the latest release, the one before it."""
    label = datetime.now(UTC).date().isoformat() if keep.label is None else keep.label
    again = len(series) > 1 and series.labels[-1] == label and not how.dry_run
    if again:
        console.notice(f"release {label} exists already; following the one before it again.")
    with input_errors():
        return series[-2 if again else -1].model()


def _check_outputs(
    model: str, data: str, output: opt.OutputOptions, keep: KeepOptions, *, same: bool
) -> None:
    if same and not output.force:
        raise InputError(f"--model {keep.to} is the model that is followed; add --force.")
    sources = (data,) if same else (model, data)
    outputs: Outputs = {"--out": (output.out, TABLE_ENDINGS), "--model": (keep.to, ())}
    if keep.lineage is not None and not os.path.isdir(keep.lineage):
        outputs["--lineage"] = (keep.lineage, ())
    check_outputs(outputs, force=output.force, inputs=sources)


def _read(
    data: str,
    read: opt.ReadOptions,
    model: "HierarchicalKMedian",
    id: str | None,
    weights: str | None,
    console: Console,
) -> "Dataset":
    dataset = inputs.read_as(data, read, model, console, id, weights=weights)
    if dataset.id_name is None and model.ids_ is not None:
        known = inputs.table_of(model).id_name
        raise InputError(
            f"the model has ids{f' of column {known}' if known else ''}, but {data} has no such "
            "column; name the column that identifies rows with --id."
        )
    return dataset


def _follow(
    model: "HierarchicalKMedian", dataset: "Dataset", options: dict[str, Any], progress: Any
) -> Any:
    if "levels" not in options:
        most = model.hierarchy_.n_centers
        options = {**options, "levels": [k for k in inputs.table_of(model).cuts if k <= most]}
    with input_errors():
        return model.set_params(verbose=progress).follow(
            dataset.values, ids=dataset.used_ids, sample_weight=dataset.weight, **options
        )


def _append(
    series: "Lineage", before: Any, today: Any, keep: KeepOptions, console: Console
) -> None:
    """Append today's model; a new lineage begins with yesterday's."""
    staleness = None
    if keep.staleness:
        with console.progress("fitting again"):
            staleness = today.staleness()
    with explain_writing(str(series.path)), input_errors():
        if not len(series):
            series.append(before, label=_FIRST, levels=today.follow_.levels)
        series.append(today, label=keep.label, staleness=staleness)


def _describe(today: "HierarchicalKMedian") -> dict[str, Any]:
    """Describe a followed model, for JSON and the summary."""
    report, events = today.follow_, today.events_
    names = ("n_survivors", "n_new", "n_left", "budget", "budget_binds", "tolerance_exceeded")
    ratios = (report.cost / report.cost_of_staying, report.cost / report.fresh_cost)
    measured = zip(report.levels, report.moved, *ratios, strict=True)
    costs = describe_costs(today, report.levels)
    return {
        **{name: getattr(report, name) for name in names},
        "levels": [
            {"k": k, "moved": moved, **costs[k], "cost_to_staying": stay, "cost_to_fresh": fresh}
            for k, moved, stay, fresh in measured
        ],
        "events": [dict(zip(events.dtype.names, event, strict=True)) for event in events.tolist()],
    }


def _write_labels(
    console: Console, today: Any, dataset: "Dataset", record: dict[str, Any], out: str,
    keep: KeepOptions, series: Any,
) -> None:  # fmt: skip
    hierarchy, report = today.hierarchy_, today.follow_
    names = {k: hierarchy.names(k)[hierarchy.cut(k)] for k in report.levels}
    table = dataset.label(names, hierarchy.center_indices)
    held = np.full(table.num_rows, None)
    held[dataset.used] = today.held_
    table = table.append_column("held", pa.array(held, type=pa.bool_()))
    counts = {"n_rows": table.num_rows, "n_used": int(dataset.rows.shape[0])}
    others = {"model": keep.to, "lineage": None if series is None else os.fspath(series.path)}
    show_labels(console, {**counts, **record}, table, out, others)
