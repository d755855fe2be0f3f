"""The k-median cost in the distances of the data."""

from __future__ import annotations  # short names in help()

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from holdfast._machine.hash import keyed_sample
from holdfast._machine.jit import read_only
from holdfast.centers._distance_kernels import unit_rows
from holdfast.centers.keyed_table import as_csr, unit_sparse
from holdfast.centers.medoids import METRICS

_BLOCK = 1 << 22  # distances in memory at a time
_COST_ROWS = 3000  # in a sample: the best medoid of a cluster takes up to O(size^2) distances
_MOST_CANDIDATES = 256  # tried at a time; bounds from the first ones rule out others
_SMALL = 2.0**-540  # a factor by which no square of a float64 overflows

Rows = NDArray[np.float64]


def distances_between(rows: Any, centers: Any, metric: str = "euclidean") -> Rows:
    """Distances of rows to centers; shape (n, k). The cosine distance is 1 - cos."""
    distances = _distances(rows, centers, metric)
    if metric == "euclidean" and np.isinf(distances).any():  # squares of large values overflow
        scaled = _distances(rows * _SMALL, centers * _SMALL, metric) / _SMALL
        distances = np.where(np.isinf(distances), scaled, distances)
    return distances


def _distances(rows: Any, centers: Any, metric: str) -> Rows:
    distances: Rows
    if issparse(rows) or issparse(centers):
        return _sparse_distances(rows, centers, metric)
    if metric == "cosine":
        distances = cdist(unit_rows(rows), unit_rows(centers), "sqeuclidean") / 2.0
    else:
        distances = cdist(rows, centers, "cityblock" if metric == "manhattan" else metric)
    return distances


def _sparse_distances(rows: Any, centers: Any, metric: str) -> Rows:
    """Distances of rows to centers, at least one of which are sparse; shape (n, k)."""
    from holdfast.centers._sparse_kernels import distances_of_rows

    ends = [as_csr(rows), as_csr(centers)]
    if metric == "cosine":
        ends = [unit_sparse(end) for end in ends]
    arrays = [read_only(array) for end in ends for array in (end.indptr, end.indices, end.data)]
    distances = np.empty((ends[0].shape[0], ends[1].shape[0]))
    distances_of_rows(*arrays, METRICS.index(metric), distances)
    return distances


def distance_to_own(
    rows: Any, centers: Any, labels: NDArray[np.integer], metric: str = "euclidean"
) -> Rows:
    """Distance of each row to the center of its own cluster; shape (n,)."""
    distance = np.empty(rows.shape[0])
    small = labels.astype(np.int16) if centers.shape[0] < 1 << 15 else labels
    order = np.argsort(small, kind="stable")  # of 16 bits by radix, in linear time
    for chosen in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if chosen.size:
            center = centers[labels[chosen[:1]]]
            distance[chosen] = distances_between(rows[chosen], center, metric)[:, 0]
    return distance


