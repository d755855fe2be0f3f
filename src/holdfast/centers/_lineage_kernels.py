"""Clusters and the clusters they were split from."""

import numpy as np

from holdfast._machine.jit import kernel

__all__ = ["ancestors_among"]


@kernel
def ancestors_among(parent, n_clusters):
    """Cluster of the cut into `n_clusters` clusters that contains each cluster.

    Parents come before children, so one pass is enough.
    """
    ancestor = np.empty(parent.size, np.int32)
    for t in range(parent.size):
        ancestor[t] = t if t < n_clusters else ancestor[parent[t]]
    return ancestor
