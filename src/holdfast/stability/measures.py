"""Two labelings -> how far apart they are, by one matching of their clusters.

Data flow: labels and the rows in both -> `overlap_table` -> `match_clusters` -> matched, the
largest number of rows in common under a one-to-one matching of clusters. All measures follow from
it. With n rows before and n' after,

- ``"moved_fraction"`` is the fraction of the remaining rows that are not in the cluster matched to
  theirs;
- ``"moved"`` = n - matched, as in the figures of [LHBP25]; at least the number of removed rows;
- ``"symmetric_difference"`` = n + n' - 2 matched, the smallest sum over matched clusters of the
  size of their symmetric difference ([LHBP25], Eq. 1).

Invariants: the number of clusters may differ between the two (all rows of a cluster without a
partner count as moved), names of clusters never matter, and no loop runs over permutations.

The label -1 is noise, as in scikit-learn: rows in no cluster. Noise is matched with noise only, so a
row moves if it goes from a cluster to noise or back, and stays if it is noise on both sides.
"""

from __future__ import annotations  # short names in help()

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from holdfast._machine.jit import Floats
from holdfast.follow.report import ClusterMatch, match_clusters

MEASURES = ("moved_fraction", "moved", "symmetric_difference")

_SMALL = 4096  # integer labels below this need no sorting

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as integers."""

    codes: Counts  # from 0 to `count` - 1
    count: int
    noise: bool = False  # whether the last code stands for noise

    @property
    def n_clusters(self) -> int:
        """Number of codes that stand for clusters."""
        return self.count - self.noise

    def __getitem__(self, rows: Counts) -> Labels:
        """Labels of some rows."""
        return Labels(self.codes[rows], self.count, self.noise)


def encode_labels(labels: ArrayLike, n_rows: int | None = None) -> Labels:
    """Encode labels as integers from 0 in the order of their values; -1 is noise and comes last."""
    array = np.asarray(labels)
    if array.ndim != 1 or (n_rows is not None and array.size != n_rows):
        wanted = "one label per row" if n_rows is None else f"one label for each of {n_rows} rows"
        raise ValueError(f"labels must have {wanted}; got an array of shape {array.shape}.")
    if array.size == 0:
        return Labels(np.empty(0, dtype=np.int64), 0)
    if array.dtype.kind in "iu" and array.min() >= -1 and (largest := int(array.max())) < _SMALL:
        codes = array.astype(np.int64, copy=False)
        if array.min() == 0 or not (noise := codes < 0).any():
            return Labels(codes, largest + 1)
        return Labels(np.where(noise, largest + 1, codes), largest + 2, noise=True)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("labels must not contain NaN or infinity.")
    names, codes = np.unique(array, return_inverse=True)
    return Labels(codes.astype(np.int64, copy=False), names.size)


def overlap_table(before: Labels, after: Labels) -> Counts:
    """Count the rows in cluster i before and j after; if either has noise, it is last in both."""
    noise = before.noise or after.noise
    shape = (before.n_clusters + noise, after.n_clusters + noise)
    counts = np.bincount(before.codes * shape[1] + after.codes, minlength=shape[0] * shape[1])
    return counts.reshape(shape)


def match_labels_of(before: Labels, after: Labels) -> tuple[Counts, ClusterMatch]:
    """Count the overlaps of two labelings and match their clusters, noise with noise."""
    table = overlap_table(before, after)
    if not (before.noise or after.noise):
        return table, match_clusters(table)
    found = match_clusters(table[:-1, :-1])
    last = np.array([table.shape[0] - 1]), np.array([table.shape[1] - 1])
    return table, ClusterMatch(
        np.concatenate((found.before, last[0])),
        np.concatenate((found.after, last[1])),
        found.matched + table[-1, -1].item(),
    )


def match_outputs(before: Sequence[Labels | None], after: Sequence[Labels | None]) -> float:
    """Mean number of matched rows under the best one-to-one assignment of outputs.

    The earth mover's distance between two distributions of clusterings ([LHBP25], Eq. 2): with m
    equally likely outputs on each side, the cheapest transport is an assignment. All measures fall
    with the number of matched rows, so it minimizes each of them. The estimate is biased upward:
    the caller subtracts the self-distance. NaN if an output failed (None).
    """
    matched = np.empty((len(before), len(after)))
    for a, labels_before in enumerate(before):
        for b, labels_after in enumerate(after):
            if labels_before is None or labels_after is None:
                return float("nan")
            matched[a, b] = match_labels_of(labels_before, labels_after)[1].matched
    return match_clusters(matched).matched / len(before)


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


def mutual_information(table: Counts) -> float:
    """Compute the mutual information, divided by the mean of both entropies, like scikit-learn."""
    cells = table / max(int(table.sum()), 1)
    rows, columns = cells.sum(axis=1, keepdims=True), cells.sum(axis=0, keepdims=True)
    present = cells > 0.0
    shared = (cells[present] * np.log((cells / (rows * columns + ~present))[present])).sum()
    entropy = -sum(float((p[p > 0.0] * np.log(p[p > 0.0])).sum()) for p in (rows, columns)) / 2.0
    return min(max(float(shared) / entropy, 0.0), 1.0) if entropy > 0.0 else 1.0


def cluster_jaccard(table: Counts) -> Floats:
    """Compute the largest Jaccard index of each cluster before with one after, or NaN."""
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0)
    union = rows + columns - table
    best: Floats = (table / np.maximum(union, 1)).max(axis=1)
    best[rows[:, 0] == 0] = np.nan
    return best


def check_measure(measure: Any) -> str:
    """Return the measure, if it is one of `MEASURES`."""
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}; got {measure!r}.")
    return str(measure)


def value_of(measure: str, matched: Any, n_before: Any, n_after: Any, n_kept: Any) -> Any:
    """Compute a measure from the numbers of rows matched, before, after, and in both."""
    if measure == "symmetric_difference":
        return n_before + n_after - 2.0 * matched
    if measure == "moved":
        return n_before - 1.0 * matched
    return (n_kept - matched) / np.maximum(n_kept, 1.0)


def clustering_distance(
    before: ArrayLike,
    after: ArrayLike,
    *,
    measure: str = "moved_fraction",
    kept: ArrayLike | None = None,
) -> float:
    """Distance between two clusterings, of the same rows or of rows that were added and removed.

    Parameters
    ----------
    before : array-like of shape (n_before,)
        Labels, integers or strings. The integer -1 is noise and is matched with noise only.
    after : array-like of shape (n_after,)
        Labels. Their names and number may differ from those before.
    measure : {"moved_fraction", "moved", "symmetric_difference"}, default="moved_fraction"
        With `matched` the largest number of rows in common under a one-to-one matching of
        clusters: the fraction of the remaining rows that changed cluster; n_before - matched; or
        n_before + n_after - 2 matched ([LHBP25], Eq. 1).
    kept : array-like of shape (n_after,), default=None
        For each row after, its index before, or -1 for a new row. If None, the rows are the same.
        A row that occurs more than once counts once, in the cluster of its first copy.

    Returns
    -------
    float
        0 for equal clusterings of the same rows. O(n + k^3) time.

    Examples
    --------
    >>> from holdfast import clustering_distance
    >>> clustering_distance([0, 0, 1, 1], [5, 5, 5, 3])
    0.25
    >>> clustering_distance(["a", "a", "b"], [1, 0], kept=[0, 2])  # row 1 was removed
    0.0
    """
    check_measure(measure)
    labels, new_labels = encode_labels(before), encode_labels(after)
    n_before, n_after = labels.codes.size, new_labels.codes.size
    if kept is None:
        if n_before != n_after:
            raise ValueError(
                f"before and after must have the same number of rows; got {n_before} and "
                f"{n_after}. Pass kept to say which rows are the same."
            )
        source = np.arange(n_before)
    else:
        source = check_kept(kept, n_before, n_after)
    compared = remaining_rows(source)
    n_kept, n_new = compared.size, int(np.count_nonzero(source < 0))
    matched = match_labels_of(labels[source[compared]], new_labels[compared])[1].matched
    return float(value_of(measure, matched, n_before, n_kept + n_new, n_kept))


def check_kept(kept: ArrayLike, n_before: int, n_after: int) -> Counts:
    """Validate the indices before of the rows after."""
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


def remaining_rows(source: Counts) -> Counts:
    """Rows after that are rows before; the first of each set of copies."""
    if source.size and source[0] >= 0 and (source[1:] > source[:-1]).all():
        return np.arange(source.size)  # ascending, as after any deletion: nothing to sort
    old = np.flatnonzero(source >= 0)
    return np.sort(old[np.unique(source[old], return_index=True)[1]])


def mean_present(values: Floats, axis: int | tuple[int, ...] | None = None) -> Any:
    """Mean of the values that are finite; NaN where none is."""
    count = np.isfinite(values).sum(axis)
    return np.nansum(values, axis) / np.where(count > 0, count, np.nan)


@dataclass(frozen=True)
class MeanError:
    """A mean with its standard error; NaN if there are too few values."""

    mean: float
    standard_error: float
    degrees_of_freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval by Student's t distribution."""
        reach = student.ppf(0.5 + level / 2.0, self.degrees_of_freedom) * self.standard_error
        return float(self.mean - reach), float(self.mean + reach)


