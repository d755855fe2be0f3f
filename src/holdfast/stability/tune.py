"""The epsilon that meets a target: the geometric search of [LHBP25]'s footnote."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from holdfast._machine.hash import seed_from
from holdfast._machine.progress import Progress, Shown
from holdfast.estimator import HierarchicalKMedian
from holdfast.stability.keys import repeat_seeds
from holdfast.stability.measures import check_measure
from holdfast.stability.plan import check_count, check_rows
from holdfast.stability.sensitivity import average_sensitivity, mean_cost

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EpsilonSearch", "tune_epsilon"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonSearch:
    """The curve that was searched and what was found on it.

    Attributes
    ----------
    epsilon : float or None
        The value chosen; None when no value tried meets the target, and `message` says so.
    target : {"sensitivity", "cost"}
    limit : float
        What sensitivity or cost ratio must not exceed.
    epsilons : ndarray of shape (n_tried,), dtype float64
        All values tried, ascending.
    sensitivity, standard_error : ndarray of shape (n_tried,), dtype float64
    cost : ndarray of shape (n_tried,), dtype float64
        k-median cost with the best medoid of each cluster, mean over seeds.
    cost_ratio : ndarray of shape (n_tried,), dtype float64
        Its ratio to that of greedy centers (epsilon 0) with the same seeds.
    measure : str
    message : str
    """

    epsilon: float | None
    target: str
    limit: float
    epsilons: Numbers
    sensitivity: Numbers
    standard_error: Numbers
    cost: Numbers
    cost_ratio: Numbers
    measure: str
    message: str

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw both curves, the target and the choice; needs matplotlib."""
        from holdfast.stability.draw import draw_search

        return draw_search(self, ax)

    def __repr__(self) -> str:
        """Say what was found."""
        return f"EpsilonSearch({self.message})"


@dataclass(frozen=True)
class _Point:
    epsilon: float
    sensitivity: float
    standard_error: float
    cost: float


@dataclass(frozen=True)
class _Goal:
    """A limit on one quantity; the other one is to be small."""

    target: str
    limit: float
    greedy: float

    @property
    def direction(self) -> int:
        """Where the other quantity falls: small epsilons cost less, large ones move less."""
        return -1 if self.target == "sensitivity" else 1

    def is_met(self, point: _Point) -> bool:
        if self.target == "sensitivity":
            return point.sensitivity <= self.limit
        return point.cost <= self.limit * self.greedy

    def choose(self, points: list[_Point]) -> _Point | None:
        """Best in the other quantity among those that meet the limit."""

        def rank(point: _Point) -> tuple[float, float]:
            other = point.cost if self.target == "sensitivity" else point.sensitivity
            return other, -self.direction * point.epsilon

        return min(filter(self.is_met, points), key=rank, default=None)


def tune_epsilon(
    clusterer: HierarchicalKMedian,
    X: ArrayLike,
    n_clusters: int,
    *,
    target_sensitivity: float | None = None,
    max_cost_ratio: float | None = None,
    epsilon_range: tuple[float, float] = (0.01, 1000.0),
    factor: float = 3.0,
    refinements: int = 4,
    delete: float = 1,
    trials: Any = None,
    repeats: int = 10,
    measure: str = "moved_fraction",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: Shown = False,
) -> EpsilonSearch:
    """Find the epsilon of `HierarchicalKMedian` for a sensitivity or a cost one can live with.

    For `target_sensitivity`, the cheapest value that moves little enough; for `max_cost_ratio`, the
    value that moves least among those that are cheap enough. A geometric grid is tried first; then
    the interval from the best value there to its neighbour beyond the limit is halved, in the
    logarithm. In theory larger values move less and cost more; measured curves need not be
    monotone (with the same seed on both sides, greedy centers often move least of all), so look at
    the whole curve.

    Parameters
    ----------
    clusterer : HierarchicalKMedian
        Never changed; all its parameters but `epsilon`, `n_clusters` and `random_state` count.
    X : array-like of shape (n_samples, n_features)
    n_clusters : int
    target_sensitivity : float, default=None
        The average sensitivity, in `measure`, not to be exceeded. This or `max_cost_ratio`.
    max_cost_ratio : float, default=None
        k-median cost not to be exceeded, as a multiple of that of greedy centers (epsilon 0).
    epsilon_range : tuple of float, default=(0.01, 1000.0)
        Smallest and largest value tried.
    factor : float, default=3.0
        Ratio of neighbouring values of the grid, at most.
    refinements : int, default=4
        How often the interval is halved.
    delete : int or float, default=1
    trials : int, "all" or None, default=None
        None is "all" where that needs no refits (``method="tree"``, ``delete=1``), otherwise 100.
    repeats, measure, n_jobs, random_state
        As for `average_sensitivity`. All values of epsilon share trials and seeds.
    progress : bool or callable, default=False
        Show the time left on standard error, from two seconds on. A function is called with the
        number of values tried and the most that will be instead.

    Returns
    -------
    EpsilonSearch
        `epsilon` is None where no value meets the target. Means are compared, not ends of
        intervals: look at `standard_error`, or ask for a little less than you need.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import HierarchicalKMedian, tune_epsilon
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> search = tune_epsilon(HierarchicalKMedian(), X, 4, target_sensitivity=0.4, repeats=3)
    >>> search.epsilon in search.epsilons
    True
    """
    check_measure(measure)
    check_count("n_clusters", n_clusters)
    check_count("repeats", repeats)
    rows = check_rows(X)
    target, limit = _check_target(target_sensitivity, max_cost_ratio)
    grid = _geometric_grid(epsilon_range, factor)
    if not isinstance(clusterer, HierarchicalKMedian):
        raise TypeError(
            f"clusterer must be a HierarchicalKMedian, which has an epsilon to tune; got "
            f"{type(clusterer).__name__}."
        )
    seed = seed_from(random_state)
    seeds = repeat_seeds(seed, repeats)
    if trials is None:
        trials = "all" if clusterer.method == "tree" and delete == 1 else 100

    def try_value(epsilon: float) -> _Point:
        candidate = clone(clusterer).set_params(epsilon=epsilon)
        result = average_sensitivity(
            candidate, rows, n_clusters=int(n_clusters), delete=delete, trials=trials, repeats=repeats,
            measure=measure, n_jobs=n_jobs, random_state=seed, progress=shown.part(),
        )  # fmt: skip
        cost = float(mean_cost(candidate, rows, n_clusters=n_clusters, seeds=seeds)[0])
        return _Point(epsilon, float(result.mean[0, 0]), float(result.standard_error[0, 0]), cost)

    no_noise = clone(clusterer).set_params(epsilon=0.0)
    greedy = float(mean_cost(no_noise, rows, n_clusters=n_clusters, seeds=seeds)[0])
    shown = Progress(progress, len(grid) + refinements, "values of epsilon")

    def try_and_count(epsilon: float) -> _Point:
        point = try_value(epsilon)
        shown.advance(1)
        return point

    try:
        points = [try_and_count(epsilon) for epsilon in grid]
        chosen = _search(points, _Goal(target, limit, greedy), try_and_count, refinements)
    finally:
        shown.close()
    return _describe_search(points, chosen, target, limit, greedy, measure)


