"""Why rows are where they are: the questions that need the rows of a model; results on first use."""

from __future__ import annotations  # short names in help()

from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.work import lock_of
from holdfast.estimator.checking import refuse_sparse
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.explain import Explanation, RowExplanation, explain_clusters, explain_row
from holdfast.hierarchy.rules import Column
from holdfast.parameters import check_integer
from holdfast.storage.model import TableRecord
from holdfast.tables.preparation import Preparation

if TYPE_CHECKING:
    import pandas as pd

    from holdfast.tables.preparer import TablePreparer


T = TypeVar("T")

RESULTS = ("hierarchy_", "labels_", "center_indices_", "cluster_centers_", "reach_")
"""The attributes that are computed from the rows."""

FOLLOWED = (
    *("reach_", "held_", "moves_", "events_", "follow_"),
    *("_ids", "_left", "_bound", "_least", "_named"),
)
"""The attributes that belong to the rows of one fit."""


class computed(cached_property[T]):
    """A result that is computed on first use, from rows that no other thread changes meanwhile."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Any:
        """Compute the result, or wait until another thread has."""
        if instance is None:
            return self
        found = vars(instance).get(self.attrname or "")
        if found is None:
            with lock_of(instance):
                found = super().__get__(instance, owner)
        self.show(instance, found)
        return found

    def show(self, instance: object, found: T) -> None:
        """Prepare what was found, each time it is read."""


class BoundHierarchy(computed[Hierarchy]):
    """The hierarchy of a model, which knows the rows of the model when it is read from it.

    It gets a copy of the attributes, not the model, so the two do not refer to each other in a circle.
    """

    def show(self, instance: object, found: Hierarchy) -> None:
        """Tell the hierarchy who knows its rows."""
        left_out = {*RESULTS, *FOLLOWED} - {"_ids"}
        state = {name: value for name, value in vars(instance).items() if name not in left_out}
        found.bind(partial(_restore, type(instance), state))

    def __set__(self, instance: object, value: Hierarchy) -> None:
        """Store a hierarchy."""
        vars(instance)["hierarchy_"] = value


def _restore(kind: type[Any], state: dict[str, Any], hierarchy: Hierarchy) -> Any:
    """Return a model of a hierarchy, with the rows it had when the hierarchy was read from it."""
    model = object.__new__(kind)
    vars(model).update(state, hierarchy_=hierarchy)
    return model


class ExplainedModel:
    """Mixin for an estimator that explains its clusters."""

    n_features_in_: int
    table_: TableRecord | None

    @overload
    def explain(
        self,
        n_clusters: int | None = None,
        *,
        row: None = None,
        max_conditions: int = 3,
        max_rules: int = 3,
        preparer: TablePreparer | None = None,
    ) -> Explanation: ...

    @overload
    def explain(
        self,
        n_clusters: int | None = None,
        *,
        row: ArrayLike | int,
        max_conditions: int = 3,
        max_rules: int = 3,
        preparer: TablePreparer | None = None,
    ) -> RowExplanation: ...

    def explain(
        self: Any,
        n_clusters: int | None = None,
        *,
        row: ArrayLike | int | None = None,
        max_conditions: int = 3,
        max_rules: int = 3,
        preparer: TablePreparer | None = None,
    ) -> Explanation | RowExplanation:
        """Describe the clusters and splits by short rules, in the units of the table.

        Rules describe the clustering; they do not define it. Each rule has a precision, a coverage
        and a stability. A cluster gets another rule if that describes more of it. Tables of more
        than 2^20 values are sampled by key.

        Parameters
        ----------
        n_clusters : int, default=None
            The cut to explain. None means that of `labels_`.
        row : int, or array-like of shape (n_features,) or (1, n_features), default=None
            Explain this row instead, as `explain_row` does.
        max_conditions : int, default=3
            The largest number of columns in a rule.
        max_rules : int, default=3
            The largest number of rules for a cluster.
        preparer : TablePreparer, default=None
            The transformer that prepared the rows, such as the first step of a pipeline. Rules are
            then in the units of the table. Not needed for models that the command line fitted.

        Returns
        -------
        Explanation, or RowExplanation if a row was given
        """
        if row is not None:
            found: RowExplanation = self.explain_row(row, n_clusters, preparer=preparer)
            return found
        check_is_fitted(self)
        rows, weight = self._held_rows()
        refuse_sparse("explain", rows)
        k = self._n_features_out if n_clusters is None else n_clusters
        self._need_features("explain describes clusters by columns")
        check_integer("max_conditions", max_conditions)
        check_integer("max_rules", max_rules)
        return explain_clusters(
            self.hierarchy_, rows, weight, k, self._columns(preparer), self.seed_, int(max_conditions),
            int(max_rules),
        )  # fmt: skip

    def explain_row(
        self: Any,
        row: ArrayLike | int,
        n_clusters: int | None = None,
        *,
        preparer: TablePreparer | None = None,
    ) -> RowExplanation:
        """Explain why a row is in its cluster, and how far away the boundaries are.

        Parameters
        ----------
        row : int, or array-like of shape (n_features,) or (1, n_features)
            An index in `rows_`, or the values of any row.
        n_clusters : int, default=None
            The cut to explain. None means that of `labels_`.
        preparer : TablePreparer, default=None
            The transformer that prepared the rows: columns are then named as in the table.

        Returns
        -------
        RowExplanation
            Distances are in the units of the prepared rows, or of rows of length 1 for the cosine
            distance.
        """
        check_is_fitted(self)
        self._need_features("explain_row names columns")
        if isinstance(row, Integral):
            rows = self.rows_[[int(row)]]
        else:
            is_table = hasattr(row, "columns") or issparse(row)
            rows = self._check_rows(row if is_table else np.atleast_2d(np.asarray(row)))
        refuse_sparse("explain_row", rows, self.cluster_centers_)
        if rows.shape[0] != 1:
            raise ValueError(f"explain_row explains one row; got {rows.shape[0]} rows.")
        k = self._n_features_out if n_clusters is None else n_clusters
        names = [column.name for column in self._columns(preparer)]
        return explain_row(self.hierarchy_, rows[0].astype(np.float64), k, names)

    def membership(
        self, X: ArrayLike | None = None, n_clusters: int | None = None, **options: Any
    ) -> NDArray[np.float64]:
        """Compute the probability of each cluster for each row, when some rows are removed.

        This is :func:`holdfast.membership` of this model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows to look up. None means the rows of the fit.
        n_clusters : int, default=None
            The cut. None means that of `labels_`.
        **options
            `delete`, `trials`, `random_state` and `progress` of :func:`holdfast.membership`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters), dtype float64
            Rows sum to 1.
        """
        import holdfast  # the function is found on use: rooms import in one direction only

        found: NDArray[np.float64] = holdfast.membership(self, X, n_clusters, **options)  # type: ignore[arg-type]
        return found

    def label_frame(self: Any, n_clusters: ArrayLike | None = None) -> pd.DataFrame:
        """Return labels beside the ids of the rows; needs pandas.

        Parameters
        ----------
        n_clusters : int or sequence of int, default=None
            The cuts. None means that of `labels_`.

        Returns
        -------
        DataFrame
            One column ``cluster_k`` for each cut. The index has the ids of the rows, or counts them.
        """
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("label_frame needs pandas: pip install pandas.") from error
        given = self._n_features_out if n_clusters is None else n_clusters
        ks = np.atleast_1d(np.asarray(given)).tolist()
        labels = {f"cluster_{k}": self.hierarchy_.cut(k) for k in ks}
        return pd.DataFrame(labels, index=self.ids_)

    def _columns(self, preparer: TablePreparer | None) -> list[Column]:
        """Names and units of the columns of `rows_`."""
        if preparer is not None:
            return columns_of(self._preparation_of(preparer))
        if self.table_ is not None:
            return columns_of(self.table_.preparation)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [Column(f"x{j}") for j in range(self.n_features_in_)]
        return [Column(str(name)) for name in names]

    def _preparation_of(self, preparer: TablePreparer) -> Preparation:
        """Check that a preparer has prepared the rows of the fit."""
        check_is_fitted(preparer)
        found = preparer.preparation_
        if len(found.columns) != self.n_features_in_:
            raise ValueError(
                f"preparer must be what prepared the rows of the fit, {self.n_features_in_} "
                f"columns; got one that prepares {len(found.columns)}."
            )
        return found

    def _describe_table(self: Any, preparer: TablePreparer) -> TableRecord:
        """Describe the table behind the rows, as the command line does."""
        used = np.ones(self.hierarchy_.n_rows, dtype=np.bool_)
        preparation, cuts = self._preparation_of(preparer), (int(self._n_features_out),)
        return TableRecord(preparation, preparer.id, self.ids_, used, cuts)


def columns_of(preparation: Preparation) -> list[Column]:
    """Name prepared columns in the words of the table: levels of categories, dates, gaps."""
    scales = preparation.scale or (1.0,) * len(preparation.columns)
    found: list[Column] = []
    for source in preparation.sources:
        for i, feature in enumerate(source.features):
            scale = scales[len(found)]
            mark = feature.removeprefix(f"{source.name}=")
            if source.kind == "category":
                found.append(Column(source.name, scale, category=mark))
            elif source.gaps and i == len(source.features) - 1:
                found.append(Column(source.name, scale, category="(missing)"))
            elif source.kind == "boolean":
                found.append(Column(source.name, scale, category="true"))
            else:
                found.append(Column(feature, scale, date=source.kind == "date" and i == 0))
    return found