def k_median_cost_to(
    X: ArrayLike,
    centers: ArrayLike,
    sample_weight: ArrayLike | None = None,
    metric: Literal["euclidean", "manhattan", "cosine"] = "euclidean",
) -> float:
    """Compute the sum of the distances from each row to its nearest center.

    Takes O(n k d) time. Works in blocks of rows, so n x k distances are never in memory at once.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
    centers : array-like or sparse matrix of shape (k, n_features)
    sample_weight : array-like of shape (n,), default=None
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"

    Returns
    -------
    float
    """
    if metric not in ("euclidean", "manhattan", "cosine"):
        raise ValueError(f'metric must be "euclidean", "manhattan" or "cosine"; got {metric!r}.')
    rows: Any = X if issparse(X) else _as_rows("X", X)
    ends: Any = centers if issparse(centers) else _as_rows("centers", centers)
    if rows.shape[1] != ends.shape[1]:
        raise ValueError(
            f"centers must have as many columns as X, {rows.shape[1]}; got {ends.shape[1]}."
        )
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    step = max(1, _BLOCK // ends.shape[0])
    total = 0.0
    for start in range(0, rows.shape[0], step):
        nearest = distances_between(rows[start : start + step], ends, metric).min(axis=1)
        if weight is not None:
            nearest *= weight[start : start + step]
        total += float(nearest.sum())
    return total


def cost_sample(rows: Rows, seed: int) -> NDArray[np.int64]:
    """Return the rows that costs are measured on: all, or a keyed sample of 3,000."""
    return keyed_sample(rows, _COST_ROWS, seed, "cost")


def estimate_cost(
    rows: Rows, labels: NDArray[np.integer], seed: int, sample_weight: Rows | None = None
) -> float:
    """Estimate `k_median_cost` from a sample of the rows; exact for at most 3,000 rows."""
    chosen = cost_sample(rows, seed)
    weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
    sampled = weight[chosen].sum()
    if sampled == 0.0:
        return 0.0
    cost = k_median_cost(rows[chosen], labels[chosen], weight[chosen])
    return float(cost * (weight.sum() / sampled))


def k_median_cost(
    X: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    metric: Literal["euclidean", "precomputed"] = "euclidean",
) -> float:
    """Compute the k-median cost of a clustering, with the best medoid of each cluster as center.

    The medoid of a cluster is its row with the smallest sum of Euclidean distances to the others,
    as in the figures of [LHBP25]. Rows that the triangle inequality rules out are not tried. A
    cluster of s rows takes about s^1.5 distances in few dimensions and s^2 in the worst case. An
    n x n matrix is never in memory.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), or (n, n) of precomputed distances
    labels : array-like of shape (n,)
        Integers or strings.
    sample_weight : array-like of shape (n,), default=None
        Non-negative. A row of weight 0 is ignored.
    metric : {"euclidean", "precomputed"}, default="euclidean"

    Returns
    -------
    float

    Examples
    --------
    >>> from holdfast import k_median_cost
    >>> k_median_cost([[0.0], [1.0], [5.0], [9.0]], [0, 0, 0, 1])
    5.0
    """
    rows: Any = as_csr(X) if issparse(X) else _as_rows("X", X)
    names = np.asarray(labels)
    if names.shape != (rows.shape[0],):
        raise ValueError(
            f"labels must have one value per row, shape ({rows.shape[0]},); got {names.shape}."
        )
    given = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
    counts = np.asarray(given, dtype=np.float64)
    present = np.flatnonzero(counts > 0.0)
    if metric == "precomputed":
        rows = rows[:, present]
    rows, names, counts = rows[present], names[present], counts[present]
    codes = np.unique(names, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    clusters = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    if metric == "precomputed":
        sums = (rows[np.ix_(chosen, chosen)] @ counts[chosen] for chosen in clusters)
        return float(sum(each.min(initial=np.inf) for each in sums)) if present.size else 0.0
    cost = _sparse_medoid_cost if issparse(rows) else _medoid_cost
    return sum((cost(rows[chosen], counts[chosen]) for chosen in clusters), start=0.0)


def _sparse_medoid_cost(rows: Any, weight: NDArray[np.float64]) -> float:
    """Find the same for sparse rows, by all distances, some rows at a time."""
    step = max(1, _BLOCK // max(rows.shape[0], 1))
    starts = range(0, rows.shape[0], step)
    blocks = (distances_between(rows[start : start + step], rows) @ weight for start in starts)
    return float(min((block.min() for block in blocks), default=0.0))


def _medoid_cost(rows: Rows, weight: NDArray[np.float64]) -> float:
    """Find the smallest weighted sum of distances from one of the rows to all rows.

    With E(i) this sum for row i and W the total weight, E(j) >= abs(E(i) - W d(i, j)). Rows whose
    bound exceeds the best sum so far are never tried. The row nearest the mean is tried first.
    """
    n = rows.shape[0]
    if n == 0:
        return 0.0
    total = weight.sum()
    mean = (weight @ rows)[None, :] / total
    bound = np.zeros(n)
    bound[cdist(mean, rows)[0].argmin()] = -1.0
    untried = np.ones(n, dtype=np.bool_)
    best, count = np.inf, 1
    while True:
        open_rows = np.flatnonzero(untried & (bound < best))
        if open_rows.size == 0:
            return float(best)
        tried = open_rows[np.argsort(bound[open_rows], kind="stable")[:count]]
        untried[tried] = False
        distance = cdist(rows[tried], rows)
        sums = distance @ weight
        best = min(best, float(sums.min()))
        distance *= -total
        distance += sums[:, None]
        np.maximum(bound, np.abs(distance, out=distance).max(axis=0), out=bound)
        count = max(1, min(2 * count, _MOST_CANDIDATES, _BLOCK // n))


def _as_rows(name: str, X: ArrayLike) -> Rows:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(
            f"{name} must have at least one row, shape (n, n_features); got {rows.shape}."
        )
    return rows
