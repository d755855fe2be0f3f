"""Which rows the clustering hangs on, and which rows never come to rest."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.progress import Shown
from holdfast.stability.measures import check_measure
from holdfast.stability.plan import build_plan, check_count
from holdfast.stability.schedule import check_n_jobs
from holdfast.stability.sensitivity import check_checkpoint, measure_plan

__all__ = ["RowInfluence", "row_influence"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class RowInfluence:
    """Influence and unrest of every row, for one number of clusters.

    Attributes
    ----------
    influence : ndarray of shape (n_samples,), dtype float64
        How far the clustering moves when just this row goes, in `measure`, mean over seeds; NaN
        for rows that were not deleted. Its mean is the average sensitivity.
    unrest : ndarray of shape (n_samples,), dtype float64
        Share of the deletions of other rows, and seeds, after which this row is not in the cluster
        matched to its own; NaN where it was never compared.
    measure : str
    floor : float
        The least an influence can be.
    complete : bool
    note : str
        Why the result is not complete.
    """

    influence: Numbers
    unrest: Numbers
    measure: str
    floor: float
    complete: bool = True
    note: str = ""

    def top(self, count: int = 10, by: str = "influence") -> NDArray[np.int64]:
        """Rows to look at first.

        Parameters
        ----------
        count : int, default=10
        by : {"influence", "unrest"}

        Returns
        -------
        ndarray of shape (at most count,), dtype int64
            Row numbers, the largest value first, equal ones in the order of rows; rows without a
            value are left out.
        """
        check_count("count", count)
        if by not in ("influence", "unrest"):
            raise ValueError(f"by must be 'influence' or 'unrest'; got {by!r}.")
        values = self.influence if by == "influence" else self.unrest
        order = np.argsort(-values, kind="stable")  # NaN last
        return order[np.isfinite(values[order])][:count]

    def __repr__(self) -> str:
        """Name the rows to look at first."""
        rows = ", ".join(f"{row} ({self.influence[row]:.3g})" for row in self.top(3))
        return f"RowInfluence({self.influence.size} rows, most influential: {rows})"


def row_influence(
    clusterer: Any,
    X: ArrayLike,
    n_clusters: int,
    *,
    trials: Any = "all",
    repeats: int = 10,
    measure: str = "moved_fraction",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: Shown = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> RowInfluence:
    """Measure, for every row, how much the clustering hangs on it and how restless it is.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`.
    X : array-like of shape (n_samples, n_features)
    n_clusters : int
    trials : int or "all", default="all"
        Rows to delete, each alone. A number takes that many at random: enough for `unrest`, while
        the others have no `influence`.
    repeats : int, default=10
        Seeds; deterministic clusterers get one.
    measure : {"moved", "symmetric_difference", "moved_fraction"}
        What `influence` is in: "moved" counts the row itself too, so that its floor is 1.
    n_jobs, random_state, progress, checkpoint
        As for `average_sensitivity`.

    Returns
    -------
    RowInfluence

    Notes
    -----
    Costs ``trials * repeats`` fits: n times the seeds by default. Where several matchings of
    clusters are equally good, which rows count as moved is up to the one that is found.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import row_influence
    >>> from holdfast.clusterers import single_linkage
    >>> X = np.array([[0.0], [1], [2], [3.5], [5], [6], [7], [20]])
    >>> row_influence(single_linkage(), X, n_clusters=2).top(1)  # the outlier is a cluster
    array([7])
    """
    check_measure(measure)
    check_count("n_clusters", n_clusters)
    check_checkpoint(checkpoint, random_state)
    n_processes = check_n_jobs(n_jobs)
    plan = build_plan(
        clusterer, X, n_clusters=int(n_clusters), delete=1, perturb=None, trials="all", repeats=repeats,
        coupling="same_seed", random_state=random_state,
    )  # fmt: skip
    plan = plan.limit_to(trials)
    measured = measure_plan(plan, measure, n_processes, progress, checkpoint, per_row=True)
    result = measured.result
    values = result.values[0, 0]
    present = np.isfinite(values)
    return RowInfluence(
        influence=_ratio(np.where(present, values, 0.0).sum(axis=1), present.sum(axis=1)),
        unrest=_ratio(measured.moved, measured.compared),
        measure=measure,
        floor=float(result.floor[0]),
        complete=result.complete,
        note=result.note,
    )


def _ratio(total: NDArray[Any], count: NDArray[np.int64]) -> Numbers:
    ratio: Numbers = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return ratio
