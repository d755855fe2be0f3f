"""``holdfast reproduce``: the paper's experiments, from configuration to verdicts."""

from holdfast.cli.console import Console, input_errors
from holdfast.cli.options import (
    DisplayOptions,
    Jobs,
    option,
    parse_names,
)

EXAMPLES = ("holdfast reproduce --quick --panels datasets --out results",)


def reproduce(
    display: DisplayOptions,
    quick: bool = option(False, "--quick", "Run fewer trials, for a first look."),
    panels: str | None = option(
        None, "--panels A,B,...", "Run only these figures; by default all."
    ),
    data_dir: str | None = option(None, "--data-dir FOLDER", "Folder with the data sets."),
    raw: bool = option(False, "--raw", "Keep all dimensions of the data sets."),
    seed: int = option(2025, "--seed", "Random seed; the default gives the committed results."),
    jobs: Jobs = -1,
    out: str = option("results", "--out -o FOLDER", "Folder for all results."),
    profile: str | None = option(None, "--profile", "For tests.", hidden=True),
) -> None:
    """Run the experiments of the paper and judge each of its claims.

    Finished parts are kept in the folder, so the same command can resume after an interruption.
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