def mean_error(values: Floats, exhaustive: bool) -> MeanError:
    """Mean over trials and seeds, and its standard error.

    Every trial (perturbed data set) is run with every seed, so values share a trial or share a seed,
    and the usual formula, which takes all of them as independent, is too small. With y[t, r] the
    value of trial t and seed r, T trials and R seeds, and the two-way analysis of variance

        y[t, r] = mean + trial[t] + seed[r] + rest[t, r],

    the variance of the overall mean is var(trial) / T + var(seed) / R + var(rest) / (T R), estimated
    from the mean squares, each component at least 0. Degrees of freedom are Satterthwaite's. With
    one seed, the error is that of the trials alone, for that seed. If the trials are exhaustive
    (every row removed in turn), they add no error: it is the standard error of the R means by seed.
    `values` has NaN where a fit failed: the error is that of trials with a value for every seed.
    """
    present = np.isfinite(values)
    if not present.any():
        return MeanError(np.nan, np.nan, np.nan)
    mean = float(values[present].mean())
    whole = values[:, present.any(axis=0)]
    reached = np.isfinite(whole).all(axis=1)
    table = whole[reached]
    n_trials, n_repeats = table.shape
    if exhaustive and reached.all():
        if n_repeats == 1:
            return MeanError(mean, 0.0, np.inf)
        by_seed = table.mean(axis=0)
        return MeanError(mean, float(by_seed.std(ddof=1)) / n_repeats**0.5, n_repeats - 1.0)
    if n_trials < 2:
        return MeanError(mean, np.nan, np.nan)
    if n_repeats == 1:
        return MeanError(mean, float(table.std(ddof=1)) / n_trials**0.5, n_trials - 1.0)
    return _crossed(mean, table)


