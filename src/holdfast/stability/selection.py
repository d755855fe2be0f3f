"""Parameters chosen by stability: the number of clusters, and epsilon."""

from __future__ import annotations  # short names in help()

import os
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from holdfast._machine.hash import seed_from
from holdfast._machine.jit import Floats
from holdfast._machine.work import Progress, ProgressOption
from holdfast.clusterers.adapt import check_rows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy.model import new_axes
from holdfast.parameters import check_integer
from holdfast.stability.measures import check_measure, mean_error
from holdfast.stability.plan import repeat_seeds
from holdfast.stability.result import AXIS_TITLES, SensitivityResult, format_value, html_table
from holdfast.stability.sensitivity import average_sensitivity, cost_by_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """Stability as a function of the number of clusters.

    Attributes
    ----------
    n_clusters : tuple of int
        The numbers of clusters that were tried, ascending.
    best : tuple of int
        Those that are locally most stable: neither neighbor moves less. The most stable first.
    clear : tuple of bool
        For each of `best`, whether it moves less than each neighbor by more than two standard
        errors of the difference (same trials, same seeds).
    result : SensitivityResult
    """

    n_clusters: tuple[int, ...]
    best: tuple[int, ...]
    clear: tuple[bool, ...]
    result: SensitivityResult

    @property
    def mean(self) -> Floats:
        """Average sensitivity for each number of clusters."""
        return np.asarray(self.result.mean[0])

    @property
    def standard_error(self) -> Floats:
        """Standard error of `mean`."""
        return np.asarray(self.result.standard_error[0])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw movement against the number of clusters; needs matplotlib."""
        axes = self.result.plot(ax)
        chosen = np.isin(self.n_clusters, self.best)
        axes.plot(
            np.asarray(self.n_clusters)[chosen], self.mean[chosen], linestyle="none", marker="o",
            markersize=11, fillstyle="none", color="black", label="locally most stable",
        )  # fmt: skip
        axes.legend(frameon=False)
        return axes

    def __repr__(self) -> str:
        """Name the most stable numbers of clusters."""
        return f"Suggestion(best={self.best}, clear={self.clear}, tried={self.n_clusters})"

    def _repr_html_(self) -> str:
        clear = dict(zip(self.best, self.clear, strict=True))
        verdict = {None: "", False: "locally most stable", True: "clearly most stable"}
        measure = self.result.measure
        rows = [
            [str(k), format_value(measure, mean, error), verdict[clear.get(k)]]
            for k, mean, error in zip(self.n_clusters, self.mean, self.standard_error, strict=True)
        ]
        title = f"Stability of {self.result.clusterer} ({self.result.changes[0]})"
        return html_table(title, ("clusters", f"mean {measure} ± standard error", ""), rows)


def suggest_k(
    clusterer: Any,
    X: Any,
    n_clusters: ArrayLike = tuple(range(2, 17)),
    *,
    delete: float = 0.05,
    perturb: Any = None,
    trials: int = 50,
    repeats: int = 5,
    measure: str = "moved_fraction",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressOption = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Suggestion:
    """Find the numbers of clusters at which a clustering is locally most stable.

    Stability is not quality. It falls with the number of clusters for most data, so compare a
    number with its neighbors, not 2 with 16. If nothing stands out, `best` has only ends of the
    range or values that are not `clear`: the data then have no preferred number of clusters.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`. Hierarchical clusterers are fitted once for all numbers.
    X : array-like of shape (n_samples, n_features)
    n_clusters : sequence of int, default=2, ..., 16
    delete : int or float, default=0.05
        Rows to remove in each trial; ignored if `perturb` is given.
    perturb : Perturbation or callable, default=None
    trials, repeats, measure, n_jobs, random_state, progress, checkpoint
        As for `average_sensitivity`.

    Returns
    -------
    Suggestion
    """
    ks = tuple(sorted({*np.asarray(n_clusters).ravel().tolist()}))
    result = average_sensitivity(
        clusterer, X, n_clusters=ks, delete=None if perturb is not None else delete,
        perturb=perturb, trials=trials, repeats=repeats, measure=measure, n_jobs=n_jobs,
        random_state=random_state, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip
    return suggest_from(result)


def suggest_from(result: SensitivityResult) -> Suggestion:
    """Do as `suggest_k` with what `average_sensitivity` has measured for several k and one change."""
    if len(result.changes) > 1:
        raise ValueError(
            f"suggest_k needs one change; got {', '.join(result.changes)}. Call it for each."
        )
    ks = result.n_clusters
    minima = sorted(_local_minima(result.mean[0]), key=lambda j: result.mean[0, j])
    return Suggestion(
        n_clusters=ks,
        best=tuple(ks[j] for j in minima),
        clear=tuple(_is_clear(result, j) for j in minima),
        result=result,
    )


def _local_minima(mean: Floats) -> list[int]:
    """Positions with no smaller neighbor and at least one larger one."""
    around = [mean[_neighbors(j, mean.size)] for j in range(mean.size)]
    return [
        j
        for j, others in enumerate(around)
        if others.size == 0 or (others.min() >= mean[j] and others.max() > mean[j])
    ]


def _is_clear(result: SensitivityResult, j: int) -> bool:
    """Whether position j moves less than each neighbor by more than two standard errors."""
    values = result.values[0]
    found = (
        mean_error(values[i] - values[j], result.exhaustive)
        for i in _neighbors(j, len(result.n_clusters))
    )
    return all(difference.mean > 2.0 * difference.standard_error for difference in found)


def _neighbors(j: int, n: int) -> list[int]:
    return [i for i in (j - 1, j + 1) if 0 <= i < n]


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonSearch:
    """The values of epsilon that were tried, and the one that was chosen.

    Attributes
    ----------
    epsilon : float or None
        The chosen value; None if no value meets the target.
    target : {"sensitivity", "cost"}
    limit : float
        The largest allowed sensitivity or cost ratio.
    epsilons : ndarray of shape (n_tried,), dtype float64
        All values tried, ascending.
    sensitivity, standard_error : ndarray of shape (n_tried,), dtype float64
    cost : ndarray of shape (n_tried,), dtype float64
        k-median cost with the best medoid of each cluster, averaged over seeds.
    cost_ratio : ndarray of shape (n_tried,), dtype float64
        Ratio of `cost` to the cost with epsilon 0 and the same seeds.
    measure : str
    message : str
    """

    epsilon: float | None
    target: str
    limit: float
    epsilons: Floats
    sensitivity: Floats
    standard_error: Floats
    cost: Floats
    cost_ratio: Floats
    measure: str
    message: str

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw sensitivity (left) and cost ratio (right), the limit and the choice.

        Needs matplotlib.
        """
        axes: Axes = new_axes(ax)
        right = axes.twinx()
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 2}
        axes.errorbar(self.epsilons, self.sensitivity, self.standard_error, color="C0", **style)
        right.errorbar(self.epsilons, self.cost_ratio, color="C1", **style)
        goal = axes if self.target == "sensitivity" else right
        goal.axhline(self.limit, linestyle="--", color="0.4", linewidth=1.0)
        if self.epsilon is not None:
            axes.axvline(self.epsilon, linestyle="--", color="0.4", linewidth=1.0)
        axes.set_xscale("log")
        axes.set_xlabel("epsilon")
        axes.set_ylabel(AXIS_TITLES[self.measure], color="C0")
        right.set_ylabel("k-median cost / greedy cost", color="C1")
        axes.set_title(self.message, loc="left", fontsize=9, wrap=True)
        return axes

    def __repr__(self) -> str:
        """Say what was found."""
        return f"EpsilonSearch({self.message})"


class _Point(NamedTuple):
    """What was measured for one value of epsilon."""

    epsilon: float
    sensitivity: float
    standard_error: float
    cost: float
    cost_ratio: float

    @classmethod
    def measured(
        cls, epsilon: float, result: SensitivityResult, cost: float, greedy: float
    ) -> _Point:
        """Relate the cost to that of epsilon 0."""
        moved, error = float(result.mean[0, 0]), float(result.standard_error[0, 0])
        # Rows at no more locations than clusters cost nothing, whatever epsilon is.
        ratio = cost / greedy if greedy > 0.0 else np.inf if cost > 0.0 else 1.0
        return cls(epsilon, moved, error, cost, ratio)


def tune_epsilon(
    clusterer: HierarchicalKMedian,
    X: ArrayLike,
    n_clusters: int,
    *,
    target_sensitivity: float | None = None,
    max_cost_ratio: float | None = None,
    epsilons: ArrayLike | None = None,
    refinements: int = 4,
    delete: float = 1,
    trials: Any = None,
    repeats: int = 10,
    measure: str = "moved_fraction",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressOption = False,
) -> EpsilonSearch:
    """Find the epsilon of `HierarchicalKMedian` that meets a limit on sensitivity or cost.

    With `target_sensitivity`, the cheapest value that moves little enough; with `max_cost_ratio`,
    the value that moves least among those that are cheap enough. `epsilons` are tried first. Then
    the interval between the best value and its neighbor beyond the limit is halved, on the
    logarithmic scale ([LHBP25], footnote). In theory, larger values move less and cost more.
    Measured curves need not be monotone, so look at the whole curve.

    Parameters
    ----------
    clusterer : HierarchicalKMedian
        Never changed. Its `epsilon`, `n_clusters` and `random_state` are replaced.
    X : array-like of shape (n_samples, n_features)
    n_clusters : int
    target_sensitivity : float, default=None
        The largest allowed average sensitivity, in `measure`. Pass this or `max_cost_ratio`.
    max_cost_ratio : float, default=None
        The largest allowed k-median cost, as a multiple of the cost with epsilon 0.
    epsilons : array-like, default=None
        The values to try first. None means 12 from 0.01 to 1000, in equal ratios.
    refinements : int, default=4
        How often the interval is halved.
    delete : int or float, default=1
        Rows to remove in each trial.
    trials : int, "all" or None, default=None
        None means "all" if that needs no refits (``method="tree"``, ``delete=1``), otherwise 100.
    repeats, measure, n_jobs, random_state
        As for `average_sensitivity`. All values of epsilon share trials and seeds.
    progress : bool or callable, default=False
        As for `average_sensitivity`, counting values of epsilon.

    Returns
    -------
    EpsilonSearch
        `epsilon` is None if no value meets the target. Means are compared, not ends of intervals:
        look at `standard_error`, or ask for a little less than you need.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import HierarchicalKMedian, tune_epsilon
    >>> X = np.random.RandomState(0).normal(size=(60, 2))
    >>> model = HierarchicalKMedian(method="tree")
    >>> search = tune_epsilon(model, X, n_clusters=4, target_sensitivity=0.4, repeats=3)
    >>> search.epsilon in search.epsilons
    True
    """
    check_measure(measure)
    check_integer("n_clusters", n_clusters)
    check_integer("repeats", repeats)
    rows, first = check_rows(X), _check_epsilons(epsilons)
    target, limit = _check_target(clusterer, target_sensitivity, max_cost_ratio)
    seeds = repeat_seeds(seed := seed_from(random_state), repeats)
    if trials is None:
        trials = "all" if clusterer.method == "tree" and delete == 1 else 100

    def cost_of(model: HierarchicalKMedian) -> float:
        costs = cost_by_seed(model, rows, n_clusters=n_clusters, seeds=seeds)
        return float(costs.mean(axis=0)[0])

    def try_value(epsilon: float) -> _Point:
        model = clone(clusterer).set_params(epsilon=epsilon)
        result = average_sensitivity(
            model, rows, n_clusters=n_clusters, delete=delete, trials=trials, repeats=repeats,
            measure=measure, n_jobs=n_jobs, random_state=seed, progress=shown.part(),
        )  # fmt: skip
        shown.advance(1)
        return _Point.measured(epsilon, result, cost_of(model), greedy)

    with Progress(progress, len(first) + refinements, "values of epsilon") as shown:
        greedy = cost_of(clone(clusterer).set_params(epsilon=0.0))
        points = [try_value(epsilon) for epsilon in first]
        chosen = _search(points, target, limit, try_value, refinements)
    return _summarize(sorted(points), chosen, target, limit, measure)


def _limited(target: str) -> Callable[[_Point], float]:
    """Return a function that gives the quantity that has a limit."""
    return attrgetter("sensitivity" if target == "sensitivity" else "cost_ratio")


def _search(
    points: list[_Point],
    target: str,
    limit: float,
    try_value: Callable[[float], _Point],
    refinements: int,
) -> _Point | None:
    """Choose a point, then halve the interval to the next one that fails; `points` grows."""
    limited = _limited(target)
    # Where the other quantity falls: small epsilons cost less, large ones move less.
    direction = -1 if target == "sensitivity" else 1

    def rank(point: _Point) -> tuple[float, float]:
        other = point.cost if target == "sensitivity" else point.sensitivity
        return other, -direction * point.epsilon

    def choose() -> _Point | None:
        return min((point for point in points if limited(point) <= limit), key=rank, default=None)

    chosen = choose()
    beyond = -1 if chosen is None else points.index(chosen) + direction
    if chosen is None or not 0 <= beyond < len(points) or limited(points[beyond]) <= limit:
        return chosen
    good, bad = chosen.epsilon, points[beyond].epsilon
    for _ in range(refinements):
        points.append(middle := try_value(float(np.sqrt(good * bad))))
        if limited(middle) <= limit:
            good = middle.epsilon
        else:
            bad = middle.epsilon
    return choose()


def _summarize(
    points: list[_Point], chosen: _Point | None, target: str, limit: float, measure: str
) -> EpsilonSearch:
    limited = _limited(target)
    what = f"{measure} sensitivity" if target == "sensitivity" else "cost ratio"
    if chosen is None:
        best = min(points, key=limited)
        message = (
            f"no epsilon from {points[0].epsilon:.4g} to {points[-1].epsilon:.4g} has a {what} of at "
            f"most {limit:.4g}; the smallest is {limited(best):.4g}, at epsilon {best.epsilon:.4g}"
        )
    else:
        value = f"a {what} of {limited(chosen):.4g}"
        message = f"epsilon {chosen.epsilon:.4g} has {value}, at most {limit:.4g}"
    epsilon = None if chosen is None else chosen.epsilon
    tried, moved, error, cost, ratio = np.array(points).T
    return EpsilonSearch(epsilon, target, limit, tried, moved, error, cost, ratio, measure, message)


def _check_target(
    clusterer: Any, sensitivity: float | None, cost_ratio: float | None
) -> tuple[str, float]:
    if not isinstance(clusterer, HierarchicalKMedian):
        raise TypeError(
            f"clusterer must be a HierarchicalKMedian, which has an epsilon to tune; got "
            f"{type(clusterer).__name__}."
        )
    if sensitivity is not None and cost_ratio is None:
        if not 0.0 <= sensitivity < np.inf:
            raise ValueError(f"target_sensitivity must be at least 0; got {sensitivity!r}.")
        return "sensitivity", float(sensitivity)
    if cost_ratio is not None and sensitivity is None:
        if not 0.0 < cost_ratio < np.inf:
            raise ValueError(f"max_cost_ratio must be positive, such as 1.1; got {cost_ratio!r}.")
        return "cost", float(cost_ratio)
    raise ValueError("pass either target_sensitivity or max_cost_ratio.")


def _check_epsilons(epsilons: ArrayLike | None) -> list[float]:
    if epsilons is None:
        return [float(epsilon) for epsilon in np.geomspace(0.01, 1000.0, 12)]
    tried = np.unique(np.asarray(epsilons, dtype=np.float64))
    if tried.size == 0 or not (np.isfinite(tried) & (tried > 0.0)).all():
        raise ValueError(f"epsilons must be positive numbers; got {epsilons!r}.")
    return [float(epsilon) for epsilon in tried]
