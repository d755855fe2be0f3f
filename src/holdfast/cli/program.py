"""Runs commands; turns what goes wrong into one line and an exit code."""

import functools
import io
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from holdfast.cli.console import printable, silence_broken_pipes
from holdfast.cli.problems import InputProblem, OutputProblem, Unsuccessful

__all__ = ["FAILURE", "INTERRUPTED", "PIPE_CLOSED", "WRONG_INPUT", "guard_command", "run_program"]
__all__ += ["buffer_output", "unwind_on_termination"]

FAILURE = 1
WRONG_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143

# Signals that asked the program to end. What then comes out of libraries in the middle of their work
# may be another exception than the one that was raised.
_requests: list[int] = []


def run_program(arguments: list[str]) -> int:
    """Run ``holdfast`` with these arguments.

    Returns
    -------
    int
        Exit code: 0 ok, 2 wrong use or input, 1 anything else; 130 after Ctrl-C, 141 where the
        reader of a pipe has gone and 143 after a request to terminate, as shells have it.
    """
    import typer

    from holdfast.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = 0
    try:
        typer.main.get_command(app).main(args=arguments, prog_name="holdfast")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILURE if end.code else 0
    if _requests:
        code = TERMINATED
    silence_broken_pipes()
    return code


def guard_command(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that nothing but an exit code leaves it."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        debug, quiet = values.get("debug", False), values.get("quiet", False)
        code = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = functools.partial(_show_warning, quiet)
                command(**values)
                sys.stdout.flush()
        except BrokenPipeError:
            code = PIPE_CLOSED
        except BaseException as error:
            if isinstance(error, SystemExit) or _is_of_typer(error):
                raise
            code = TERMINATED if _requests and not debug else _report(error, debug)
        if code:
            silence_broken_pipes()
            sys.exit(code)

    return run


def _report(error: BaseException, debug: bool) -> int:
    """Say what went wrong, and choose the exit code."""
    if debug:
        traceback.print_exception(error)
    text, code = str(error), FAILURE
    if isinstance(error, InputProblem):
        code = WRONG_INPUT
    elif isinstance(error, KeyboardInterrupt):
        text, code = text or "interrupted.", INTERRUPTED
    elif isinstance(error, MemoryError):
        text = "there is not enough memory for this. Use fewer rows or columns."
    elif isinstance(error, ModuleNotFoundError) and error.name:
        text = (
            f"this needs the package {error.name.partition('.')[0]}, which is not installed. "
            "pip install 'holdfast[cli,plot,reproduce]' has all that commands need."
        )
    elif not isinstance(error, OutputProblem | Unsuccessful):
        again = "" if debug else " Run it again with --debug to see where."
        text = f"unexpected {type(error).__name__}: {text}{again}"
    try:
        print(f"holdfast: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        pass
    return code


def _is_of_typer(error: BaseException) -> bool:
    """Typer ends help, completion and wrong use by exceptions of its own (once click's)."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _show_warning(quiet: bool, message: Warning | str, *rest: Any) -> None:
    if not quiet:
        print(f"holdfast: warning: {printable(str(message))}", file=sys.stderr, flush=True)


def unwind_on_termination() -> None:
    """End by an exception on SIGTERM too, so that temporary files are removed."""

    def stop(number: int, frame: object) -> None:
        _requests.append(number)
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, stop)


def buffer_output() -> None:
    """Make sure that whole results are written.

    With PYTHONUNBUFFERED set, standard output is a raw file: Python gives up after the first part
    of a long text that a pipe takes, without an error.
    """
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(sys.stdout.fileno(), "w", encoding="utf-8", closefd=False)  # noqa: SIM115
