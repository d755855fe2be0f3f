"""Seed -> rows: the instances on which [LHBP25] proves what clusterers cannot do, or can.

On the growing line (Lemma 4.1) and on the CLNSS instance (Lemma 4.2), deleting one row moves a
fraction of all rows; on well-clusterable rows single linkage is stable (last appendix).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist

from holdfast._machine.hash import seed_from
from holdfast.parameters import check_integer
from holdfast_paper.draws import direction, normal, uniform

Rows = NDArray[np.float64]

_CLNSS_CORNERS = ((0.0, 0.0), (15.5, 0.0))
_CLNSS_GROUPS = ((5.0, 5.0), (9.0, 9.0), (9.0, 3.0))
_CLNSS_SIDE = 16.0


@dataclass(frozen=True, eq=False)
class BoxedRows:
    """Rows and the root cube that they are made for.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), dtype float64
    root_box : tuple of (ndarray of shape (n_features,), float)
        Lower corner and side, as `UnshiftedKMedian` takes them.
    """

    rows: Rows
    root_box: tuple[Rows, float]


@dataclass(frozen=True, eq=False)
class ClusteredRows:
    """Rows and the clusters that they were drawn from.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), dtype float64
    labels : ndarray of shape (n_rows,), dtype int64
        0 .. n_clusters - 1, in this order.
    """

    rows: Rows
    labels: NDArray[np.int64]


def make_growing_line(n_rows: int, *, n_features: int = 8, random_state: Any = 0) -> Rows:
    """Rows on a line through the origin, each gap a little wider than the last.

    Gap j of the n - 1 is 1 + j / n, in a direction drawn uniformly: the instance of [LHBP25]_,
    Lemma 4.1, as its experiments use it. The widest gap is the last; without row i it is the one
    that row i leaves, so that the two clusters of single linkage change for every row.

    Parameters
    ----------
    n_rows : int
        At least 1.
    n_features : int, default=8
    random_state : int, RandomState, Generator or None, default=0
        For the direction.

    Returns
    -------
    ndarray of shape (n_rows, n_features), dtype float64
        In the order of the line.

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast_paper.instances import make_growing_line
    >>> X = make_growing_line(4)
    >>> np.linalg.norm(np.diff(X, axis=0), axis=1).round(6)
    array([1.25, 1.5 , 1.75])
    """
    check_integer("n_rows", n_rows)
    check_integer("n_features", n_features)
    along = direction(np.random.default_rng(seed_from(random_state)), n_features)
    gaps = 1.0 + np.arange(n_rows) / n_rows
    gaps[0] = 0.0  # the first row is the origin
    return np.outer(np.cumsum(gaps), along)


def make_clnss_instance(
    group_size: int, *, noise: float = 0.01, random_state: Any = 0
) -> BoxedRows:
    """Three equal groups and two single rows between which CLNSS without a shift changes its choice.

    The instance of [LHBP25]_, Lemma 4.2, as its experiments use it: rows (0, 0) and (15.5, 0),
    then groups at (5, 5), (9, 9) and (9, 3) with normal noise, in the cube [0, 16)^2. The first
    and the third group share a quadrant with a single row, and every group lies around a corner of
    cells of side 1. Which group the first centers come from changes with a single row of it.

    Parameters
    ----------
    group_size : int
        Rows in each group; n_rows is three times that, plus 2.
    noise : float, default=0.01
        Standard deviation; at most 0.1, so that no row leaves the cell of its group.
    random_state : int, RandomState, Generator or None, default=0
        For the noise.

    Returns
    -------
    BoxedRows

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> from holdfast_paper.instances import make_clnss_instance
    >>> from holdfast_paper.unshifted import UnshiftedKMedian
    >>> instance = make_clnss_instance(16)
    >>> instance.rows.shape
    (50, 2)
    >>> model = UnshiftedKMedian(2, epsilon=0, root_box=instance.root_box).fit(instance.rows)
    """
    check_integer("group_size", group_size)
    if not 0.0 <= noise <= 0.1:
        raise ValueError(f"noise must be from 0 to 0.1; got {noise!r}.")
    rng = np.random.default_rng(seed_from(random_state))
    groups = np.repeat(_CLNSS_GROUPS, group_size, axis=0)
    groups += noise * normal(rng, groups.shape)
    return BoxedRows(np.concatenate((_CLNSS_CORNERS, groups)), (np.zeros(2), _CLNSS_SIDE))


def make_regression_rows(n_rows: int, *, random_state: Any = 0) -> Rows:
    """Three independent, standardized, normal columns: the regression data of [LHBP25]_.

    The paper takes the columns of scikit-learn's ``make_regression``, which are normal draws.

    Parameters
    ----------
    n_rows : int
        At least 1.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    ndarray of shape (n_rows, 3), dtype float64

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.
    """
    check_integer("n_rows", n_rows)
    rows = normal(np.random.default_rng(seed_from(random_state)), (n_rows, 3))
    spread = rows.std(axis=0)
    scaled: Rows = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return scaled


def make_well_clusterable(
    cluster_sizes: Sequence[int],
    *,
    n_features: int = 2,
    separation: float = 1.1,
    longest_of: Literal["pair", "all"] = "pair",
    random_state: Any = 0,
) -> ClusteredRows:
    """Clusters that are farther apart than twice the longest step within them.

    The definition of [LHBP25]_, last appendix: with d_i the longest edge of the minimum spanning
    tree of cluster i, the distance of clusters i and j is more than 2 max(d_i, d_j). Clusters are
    normal, each with a spread of its own between 0.5 and 1, around normal middles that are moved
    apart until the definition holds with `separation` to spare.

    Two small clusters may then be closer to each other than the rows of a third, wide one, and
    single linkage merges them first. ``longest_of="all"`` excludes that: every two clusters are
    farther apart than twice the longest of all d_i, so that single linkage completes every cluster
    before it merges two, also when any one row is missing.

    Parameters
    ----------
    cluster_sizes : sequence of int
        Rows in each cluster. The lemma of [LHBP25]_ needs at least 2 in each.
    n_features : int, default=2
    separation : float, default=1.1
        At least 1: clusters i and j are farther apart than separation * 2 max(d_i, d_j).
    longest_of : {"pair", "all"}, default="pair"
        Whether the maximum is over the two clusters, as in [LHBP25]_, or over all of them.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    ClusteredRows

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> from holdfast_paper.instances import make_well_clusterable
    >>> make_well_clusterable([2, 3]).labels
    array([0, 0, 1, 1, 1])
    """
    if len(cluster_sizes) == 0:
        raise ValueError("cluster_sizes must name at least one cluster; got none.")
    for size in cluster_sizes:
        check_integer("cluster_sizes", size)
    check_integer("n_features", n_features)
    if not 1.0 <= separation < np.inf:
        raise ValueError(f"separation must be at least 1 and finite; got {separation!r}.")
    if longest_of not in ("pair", "all"):
        raise ValueError(f"longest_of must be 'pair' or 'all'; got {longest_of!r}.")
    rng = np.random.default_rng(seed_from(random_state))
    clusters = [uniform(rng, 0.5, 1.0) * normal(rng, (size, n_features)) for size in cluster_sizes]
    middles = normal(rng, (len(clusters), n_features))
    steps = [_longest_step(cluster) for cluster in clusters]
    if longest_of == "all":
        steps = [max(steps)] * len(steps)
    apart = 1.0
    while not _are_separated(clusters, apart * middles, steps, 2.0 * separation):
        apart *= 1.02
    placed = [cluster + apart * middle for cluster, middle in zip(clusters, middles, strict=True)]
    return ClusteredRows(np.concatenate(placed), np.repeat(np.arange(len(clusters)), cluster_sizes))


def _longest_step(cluster: Rows) -> float:
    """Longest edge of the minimum spanning tree: the last merge of single linkage."""
    return float(linkage(cluster, method="single")[-1, 2]) if cluster.shape[0] > 1 else 0.0


def _are_separated(clusters: list[Rows], middles: Rows, steps: list[float], factor: float) -> bool:
    return all(
        cdist(clusters[i] + middles[i], clusters[j] + middles[j]).min()
        > factor * max(steps[i], steps[j])
        for i, j in combinations(range(len(clusters)), 2)
    )
