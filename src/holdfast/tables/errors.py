"""How this room reports: one kind of error, and notices for whoever listens."""

from collections.abc import Callable, Sequence

__all__ = [
    "MissingFile",
    "Notify",
    "TableError",
    "WriteError",
    "count",
    "describe_reason",
    "ignore",
    "list_names",
]

Notify = Callable[[str], None]
"""Is told what was left out, filled or rounded."""

_MOST_NAMES = 8


class TableError(ValueError):
    """A table cannot be used as it is: says what was found, what is expected and what to do.

    Parameters of the caller stand in backticks, such as `encoding='latin-1'`, so that the command
    line can show them as options.
    """


class MissingFile(TableError, FileNotFoundError):
    """There is no such file."""


class WriteError(OSError):
    """A file cannot be written: says which and why."""


def ignore(text: str) -> None:
    """Notify nobody."""


def count(number: int, noun: str) -> str:
    """Write a number of things, such as "1 row" or "2,000 rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def list_names(names: Sequence[str]) -> str:
    """Write names in one line, the first few of many."""
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {more:,} more"


def describe_reason(error: Exception) -> str:
    """Write what the operating system said, without its codes."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
