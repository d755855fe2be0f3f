"""Which rows a clustering depends on, which clusters can be trusted, and how sure each row is."""

from __future__ import annotations  # short names in help()

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.hash import seed_from
from holdfast._machine.jit import Floats
from holdfast._machine.work import Progress, ProgressOption
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy.cost import distances_between
from holdfast.parameters import check_integer
from holdfast.stability.measures import check_measure, encode_labels, match_labels_of, mean_present
from holdfast.stability.plan import Bootstrap, Delete, build_plan, keyed_generator
from holdfast.stability.result import format_value, html_table
from holdfast.stability.run import check_n_jobs
from holdfast.stability.sensitivity import check_checkpoint, measure_plan

Counts = NDArray[np.int64]

MOST_TRIALS = 20  # refits of `membership`


@dataclass(frozen=True, eq=False, repr=False)
class RowInfluence:
    """Influence and instability of every row, for one number of clusters.

    Attributes
    ----------
    influence : ndarray of shape (n_samples,), dtype float64
        How much the clustering moves when only this row is removed, in `measure`, averaged over
        seeds; NaN for rows that were not removed. The mean is the average sensitivity.
    instability : ndarray of shape (n_samples,), dtype float64
        The fraction of deletions of other rows, and seeds, after which this row is not in the
        cluster matched to its own; NaN if it was never compared.
    measure : str
    floor : float
        The smallest possible influence.
    complete : bool
    note : str
        Why the result is not complete.
    """

    influence: Floats
    instability: Floats
    measure: str
    floor: float
    complete: bool = True
    note: str = ""

    def top(self, count: int = 10, by: str = "influence") -> NDArray[np.int64]:
        """Find the rows with the largest values.

        Parameters
        ----------
        count : int, default=10
        by : {"influence", "instability"}, default="influence"

        Returns
        -------
        ndarray of shape (at most count,), dtype int64
            Row indices, the largest value first, ties in row order; rows without a value left out.
        """
        check_integer("count", count)
        if by not in ("influence", "instability"):
            raise ValueError(f"by must be 'influence' or 'instability'; got {by!r}.")
        values = self.influence if by == "influence" else self.instability
        order = np.argsort(-values, kind="stable")  # NaN last
        return order[np.isfinite(values[order])][:count]

    def __repr__(self) -> str:
        """Name the most influential rows."""
        rows = ", ".join(
            f"{row} ({format_value(self.measure, self.influence[row])})" for row in self.top(3)
        )
        return f"RowInfluence({self.influence.size} rows, most influential: {rows})"

    def _repr_html_(self) -> str:
        rows = [
            [
                str(row),
                format_value(self.measure, self.influence[row]),
                format_value("moved_fraction", self.instability[row]),
            ]
            for row in self.top(10)
        ]
        title = f"Most influential of {self.influence.size} rows"
        note = f"Incomplete: {self.note}." if self.note else ""
        return html_table(title, ("row", f"influence ({self.measure})", "instability"), rows, note)


def row_influence(
    clusterer: Any,
    X: Any,
    n_clusters: int | None = None,
    *,
    trials: Any = "all",
    repeats: int = 10,
    measure: str = "moved_fraction",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressOption = False,
    checkpoint: str | os.PathLike[str] | None = None,
    pairwise: bool | None = None,
) -> RowInfluence:
    """Measure how much the clustering depends on each row, and how often each row moves.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`.
    X : array-like of shape (n_samples, n_features), or other data
        As for `average_sensitivity`.
    n_clusters : int, default=None
        None is for clusterers that choose the number themselves.
    trials : int or "all", default="all"
        Number of rows to remove, each alone. With an integer, that many rows are chosen at random:
        enough for `instability`, but the other rows have no `influence`.
    repeats : int, default=10
        Number of seeds; deterministic clusterers use one.
    measure : {"moved_fraction", "moved", "symmetric_difference"}, default="moved_fraction"
        The measure of `influence`.
    n_jobs, random_state, progress, checkpoint, pairwise
        As for `average_sensitivity`.

    Returns
    -------
    RowInfluence

    Notes
    -----
    Takes ``trials * repeats`` fits. If several matchings of clusters are equally good, the one
    that is found decides which rows count as moved.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import row_influence
    >>> from holdfast.clusterers import METHODS
    >>> X = np.array([[0.0], [1], [2], [3.5], [5], [6], [7], [20]])
    >>> row_influence(METHODS["single"].build(), X, n_clusters=2).top(1)  # the outlier is a cluster
    array([7])
    """
    check_measure(measure)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters)
    check_checkpoint(checkpoint, random_state)
    n_processes = check_n_jobs(n_jobs)
    plan = build_plan(
        clusterer, X, n_clusters=n_clusters, repeats=repeats, random_state=random_state,
        pairwise=pairwise,
    )  # fmt: skip
    if not (isinstance(trials, str) and trials == "all"):
        check_integer("trials", trials, ', or "all"')
        plan = replace(plan, limit=int(trials))
    measured = measure_plan(plan, measure, n_processes, progress, checkpoint, per_row=True)
    result = measured.result
    return RowInfluence(
        influence=mean_present(result.values[0, 0], axis=1),
        instability=measured.moved / np.where(measured.compared > 0, measured.compared, np.nan),
        measure=measure,
        floor=float(result.floor[0]),
        complete=result.complete,
        note=result.note,
    )


