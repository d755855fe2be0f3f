"""HierarchicalKMedian: the scikit-learn estimator. Validates, then calls the pipeline."""

import contextlib
import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.hash import seed_from
from holdfast._machine.interrupts import keep_interrupts
from holdfast._machine.memory import explain_shortage
from holdfast.centers.medoids import METRICS
from holdfast.hierarchy.cost import distances_between, k_median_cost_to
from holdfast.pipeline import Clustering, Settings, cluster_and_order
from holdfast.rows.log import RowLog
from holdfast.updates import ChangingRows

__all__ = ["HierarchicalKMedian"]

AUTO_EPSILON = {"tree": 1.0, "euclidean": 0.05}
"""What ``epsilon="auto"`` means for each cost."""

AUTO_EPSILON_REFINED = 0.01
"""What it means for refined splits."""

EUCLIDEAN_CENTERS = 256
"""How far the Euclidean cost goes where `max_centers` is None."""


class HierarchicalKMedian(
    ChangingRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Nested k-median clustering with explicit centers that hardly moves when rows come and go.

    Builds one hierarchy for every k at once: an ordered list of centers (rows of `X`), each of
    which splits one cluster in two. Algorithm 2 of [LHBP25]_ (`epsilon` > 0) or its greedy
    ancestor CLNSS [CLNSS21]_ (`epsilon` = 0), exactly, in near-linear time.

    Every random number is a hash of the seed and of the cell or row it belongs to, so the result
    is a function of the rows, their weights, the parameters and the seed: never of the order of
    the rows or the number of threads. Columns are compared by Euclidean distance; standardise
    those that are measured in different units.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters in `labels_`. Every other number is a call of ``hierarchy_.cut`` away.
    epsilon : float or "auto", default="auto"
        How random the choice of centers is. 0 takes the best center each time, infinity any row.
        Larger values cost more. The proven bound on how much moves when rows change falls with
        epsilon, what is measured need not: see `tune_epsilon`. "auto" is 1.0 for the tree cost, the
        choice of [LHBP25]_, 0.05 for the Euclidean cost, and 0.01 with `refine`.
    cost : {"tree", "euclidean"}, default="tree"
        The cost that is minimised. "tree" is the k-median cost on the randomly shifted tree:
        near-linear, and the steadiest. "euclidean" is the k-median cost itself, with the same
        mechanism: closer clusters, above all in more than a few dimensions, for more time.
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"
        The distance of the Euclidean cost. The tree cost knows only Euclidean distance.
    random_shift : bool, default=True
        Whether the grid is scaled and shifted at random. False is the deterministic tree for which
        [LHBP25]_, Lemma 4.2, shows that sensitivity grows with the number of rows.
    root_box : tuple of (array-like of shape (n_features,), float), default=None
        Lower corner and side of the root cube; only with ``random_shift=False``.
    max_centers : int or "all", default=None
        Stop after this many centers. "all" goes on down to single rows, or to all candidates (see
        the next); so does None for the tree cost, while it stops at 256 for the Euclidean cost.
    max_candidates : int, default=4096
        For the Euclidean cost: centers are chosen among this many distinct rows, and scored by
        them, when there are more; which ones is keyed by their content. All rows are then assigned
        exactly.
    refine : bool, default=False
        For the Euclidean cost and distance: split clusters between two means, started by the row
        that the mechanism draws, instead of between two rows. Measured to be closer and to move
        less, without the proof of the plain splits; `costs` are then distances to these means.
    random_state : int, RandomState or None, default=0
        One 64-bit seed comes out of it. The default gives the same result every time.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        All cuts, costs and centers.
    labels_ : ndarray of shape (n_rows,), dtype int32
        ``hierarchy_.cut(n_clusters)``, one for each of `rows_`.
    rows_ : ndarray of shape (n_rows, n_features), dtype float64
        After `fit` the rows of `X` in their order; after `partial_fit` or `forget` the distinct
        rows that are left, sorted by the first column, then the second, and so on.
    row_weights_ : ndarray of shape (n_rows,), dtype float64
        How much each of them counts.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), dtype float64
        Centers of the cut.
    center_indices_ : ndarray of shape (n_clusters,), dtype int64
        Which of `rows_` they are.
    epsilon_ : float
        The value used.
    seed_ : int
        The seed that came out of `random_state`.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all of them are strings.

    Notes
    -----
    Time O(n d + n log n) at fixed precision, about 250 bytes of memory a row beyond the input.
    A copy of the rows and their order are kept, for `partial_fit` and `forget`.
    Rows closer than 2^-63 of the data's diameter count as repeats, with a warning.

    Not for data in which clusters are separated by shape or density rather than distance, and not
    where the lowest k-median cost matters more than stability: in more than a few dimensions the
    tree pays for its speed.

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.
    .. [CLNSS21] Cohen-Addad, Lattanzi, Norouzi-Fard, Sohler, Svensson. Parallel and Efficient
       Hierarchical k-Median Clustering. NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import HierarchicalKMedian
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = HierarchicalKMedian(n_clusters=2, epsilon=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[3])
    True
    >>> int(model.hierarchy_.cut(6).max())
    5
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float | Literal["auto"] = "auto",
        cost: Literal["tree", "euclidean"] = "tree",
        metric: Literal["euclidean", "manhattan", "cosine"] = "euclidean",
        random_shift: bool = True,
        root_box: tuple[ArrayLike, float] | None = None,
        max_centers: int | Literal["all"] | None = None,
        max_candidates: int = 4096,
        refine: bool = False,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.cost = cost
        self.metric = metric
        self.random_shift = random_shift
        self.root_box = root_box
        self.max_centers = max_centers
        self.max_candidates = max_candidates
        self.refine = refine
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Build the hierarchy of the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any integer or floating dtype and memory order; pandas, polars and pyarrow tables too.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative. An integer weight equals repeated rows; a row of weight 0 takes no part
            and is labelled as `predict` would.

        Returns
        -------
        self

        Raises
        ------
        MemoryError
            With advice. After this as after any other error, and after Ctrl-C, the estimator is as
            it was before.
        """
        before = dict(self.__dict__)
        try:
            with keep_interrupts():
                self._fit(X, sample_weight)
        except BaseException as error:
            self.__dict__ = before  # nothing half-fitted remains
            if isinstance(error, MemoryError):
                raise explain_shortage(error, X) from error
            raise
        return self

    def _fit(self, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
        rows = self._check_rows(X, reset=True)
        weight = _check_weight(sample_weight, rows.shape[0])
        settings = self.settings_for(rows, weight)
        self.seed_, self.epsilon_ = settings.seed, settings.epsilon
        clustering = _cluster_weighted(rows, weight, settings)
        self.hierarchy_ = clustering.hierarchy
        if self.hierarchy_.n_centers < self.n_clusters:
            raise ValueError(
                f"n_clusters must be at most max_candidates={self.max_candidates} here: the "
                f"Euclidean cost chooses centers among that many of the {rows.shape[0]} rows; got "
                f"n_clusters={self.n_clusters}. Raise max_candidates."
            )
        self.labels_ = self.hierarchy_.cut(self.n_clusters)
        self.center_indices_ = self.hierarchy_.center_indices[: self.n_clusters]
        self.cluster_centers_ = rows[self.center_indices_]
        self._n_features_out = int(self.n_clusters)
        self._held = RowLog.from_fit(rows, weight, clustering.row_order)
        self._recipe = clone(self)

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Label rows as if they had been there, without moving any center.

        Rows of the fit keep their labels (as long as `n_clusters` is at most the number of
        distinct rows, or of directions for the cosine distance). Tree cost: the closest labelled cell that contains a row decides, cluster 0
        outside all cells. Euclidean cost: the nested splits are replayed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        check_is_fitted(self)
        return self.hierarchy_.predict(self._check_rows(X), self.cluster_centers_.shape[0])

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Distances to the centers of the cut, by `metric`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters), dtype float64
        """
        check_is_fitted(self)
        return distances_between(self._check_rows(X), self.cluster_centers_, self._fitted_metric)

    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the k-median cost of `X`: the sum of distances, by `metric`, to the nearest center.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        weight = _check_weight(sample_weight, rows.shape[0])
        return -k_median_cost_to(rows, self.cluster_centers_, weight, self._fitted_metric)

    @property
    def _fitted_metric(self) -> Any:
        """The metric of the hierarchy, whatever the parameter is set to by now."""
        return METRICS[getattr(self.hierarchy_.locator, "metric", 0)]

    def settings_for(
        self,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        seed: int | None = None,
    ) -> Settings:
        """Check the parameters against validated rows, and turn them into the pipeline's.

        A `seed` takes the place of `random_state`.
        """
        n_rows = rows.shape[0] if weight is None else int(np.count_nonzero(weight))
        _check_integer("n_clusters", self.n_clusters)
        if self.n_clusters > n_rows:
            of_weight = "" if weight is None else " of positive weight"
            raise ValueError(
                f"n_clusters must be at most the number of rows{of_weight}, n_samples={n_rows}; "
                f"got n_clusters={self.n_clusters}."
            )
        epsilon = self.check_parameters(rows, weight)
        return Settings(
            epsilon=epsilon,
            random_shift=bool(self.random_shift),
            root_box=self._check_root_box(rows, weight),
            max_centers=self._check_max_centers(n_rows),
            cost=self.cost,
            metric=self.metric,
            max_candidates=int(self.max_candidates),
            refine=bool(self.refine),
            # last: it may draw from a generator
            seed=seed_from(self.random_state) if seed is None else seed,
        )

    def check_parameters(
        self, rows: NDArray[np.float64], weight: NDArray[np.float64] | None = None
    ) -> float:
        """Check what does not depend on how many rows there are; return the epsilon used."""
        _check_integer("n_clusters", self.n_clusters)
        if not isinstance(self.cost, str) or self.cost not in AUTO_EPSILON:
            raise ValueError(f"cost must be one of {sorted(AUTO_EPSILON)}; got {self.cost!r}.")
        metrics = METRICS if self.cost == "euclidean" else METRICS[:1]
        if self.metric not in metrics:
            raise ValueError(
                f"metric must be one of {list(metrics)} for cost={self.cost!r}; "
                f"got {self.metric!r}."
            )
        if self.metric == "cosine" and not rows.any(axis=1).all():
            raise ValueError(
                'metric="cosine" needs rows that are not all zeros: they have no direction. Row '
                f"{int(np.argmin(rows.any(axis=1)))} is. Remove such rows."
            )
        _check_integer("max_candidates", self.max_candidates)
        _check_flag("random_shift", self.random_shift)
        refine = _check_flag("refine", self.refine)
        if refine and (self.cost, self.metric) != ("euclidean", "euclidean"):
            raise ValueError(
                'refine=True needs cost="euclidean" and metric="euclidean", for which means are '
                f"defined; got cost={self.cost!r} and metric={self.metric!r}."
            )
        self._check_root_box(rows, weight)
        self._check_max_centers(rows.shape[0])
        return _check_epsilon(self.epsilon, self.cost, refine)

    def _check_max_centers(self, n_rows: int) -> int:
        if self.max_centers is None and self.cost == "euclidean":
            return min(max(EUCLIDEAN_CENTERS, self.n_clusters), n_rows)
        if self.max_centers is None or self.max_centers == "all":
            return n_rows
        _check_integer("max_centers", self.max_centers, ', "all" or None')
        if self.max_centers < self.n_clusters:
            raise ValueError(
                f'max_centers must be at least n_clusters={self.n_clusters}, or "all" for the '
                f"whole hierarchy; got max_centers={self.max_centers}."
            )
        return min(int(self.max_centers), n_rows)

    def _check_root_box(
        self, rows: NDArray[np.float64], weight: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], float] | None:
        if self.root_box is None:
            return None
        if self.random_shift:
            raise ValueError("root_box needs random_shift=False: a shifted grid has no fixed root.")
        try:
            lower, width = self.root_box
            corner, side = np.asarray(lower, dtype=np.float64), float(width)
        except (TypeError, ValueError):
            raise ValueError(
                f"root_box must be a tuple (lower corner, side); got {self.root_box!r}."
            ) from None
        if corner.shape != (rows.shape[1],) or not np.isfinite(corner).all():
            raise ValueError(
                f"root_box's lower corner must be {rows.shape[1]} finite numbers, one a column; "
                f"got {self.root_box[0]!r}."
            )
        if not (math.isfinite(side) and side > 0.0 and math.isfinite(1.0 / side)):
            raise ValueError(
                f"root_box's side must be positive and finite, and so must be its inverse; "
                f"got {width!r}."
            )
        present = rows if weight is None else rows[weight > 0.0]
        outside = ((present < corner) | (present >= corner + side)).any(axis=1)
        if outside.any():
            raise ValueError(
                f"root_box must contain all rows (its upper faces excluded); {outside.sum()} lie "
                f"outside, the first is row {outside.argmax()}."
            )
        return corner, side


