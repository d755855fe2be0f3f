"""How a table becomes rows of comparable numbers: chosen once, stored, repeated for new rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["Input", "Kind", "Missing", "Preparation", "PreparedRows"]
__all__ += ["restore_prepared", "scale_of_rows"]

Missing = Literal["error", "drop", "median", "indicate"]
"""What happens to missing values."""

Kind = Literal["number", "boolean", "category", "ordered", "date"]
"""What a column of a table holds."""

Rows = NDArray[np.float64]

_CYCLES = ("hour", "weekday")


class PreparedRows(np.ndarray):
    """Rows that remember what their columns were divided by, and who they are.

    They are arrays in every respect. Clusterers of holdfast read `column_scale`, so that random numbers
    do not depend on it, and `ids`. Parts of the rows keep the scales but not the ids; arrays with other
    columns have neither.
    """

    column_scale: tuple[float, ...] | None
    ids: Any

    def __array_finalize__(self, source: Any) -> None:
        """Keep the scales of rows with the same columns."""
        scale = getattr(source, "column_scale", None)
        same = scale is not None and self.ndim == 2 and self.shape[1] == len(scale)
        self.column_scale, self.ids = scale if same else None, None

    def __reduce__(self) -> Any:
        """Pickle both too, as caches of pipelines do."""
        return restore_prepared, (np.asarray(self), self.column_scale, self.ids)


def restore_prepared(rows: Rows, scale: tuple[float, ...] | None, ids: Any = None) -> PreparedRows:
    """Attach scales and ids to rows, without a copy."""
    found = rows.view(PreparedRows)
    found.column_scale, found.ids = scale, ids
    return found


def label_frame(frame: Any, scale: tuple[float, ...] | None, ids: Any) -> None:
    """Attach scales and ids to a frame of rows: as pandas does it, or else as attributes.

    A frame of polars that was made from this one has neither.
    """
    if hasattr(frame, "attrs"):
        frame.attrs["column_scale"] = scale
        if ids is not None:
            frame.index = ids
    else:
        frame.column_scale, frame.ids = scale, ids


def scale_of_rows(X: Any) -> tuple[float, ...] | None:
    """Return what the columns of rows were divided by, if a preparation has said so."""
    attributes = getattr(X, "attrs", None)  # pandas
    if isinstance(attributes, Mapping):
        scale = attributes.get("column_scale")
    else:
        scale = vars(X).get("column_scale") if hasattr(X, "__dict__") else None
    return scale if isinstance(scale, tuple) and len(scale) == X.shape[1] else None


@dataclass(frozen=True)
class Input:
    """A column of a table, and which prepared columns come from it.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "ordered", "date"}
    levels : tuple of str
        Of a category, those with a prepared column each; of an ordered category, all, in order.
    other : bool
        Whether all other levels of a category share a prepared column.
    gaps : bool
        Whether a prepared column marks missing values.
    log : bool
        Whether the logarithm of the number is taken.
    cycles : tuple of str
        Of a date, which of "hour" and "weekday" become points on a circle, two columns each.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[str, ...] = ()
    other: bool = False
    gaps: bool = False
    log: bool = False
    cycles: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the prepared columns."""
        if self.kind == "category":
            found = [f"{self.name}={level}" for level in self.levels]
            found += [f"{self.name}=(other)"] * self.other
            return (*found, *[f"{self.name}=(missing)"] * self.gaps)
        found = [f"log {self.name}" if self.log else self.name]
        found += [f"{self.name} {cycle} {axis}" for cycle in self.cycles for axis in ("x", "y")]
        return (*found, *[f"{self.name} is missing"] * self.gaps)


@dataclass(frozen=True)
class Preparation:
    """Prepared columns, what fills gaps in them, and what each is divided by.

    Columns are never centered: distances do not depend on it, and a center that moves with the
    data would move every row against the grid.

    Attributes
    ----------
    columns : tuple of str
        Names of the prepared columns, in their order.
    missing : {"error", "drop", "median", "indicate"}
        Reject missing values, leave their rows out, fill them, or fill and mark them.
    fill : tuple of float or None
        What stands for a missing value in each column; only with "median" and "indicate".
    scale : tuple of float or None
        What columns are divided by; None leaves them alone.
    inputs : tuple of Input or None
        The columns of the table that they come from; None if they are these, and numbers.
    """

    columns: tuple[str, ...]
    missing: Missing = "error"
    fill: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    inputs: tuple[Input, ...] | None = None

    @property
    def sources(self) -> tuple[Input, ...]:
        """The columns of the table, also where they are the prepared ones."""
        return self.inputs or tuple(Input(name) for name in self.columns)

    def apply(self, values: Rows) -> Rows:
        """Fill and scale.

        Parameters
        ----------
        values : ndarray of shape (n, n_columns), dtype float64
            In the order of `columns`; NaN where missing.

        Returns
        -------
        PreparedRows of shape (n, n_columns), dtype float64
            A new array. NaN stays where there is no `fill`.
        """
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"values must have {len(self.columns)} columns; got an array of shape "
                f"{values.shape}."
            )
        rows = np.array(values, dtype=np.float64, order="C")
        for j, fill in enumerate(self.fill or ()):
            column = rows[:, j]
            column[np.isnan(column)] = fill
        if self.scale is not None:
            with np.errstate(over="ignore"):  # what overflows is no longer finite: seen later
                rows /= np.array(self.scale)
        return restore_prepared(rows, self.scale)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that `from_json` reads."""
        record: dict[str, Any] = {
            "columns": list(self.columns),
            "missing": self.missing,
            "fill": None if self.fill is None else list(self.fill),
            "scale": None if self.scale is None else list(self.scale),
        }
        if self.inputs is not None:
            record["inputs"] = [_describe(source) for source in self.inputs]
        return record

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
        if (fill is None) == (missing in ("median", "indicate")):
            raise ValueError("the preparation must have fill values if and only if gaps are filled")
        if scale is not None and min(scale) <= 0.0:
            raise ValueError("the scales of the preparation must be positive")
        inputs = _read_inputs(record.get("inputs"), len(columns))
        return cls(tuple(columns), missing, fill, scale, inputs)


