"""Our own estimator behind the protocol, and CLNSS, its greedy ancestor."""

from dataclasses import dataclass, field

from holdfast.clusterers.copies import fresh_copy
from holdfast.clusterers.protocol import Rows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy

__all__ = ["KMedianClusterer", "clnss"]


@dataclass(frozen=True)
class KMedianClusterer:
    """`HierarchicalKMedian`, fitted once for every k.

    Attributes
    ----------
    estimator : HierarchicalKMedian
        Cloned for each fit; its `random_state` gives way to the seed.
    name : str
    max_clusters : int or None
        The largest k that will be cut: the fit stops there instead of at single rows. The first k
        centers do not depend on it. None leaves the estimator's own `max_centers`.
    """

    estimator: HierarchicalKMedian
    name: str
    max_clusters: int | None = None
    hierarchical: bool = field(default=True, init=False)

    @property
    def randomized(self) -> bool:
        """False only for the greedy choice on the tree without a random shift."""
        return bool(self.estimator.random_shift) or self.estimator.epsilon != 0

    def fit(self, X: Rows, seed: int) -> Hierarchy:
        """Build the hierarchy of the rows of `X`."""
        most = self.estimator.max_centers if self.max_clusters is None else self.max_clusters
        model = fresh_copy(self.estimator, n_clusters=1, random_state=seed, max_centers=most)
        hierarchy: Hierarchy = model.fit(X).hierarchy_
        return hierarchy


def clnss(random_shift: bool = True) -> KMedianClusterer:
    """CLNSS [CLNSS21]_: greedy centers on the randomly shifted tree.

    Parameters
    ----------
    random_shift : bool, default=True
        False is the deterministic variant whose sensitivity [LHBP25]_, Lemma 4.2, bounds from
        below.

    References
    ----------
    .. [CLNSS21] Cohen-Addad, Lattanzi, Norouzi-Fard, Sohler, Svensson. Parallel and Efficient
       Hierarchical k-Median Clustering. NeurIPS 2021.
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.
    """
    name = "CLNSS" if random_shift else "CLNSS, not shifted"
    return KMedianClusterer(HierarchicalKMedian(1, epsilon=0, random_shift=random_shift), name)
