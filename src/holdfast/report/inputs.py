"""The arguments of a report, validated once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from holdfast._machine.hash import keyed_sample, seed_from
from holdfast._machine.work import ProgressOption
from holdfast.clusterers import COMPARED_METHODS, METHODS, Clusterer, as_clusterer
from holdfast.clusterers.adapt import check_rows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy.explain import Category, group_columns
from holdfast.hierarchy.rules import Column
from holdfast.parameters import check_integer
from holdfast.stability.plan import Delete
from holdfast.tables.columns import scale_of_rows

MAX_CLUSTERS = 32
"""The most clusters that the page can tell apart: eight colors times four shapes."""

SAMPLE_ROWS = 1000
"""Methods are compared on at most this many rows: some need O(n^2) time or memory."""

MIN_ROWS = 8

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """One line of the comparison."""

    name: str  # in the registry, or the key of the caller's mapping
    title: str  # the name on the page
    clusterer: Clusterer
    is_own: bool = False  # whether the page shows its clustering


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything that the parts of a report are computed from."""

    rows: Rows  # (n, d), prepared: these are clustered
    values: Rows  # in their original units: these are shown; NaN where missing
    columns: tuple[Column, ...]
    numbers: NDArray[np.int64]  # which columns are numbers; others are indicators of categories
    ids: tuple[str, ...] | None
    categories: tuple[Category, ...]
    k: int  # the cut that is measured
    max_k: int  # the finest cut that is shown
    estimator: HierarchicalKMedian  # with `random_state` set to `seed`
    methods: tuple[ComparedMethod, ...]  # the report's own method first
    deletes: tuple[int | float, ...]  # amounts of rows to remove, ascending
    main_delete: int | float  # the one that the verdict is about
    trials: int
    repeats: int
    n_jobs: int
    seed: int
    sample: NDArray[np.int64]  # the rows on which methods are compared
    show_rows: bool  # whether the page may contain anything about single rows
    title: str
    command: str
    preparation: tuple[str, ...]  # what was done to the data, one sentence each
    progress: ProgressOption

    @property
    def ks(self) -> tuple[int, ...]:
        """Numbers of clusters for the curves."""
        return tuple(sorted({*range(2, min(16, self.max_k) + 1), self.k}))

    @property
    def is_sampled(self) -> bool:
        """Whether methods are compared on fewer rows than there are."""
        return bool(self.sample.size < self.rows.shape[0])

    def count_deleted(self, amount: float) -> int:
        """Return how many of the sampled rows an amount is."""
        n = int(self.sample.size)
        return n - Delete(amount).check(n, 0)


def check_inputs(
    X: Any,
    *,
    n_clusters: int,
    names: Sequence[str | Column] | None,
    ids: Sequence[Any] | None,
    values: ArrayLike | None,
    estimator: HierarchicalKMedian | None,
    methods: Any,
    delete: Sequence[int | float],
    trials: int,
    repeats: int,
    full: bool,
    random_state: Any,
    **others: Any,
) -> Inputs:
    """Validate the arguments of `build_report`; `others` are attributes of `Inputs` as they are."""
    _check_counts(n_clusters, trials, repeats)
    names, ids = _names_of_frame(X, names, ids)
    clustered = np.ascontiguousarray(check_rows(X), dtype=np.float64)
    n, d = clustered.shape
    max_k = _check_size(clustered, n_clusters)
    k, seed = int(n_clusters), seed_from(random_state)
    model = _check_estimator(estimator, X, n_clusters=k, random_state=seed, max_centers=max_k)
    deletes = _check_deletes(delete, n, k)
    columns, shown = _check_names(names, d), _check_values(values, clustered)
    if d <= 2:  # which are the axes of the scatter plot, whatever they are
        columns = tuple(replace(column, category=None) for column in columns)
    numbers, categories = group_columns(columns, shown)
    return Inputs(
        rows=clustered,
        values=shown,
        columns=columns,
        numbers=numbers,
        ids=_check_ids(ids, n),
        categories=categories,
        k=k,
        max_k=max_k,
        estimator=model,
        methods=_resolve_methods(methods, model),
        deletes=deletes,
        main_delete=0.05 if 0.05 in deletes else deletes[-1],
        trials=int(trials),
        repeats=int(repeats),
        seed=seed,
        sample=keyed_sample(clustered, n if full else SAMPLE_ROWS, seed, "report: comparison"),
        **others,
    )


def _check_counts(n_clusters: int, trials: int, repeats: int) -> None:
    for name, count in (("n_clusters", n_clusters), ("trials", trials), ("repeats", repeats)):
        check_integer(name, count)
    if trials < 2:
        raise ValueError(
            f"trials must be at least 2, so that a standard error can be given; got {trials}."
        )


