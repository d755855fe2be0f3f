"""Data of any kind -> rows that a measurement can select: tables, sparse rows, texts, distances.

A measurement of stability only selects rows. Data that is not an array of numbers is therefore
measured by its row numbers: an array with one column, which a `SelectingClusterer` turns into the
rows themselves before it fits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, get_tags
from sklearn.utils.validation import _num_samples

from holdfast.clusterers.adapt import (
    Clusterer,
    Cuttable,
    FunctionClusterer,
    KMedianClusterer,
    Rows,
    adapt_estimator,
)
from holdfast.parameters import check_distances
from holdfast.rows.ids import identify_rows
from holdfast.tables.preparation import restore_prepared, scale_of_rows


@dataclass(frozen=True, eq=False)
class SelectingClusterer:
    """A clusterer whose rows are given by their numbers.

    Attributes
    ----------
    clusterer : Clusterer
    data : object
        Anything that can be indexed by rows: a table, a sparse matrix, a list, or a matrix of
        distances.
    pairwise : bool
        Whether `data` is a matrix of distances, whose rows and columns are selected together.
    """

    clusterer: Clusterer
    data: Any
    pairwise: bool = False

    @property
    def name(self) -> str:
        """Name in tables and figures."""
        return self.clusterer.name

    @property
    def randomized(self) -> bool:
        """Whether the seed matters."""
        return self.clusterer.randomized

    @property
    def hierarchical(self) -> bool:
        """Whether one fit serves every k."""
        return self.clusterer.hierarchical

    def fit(self, X: Rows, seed: int) -> Cuttable:
        """Cluster the rows with the numbers in the only column of `X`."""
        numbers = np.asarray(X)[:, 0].astype(np.int64)
        if self.pairwise:
            distances = self.data[np.ix_(numbers, numbers)]
            if isinstance(self.clusterer, KMedianClusterer):  # rows keep their random numbers
                keyed_by = identify_rows(numbers, None, numbers.size)
                return self.clusterer.fit(distances, seed, keyed_by)
            return self.clusterer.fit(distances, seed)
        return self.clusterer.fit(_safe_indexing(self.data, numbers), seed)


def as_selectable(clusterer: Clusterer, X: Any, pairwise: bool | None) -> tuple[Clusterer, Rows]:
    """Return a clusterer and an array of rows to select from.

    Parameters
    ----------
    clusterer : Clusterer
    X : object
        An array of numbers is returned as it is. Anything else is replaced by row numbers, unless
        it is a table of numbers and the clusterer has no use for the names of its columns.
    pairwise : bool or None
        Whether `X` is a matrix of distances between rows. None asks the clusterer: its tags, and
        whether a parameter is "precomputed".
    """
    if is_pairwise(clusterer) if pairwise is None else pairwise:
        distances = check_distances(check_rows(X, finite=False), square=True)
        return SelectingClusterer(clusterer, distances, pairwise=True), _row_numbers(distances)
    if _is_array(X):
        return clusterer, check_rows(X)
    if hasattr(X, "__dataframe__") and not _uses_names(clusterer):
        try:
            return clusterer, check_rows(X)
        except ValueError:
            pass  # not all columns are finite numbers: the clusterer decides
    return SelectingClusterer(clusterer, X), _row_numbers(X)


def hold_stages(pipeline: Any, X: Any, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """List, for each step of a pipeline but the last, the rest of the pipeline and its input.

    Yields
    ------
    name : str
        The last step that is held: it and all steps before it are fitted to all rows.
    rest : Pipeline
        The steps after it.
    held : object
        `X`, transformed by the held steps.
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeError(
            f"by_stage needs a scikit-learn Pipeline; got {type(pipeline).__name__}. Put the "
            "preparation and the clusterer into one with sklearn.pipeline.make_pipeline."
        )
    seeds = adapt_estimator(pipeline, "").seed_parameters
    copy = clone(pipeline).set_params(**dict.fromkeys(seeds, seed))
    held = X
    for i in range(len(copy.steps) - 1):
        held = copy[i : i + 1].fit_transform(held)
        yield copy.steps[i][0], clone(pipeline)[i + 1 :], held


def check_rows(X: Any, finite: bool = True) -> Rows:
    """Validate `X`: finite numbers, and at least two rows so that one can be removed.

    Prepared rows keep what their columns were divided by.
    """
    rows: Rows = check_array(
        X, dtype="numeric", input_name="X", ensure_min_samples=2, ensure_all_finite=finite
    )
    scale = scale_of_rows(X)
    return rows if scale is None else restore_prepared(rows, scale)


def _row_numbers(X: Any) -> Rows:
    n_rows = _num_samples(X)
    if n_rows < 2:
        raise ValueError(f"X must have at least 2 rows, so that one can be removed; got {n_rows}.")
    return np.arange(n_rows, dtype=np.int64)[:, None]


def _is_array(X: Any) -> bool:
    """Whether `X` is an array of numbers, or nested lists of them."""
    if isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1:
        return len(X) == 0 or not isinstance(next(iter(X)), str | bytes | dict)
    return not hasattr(X, "__dataframe__") and not hasattr(X, "tocsr")


def _uses_names(clusterer: Clusterer) -> bool:
    """Whether a clusterer may select columns by name: a pipeline or a function."""
    estimator = getattr(clusterer, "estimator", None)
    return isinstance(clusterer, FunctionClusterer) or isinstance(estimator, Pipeline)


def is_pairwise(clusterer: Clusterer) -> bool:
    """Whether a clusterer expects a matrix of distances, by its tags or parameters."""
    estimator = getattr(clusterer, "estimator", None)
    if estimator is None or not hasattr(estimator, "get_params"):
        return bool(getattr(clusterer, "precomputed", False))
    if get_tags(estimator).input_tags.pairwise:
        return True
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else estimator
    parameters = first.get_params(deep=False) if hasattr(first, "get_params") else {}
    return any(parameters.get(name) == "precomputed" for name in ("metric", "affinity"))
