"""holdfast: hierarchical clustering that stays put.

The public names load on first use, so that ``import holdfast`` itself imports nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy

__all__ = ["HierarchicalKMedian", "Hierarchy", "__version__"]

_HOMES = {
    "HierarchicalKMedian": "holdfast.estimator",
    "Hierarchy": "holdfast.hierarchy",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("holdfast")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
