"""Distinct rows with whole counts: what all ways to fit add up to."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.jit import read_only
from holdfast.rows._sketch_kernels import find_rows, group_rows, merge_rows, order_ties

__all__ = ["MAX_WEIGHT", "Sketch", "name_missing", "whole_weights"]

MAX_WEIGHT = 1 << 53
"""Weights in all; beyond it a double does not hold every whole number."""

_LONG_RUN = 24
_NAMED = 5  # rows that an error names


@dataclass(frozen=True, eq=False, repr=False)
class Sketch:
    """Distinct rows, sorted, with the number of times that each is there. Immutable.

    A function of the multiset of rows: neither their order nor the way they came matters. Made by
    :meth:`from_rows`, :meth:`empty`, ``+`` and ``-``.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features), dtype float64
        Sorted by the first column, then the second, and so on; -0.0 is 0.0.
    weight : ndarray of shape (n,), dtype int64
        Positive.
    """

    rows: NDArray[np.float64]
    weight: NDArray[np.int64]

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Sketch of no rows: what adds nothing."""
        return cls(np.empty((0, n_features)), np.empty(0, dtype=np.int64))

    @classmethod
    def from_rows(cls, X: ArrayLike, weight: ArrayLike | None = None) -> Self:
        """Sketch the rows of `X`: O(n log n) time.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Finite numbers.
        weight : array-like of shape (n,), default=None
            Whole numbers of at least 0; a row of weight 0 is not there.
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise ValueError(
                f"X must have rows and at least one column; got an array of shape {rows.shape}."
            )
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"X must be finite; it has NaN or infinity in {int((~finite).sum())} rows, the "
                f"first is row {int(finite.argmin())}."
            )
        counts = whole_weights(weight, rows.shape[0])
        if weight is not None and not counts.all():
            rows, counts = rows[counts > 0], counts[counts > 0]
        return cls(*_sort_distinct(rows + 0.0, counts))  # -0.0 becomes 0.0

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def total_weight(self) -> int:
        """Number of rows, repeated ones included."""
        return int(self.weight.sum())

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return self.weight.size

    def __repr__(self) -> str:
        """Name the sketch by its sizes."""
        return (
            f"Sketch({len(self)} distinct rows of {self.total_weight}, {self.n_features} columns)"
        )

    def __eq__(self, other: object) -> bool:
        """Whether the same rows are there the same number of times."""
        if not isinstance(other, Sketch):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.weight, other.weight)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "Sketch") -> "Sketch":
        """Sketch of the rows of both: O(n + m) time."""
        _check_columns(self, other)
        if self.total_weight + other.total_weight > MAX_WEIGHT:
            raise ValueError(
                f"A sketch holds at most 2^53 rows, repeats included; got {self.total_weight} and "
                f"{other.total_weight}."
            )
        return self.combine(other, 1)

    def __sub__(self, other: "Sketch") -> "Sketch":
        """Sketch of what is left without the rows of `other`, all of which must be there."""
        _check_columns(self, other)
        missing = self.count(other.rows) < other.weight
        if missing.any():
            held = self.count(other.rows)
            raise ValueError(name_missing(other.rows, other.weight, held))
        return self.combine(other, -1)

    def count(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """How often each of `rows` is there: O(log n) each."""
        total = np.zeros(rows.shape[0], dtype=np.int64)
        find_rows(read_only(self.rows), read_only(self.weight), read_only(rows), total)
        return total

    def combine(self, other: "Sketch", sign: int) -> "Sketch":
        """Add the weights of both, `other`'s times `sign`, unchecked: the sum may be negative."""
        if len(other) == 0:
            return self
        size = len(self) + len(other)
        rows, weight = np.empty((size, self.n_features)), np.empty(size, dtype=np.int64)
        found = merge_rows(
            read_only(self.rows),
            read_only(self.weight),
            read_only(other.rows),
            read_only(other.weight),
            sign,
            rows,
            weight,
        )
        return Sketch(*_keep_first(found, rows, weight))


def _check_columns(a: Sketch, b: Sketch) -> None:
    if a.n_features != b.n_features:
        raise ValueError(
            f"Sketches must have the same columns; got {a.n_features} and {b.n_features} columns."
        )


def name_missing(
    rows: NDArray[np.float64], asked: NDArray[np.int64], held: NDArray[np.int64]
) -> str:
    """Say which rows are to go and are not there."""
    missing = np.flatnonzero(held < asked)
    named = "; ".join(
        f"{rows[i].tolist()} ({asked[i]} to remove, {held[i]} there)" for i in missing[:_NAMED]
    )
    more = f"; and {missing.size - _NAMED} more" if missing.size > _NAMED else ""
    return (
        f"{missing.size} of the distinct rows to remove are not there, or not as often: "
        f"{named}{more}. Nothing was removed."
    )


def whole_weights(weight: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    """Weights as integers; an error for any that is not one."""
    if weight is None:
        return np.ones(n_rows, dtype=np.int64)
    given: NDArray[Any] = np.asarray(weight)
    if given.shape != (n_rows,) or given.dtype.kind not in "buif":
        raise ValueError(
            f"sample_weight must be one number per row, shape ({n_rows},); got shape {given.shape} of "
            f"dtype {given.dtype}."
        )
    wrong = ~((given >= 0) & (given <= MAX_WEIGHT))
    if given.dtype.kind == "f":
        wrong |= np.where(wrong, 0.0, given) % 1.0 != 0.0
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"Rows that come and go are counted, so their weights must be whole numbers from 0 to "
            f"2^53: sums of fractions depend on their order. {int(wrong.sum())} are not, the first "
            f"is {given[first]} at row {first}. Fractional weights are for fit alone; multiply "
            "them up to whole ones, or fit anew."
        )
    counts: NDArray[np.int64] = given.astype(np.int64)
    # Doubles tell whether integers could overflow, integers the exact sum.
    about = float(counts.sum(dtype=np.float64))
    if about > 2.0 * MAX_WEIGHT or int(counts.sum()) > MAX_WEIGHT:
        raise ValueError(
            f"A sketch holds at most 2^53 rows, repeats included; the weights add up to {about:g}."
        )
    return counts


def _sort_distinct(
    rows: NDArray[np.float64], weight: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sort by the first column, then ties by the others; collapse repeats."""
    rows = np.ascontiguousarray(rows)
    order = np.argsort(rows[:, 0])  # unstable: equal rows are about to be one
    for start, stop in order_ties(read_only(rows), order, _LONG_RUN):
        run = order[start:stop]
        order[start:stop] = run[np.lexsort(rows[run].T[::-1])]
    distinct, total = np.empty_like(rows), np.empty_like(weight)
    found = group_rows(read_only(rows), order, read_only(weight), distinct, total)
    return _keep_first(found, distinct, total)


def _keep_first(
    found: int, rows: NDArray[np.float64], weight: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Cut arrays to what is used; copied where most of them is not, and read-only."""
    rows, weight = rows[:found], weight[:found]
    if rows.base is not None and found < rows.base.shape[0] // 2:
        rows, weight = rows.copy(), weight.copy()
    rows.flags.writeable = weight.flags.writeable = False
    return rows, weight
