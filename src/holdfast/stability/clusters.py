"""Which clusters are there again when the data change."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.stability.perturb import Bootstrap
from holdfast.stability.plan import build_plan, check_count
from holdfast.stability.schedule import check_n_jobs
from holdfast.stability.sensitivity import measure_plan

__all__ = ["ClusterStability", "cluster_stability"]


@dataclass(frozen=True, eq=False)
class ClusterStability:
    """How well each cluster of one clustering is found again.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int64
        The clustering of the unperturbed rows, labels from 0.
    jaccard : ndarray of shape (n_clusters,), dtype float64
        For each cluster, the largest Jaccard index with a cluster of the perturbed rows, mean over
        trials. As in fpc: below 0.6 do not trust a cluster, from 0.75 on it is a pattern, from
        0.85 on it is stable.
    sizes : ndarray of shape (n_clusters,), dtype int64
    rand : float
        Adjusted Rand index of the whole clusterings, mean over trials.
    """

    labels: NDArray[np.int64]
    jaccard: NDArray[np.float64]
    sizes: NDArray[np.int64]
    rand: float


def cluster_stability(
    clusterer: Any,
    X: ArrayLike,
    n_clusters: int,
    *,
    perturb: Any = None,
    trials: int = 100,
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: bool = False,
) -> ClusterStability:
    """Measure how well each cluster is found again, as `clusterboot` of the R package fpc does.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`.
    X : array-like of shape (n_samples, n_features)
    n_clusters : int
    perturb : Perturbation or function, default=None
        None is `Bootstrap`. One that holds rows back has no clustering of all rows to speak of,
        and is refused.
    trials : int, default=100
    n_jobs, random_state, progress
        As for `average_sensitivity`. One seed comes out of `random_state`, for all fits.

    Returns
    -------
    ClusterStability

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.clusterers import ward_linkage
    >>> from holdfast.stability import cluster_stability
    >>> X = np.array([[0.0], [1], [2], [3], [50], [51], [52], [53]])
    >>> cluster_stability(ward_linkage(), X, n_clusters=2, trials=20, n_jobs=1).jaccard > 0.9
    array([ True,  True])
    """
    check_count("n_clusters", n_clusters)
    perturbation = Bootstrap() if perturb is None else perturb
    if getattr(perturbation, "held_back", 0.0):
        raise ValueError(
            f"cluster_stability needs a clustering of all rows; {perturbation!r} holds some back."
        )
    plan = build_plan(
        clusterer, X, n_clusters=int(n_clusters), delete=None, perturb=perturbation, trials=trials,
        repeats=1, coupling="same_seed", random_state=random_state,
    )  # fmt: skip
    measured = measure_plan(plan, "moved_fraction", check_n_jobs(n_jobs), progress)
    labels = measured.job.bases[0].labels[0][0]
    assert labels is not None  # or fit_bases has raised
    jaccard, rand = measured.result.jaccard, measured.result.rand
    assert jaccard is not None
    assert rand is not None
    names, codes = np.unique(labels.codes, return_inverse=True)
    return ClusterStability(
        labels=codes,
        jaccard=jaccard[0, 0, 0, names],
        sizes=np.bincount(codes),
        rand=float(np.nanmean(rand)),
    )
