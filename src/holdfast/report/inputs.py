"""What is asked of a report, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from holdfast._machine.hash import seed_from
from holdfast._machine.progress import Shown
from holdfast.clusterers import Clusterer
from holdfast.estimator import HierarchicalKMedian
from holdfast.report.course import Course, Notify
from holdfast.report.methods import resolve_methods
from holdfast.report.sampling import keyed_sample
from holdfast.stability.perturb import Delete
from holdfast.stability.plan import check_count, check_rows

__all__ = ["COMPARED_ROWS", "MOST_CLUSTERS", "Inputs", "check_inputs"]

MOST_CLUSTERS = 32
"""Cuts that the page can show: eight colors times four shapes."""

COMPARED_ROWS = 1000
"""Methods that need O(n^2) time or memory are compared on so many rows at most."""

LEAST_ROWS = 8

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything the sections of a report are made from.

    Attributes
    ----------
    rows : ndarray of shape (n, d), dtype float64
        What is clustered.
    values : ndarray of shape (n, d), dtype float64
        What is shown: the same rows in their own units; NaN where missing.
    names : tuple of str
        Of the d columns.
    ids : tuple of str or None
        Of the n rows.
    k, max_k : int
        The cut that is measured, and the finest one shown.
    estimator : HierarchicalKMedian
        With `random_state` set to `seed`.
    methods : dict
        Name -> Clusterer; the first one is the estimator.
    deletes : tuple of int or float
        Ascending in rows.
    main_delete : int or float
        What the verdict speaks of; one of `deletes`.
    trials, repeats, n_jobs, seed : int
    compared : ndarray of shape (m,), dtype int64
        The rows that methods are compared on.
    show_rows : bool
        Whether anything about a single row may be on the page.
    title, command : str
    course : Course
        Where the work stands; `listened` says whether anybody is told.
    progress : bool or callable
        For the functions of `holdfast.stability`: whether they show theirs, or whom they tell.
    """

    rows: Rows
    values: Rows
    names: tuple[str, ...]
    ids: tuple[str, ...] | None
    k: int
    max_k: int
    estimator: HierarchicalKMedian
    methods: dict[str, Clusterer]
    deletes: tuple[int | float, ...]
    main_delete: int | float
    trials: int
    repeats: int
    n_jobs: int
    seed: int
    compared: NDArray[np.int64]
    show_rows: bool
    title: str
    command: str
    course: Course
    listened: bool
    progress: Shown

    @property
    def ks(self) -> tuple[int, ...]:
        """Numbers of clusters for the curves."""
        return tuple(sorted({*range(2, min(16, self.max_k) + 1), self.k}))

    @property
    def is_sampled(self) -> bool:
        """Whether methods are compared on fewer rows than there are."""
        return bool(self.compared.size < self.rows.shape[0])

    def deleted_rows(self, amount: float, n_rows: int | None = None) -> int:
        """How many rows an amount is."""
        n = self.rows.shape[0] if n_rows is None else n_rows
        return n - Delete(amount).check(n, 0)


def check_inputs(
    X: ArrayLike,
    *,
    n_clusters: int,
    names: Sequence[str] | None,
    ids: Sequence[Any] | None,
    values: ArrayLike | None,
    estimator: HierarchicalKMedian | None,
    methods: Any,
    delete: Sequence[int | float],
    trials: int,
    repeats: int,
    n_jobs: int,
    random_state: Any,
    rows: bool,
    title: str,
    command: str,
    progress: bool | Notify,
) -> Inputs:
    """Validate the arguments of `build_report`."""
    for name, count in (("n_clusters", n_clusters), ("trials", trials), ("repeats", repeats)):
        check_count(name, count)
    if trials < 2:
        raise ValueError(
            f"trials must be at least 2: one tells nothing of its error; got {trials}."
        )
    clustered = np.ascontiguousarray(check_rows(X), dtype=np.float64)
    n, d = clustered.shape
    if n < LEAST_ROWS:
        raise ValueError(f"a report needs at least {LEAST_ROWS} rows; got {n}.")
    _check_range(clustered)
    most = n // 2
    if not 2 <= n_clusters <= min(most, MOST_CLUSTERS):
        raise ValueError(
            f"n_clusters must be from 2 to {min(most, MOST_CLUSTERS)}: at most half the rows, and "
            f"at most {MOST_CLUSTERS}, which is what the page can tell apart; got {n_clusters}."
        )
    seed = seed_from(random_state)
    model = HierarchicalKMedian() if estimator is None else estimator
    if not isinstance(model, HierarchicalKMedian):
        raise TypeError(f"estimator must be a HierarchicalKMedian; got {type(model).__name__}.")
    model = clone(model).set_params(
        n_clusters=int(n_clusters), random_state=seed, max_centers=min(most, MOST_CLUSTERS)
    )
    deletes = _check_deletes(delete, n, int(n_clusters))
    course = Course(progress if callable(progress) else _say_nothing)
    return Inputs(
        rows=clustered,
        values=_check_values(values, clustered),
        names=_check_names(names, d),
        ids=_check_ids(ids, n),
        k=int(n_clusters),
        max_k=min(most, MOST_CLUSTERS),
        estimator=model,
        methods=resolve_methods(methods, model),
        deletes=deletes,
        main_delete=0.05 if 0.05 in deletes else deletes[-1],
        trials=int(trials),
        repeats=int(repeats),
        n_jobs=n_jobs,
        seed=seed,
        compared=keyed_sample(clustered, COMPARED_ROWS, seed, "report: comparison"),
        show_rows=bool(rows),
        title=str(title),
        command=str(command),
        course=course,
        listened=callable(progress),
        progress=course.tell if callable(progress) else progress,
    )


def _check_range(rows: Rows) -> None:
    """Reject values whose squared distances, summed over rows, are no longer numbers."""
    with np.errstate(over="ignore"):
        largest = rows.shape[0] * (np.ptp(rows, axis=0) ** 2).sum()
    if not np.isfinite(largest):
        raise ValueError(
            f"X has values up to {np.abs(rows).max():.3g}, too large for sums of squared distances; "
            f"divide its columns by their standard deviation first."
        )


def _say_nothing(what: str, done: float, total: float) -> None:
    pass


def _check_deletes(delete: Sequence[int | float], n_rows: int, k: int) -> tuple[int | float, ...]:
    """Ascending, each number of rows once; those that leave too few rows are refused."""
    amounts: list[Any] = list(delete) if isinstance(delete, list | tuple) else [delete]
    counts: dict[int, int | float] = {}
    for amount in amounts:
        left = Delete(amount).check(n_rows, 0)
        if left < 2 * k and len(amounts) == 1:
            raise ValueError(
                f"delete={amount!r} leaves {left} of {n_rows} rows, too few for {k} clusters; "
                f"delete fewer."
            )
        # 5% goes before a count that comes to the same: the verdict speaks of it.
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


def _check_names(names: Sequence[str] | None, n_columns: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"column {j}" for j in range(n_columns))
    if len(names) != n_columns:
        raise ValueError(f"names must have one for each of {n_columns} columns; got {len(names)}.")
    return tuple(shorten(name) for name in names)


def _check_ids(ids: Sequence[Any] | None, n_rows: int) -> tuple[str, ...] | None:
    if ids is None:
        return None
    if len(ids) != n_rows:
        raise ValueError(f"ids must have one for each of {n_rows} rows; got {len(ids)}.")
    return tuple(shorten(name) for name in ids)


def shorten(name: Any, most: int = 120) -> str:
    """Text of a name, cut off where no table could show it."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"