@dataclass(frozen=True, eq=False, repr=False)
class ClusterStability:
    """How well each cluster of a clustering is recovered from perturbed rows.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int64
        The clustering of the unperturbed rows, labels from 0; -1 is noise.
    jaccard : ndarray of shape (n_clusters,), dtype float64
        For each cluster, the largest Jaccard index with a cluster of the perturbed rows, averaged
        over trials. A rule of thumb from fpc: below 0.6, do not trust the cluster; from 0.75, it
        is a pattern in the data; from 0.85, it is highly stable.
    sizes : ndarray of shape (n_clusters,), dtype int64
    rand : float
        Adjusted Rand index of the whole clusterings, averaged over trials.
    """

    labels: NDArray[np.int64]
    jaccard: Floats
    sizes: NDArray[np.int64]
    rand: float

    def __repr__(self) -> str:
        """Give the Jaccard index of each cluster."""
        jaccard = ", ".join(f"{value:.2f}" for value in self.jaccard)
        return f"ClusterStability({self.jaccard.size} clusters, jaccard=[{jaccard}])"

    def _repr_html_(self) -> str:
        rows = [
            [str(j), str(size), f"{value:.3f}"]
            for j, (size, value) in enumerate(zip(self.sizes, self.jaccard, strict=True))
        ]
        title = f"Stability of {self.jaccard.size} clusters"
        note = f"Adjusted Rand index {self.rand:.3f}."
        return html_table(title, ("cluster", "rows", "Jaccard index"), rows, note)


def cluster_stability(
    clusterer: Any,
    X: Any,
    n_clusters: int | None = None,
    *,
    perturb: Any = None,
    trials: int = 100,
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressOption = False,
    pairwise: bool | None = None,
) -> ClusterStability:
    """Measure how well each cluster is recovered: the bootstrap Jaccard index per cluster.

    The rows are drawn again with replacement and clustered again. Each cluster is compared with
    the most similar new cluster, on the rows that were drawn, as `clusterboot` of the R package
    fpc does [Hennig07]_.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`.
    X : array-like of shape (n_samples, n_features), or other data
        As for `average_sensitivity`.
    n_clusters : int, default=None
        None is for clusterers that choose the number themselves.
    perturb : Perturbation or callable, default=None
        None means `Bootstrap`. Perturbations that hold rows back are not supported.
    trials : int, default=100
        Number of perturbed data sets.
    n_jobs, random_state, progress, pairwise
        As for `average_sensitivity`. All fits use the same seed.

    Returns
    -------
    ClusterStability

    References
    ----------
    .. [Hennig07] Hennig. Cluster-wise assessment of cluster stability. Computational Statistics &
       Data Analysis 52, 2007.
    """
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters)
    perturbation = Bootstrap() if perturb is None else perturb
    if getattr(perturbation, "held_back", 0.0):
        raise ValueError(
            f"perturb must not hold rows back, since cluster_stability clusters all rows; got "
            f"{perturbation!r}."
        )
    plan = build_plan(
        clusterer, X, n_clusters=n_clusters, perturb=perturbation, trials=trials,
        random_state=random_state, pairwise=pairwise,
    )  # fmt: skip
    measured = measure_plan(plan, "moved_fraction", check_n_jobs(n_jobs), progress)
    labels: Any = measured.job.base_labels[0][0][0]  # not None, or fit_bases has raised
    jaccard: Any = measured.result.jaccard
    rand: Any = measured.result.rand
    names, codes = np.unique(labels.codes, return_inverse=True)
    sizes = np.bincount(codes)
    if labels.noise and names[-1] == labels.count - 1:  # not a cluster
        codes[codes == names.size - 1] = -1
        names, sizes = names[:-1], sizes[:-1]
    return ClusterStability(
        labels=codes, jaccard=jaccard[0, 0, 0, names], sizes=sizes, rand=float(mean_present(rand))
    )


