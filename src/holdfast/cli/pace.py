"""How long work will take, from the same work on fewer rows."""

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.clusterers import Clusterer
    from holdfast.estimator import HierarchicalKMedian

__all__ = ["expect_fit_seconds", "expect_seconds", "share_work", "tell_share"]

Tell = Callable[[float, float], None]

_FEW, _SMALL, _LARGE = 1 / 256, 1 / 32, 1 / 8
_WORTH_KNOWING = 2.0  # seconds; below, no bar is shown
_LEAST_ROWS = 256
_MANY_ROWS = 2000  # from which trying a method on all rows takes too long
_TREE_SHARE = 50
_TREE_VALUES = 1_000_000  # rows times columns; below, trees take less than two seconds


def expect_seconds(work: Callable[[float], object]) -> float:
    """Guess how long ``work(1.0)`` takes, where ``work(s)`` does the share s of it.

    Two small shares tell what grows with the share and what with its square.
    """
    _time(work, _FEW)  # loads or compiles what all need
    few, small = _time(work, _FEW), _time(work, _SMALL)
    first = max(small - few, 0.0) / (_SMALL - _FEW)
    if first / _SMALL < _WORTH_KNOWING:
        return small + first  # short in any case
    large = _time(work, _LARGE)
    slope = max(large - small, 0.0) / (_LARGE - _SMALL)
    bend = max(slope - first, 0.0) / (_LARGE - _FEW)
    # The parabola through the three, or the line through the last two where it bends down.
    return large + (slope + bend * (1.0 - _SMALL)) * (1.0 - _LARGE)


def expect_fit_seconds(
    estimator: "HierarchicalKMedian", rows: "NDArray[np.float64]"
) -> float | None:
    """Guess how long a fit takes; None where rows are so few that no bar will show."""
    from sklearn.base import clone

    n_rows = rows.shape[0]

    def fit(share: float, **changed: Any) -> None:
        sample = rows[:: round(1 / share)]
        most = estimator.max_centers
        most = most if most is None else max(1, min(most, sample.shape[0]))
        clone(estimator).set_params(n_clusters=1, max_centers=most, **changed).fit(sample)

    if estimator.method == "tree":
        if rows.size < _TREE_VALUES:
            return None
        fit(1 / n_rows)
        seconds = _time(fit, 1 / _TREE_SHARE)
        return seconds * _TREE_SHARE * math.log(n_rows) / math.log(n_rows / _TREE_SHARE)
    if n_rows < _LEAST_ROWS:
        return None
    return expect_seconds(fit)


def share_work(
    methods: "dict[str, Callable[[], Any]]",
    rows: "NDArray[np.float64]",
    ks: tuple[int, ...],
    repeats: int | None,
    tell: Tell,
) -> dict[str, tuple[float, float]]:
    """Try each method, to tell how much of an audit of all is done before it and after it.

    Without `repeats`, which nobody gives where no bar is shown, all count alike.
    """
    from holdfast.clusterers import as_clusterer

    efforts = []
    for number, construct in enumerate(methods.values()):
        effort = 1.0
        if repeats is not None:
            clusterer = as_clusterer(construct(), max_clusters=max(ks))
            effort = _time_fit(clusterer, rows, ks)
            effort *= repeats if clusterer.randomized else 1
        efforts.append(effort)
        tell(number + 1, len(methods))
    whole = max(sum(efforts), 1e-9)
    ends = [sum(efforts[: i + 1]) / whole for i in range(len(efforts))]
    return dict(zip(methods, zip([0.0, *ends], ends, strict=False), strict=True))


def tell_share(
    tell: Tell, start: float, end: float, what: str, done: float, total: float | None
) -> None:
    """Tell how far the whole is, where a part of it, from `start` to `end`, is so far."""
    tell(start + (end - start) * done / max(total or 1.0, 1.0), 1.0)


def _time_fit(clusterer: "Clusterer", rows: "NDArray[np.float64]", ks: tuple[int, ...]) -> float:
    """Seconds of a fit and its cuts; of many rows, guessed from fewer."""

    def work(share: float) -> None:
        sample = rows[:: round(1 / share)]
        try:
            fitted = clusterer.fit(sample, 0)
            for k in ks:
                fitted.cut(min(k, sample.shape[0]))
        except (RuntimeError, MemoryError, ValueError):
            pass  # told when it is measured

    if rows.shape[0] >= _MANY_ROWS:
        return expect_seconds(work)
    work(_SMALL)
    return _time(work, 1.0)


def _time(work: Callable[[float], object], share: float) -> float:
    start = time.monotonic()
    work(share)
    return time.monotonic() - start
