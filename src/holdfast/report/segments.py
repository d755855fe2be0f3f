"""The segments: every cut of the hierarchy, with a profile and the quality of each cluster.

A cluster changes only when it is split. So the cuts 1 .. K have 2K - 1 different clusters: node 0 is
all rows, and split t makes node 2t - 1 (what is left of the cluster it splits) and node 2t (the new
cluster t). The page finds the nodes of a cut from `parent` alone.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances, silhouette_samples

from holdfast._machine.progress import ProgressOption
from holdfast.clusterers.protocol import Rows as AnyRows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.cost import k_median_cost
from holdfast.report.inputs import Inputs, keyed_sample
from holdfast.report.page import list_numbers, round_number
from holdfast.stability import Bootstrap, average_sensitivity

__all__ = ["choose_columns", "count_bootstraps", "summarise_segments"]

MIN_DESCRIBED = 5
"""Without rows on the page, smaller clusters are not described: their mean is nearly a row."""

MAX_POINTS = 3000

_MAX_COST_ROWS = 3000  # the best medoid of a cluster takes up to O(size^2) distances
_MAX_BOOTSTRAPPED_ROWS = 600_000  # in all bootstrap samples together
_MIN_BOOTSTRAPS = 3
_DISTINGUISHING = 3  # columns named for each cluster
_MIN_DIFFERENCE = 0.3  # standard deviations

Rows = NDArray[np.float64]


def summarise_segments(
    inputs: Inputs,
    hierarchy: Hierarchy,
    columns: NDArray[np.int64],
    named_rows: NDArray[np.int64],
    progress: ProgressOption,
) -> dict[str, Any]:
    """Summarise every cut.

    Parameters
    ----------
    inputs : Inputs
    hierarchy : Hierarchy
    columns : ndarray of shape (c,), dtype int64
        Columns to show.
    named_rows : ndarray of int64
        Rows that another part names; the scatter plot draws them.
    progress : bool or Listener
        Of the bootstrap.
    """
    centers = hierarchy.center_indices[: inputs.max_k]
    last = hierarchy.cut(inputs.max_k)
    nodes = _list_nodes(hierarchy.parent, inputs.max_k)
    points = listed = None
    if inputs.show_rows:
        points = _list_points(inputs, last, columns, np.union1d(centers, named_rows))
        listed = [
            {"row": int(row), "values": list_numbers(inputs.values[row, columns])}
            for row in centers
        ]
    means = _Means(inputs.values, last, inputs.max_k)
    costed = keyed_sample(inputs.rows, _MAX_COST_ROWS, inputs.seed, "report: cost")
    return {
        "k": inputs.k,
        "max_k": inputs.max_k,
        "parent": hierarchy.parent[: inputs.max_k].tolist(),
        "sizes": np.bincount(last, minlength=inputs.max_k).tolist(),
        "costs": list_numbers(_cut_costs(inputs.rows[costed], last[costed], nodes)),
        "cost_rows": int(costed.size),
        "distinguishing": [means.distinguish(node, inputs.show_rows) for node in nodes],
        "profiles": [means.profile(node, columns, inputs.show_rows) for node in nodes],
        "min_described": None if inputs.show_rows else MIN_DESCRIBED,
        "stability": _bootstrap_clusters(inputs, progress),
        "stability_trials": count_bootstraps(inputs),
        **_measure_separation(inputs, hierarchy),
        "centers": listed,
        "points": points,
    }


def choose_columns(inputs: Inputs, labels: NDArray[np.int32], most: int) -> NDArray[np.int64]:
    """Choose the columns whose means differ most between clusters, in their own order.

    Parameters
    ----------
    inputs : Inputs
    labels : ndarray of shape (n,), dtype int32
    most : int

    Returns
    -------
    ndarray of shape (min(d, most),), dtype int64
    """
    d = inputs.values.shape[1]
    if d <= most:
        return np.arange(d)
    n_clusters = int(labels.max()) + 1
    means = _Means(inputs.values, labels, n_clusters)
    between = np.zeros(d)
    for cluster in range(n_clusters):
        node = np.array([cluster])
        between += means.sizes[cluster] * means.differences(node) ** 2
    return np.sort(np.argsort(-between, kind="stable")[:most])


def count_bootstraps(inputs: Inputs) -> int:
    """Return how many bootstrap samples are drawn: fewer where rows are many."""
    affordable: int = _MAX_BOOTSTRAPPED_ROWS // inputs.rows.shape[0]
    return min(inputs.trials, max(_MIN_BOOTSTRAPS, affordable))


def _list_nodes(parent: NDArray[np.int32], max_k: int) -> list[NDArray[np.int64]]:
    """Return, for each node, the clusters of the last cut that it consists of."""
    nodes = [np.arange(max_k)]
    for t in range(1, max_k):
        owner = np.arange(max_k)
        for cluster in range(t + 1, max_k):
            owner[cluster] = owner[parent[cluster]]
        nodes += [np.flatnonzero(owner == parent[t]), np.flatnonzero(owner == t)]
    return nodes


class _Means:
    """Means of columns in any union of last clusters, from one pass over the rows.

    Parameters
    ----------
    values : ndarray of shape (n, d), dtype float64
        NaN where missing.
    labels : ndarray of shape (n,), dtype int32
    n_clusters : int
    """

    def __init__(self, values: Rows, labels: NDArray[np.int32], n_clusters: int) -> None:
        present = np.isfinite(values)
        known = np.where(present, values, 0.0)
        self.sizes = np.bincount(labels, minlength=n_clusters)
        self._sums = _sum_by_label(known, labels, n_clusters)
        self._counts = _sum_by_label(present, labels, n_clusters)
        everything = np.arange(n_clusters)
        self.mean = self.of(everything)
        away = np.where(present, values - self.mean, 0.0)
        with np.errstate(invalid="ignore"):
            self.deviation = np.sqrt((away**2).sum(axis=0) / self._counts.sum(axis=0))

    def of(self, node: NDArray[np.int64]) -> Rows:
        """Return the mean of the values that are present; NaN where none is."""
        total, count = self._sums[node].sum(axis=0), self._counts[node].sum(axis=0)
        mean: Rows = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    def differences(self, node: NDArray[np.int64]) -> Rows:
        """Return the difference to the mean of all rows, in standard deviations; 0 if unknown."""
        own = self.of(node)
        known = (self.deviation > 0.0) & np.isfinite(own)
        away: Rows = np.divide(own - self.mean, self.deviation, out=np.zeros_like(own), where=known)
        return away

    def distinguish(self, node: NDArray[np.int64], show_means: bool) -> list[list[Any]] | None:
        """List ``[column, difference, mean]`` of the columns that differ most."""
        if self._is_hidden(node, show_means):
            return None
        own, differences = self.of(node), self.differences(node)
        largest = np.argsort(-np.abs(differences), kind="stable")[:_DISTINGUISHING]
        return [
            [
                int(j),
                round(float(differences[j]), 2 if show_means else 1),
                round_number(own[j], 4) if show_means else None,
            ]
            for j in largest
            if abs(differences[j]) >= _MIN_DIFFERENCE
        ]

    def profile(
        self, node: NDArray[np.int64], columns: NDArray[np.int64], show_means: bool
    ) -> dict[str, Any] | None:
        """Give differences and means of the columns shown."""
        if self._is_hidden(node, show_means):
            return None
        differences = self.differences(node)[columns].round(2 if show_means else 1)
        return {
            "differences": list_numbers(differences),
            "means": list_numbers(self.of(node)[columns], 4) if show_means else None,
        }

    def _is_hidden(self, node: NDArray[np.int64], show_means: bool) -> bool:
        return not show_means and int(self.sizes[node].sum()) < MIN_DESCRIBED


def _sum_by_label(values: NDArray[Any], labels: NDArray[np.int32], n_clusters: int) -> Rows:
    sums = [np.bincount(labels, weights=column, minlength=n_clusters) for column in values.T]
    return np.stack(sums, axis=1)


def _cut_costs(
    rows: Rows, last: NDArray[np.int32], nodes: list[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return the k-median cost of every cut: each cluster with its best medoid."""
    max_k = (len(nodes) + 1) // 2
    of_cluster = np.zeros(max_k)
    costs = np.empty(max_k)
    for t in range(max_k):
        for node in nodes[max(0, 2 * t - 1) : 2 * t + 1]:
            members = rows[np.isin(last, node)]
            # The cluster that a node is keeps the smallest label in it.
            of_cluster[node[0]] = (
                k_median_cost(members, np.zeros(len(members))) if len(members) else 0.0
            )
        costs[t] = of_cluster[: t + 1].sum()
    return costs