def membership(
    model: HierarchicalKMedian,
    X: ArrayLike | None = None,
    n_clusters: int | None = None,
    *,
    delete: Any = 0.05,
    trials: int = MOST_TRIALS,
    random_state: Any = 0,
    progress: ProgressOption = False,
) -> Floats:
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
    if not isinstance(trials, int | np.integer) or not 2 <= trials <= MOST_TRIALS:
        raise ValueError(f"trials must be an integer from 2 to {MOST_TRIALS}; got {trials!r}.")
    k = model.n_clusters if n_clusters is None else n_clusters
    rows, reference = model.rows_, model.hierarchy_.cut(k)
    k = int(k)
    asked = rows if X is None else model._check_rows(X)
    by_distance = model._fitted_metric == "precomputed"
    change, seed = Delete(delete), seed_from(random_state)
    fitted = np.empty((trials, rows.shape[0]), dtype=np.int64)
    looked_up = fitted if X is None else np.empty((trials, asked.shape[0]), dtype=np.int64)
    with Progress(progress, trials, "fits") as shown:
        for trial in range(trials):
            hierarchy, names, kept = _refit(model, k, change, seed, trial)
            columns = kept if by_distance else slice(None)
            fitted[trial] = names[hierarchy.predict(rows[:, columns], k)]
            if X is not None:
                looked_up[trial] = names[hierarchy.predict(asked[:, columns], k)]
            shown.advance()
    own = reference if X is None else model.hierarchy_.predict(asked, k)
    certainty = _calibrate(fitted, k)
    centers = model.hierarchy_.center_indices[:k]
    if by_distance:
        distances = asked[:, centers]
    else:
        distances = distances_between(asked, rows[centers], model._fitted_metric)
    return _probabilities(looked_up, own.astype(np.int64), certainty, distances)


def _refit(
    model: HierarchicalKMedian, k: int, change: Delete, seed: int, trial: int
) -> tuple[Any, Counts, Counts]:
    """Fit without some rows; return the hierarchy, the names of its clusters, and the rows kept."""
    rows, mass = model.rows_, model.row_weights_
    rng = keyed_generator(seed, f"membership: {change.name}", trial)
    numbers = np.arange(rows.shape[0], dtype=np.int64)[:, None]
    change.check(numbers.size, 0)
    kept = change.perturb(numbers, numbers[:0], rng)[1]
    weight = None if (mass == 1.0).all() else mass[kept]
    again = clone(model).set_params(
        n_clusters=k, max_centers=k, random_state=model.seed_, column_scale=model.column_scale_
    )
    if model._fitted_metric == "precomputed":
        distances, identity = rows[np.ix_(kept, kept)], model._identity[kept]
        again.fit(distances, sample_weight=weight, keyed_by=identity)
    else:
        again.fit(rows[kept], sample_weight=weight)
    hierarchy, before = again.hierarchy_, encode_labels(model.hierarchy_.cut(k)[kept])
    match = match_labels_of(before, encode_labels(hierarchy.cut(k)))[1]
    names = np.arange(k)
    names[match.after] = match.before
    return hierarchy, names, kept


def _agreement(labels: Counts, k: int) -> Counts:
    """How often each row is in each cluster, of shape (n_rows, k)."""
    n_rows = labels.shape[1]
    place = labels + np.arange(n_rows) * k
    return np.bincount(place.ravel(), minlength=n_rows * k).reshape(n_rows, k)


def _calibrate(labels: Counts, k: int) -> Floats:
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
    return np.asarray(np.interp(wanted, known, smooth))


def _probabilities(labels: Counts, own: Counts, certainty: Floats, distances: Floats) -> Floats:
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
    found: Floats = rest / total * (1.0 - largest)[:, None]
    found[every, top] = largest
    return found
