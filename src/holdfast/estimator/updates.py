"""Add and remove rows with `partial_fit` and `forget`; results are computed on first use."""

from __future__ import annotations  # short names in help()

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from holdfast._machine.hash import seed_from
from holdfast._machine.work import lock_of
from holdfast.estimator.checking import CheckedRows, refuse_sparse
from holdfast.estimator.explaining import FOLLOWED, RESULTS, BoundHierarchy, computed
from holdfast.hierarchy import Hierarchy
from holdfast.parameters import check_choices, check_column_scale, check_weight
from holdfast.pipeline import cluster_first
from holdfast.rows.ids import check_ids, find_ids
from holdfast.rows.log import Cap, CappedSketch, RowLog
from holdfast.rows.sketch import Sketch
from holdfast.storage.model import ModelRecord


@contextmanager
def undo_on_error(model: Any) -> Iterator[None]:
    """Undo all changes to a model if an error, or Ctrl-C, ends the block."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The sparse rows of a model, which cannot change."""

    rows: csr_array
    weight: NDArray[np.float64] | None
    extent: ClassVar[None] = None

    def settle(self) -> SparseRows:
        """There are no pending changes."""
        return self

    def content(self) -> tuple[Any, NDArray[np.float64]]:
        """Return the rows and the weight of each."""
        return self.rows, np.ones(self.rows.shape[0]) if self.weight is None else self.weight


HeldRows = RowLog | CappedSketch | SparseRows
"""The rows of a model, immutable; `settle` applies pending changes before `content` is read."""


def _has_features(model: Any) -> bool:
    if model.metric == "precomputed":
        raise AttributeError(
            'Distances cannot be added or removed by rows alone: metric="precomputed" '
            "has no partial_fit, forget or chunks. Fit all rows at once."
        )
    return True


