"""What holds for every hierarchy, whatever it was made from."""

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage

from holdfast import Hierarchy
from holdfast.storage.hierarchy import hierarchy_from_arrays, hierarchy_to_arrays


def ancestor_of(parent: list[int], label: int, k: int) -> int:
    """Climb from a cluster to the one among the first k that it split from."""
    while label >= k:
        label = parent[label]
    return label


def check_cuts(hierarchy: Hierarchy, ks: set[int]) -> None:
    """Cuts are those of the parents, each with its center in its own cluster, none empty."""
    parent, finest = hierarchy.parent.tolist(), hierarchy.finest.tolist()
    for k in ks:
        labels = hierarchy.cut(k)
        assert labels.tolist() == [ancestor_of(parent, label, k) for label in finest]
        assert labels[hierarchy.center_indices[:k]].tolist() == list(range(k))
        assert hierarchy.sizes(k).tolist() == np.bincount(labels, minlength=k).tolist()


def check_linkage(hierarchy: Hierarchy, ks: set[int]) -> None:
    """SciPy takes the linkage; its cuts are the hierarchy's where no heights are equal."""
    if hierarchy.n_rows < 2:
        assert hierarchy.linkage().shape == (0, 4)
        return
    merges = hierarchy.linkage()
    assert is_valid_linkage(merges)
    assert is_monotonic(merges)
    heights = hierarchy.costs[:-1]
    if (np.diff(heights) < 0.0).all() and (heights > 0.0).all():
        for k in ks:
            check_same_partition(fcluster(merges, k, "maxclust"), hierarchy.cut(k))


def check_same_partition(one: NDArray[np.integer], other: NDArray[np.integer]) -> None:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    assert len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def check_labels(hierarchy: Hierarchy, rows: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Every row has a cluster, the last one the same alone as among others."""
    labels = hierarchy.predict(rows, k)
    assert labels.dtype == np.int32
    assert labels.shape == (len(rows),)
    assert ((labels >= 0) & (labels < k)).all()
    assert hierarchy.predict(rows[-1:], k)[0] == labels[-1]
    return labels


def check_hierarchy(hierarchy: Hierarchy, ks: set[int]) -> None:
    """All of the above, and the hierarchy can be stored."""
    assert np.isfinite(hierarchy.costs).all()
    assert (np.diff(hierarchy.costs) <= 0.0).all()
    check_cuts(hierarchy, ks)
    check_linkage(hierarchy, ks)
    hierarchy_from_arrays(*hierarchy_to_arrays(hierarchy))


def some_ks(n_centers: int, pick: int) -> set[int]:
    """The first cut, the last one, and one in between with the cut after it."""
    between = 1 + pick % n_centers
    return {1, n_centers, between, min(between + 1, n_centers)}
