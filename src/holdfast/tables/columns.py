"""Which columns of a table are used and what for; what rows carry along: ids, weights, scales."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine import pa, pc
from holdfast.tables.errors import TableError, count, list_names, show_name
from holdfast.tables.preparation import find_kind, to_doubles
from holdfast.tables.read import DataTable

_EXACT_INTEGERS = 1 << 53
_CURRENCY = r"(?:[$€£¥₹%]|USD|EUR|GBP|CHF|JPY)"
_NUMBER = r"\s*[-+]?\d*\.?\d*([eE][-+]?\d+)?\s*"
_NUMBER_LIKE = rf"\s*[-+(]?\s*{_CURRENCY}?\s*[-+]?\d[\d.,' ]*\s*{_CURRENCY}?\s*\)?\s*"


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns are clustered, and what the others are for."""

    columns: tuple[str, ...] = ()  # use these only; none for all that can be used
    drop: tuple[str, ...] = ()  # use all that can be used but these
    id: str | None = None  # identifies rows
    weights: str | None = None  # how often each row counts
    strict: bool = False  # whether a column that is not numeric is an error
    categories: tuple[str, ...] = ()  # whatever their values look like
    dates: tuple[str, ...] = ()  # their text must be written as in ISO 8601
    logs: tuple[str, ...] = ()  # of these numbers x, log(1 + x) is taken
    cycles: tuple[str, ...] = ()  # "hour", "weekday" or both: points on a circle for dates


def choose_candidates(table: DataTable, choice: ColumnChoice) -> tuple[str, ...]:
    """Names of the columns that may be used."""
    special = {choice.id, choice.weights, *choice.drop}
    candidates = choice.columns or tuple(n for n in table.data.column_names if n not in special)
    overlap = [name for name in choice.columns if name in special]
    if overlap:
        raise TableError(f"{overlap[0]!r} is in `columns` and is also an id or a weight.")
    return candidates


def find_names(table: DataTable, choice: ColumnChoice) -> ColumnChoice:
    """Find the names that were asked for among those of the table.

    A name with a comma may be given as it is, although commas separate names, and one with a
    newline as messages show it.
    """
    if choice.columns and choice.drop:
        raise TableError("give `columns` or `drop`, not both.")
    present = table.data.column_names
    known = {show_name(name): name for name in present} | {name: name for name in present}
    found: dict[str, Any] = {}
    for option in ("columns", "drop", "categories", "dates", "logs"):
        found[option] = _find_each(option, getattr(choice, option), known, table)
    for option in ("id", "weights"):
        asked = getattr(choice, option)
        found[option] = _find_each(option, (asked,), known, table)[0] if asked else None
    return replace(choice, **found)


def _find_each(
    option: str, names: tuple[str, ...], known: dict[str, str], table: DataTable
) -> tuple[str, ...]:
    chosen, start = [], 0
    while start < len(names):
        for end in range(len(names), start, -1):
            joined = (between.join(names[start:end]) for between in (",", ", "))
            name = next((known[text] for text in joined if text in known), None)
            if name is not None:
                break
        else:
            option = {"logs": "transform"}.get(option, option)
            raise TableError(
                f"`{option}`: {table.source} has no column {names[start]!r}; it has "
                f"{list_names(table.data.column_names)}."
            )
        chosen.append(name)
        start = end
    return tuple(dict.fromkeys(chosen))


def describe_text(column: "pa.ChunkedArray") -> str:
    """Show the value that keeps a column from being numeric, where most are numbers."""
    sample = [v for v in column.slice(0, 10_000).to_pylist() if v is not None]
    half = len(sample) // 2
    commas = [v for v in sample if re.fullmatch(r"\s*-?\d+,\d+\s*", v)]
    if commas and len(commas) > half:
        return (
            f"text such as {commas[0]!r}: for decimal commas add `decimal=','`; grouped digits are "
            "recognized where a value has two groups, such as 1,234,567, or decimals"
        )
    signed = [v for v in sample if re.fullmatch(_NUMBER_LIKE, v) and re.search(_CURRENCY, v)]
    if signed and len(signed) > half:
        return f"looks like numbers, but has signs, such as {signed[0][:30]!r}: remove the signs"
    if sum(re.fullmatch(_NUMBER, v) is not None for v in sample) > half:
        numbers = pc.fill_null(pc.match_substring_regex(column, f"^{_NUMBER}$"), True)
        at = pc.index(numbers, False).as_py()
        if at < 0:
            return "text in later rows, among numbers"
        return f"text such as {column[at].as_py()[:30]!r} in row {at:,} (from 0), among numbers"
    return "text"


