"""The estimator itself: fit, predict, save and load."""

from __future__ import annotations  # short names in help()

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.jit import unwrap_interrupts
from holdfast._machine.work import Listener, lock_of
from holdfast.centers.medoids import METRICS
from holdfast.estimator.explaining import FOLLOWED, ExplainedModel, computed
from holdfast.estimator.following import FollowedModel
from holdfast.estimator.updates import (
    ChangingRows,
    SparseRows,
    held_from_record,
    recipe_of,
    record_of_held,
    undo_on_error,
)
from holdfast.grid.cells import row_keys
from holdfast.hierarchy.cost import distance_to_own, distances_between, k_median_cost_to
from holdfast.hierarchy.locate import MeansLocator
from holdfast.parameters import (
    Method,
    Metric,
    Settings,
    check_weight,
    explain_memory_error,
    settings_for,
    warn_user,
)
from holdfast.pipeline import cluster_and_order
from holdfast.rows.ids import check_ids, identify_rows
from holdfast.rows.log import RowLog
from holdfast.storage.model import ModelRecord, read_model, write_model

if TYPE_CHECKING:
    from holdfast.tables.preparer import TablePreparer


class HierarchicalKMedian(
    ExplainedModel,
    FollowedModel,
    ChangingRows,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Nested k-median clustering that hardly changes when rows are added or removed.

    One fit gives the clusters for every k. Centers are rows of `X`, in a fixed order, and each
    center splits one cluster in two. Cluster t keeps its label in every cut.

    The result is a function of the rows, their weights, the parameters and the random state. It
    does not depend on the order of the rows or the number of threads, because every random number
    is a hash of the seed and of the row or cell it belongs to. Standardize columns that are
    measured in different units.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters in `labels_`. ``hierarchy_.cut(k)`` gives any other number.
    method : {"means", "medoids", "tree"}, default="means"
        How clusters are split.

        - "means" splits between the means of two groups of rows. It has the lowest cost and suits
          most data.
        - "medoids" splits between two rows, by the k-median cost itself. It is slower and has a
          proven bound on movement.
        - "tree" is Algorithm 2 of [LHBP25]_ on a randomly shifted grid. It is near-linear and has
          the paper's bounds on cost and movement. Its cost is higher in more than a few
          dimensions. With ``epsilon=0`` it is CLNSS [CLNSS21]_.
    metric : {"euclidean", "manhattan", "cosine", "precomputed"}, default="euclidean"
        The distance between rows. Means support "euclidean" and "cosine", medoids support all, and
        the tree supports "euclidean". With "precomputed", `X` is a symmetric matrix of distances
        between rows, and `predict` takes the distances of new rows to the rows of the fit.
    epsilon : float or "auto", default="auto"
        How random the choice of splits is. 0 always takes the best split; infinity ignores the
        cost. The proven bound on movement falls as epsilon grows, but the measured movement may
        not; see :func:`holdfast.tune_epsilon`. "auto" is 0.001 for means, 0.05 for
        medoids and 1.0, the value of [LHBP25]_, for the tree.
    max_centers : int or "all", default=None
        The largest number of clusters in the hierarchy. None stops at 256 (or `n_clusters`, if
        that is more) for means and medoids, and at single rows for the tree. "all" stops at single
        rows; medoids stop at 4,096 candidate rows.
    column_scale : array-like of shape (n_features,), default=None
        What the columns of `X` were divided by before the fit. Means and medoids then derive random
        numbers from the values before the division, to 12 digits, so that a scale that changes a
        little with the rows changes no random number. It does not affect distances. None takes the
        scale of rows that come straight from a :class:`TablePreparer`, as in a pipeline.
    random_state : int, RandomState or None, default=0
        Determines one 64-bit seed. The default gives the same result every time.
    verbose : bool or callable, default=False
        Whether to print progress to standard error if a fit takes more than two seconds. A
        callable receives the name of the current step, the work done, and the total work (or
        None).

    Attributes
    ----------
    hierarchy_ : Hierarchy
        All cuts, costs and centers.
    labels_ : ndarray of shape (n_rows,), dtype int32
        Label of each of `rows_`: ``hierarchy_.cut(n_clusters)``.
    rows_ : ndarray or csr_array of shape (n_rows, n_features), dtype float64
        After `fit`, the rows of `X` in their order. After `partial_fit` or `forget`, the distinct
        remaining rows, sorted by the first column, then the second, and so on.
    row_weights_ : ndarray of shape (n_rows,), dtype float64
        Weight of each of `rows_`.
    cluster_centers_ : ndarray or csr_array of shape (n_clusters, n_features), dtype float64
        Centers of the clusters.
    center_indices_ : ndarray of shape (n_clusters,), dtype int64
        Indices of the centers in `rows_`.
    epsilon_ : float
        The value of epsilon that was used.
    seed_ : int
        The seed that was derived from `random_state`.
    column_scale_ : tuple of float or None
        The scales that were used for random numbers.
    reach_ : float
        The largest distance from a row of the fit to the center of its cluster; see `predict`.
    table_ : TableRecord or None
        For a model that the command line fitted to a table: how columns are prepared, and the ids
        of the rows. `predict`, `transform`, `score`, `partial_fit` and `forget` then expect rows in
        the units of the table.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all of them are strings.

    Notes
    -----
    The tree takes O(n d + n log n) time at fixed precision and O(n d) memory. It treats rows closer
    than 2^-63 of the data's diameter as repeats, with a warning. For `partial_fit` and `forget`, the
    estimator keeps a reference to the rows and, for the tree, the order of its cells.

    Do not use this estimator if clusters differ by shape or density rather than by distance. Do not
    use the tree in more than a few dimensions if a low k-median cost matters more than stability or
    speed.

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
        method: Method = "means",
        metric: Metric = "euclidean",
        epsilon: float | Literal["auto"] = "auto",
        max_centers: int | Literal["all"] | None = None,
        column_scale: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool | Listener = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.metric = metric
        self.epsilon = epsilon
        self.max_centers = max_centers
        self.column_scale = column_scale
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        keyed_by: ArrayLike | None = None,
    ) -> Self:
        """Build the hierarchy of the rows of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Any integer or floating dtype and memory order, or a pandas, polars or pyarrow table.
            With ``method="means"`` also any SciPy sparse format, which is not made dense. CSR with
            sorted columns is not copied.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative. An integer weight equals repeated rows. A row of weight 0 does not affect
            the fit and is labeled as by `predict`.
        ids : array-like of shape (n_samples,), default=None
            Unique integers or strings by which `follow` finds rows again. They do not affect the
            fit, except with ``metric="precomputed"``. None takes the index of a DataFrame unless it
            only counts rows.
        keyed_by : array-like of shape (n_samples, n_values), default=None
            Only for ``metric="precomputed"``: numbers that the random numbers of each row are hashed
            from, such as the features behind the distances. The result is then that of a fit on
            these features. None hashes ids, or positions if there are none. Pass ids or `keyed_by`
            if rows may change places.

        Returns
        -------
        self

        Raises
        ------
        MemoryError
            If there is not enough memory; the message says what to do. After any error, and after
            Ctrl-C, the estimator is unchanged.
        """
        try:
            with lock_of(self), undo_on_error(self), unwrap_interrupts():
                self._fit(X, sample_weight, ids, keyed_by)
        except MemoryError as error:
            raise explain_memory_error(error, X) from error
        return self

    def _fit(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None,
        ids: ArrayLike | None,
        keyed_by: ArrayLike | None,
    ) -> None:
        self.table_ = None
        for name in FOLLOWED:
            self.__dict__.pop(name, None)
        rows = self._check_rows(X, reset=True)
        self._ids = check_ids(X, ids, rows.shape[0])
        weight = check_weight(sample_weight, rows.shape[0])
        settings = self._settings_for(rows, weight)
        self.seed_, self.epsilon_ = settings.seed, settings.epsilon
        keys = self._keys_of_distances(keyed_by, rows.shape[0])
        clustering = cluster_and_order(rows, weight, settings, shown=self.verbose, keys=keys)
        self.hierarchy_ = clustering.hierarchy
        if self.hierarchy_.n_centers < self.n_clusters:
            raise ValueError(
                f"n_clusters must be at most {settings.max_candidates} for "
                f'method="{self.method}", the number of rows among which it chooses centers; got '
                f'n_clusters={self.n_clusters}. Use method="means" or method="tree".'
            )
        self.labels_ = self.hierarchy_.cut(self.n_clusters)
        self.center_indices_ = self.hierarchy_.center_indices[: self.n_clusters]
        self.cluster_centers_ = rows[self.center_indices_].astype(np.float64)
        self._n_features_out = int(self.n_clusters)
        if issparse(rows):
            self._held = SparseRows(rows, weight)
        else:
            self._held = RowLog.from_fit(rows, weight, clustering.order)
        self._recipe = recipe_of(self)

    def _keys_of_distances(
        self, keyed_by: ArrayLike | None, n_rows: int
    ) -> NDArray[np.uint64] | None:
        """Keys of rows of precomputed distances; remember what they are hashed from."""
        if self.metric != "precomputed":
            if keyed_by is not None:
                raise ValueError(
                    'keyed_by is only for metric="precomputed"; rows of features are keyed by their '
                    f"content. Got metric={self.metric!r}."
                )
            return None
        self._identity = identify_rows(self._ids, keyed_by, n_rows)
        return row_keys(self._identity, self.seed_)

    def predict(
        self, X: ArrayLike, *, unknown: int | None = None, ids: ArrayLike | None = None
    ) -> NDArray[np.int32]:
        """Predict the labels of rows.

        Rows of the fit get their fitted labels if `n_clusters` is at most the number of distinct
        rows. Means and medoids replay the nested splits. The tree uses the smallest labeled cell that
        contains a row; rows outside all cells get label 0, with a warning. A model that follows
        another one assigns rows to the cluster with the nearest means, which is not the fitted label
        of held rows; see `held_` and `ids`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With ``metric="precomputed"``, distances to the rows of the fit.
        unknown : int, default=None
            Label for rows that lie farther out than all rows of the fit. These are rows whose
            distance to the center of their cluster is more than `reach_` and, for the tree, rows
            outside all cells. -1 is a good choice. None labels every row with a cluster.
        ids : array-like of shape (n_samples,), default=None
            Ids of the rows, for a model with ids. Rows of the model with the same values then get
            their fitted labels, even if they are held.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        with lock_of(self):  # all of one state, whatever other threads do
            hierarchy, k = self.hierarchy_, self._n_features_out
            reach = 0.0 if unknown is None else self.reach_
            kept = None if ids is None else self._fitted_labels(X, rows, ids)
        labels = hierarchy.predict(rows, k)
        if kept is not None:
            labels[kept[0]] = kept[1]
        contains = getattr(hierarchy.down_to(k).locator, "contains", None)
        outside = np.zeros(rows.shape[0], dtype=np.bool_) if contains is None else ~contains(rows)
        if unknown is None:
            if outside.any():
                warn_user(
                    f"{np.count_nonzero(outside)} of {rows.shape[0]} rows lie outside all cells of "
                    "the tree and get label 0. Use unknown=-1 to mark such rows."
                )
            return labels
        distance = self._distance_to_own(rows, labels)
        labels[outside | (distance > reach)] = unknown
        return labels

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Compute the distances to the centers of the clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters), dtype float64
        """
        check_is_fitted(self)
        return self._distances_to_centers(self._check_rows(X))

    def _distances_to_centers(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._fitted_metric == "precomputed":
            return rows[:, self.center_indices_]
        return distances_between(rows, self.cluster_centers_, self._fitted_metric)

    def _distance_to_own(
        self, rows: NDArray[np.float64], labels: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        if self._fitted_metric == "precomputed":
            return np.asarray(rows[np.arange(labels.size), self.center_indices_[labels]])
        return distance_to_own(rows, self.cluster_centers_, labels, self._fitted_metric)

    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the negative k-median cost: minus the sum of distances to the nearest center.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        weight = check_weight(sample_weight, rows.shape[0])
        if self._fitted_metric == "precomputed":
            nearest = self._distances_to_centers(rows).min(axis=1)
            return -float((nearest if weight is None else nearest * weight).sum())
        return -k_median_cost_to(rows, self.cluster_centers_, weight, self._fitted_metric)

    @computed
    def reach_(self) -> float:
        """The largest distance from a row of the fit to the center of its cluster."""
        rows, weight = self._held_rows()
        distance = self._distance_to_own(rows, self.labels_)
        return float(distance[weight > 0.0].max())

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        include_rows: bool = True,
        preparer: TablePreparer | None = None,
    ) -> None:
        """Save the fitted model to a file that :func:`holdfast.load` reads.

        The file is either complete or not written at all. It contains plain arrays and JSON with
        checksums, and no pickle; see docs/file_format.md.

        Parameters
        ----------
        path : str or path-like
            The file to create or replace. ``.holdfast`` is a good suffix.
        include_rows : bool, default=True
            Whether to save the rows. Without them, the loaded model can predict and cut, but not
            be updated. The centers, which are rows, are always saved.
        preparer : TablePreparer, default=None
            What prepared the rows, such as the first step of a pipeline. The loaded model then takes
            tables, in Python and on the command line.
        """
        check_is_fitted(self)
        with lock_of(self):
            record = self._to_record(include_rows)
            if preparer is not None:
                record = replace(record, columns=None, table=self._describe_table(preparer))
        write_model(path, record)

    def _to_record(self, include_rows: bool) -> ModelRecord:
        recipe: Any = getattr(self, "_recipe", self)
        most = recipe.max_centers
        parameters = {
            "method": recipe.method,
            "metric": recipe.metric,
            "epsilon": self.epsilon_,
            "max_centers": most if most in (None, "all") else int(most),
            "n_clusters": self._n_features_out,
            "seed": self.seed_,
        }
        if self.column_scale_ is not None:
            parameters["column_scale"] = list(self.column_scale_)
        names = getattr(self, "feature_names_in_", None)
        has_rows = "_held" in vars(self)  # else what is not known cannot be computed
        record = ModelRecord(
            hierarchy=self.hierarchy_,
            parameters=parameters,
            centers=self.cluster_centers_ if has_rows else vars(self).get("cluster_centers_"),
            reach=self.reach_ if has_rows else vars(self).get("reach_"),
            columns=None if names is None else tuple(names),
            table=self.table_,
            ids=self._ids if include_rows else None,
            left=self._left if include_rows else None,
            bound=self._bound,
            least=self._least,
        )
        return record_of_held(record, self._held) if include_rows and has_rows else record

    @classmethod
    def _from_record(cls, record: ModelRecord) -> Self:
        hierarchy, given = record.hierarchy, dict(record.parameters)
        locator: Any = hierarchy.locator
        if not given:  # a hierarchy without a model
            method = "means" if hasattr(locator, "rivals") else "tree"
            if method == "means" and locator.rivals is None:
                method = "medoids"
            method = "means" if isinstance(locator, MeansLocator) else method
            metric = METRICS[getattr(locator, "metric", 0)]
            given = {"method": method, "metric": metric, "n_clusters": min(8, hierarchy.n_centers)}
        seed = given.pop("seed", 0)
        model = cls(**given, random_state=seed)
        scale = given.get("column_scale")
        model.column_scale_ = None if scale is None else tuple(scale)
        model.n_features_in_ = locator.n_features
        if record.columns is not None:
            model.feature_names_in_ = np.array(record.columns, dtype=object)
        model.table_, model.seed_ = record.table, seed
        model.epsilon_ = record.parameters.get("epsilon", np.nan)
        model._n_features_out = given["n_clusters"]
        model.hierarchy_ = hierarchy
        model._ids, model._left = record.ids, record.left
        model._bound, model._least = record.bound, record.least
        if record.rows is not None:
            model._held, model._recipe = held_from_record(record), clone(model)
            if model.metric == "precomputed":
                model._identity = identify_rows(record.ids, None, hierarchy.n_rows)
        if record.centers is not None:
            model.cluster_centers_ = record.centers
        if record.reach is not None:
            model.reach_ = record.reach
        return model

    def _repr_html_inner(self) -> str:
        """Show the diagram of scikit-learn and, below it, the hierarchy."""
        html = str(super()._repr_html_inner())
        return html + self.hierarchy_._repr_html_() if "hierarchy_" in vars(self) else html

    def __sklearn_tags__(self) -> Any:
        """Say what sparse rows and precomputed distances are to this method."""
        tags = super().__sklearn_tags__()
        by_distance = self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = by_distance
        tags.input_tags.sparse = self.method == "means"
        return tags

    @property
    def _fitted_metric(self) -> Any:
        """The metric of the hierarchy, even if the parameter was changed after the fit."""
        return METRICS[getattr(self.hierarchy_.down_to(1).locator, "metric", 0)]

    def _settings_for(
        self,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        seed: int | None = None,
    ) -> Settings:
        """Check the parameters against validated rows, and convert them for the pipeline."""
        settings = settings_for(self, rows, weight, seed)
        if self.column_scale is not None:
            return settings
        return replace(settings, column_scale=vars(self).get("column_scale_"))


def load(path: str | os.PathLike[str]) -> HierarchicalKMedian:
    """Load a fitted model from a file.

    The model gives the same results as before, bit for bit, and can be updated if its rows were
    saved. Loading never executes anything from the file. A damaged, truncated or crafted file
    raises one clear error, in time and memory bounded by the size of the file. Loading cannot tell
    who wrote a file: a valid file from a stranger can contain any clusters.

    Parameters
    ----------
    path : str or path-like
        A file written by :meth:`HierarchicalKMedian.save` or ``holdfast fit --model``, in this or
        any earlier version.

    Returns
    -------
    HierarchicalKMedian
        The fitted model.

    Raises
    ------
    holdfast.storage.archive.DamagedFile
        If the file is not valid. This is a ValueError that says what is wrong and what to do.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import holdfast
    >>> model = holdfast.HierarchicalKMedian(2).fit([[0.0], [1.0], [9.0]])
    >>> model.save("clusters.holdfast")  # doctest: +SKIP
    >>> holdfast.load("clusters.holdfast").predict([[8.0]])  # doctest: +SKIP
    """
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{os.fspath(path)} is a folder; expected a model file. If it is a lineage, "
            "holdfast.Lineage(path)[-1].model() is its latest model."
        )
    return HierarchicalKMedian._from_record(read_model(path))
