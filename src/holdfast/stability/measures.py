"""Two labelings -> how far apart they are, by one matching of their clusters.

Data flow: labels and the rows that survive -> `overlap_table` -> `match_clusters` -> matched, the
largest number of rows in common under a one-to-one matching of clusters. Everything else follows:
with n rows before and n' after,

- ``"symmetric_difference"`` = n + n' - 2 matched, the least sum over matched clusters of the size
  of their symmetric difference ([LHBP25], Eq. 1); 2 (n - matched) - m when m rows were deleted;
- ``"moved"`` = n - matched, what the figures of [LHBP25] show; at least m;
- ``"moved_fraction"`` = the share of the surviving rows that are not in the cluster matched to theirs.

Invariants: the number of clusters may differ between the sides (a cluster without a partner adds
all its rows), names of clusters never matter, and no loop runs over permutations.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

__all__ = [
    "MEASURES",
    "ClusterMatch",
    "Labels",
    "adjusted_rand",
    "check_measure",
    "cluster_jaccard",
    "clustering_distance",
    "encode_labels",
    "floor_of",
    "match_clusters",
    "overlap_table",
    "value_of",
]

MEASURES = ("moved_fraction", "moved", "symmetric_difference")

_SMALL = 4096  # integer labels up to here need no sorting

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as integers.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,), dtype int64
        From 0 on.
    count : int
        More than the largest of them.
    """

    codes: Counts
    count: int

    def __getitem__(self, rows: Counts) -> "Labels":
        """Labels of some rows."""
        return Labels(self.codes[rows], self.count)


@dataclass(frozen=True, eq=False)
class ClusterMatch:
    """A one-to-one matching of clusters with the largest overlap.

    Attributes
    ----------
    before, after : ndarray of shape (n_pairs,), dtype int64
        Matched clusters, as rows and columns of the table.
    matched : int
        Rows in common.
    """

    before: Counts
    after: Counts
    matched: int


def encode_labels(labels: ArrayLike, n_rows: int | None = None) -> Labels:
    """Give labels numbers from 0, in the order of their values; small integers stay as they are.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Integers, strings, or anything else that sorts.
    n_rows : int, default=None
        The length they must have.

    Returns
    -------
    Labels
    """
    array = np.asarray(labels)
    if array.ndim != 1 or (n_rows is not None and array.size != n_rows):
        wanted = "one label a row" if n_rows is None else f"one label for each of {n_rows} rows"
        raise ValueError(f"labels must have {wanted}; got an array of shape {array.shape}.")
    if array.size == 0:
        return Labels(np.empty(0, dtype=np.int64), 0)
    if array.dtype.kind in "iu" and array.min() >= 0 and (largest := int(array.max())) < _SMALL:
        return Labels(array.astype(np.int64, copy=False), largest + 1)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("labels must not be missing (NaN or infinite).")
    names, codes = np.unique(array, return_inverse=True)
    return Labels(codes.astype(np.int64, copy=False), names.size)


def overlap_table(before: Labels, after: Labels) -> Counts:
    """Count the rows in cluster i before and cluster j after."""
    pairs = before.codes * after.count + after.codes
    counts = np.bincount(pairs, minlength=before.count * after.count)
    return counts.reshape(before.count, after.count)


def match_clusters(table: Counts) -> ClusterMatch:
    """Match clusters one to one with the largest total overlap.

    O(k^3) time at worst for k clusters.
    """
    before, after = linear_sum_assignment(table, maximize=True)
    return ClusterMatch(before, after, int(table[before, after].sum()))


def adjusted_rand(table: Counts) -> float:
    """Compute the adjusted Rand index: 1 for equal partitions, about 0 for unrelated ones."""
    rows, columns, cells = table.sum(axis=1), table.sum(axis=0), table.ravel()
    n = int(rows.sum())
    # Twice the pairs of rows that share a cluster: on both sides, before, after, at all.
    same, before, after = int(cells @ cells) - n, int(rows @ rows) - n, int(columns @ columns) - n
    pairs = n * (n - 1)
    largest = (before + after) / 2.0
    expected = before * after / pairs if pairs else 0.0
    if largest == expected:  # both trivial: one cluster, or single rows
        return 1.0
    return (same - expected) / (largest - expected)


