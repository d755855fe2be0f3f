"""Distinct rows with integer counts, the common input of all ways to fit."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.hash import purpose_key
from holdfast._machine.jit import Floats, Ints, Ints32, read_only
from holdfast._machine.work import share_rows
from holdfast.grid._kernels import content_keys
from holdfast.grid.cells import row_keys, z_order
from holdfast.rows._kernels import find_rows, group_rows, merge_rows, order_ties, scan_rows

MAX_WEIGHT = 1 << 53
"""Maximum total weight; float64 cannot represent all larger integers."""

_LONG_RUN = 24
_NAMED = 5  # rows listed in an error message
_BLOCK = 1 << 12  # rows hashed at a time


class CountedRows:
    """Rows, or cells, with the count of each."""

    rows: Floats  # (n, n_features)
    weight: Ints  # (n,): positive

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def total_weight(self) -> int:
        """Number of rows, including repeats."""
        return int(self.weight.sum())

    def __len__(self) -> int:
        """Return the number of distinct rows or cells."""
        return self.weight.size


@dataclass(frozen=True, eq=False, repr=False)
class Sketch(CountedRows):
    """Distinct rows, sorted, with the count of each. Immutable.

    A sketch is a function of the multiset of rows. Neither the order of the rows nor the history of
    changes matters. Create one with :meth:`from_rows`, :meth:`empty` and :meth:`combine`.
    """

    rows: Floats  # (n, n_features): sorted by the first column, then the second, ...; no -0.0
    weight: Ints  # (n,): positive

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Sketch of no rows."""
        return cls(np.empty((0, n_features)), np.empty(0, dtype=np.int64))

    @classmethod
    def from_rows(cls, X: ArrayLike, weight: ArrayLike | None = None) -> Self:
        """Sketch finite rows in O(n log n) time; weights are integers of at least 0, and 0 ignores a row."""
        rows = np.asarray(X, dtype=np.float64)
        counts = whole_weights(weight, rows.shape[0])
        if weight is not None and not counts.all():
            rows, counts = rows[counts > 0], counts[counts > 0]
        return cls(*_sort_distinct(rows + 0.0, counts))  # -0.0 becomes 0.0

    def __eq__(self, other: object) -> bool:
        """Whether both have the same rows with equal counts."""
        if not isinstance(other, Sketch):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.weight, other.weight)

    __hash__ = None  # type: ignore[assignment]

    def count(self, rows: Floats) -> Ints:
        """Count how often each of `rows` is present, in O(log n) time per row."""
        total = np.zeros(rows.shape[0], dtype=np.int64)
        find_rows(read_only(self.rows), read_only(self.weight), read_only(rows), total)
        return total

    def combine(self, other: "Sketch", sign: int = 1) -> "Sketch":
        """Add the weights of `other` times `sign`, in O(n + m) time; the sum may be negative."""
        return self if len(other) == 0 else self.merge(other, sign)[0]

    def merge(self, other: "Sketch", sign: int = 1) -> tuple["Sketch", Ints32, Ints32]:
        """Combine, and number the rows: those of this sketch, and those that only `other` has.

        A number is -1 for a row that is dropped and, in the second list, for one that both have.
        """
        size = len(self) + len(other)
        rows, weight = np.empty((size, self.n_features)), np.empty(size, dtype=np.int64)
        number, added = np.empty(len(self), dtype=np.int32), np.empty(len(other), dtype=np.int32)
        given = (read_only(a) for a in (self.rows, self.weight, other.rows, other.weight))
        found = merge_rows(*given, sign, rows, weight, number, added)
        return Sketch(*_keep_first(found, rows, weight)), number, added


def sketch_distinct(
    rows: NDArray[np.floating], weight: Ints | None
) -> tuple[Sketch, Ints32] | None:
    """Sketch and number valid rows in O(n) time for most data; None if first values repeat."""
    n = rows.shape[0]
    first = rows[:, 0].astype(np.float64)
    first += 0.0  # -0.0 becomes 0.0
    bits = first.view(np.int64)
    bits ^= (bits >> 63) | np.int64(-1 << 63)  # unsigned, they are in the order of the values
    order = z_order(bits.view(np.uint64)[:, None])
    found, counts = np.empty((n, rows.shape[1])), np.ones(n, dtype=np.int64)
    number = np.empty(n, dtype=np.int32)

    def gather(part: slice) -> None:
        if rows.dtype == np.float64:
            rows.take(order[part], axis=0, out=found[part], mode="clip")
        else:
            found[part] = rows.take(order[part], axis=0)
        found[part] += 0.0
        if weight is not None:
            weight.take(order[part], out=counts[part], mode="clip")
        number[order[part]] = np.arange(part.start, part.stop, dtype=np.int32)

    share_rows(n, gather)
    if (found[1:, 0] == found[:-1, 0]).any():
        return None
    return Sketch(*_keep_first(n, found, counts)), number


