"""Warnings that point to the line of the user, for any depth of calls."""

import sys
import warnings

__all__ = ["warn_user"]

_OWN = ("holdfast", "holdfast_paper", "sklearn", "joblib", "dask", "distributed")
"""Packages between the line of the user and the warning."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first caller outside these packages."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _OWN or module in ("contextlib", "functools")
