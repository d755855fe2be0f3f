"""Results on standard output, everything else on standard error; errors as one line and an exit code."""

import io
import json
import math
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine.work import ProgressOption
from holdfast.tables.errors import TableError, WriteError, describe_reason, show_name

if TYPE_CHECKING:
    from holdfast.cli.options import DisplayOptions

FORMAT = 1
"""Version of the shape of all JSON output; see docs/command_line.md."""

FAILURE = 1
WRONG_INPUT = 2
BUDGET_BINDS = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
_QUIET_SECONDS = 2.0  # shorter work shows no bar
_SPEED_SECONDS = 3600.0  # rounds count for the time left, however slow they are
_WORDS = {
    r", n_samples=(\d+)": r", \1",
    r"\bn_clusters=": "--clusters ",
    r"\bn_clusters\b": "--clusters",
    r"\bmethod=\"(\w+)\"": r"--method \1",
    r"\bmetric=\"(\w+)\"": r"--metric \1",
    r"\bmax_centers\b": "--max-centers",
    r"\bwith partial_fit\b": "with --add",
    r"\bsample_weight\b": "--weights",
    r"^(delete|levels|metric) must": r"--\1 must",
    r'"(euclidean|manhattan|cosine|precomputed)"': r"\1",
    r"methods must be a mapping of names to clusterers, or names among": "--methods must be some of",
    r"; their cost overflows float64\. Rescale X\b": "; their cost overflows. Rescale the columns",
    r"\bof X\b": "of the table",
    r"^X\b": "the table",
}
"""Words of Python in messages of the library, and what they are on the command line."""


class Console:
    """What a command prints, and where; summaries do not go to a standard output with a table."""

    def __init__(
        self, command: str, display: "DisplayOptions", table_on_stdout: bool = False
    ) -> None:
        self.command = command
        self.display = display
        self.table_on_stdout = table_on_stdout
        self._notices: list[str] | None = None
        self._printed: set[str] = set()  # a file that is read several times is told of once

    def notice(self, text: str) -> None:
        """Print a line to standard error, once, unless --quiet."""
        shown = printable(name_options(text))
        if self._notices is not None:
            self._notices.append(shown)
        if not self.display.quiet and shown not in self._printed:
            self._printed.add(shown)
            print(f"holdfast: {shown}", file=sys.stderr, flush=True)

    @contextmanager
    def remember(self) -> Iterator[list[str]]:
        """Also keep the notices that are printed meanwhile, or would be without --quiet."""
        self._notices = []
        try:
            yield self._notices
        finally:
            self._notices = None

    @contextmanager
    def progress(self, what: str) -> Iterator[ProgressOption]:
        """Show progress while work is done: on a terminal only, after two seconds.

        Yields what the work takes as `progress`.
        """
        if self.display.quiet or not sys.stderr.isatty():
            yield False
            return
        bar = _Bar(what)

        # A function, which scikit-learn can clone with an estimator; a bar it could not.
        def listen(what: str, done: float, total: float | None) -> None:
            bar(what, done, total)

        try:
            yield listen
        finally:
            bar.close()

    def show_json(self, record: dict[str, Any]) -> None:
        """Print one JSON object; NaN and infinity become null."""
        head = {"holdfast": holdfast.__version__, "format": FORMAT, "command": self.command}
        print(json.dumps(_plain({**head, **record}), allow_nan=False), flush=True)

    def show_table(
        self, header: Sequence[str], rows: Iterable[Sequence[str]], *, notice: bool = False
    ) -> None:
        """Print a table for people: numbers to the right, on standard error if it must."""
        from rich.console import Console as Screen
        from rich.table import Table
        from rich.text import Text

        aside = notice or self.table_on_stdout
        file = sys.stderr if aside else sys.stdout
        if aside and self.display.quiet:
            return
        lines = [[printable(cell) for cell in row] for row in rows]
        table = Table(box=None, pad_edge=False, header_style="bold")
        for j, name in enumerate(header):
            right = all(re.fullmatch(r"([-\d][^ ]*)? *", line[j]) for line in lines)
            table.add_column(Text(name), justify="right" if right else "left", no_wrap=True)
        for line in lines:
            table.add_row(*map(Text, line))
        if file.isatty():
            Screen(file=file, highlight=False).print(table)
        else:  # a pipe has no edge to cut lines at, and no use for blanks at their ends
            text = io.StringIO()
            Screen(file=text, width=10_000, highlight=False).print(table)
            print(*(line.rstrip() for line in text.getvalue().splitlines()), sep="\n", file=file)
        file.flush()

    def show_records(
        self, columns: Iterable[tuple[str, str, str]], records: Iterable[dict[str, Any]]
    ) -> None:
        """Print a table of records: title, key and format of each column; "-" for None and NaN."""

        def cell(value: Any, form: str) -> str:
            if value is None or (isinstance(value, float) and math.isnan(value)):
                return "-"
            return ("no", "yes")[value] if isinstance(value, bool) else format(value, form)

        shown = list(columns)
        lines = [[cell(record[key], form) for _, key, form in shown] for record in records]
        self.show_table([title for title, _, _ in shown], lines)

    def show_files(self, files: dict[str, str | None]) -> None:
        """Name the files that were written."""
        for path in filter(None, files.values()):
            self.notice(f"wrote {path}")

    def show_line(self, text: str) -> None:
        """Print a line of the summary, beside the table."""
        if not (self.table_on_stdout and self.display.quiet):
            file = sys.stderr if self.table_on_stdout else sys.stdout
            print(printable(text), file=file, flush=True)


