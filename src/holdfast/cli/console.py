"""Results on standard output, everything else on standard error."""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast._machine.progress import ProgressOption, describe_seconds
from holdfast.cli.errors import name_options
from holdfast.cli.options import DisplayOptions
from holdfast.tables.errors import show_name

__all__ = ["FORMAT", "Console", "printable", "silence_broken_pipes"]

FORMAT = 1
"""Version of the shape of all JSON output; see docs/command_line.md."""

_QUIET_SECONDS = 2.0  # shorter work shows no bar
_TICK_SECONDS = 0.2


class Console:
    """What a command prints, and where.

    Parameters
    ----------
    command : str
        Its name, for JSON.
    display : DisplayOptions
    table_on_stdout : bool, default=False
        Whether a table of results goes to standard output, so that summaries must not.
    """

    def __init__(
        self, command: str, display: DisplayOptions, table_on_stdout: bool = False
    ) -> None:
        self.command = command
        self.display = display
        self.table_on_stdout = table_on_stdout
        self._notices: list[str] | None = None

    def notice(self, text: str) -> None:
        """Print a line to standard error, unless --quiet."""
        shown = printable(name_options(text))
        if self._notices is not None:
            self._notices.append(shown)
        if not self.display.quiet:
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

        Yields
        ------
        Listener or False
            To be handed to the work as `progress`. Until it is called, a spinner turns.
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
        from holdfast import __version__

        head = {"holdfast": __version__, "format": FORMAT, "command": self.command}
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
            right = all(_is_number(line[j]) for line in lines)
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

    def show_line(self, text: str) -> None:
        """Print a line of the summary, beside the table."""
        if not self.table_on_stdout:
            print(printable(text), flush=True)
        elif not self.display.quiet:
            print(printable(text), file=sys.stderr, flush=True)


class _Bar:
    """A `Listener` that a thread draws: a bar with the time left, or a spinner without a total."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._done, self._total = 0.0, None  # type: tuple[float, float | None]
        self._since = (time.monotonic(), 0.0)  # when counting began, and what was done by then
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._thread.start()

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """Take note of what is being done, and how much of how much is done."""
        if total != self._total or done < self._done:
            self._since = (time.monotonic(), done)
        self._what, self._done, self._total = what or self._what, done, total

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self._over.set()
        self._thread.join()

    def _draw(self) -> None:
        if self._over.wait(_QUIET_SECONDS):
            return
        from rich.console import Console as Screen
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        class BarOrSpinner(BarColumn):
            spinner = SpinnerColumn()

            def render(self, task: Any) -> Any:
                return super().render(task) if task.total else self.spinner.render(task)

        columns = (
            TextColumn("{task.description}", markup=False),
            BarOrSpinner(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
        )
        screen = Screen(file=sys.stderr)
        with Progress(
            *columns,
            console=screen,
            transient=True,
            auto_refresh=False,  # this thread draws; a second one is not needed
            redirect_stdout=False,
            redirect_stderr=False,
        ) as progress:
            task = progress.add_task(self._what, total=None, left="")
            while True:
                progress.update(
                    task,
                    description=self._what,
                    completed=self._done,
                    total=self._total,
                    left=self._describe_left(),
                    refresh=True,
                )
                if self._over.wait(_TICK_SECONDS):
                    return

    def _describe_left(self) -> str:
        done, total, (start, before) = self._done, self._total, self._since
        if not total:
            return ""
        text = f"{100.0 * min(done / total, 1.0):.0f}%"
        if done <= before:
            return text
        left = (time.monotonic() - start) * max(total - done, 0.0) / (done - before)
        return f"{text}, {describe_seconds(left)} left"


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


def _is_number(text: str) -> bool:
    return " " not in text.strip() and (text[:1].isdigit() or text[:1] in ("", "-"))


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
