"""Numbers as the page has them: short, and never NaN."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["format_share", "list_numbers", "round_number"]


def round_number(value: Any, digits: int = 5) -> float | int | None:
    """Keep so many significant digits; None where the number is missing or infinite."""
    number = float(value)
    if not math.isfinite(number):
        return None
    rounded = float(f"{number:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def list_numbers(values: ArrayLike, digits: int = 5) -> list[float | int | None]:
    """All of a one-dimensional array."""
    return [round_number(value, digits) for value in np.asarray(values).ravel().tolist()]


def format_share(share: float) -> str:
    """Such as ``3.0%`` or ``27%``; never a zero that is none."""
    percent = 100.0 * share
    if percent == 0.0:
        return "0%"
    if abs(percent) < 0.01:
        return "<0.01%" if percent > 0 else ">-0.01%"
    digits = 2 if abs(percent) < 0.1 else 1 if abs(percent) < 9.95 else 0
    return f"{percent:.{digits}f}%"
