"""How this room reports: one kind of error, and notices for whoever listens."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from holdfast._machine import pa

Notify = Callable[[str], None]
"""Is told what was left out, filled or rounded."""

_MOST_NAMES = 8
_CONVERT = "Convert it to UTF-8, or add --encoding latin-1 or cp1252 to a command."


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


def show_number(number: float) -> str:
    """Write a number with four digits: ``11,590`` or ``0.03125``."""
    return f"{float(f'{number:.4g}'):,.10g}"


def list_columns(names: Sequence[str]) -> str:
    """Do as `list_names`, with quotes around names that have a comma, as `--columns` takes them."""
    return list_names([f'"{name}"' if "," in name else name for name in names])


def list_names(names: Sequence[str]) -> str:
    """Write names in one line, the first few of many."""
    shown = ", ".join(map(show_name, names[:_MOST_NAMES]))
    more = len(names) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {more:,} more"


def show_name(name: str) -> str:
    """Write a name in one line: control characters, such as a newline, are spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def describe_reason(error: Exception) -> str:
    """Write what the operating system said, without its codes."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)


@contextmanager
def explain_writing(what: str) -> Iterator[None]:
    """Say which file cannot be written, and why."""
    try:
        yield
    except (BrokenPipeError, TableError):  # of the reader of a table while another is written
        raise
    except OSError as error:
        raise WriteError(f"{what} cannot be written: {describe_reason(error)}.") from error


@contextmanager
def explain_reading(source: str) -> Iterator[None]:
    """Rephrase what the readers complain about."""
    import tokenize
    import zlib

    try:
        yield
    except TableError:
        raise
    except UnicodeError:
        raise TableError(f"{source} is not in the expected encoding. {_CONVERT}") from None
    except (SyntaxError, tokenize.TokenError):  # np.load, of a header that is no dictionary
        raise TableError(f"{source} cannot be read: its .npy header is damaged.") from None
    except (pa.ArrowException, ValueError, EOFError, OSError, zlib.error) as error:
        if "invalid UTF8" in str(error):
            raise TableError(f"{source} cannot be read: it is not UTF-8. {_CONVERT}") from None
        raise TableError(f"{source} cannot be read: {_rephrase(error)}") from None


def _rephrase(error: Exception) -> str:
    text = " ".join(str(error).split())
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)(?:: (.*))?$", text)
    if ragged:
        row, expected, got, line = ragged.groups()
        where = f"line {row}" if row else "a line"
        shown = f" ({line[:60]})" if line else ""
        return (
            f"{where} has {got} columns and the header has {expected}{shown}. Every line needs as "
            "many as the header."
        )
    converted = re.search(
        r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): invalid value "
        r"'(.*)'",
        text,
    )
    if converted:
        column, row, kind, value = converted.groups()
        where = f"line {row}, column" if row else "column"
        wanted = "a number" if kind in ("double", "int64") else kind
        return f"{where} {int(column) + 1} has {value[:30]!r}; expected {wanted}, as before it."
    if "allow_pickle" in text or "pickled" in text.lower():
        return "it holds Python objects, not numbers. Save it as a numeric array."
    if "straddling object" in text:
        return "a quoted value does not end, or a line is too long. Check the quotes."
    return text.rstrip(".") + "."