def _search(
    points: list[_Point], goal: _Goal, try_value: Callable[[float], _Point], refinements: int
) -> _Point | None:
    """Choose among the points, then halve the interval to the next one that fails.

    `points` grows by what is tried.
    """
    chosen = goal.choose(points)
    if chosen is None:
        return None
    beyond = points.index(chosen) + goal.direction
    if not 0 <= beyond < len(points) or goal.is_met(points[beyond]):
        return chosen
    good, bad = chosen.epsilon, points[beyond].epsilon
    for _ in range(refinements):
        middle = try_value(float(np.sqrt(good * bad)))
        points.append(middle)
        if goal.is_met(middle):
            good = middle.epsilon
        else:
            bad = middle.epsilon
    return goal.choose(points)


def _describe_search(
    points: list[_Point],
    chosen: _Point | None,
    target: str,
    limit: float,
    greedy: float,
    measure: str,
) -> EpsilonSearch:
    points = sorted(points, key=lambda point: point.epsilon)
    cost = np.array([point.cost for point in points])
    sensitivity = np.array([point.sensitivity for point in points])
    # Rows on as few locations as clusters cost nothing, whatever epsilon is.
    ratio = cost / greedy if greedy > 0.0 else np.where(cost > 0.0, np.inf, 1.0)
    found = sensitivity if target == "sensitivity" else ratio
    what = f"{measure} sensitivity" if target == "sensitivity" else "cost ratio"
    if chosen is None:
        best = int(found.argmin())
        message = (
            f"no epsilon from {points[0].epsilon:.4g} to {points[-1].epsilon:.4g} has a {what} of "
            f"at most {limit:.4g}; the least is {found[best]:.4g}, at {points[best].epsilon:.4g}"
        )
    else:
        value = found[[point.epsilon for point in points].index(chosen.epsilon)]
        message = f"epsilon {chosen.epsilon:.4g} has a {what} of {value:.4g}, at most {limit:.4g}"
    return EpsilonSearch(
        epsilon=None if chosen is None else chosen.epsilon,
        target=target,
        limit=limit,
        epsilons=np.array([point.epsilon for point in points]),
        sensitivity=sensitivity,
        standard_error=np.array([point.standard_error for point in points]),
        cost=cost,
        cost_ratio=ratio,
        measure=measure,
        message=message,
    )


def _check_target(sensitivity: float | None, cost_ratio: float | None) -> tuple[str, float]:
    if (sensitivity is None) == (cost_ratio is None):
        raise ValueError("give target_sensitivity or max_cost_ratio, one of the two.")
    if sensitivity is not None:
        if not 0.0 <= sensitivity < np.inf:
            raise ValueError(f"target_sensitivity must be at least 0; got {sensitivity!r}.")
        return "sensitivity", float(sensitivity)
    assert cost_ratio is not None
    if not 0.0 < cost_ratio < np.inf:
        raise ValueError(f"max_cost_ratio must be positive, such as 1.1; got {cost_ratio!r}.")
    return "cost", float(cost_ratio)


def _geometric_grid(epsilon_range: tuple[float, float], factor: float) -> list[float]:
    low, high = epsilon_range
    if not 0.0 < low < high < np.inf:
        raise ValueError(
            f"epsilon_range must be two positive numbers, the smaller first; got {epsilon_range!r}."
        )
    if not 1.0 < factor < np.inf:
        raise ValueError(f"factor must be more than 1; got {factor!r}.")
    steps = int(np.ceil(np.log(high / low) / np.log(factor) - 1e-9))
    return [float(value) for value in np.geomspace(low, high, max(steps, 1) + 1)]
