"""Raise KeyboardInterrupt on Ctrl-C, even while a kernel runs."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["unwrap_interrupts"]


@contextmanager
def unwrap_interrupts() -> Iterator[None]:
    """Raise the KeyboardInterrupt that numba hides in a SystemError.

    Python handles a signal that arrives while a kernel runs when it converts the results of the
    kernel to objects. The interpreter then finds results together with an exception, and raises a
    SystemError with the interrupt as its cause.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, KeyboardInterrupt):
            raise cause.with_traceback(None) from None
        raise
