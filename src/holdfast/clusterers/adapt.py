"""The protocol that every clusterer follows; anything that clusters, and any data, behind it.

A measurement of stability only selects rows. Data that is not an array of numbers (tables, sparse rows,
texts, distances) is therefore measured by its row numbers: an array with one column, which a
`SelectingClusterer` turns into the rows themselves before it fits.
"""

from __future__ import annotations  # short names in help()

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, get_tags
from sklearn.utils.validation import _num_samples

from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy
from holdfast.parameters import check_distances
from holdfast.rows.ids import identify_rows
from holdfast.tables.columns import ColumnChoice, restore_prepared, scale_of_rows
from holdfast.tables.dataset import Dataset, find_preparation, prepare_like
from holdfast.tables.preparation import Missing
from holdfast.tables.read import DataTable

_PLAIN = (str, int, float, bool, type(None))

Rows = NDArray[Any]
"""A two-dimensional array of numbers, one row per point."""


class Cuttable(Protocol):
    """The result of a fit."""

    def cut(self, k: int, /) -> ArrayLike:
        """Labels of the partition into k clusters, one per row: integers or strings."""
        ...


@runtime_checkable
class Clusterer(Protocol):
    """Rows and a seed -> something to cut.

    Attributes
    ----------
    name : str
        Name in tables and figures.
    randomized : bool
        Whether the seed matters. If not, one repeat is enough.
    hierarchical : bool
        Whether one fit serves every k. If not, `cut` fits when it is called.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def randomized(self) -> bool: ...  # noqa: D102

    @property
    def hierarchical(self) -> bool: ...  # noqa: D102

    def fit(self, X: Rows, seed: int) -> Cuttable:
        """Cluster the rows of `X`; `seed` is from 0 to 2^32 - 1."""
        ...


@dataclass(frozen=True, eq=False)
class CutByCall:
    """A fit that waits until k is known."""

    labels_for: Callable[[int], ArrayLike]

    def cut(self, k: int) -> ArrayLike:
        """Labels of the partition into k clusters."""
        return self.labels_for(k)


@dataclass(frozen=True)
class KMedianClusterer:
    """`HierarchicalKMedian`, fitted once for every k."""

    estimator: HierarchicalKMedian  # cloned for each fit, with the seed as `random_state`
    name: str
    max_clusters: int | None = None  # where fits stop; None keeps the estimator's `max_centers`
    hierarchical: bool = field(default=True, init=False)

    @property
    def randomized(self) -> bool:
        """Whether the seed matters: always, except for the paper's tree without a random shift."""
        return bool(getattr(self.estimator, "randomized", True))

    def fit(self, X: Rows, seed: int, keyed_by: Rows | None = None) -> Hierarchy:
        """Build the hierarchy of the rows of `X`; `keyed_by` identifies rows of distances."""
        most = self.estimator.max_centers if self.max_clusters is None else self.max_clusters
        model = fresh_copy(self.estimator, n_clusters=1, random_state=seed, max_centers=most)
        hierarchy: Hierarchy = model.fit(X, keyed_by=keyed_by).hierarchy_
        return hierarchy


@dataclass(frozen=True)
class EstimatorClusterer:
    """A scikit-learn clusterer, or a pipeline that ends in one."""

    estimator: Any  # cloned for each fit
    name: str
    count_parameters: tuple[str, ...]  # set to k; if none, labels are the same for every k
    seed_parameters: tuple[str, ...]

    @property
    def randomized(self) -> bool:
        """Whether any parameter takes a seed."""
        return bool(self.seed_parameters)

    @property
    def hierarchical(self) -> bool:
        """Whether one fit serves every k, because k cannot be set."""
        return not self.count_parameters

    def fit(self, X: Rows, seed: int) -> CutByCall:
        """Fit now if k cannot be set, otherwise once per cut."""
        seeds = dict.fromkeys(self.seed_parameters, seed)
        if not self.count_parameters:
            labels = fresh_copy(self.estimator, **seeds).fit_predict(X)
            return CutByCall(lambda k: labels)

        def fit_for(k: int) -> ArrayLike:
            counts = dict.fromkeys(self.count_parameters, k)
            model = fresh_copy(self.estimator, **seeds, **counts)
            return np.asarray(model.fit_predict(X))

        return CutByCall(fit_for)


