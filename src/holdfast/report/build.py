"""build_report: rows -> inputs -> dictionary -> Report."""

from __future__ import annotations  # short names in help()

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from holdfast._machine.work import Progress, ProgressOption
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.explain import label_level
from holdfast.hierarchy.rules import Column
from holdfast.report import movement
from holdfast.report.choosing import choose_epsilon, choose_k, count_epsilon_fits
from holdfast.report.inputs import Inputs, check_inputs
from holdfast.report.page import Report
from holdfast.report.segments import choose_columns, count_bootstraps, summarise_segments
from holdfast.report.verdict import compose_verdict
from holdfast.stability.plan import describe_amount

FORMAT = 3
"""Version of the dictionary's layout."""

DELETES = (1, 0.05, 0.2)

_NOT_SHOWN = ("verbose", "column_scale")  # the preparation tells of scales
_PACKAGES = ("holdfast", "numpy", "scipy", "scikit-learn", "numba")


def build_report(
    X: ArrayLike,
    *,
    n_clusters: int = 8,
    estimator: HierarchicalKMedian | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    names: Sequence[str | Column] | None = None,
    ids: Sequence[Any] | None = None,
    values: ArrayLike | None = None,
    delete: Sequence[int | float] = DELETES,
    trials: int = 15,
    repeats: int = 4,
    full: bool = False,
    rows: bool = True,
    title: str = "Clustering report",
    command: str | None = None,
    preparation: Sequence[str] = (),
    n_jobs: int = -1,
    random_state: Any = 0,
    progress: ProgressOption = False,
) -> Report:
    """Cluster the rows, measure how stable the clusters are, and describe both on one page.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least 8 rows. Standardize columns that have different units. A data frame's column names
        and index are used as `names` and `ids`.
    n_clusters : int, default=8
        The cut that is measured and shown first: at most half the rows, and at most 32.
    estimator : HierarchicalKMedian, default=None
        The clusterer. Its `n_clusters`, `max_centers` and `random_state` are set by the report.
    methods : sequence of str, or mapping of str to clusterer, default=None
        Methods to compare with: names from `holdfast.clusterers.METHODS`, or names and clusterers
        as for `average_sensitivity`. None compares the three methods of holdfast, Ward, average,
        complete and single linkage, and bisecting k-means.
    names : sequence of str or Column, default=None
        Names of the columns. A ``holdfast.hierarchy.rules.Column`` can also say that a column
        is the indicator of a category, or a date.
    ids : sequence, default=None
        Names of the rows. None numbers them from 0.
    values : array-like of shape (n_samples, n_features), default=None
        The rows in their original units, where `X` was scaled or filled in; NaN is shown as
        missing. None shows `X`.
    delete : sequence of int or float
        Amounts of rows to remove, as for `average_sensitivity`. The verdict is about 5% if that is
        among them, otherwise about the largest. Amounts that leave fewer than two rows a cluster
        are dropped.
    trials : int, default=15
        Perturbed data sets for each figure; half as many for methods that are fitted again for
        each k.
    repeats : int, default=4
        Random states of the report's own method. Other randomized methods get at most 3.
    full : bool, default=False
        Whether to measure on all rows what is otherwise measured on a sample of 1,000. Methods that
        need a distance for every pair of rows then need that memory too.
    rows : bool, default=True
        False leaves out everything about single rows: values, names, points, centers.
    title : str, default="Clustering report"
        Title of the page.
    command : str, default=None
        The command that reproduces the page. None shows the Python call.
    preparation : sequence of str, default=()
        Sentences for the page on how the data were prepared.
    n_jobs : int, default=-1
        As for `average_sensitivity`.
    random_state : int, RandomState, Generator or None, default=0
        Determines a 64-bit seed. The page shows the hierarchy of this seed.
    progress : bool or callable, default=False
        Whether to print progress to standard error. A callable receives the name of the current
        step, the work done, and the total work.

    Returns
    -------
    Report
        With `show`, `to_html`, `to_json`, `to_dict` and `verdict`. It depends on the arguments
        alone and contains neither a date nor a duration.

    Notes
    -----
    The hierarchy and its clusters are described on all rows. Methods are compared, and k and epsilon
    are examined, on at most 1,000 rows: a sample keyed by content. The page says so.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import build_report
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> report = build_report(X, n_clusters=3, methods=["ward"], trials=5, repeats=2, n_jobs=1)
    >>> report.to_dict()["segments"]["k"]
    3
    """
    if command is None:
        command = (
            f"holdfast.build_report(X, n_clusters={n_clusters}, trials={trials}, "
            f"repeats={repeats}, ...)"
        )
    inputs = check_inputs(
        X, n_clusters=n_clusters, names=names, ids=ids, values=values, estimator=estimator,
        methods=methods, delete=delete, trials=trials, repeats=repeats, full=full,
        random_state=random_state, n_jobs=n_jobs, show_rows=bool(rows), title=str(title),
        command=str(command), preparation=tuple(preparation), progress=progress,
    )  # fmt: skip
    return Report(_summarise(inputs))


