"""``holdfast reproduce``: the paper's experiments, from configuration to verdicts."""

from typing import Annotated

import typer

from holdfast.cli.console import Console
from holdfast.cli.errors import input_errors
from holdfast.cli.options import DisplayOptions, Jobs, parse_names

__all__ = ["EXAMPLES", "reproduce"]

EXAMPLES = ("holdfast reproduce --quick --panels datasets --out results",)


def reproduce(
    display: DisplayOptions,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run fewer trials, in under three minutes.")
    ] = False,
    panels: Annotated[
        str | None,
        typer.Option("--panels", metavar="A,B,...", help="Run some of the figures; default all."),
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option("--data-dir", metavar="FOLDER", help="Folder of data sets to use."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Keep all dimensions of the data sets.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed; the default gives the committed results.")
    ] = 2025,
    jobs: Jobs = -1,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for all results.")
    ] = "results",
    profile: Annotated[
        str | None, typer.Option("--profile", hidden=True, help="For tests.")
    ] = None,
) -> None:
    """Run the experiments of the paper and judge each of its claims.

    Finished parts are kept in the folder: the same command continues after an interruption.
    """
    from holdfast_paper import reproduce as run_experiments

    console = Console("reproduce", display)
    chosen = list(parse_names("--panels", panels)) or None
    with input_errors():
        found = run_experiments(
            out,
            quick=quick,
            data_dir=data_dir,
            n_jobs=jobs,
            panels=chosen,
            raw=raw,
            progress=not display.quiet,
            seed=seed,
            profile=profile,
        )
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
