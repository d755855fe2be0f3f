"""Follow a fitted model to today's rows: ids, parameters and results of `follow`."""

from __future__ import annotations  # short names in help()

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.jit import unwrap_interrupts
from holdfast._machine.work import lock_of
from holdfast.estimator.checking import refuse_sparse
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.model import Naming
from holdfast.parameters import (
    check_levels,
    check_weight,
    refuse_zeros,
    settings_for,
    to_number,
    warn_user,
)
from holdfast.pipeline import cluster_rows
from holdfast.rows.ids import DepartedRows, check_ids, find_ids
from holdfast.rows.log import RowLog
from holdfast.storage.model import TableRecord

if TYPE_CHECKING:  # loaded on first use: half of the package, and fits do not need it
    from holdfast.follow.engine import Followed, Options
    from holdfast.follow.match import Yesterday
    from holdfast.follow.report import Staleness


class FollowedModel:
    """Mixin for an estimator whose rows may have ids and whose clusters can be followed."""

    table_: TableRecord | None
    _ids: NDArray[Any] | None = None
    _left: DepartedRows | None = None
    _bound = False  # whether a budget has held rows back
    _least: float | None = None  # by how much a change of structure must lower the objective
    _named: Yesterday | None = None  # the latest clusters with lasting names, since an update

    @property
    def ids_(self) -> NDArray[Any] | None:
        """Ids of `rows_`, dtype int64 or object; None if rows have none."""
        check_is_fitted(self)
        if self._ids is None and self.table_ is not None:
            return self.table_.used_ids
        return self._ids

    @cached_property
    def held_(self: Any) -> NDArray[np.bool_]:
        """Rows that the price of moving holds: `predict` without ids gives them another label."""
        if self.hierarchy_.naming is None:
            return np.zeros(self.hierarchy_.n_rows, dtype=np.bool_)
        rows = self._held_rows()[0].astype(np.float64)
        found = self.hierarchy_.predict(rows, self._n_features_out)
        return np.asarray(self.labels_ != found)

    @unwrap_interrupts()
    def follow(
        self: Any,
        X: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        levels: Iterable[int] | None = None,
        price: float = 0.25,
        budget: float | None = None,
        tolerance: float | None = None,
        sample_weight: ArrayLike | None = None,
        dry_run: bool = False,
    ) -> Any:
        """Cluster today's rows and keep the clusters of this model.

        Remaining rows change cluster only if this lowers the cost enough, and clusters keep their
        names: ``hierarchy_.names(k)``. The result depends on this model, the rows and the
        parameters, not on the order of rows. The same rows again change nothing. See
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
            The price of a move. With 0.25, moving 4% of the rows must lower the cost by more than
            1%.
        budget : float, default=None
            The largest fraction of the remaining weight that may change cluster, at every level.
        tolerance : float, default=None
            The fraction by which the cost of a level may exceed that of a new fit. Within it, as
            few rows as possible move: the price is raised, up to 1. The more rows would move at
            `price`, the more of the tolerance is left for later releases. If a level exceeds the
            tolerance, the price is lowered, and if no price suffices, the new fit is used. The budget
            has priority. This needs a new fit and several trials, which take time.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative. Moved fractions and the budget count weight.
        dry_run : bool, default=False
            Whether to return only the plan: what would move, and at which cost.

        Returns
        -------
        HierarchicalKMedian or FollowPlan
            A new fitted estimator with the attributes `moves_`, `events_`, `held_` and `follow_`;
            the plan if `dry_run`. This estimator is not changed.
        """
        from holdfast.follow.engine import follow_rows
        from holdfast.follow.report import FollowPlan

        check_is_fitted(self)
        rows = self._check_rows(X)
        weight = check_weight(sample_weight, rows.shape[0])
        with lock_of(self):  # all of one state, whatever other threads do
            yesterday = self._as_yesterday(rows)
            own = self._ids_of(X, ids, rows.shape[0])
            options = self._options(levels, price, budget, tolerance, rows, weight)
        fit = self._fit_of(rows, weight, options.levels[-1])
        found = follow_rows(yesterday, rows, weight, own, options, fit)
        if dry_run:
            return FollowPlan(found.report, found.moves, found.events)
        if found.report.n_survivors == 0:
            warn_user(
                "No row of X is in the model that it follows, so the rows were fitted again and all "
                "clusters have new names. Check the ids, or that columns are prepared as before."
            )
        return self._followed(found, rows, weight, own)

    @unwrap_interrupts()
    def polish(self: Any, levels: Iterable[int] | None = None) -> Any:
        """Lower the cost of the clusters at some levels: a good start for a series of releases.

        A fit makes one split after the other. This lets all levels settle together: rows move to
        better clusters, and clusters merge, split and change parents while the cost falls. Followed
        from there, clusters have less reason to change. Clusters of a fit are numbered again; those of
        a model that follows another one keep their names.

        Parameters
        ----------
        levels : iterable of int, default=None
            As for `follow`.

        Returns
        -------
        HierarchicalKMedian
            A new fitted estimator of the same rows. This one is not changed. If it follows another
            one, `moves_`, `events_` and `follow_` say what changed.
        """
        from holdfast.follow.engine import follow_rows

        check_is_fitted(self)
        with lock_of(self):
            rows, mass = self._held_rows()
            weight = None if (mass == 1.0).all() else mass
            yesterday, own = self._as_yesterday(rows), self.ids_
            options = replace(self._options(levels, 0.0, None, None, rows, weight), polish=True)
        fit = self._fit_of(rows, weight, options.levels[-1])
        found = follow_rows(yesterday, rows, weight, own, options, fit)
        new: Any = self._followed(found, rows, weight, own)
        if yesterday.hierarchy.naming is None:  # a part of fitting: nothing came before
            names = tuple(np.arange(k, dtype=np.int64) for k in options.levels)
            naming = Naming(options.levels, names, options.levels[-1])
            new.hierarchy_ = replace(new.hierarchy_, naming=naming)
            del new.moves_, new.events_, new.follow_
        return new

    def staleness(
        self: Any, X: ArrayLike | None = None, *, levels: Iterable[int] | None = None
    ) -> Staleness:
        """Compare this model with a new fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows that both label; None takes the rows of this model.
        levels : iterable of int, default=None
            As for `follow`.

        Returns
        -------
        Staleness
        """
        check_is_fitted(self)
        given = None if X is None else self._check_rows(X)
        with lock_of(self):
            held, weight = self._held_rows()
            rows = held if given is None else given
            mass = None if given is not None or (weight == 1.0).all() else weight
            yesterday = self._as_yesterday(rows)
            sizes = self._options(levels, 0.0, None, None, rows, mass).levels
            hierarchy = self.hierarchy_
        leaf = hierarchy.cut(sizes[-1])
        if given is not None:
            leaf = hierarchy.predict(np.asarray(rows, dtype=np.float64), sizes[-1])
        fit = self._fit_of(rows, mass, sizes[-1])
        from holdfast.follow.report import measure_staleness

        return measure_staleness(yesterday, rows, mass, leaf, sizes, fit)

    def _fit_of(
        self: Any, rows: NDArray[np.float64], weight: NDArray[np.float64] | None, k: int
    ) -> Callable[[], Hierarchy]:
        """Prepare a new fit that stops at k centers."""
        recipe = clone(getattr(self, "_recipe", self)).set_params(n_clusters=k, max_centers=k)
        settings = settings_for(recipe, rows, weight, self.seed_)
        return lambda: cluster_rows(rows, weight, settings)

    def _as_yesterday(self: Any, rows: NDArray[np.float64]) -> Yesterday:
        held, weight = self._held_rows()
        refuse_sparse("follow", held, rows)
        metric = self._fitted_metric
        if metric in ("manhattan", "precomputed"):
            raise ValueError(
                'follow supports metric="euclidean" and metric="cosine"; this model has '
                f'metric="{metric}".'
            )
        if metric == "cosine":
            refuse_zeros(rows)
        from holdfast.follow.match import Yesterday

        return Yesterday(
            self.hierarchy_,
            held,
            None if (weight == 1.0).all() else weight,
            self.ids_,
            self._left,
            metric == "cosine",
            self.seed_,
            self._bound,
            self._least,
        )

    def _last_named(self: Any) -> Any:
        """Return the latest clusters with lasting names; None if names are labels."""
        if "hierarchy_" not in vars(self):  # not computed since they were looked at
            return self._named
        naming = self.hierarchy_.naming
        if naming is None:
            return None
        if self.n_clusters > naming.levels[-1]:
            raise ValueError(
                f"n_clusters must be at most {naming.levels[-1]}, the largest number of clusters whose "
                f"names are kept; got {self.n_clusters}. Fit again."
            )
        return self._as_yesterday(self._held_rows()[0])

    def _ids_of(self, X: ArrayLike, ids: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
        found, known = check_ids(X, ids, n_rows), self.ids_
        if known is not None and found is None:
            index = getattr(X, "index", None) if hasattr(X, "iloc") else None
            if type(index).__name__ not in ("NoneType", "RangeIndex"):
                check_ids(None, np.asarray(index), n_rows)  # says what is wrong with it
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
        self: Any,
        levels: Iterable[int] | None,
        price: Any,
        budget: Any,
        tolerance: Any,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> Options:
        n_rows = rows.shape[0] if weight is None else int(np.count_nonzero(weight))
        naming, k = self.hierarchy_.naming, self._n_features_out
        given = (k,) if naming is None else naming.levels
        given = check_levels(given if levels is None else levels)
        chosen = tuple(sorted({*given, int(k)}))
        if chosen[-1] > self.hierarchy_.n_centers:
            raise ValueError(
                f"levels must be at most {self.hierarchy_.n_centers}, the number of clusters of this "
                f"model's hierarchy; got {chosen[-1]}. Follow fewer clusters, or fit again."
            )
        if chosen[-1] > n_rows:
            raise ValueError(
                f"X must have at least as many rows as there are clusters, {chosen[-1]}; got {n_rows}. "
                "Follow fewer clusters, or fit again."
            )
        from holdfast.follow.engine import Options

        return Options(
            chosen,
            check_number("price", price, math.inf),
            None if budget is None else check_number("budget", budget, 1.0),
            None if tolerance is None else check_number("tolerance", tolerance, math.inf),
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
        for name in ("n_features_in_", "feature_names_in_", "seed_", "epsilon_", "column_scale_"):
            if name in vars(model):
                setattr(new, name, vars(model)[name])
        if model.table_ is not None:
            used = np.ones(rows.shape[0], dtype=np.bool_)
            new.table_ = replace(model.table_, ids=ids, used=used, cuts=found.report.levels)
        new.hierarchy_ = hierarchy = found.build()
        new.labels_ = hierarchy.cut(k)
        new.center_indices_ = hierarchy.center_indices[:k]
        new.cluster_centers_ = np.asarray(rows[new.center_indices_], dtype=np.float64)
        new._n_features_out = k
        new._held, new._recipe = RowLog.from_fit(rows, weight), clone(new)
        new._ids, new._left = ids, found.left
        new._bound, new._least = found.report.budget_binds, found.least
        new.moves_, new.events_, new.follow_ = found.moves, found.events, found.report
        result: Self = new
        return result

    def _find_fitted(
        self: Any, rows: NDArray[np.float64], ids: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find rows of the fit by their ids, if they have the same values: places in both."""
        known = self.ids_
        if known is None:
            raise ValueError(
                "This model has no ids, so predict cannot use any. Fit or follow with ids."
            )
        place = find_ids(ids, known)
        held = self._held_rows()[0]
        found = np.flatnonzero(place >= 0)
        refuse_sparse("predict with ids", held, rows)
        same = found[(held[place[found]] == rows[found]).all(axis=1)]
        return same, place[same]

    def _fitted_labels(
        self: Any, X: ArrayLike, rows: NDArray[np.float64], ids: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Find rows of the fit by their ids, if they have the same values, and their fitted labels."""
        same, place = self._find_fitted(rows, self._ids_of(X, ids, rows.shape[0]))
        return same, self.labels_[place]


def check_number(name: str, value: Any, most: float) -> float:
    """Check that a parameter is a number from 0 to `most`, and finite."""
    number = to_number(value)
    if not (0.0 <= number <= most and math.isfinite(number)):
        limit = "a non-negative number" if math.isinf(most) else "a fraction from 0 to 1"
        advice = " For 5%, pass 0.05." if number > most else ""
        raise ValueError(f"{name} must be {limit}; got {value!r}.{advice}")
    return number
