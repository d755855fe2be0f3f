"""What can go wrong, as one line and an exit code."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "BUDGET_BINDS",
    "FAILURE",
    "INTERRUPTED",
    "PIPE_CLOSED",
    "TERMINATED",
    "WRONG_INPUT",
    "BindingBudget",
    "IncompleteResult",
    "InputError",
    "describe_error",
    "input_errors",
    "name_options",
]

FAILURE = 1
WRONG_INPUT = 2
BUDGET_BINDS = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143


class InputError(Exception):
    """Wrong use or wrong input: exit code 2."""


class BindingBudget(Exception):
    """The result is written, but a budget kept rows from moving: exit code 3."""


class IncompleteResult(Exception):
    """The work is done and its result shown, but it is not what was asked for: exit code 1."""


@contextmanager
def input_errors() -> Iterator[None]:
    """Take a ValueError of the library, which says what was expected, as wrong input."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


def describe_error(error: BaseException, debug: bool) -> tuple[str, int]:
    """Choose the line to print and the exit code."""
    from holdfast.tables.errors import TableError, WriteError

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


_WORDS = {
    r", n_samples=(\d+)": r", \1",
    r"\bn_clusters=": "--clusters ",
    r"\bn_clusters\b": "--clusters",
    r"\bmethod=\"(\w+)\"": r"--method \1",
    r"\bmetric=\"(\w+)\"": r"--metric \1",
    r"\bmax_centers\b": "--max-centers",
    r"\bwith partial_fit\b": "with --add",
    r"\bsample_weight\b": "--weights",
}
"""Words of Python in messages of the library, and what they are on the command line."""
