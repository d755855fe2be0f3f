"""Errors and warnings as users should see them: Ctrl-C in a kernel, too little memory, their own line."""

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_BYTES_A_ROW = 110  # peak beyond the input; measured by benchmarks/growth.py
_BYTES_A_VALUE = 16  # coordinates, unsorted and sorted
_OWN = ("holdfast", "holdfast_paper", "sklearn", "joblib", "dask", "distributed")
"""Packages between the line of the user and the warning."""


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


def explain_memory_error(error: MemoryError, X: Any) -> MemoryError:
    """Convert the failed allocation of a fit to `X` to an error with advice, to raise from `error`.

    Also frees the arrays of the failed fit, which would otherwise stay in memory as long as the
    caller keeps the error.
    """
    traceback.clear_frames(error.__traceback__)
    shape: tuple[int, ...] = np.shape(X) if hasattr(X, "shape") else (len(X),)
    rows = f"{shape[0]:,} rows" + (f" of {shape[1]:,} columns" if len(shape) > 1 else "")
    need = shape[0] * (_BYTES_A_ROW + _BYTES_A_VALUE * (shape[1] if len(shape) > 1 else 1))
    reason = str(error).strip() or "an allocation failed"
    return MemoryError(
        f"Not enough memory to fit {rows} ({reason}). A fit needs about {_in_units(need)} beyond X. "
        "To reduce memory, pass equal rows once with sample_weight, drop columns, set max_centers, "
        "or fit a sample of the rows and label the others with predict. The estimator is unchanged."
    )


def _in_units(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"


def warn_user(message: str) -> None:
    """Warn at the first caller outside these packages."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _OWN or module in ("contextlib", "functools")
