"""The ways to fit that the laws run over.

A law that holds for every clusterer of holdfast is parametrised over `CONFIGURATIONS`; a new cost
joins all of them by being added to `COSTS`.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from holdfast import HierarchicalKMedian

COSTS = ("tree",)
EPSILONS = (0.0, 0.1, 1.0, 10.0, math.inf)


@dataclass(frozen=True)
class Configuration:
    """Parameters of an estimator, under a name for test reports."""

    name: str
    parameters: dict[str, Any] = field(hash=False)

    def estimator(self, n_clusters: int = 1, **more: Any) -> HierarchicalKMedian:
        """Build an estimator that is not fitted yet."""
        return HierarchicalKMedian(n_clusters, **{**self.parameters, **more})

    def __str__(self) -> str:
        return self.name


def _configurations() -> list[Configuration]:
    found = []
    for cost in COSTS:
        for epsilon in EPSILONS:
            found.append(Configuration(f"{cost}-{epsilon:g}", {"cost": cost, "epsilon": epsilon}))
        for epsilon in (0.0, 1.0):
            found.append(
                Configuration(
                    f"{cost}-{epsilon:g}-unshifted",
                    {"cost": cost, "epsilon": epsilon, "random_shift": False},
                )
            )
        found.append(
            Configuration(f"{cost}-seeded", {"cost": cost, "epsilon": 1.0, "random_state": 2**40})
        )
    return found


CONFIGURATIONS = _configurations()
