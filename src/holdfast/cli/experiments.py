"""``holdfast tune`` and ``holdfast reproduce``: experiments with epsilon, and those of the paper."""

from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine.work import Progress
from holdfast.cli import options as opt
from holdfast.cli.console import Console, IncompleteResult, InputError, input_errors
from holdfast.cli.inputs import check_counts, check_method, read_dataset
from holdfast.cli.options import option

if TYPE_CHECKING:
    from holdfast.stability import EpsilonSearch

TUNE_EXAMPLES = (
    "holdfast tune wine.csv --clusters 4 --target-moved 10% --trials 5",
    "holdfast tune wine.csv -k 4 --max-cost-ratio 1.2 --trials 3 --json",
)
_CURVE = (
    ("epsilon", "epsilon", ".4g"), ("moved", "moved_fraction", ".1%"),
    ("±", "standard_error", ".1%"), ("cost", "cost", ".6g"), ("ratio", "cost_ratio", ".3f"),
)  # fmt: skip
REPRODUCE_EXAMPLES = ("holdfast reproduce --quick --panels datasets --out results",)


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
    _show(search, clusters, delete, method, console)


def _show(search: "EpsilonSearch", k: int, delete: str, method: str, console: Console) -> None:
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
