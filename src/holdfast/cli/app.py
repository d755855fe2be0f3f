"""The program: its commands and its help."""

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from holdfast.cli import (
    audit,
    cut,
    demo,
    diff,
    fit,
    match,
    predict,
    report,
    reproduce,
    tune,
    update,
)
from holdfast.cli.options import spread_groups
from holdfast.cli.program import guard_command

__all__ = ["app"]

_HELP = (
    "Hierarchical clustering that stays put: from a file to an answer.\n\n"
    "Results go to standard output, everything else to standard error. Exit codes: 0 ok, 2 wrong "
    "use or input, 1 anything else."
)

_EXAMPLES = (
    "holdfast demo --data example.csv",
    "holdfast fit example.csv --clusters 4,8 --out clusters.csv",
)


def _list_examples(examples: tuple[str, ...]) -> str:
    # Lines are joined and wrapped anew by the terminal's width; blank lines keep examples apart.
    return "\n\n".join(["Examples:", *(f"$ {example}" for example in examples)])


app = typer.Typer(
    name="holdfast",
    help=_HELP,
    epilog=_list_examples(_EXAMPLES),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from holdfast import __version__

        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def _take_general_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def _add(name: str, command: Callable[..., None], examples: tuple[str, ...]) -> None:
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    app.command(name, help=text, epilog=_list_examples(examples))(
        guard_command(spread_groups(command))
    )


_add("fit", fit.fit, fit.EXAMPLES)
_add("predict", predict.predict, predict.EXAMPLES)
_add("cut", cut.cut, cut.EXAMPLES)
_add("update", update.update, update.EXAMPLES)
_add("diff", diff.diff, diff.EXAMPLES)
_add("audit", audit.audit, audit.EXAMPLES)
_add("tune", tune.tune, tune.EXAMPLES)
_add("match", match.match, match.EXAMPLES)
_add("report", report.report, report.EXAMPLES)
_add("reproduce", reproduce.reproduce, reproduce.EXAMPLES)
_add("demo", demo.demo, demo.EXAMPLES)