def find_rounded(table: DataTable, names: tuple[str, ...]) -> list[str]:
    """Columns of integers that doubles do not hold exactly."""
    found = []
    for name in names:
        column = table.data.column(name)
        if pa.types.is_integer(column.type) and len(column) > column.null_count:
            low, high = pc.min_max(column).as_py().values()
            found += [name] * (high > _EXACT_INTEGERS or low < -_EXACT_INTEGERS)
    return found


def take_ids(table: DataTable, name: str | None) -> "pa.ChunkedArray | None":
    """Return the column that identifies rows, as 64-bit integers or text.

    Ids of text files are text, as they are written; integers are those of other files.
    """
    if name is None:
        return None
    if name not in table.data.column_names:
        raise TableError(f"`id`: {table.source} has no column {name!r}.")
    ids = table.data.column(name)
    if pa.types.is_integer(ids.type) and ids.type != pa.uint64():
        found = ids.cast(pa.int64())
    else:
        try:
            found = ids.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise TableError(
                f"column {show_name(name)} of {table.source} cannot be `id`: it holds {ids.type} "
                "that is not text; expected text or integers. Convert it."
            ) from None
        found = pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)
    if found.null_count:
        row = table.first_row + pc.index(found.is_null(), True).as_py()
        raise TableError(
            f"column {show_name(name)} of {table.source} cannot be `id`: "
            f"{count(found.null_count, 'value')} missing, the first in row {row:,} (from 0)."
        )
    return found


class DistinctIds:
    """Check that no id occurs twice, in a table that is read whole or in parts."""

    def __init__(self) -> None:
        self._digests: list[NDArray[Any]] = []

    def see(self, ids: "pa.ChunkedArray | None") -> None:
        """Take note of the ids of a part."""
        if ids is None:
            return
        digests = (blake2b(str(x).encode(), digest_size=16).digest() for x in ids.to_pylist())
        self._digests.append(np.frombuffer(b"".join(digests), dtype="V16"))

    def check(self, source: str, name: str | None) -> None:
        """Refuse ids that occur twice; names the first two rows that share one."""
        if not self._digests:
            return
        found = np.concatenate(self._digests).view([("a", np.uint64), ("b", np.uint64)])
        order = np.lexsort((found["b"], found["a"]))
        same = found[order[1:]] == found[order[:-1]]
        if same.any():
            first, second = order[:-1][same], order[1:][same]  # equal ids stay in their order
            at = int(second.argmin())
            raise TableError(
                f"column {show_name(name or '')} of {source} cannot be `id`: rows {first[at]:,} and "
                f"{second[at]:,} (from 0) have the same id. Repeated ids in all: {int(same.sum()):,}. "
                "Expected one id for each row."
            )


def take_weight(table: DataTable, name: str | None) -> NDArray[np.float64] | None:
    """Return the column of weights: finite, at least 0."""
    if name is None:
        return None
    column = table.data.column(name)
    if find_kind(column) not in ("number", "boolean"):
        raise TableError(f"`weights`: column {show_name(name)} is not numeric ({column.type}).")
    if column.null_count:
        raise TableError(
            f"`weights`: column {name} has {count(column.null_count, 'missing value')}."
        )
    weight = to_doubles(column)
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        raise TableError(
            f"`weights`: column {name} must be finite and at least 0; row "
            f"{table.first_row + wrong.argmax()} (from 0) has {weight[wrong.argmax()]}."
        )
    return weight


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


def restore_prepared(
    rows: NDArray[np.float64], scale: tuple[float, ...] | None, ids: Any = None
) -> PreparedRows:
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
