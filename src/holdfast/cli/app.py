"""The program: its commands, its help, and how it ends."""

import functools
import inspect
import io
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from holdfast.cli import (
    ask,
    audit,
    changes,
    demo,
    fit,
    follow,
    labels,
    match,
    measure,
    options,
)
from holdfast.cli.console import (
    FAILURE,
    PIPE_CLOSED,
    TERMINATED,
    describe_error,
    printable,
    silence_broken_pipes,
)

_HELP = (
    "Hierarchical clustering that stays put: from a file to an answer.\n\n"
    "Results go to standard output, everything else to standard error. Exit codes: 0 success, "
    "2 wrong usage or input, 3 a budget binds (follow), 1 any other failure."
)

_EXAMPLES = (
    "holdfast demo --data example.csv",
    "holdfast fit example.csv --clusters 4,8 --out clusters.csv",
)

# Signals that asked the program to end. What then comes out of libraries in the middle of their work
# may be another exception than the one that was raised.
_end_requests: list[int] = []


def run_program(arguments: list[str]) -> int:
    """Run ``holdfast`` with these arguments; return the exit code.

    0 success, 2 wrong usage or input, 3 a budget binds, 1 any other failure; 130 after Ctrl-C, 141
    where the reader of a pipe has closed it and 143 after a request to terminate, as in shells.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = 0
    try:
        typer.main.get_command(app).main(args=arguments, prog_name="holdfast")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILURE if end.code else 0
    if _end_requests:
        code = TERMINATED
    silence_broken_pipes()
    return code


def unwind_on_termination() -> None:
    """End by an exception on SIGTERM too, so that temporary files are removed."""

    def stop(number: int, frame: object) -> None:
        _end_requests.append(number)
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, stop)
    sys.unraisablehook = _repeat_request


def _repeat_request(ignored: "sys.UnraisableHookArgs") -> None:
    """Repeat a request to end that came where Python ignores exceptions, as while it forks."""
    signals = {SystemExit: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}
    number = signals.get(ignored.exc_type)
    if number is None:
        sys.__unraisablehook__(ignored)
    else:
        threading.Timer(0.05, signal.raise_signal, (number,)).start()


def buffer_output() -> None:
    """Make sure that whole results are written.

    With PYTHONUNBUFFERED set, standard output is a raw file: Python gives up after the first part
    of a long text that a pipe takes, without an error.
    """
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(sys.stdout.fileno(), "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def guard_command(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that nothing but an exit code leaves it."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        debug, quiet = values.get("debug", False), values.get("quiet", False)
        code = 0

        def show_warning(message: Warning | str, *rest: Any) -> None:
            if not quiet:
                print(f"holdfast: warning: {printable(str(message))}", file=sys.stderr, flush=True)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = show_warning  # type: ignore[assignment]
                command(**values)
                sys.stdout.flush()
        except BrokenPipeError:
            code = PIPE_CLOSED
        except BaseException as error:
            # Typer ends help, completion and wrong usage by exceptions of its own (once click's).
            package = type(error).__module__.partition(".")[0]
            if isinstance(error, SystemExit) or package in ("typer", "click"):
                raise
            code = TERMINATED if _end_requests and not debug else _report(error, debug)
        if code:
            silence_broken_pipes()
            sys.exit(code)

    return run


def _report(error: BaseException, debug: bool) -> int:
    text, code = describe_error(error, debug)
    try:
        print(f"holdfast: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        pass
    return code


def spread_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter of `command` that is a group of options into one parameter a field.

    Typer builds its options from the signature; so commands share groups of options without
    repeating them.
    """
    hints = get_type_hints(command, localns=vars(options), include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            group = groups[name]
            inside = get_type_hints(group, include_extras=True)
            parameters += [_declare(f.name, inside[f.name], f, group) for f in fields(group)]
        else:
            parameters.append(_declare(name, hints[name], parameter.default))

    @functools.wraps(command)
    def call(**values: Any) -> None:
        given: dict[str, Any] = {}
        for name, group in groups.items():
            given[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
        command(**values, **given)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call


def _declare(name: str, hint: Any, default: Any, group: Any = None) -> inspect.Parameter:
    """Turn a field, or a parameter and its default, into a parameter as Typer reads it."""
    if isinstance(default, Field):
        if declared := default.metadata.get("option"):
            declared.rich_help_panel = declared.rich_help_panel or getattr(group, "panel", None)
            hint = Annotated[hint, declared]
        default = inspect.Parameter.empty if default.default is MISSING else default.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=hint)


def _list_examples(examples: tuple[str, ...]) -> str:
    # Lines are joined and wrapped by the terminal's width; blank lines keep examples apart.
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


def _add(command: Callable[..., None], examples: tuple[str, ...]) -> None:
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    app.command(command.__name__, help=text, epilog=_list_examples(examples))(
        guard_command(spread_groups(command))
    )


_add(fit.fit, fit.EXAMPLES)
_add(labels.predict, labels.PREDICT_EXAMPLES)
_add(labels.cut, labels.CUT_EXAMPLES)
_add(changes.update, changes.UPDATE_EXAMPLES)
_add(changes.diff, changes.DIFF_EXAMPLES)
_add(follow.follow, follow.EXAMPLES)
_add(ask.lineage, ask.LINEAGE_EXAMPLES)
_add(ask.explain, ask.EXPLAIN_EXAMPLES)
_add(audit.audit, audit.EXAMPLES)
_add(measure.tune, measure.TUNE_EXAMPLES)
_add(match.match, match.EXAMPLES)
_add(measure.report, measure.REPORT_EXAMPLES)
_add(measure.reproduce, measure.REPRODUCE_EXAMPLES)
_add(demo.demo, demo.EXAMPLES)
