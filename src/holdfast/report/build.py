"""build_report: rows -> inputs -> dictionary -> Report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from holdfast.estimator import HierarchicalKMedian
from holdfast.report.inputs import check_inputs
from holdfast.report.model import Report
from holdfast.report.summarise import summarise

__all__ = ["build_report"]

DELETES = (1, 0.01, 0.05, 0.1, 0.2)


def build_report(
    X: ArrayLike,
    *,
    n_clusters: int = 8,
    names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    values: ArrayLike | None = None,
    estimator: HierarchicalKMedian | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    delete: Sequence[int | float] = DELETES,
    trials: int = 30,
    repeats: int = 10,
    rows: bool = True,
    title: str = "Clustering report",
    command: str | None = None,
    n_jobs: int = -1,
    random_state: Any = 0,
    progress: bool | Callable[[str, float, float], None] = False,
) -> Report:
    """Cluster the rows, measure how steady that is, and put it on one page.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least 8 rows, standardised where columns have different units.
    n_clusters : int, default=8
        The cut that is measured and shown first; at most half the rows, and at most 32.
    names : sequence of str, default=None
        Of the columns.
    ids : sequence, default=None
        Of the rows; None counts them from 0.
    values : array-like of shape (n_samples, n_features), default=None
        The rows as they are to be shown, where `X` was scaled or filled in: NaN is shown as missing.
        None shows `X`.
    estimator : HierarchicalKMedian, default=None
        The clusterer; its `n_clusters`, `max_centers` and `random_state` are set by the report.
    methods : sequence of str, or mapping of str to clusterer, default=None
        What to compare with: short names of `holdfast.report.METHODS` and "other_cost" (the
        estimator with the other cost), or names and clusterers as for `average_sensitivity`. None
        is the other cost, Ward, average, complete and single linkage and bisecting k-means.
    delete : sequence of int or float
        Rows that go, as for `average_sensitivity`. The verdict speaks of 5% where that is among
        them, otherwise of the largest. Amounts that leave fewer than two rows a cluster are left
        out.
    trials : int, default=30
        Perturbed data sets for each number; half as many for methods that are fitted anew for
        each k.
    repeats : int, default=10
        Seeds of the report's own clusterer; other randomised methods get at most 5.
    rows : bool, default=True
        False leaves out everything about single rows: values, names, points, centers.
    title, command : str
        For the page; the command that makes it again, None for the Python call.
    n_jobs : int, default=-1
        As for `average_sensitivity`.
    random_state : int, RandomState, Generator or None, default=0
        One 64-bit seed comes out of it. The page shows the hierarchy of this seed.
    progress : bool or callable, default=False
        True shows the time left of each step on standard error. A function is called with what
        is being done, and how much of how much of the whole is done.

    Returns
    -------
    Report
        With `to_html`, `to_json`, `to_dict` and `verdict`. A function of the arguments alone: it
        holds neither date nor duration.

    Notes
    -----
    The hierarchy, its own sensitivity, its clusters and rows are measured on all rows. Methods are
    compared, and epsilon is tuned, on at most 1,000 rows, a sample keyed by their content; the page
    says so.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.report import build_report
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> report = build_report(X, n_clusters=3, methods=["ward"], trials=5, repeats=2, n_jobs=1)
    >>> report.to_dict()["explorer"]["k"]
    3
    """
    inputs = check_inputs(
        X, n_clusters=n_clusters, names=names, ids=ids, values=values, estimator=estimator,
        methods=methods, delete=delete, trials=trials, repeats=repeats, n_jobs=n_jobs,
        random_state=random_state, rows=rows, title=title,
        command=_describe_call(n_clusters, trials, repeats) if command is None else command,
        progress=progress,
    )  # fmt: skip
    return Report(summarise(inputs))


def _describe_call(n_clusters: int, trials: int, repeats: int) -> str:
    return (
        f"holdfast.report.build_report(X, n_clusters={n_clusters}, trials={trials}, "
        f"repeats={repeats}, ...)"
    )