class _Bar:
    """A `Listener` that rich draws: a bar with the time left, or a moving one without a total."""

    def __init__(self, what: str) -> None:
        from rich import progress as bars
        from rich.console import Console as Screen

        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.TaskProgressColumn(),
            bars.TimeRemainingColumn(),
            bars.TimeElapsedColumn(),
            console=Screen(file=sys.stderr),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            speed_estimate_period=_SPEED_SECONDS,
        )
        self._task = self._bar.add_task(what, total=None)
        self._start = threading.Timer(_QUIET_SECONDS, self._bar.start)
        self._start.daemon = True
        self._start.start()

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """Take note of what is being done, and how much of how much is done."""
        if total is None:  # which `update` takes as the total before
            self._bar.tasks[0].total = None
        self._bar.update(self._task, description=what or None, completed=done, total=total)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self._start.cancel()
        self._start.join()
        if self._bar.live.is_started:  # otherwise a simple terminal would show an empty line
            self._bar.stop()


def printable(text: str) -> str:
    """Make what files bring along harmless on a terminal: control characters are spelled out."""
    return text if text.isprintable() else show_name(text)


def silence_broken_pipes() -> None:
    """Send what is still buffered for a closed pipe nowhere, so that ending does not complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def _plain(value: Any) -> Any:
    """Turn numpy's scalars and arrays into JSON's, and what is not finite into None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value


class InputError(Exception):
    """Wrong use or wrong input: exit code 2."""


class BindingBudget(Exception):
    """The result is written, but a budget kept rows from moving: exit code 3."""


class IncompleteResult(Exception):
    """The work is done and its result shown, but it is not what was asked for: exit code 1."""


@contextmanager
def input_errors(path: str = "") -> Iterator[None]:
    """Take a ValueError of the library, or what keeps a path from being read, as wrong input."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        if not path:
            raise
        absent = isinstance(error, FileNotFoundError)
        found = f"{path} cannot be read: {describe_reason(error)}"
        raise InputError(f"there is no file {path}." if absent else f"{found}.") from error


def describe_error(error: BaseException, debug: bool) -> tuple[str, int]:
    """Choose the line to print and the exit code."""
    if debug:
        traceback.print_exception(error)
    text = name_options(str(error))
    if isinstance(error, InputError | TableError):
        return text, WRONG_INPUT
    if isinstance(error, BindingBudget):
        return text, BUDGET_BINDS
    if isinstance(error, KeyboardInterrupt):
        return text or "interrupted.", INTERRUPTED
    if isinstance(error, MemoryError):
        return "not enough memory. Use fewer rows or columns, or --chunked.", FAILURE
    if isinstance(error, ModuleNotFoundError) and error.name:
        text = (
            f"this needs the package {error.name.partition('.')[0]}, which is not installed. "
            "Install all that commands need with: pip install 'holdfast[cli,plot,reproduce]'"
        )
        return text, FAILURE
    if isinstance(error, WriteError | IncompleteResult):
        return text, FAILURE
    again = "" if debug else " Run the command again with --debug to see where."
    return f"unexpected {type(error).__name__}: {text}{again}", FAILURE


def name_options(text: str) -> str:
    """Write the parameters that a message of the library names as options."""

    def to_option(match: re.Match[str]) -> str:
        name, value = match["name"].replace("_", "-"), match["value"]
        if value is None:
            return f"--{name}"
        plain = re.fullmatch(r"[\w.-]+", value)
        return f"--{name} {value}" if plain else f"--{name} '{value}'"

    text = re.sub(r"`(?P<name>[a-z_]+)(?:='(?P<value>[^`]*)')?`", to_option, text)
    for python, shell in _WORDS.items():
        text = re.sub(python, shell, text)
    return text