@dataclass(frozen=True)
class ObjectClusterer:
    """An object with ``fit(X)`` whose result, or which itself, has ``cut(k)``."""

    model: Any  # copied for each fit: by `sklearn.base.clone` if it has `get_params`, else in depth
    name: str
    randomized: bool  # whether to set its `random_state` to the seed
    hierarchical: bool = field(default=True, init=False)

    def fit(self, X: Rows, seed: int) -> Cuttable:
        """Fit a copy."""
        has_parameters = hasattr(self.model, "get_params")
        fresh = clone(self.model) if has_parameters else copy.deepcopy(self.model)
        if self.randomized:
            fresh.random_state = seed
        fitted = fresh.fit(X)
        cuttable: Cuttable = fitted if hasattr(fitted, "cut") else fresh
        return cuttable


@dataclass(frozen=True)
class FunctionClusterer:
    """A function ``(X, k, seed) -> labels``; k is None if the function chooses it."""

    function: Callable[[Any, int | None, int], ArrayLike]
    name: str
    randomized: bool  # whether it uses the seed
    hierarchical: bool = field(default=False, init=False)

    def fit(self, X: Rows, seed: int) -> CutByCall:
        """Call the function once per cut."""
        return CutByCall(lambda k: self.function(X, k or None, seed))


def as_clusterer(
    clusterer: Any,
    *,
    name: str | None = None,
    randomized: bool | None = None,
    max_clusters: int | None = None,
) -> Clusterer:
    """Adapt any clusterer to the protocol of `Clusterer`.

    Parameters
    ----------
    clusterer : object
        `HierarchicalKMedian`; a scikit-learn clusterer or a pipeline that ends in one (its
        `n_clusters` and `random_state` are set, if it has them); an object with ``fit(X)`` and
        ``cut(k)``; a function ``(X, k, seed) -> labels``; or a `Clusterer`, returned unchanged.
    name : str, default=None
        Name in tables and figures. None derives one.
    randomized : bool, default=None
        Whether the seed matters, for functions and objects. None means True for functions, and
        for objects that have a `random_state`.
    max_clusters : int, default=None
        The largest k that will be cut. `HierarchicalKMedian` stops there.

    Returns
    -------
    Clusterer
    """
    if isinstance(clusterer, type):
        raise TypeError(
            f"clusterer must be an object, not a class; write {clusterer.__name__}() for "
            f"{clusterer.__name__}."
        )
    if isinstance(clusterer, HierarchicalKMedian):
        return KMedianClusterer(clusterer, name or _describe_estimator(clusterer), max_clusters)
    if isinstance(clusterer, KMedianClusterer):
        return replace(clusterer, name=name or clusterer.name, max_clusters=max_clusters)
    if isinstance(clusterer, Clusterer):
        return clusterer
    called: str = name or getattr(clusterer, "__name__", None) or type(clusterer).__name__
    if hasattr(clusterer, "fit") and hasattr(clusterer, "cut"):
        seeded = hasattr(clusterer, "random_state") if randomized is None else randomized
        return ObjectClusterer(clusterer, called, seeded)
    if hasattr(clusterer, "get_params") and hasattr(clusterer, "fit_predict"):
        return adapt_estimator(clusterer, called)
    if callable(clusterer):
        return FunctionClusterer(clusterer, called, randomized is None or randomized)
    raise TypeError(
        f"clusterer must be a HierarchicalKMedian, a scikit-learn clusterer, an object with "
        f"fit(X) and cut(k), or a function (X, k, seed) -> labels; got "
        f"{type(clusterer).__name__}."
    )


def adapt_estimator(estimator: Any, name: str) -> EstimatorClusterer:
    """Find the parameters to set in a scikit-learn clusterer, or in the steps of a pipeline."""
    parameters = estimator.get_params(deep=True)
    counts = _parameters_called("n_clusters", parameters)
    if not counts and "n_components" in parameters:
        counts = ("n_components",)  # mixtures
    return EstimatorClusterer(
        estimator, name, counts, _parameters_called("random_state", parameters)
    )


