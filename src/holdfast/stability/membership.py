"""How sure the cluster of each row is: the probability that it is in the same cluster next time."""

from __future__ import annotations  # short names in help()

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.hash import seed_from
from holdfast._machine.progress import Progress, ProgressOption
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy.cost import distances_between
from holdfast.stability.measures import encode_labels, match_labels_of
from holdfast.stability.perturb import Delete
from holdfast.stability.plan import check_count, keyed_generator

__all__ = ["membership"]

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_TRIALS = 20


def membership(
    model: HierarchicalKMedian,
    X: ArrayLike | None = None,
    n_clusters: int | None = None,
    *,
    delete: Any = 0.05,
    trials: int = MOST_TRIALS,
    random_state: Any = 0,
    progress: ProgressOption = False,
) -> Numbers:
    """Compute the probability of each cluster for each row, when some rows are removed.

    Removes rows at random, fits again with the same seed, matches the clusters, and predicts the
    rows. The fraction of fits in which a row is in a cluster would be too extreme for so few fits.
    It is calibrated by leaving out one fit in turn: among rows that agree in j of the other fits,
    the probability is the fraction that agrees in the one left out.

    Parameters
    ----------
    model : HierarchicalKMedian
        A fitted model that holds its rows.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to look up. None means the rows of the fit.
    n_clusters : int, default=None
        The cut. None means that of `labels_`.
    delete : int or float, default=0.05
        Rows to remove: a number, or a fraction of the rows.
    trials : int, default=20
        Number of refits, from 2 to 20.
    random_state : int, RandomState, Generator or None, default=0
        Determines which rows are removed.
    progress : bool or callable, default=False
        As for `average_sensitivity`.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters), dtype float64
        Rows sum to 1. The largest entry is the cluster that the row is most often in, which is that
        of `predict` for rows far from boundaries.

    Notes
    -----
    A probability of 0.9 means: of rows like this one, 90% are in the same cluster after another
    deletion of this size. It does not say that the cluster is real.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import HierarchicalKMedian, membership
    >>> X = np.array([[0.0], [1], [2], [9], [10], [11]])
    >>> membership(HierarchicalKMedian(2).fit(X), delete=1).argmax(axis=1)
    array([1, 1, 1, 0, 0, 0])
    """
    check_is_fitted(model)
    check_count("trials", trials, f"an integer from 2 to {MOST_TRIALS}")
    if not 2 <= trials <= MOST_TRIALS:
        raise ValueError(f"trials must be an integer from 2 to {MOST_TRIALS}; got {trials}.")
    rows, weight = model.rows_, model.row_weights_
    k = model.n_clusters if n_clusters is None else n_clusters
    reference = model.hierarchy_.cut(k)
    asked = rows if X is None else model._check_rows(X)
    by_distance = model._fitted_metric == "precomputed"
    refits = _Refits(
        model, rows, weight, reference, int(k), Delete(delete), seed_from(random_state)
    )
    fitted = np.empty((trials, rows.shape[0]), dtype=np.int64)
    looked_up = fitted if X is None else np.empty((trials, asked.shape[0]), dtype=np.int64)
    with Progress(progress, trials, "fits") as shown:
        for trial in range(trials):
            hierarchy, names, kept = refits.run(trial)
            columns = kept if by_distance else slice(None)
            fitted[trial] = names[hierarchy.predict(rows[:, columns], int(k))]
            if X is not None:
                looked_up[trial] = names[hierarchy.predict(asked[:, columns], int(k))]
            shown.advance()
    own = reference if X is None else model.hierarchy_.predict(asked, int(k))
    certainty = _calibrate(fitted, int(k))
    centers = model.hierarchy_.center_indices[:k]
    distances = (
        asked[:, centers]
        if by_distance
        else distances_between(asked, rows[centers], model._fitted_metric)
    )
    return _probabilities(looked_up, own.astype(np.int64), certainty, distances)


