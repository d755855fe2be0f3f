"""Results on standard output, everything else on standard error."""

import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.cli.options import TalkOptions
from holdfast.cli.progress import Bar, make_bar

__all__ = ["FORMAT", "Console", "count", "list_names", "printable", "silence_broken_pipes"]

FORMAT = 1
"""Version of the shape of all JSON output; see docs/command_line.md."""

_MOST_NAMES = 8


class Console:
    """What a command says, and where.

    Parameters
    ----------
    command : str
        Its name, for JSON.
    talk : TalkOptions
    table_on_stdout : bool, default=False
        Whether a table of results goes to standard output, so that summaries must not.
    """

    def __init__(self, command: str, talk: TalkOptions, table_on_stdout: bool = False) -> None:
        self.command = command
        self.talk = talk
        self.table_on_stdout = table_on_stdout

    def notice(self, text: str) -> None:
        """Say something on standard error, unless told to be quiet."""
        if not self.talk.quiet:
            print(f"holdfast: {printable(text)}", file=sys.stderr, flush=True)

    def bar(self, what: str, expected_seconds: float | None = None) -> Bar:
        """Show progress on a terminal, from two seconds on."""
        return make_bar(what, self.shows_bars, expected_seconds)

    @property
    def shows_bars(self) -> bool:
        """Whether anybody sees progress: a guess of how long work takes costs time."""
        return not self.talk.quiet and sys.stderr.isatty()

    def show_json(self, record: dict[str, Any]) -> None:
        """Print one JSON object; NaN and infinity become null."""
        from holdfast import __version__

        head = {"holdfast": __version__, "format": FORMAT, "command": self.command}
        print(json.dumps(_plain({**head, **record}), allow_nan=False), flush=True)

    def show_table(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table for people: numbers to the right, on standard error if it must."""
        from rich.console import Console as Screen
        from rich.table import Table
        from rich.text import Text

        file = sys.stderr if self.table_on_stdout else sys.stdout
        if self.table_on_stdout and self.talk.quiet:
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

    def say(self, text: str) -> None:
        """Print a line of the summary, beside the table."""
        if not self.table_on_stdout:
            print(printable(text), flush=True)
        elif not self.talk.quiet:
            print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Make what files bring along harmless on a terminal: control characters are spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def count(number: int, noun: str) -> str:
    """Say a number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def list_names(names: Sequence[str]) -> str:
    """Names in one line, the first few of many."""
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {more:,} more"


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