def _measure_separation(inputs: Inputs, hierarchy: Hierarchy) -> dict[str, Any]:
    """Silhouettes on the sample: the mean of every cut, and of every cluster in it."""
    distances = pairwise_distances(inputs.rows[inputs.sample])
    np.fill_diagonal(distances, 0.0)
    overall: list[Any] = [None]
    by_cluster: list[list[Any]] = [[None]]
    for k in range(2, inputs.max_k + 1):
        labels = hierarchy.cut(k)[inputs.sample]
        n_present = np.unique(labels).size
        if not 2 <= n_present < labels.size:
            overall.append(None)
            by_cluster.append([None] * k)
            continue
        widths = silhouette_samples(distances, labels, metric="precomputed")
        totals = np.bincount(labels, weights=widths, minlength=k)
        sizes = np.bincount(labels, minlength=k)
        overall.append(round_number(widths.mean(), 3))
        by_cluster.append(
            [round_number(t / s, 3) if s else None for t, s in zip(totals, sizes, strict=True)]
        )
    return {
        "separation": overall,
        "cluster_separation": by_cluster,
        "separation_rows": int(inputs.sample.size),
    }


@dataclass(frozen=True)
class _FixedSeed:
    """The clustering on the page: an estimator that keeps its own seed, whatever it is given."""

    estimator: HierarchicalKMedian
    name: str = "the clustering on the page"
    randomized: bool = field(default=False, init=False)
    hierarchical: bool = field(default=True, init=False)

    def fit(self, X: AnyRows, seed: int) -> Hierarchy:
        """Fit with the estimator's own seed."""
        hierarchy: Hierarchy = clone(self.estimator).set_params(n_clusters=1).fit(X).hierarchy_
        return hierarchy


