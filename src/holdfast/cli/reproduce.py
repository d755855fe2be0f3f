"""``holdfast reproduce``: the paper's experiments, from configuration to verdicts."""

import sys
from typing import Annotated

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import TalkOptions
from holdfast.cli.parse import parse_names
from holdfast.cli.problems import blame_input

__all__ = ["EXAMPLES", "reproduce"]

EXAMPLES = ("holdfast reproduce --quick --panels datasets --out results",)


def reproduce(
    talk: TalkOptions,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look, under three minutes: fewer trials.")
    ] = False,
    panels: Annotated[
        str | None,
        typer.Option("--panels", metavar="A,B,...", help="Some of the figures; all if not given."),
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option("--data-dir", metavar="FOLDER", help="Data sets that are not installed."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Keep all dimensions of the data sets.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="That of the committed results.")] = 2025,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes; -1 is all cores. They change no number.")
    ] = -1,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where everything is written.")
    ] = "results",
) -> None:
    """Run the experiments of the paper and judge each of its claims.

    Finished pieces are kept in the folder: the same command continues after an interruption.
    """
    from holdfast_paper import reproduce as run_experiments

    console = Console("reproduce", talk)
    with blame_input():
        found = run_experiments(
            out,
            quick=quick,
            data_dir=data_dir,
            n_jobs=jobs,
            panels=list(parse_names("--panels", panels)) or None,
            raw=raw,
            progress=not talk.quiet and sys.stderr.isatty(),
            seed=seed,
        )
    if talk.json:
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
