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

from holdfast._machine.hash import keyed_sample
from holdfast._machine.progress import ProgressOption
from holdfast.clusterers.protocol import Rows as AnyRows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.cost import cost_sample, k_median_cost
from holdfast.report.inputs import Inputs
from holdfast.report.page import list_numbers, round_number
from holdfast.report.profiles import describe_nodes
from holdfast.stability import Bootstrap, average_sensitivity

__all__ = ["count_bootstraps", "summarise_segments"]

MAX_POINTS = 3000

_MAX_BOOTSTRAPPED_ROWS = 600_000  # in all bootstrap samples together
_MIN_BOOTSTRAPS = 3

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
    costed = cost_sample(inputs.rows, inputs.seed)
    return {
        "k": inputs.k,
        "max_k": inputs.max_k,
        "parent": hierarchy.parent[: inputs.max_k].tolist(),
        "sizes": np.bincount(last, minlength=inputs.max_k).tolist(),
        "costs": list_numbers(
            _cut_costs(inputs.rows[costed], last[costed], nodes) * (last.size / costed.size)
        ),
        "cost_rows": int(costed.size),
        **describe_nodes(inputs, last, nodes, columns),
        "stability": _bootstrap_clusters(inputs, progress),
        "stability_trials": count_bootstraps(inputs),
        **_measure_separation(inputs, hierarchy),
        "names": {},  # readers give them
        "centers": listed,
        "points": points,
    }


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