def _summarise(inputs: Inputs) -> dict[str, Any]:
    """Compute every part of the page: strings, numbers, lists, dictionaries and None only."""
    fitted = clone(inputs.estimator).fit(inputs.rows)
    hierarchy: Hierarchy = fitted.hierarchy_
    shown = choose_columns(inputs, hierarchy.cut(inputs.k))
    work = _plan_work(inputs)
    with Progress(inputs.progress, sum(work.values()), "rounds", "measuring") as progress:
        own = movement.measure_own(inputs, progress)
        comparison = movement.compare_methods(inputs, own, progress)
        found = None
        if inputs.show_rows:
            part = progress.part("finding rows to look at", work["rows"])
            found = movement.find_rows(inputs, hierarchy, shown, part)
            progress.advance(work["rows"])
        part = progress.part("measuring each segment", work["segments"])
        segments = summarise_segments(inputs, hierarchy, shown, movement.named_rows(found), part)
        progress.advance(work["segments"])
        part = progress.part("examining epsilon", work["epsilon"])
        about_epsilon = choose_epsilon(inputs, fitted.epsilon_, part)
        progress.advance(work["epsilon"])
    return {
        "format": FORMAT,
        "kind": "report",
        "title": inputs.title,
        "data": {
            "n_rows": inputs.rows.shape[0],
            "n_columns": len({column.name for column in inputs.columns}),
            "names": [
                c.name if c.category is None else label_level(c.name, c.category)
                for c in inputs.columns
            ],
            "columns": shown.numbers.tolist(),
            "indicators": [j for j, c in enumerate(inputs.columns) if c.category is not None],
            "dates": [j for j, c in enumerate(inputs.columns) if c.date],
            "shows_rows": inputs.show_rows,
            "preparation": list(inputs.preparation),
        },
        "verdict": compose_verdict(comparison, segments, inputs.command),
        "segments": segments,
        "comparison": comparison,
        "rows": found,
        "choosing": {
            "k": choose_k(inputs, own, segments),
            "epsilon": about_epsilon,
        },
        "provenance": _describe_provenance(inputs),
    }


def _plan_work(inputs: Inputs) -> dict[str, float]:
    """Count the rounds of each part: fits on as many rows as methods are compared on."""
    own = inputs.rows.shape[0] / inputs.sample.size
    work = {method.name: float(movement.count_fits(inputs, method)) for method in inputs.methods}
    if inputs.show_rows:
        work["rows"] = float(movement.count_refits(inputs))
    work["segments"] = own * count_bootstraps(inputs)
    work["epsilon"] = float(count_epsilon_fits(inputs))
    return work


def _describe_provenance(inputs: Inputs) -> dict[str, Any]:
    """Everything needed to make the page again. No date, no duration: equal inputs, equal page."""
    parameters = inputs.estimator.get_params()
    return {
        "command": inputs.command,
        "seed": str(inputs.seed),  # 64 bits do not fit a number of JavaScript
        "parameters": {n: str(value) for n, value in parameters.items() if n not in _NOT_SHOWN},
        "measurements": {
            "trials": inputs.trials,
            "random states": inputs.repeats,
            "rows removed": ", ".join(describe_amount(amount) for amount in inputs.deletes),
            "methods": ", ".join(method.title for method in inputs.methods),
            "rows compared on": f"{inputs.sample.size:,}",
        },
        "versions": {"Python": platform.python_version()} | {n: version(n) for n in _PACKAGES},
    }
