"""How far the making of a report is: for whoever waits."""

import time
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from holdfast.clusterers import Clusterer

__all__ = ["Course", "Notify", "weigh_methods"]

Notify = Callable[[str, float, float], None]

_FEW_ROWS = 32


class Course:
    """Parts that follow each other, each a share of the whole by its weight.

    Parameters
    ----------
    notify : callable
        Called with what is being done, and how much of how much is done.
    """

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._weights: dict[str, float] = {}
        self._now: tuple[str, float, float] = ("", 0.0, 0.0)

    def plan(self, weights: dict[str, float]) -> None:
        """Say which parts there will be, in their order."""
        self._weights = weights

    def start(self, what: str) -> None:
        """Go on to a part of the plan."""
        names = list(self._weights)
        before = sum(self._weights[name] for name in names[: names.index(what)])
        self._now = (what, before, self._weights[what])
        self.tell("", 0.0, 1.0)

    def tell(self, _: str, done: float, total: float | None) -> None:
        """Say how far the part is."""
        what, before, weight = self._now
        self._notify(
            what, before + weight * done / max(total or 0.0, 1.0), sum(self._weights.values())
        )


def weigh_methods(
    methods: dict[str, Clusterer], rows: NDArray[np.float64], ks: Iterable[int]
) -> dict[str, float]:
    """Seconds of one fit of each method, its cuts included."""
    weights = {}
    for name, clusterer in methods.items():
        start = time.monotonic()
        try:
            clusterer.fit(rows[:_FEW_ROWS], 0).cut(1)  # loads or compiles what it needs
            start = time.monotonic()
            fitted = clusterer.fit(rows, 0)
            for k in ks:
                fitted.cut(k)
        except (RuntimeError, MemoryError, ValueError):
            pass  # told when it is measured
        weights[name] = time.monotonic() - start
    return weights
