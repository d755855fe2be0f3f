"""Clusters and the clusters they split from."""

import numpy as np

from holdfast._machine.jit import kernel

__all__ = ["ancestors_among"]


@kernel
def ancestors_among(parent, n_clusters):
    """Cluster among the first `n_clusters` that each cluster belonged to when there were so many.

    Parents come before children, so one pass settles it.
    """
    ancestor = np.empty(parent.size, np.int32)
    for t in range(parent.size):
        ancestor[t] = t if t < n_clusters else ancestor[parent[t]]
    return ancestor
