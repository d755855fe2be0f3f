"""Follow a fitted model to today's rows: ids, parameters and results of `follow`."""

import contextlib
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.interrupts import unwrap_interrupts
from holdfast._machine.threads import lock_of
from holdfast.centers.medoids import METRICS
from holdfast.follow.engine import Followed, Options, Yesterday, follow_rows
from holdfast.hierarchy import Hierarchy
from holdfast.parameters import check_integer, check_weight
from holdfast.rows.ids import Left, check_ids, find_ids, normal_ids
from holdfast.rows.log import RowLog

__all__ = ["FollowedModel"]


class FollowedModel:
    """Mixin for an estimator whose rows may have ids and whose clusters can be followed."""

    n_clusters: int
    hierarchy_: Hierarchy
    labels_: NDArray[np.int32]
    _ids: NDArray[Any] | None
    _left: Left | None

    @property
    def ids_(self) -> NDArray[Any] | None:
        """Ids of `rows_`, dtype int64 or object; None if rows have none."""
        check_is_fitted(self)
        own: NDArray[Any] | None = vars(self).get("_ids")
        table = getattr(self, "table_", None)
        if own is None and table is not None and table.ids is not None:
            of_table: NDArray[Any] = normal_ids(table.ids)[table.used]
            return of_table
        return own

    @cached_property
    def held_(self) -> NDArray[np.bool_]:
        """Rows that the price of moving holds: `predict` without ids gives them another label."""
        model: Any = self
        if model.hierarchy_.naming is None:
            return np.zeros(model.hierarchy_.n_rows, dtype=np.bool_)
        rows = np.asarray(model._held_rows()[0], dtype=np.float64)
        held: NDArray[np.bool_] = self.labels_ != self.hierarchy_.predict(
            rows, model._n_features_out
        )
        return held

    @unwrap_interrupts()
    def follow(
        self,
        X: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        levels: Iterable[int] | None = None,
        price: float = 0.25,
        budget: float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster today's rows so that clusters stay what they were.

        Surviving rows change their cluster only where this lowers the cost enough, and clusters
        keep their names: ``hierarchy_.names(k)``. The result depends on this model, the rows and
        the parameters, not on the order of rows. The same rows again change nothing. See
        docs/follow.md.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Today's rows, prepared as those of the fit were. For a model that was fitted to a
            table, rows in the units of the table; they are prepared with the scales of the fit.
        ids : array-like of shape (n_samples,), default=None
            Unique integers or strings. None takes the index of a DataFrame unless it only counts
            rows. Rows are matched to those of this model by id if it has ids, otherwise by content.
        levels : iterable of int, default=None
            The numbers of clusters to follow; `n_clusters` is always one of them. None follows
            those that were followed before. The hierarchy ends at the largest.
        price : float, default=0.25
            Of a move. To move 4% of the rows must lower the cost by more than 4 x price %.
        budget : float, default=None
            The fraction of the surviving weight that may change its cluster, at every level.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative.

        Returns
        -------
        HierarchicalKMedian
            A new fitted estimator with the attributes `moves_`, `events_`, `held_` and `follow_`.
            This one is not changed.
        """
        check_is_fitted(self)
        model: Any = self
        rows = model._check_rows(X)
        weight = check_weight(sample_weight, rows.shape[0])
        with lock_of(self):  # all of one state, whatever other threads do
            yesterday = self._as_yesterday(rows)
            own = self._ids_of(X, ids, rows.shape[0])
            options = self._options(levels, price, budget, rows.shape[0])
        found = follow_rows(yesterday, rows, weight, own, options)
        return self._followed(found, rows, weight, own)

    def _as_yesterday(self, rows: NDArray[np.float64]) -> Yesterday:
        model: Any = self
        held, weight = model._held_rows()
        metric = METRICS[getattr(model.hierarchy_.locator, "metric", 0)]
        if metric == "manhattan":
            raise ValueError(
                'follow supports metric="euclidean" and metric="cosine"; this model has '
                'metric="manhattan".'
            )
        if metric == "cosine" and not rows.any(axis=1).all():
            raise ValueError(
                f"Row {int(np.argmin(rows.any(axis=1)))} of X is all zeros; "
                'metric="cosine" needs rows with a nonzero value. Remove such rows.'
            )
        return Yesterday(
            model.hierarchy_,
            held,
            None if (weight == 1.0).all() else weight,
            self.ids_,
            vars(self).get("_left"),
            metric == "cosine",
            model.seed_,
        )

    def _ids_of(self, X: ArrayLike, ids: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
        found, known = check_ids(X, ids, n_rows), self.ids_
        if known is not None and found is None:
            raise ValueError(
                "This model has ids, so X needs ids too; got none. Pass ids, or fit without ids to "
                "match rows by their values."
            )
        if known is not None and found is not None and known.dtype.kind != found.dtype.kind:
            names = {"i": "integers", "O": "strings"}
            raise ValueError(
                f"ids must be {names[known.dtype.kind]} like those of the model; got "
                f"{names[found.dtype.kind]}. Convert them."
            )
        return found

    def _options(
        self, levels: Iterable[int] | None, price: Any, budget: Any, n_rows: int
    ) -> Options:
        model: Any = self
        naming, k = model.hierarchy_.naming, model._n_features_out
        given = (k,) if naming is None else naming.levels
        given = given if levels is None else tuple(levels)
        for level in given:
            check_integer("levels", level)
        chosen = tuple(sorted({int(level) for level in given} | {int(k)}))
        most = min(model.hierarchy_.n_centers, n_rows)
        if chosen[-1] > most:
            what = "rows of X" if most == n_rows else "clusters of this model's hierarchy"
            raise ValueError(
                f"levels and n_clusters must be at most {most}, the number of {what}; got "
                f"{chosen[-1]}. Follow fewer clusters, or fit again."
            )
        return Options(
            chosen,
            check_number("price", price, math.inf),
            None if budget is None else check_number("budget", budget, 1.0),
        )

    def _followed(
        self,
        found: Followed,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        ids: NDArray[Any] | None,
    ) -> Self:
        """Put a result into a new estimator."""
        model: Any = self
        new: Any = clone(getattr(model, "_recipe", model))
        k = int(model._n_features_out)
        new.n_clusters = k
        for name in ("n_features_in_", "feature_names_in_", "seed_", "epsilon_"):
            if name in vars(model):
                setattr(new, name, vars(model)[name])
        table = getattr(model, "table_", None)
        if table is not None:
            used = np.ones(rows.shape[0], dtype=np.bool_)
            table = replace(table, ids=ids, used=used, cuts=found.report.levels)
        new.table_ = table
        new.hierarchy_ = found.hierarchy
        new.labels_ = found.hierarchy.cut(k)
        new.center_indices_ = found.hierarchy.center_indices[:k]
        new.cluster_centers_ = np.asarray(rows[new.center_indices_], dtype=np.float64)
        new._n_features_out = k
        new._held, new._recipe = RowLog.from_fit(rows, weight), clone(new)
        new._ids, new._left = ids, found.left
        new.moves_, new.events_, new.follow_ = found.moves, found.events, found.report
        result: Self = new
        return result

    def _keep_fitted(
        self, labels: NDArray[np.int32], rows: NDArray[np.float64], ids: NDArray[Any]
    ) -> None:
        """Give rows of the fit, known by their ids and with the same values, their fitted labels."""
        model: Any = self
        known = self.ids_
        if known is None:
            raise ValueError(
                "This model has no ids, so predict cannot use any. Fit or follow with ids."
            )
        place = find_ids(ids, known)
        held = model._held_rows()[0]
        found = np.flatnonzero(place >= 0)
        same = found[(held[place[found]] == rows[found]).all(axis=1)]
        labels[same] = self.labels_[place[same]]


def check_number(name: str, value: Any, most: float) -> float:
    """Check that a parameter is a number from 0 to `most`, and finite."""
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not (0.0 <= number <= most and math.isfinite(number)):
        limit = "a non-negative number" if math.isinf(most) else "a fraction from 0 to 1"
        advice = " For 5%, pass 0.05." if number > most else ""
        raise ValueError(f"{name} must be {limit}; got {value!r}.{advice}")
    return number