def fingerprint_rows(rows: NDArray[np.floating]) -> int:
    """Sum the hashes of all rows: one pass over them, in threads."""
    key, factors, given = purpose_key(0, "row"), np.ones(2), read_only(rows)
    totals: list[int] = []

    def scan(part: slice) -> None:
        block = np.empty(_BLOCK, dtype=np.uint64)
        for start in range(part.start, part.stop, _BLOCK):
            some = given[start : min(start + _BLOCK, part.stop)]
            content_keys(some, factors, key, block[: some.shape[0]])
            totals.append(int(block[: some.shape[0]].sum()))

    share_rows(rows.shape[0], scan, rows.shape[1])
    return sum(totals) & ((1 << 64) - 1)


def count_rows(
    rows: NDArray[np.floating], weight: Floats | None, wanted: Floats
) -> tuple[int, Ints]:
    """Fingerprint rows, and count how often each distinct `wanted` row is among them."""
    key, factors = purpose_key(0, "row"), np.ones(2)
    keys = row_keys(wanted, 0)
    slots = np.full(1 << (4 * keys.size + 1).bit_length(), -1, dtype=np.int32)
    mask = slots.size - 1
    for w, h in enumerate(keys.tolist()):
        s = h & mask
        while slots[s] >= 0:
            s = (s + 1) & mask
        slots[s] = w
    given, weights = read_only(rows), read_only(np.empty(0) if weight is None else weight)
    totals: list[tuple[int, Ints]] = []

    def scan(part: slice) -> None:
        counts, block = np.zeros(keys.size, dtype=np.int64), np.empty(_BLOCK, dtype=np.uint64)
        shares = weights[part] if weights.size else weights
        added = scan_rows(
            given[part], shares, factors, key, slots, keys, read_only(wanted), block, counts
        )
        totals.append((int(added), counts))

    share_rows(rows.shape[0], scan, rows.shape[1])
    counted: Ints = np.array([counts for _, counts in totals]).sum(axis=0)
    return sum(added for added, _ in totals) & ((1 << 64) - 1), counted


def name_missing(rows: Floats, asked: Ints, held: Ints) -> str:
    """List the rows that should be removed but are not present."""
    missing = np.flatnonzero(held < asked)
    named = "; ".join(
        f"{rows[i].tolist()} ({asked[i]} to remove, {held[i]} present)" for i in missing[:_NAMED]
    )
    more = f"; and {missing.size - _NAMED} more" if missing.size > _NAMED else ""
    return (
        f"{missing.size} of the distinct rows to remove are not present, or not often enough: "
        f"{named}{more}. All rows to remove must be present; nothing was removed."
    )


def whole_weights(weight: ArrayLike | None, n_rows: int) -> Ints:
    """Convert weights to integers; raise an error if any is not an integer."""
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
            f"sample_weight must be integers from 0 to 2^53 to be counted, because sums of fractions "
            f"depend on their order; got {int(wrong.sum())} values that are not, the first is "
            f"{given[first]} at row {first}. Scale the weights to integers, or use fit, which "
            "accepts fractions."
        )
    counts: Ints = given.astype(np.int64)
    # The float64 sum shows whether the integer sum could overflow; the integer sum is exact.
    about = float(counts.sum(dtype=np.float64))
    if about > 2.0 * MAX_WEIGHT or int(counts.sum()) > MAX_WEIGHT:
        raise ValueError(
            f"A sketch can have at most 2^53 rows, including repeats; the weights sum to {about:g}."
        )
    return counts


def _sort_distinct(rows: Floats, weight: Ints) -> tuple[Floats, Ints]:
    """Sort by the first column, then ties by the others; collapse repeats."""
    rows = np.ascontiguousarray(rows)
    order = np.argsort(rows[:, 0])  # need not be stable: equal rows are merged
    for start, stop in order_ties(read_only(rows), order, _LONG_RUN):
        run = order[start:stop]
        order[start:stop] = run[np.lexsort(rows[run].T[::-1])]
    distinct, total = np.empty_like(rows), np.empty_like(weight)
    found = group_rows(read_only(rows), order, read_only(weight), distinct, total)
    return _keep_first(found, distinct, total)


def _keep_first(found: int, rows: Floats, weight: Ints) -> tuple[Floats, Ints]:
    """Truncate arrays to the used part, copied if most is unused, and make them read-only."""
    rows, weight = rows[:found], weight[:found]
    if rows.base is not None and found < rows.base.shape[0] // 2:
        rows, weight = rows.copy(), weight.copy()
    rows.flags.writeable = weight.flags.writeable = False
    return rows, weight
