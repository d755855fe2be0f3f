"""How a table becomes rows of comparable numbers: chosen once, stored, repeated for new rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["Missing", "Preparation", "fit_preparation"]

Missing = Literal["error", "drop", "median"]
"""What happens to rows with missing values."""

Rows = NDArray[np.float64]

_SQRT_HALF = 0.7071067811865476


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


def fit_preparation(
    values: Rows, columns: tuple[str, ...], *, standardize: bool, missing: Missing = "error"
) -> Preparation:
    """Choose what fills gaps and what columns are divided by.

    A column is divided by its standard deviation rounded to a power of two (1 where it is
    constant). The exact value changes with each row that comes or goes, and moves every row; the
    rounded one mostly stays. Where a column lies near the edge between two powers it jumps, and then
    more moves than with the exact value: to fit again, repeat a preparation instead. Columns then
    differ in spread by a factor of two at most.

    Parameters
    ----------
    values : ndarray of shape (n, n_columns), dtype float64
        NaN where missing; otherwise finite. At least one value in each column.
    columns : tuple of str
    standardize : bool
    missing : {"error", "drop", "median"}
        With "drop", `values` are the rows that stay.
    """
    fill = np.nanmedian(values, axis=0) if missing == "median" else None
    filled = values if fill is None else np.where(np.isnan(values), fill, values)
    scale = _powers_of_two(filled) if standardize else None
    return Preparation(
        columns,
        missing,
        None if fill is None else tuple(fill.tolist()),
        None if scale is None else tuple(scale.tolist()),
    )


def _powers_of_two(values: Rows) -> Rows:
    largest = np.abs(values).max(axis=0)
    unit = np.where(largest > 0.0, largest, 1.0)  # so that squares neither overflow nor vanish
    spread = (values / unit).std(axis=0)
    varies = values.min(axis=0) < values.max(axis=0)
    # Nearest power of two in the logarithm, by the edge sqrt(1/2) of mantissas: NumPy's log2 differs
    # in the last bit between processors.
    mantissa, exponent = np.frexp(np.where(varies & (spread > 0.0), spread, 1.0))
    unit_mantissa, unit_exponent = np.frexp(unit)
    mantissa, carry = np.frexp(mantissa * unit_mantissa)
    exponent = exponent + unit_exponent + carry - (mantissa < _SQRT_HALF)
    return np.where(varies, np.ldexp(1.0, np.clip(exponent, -1022, 1023)), 1.0)


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
