"""``holdfast tune``: the epsilon that moves little enough, or costs little enough."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import ColumnOptions, DataFile, MeasureOptions, ReadOptions, TalkOptions
from holdfast.cli.parse import check_counts, parse_amounts, parse_cost, parse_seed, parse_share
from holdfast.cli.problems import InputProblem, Unsuccessful, blame_input

if TYPE_CHECKING:
    from holdfast.stability import EpsilonSearch

__all__ = ["EXAMPLES", "tune"]

EXAMPLES = (
    "holdfast tune wine.csv --clusters 4 --target-moved 10% --trials 5",
    "holdfast tune wine.csv -k 4 --max-cost-ratio 1.2 --trials 3 --json",
)


def tune(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    how: MeasureOptions,
    talk: TalkOptions,
    clusters: Annotated[
        int, typer.Option("--clusters", "-k", min=1, help="Number of clusters.")
    ] = 8,
    target_moved: Annotated[
        str | None,
        typer.Option(
            "--target-moved",
            metavar="SHARE",
            help="At most this share of the remaining rows may change cluster: the cheapest epsilon.",
        ),
    ] = None,
    max_cost_ratio: Annotated[
        float | None,
        typer.Option(
            "--max-cost-ratio",
            help="The cost may be so many times that of greedy centers: the steadiest epsilon.",
        ),
    ] = None,
    delete: Annotated[
        str, typer.Option("--delete", metavar="N|N%", help="How many rows go: a number or a share.")
    ] = "5%",
    cost: Annotated[str, typer.Option("--cost", help="tree, euclidean or refined.")] = "tree",
) -> None:
    """Find the epsilon that meets a target, and show the whole curve.

    Give --target-moved or --max-cost-ratio. Where no epsilon meets the target, the exit code is 1.
    """
    from holdfast import HierarchicalKMedian, tune_epsilon
    from holdfast.cli.dataset import announce, prepare_table
    from holdfast.cli.tables import read_table

    console = Console("tune", talk)
    if (target_moved is None) == (max_cost_ratio is None):
        raise InputProblem("give --target-moved (such as 5%) or --max-cost-ratio (such as 1.1).")
    share = None if target_moved is None else parse_share("--target-moved", target_moved)
    amounts = parse_amounts(delete)
    if len(amounts) != 1:
        raise InputProblem(f"--delete must be one number or share here; got {delete!r}.")
    estimator = HierarchicalKMedian(clusters, max_centers=clusters, **parse_cost(cost))
    parse_seed(how.seed)
    dataset = prepare_table(read_table(data, read, console), column, console)
    announce(dataset, console)
    check_counts((clusters,), dataset.rows.shape[0])
    with console.bar("trying values of epsilon") as bar, blame_input():
        search = tune_epsilon(
            estimator, dataset.rows, clusters, target_sensitivity=share,
            max_cost_ratio=max_cost_ratio, delete=amounts[0], trials=how.trials, repeats=how.repeats,
            n_jobs=how.jobs, random_state=how.seed, progress=lambda _, done, total: bar.update(done, total or 1.0),
        )  # fmt: skip
    _show(search, clusters, delete, console)


def _show(search: "EpsilonSearch", k: int, delete: str, console: Console) -> None:
    points = [
        {
            "epsilon": float(search.epsilons[i]),
            "moved_fraction": float(search.sensitivity[i]),
            "standard_error": float(search.standard_error[i]),
            "cost": float(search.cost[i]),
            "cost_ratio": float(search.cost_ratio[i]),
        }
        for i in range(search.epsilons.size)
    ]
    if console.talk.json:
        console.show_json(
            {
                "k": k,
                "delete": delete,
                "target": "moved_fraction" if search.target == "sensitivity" else "cost_ratio",
                "limit": search.limit,
                "epsilon": search.epsilon,
                "message": search.message,
                "curve": points,
            }
        )
    else:
        console.show_table(
            ["epsilon", "moved", "±", "cost", "ratio", ""],
            [
                [
                    f"{p['epsilon']:.4g}",
                    f"{p['moved_fraction']:.1%}",
                    f"{p['standard_error']:.1%}",
                    f"{p['cost']:.6g}",
                    f"{p['cost_ratio']:.3f}",
                    "chosen" if p["epsilon"] == search.epsilon else "",
                ]
                for p in points
            ],
        )
    if search.epsilon is None:
        raise Unsuccessful(f"{search.message}.")
    if not console.talk.json:
        console.say(f"{search.message}. Use it with: holdfast fit --epsilon {search.epsilon:.6g}")
