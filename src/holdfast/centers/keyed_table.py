"""Rows as means read them, with a key each and weights that are counted; clusters of them, samples."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from holdfast._machine.hash import combine_arrays, purpose_key
from holdfast._machine.jit import Floats, Ints, Mask, Words, read_only
from holdfast._machine.work import share_rows
from holdfast.centers._distance_kernels import unit_rows
from holdfast.grid._kernels import undivided_keys
from holdfast.grid.cells import row_keys, to_fixed_point

_LARGE = 900  # exponents of values that are left as they are
_WEIGHT_BITS = 36
_MOST_COUNTED = 1 << 40
_BLOCK = 1 << 22  # values of dense rows in memory twice
_WIDE = 1024  # columns up to which zeros are part of the content that is hashed


Members = NDArray[np.int32]


@dataclass(frozen=True)
class Table:
    """The rows of a fit."""

    rows: Any  # (n, n_features): read-only, C-contiguous or sparse without zeros
    exponent: int  # values are those of `rows` times 2 to this power: 0 but for extreme ones
    weight: Ints  # (n,): positive; empty where every row counts once
    weight_unit: float
    key: Words  # (n,): hash of the seed and the content
    spherical: bool  # whether distances are cosine distances

    @property
    def factor(self) -> float:
        """What values are multiplied by."""
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        """Weight of all rows, in units."""
        return int(self.weight.sum()) if self.weight.size else self.rows.shape[0]


def collect_table(
    X: Any, weight: Floats | None, spherical: bool, seed: int, given: Words | None = None
) -> Table:
    """Key the rows and count their weights; `given` keys replace hashes of the content."""
    largest = math.frexp(float(max(X.max(), -X.min())))[1]
    exponent = 0
    if spherical:
        X = unit_sparse(X) if issparse(X) else unit_rows(X)
    elif largest > _LARGE:
        exponent = _LARGE - largest
    elif largest < -_LARGE:
        exponent = -_LARGE - largest
    counts, unit = np.empty(0, dtype=np.int64), 1.0
    if weight is not None and (weight != 1.0).any():
        counts, unit = _count_weights(weight)
    rows = X if issparse(X) else read_only(np.ascontiguousarray(X))
    keys = _content_keys(rows, seed) if given is None else _settle_keys(rows, given, spherical)
    if issparse(rows):
        rows = _without_zeros(rows, math.ldexp(1.0, exponent))
    return Table(rows, exponent, counts, unit, keys, spherical)


def as_csr(X: Any) -> csr_array:
    """Convert rows to a csr_array with sorted columns; dense ones lose their zeros."""
    rows = csr_array(X)
    if issparse(X) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _without_zeros(X: csr_array, factor: float) -> csr_array:
    """Leave out the values that are zeros, or become zeros when they are multiplied."""
    zero = X.data * factor == 0.0
    if not zero.any():
        return X
    shorter = X.copy()
    shorter.data[zero] = 0.0
    shorter.eliminate_zeros()
    return shorter


def unit_sparse(X: csr_array) -> csr_array:
    """Scale sparse rows to length 1; they share the columns with `X`."""
    from holdfast.centers._sparse_kernels import unit_values

    scaled = np.empty_like(X.data)
    unit_values(read_only(X.indptr), read_only(X.data), scaled)
    return csr_array((scaled, X.indices, X.indptr), shape=X.shape)


def _content_keys(rows: Any, seed: int) -> Words:
    """Hash the content of each row; the same for dense and sparse rows.

    In more than 1,024 columns, values are hashed with the number of their column and zeros are
    not, so that the time grows with the values stored.
    """
    if not issparse(rows) and rows.shape[1] <= _WIDE:
        return row_keys(rows, seed)
    from holdfast.centers._sparse_kernels import key_values

    n, d = rows.shape
    keys, key = np.empty(n, dtype=np.uint64), purpose_key(seed, "row")
    step = n if issparse(rows) else max(1, _BLOCK // d)
    for start in range(0, n, step):
        some = rows if issparse(rows) else csr_array(rows[start : start + step])
        arrays = (read_only(some.indptr), read_only(some.indices), read_only(some.data))
        key_values(*arrays, d if d <= _WIDE else 0, key, keys[start : start + step])
    return keys


def key_undivided(X: Floats, scale: Floats, spherical: bool, seed: int) -> Words:
    """Hash the values that columns were divided from, so that other scales draw nothing again."""
    if spherical:
        X, scale = unit_rows(X * scale), np.ones(scale.size)
    rows, key = read_only(np.ascontiguousarray(X)), purpose_key(seed, "row")
    keys = np.empty(X.shape[0], dtype=np.uint64)
    share_rows(
        X.shape[0], lambda part: undivided_keys(rows[part], scale, key, keys[part]), X.shape[1]
    )
    return keys


def _settle_keys(rows: Floats, given: Words, spherical: bool) -> Words:
    """Give equal rows one key, the smallest of theirs, and rows that differ different keys."""
    keys = given.copy()
    if spherical:  # of equal length 1, though they differed by rounding before
        group = np.unique(_content_keys(rows, 0), return_inverse=True)[1]
        smallest = np.full(keys.size, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(smallest, group, keys)
        keys = smallest[group]
    order = np.argsort(keys)
    same = keys[order[1:]] == keys[order[:-1]]
    shared = order[np.append(False, same) | np.append(same, False)]
    if shared.size:
        content = _content_keys(read_only(rows[shared]), 0)
        at = np.argsort(keys[shared])
        start = starts_of_runs(keys[shared][at])
        uneven = np.minimum.reduceat(content[at], start) != np.maximum.reduceat(content[at], start)
        apart = at[np.repeat(uneven, np.diff(np.append(start, at.size)))]
        keys[shared[apart]] = combine_arrays(keys[shared[apart]], content[apart])
    return keys


def _count_weights(weight: Floats) -> tuple[Ints, float]:
    """Weights as integers, so that sums are exact in any order.

    Whole weights of at most 2^40 in all stay as they are. Others are rounded to multiples of a
    power of two, about 2^-36 times their total, and to one of it at least.
    """
    scaled, unit = to_fixed_point(weight)
    counts = scaled.astype(np.int64)
    spare = int(counts.sum()).bit_length() - _WEIGHT_BITS
    if spare <= 0 or (unit == 1.0 and int(counts.sum()) <= _MOST_COUNTED):
        return counts, unit
    shift = max(spare, 0)
    return np.maximum((counts + (1 << (shift - 1))) >> shift, 1), math.ldexp(unit, shift)


@dataclass(frozen=True)
class Pool:
    """The distinct members with the smallest keys, in order; an empty `weight` counts each once."""

    members: Members
    weight: Ints
    whole: bool


@dataclass(frozen=True)
class Part:
    """What is known of a cluster before it proposes; `center` is the row that names it."""

    center: int
    mean: Floats
    low: Floats
    high: Floats
    cost: float
    reach: float  # no member is farther from the mean; may be infinite


@dataclass(frozen=True)
class Proposal:
    """How a cluster would be split; `gain` is the cost it saves, `key` that of the row drawn."""

    plane: Any  # ndarray of shape (2, n_features), or SparsePlane
    moves: Mask
    stay: Part
    go: Part
    gain: float
    key: np.uint64


@dataclass(frozen=True)
class Cluster:
    """Members, what is known of them, the sample, and the split they propose."""

    members: Members
    part: Part
    pool: Pool
    proposal: Proposal | None  # none: its members are all equal


def collect_pool(table: Table, members: Members, least: int, wanted: int) -> Pool:
    """Collect the distinct members of smallest keys: about `wanted`, at least `least`, or all."""
    key = table.key[members]
    while True:
        whole = members.size <= wanted
        if whole:
            chosen = np.argsort(key)
        else:
            below = np.flatnonzero(key < np.uint64(int(wanted / members.size * 2.0**64)))
            chosen = below[np.argsort(key[below])]
        keys = key[chosen]
        starts = starts_of_runs(keys)
        if whole or starts.size >= least:
            break
        wanted *= 4
    rows = members[chosen]
    weight = np.empty(0, dtype=np.int64)
    if table.weight.size:
        weight = np.add.reduceat(table.weight[rows], starts)
    elif starts.size < rows.size:
        weight = np.diff(np.append(starts, rows.size)).astype(np.int64)
    # Members with the same key are equal, and sorted in no certain order: the first one counts.
    return Pool(np.minimum.reduceat(rows, starts), weight, whole)


def starts_of_runs(*ordered: NDArray[Any]) -> Ints:
    """Where runs of equal entries of sorted arrays begin."""
    new = np.zeros(ordered[0].size, dtype=np.bool_)
    new[:1] = True
    for values in ordered:
        new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(new)


def sort_locations(table: Table, exhausted: bool) -> tuple[Members, Members]:
    """Rows by key, then number; where locations begin. Nothing is sorted unless `exhausted`."""
    if not exhausted:
        return np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int32)
    order = np.argsort(table.key, kind="stable").astype(np.int32)
    key = table.key[order]
    start = starts_of_runs(key)
    return order, np.append(start, order.size).astype(np.int32)