def _bootstrap_clusters(inputs: Inputs, progress: ProgressOption) -> list[list[float | int | None]]:
    """Measure how well each cluster of each cut is found again in bootstrap samples.

    As `cluster_stability`, but for all cuts at once, and of the hierarchy on the page.
    """
    ks = range(2, inputs.max_k + 1)
    measured = average_sensitivity(
        _FixedSeed(inputs.estimator), inputs.rows, n_clusters=ks, perturb=Bootstrap(),
        trials=count_bootstraps(inputs), n_jobs=inputs.n_jobs, random_state=inputs.seed,
        progress=progress,
    )  # fmt: skip
    assert measured.jaccard is not None  # it is refitted, never computed from the tree
    jaccard = measured.jaccard[0, :, 0]
    return [[1], *(list_numbers(jaccard[j, :k], 3) for j, k in enumerate(ks))]


def _list_points(
    inputs: Inputs,
    last: NDArray[np.int32],
    columns: NDArray[np.int64],
    wanted: NDArray[np.int64],
) -> dict[str, Any]:
    """List the points of the scatter plot: a sample, with the `wanted` rows always in it."""
    sample = keyed_sample(inputs.rows, MAX_POINTS, inputs.seed, "report: points")
    shown = np.union1d(sample, wanted)
    return {
        "n_rows": inputs.rows.shape[0],
        "rows": shown.tolist(),
        "ids": None if inputs.ids is None else [inputs.ids[row] for row in shown],
        "labels": last[shown].tolist(),
        "axes": _principal_axes(inputs.rows, shown),
        "values": [list_numbers(inputs.values[shown, j]) for j in columns],
    }


def _principal_axes(rows: Rows, shown: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Coordinates on two principal axes; none for one or two columns, which are axes themselves."""
    if rows.shape[1] <= 2 or not (rows != rows[0]).any():
        return []
    pca = PCA(n_components=2, random_state=0).fit(rows)
    coordinates = pca.transform(rows[shown])
    return [
        {"values": list_numbers(coordinates[:, i], 4), "explained": round_number(fraction, 3)}
        for i, fraction in enumerate(pca.explained_variance_ratio_)
    ]
