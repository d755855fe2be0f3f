"""``holdfast report``, ``tune`` and ``reproduce``: a page, a search, the paper's experiments."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine import np
from holdfast._machine.work import Progress
from holdfast.cli import options as opt
from holdfast.cli.console import Console, IncompleteResult, InputError, input_errors
from holdfast.cli.inputs import check_counts, check_method, read_dataset
from holdfast.cli.options import option
from holdfast.clusterers import METHODS
from holdfast.tables.errors import count, list_columns, show_name
from holdfast.tables.write import check_outputs, write_file

if TYPE_CHECKING:
    from holdfast.report import Report
    from holdfast.stability import EpsilonSearch
    from holdfast.tables.dataset import Dataset

REPORT_EXAMPLES = ("holdfast report wine.csv -k 4 --methods ward --trials 3 --out report.html",)
TUNE_EXAMPLES = (
    "holdfast tune wine.csv --clusters 4 --target-moved 10% --trials 5",
    "holdfast tune wine.csv -k 4 --max-cost-ratio 1.2 --trials 3 --json",
)
_CURVE = (
    ("epsilon", "epsilon", ".4g"), ("moved", "moved_fraction", ".1%"),
    ("±", "standard_error", ".1%"), ("cost", "cost", ".6g"), ("ratio", "cost_ratio", ".3f"),
)  # fmt: skip
REPRODUCE_EXAMPLES = ("holdfast reproduce --quick --panels datasets --out results",)
_MOST_NAMES = 40
_MOST_SCALES = 16


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
        "title": Path(data).name,
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
    _show_page(page.to_dict(), out, console)


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


def _show_page(page: dict[str, Any], out: str, console: Console) -> None:
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


def tune(
    data: opt.DataFile,
    read: opt.ReadOptions,
    column: opt.ColumnOptions,
    how: opt.MeasureOptions,
    display: opt.DisplayOptions,
    clusters: int = option("--clusters -k", "Number of clusters.", 8, min=1),
    target_moved: str | None = option(
        "--target-moved FRACTION",
        "Find the cheapest epsilon at which at most this fraction of the remaining rows "
        "changes cluster.",
    ),
    max_cost_ratio: float | None = option(
        "--max-cost-ratio",
        "Find the most stable epsilon that costs at most this many times as much as epsilon 0.",
    ),
    delete: str = option("--delete N|N%", "How many rows to remove: a number or a fraction.", "5%"),
    method: opt.MethodOption = "means",
) -> None:
    """Find the epsilon that meets a target, and show the whole curve.

    Give --target-moved or --max-cost-ratio. If no epsilon meets the target, the exit code is 1.
    """
    console = Console("tune", display)
    if (target_moved is None) == (max_cost_ratio is None):
        raise InputError("give --target-moved (such as 5%) or --max-cost-ratio (such as 1.1).")
    target = None if target_moved is None else opt.parse_fraction("--target-moved", target_moved)
    amounts = opt.parse_amounts(delete)
    if len(amounts) != 1:
        raise InputError(f"--delete must be one number or fraction here; got {delete!r}.")
    check_method(method)
    opt.check_seed(how.seed)
    dataset = read_dataset(data, read, column, console, method=method)
    options: dict[str, Any] = {"method": method, "column_scale": dataset.preparation.scale}
    estimator = holdfast.HierarchicalKMedian(clusters, max_centers=clusters, **options)
    check_counts((clusters,), dataset.rows.shape[0])
    what = "trying values of epsilon"
    with (
        console.progress(what) as progress,
        Progress(progress, 1.0, what=what) as shown,
        input_errors(),
    ):
        search = holdfast.tune_epsilon(
            estimator, dataset.rows, clusters, target_sensitivity=target,
            max_cost_ratio=max_cost_ratio, delete=amounts[0], trials=how.trials,
            repeats=how.repeats, n_jobs=how.jobs, random_state=how.seed, progress=shown.part(what),
        )  # fmt: skip
    _show_search(search, clusters, delete, method, console)


def _show_search(
    search: "EpsilonSearch", k: int, delete: str, method: str, console: Console
) -> None:
    values = (
        search.epsilons, search.sensitivity, search.standard_error, search.cost, search.cost_ratio,
    )  # fmt: skip
    keys = [key for _, key, _ in _CURVE]
    points = zip(*(column.tolist() for column in values), strict=True)
    curve = [dict(zip(keys, point, strict=True)) for point in points]
    if console.display.json:
        target = "moved_fraction" if search.target == "sensitivity" else "cost_ratio"
        found = {"k": k, "delete": delete, "method": method, "target": target}
        found |= {name: getattr(search, name) for name in ("limit", "epsilon", "message")}
        console.show_json({**found, "curve": curve})
    else:
        marked = [{**p, "chosen": "chosen" * (p["epsilon"] == search.epsilon)} for p in curve]
        console.show_records((*_CURVE, ("", "chosen", "")), marked)
    if search.epsilon is None:
        raise IncompleteResult(f"{search.message}.")
    if not console.display.json:
        use = f"holdfast fit --method {method} --epsilon {search.epsilon:.6g}"
        console.show_line(f"{search.message}. Use it with: {use}")


def reproduce(
    display: opt.DisplayOptions,
    quick: bool = option("--quick", "Run fewer trials, for a first look.", False),
    panels: str | None = option("--panels A,B,...", "Run only these figures; by default all."),
    data_dir: str | None = option("--data-dir FOLDER", "Folder with the data sets."),
    raw: bool = option("--raw", "Keep all dimensions of the data sets.", False),
    seed: int = option("--seed", "Random seed; the default gives the committed results.", 2025),
    jobs: opt.Jobs = -1,
    out: str = option("--out -o FOLDER", "Folder for all results.", "results"),
    profile: str | None = option("--profile", "For tests.", hidden=True),
) -> None:
    """Run the experiments of the paper and judge each of its claims.

    Finished parts are kept in the folder, so the same command can resume after an interruption.
    """
    from holdfast_paper import reproduce as run_experiments

    console = Console("reproduce", display)
    chosen = list(opt.parse_names("--panels", panels)) or None
    with input_errors():
        found = run_experiments(
            out, quick=quick, data_dir=data_dir, n_jobs=jobs, panels=chosen, raw=raw,
            progress=not display.quiet, seed=seed, profile=profile,
        )  # fmt: skip
    if display.json:
        verdicts = [
            {"claim": dict(v.claim), "verdict": v.verdict, "note": v.note} for v in found.verdicts
        ]
        console.show_json({"verdicts": verdicts, "missing": found.missing, "files": {"out": out}})
        return
    console.show_table(
        ["claim", "verdict", "statement"],
        [[v.claim["id"], v.verdict, v.claim["statement"]] for v in found.verdicts],
    )
    console.notice(f"wrote {out}")
