"""The ways to fit that the laws run over.

A law that holds for every clusterer of holdfast is parametrised over `CONFIGURATIONS`, for both
costs.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from models import build_model

from holdfast import HierarchicalKMedian

EPSILONS = (0.0, 0.1, 1.0, 10.0, math.inf)


@dataclass(frozen=True)
class Configuration:
    """Parameters of an estimator, under a name for test reports."""

    name: str
    parameters: dict[str, Any] = field(hash=False)

    def estimator(self, n_clusters: int = 1, **more: Any) -> HierarchicalKMedian:
        """Build an estimator that is not fitted yet."""
        return build_model(n_clusters, **{**self.parameters, **more})

    @property
    def is_tree(self) -> bool:
        return self.parameters.get("method", "tree") == "tree"

    def __str__(self) -> str:
        return self.name


def _configurations() -> list[Configuration]:
    found = [Configuration(f"tree-{epsilon:g}", {"epsilon": epsilon}) for epsilon in EPSILONS]
    found += [
        Configuration(f"tree-{epsilon:g}-unshifted", {"epsilon": epsilon, "random_shift": False})
        for epsilon in (0.0, 1.0)
    ]
    found.append(Configuration("tree-seeded", {"epsilon": 1.0, "random_state": 2**40}))
    whole = {"method": "medoids", "max_centers": "all"}
    found += [
        Configuration(f"medoids-{epsilon:g}", {**whole, "epsilon": epsilon})
        for epsilon in (0.0, 0.05, 1.0, math.inf)
    ]
    found.append(
        Configuration("medoids-manhattan", {**whole, "epsilon": 0.05, "metric": "manhattan"})
    )
    found += [
        Configuration(f"means-{epsilon:g}", {**whole, "method": "means", "epsilon": epsilon})
        for epsilon in (0.0, 0.01, math.inf)
    ]
    return found


CONFIGURATIONS = _configurations()
