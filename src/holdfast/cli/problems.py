"""What goes wrong because of what the user gave, as opposed to what is broken."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["InputProblem", "OutputProblem", "Unsuccessful", "blame_input"]


class InputProblem(Exception):
    """Wrong use or wrong input: exit code 2, one line."""


class OutputProblem(Exception):
    """A result could not be written: exit code 1, one line."""


class Unsuccessful(Exception):
    """The work was done and its result shown, but it is not what was asked for: exit code 1."""


@contextmanager
def blame_input() -> Iterator[None]:
    """Take a ValueError of the library, which says what was got and expected, as wrong input.

    It speaks of `n_clusters`, which is an option here.
    """
    try:
        yield
    except ValueError as error:
        raise InputProblem(str(error).replace("n_clusters", "--clusters")) from error