def _check_estimator(estimator: HierarchicalKMedian | None, X: Any, **settings: Any) -> Any:
    """Return a copy of the clusterer, with these settings."""
    model = HierarchicalKMedian() if estimator is None else estimator
    if not isinstance(model, HierarchicalKMedian):
        raise TypeError(f"estimator must be a HierarchicalKMedian; got {type(model).__name__}.")
    scale = scale_of_rows(X) if model.column_scale is None else model.column_scale
    return clone(model).set_params(column_scale=scale, **settings)


def _names_of_frame(
    X: Any, names: Sequence[str | Column] | None, ids: Sequence[Any] | None
) -> tuple[Sequence[str | Column] | None, Sequence[Any] | None]:
    """Take column names, and an index that is more than a count, from a data frame."""
    if names is None and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
    index = getattr(X, "index", None)
    if ids is None and index is not None and hasattr(index, "tolist"):
        found = index.tolist()
        ids = None if found == [*range(len(found))] else found
    return names, ids


def _check_size(rows: Rows, n_clusters: int) -> int:
    """Return the finest cut of the page; refuse what the report cannot measure or show."""
    n = rows.shape[0]
    if n < MIN_ROWS:
        raise ValueError(f"a report needs at least {MIN_ROWS} rows; got {n}.")
    with np.errstate(over="ignore"):
        largest = n * (np.ptp(rows, axis=0) ** 2).sum()
    if not np.isfinite(largest):
        raise ValueError(
            f"X has values up to {np.abs(rows).max():.3g}, too large for sums of squared distances. "
            f"Divide each column by its standard deviation first."
        )
    max_k: int = min(n // 2, MAX_CLUSTERS)
    if not 2 <= n_clusters <= max_k:
        raise ValueError(
            f"n_clusters must be between 2 and {max_k} (at most half the rows, and at most "
            f"{MAX_CLUSTERS}, which is what the page can tell apart); got {n_clusters}."
        )
    return max_k


def _resolve_methods(methods: Any, estimator: HierarchicalKMedian) -> tuple[ComparedMethod, ...]:
    """List what is compared: the report's own method first, each method once."""
    own = METHODS[estimator.method]
    shown = as_clusterer(estimator, name=own.title)
    found = {own.name: ComparedMethod(own.name, own.title, shown, is_own=True)}
    if isinstance(methods, Mapping):
        for key, clusterer in methods.items():
            if key in (own.name, own.title):
                raise ValueError(f"{key!r} is the report's own method; choose another name.")
            found[str(key)] = ComparedMethod(str(key), str(key), as_clusterer(clusterer))
        return tuple(found.values())
    for name in COMPARED_METHODS if methods is None else methods:
        if name not in METHODS:
            raise ValueError(
                f"methods must be a mapping of names to clusterers, or names among "
                f"{', '.join(METHODS)}; got {name!r}."
            )
        method = METHODS[name]
        found.setdefault(name, ComparedMethod(name, method.title, method.build()))
    return tuple(found.values())


def _check_deletes(delete: Sequence[int | float], n_rows: int, k: int) -> tuple[int | float, ...]:
    """Sort the amounts, each number of rows once; drop those that leave too few rows."""
    amounts: list[Any] = list(delete) if isinstance(delete, list | tuple) else [delete]
    counts: dict[int, int | float] = {}
    for amount in amounts:
        left = Delete(amount).check(n_rows, 0)
        if left < 2 * k and len(amounts) == 1:
            raise ValueError(
                f"delete={amount!r} leaves {left} of {n_rows} rows, too few for {k} clusters; "
                f"delete fewer rows."
            )
        # 5% comes before a count that is the same number of rows: the verdict is about 5%.
        if left >= 2 * k and (amount == 0.05 or n_rows - left not in counts):
            counts[n_rows - left] = amount
    if not counts:
        raise ValueError(f"delete must name at least one number of rows to delete; got {delete!r}.")
    return tuple(counts[count] for count in sorted(counts))


def _check_values(values: ArrayLike | None, rows: Rows) -> Rows:
    if values is None:
        return rows
    shown = np.asarray(values, dtype=np.float64)
    if shown.shape != rows.shape:
        raise ValueError(f"values must have the shape of X, {rows.shape}; got {shown.shape}.")
    return shown


def _check_names(names: Sequence[str | Column] | None, n_columns: int) -> tuple[Column, ...]:
    if names is None:
        return tuple(Column(f"column {j}") for j in range(n_columns))
    if len(names) != n_columns:
        raise ValueError(f"names must have one for each of {n_columns} columns; got {len(names)}.")
    # The page shows values in the units of the table, whatever rows were divided by.
    return tuple(
        replace(name, name=_shorten(name.name), scale=1.0)
        if isinstance(name, Column)
        else Column(_shorten(name))
        for name in names
    )


def _check_ids(ids: Sequence[Any] | None, n_rows: int) -> tuple[str, ...] | None:
    if ids is None:
        return None
    if len(ids) != n_rows:
        raise ValueError(f"ids must have one for each of {n_rows} rows; got {len(ids)}.")
    return tuple(_shorten(name) for name in ids)


def _shorten(name: Any, most: int = 120) -> str:
    """Return the text of a name, cut where no table could show it."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"
