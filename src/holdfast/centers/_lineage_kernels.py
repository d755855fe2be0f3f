"""Clusters and the clusters they were split from."""

from holdfast._machine.jit import writing_kernel

__all__ = ["fill_ancestors"]


@writing_kernel
def fill_ancestors(parent, n_clusters, ancestor):
    """Cluster of the cut into `n_clusters` clusters that contains each cluster.

    Parents come before children, so one pass is enough.
    """
    for t in range(parent.size):
        ancestor[t] = t if t < n_clusters else ancestor[parent[t]]
