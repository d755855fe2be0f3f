"""What tells each cluster apart, for every cut at once.

A cluster changes only when it is split. So the cuts 1 .. K have 2K - 1 different clusters: node 0 is
all rows, and split t makes node 2t - 1 (what is left of the cluster it splits) and node 2t (the new
cluster t). The page finds the nodes of a cut from `parent` alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.hierarchy import Hierarchy
from holdfast.report.numbers import round_number

__all__ = ["LEAST_DESCRIBED", "choose_columns", "describe_nodes"]

LEAST_DESCRIBED = 5
"""Without rows on the page, smaller clusters are not described: their mean is nearly a row."""

_TOLD = 3  # columns named for each cluster
_WORTH_TELLING = 0.3  # standard deviations

Rows = NDArray[np.float64]


def describe_nodes(
    hierarchy: Hierarchy, values: Rows, max_k: int, show_means: bool
) -> list[list[list[Any]] | None]:
    """Columns in which each node's mean is farthest from the mean of all rows.

    Parameters
    ----------
    hierarchy : Hierarchy
    values : ndarray of shape (n, d), dtype float64
        NaN where missing.
    max_k : int
    show_means : bool
        Whether to give means; without them, differences come in tenths, and nodes of fewer than
        `LEAST_DESCRIBED` rows are None.

    Returns
    -------
    list of length 2 max_k - 1
        For each node ``[column, difference in standard deviations, mean]``, largest first.
    """
    mean, deviation = _spread(values)
    described: list[list[list[Any]] | None] = [[]]
    for t in range(1, max_k):
        labels = hierarchy.cut(t + 1)
        for cluster in (int(hierarchy.parent[t]), t):
            members = values[labels == cluster]
            if not show_means and members.shape[0] < LEAST_DESCRIBED:
                described.append(None)
                continue
            described.append(_tell_apart(_mean(members), mean, deviation, show_means))
    return described


def choose_columns(values: Rows, labels: NDArray[np.int32], most: int) -> NDArray[np.int64]:
    """Columns whose means differ most between clusters, in their own order.

    Parameters
    ----------
    values : ndarray of shape (n, d), dtype float64
    labels : ndarray of shape (n,), dtype int32
    most : int

    Returns
    -------
    ndarray of shape (min(d, most),), dtype int64
    """
    if values.shape[1] <= most:
        return np.arange(values.shape[1])
    mean, deviation = _spread(values)
    between = np.zeros(values.shape[1])
    for cluster in np.unique(labels):
        members = values[labels == cluster]
        between += members.shape[0] * _differences(_mean(members), mean, deviation) ** 2
    return np.sort(np.argsort(-between, kind="stable")[:most])


def _mean(values: Rows) -> Rows:
    """Mean of the values that are there; NaN where none is."""
    present = np.isfinite(values)
    total = np.where(present, values, 0.0).sum(axis=0)
    count = present.sum(axis=0)
    mean: Rows = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def _spread(values: Rows) -> tuple[Rows, Rows]:
    mean = _mean(values)
    return mean, np.sqrt(_mean((values - mean) ** 2))


def _differences(own: Rows, mean: Rows, deviation: Rows) -> Rows:
    differences: Rows = np.divide(
        own - mean, deviation, out=np.zeros_like(mean), where=(deviation > 0.0) & np.isfinite(own)
    )
    return differences


def _tell_apart(own: Rows, mean: Rows, deviation: Rows, show_means: bool) -> list[list[Any]]:
    differences = _differences(own, mean, deviation)
    told = np.argsort(-np.abs(differences), kind="stable")[:_TOLD]
    return [
        [
            int(j),
            round(float(differences[j]), 2 if show_means else 1),
            round_number(own[j], 4) if show_means else None,
        ]
        for j in told
        if abs(differences[j]) >= _WORTH_TELLING
    ]