def subtract_errors(first: MeanError, second: MeanError) -> MeanError:
    """Difference of two independent means; degrees of freedom as Welch's."""
    variances = (first.standard_error**2, second.standard_error**2)
    total = variances[0] + variances[1]
    freedom = np.inf
    if total > 0.0:
        spread = variances[0] ** 2 / first.degrees_of_freedom
        freedom = total**2 / (spread + variances[1] ** 2 / second.degrees_of_freedom)
    return MeanError(first.mean - second.mean, total**0.5, freedom)


def _crossed(mean: float, table: Floats) -> MeanError:
    n_trials, n_repeats = table.shape
    by_trial, by_seed = table.mean(axis=1), table.mean(axis=0)
    rest = table - by_trial[:, None] - by_seed[None, :] + table.mean()
    rest_freedom = (n_trials - 1) * (n_repeats - 1)
    of_trials = n_repeats * float(by_trial.var(ddof=1))  # the mean squares
    of_seeds = n_trials * float(by_seed.var(ddof=1))
    of_rest = float((rest**2).sum()) / rest_freedom
    total = of_rest + max(of_trials - of_rest, 0.0) + max(of_seeds - of_rest, 0.0)
    if total == 0.0:
        return MeanError(mean, 0.0, np.inf)
    spread = (
        of_trials**2 / (n_trials - 1) + of_seeds**2 / (n_repeats - 1) + of_rest**2 / rest_freedom
    )
    return MeanError(mean, (total / (n_trials * n_repeats)) ** 0.5, total**2 / spread)