def cluster_jaccard(table: Counts) -> Numbers:
    """How well each cluster before is found again: its largest Jaccard index with one after.

    As `clusterboot` of the R package fpc, on the surviving rows. NaN where none survived.
    """
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0)
    union = rows + columns - table
    best: Numbers = (table / np.maximum(union, 1)).max(axis=1)
    best[rows[:, 0] == 0] = np.nan
    return best


def check_measure(measure: Any) -> str:
    """Return the measure, if it is one of `MEASURES`."""
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}; got {measure!r}.")
    return str(measure)


def value_of(measure: str, matched: Any, n_before: Any, n_after: Any, n_kept: Any) -> Any:
    """Value of a measure from the number of matched rows; arrays broadcast.

    Parameters
    ----------
    measure : {"symmetric_difference", "moved", "moved_fraction"}
    matched : float or ndarray
    n_before, n_after, n_kept : float or ndarray
        Rows before, rows after, rows in both.
    """
    if measure == "symmetric_difference":
        return n_before + n_after - 2.0 * matched
    if measure == "moved":
        return n_before - 1.0 * matched
    return (n_kept - matched) / np.maximum(n_kept, 1.0)


def floor_of(measure: str, n_before: Any, n_after: Any, n_kept: Any) -> Any:
    """Least value a measure can take: every surviving row stays."""
    return value_of(measure, n_kept, n_before, n_after, n_kept)


def clustering_distance(
    before: ArrayLike,
    after: ArrayLike,
    *,
    measure: str = "moved_fraction",
    kept: ArrayLike | None = None,
) -> float:
    """How far apart two clusterings are, of the same rows or of rows that came and went.

    Parameters
    ----------
    before : array-like of shape (n_before,)
        Labels, any integers or strings.
    after : array-like of shape (n_after,)
        Labels; their names and number may differ from those before.
    measure : {"symmetric_difference", "moved", "moved_fraction"}
        With `matched` the largest number of rows in common under a one-to-one matching of
        clusters: n_before + n_after - 2 matched ([LHBP25]_, Eq. 1), n_before - matched, or the
        share of the surviving rows that changed cluster.
    kept : array-like of shape (n_after,), default=None
        For each row after, the number of the row before that it is, or -1 for a new row. None:
        the rows are the same. A row that occurs again counts once, in the cluster of its first
        copy.

    Returns
    -------
    float
        0 for equal clusterings of the same rows. O(n + k^3) time.

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> from holdfast import clustering_distance
    >>> clustering_distance([0, 0, 1, 1], [5, 5, 5, 3], measure="moved")
    1.0
    >>> clustering_distance(["a", "a", "b", "b"], [1, 0, 0], kept=[0, 2, 3])  # row 1 went
    1.0
    """
    check_measure(measure)
    labels, new_labels = encode_labels(before), encode_labels(after)
    n_before, n_after = labels.codes.size, new_labels.codes.size
    if kept is None:
        if n_before != n_after:
            raise ValueError(
                f"the clusterings have {n_before} and {n_after} rows; pass kept, the row before "
                "that each row after is."
            )
        source = np.arange(n_before)
    else:
        source = check_kept(kept, n_before, n_after)
    compared = survivors(source)
    n_kept, n_new = compared.size, int(np.count_nonzero(source < 0))
    table = overlap_table(labels[source[compared]], new_labels[compared])
    matched = match_clusters(table).matched
    return float(value_of(measure, matched, n_before, n_kept + n_new, n_kept))


def check_kept(kept: ArrayLike, n_before: int, n_after: int) -> Counts:
    """Validate the rows before that the rows after are."""
    source = np.asarray(kept)
    if source.shape != (n_after,) or (source.dtype.kind not in "iu" and source.size):
        raise ValueError(
            f"kept must have one integer for each of the {n_after} rows after; got "
            f"{source.dtype} of shape {source.shape}."
        )
    if source.size and not -1 <= source.min() <= source.max() < n_before:
        raise ValueError(
            f"kept must be from 0 to {n_before - 1}, or -1 for new rows; got values from "
            f"{source.min()} to {source.max()}."
        )
    return source.astype(np.int64, copy=False)


def survivors(source: Counts) -> Counts:
    """Rows after that are rows before; of repeats, the first."""
    if source.size and source[0] >= 0 and (source[1:] > source[:-1]).all():
        return np.arange(source.size)  # ascending, as after any deletion: nothing to sort
    old = np.flatnonzero(source >= 0)
    return np.sort(old[np.unique(source[old], return_index=True)[1]])
