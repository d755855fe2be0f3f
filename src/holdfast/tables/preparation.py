"""How a table becomes rows of comparable numbers: chosen once, stored, repeated for new rows."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnSpread", "Missing", "Preparation", "measure_spread"]

Missing = Literal["error", "drop", "median"]
"""What happens to rows with missing values."""

Rows = NDArray[np.float64]

_BLOCK_ROWS = 1 << 14
_LEAST_EXPONENT = -1073
_SQUARE_ROOT_OF_HALF = math.sqrt(0.5)


@dataclass(frozen=True)
class Preparation:
    """Columns, what fills gaps in them, and what each is divided by.

    Columns are never centered: distances do not depend on it, and a center that moves with the
    data would move every row against the grid.

    Attributes
    ----------
    columns : tuple of str
        Names, in the order of the prepared columns.
    missing : {"error", "drop", "median"}
        Reject missing values, leave their rows out, or fill them.
    fill : tuple of float or None
        What stands for a missing value in each column; only with "median".
    scale : tuple of float or None
        Powers of two that columns are divided by; None leaves them alone.
    """

    columns: tuple[str, ...]
    missing: Missing = "error"
    fill: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None

    def apply(self, values: Rows) -> Rows:
        """Fill and scale.

        Parameters
        ----------
        values : ndarray of shape (n, n_columns), dtype float64
            In the order of `columns`; NaN where missing.

        Returns
        -------
        ndarray of shape (n, n_columns), dtype float64
            A new array. NaN stays where there is no `fill`.
        """
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"values must have {len(self.columns)} columns; got an array of shape "
                f"{values.shape}."
            )
        rows = np.array(values, dtype=np.float64, order="C")
        if self.fill is not None:
            rows = np.where(np.isnan(rows), np.array(self.fill), rows)
        if self.scale is not None:
            with np.errstate(over="ignore"):  # what overflows is no longer finite: seen later
                rows /= np.array(self.scale)
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that `from_json` reads."""
        return {
            "columns": list(self.columns),
            "missing": self.missing,
            "fill": None if self.fill is None else list(self.fill),
            "scale": None if self.scale is None else list(self.scale),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Preparation":
        """Read what `to_json` wrote; ValueError where it is something else."""
        columns: Any = record.get("columns")
        missing: Any = record.get("missing")
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise ValueError("the columns of the preparation must be a list of names")
        if not columns or len(set(columns)) < len(columns):
            raise ValueError("the preparation must have columns, each once")
        if missing not in get_args(Missing):
            raise ValueError(f"the preparation knows no way called {missing!r} to treat gaps")
        fill = _numbers(record, "fill", len(columns))
        scale = _numbers(record, "scale", len(columns))
        if (fill is None) == (missing == "median"):
            raise ValueError("the preparation must say what fills gaps if, and only if, they are")
        if scale is not None and min(scale) <= 0.0:
            raise ValueError("the scales of the preparation must be positive")
        return cls(tuple(columns), missing, fill, scale)


@dataclass(frozen=True, eq=False)
class ColumnSpread:
    """What scales and checks of columns need to know about their values.

    Attributes
    ----------
    n_rows : int
    low, high : ndarray of shape (n_columns,), dtype float64
    scale : ndarray of shape (n_columns,), dtype float64
        Standard deviations, each rounded to a power of two; 1 where a column is constant.
    """

    n_rows: int
    low: Rows
    high: Rows
    scale: Rows

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns have one value only."""
        same: NDArray[np.bool_] = self.low == self.high
        return same


def measure_spread(parts: Iterable[Rows], n_columns: int) -> ColumnSpread:
    """Measure columns in one pass, with the same result for any division into parts.

    Sums are taken over blocks of fixed size. Values are held in units of a power of two that grows
    with the largest of a column, so that squares neither overflow nor vanish.

    Parameters
    ----------
    parts : iterable of ndarray of shape (n, n_columns), dtype float64
        Finite values; none at all give scales of 1.
    n_columns : int
    """
    n_rows = 0
    mean, squares = np.zeros(n_columns), np.zeros(n_columns)
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    unit = np.full(n_columns, _LEAST_EXPONENT)
    for block in _in_blocks(parts):
        size = block.shape[0]
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        larger = np.maximum(unit, np.frexp(np.maximum(np.abs(low), np.abs(high)))[1])
        mean, squares = np.ldexp(mean, unit - larger), np.ldexp(squares, 2 * (unit - larger))
        unit = larger
        values = _divide_by_power(block, unit)
        here = values.mean(axis=0)
        # Sums of squares about the mean, merged without cancellation.
        squares += ((values - here) ** 2).sum(axis=0)
        squares += (here - mean) ** 2 * (n_rows * size / (n_rows + size))
        mean += (here - mean) * (size / (n_rows + size))
        n_rows += size
    spread = np.sqrt(squares / max(n_rows, 1))
    fraction, exponent = np.frexp(np.where(spread > 0.0, spread, 1.0))
    # Rounds the logarithm, by a comparison that is the same on every processor.
    exponent = exponent - (fraction < _SQUARE_ROOT_OF_HALF) + unit
    scale = np.where(low < high, np.ldexp(1.0, np.clip(exponent, -1022, 1023)), 1.0)
    return ColumnSpread(n_rows, low, high, scale)


def _in_blocks(parts: Iterable[Rows]) -> Iterator[Rows]:
    """Cut rows into blocks of one size, wherever the parts end."""
    pending: list[Rows] = []
    n_pending = 0
    for part in parts:
        start = 0
        while part.shape[0] - start >= _BLOCK_ROWS - n_pending:
            end = start + _BLOCK_ROWS - n_pending
            yield np.concatenate([*pending, part[start:end]]) if pending else part[start:end]
            pending, n_pending, start = [], 0, end
        if start < part.shape[0]:
            pending.append(part[start:])
            n_pending += part.shape[0] - start
    if pending:
        yield np.concatenate(pending)


def _divide_by_power(values: Rows, exponent: NDArray[Any]) -> Rows:
    half = exponent // 2  # a power of two may itself be too large or too small for a double
    divided: Rows = np.ldexp(np.ldexp(values, -half), half - exponent)
    return divided


def _numbers(record: Mapping[str, Any], name: str, count: int) -> tuple[float, ...] | None:
    values = record.get(name)
    if values is None:
        return None
    if (
        not isinstance(values, list)
        or len(values) != count
        or not all(isinstance(value, float) and math.isfinite(value) for value in values)
    ):
        raise ValueError(f"the {name} of the preparation must be {count} finite numbers")
    return tuple(values)
