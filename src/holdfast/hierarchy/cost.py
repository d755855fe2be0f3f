"""The k-median cost in the data's own (Euclidean) distances."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

__all__ = ["k_median_cost_to"]

_BLOCK = 1 << 22  # distances held at a time


def k_median_cost_to(
    X: NDArray[np.float64],
    centers: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> float:
    """Sum over rows of the Euclidean distance to the nearest center.

    O(n k d) time, in blocks of rows: never n x k distances at once.

    Parameters
    ----------
    X : ndarray of shape (n, n_features), dtype float64
    centers : ndarray of shape (k, n_features), dtype float64
    weight : ndarray of shape (n,), dtype float64, default=None

    Returns
    -------
    float
    """
    step = max(1, _BLOCK // centers.shape[0])
    total = 0.0
    for start in range(0, X.shape[0], step):
        nearest = cdist(X[start : start + step], centers).min(axis=1)
        if weight is not None:
            nearest *= weight[start : start + step]
        total += float(nearest.sum())
    return total