class ChangingRows(CheckedRows):
    """Mixin for an estimator whose rows can be added and removed.

    `fit` sets the results as plain attributes. An update deletes them, and the properties of the
    same names compute them from the rows on the next use. Threads may update one estimator: each
    update, and each computation of a result, waits for the one before it.
    """

    random_state: Any
    n_features_in_: int
    seed_: int
    epsilon_: float
    _n_features_out: int
    _held: HeldRows
    _recipe: Any

    @available_if(_has_features)  # type: ignore[untyped-decorator]  # sklearn is untyped
    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> Self:
        """Add rows.

        The result equals a fit on all rows. It is computed on the next use: for the tree, the first
        256 clusters, and the others when something asks for them. The cost of an update depends on
        the added rows only; with ids, the rows are copied. An update uses the current parameters
        and the seed of the first fit. Ids are kept. In a model that follows another one or was
        polished, so are the lasting names: each cluster gets the name of the one with which it shares
        most rows, others get new names. Use `follow` to keep rows in their clusters, too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Integers of at least 0; with ids, non-negative numbers.
        ids : array-like of shape (n_samples,), default=None
            Ids of the rows, for a model with ids or without rows. None of them may be in the model.
            For a model with ids, None takes the index of a DataFrame.

        Returns
        -------
        self
        """
        return self._change(X, sample_weight, ids, adding=True)

    @available_if(_has_features)  # type: ignore[untyped-decorator]  # sklearn is untyped
    def forget(
        self,
        X: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> Self:
        """Remove rows.

        The result equals a fit on the remaining rows. It is computed on the next use; see
        `partial_fit`. A removal after `fit` reads all rows once and sorts none of them; with ids,
        the rows are copied. Ids are kept, names as in `partial_fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Every row must be present at least as often as it is listed. Otherwise an error names
            the missing rows and nothing changes. For a model with ids, only the index of a
            DataFrame is looked at.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row is removed. Integers of at least 0.
        ids : array-like of shape (n_samples,), default=None
            The rows to remove, for a model with ids. All of them must be in the model.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "This HierarchicalKMedian has no rows to forget. Call fit or partial_fit first."
            )
        if X is None and ids is None:
            raise ValueError("forget needs the rows to remove: X, or ids for a model with ids.")
        return self._change(X, sample_weight, ids, adding=False)

    @property
    def rows_(self) -> Any:
        """The rows that `labels_` and `center_indices_` refer to; shape (n_rows, n_features).

        After `fit`, the given rows in their order. After an update, the distinct remaining rows,
        sorted by the first column, then the second, and so on; with ids, the remaining rows in
        their order, then those that were added.
        """
        return self._held_rows()[0]

    @property
    def row_weights_(self) -> NDArray[np.float64]:
        """Weight of each of `rows_`; shape (n_rows,), dtype float64."""
        return self._held_rows()[1]

    @BoundHierarchy
    def hierarchy_(self: Any) -> Hierarchy:
        """All cuts, costs and centers."""
        rows, weight = self._held_rows()
        if rows.shape[0] == 0:
            raise NotFittedError("All rows were removed. Add rows with partial_fit, or fit again.")
        settings = self._recipe._settings_for(rows, seed=self.seed_)
        repeated = None if (weight == 1.0).all() else weight
        held, k = self._held, self._n_features_out
        order = held.order if isinstance(held, RowLog) else None
        clustering = cluster_first(rows, repeated, settings, held.extent, order, k)
        if isinstance(held, RowLog):
            self._held = replace(held, order=clustering.order)
        if self._named is None:
            return clustering.hierarchy
        from holdfast.follow.engine import name_fitted

        hierarchy, self._left = name_fitted(
            self._named, rows, repeated, self.ids_, clustering.hierarchy
        )
        return hierarchy

    @computed
    def labels_(self) -> NDArray[np.int32]:
        """``hierarchy_.cut(n_clusters)``."""
        return self.hierarchy_.cut(self._n_features_out)

    @computed
    def center_indices_(self) -> NDArray[np.int64]:
        """Indices of the centers in `rows_`."""
        k = self._n_features_out
        return self.hierarchy_.down_to(k).center_indices[:k]

    @computed
    def cluster_centers_(self) -> Any:
        """Centers of the clusters."""
        return self._held_rows()[0][self.center_indices_].astype(np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the estimator has rows or results."""
        return "hierarchy_" in vars(self) or "_held" in vars(self)

    def _held_rows(self) -> tuple[Any, NDArray[np.float64]]:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        self._check_held()
        with lock_of(self):
            self._held = self._held.settle()
            return self._held.content()

    def _check_held(self) -> None:
        if "_held" not in vars(self):
            raise ValueError(
                f"This {type(self).__name__} was saved without its rows and cannot be updated. "
                "Fit it again, or save it with include_rows=True."
            )

    def _change(
        self,
        X: ArrayLike | None,
        sample_weight: ArrayLike | None,
        ids: ArrayLike | None,
        *,
        adding: bool,
    ) -> Self:
        model: Any = self
        with lock_of(self), undo_on_error(self):
            named = model._last_named()
            if not self._has_ids(ids):
                self._change_rows(X, sample_weight, adding=adding)
            elif adding:
                self._add_named(X, sample_weight, ids)
            else:
                self._remove_named(X, sample_weight, ids)
            if named is not None:
                model._named = named
        return self

    def _drop_ids(self) -> None:
        """From now on, rows are known by their values."""
        self._ids: NDArray[Any] | None = None
        if self.table_ is not None:
            self.table_ = replace(self.table_, ids=None)

    def _has_ids(self: Any, ids: ArrayLike | None) -> bool:
        """Whether rows are known by their ids; an error if ids are given and they are not."""
        if not self.__sklearn_is_fitted__():
            return ids is not None
        self._check_held()
        if self.ids_ is None and ids is not None:
            raise ValueError(
                "This model has no ids, so rows cannot be added or removed by id. Fit with ids, or do "
                "not pass ids."
            )
        if self.ids_ is not None and isinstance(self._held, RowLog):
            self._held.check_unchanged()
        return self.ids_ is not None

    def _change_rows(self, X: Any, sample_weight: ArrayLike | None, *, adding: bool) -> None:
        """Add or remove rows that are known by their values."""
        first = not self.__sklearn_is_fitted__()
        rows = self._check_rows(X, reset=first)
        held: HeldRows = RowLog() if first else self._held
        stored = held.rows if isinstance(held, SparseRows) else None
        refuse_sparse("partial_fit" if adding else "forget", rows, stored)
        assert not isinstance(held, SparseRows)
        recipe = recipe_of(self)
        check_choices(recipe, rows if adding else rows[:0])
        sketch = Sketch.from_rows(rows, sample_weight)
        held = held.add(sketch) if adding else held.remove(sketch)
        seed = seed_from(self.random_state) if first else self.seed_
        hold_rows(self, held, recipe, seed)

    def _add_named(
        self: Any, X: Any, sample_weight: ArrayLike | None, ids: ArrayLike | None
    ) -> None:
        """Add rows that are known by their ids."""
        first = not self.__sklearn_is_fitted__()
        rows = self._check_rows(X, reset=first)
        refuse_sparse("partial_fit with ids", rows)
        weight = check_weight(sample_weight, rows.shape[0])
        weight = np.ones(rows.shape[0]) if weight is None else weight
        own: Any = check_ids(None, ids, rows.shape[0])
        if not first:
            own = self._ids_of(X, ids, rows.shape[0])
            known, (held, mass) = self.ids_, self._held_rows()
            again = np.flatnonzero(find_ids(own, known) >= 0)
            if again.size:
                raise ValueError(
                    f"ids of rows to add must not be in the model; got {own[again].tolist()[0]!r}, which is "
                    f"({again.size} such ids). Remove these rows first with forget(ids=...)."
                )
            own, weight = np.concatenate((known, own)), np.concatenate((mass, weight))
            rows = np.concatenate((held, rows))
        self._hold_named(rows, weight, own, seed_from(self.random_state) if first else self.seed_)

    def _remove_named(
        self: Any, X: Any, sample_weight: ArrayLike | None, ids: ArrayLike | None
    ) -> None:
        """Remove rows that are known by their ids."""
        if sample_weight is not None:
            raise ValueError("Rows with ids are removed as a whole; expected no sample_weight.")
        known, (rows, weight) = self.ids_, self._held_rows()
        refuse_sparse("forget", rows)
        shape = np.shape(X if ids is None else ids) or (1,)  # one id is not a list of ids
        gone = self._ids_of(X, ids, shape[0])
        absent = np.flatnonzero(find_ids(gone, known) < 0)
        if absent.size:
            raise ValueError(
                f"ids of rows to remove must be in the model; got {gone[absent].tolist()[0]!r}, which is not "
                f"({absent.size} such ids). Nothing was removed."
            )
        stay = find_ids(known, gone) < 0
        self._hold_named(rows[stay], weight[stay], known[stay], self.seed_)

    def _hold_named(
        self: Any, rows: Any, weight: NDArray[np.float64], ids: NDArray[Any], seed: int
    ) -> None:
        recipe = recipe_of(self)
        check_choices(recipe, rows)
        held = RowLog.from_fit(rows, None if (weight == 1.0).all() else weight)
        hold_rows(self, held, recipe, seed)
        self._ids = ids
        if self.table_ is not None:
            used = np.ones(ids.size, dtype=np.bool_)
            self.table_ = replace(self.table_, ids=ids, used=used)


def recipe_of(model: Any) -> Any:
    """Copy a model without its results: present parameters, and the scales that rows came with."""
    recipe = clone(model)
    if model.column_scale is None:
        recipe.column_scale = vars(model).get("column_scale_")
    return recipe


def hold_rows(model: Any, held: HeldRows, recipe: Any, seed: int) -> None:
    """Give rows and a recipe, an unfitted clone, to a model; results are computed on first use."""
    _has_features(recipe)
    for name in (*RESULTS, *FOLLOWED):  # equal rows become one, which has no id
        vars(model).pop(name, None)
    if model.table_ is not None:
        model.table_ = replace(model.table_, ids=None, used=np.ones(0, dtype=np.bool_))
    model._held, model._recipe, model.seed_ = held, recipe, seed
    columns = np.empty((0, model.n_features_in_))
    model.column_scale_ = check_column_scale(recipe.column_scale, columns, recipe.metric)
    model.epsilon_ = check_choices(recipe, columns)
    model._n_features_out = int(recipe.n_clusters)


def record_of_held(record: ModelRecord, held: HeldRows) -> ModelRecord:
    """Add the rows of a model to its record."""
    held = held.settle()
    rows, weight = held.content()
    cap = None
    if isinstance(held, CappedSketch) and held.exponent is not None:
        cap = {
            "max_cells": held.cap.max_cells,
            "exponent": held.exponent,
            "lower": held.lower.tolist(),
            "upper": held.upper.tolist(),
        }
    counts = None if cap is None and (weight == 1.0).all() else weight
    return replace(record, rows=rows, weight=counts, cap=cap)


def held_from_record(record: ModelRecord) -> HeldRows:
    """Take the rows of a model from its record."""
    assert record.rows is not None
    if issparse(record.rows):
        return SparseRows(record.rows, record.weight)
    if record.cap is None:
        return RowLog.from_fit(record.rows, record.weight)
    assert record.weight is not None
    return CappedSketch(
        Cap(record.cap["max_cells"], record.parameters["seed"]),
        record.rows,
        record.weight.astype(np.int64),
        np.array(record.cap["lower"]),
        np.array(record.cap["upper"]),
        record.cap["exponent"],
    )