def _cluster_weighted(
    rows: NDArray[np.float64], weight: NDArray[np.float64] | None, settings: Settings
) -> Clustering:
    """Cluster the rows of positive weight; label the others as `predict` would."""
    if weight is None:
        return cluster_and_order(rows, None, settings)
    present = weight > 0.0
    if present.all():
        return cluster_and_order(rows, weight, settings)
    clustering = cluster_and_order(rows[present], weight[present], settings)
    hierarchy = clustering.hierarchy
    finest = np.empty(rows.shape[0], dtype=np.int32)
    finest[present] = hierarchy.finest
    finest[~present] = hierarchy.locator.finest(rows[~present])
    finest.flags.writeable = False
    numbers = np.flatnonzero(present)
    center_indices = numbers[hierarchy.center_indices]
    center_indices.flags.writeable = False
    hierarchy = replace(hierarchy, finest=finest, center_indices=center_indices)
    return Clustering(hierarchy, clustering.row_order.among(numbers))


def _check_integer(name: str, value: Any, otherwise: str = "") -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1{otherwise}; got {value!r}.")


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        message = f"{name} must be True or False; got {value!r}."
        raise ValueError(message)  # noqa: TRY004 - scikit-learn's kind of a wrong parameter
    return bool(value)


def _check_epsilon(epsilon: Any, cost: str, refine: bool) -> float:
    if isinstance(epsilon, str) and epsilon == "auto":
        return AUTO_EPSILON_REFINED if refine else AUTO_EPSILON[cost]
    value = math.nan
    if isinstance(epsilon, Real) and not isinstance(epsilon, bool | np.bool_):
        with contextlib.suppress(OverflowError):  # of an integer beyond all doubles
            value = float(epsilon)
    if not value >= 0.0:
        raise ValueError(
            f'epsilon must be a number of at least 0 (infinity included) or "auto"; '
            f"got {epsilon!r}."
        )
    return value


def _check_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind == "c":
            raise TypeError
        weight = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"sample_weight must be real numbers; got {type(sample_weight).__name__} that cannot "
            "be converted."
        ) from None
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one value per row, shape ({n_rows},); got {weight.shape}."
        )
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        raise ValueError(
            f"sample_weight must be finite and non-negative; {wrong.sum()} values are not, the "
            f"first is {weight[wrong.argmax()]} at row {wrong.argmax()}."
        )
    if not weight.any():
        raise ValueError("sample_weight must be positive for at least one row; all are zero.")
    return weight