def _describe(source: Input) -> dict[str, Any]:
    """Write what differs from a plain number."""
    record: dict[str, Any] = {"name": source.name, "kind": source.kind}
    for name in ("levels", "other", "gaps", "log", "cycles"):
        value = getattr(source, name)
        if value:
            record[name] = list(value) if isinstance(value, tuple) else value
    return record


def _read_inputs(record: Any, n_columns: int) -> tuple[Input, ...] | None:
    if record is None:
        return None
    if not isinstance(record, list) or not all(isinstance(source, dict) for source in record):
        raise ValueError("the preparation must describe the columns of the table")
    known = {"name": str, "kind": str, "levels": list, "other": bool, "gaps": bool, "log": bool}
    known["cycles"] = list
    found = []
    for source in record:
        texts = [source.get("name"), *source.get("levels", ()), *source.get("cycles", ())]
        if (
            not set(source) <= set(known)
            or not all(isinstance(value, known[name]) for name, value in source.items())
            or not all(isinstance(text, str) for text in texts)
            or source.get("kind") not in get_args(Kind)
            or not set(source.get("cycles", ())) <= set(_CYCLES)
            or len(set(source.get("levels", ()))) < len(source.get("levels", ()))
        ):
            raise ValueError("the preparation has a column of an unknown kind")
        lists = {name: tuple(source.get(name, ())) for name in ("levels", "cycles")}
        found.append(Input(**{**source, **lists}))
    if len({source.name for source in found}) < len(found):
        raise ValueError("the preparation must have each column of the table once")
    if sum(len(source.features) for source in found) != n_columns:
        raise ValueError("the prepared columns are not those of the columns of the table")
    return tuple(found)


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
