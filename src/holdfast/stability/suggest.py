"""Which numbers of clusters hold still."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.progress import Shown
from holdfast.stability.result import SensitivityResult
from holdfast.stability.sensitivity import average_sensitivity
from holdfast.stability.standard_error import mean_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Suggestion", "suggest_k"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """Stability against the number of clusters.

    Attributes
    ----------
    n_clusters : tuple of int
        What was tried, ascending.
    best : tuple of int
        The ks that are locally most stable: no neighbour moves less. Most stable first.
    clear : tuple of bool
        For each of `best`, whether it moves less than each neighbour by more than two standard
        errors of their difference (same trials, same seeds).
    result : SensitivityResult
    """

    n_clusters: tuple[int, ...]
    best: tuple[int, ...]
    clear: tuple[bool, ...]
    result: SensitivityResult

    @property
    def mean(self) -> Numbers:
        """Average sensitivity for each k."""
        mean: Numbers = self.result.mean[0]
        return mean

    @property
    def standard_error(self) -> Numbers:
        """Its standard error."""
        error: Numbers = self.result.standard_error[0]
        return error

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw stability against k, the locally most stable marked; needs matplotlib."""
        from holdfast.stability.draw import draw_suggestion

        return draw_suggestion(self, ax)

    def __repr__(self) -> str:
        """Name the ks."""
        return f"Suggestion(best={self.best}, clear={self.clear}, tried={self.n_clusters})"


def suggest_k(
    clusterer: Any,
    X: ArrayLike,
    n_clusters: ArrayLike = tuple(range(2, 17)),
    *,
    delete: float = 0.05,
    perturb: Any = None,
    trials: int = 50,
    repeats: int = 5,
    measure: str = "moved_fraction",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: Shown = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Suggestion:
    """Find the numbers of clusters at which a clustering is locally most stable.

    Stability is not quality, and it falls with k for most data: compare a k with its neighbours,
    not k = 2 with k = 16. Where nothing stands out, `best` holds ends of the range or ks that are
    not `clear`: then the data have no preferred number of clusters at these scales.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`. Hierarchical ones are fitted once for all k.
    X : array-like of shape (n_samples, n_features)
    n_clusters : sequence of int, default=2 .. 16
    delete : int or float, default=0.05
        Rows that go in each trial; not used where `perturb` is given.
    perturb : Perturbation or function, default=None
    trials, repeats, measure, n_jobs, random_state, progress, checkpoint
        As for `average_sensitivity`.

    Returns
    -------
    Suggestion

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import suggest_k
    >>> from holdfast.clusterers import ward_linkage
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(60, 2)) + 20 * np.repeat([[0, 0], [1, 0], [0, 1]], 20, axis=0)
    >>> 3 in suggest_k(ward_linkage(), X, range(2, 6), trials=10, n_jobs=1).best
    True
    """
    ks = tuple(sorted({*np.asarray(n_clusters).ravel().tolist()}))
    result = average_sensitivity(
        clusterer, X, n_clusters=ks, delete=None if perturb is not None else delete,
        perturb=perturb, trials=trials, repeats=repeats, measure=measure, n_jobs=n_jobs,
        random_state=random_state, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip
    if len(result.changes) > 1:
        raise ValueError("suggest_k compares ks under one kind of change; got several.")
    minima = _local_minima(result.mean[0])
    minima.sort(key=lambda j: result.mean[0, j])
    return Suggestion(
        n_clusters=ks,
        best=tuple(ks[j] for j in minima),
        clear=tuple(_is_clear(result, j) for j in minima),
        result=result,
    )


def _local_minima(mean: Numbers) -> list[int]:
    """Positions that no neighbour undercuts and at least one exceeds."""
    found = []
    for j, value in enumerate(mean):
        neighbours = _neighbours(j, mean.size)
        undercut = any(mean[i] < value for i in neighbours)
        if not undercut and (any(mean[i] > value for i in neighbours) or not neighbours):
            found.append(j)
    return found


def _is_clear(result: SensitivityResult, j: int) -> bool:
    for i in _neighbours(j, len(result.n_clusters)):
        difference = mean_error(result.values[0, i] - result.values[0, j], result.exhaustive)
        if not difference.mean > 2.0 * difference.standard_error:
            return False
    return True


def _neighbours(j: int, n: int) -> list[int]:
    return [i for i in (j - 1, j + 1) if 0 <= i < n]
