"""HierarchicalKMedian: the scikit-learn estimator. Validates, then calls the pipeline."""

import os
from functools import cached_property
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

from holdfast._machine.interrupts import keep_interrupts
from holdfast._machine.memory import explain_shortage
from holdfast._machine.progress import Listener
from holdfast._machine.warn import warn_user
from holdfast.centers.medoids import METRICS
from holdfast.hierarchy.cost import distance_to_own, distances_between, k_median_cost_to
from holdfast.parameters import Method, Metric, Settings, check_weight, settings_for
from holdfast.pipeline import cluster_and_order
from holdfast.rows.log import RowLog
from holdfast.storage.model import ModelRecord, TableRecord, read_model, write_model
from holdfast.updates import ChangingRows, held_from_record, record_of_held

__all__ = ["HierarchicalKMedian", "load"]


class HierarchicalKMedian(
    ChangingRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Nested k-median clustering that hardly moves when rows come and go.

    Builds one hierarchy for every number of clusters at once: an ordered list of centers (rows of
    `X`), each of which splits one cluster in two. Cluster t keeps its name in every cut.

    The result is a function of the rows, their weights, the parameters and the seed. It does not
    depend on the order of the rows or the number of threads, because every random number is a hash
    of the seed and of the row or cell it belongs to. Columns are compared by distance: standardize
    columns that are measured in different units.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters in `labels_`. ``hierarchy_.cut(k)`` gives any other number.
    method : {"means", "medoids", "tree"}, default="means"
        How clusters are split.

        - "means": between two means, on all rows. The lowest cost and the best choice for most
          data.
        - "medoids": between two rows, by the k-median cost itself. Slower, with a proven bound on
          how much it moves.
        - "tree": Algorithm 2 of [LHBP25]_ on a randomly shifted grid. Near-linear, with the
          paper's bounds on cost and movement; ``epsilon=0`` is CLNSS [CLNSS21]_. Costs more in
          more than a few dimensions.
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"
        The distance between rows. "manhattan" and "cosine" need ``method="medoids"``.
    epsilon : float or "auto", default="auto"
        How random the choice of splits is. 0 always takes the best split, infinity any. The proven
        bound on movement falls with epsilon, measured movement need not: see
        :func:`holdfast.tune_epsilon`. "auto" is 0.01 for means, 0.05 for medoids and 1.0, the
        choice of [LHBP25]_, for the tree.
    max_centers : int or "all", default=None
        Stop after this many centers. None stops at 256 (or `n_clusters`, if that is more) for
        means and medoids, and goes down to single rows for the tree. "all" goes down to single
        rows, or for medoids to 4,096 candidate rows.
    random_state : int, RandomState or None, default=0
        Gives one 64-bit seed. The default gives the same result every time.
    verbose : bool or callable, default=False
        Whether to write progress to standard error in fits of more than two seconds. A function is
        called with what is being done, how much is done, and how much there is (or None).

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
    reach_ : float
        The largest distance of a row of the fit to the center of its cluster; see `predict`.
    table_ : TableRecord or None
        For a model that was fitted to a table by the command line: how its columns are prepared,
        and the ids of its rows. `predict`, `transform`, `score`, `partial_fit` and `forget` then
        take rows in the units of the table.
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
        method: Method = "means",
        metric: Metric = "euclidean",
        epsilon: float | Literal["auto"] = "auto",
        max_centers: int | Literal["all"] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool | Listener = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.metric = metric
        self.epsilon = epsilon
        self.max_centers = max_centers
        self.random_state = random_state
        self.verbose = verbose

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
        self.table_: TableRecord | None = None
        self.__dict__.pop("reach_", None)
        rows = self._check_rows(X, reset=True)
        weight = check_weight(sample_weight, rows.shape[0])
        settings = self._settings_for(rows, weight)
        self.seed_, self.epsilon_ = settings.seed, settings.epsilon
        clustering = cluster_and_order(rows, weight, settings, shown=self.verbose)
        self.hierarchy_ = clustering.hierarchy
        if self.hierarchy_.n_centers < self.n_clusters:
            raise ValueError(
                f'n_clusters must be at most {settings.max_candidates} for method="{self.method}", '
                f"which chooses centers among that many rows; got n_clusters={self.n_clusters}. "
                'Use method="tree".'
            )
        self.labels_ = self.hierarchy_.cut(self.n_clusters)
        self.center_indices_ = self.hierarchy_.center_indices[: self.n_clusters]
        self.cluster_centers_ = np.asarray(rows[self.center_indices_], dtype=np.float64)
        self._n_features_out = int(self.n_clusters)
        self._held = RowLog.from_fit(rows, weight, clustering.row_order)
        self._recipe = clone(self)

    def predict(self, X: ArrayLike, *, unknown: int | None = None) -> NDArray[np.int32]:
        """Label rows as if they had been there, without moving any center.

        Rows of the fit keep their labels, as long as `n_clusters` is at most the number of distinct
        rows. For means and medoids, the nested splits are replayed. For the tree, the smallest
        labeled cell that contains a row decides; rows outside all cells get label 0, with a
        warning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        unknown : int, default=None
            Label for rows that lie farther out than anything in the fit: rows whose distance to the
            center of their cluster is more than `reach_`, and for the tree also rows outside all
            cells. -1 is a good choice. None labels every row with a cluster.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        k = self._n_features_out
        labels = self.hierarchy_.predict(rows, k)
        contains = getattr(self.hierarchy_.locator, "contains", None)
        outside = np.zeros(rows.shape[0], dtype=np.bool_) if contains is None else ~contains(rows)
        if unknown is None:
            if outside.any():
                warn_user(
                    f"{np.count_nonzero(outside)} of {rows.shape[0]} rows lie outside all cells of "
                    "the tree and get label 0. Pass unknown=-1 to mark such rows."
                )
            return labels
        distance = distance_to_own(rows, self.cluster_centers_, labels, self._fitted_metric)
        labels[outside | (distance > self.reach_)] = unknown
        return labels

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
        weight = check_weight(sample_weight, rows.shape[0])
        return -k_median_cost_to(rows, self.cluster_centers_, weight, self._fitted_metric)

    @cached_property
    def reach_(self) -> float:
        """The largest distance of a row of the fit to the center of its cluster."""
        rows, weight = self._held_rows()
        distance = distance_to_own(rows, self.cluster_centers_, self.labels_, self._fitted_metric)
        return float(distance[weight > 0.0].max())

    def save(self, path: str | os.PathLike[str], *, include_rows: bool = True) -> None:
        """Write the fitted model to a file, for :func:`holdfast.load`.

        The file is written whole or not at all. It holds plain arrays and JSON, with checksums and
        without pickle; docs/file_format.md describes every byte.

        Parameters
        ----------
        path : str or path-like
            The file to write or replace; ``.holdfast`` is a good suffix.
        include_rows : bool, default=True
            Whether to store the rows. Without them the model predicts and cuts, but can no longer
            be updated. The centers, which are rows, are stored in any case.
        """
        check_is_fitted(self)
        write_model(path, self._to_record(include_rows))

    def _to_record(self, include_rows: bool) -> ModelRecord:
        recipe: Any = getattr(self, "_recipe", self)
        parameters = {
            "method": recipe.method,
            "metric": recipe.metric,
            "epsilon": self.epsilon_,
            "max_centers": None if recipe.max_centers is None else recipe.max_centers,
            "n_clusters": self._n_features_out,
            "seed": self.seed_,
        }
        if parameters["max_centers"] not in (None, "all"):
            parameters["max_centers"] = int(recipe.max_centers)
        names = getattr(self, "feature_names_in_", None)
        record = ModelRecord(
            hierarchy=self.hierarchy_,
            parameters=parameters,
            centers=self._known_centers(),
            reach=self.reach_ if "_held" in vars(self) else vars(self).get("reach_"),
            columns=None if names is None else tuple(names),
            table=getattr(self, "table_", None),
        )
        return (
            record_of_held(record, self._held) if include_rows and "_held" in vars(self) else record
        )

    def _known_centers(self) -> NDArray[np.float64] | None:
        """Centers of the cut; None for a model of format 1 that was stored without rows."""
        if "_held" not in vars(self) and "cluster_centers_" not in vars(self):
            return None
        return np.asarray(self.cluster_centers_, dtype=np.float64)

    @classmethod
    def _from_record(cls, record: ModelRecord) -> Self:
        hierarchy, given = record.hierarchy, dict(record.parameters)
        locator: Any = hierarchy.locator
        if not given:  # a hierarchy alone
            method = (
                "tree"
                if not hasattr(locator, "rivals")
                else "medoids"
                if locator.rivals is None
                else "means"
            )
            metric = METRICS[getattr(locator, "metric", 0)]
            given = {"method": method, "metric": metric, "n_clusters": min(8, hierarchy.n_centers)}
        seed = given.pop("seed", 0)
        model = cls(**given, random_state=seed)
        model.n_features_in_ = locator.n_features
        if record.columns is not None:
            model.feature_names_in_ = np.array(record.columns, dtype=object)
        model.table_, model.seed_ = record.table, seed
        model.epsilon_ = record.parameters.get("epsilon", np.nan)
        model._n_features_out = given["n_clusters"]
        model.hierarchy_ = hierarchy
        if record.rows is not None:
            model._held, model._recipe = held_from_record(record), clone(model)
        if record.centers is not None:
            model.cluster_centers_ = record.centers
        if record.reach is not None:
            model.reach_ = record.reach
        return model

    def _repr_html_inner(self) -> str:
        """Show scikit-learn's diagram, and below it what was found."""
        html = str(super()._repr_html_inner())
        return html + self.hierarchy_._repr_html_() if "hierarchy_" in vars(self) else html

    @property
    def _fitted_metric(self) -> Any:
        """The metric of the hierarchy, whatever the parameter is set to by now."""
        return METRICS[getattr(self.hierarchy_.locator, "metric", 0)]

    def _settings_for(
        self,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        seed: int | None = None,
    ) -> Settings:
        """Check the parameters against validated rows, and turn them into the pipeline's."""
        return settings_for(self, rows, weight, seed)


def load(path: str | os.PathLike[str]) -> HierarchicalKMedian:
    """Load a fitted model that was saved.

    The model predicts and cuts as before, bit for bit, and takes updates if its rows were stored.
    Loading never executes anything from the file. A damaged, truncated or crafted file gives one
    clear error, in time and memory bounded by the size of the file. Loading does not tell who wrote
    a file: a well-formed one from a stranger can hold any clusters.

    Parameters
    ----------
    path : str or path-like
        A file written by :meth:`HierarchicalKMedian.save` or by ``holdfast fit --model``, in this
        or any earlier version.

    Returns
    -------
    HierarchicalKMedian
        Fitted.

    Raises
    ------
    holdfast.storage.archive.DamagedFile
        A ValueError that says what is wrong with the file and what to do.
    OSError
        If there is no file to read.

    Examples
    --------
    >>> import holdfast
    >>> model = holdfast.HierarchicalKMedian(2).fit([[0.0], [1.0], [9.0]])
    >>> model.save("clusters.holdfast")  # doctest: +SKIP
    >>> holdfast.load("clusters.holdfast").predict([[8.0]])  # doctest: +SKIP
    """
    return HierarchicalKMedian._from_record(read_model(path))