@dataclass(frozen=True, eq=False)
class _Refits:
    """Fits without some rows, with the names of the clusters that they correspond to."""

    model: HierarchicalKMedian
    rows: Numbers
    weight: Numbers
    reference: NDArray[np.int32]
    k: int
    change: Delete
    seed: int

    def run(self, trial: int) -> tuple[Any, Counts, Counts]:
        """Refit; return the hierarchy, the model's cluster for each of its own, and the rows kept."""
        rng = keyed_generator(self.seed, f"membership: {self.change.name}", trial)
        numbers = np.arange(self.rows.shape[0], dtype=np.int64)[:, None]
        self.change.check(numbers.size, 0)
        kept = self.change.perturb(numbers, numbers[:0], rng)[1]
        weight = None if (self.weight == 1.0).all() else self.weight[kept]
        again = clone(self.model).set_params(
            n_clusters=self.k, max_centers=self.k, random_state=self.model.seed_
        )
        if self.model._fitted_metric == "precomputed":
            distances, identity = self.rows[np.ix_(kept, kept)], self.model._identity[kept]
            again.fit(distances, sample_weight=weight, keyed_by=identity)
        else:
            again.fit(self.rows[kept], sample_weight=weight)
        hierarchy = again.hierarchy_
        after = encode_labels(hierarchy.cut(self.k))
        match = match_labels_of(encode_labels(self.reference[kept]), after)[1]
        names = np.arange(self.k)
        names[match.after] = match.before
        return hierarchy, names, kept


def _agreement(labels: Counts, k: int) -> Counts:
    """How often each row is in each cluster, of shape (n_rows, k)."""
    n_rows = labels.shape[1]
    place = labels + np.arange(n_rows) * k
    return np.bincount(place.ravel(), minlength=n_rows * k).reshape(n_rows, k)


def _calibrate(labels: Counts, k: int) -> Numbers:
    """Probability that another fit agrees with j of `trials` fits, for each j.

    For each fit left out, rows are grouped by how many of the others agree on their most frequent
    cluster. The fraction of each group that the fit left out agrees with is an unbiased estimate;
    it is made monotone in j.
    """
    trials, n_rows = labels.shape
    counts, every = _agreement(labels, k), np.arange(n_rows)
    seen, hits = np.zeros(trials), np.zeros(trials)
    for left_out in labels:
        counts[every, left_out] -= 1
        top = counts.argmax(axis=1)
        agreed = counts[every, top]
        counts[every, left_out] += 1
        seen += np.bincount(agreed, minlength=trials)
        hits += np.bincount(agreed, weights=left_out == top, minlength=trials)
    known = np.flatnonzero(seen > 0.0)
    # Half a hit and half a miss: no group is certain.
    rate = (hits[known] + 0.5) / (seen[known] + 1.0)
    smooth = isotonic_regression(rate, sample_weight=seen[known], y_min=0.0, y_max=1.0)
    wanted = np.arange(trials + 1) * (trials - 1) / trials
    calibrated: Numbers = np.interp(wanted, known, smooth)
    return calibrated


def _probabilities(labels: Counts, own: Counts, certainty: Numbers, distances: Numbers) -> Numbers:
    """Calibrate the largest entry of each row; share the rest in proportion, or by distance."""
    n_rows, k = distances.shape
    counts, every = _agreement(labels, k), np.arange(n_rows)
    top = counts.argmax(axis=1)
    tied = counts[every, own] == counts[every, top]
    top[tied] = own[tied]
    largest = np.ones(n_rows) if k == 1 else np.maximum(certainty[counts[every, top]], 1.0 / k)
    rest = counts.astype(np.float64)
    rest[every, top] = 0.0
    alone = rest.sum(axis=1) == 0.0
    if k > 1:  # what is left goes to the closest other center
        others = distances.copy()
        others[every, top] = np.inf
        rest[alone, others[alone].argmin(axis=1)] = 1.0
    total = np.maximum(rest.sum(axis=1, keepdims=True), 1.0)
    found: Numbers = rest / total * (1.0 - largest)[:, None]
    found[every, top] = largest
    return found
