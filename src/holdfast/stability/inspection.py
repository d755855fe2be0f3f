"""Which rows a clustering depends on, and which clusters can be trusted."""

from __future__ import annotations  # short names in help()

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.progress import ProgressOption
from holdfast.stability.display import format_value, html_table
from holdfast.stability.measures import check_measure
from holdfast.stability.perturb import Bootstrap
from holdfast.stability.plan import build_plan, check_count
from holdfast.stability.run import check_n_jobs
from holdfast.stability.sensitivity import check_checkpoint, measure_plan

__all__ = ["ClusterStability", "RowInfluence", "cluster_stability", "row_influence"]

Numbers = NDArray[np.float64]


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

    influence: Numbers
    instability: Numbers
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
        check_count("count", count)
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
    >>> from holdfast.clusterers import single_linkage
    >>> X = np.array([[0.0], [1], [2], [3.5], [5], [6], [7], [20]])
    >>> row_influence(single_linkage(), X, n_clusters=2).top(1)  # the outlier is a cluster
    array([7])
    """
    check_measure(measure)
    if n_clusters is not None:
        check_count("n_clusters", n_clusters)
    check_checkpoint(checkpoint, random_state)
    n_processes = check_n_jobs(n_jobs)
    plan = build_plan(
        clusterer, X, n_clusters=n_clusters, delete=1, perturb=None, trials="all",
        repeats=repeats, coupling="same_seed", random_state=random_state, pairwise=pairwise,
    ).limit_to(trials)  # fmt: skip
    measured = measure_plan(plan, measure, n_processes, progress, checkpoint, per_row=True)
    result = measured.result
    values = result.values[0, 0]
    present = np.isfinite(values)
    return RowInfluence(
        influence=_ratio(np.where(present, values, 0.0).sum(axis=1), present.sum(axis=1)),
        instability=_ratio(measured.moved, measured.compared),
        measure=measure,
        floor=float(result.floor[0]),
        complete=result.complete,
        note=result.note,
    )


def _ratio(total: NDArray[Any], count: NDArray[np.int64]) -> Numbers:
    ratio: Numbers = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return ratio


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
    jaccard: Numbers
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

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import cluster_stability
    >>> from holdfast.clusterers import ward_linkage
    >>> X = np.array([[0.0], [1], [2], [3], [50], [51], [52], [53]])
    >>> cluster_stability(ward_linkage(), X, n_clusters=2, trials=20, n_jobs=1).jaccard > 0.9
    array([ True,  True])
    """
    if n_clusters is not None:
        check_count("n_clusters", n_clusters)
    perturbation = Bootstrap() if perturb is None else perturb
    if getattr(perturbation, "held_back", 0.0):
        raise ValueError(
            f"perturb must not hold rows back, since cluster_stability clusters all rows; got "
            f"{perturbation!r}."
        )
    plan = build_plan(
        clusterer, X, n_clusters=n_clusters, delete=None, perturb=perturbation, trials=trials,
        repeats=1, coupling="same_seed", random_state=random_state, pairwise=pairwise,
    )  # fmt: skip
    measured = measure_plan(plan, "moved_fraction", check_n_jobs(n_jobs), progress)
    labels = measured.job.base_labels[0][0][0]
    assert labels is not None  # or fit_bases has raised
    jaccard, rand = measured.result.jaccard, measured.result.rand
    assert jaccard is not None
    assert rand is not None
    names, codes = np.unique(labels.codes, return_inverse=True)
    sizes = np.bincount(codes)
    if labels.noise and names[-1] == labels.count - 1:  # not a cluster
        codes[codes == names.size - 1] = -1
        names, sizes = names[:-1], sizes[:-1]
    return ClusterStability(
        labels=codes,
        jaccard=jaccard[0, 0, 0, names],
        sizes=sizes,
        rand=float(np.nanmean(rand)),
    )