def _parameters_called(name: str, parameters: dict[str, Any]) -> tuple[str, ...]:
    if name in parameters:
        return (name,)
    return tuple(sorted(found for found in parameters if found.endswith(f"__{name}")))


def _describe_estimator(estimator: HierarchicalKMedian) -> str:
    name = f"holdfast {estimator.method}"
    return name if estimator.epsilon == "auto" else f"{name}, epsilon={estimator.epsilon}"


def fresh_copy(estimator: Any, **changes: Any) -> Any:
    """Copy an estimator, unfitted, with some parameters changed.

    Equal to `sklearn.base.clone` and `set_params`. If all parameters are plain values, calling the
    class is enough and much faster: small data are fitted thousands of times.
    """
    kind: Any = type(estimator)
    if getattr(kind, "get_params", None) is BaseEstimator.get_params:
        parameters = {name: getattr(estimator, name) for name in _parameter_names(kind)}
    else:
        parameters = estimator.get_params(deep=False)
    plain = all(isinstance(value, _PLAIN) for value in parameters.values())
    if plain and changes.keys() <= parameters.keys():
        return kind(**{**parameters, **changes})
    return clone(estimator).set_params(**changes)


@cache
def _parameter_names(kind: type[BaseEstimator]) -> tuple[str, ...]:
    """List the parameters of a class once: its signature takes longer to read than to be called."""
    return tuple(kind._get_param_names())


@dataclass(frozen=True, eq=False)
class _Around:
    """What is known of a clusterer stays known when it gets its rows in another way."""

    clusterer: Clusterer

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


@dataclass(frozen=True, eq=False)
class SelectingClusterer(_Around):
    """A clusterer whose rows are given by their numbers."""

    data: Any  # a table, a sparse matrix, a list or a matrix of distances
    pairwise: bool = False  # whether rows and columns of `data` are selected together

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


@dataclass(frozen=True, eq=False)
class PreparingClusterer(_Around):
    """A clusterer that prepares the rows of a table in every fit: scales, levels and fills."""

    table: DataTable  # rows are given by their numbers in it
    choice: ColumnChoice
    missing: Missing
    scale: str | None  # "core", "steps" or "range"
    _last: dict[bytes, Rows] = field(default_factory=dict, compare=False)

    def fit(self, X: Rows, seed: int) -> Any:
        """Prepare the rows with the numbers in the only column of `X`, and cluster them."""
        return self.clusterer.fit(self.prepare(X[:, 0]), seed)

    def prepare(self, numbers: NDArray[np.integer]) -> Rows:
        """Prepare some rows; the last ones are remembered, since several seeds fit them."""
        key = numbers.tobytes()
        if key not in self._last:
            part = replace(self.table, data=self.table.data.take(numbers))
            found, _ = find_preparation(
                lambda names: iter([part]), self.choice, missing=self.missing, scale=self.scale
            )
            self._last.clear()
            self._last[key] = prepare_like(part, found, at_fit=True).rows
        return self._last[key]


def prepare_again(
    dataset: Dataset, rows: NDArray[np.int64], clusterer: Any, scale: str | None
) -> PreparingClusterer:
    """Return a clusterer that prepares the used rows with these numbers in every fit."""
    sources, names = dataset.preparation.sources, {}
    for kind in ("category", "date"):
        names[kind] = tuple(source.name for source in sources if source.kind == kind)
    choice = ColumnChoice(
        categories=names["category"],
        dates=names["date"],
        logs=tuple(source.name for source in sources if source.log),
        cycles=next((source.cycles for source in sources if source.cycles), ()),
    )
    data = dataset.table.data.select([source.name for source in sources])
    table = replace(dataset.table, data=data.take(np.flatnonzero(dataset.used)[rows]))
    return PreparingClusterer(clusterer, table, choice, dataset.preparation.missing, scale)


def as_selectable(clusterer: Clusterer, X: Any, pairwise: bool | None) -> tuple[Clusterer, Rows]:
    """Return a clusterer and its rows: an array of numbers, or row numbers of any other data."""
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
    """Yield the name of each step but the last, the steps after it, and `X` up to there."""
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
    """Validate `X`: finite numbers, at least two rows; prepared rows keep their scale."""
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
