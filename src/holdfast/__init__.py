"""holdfast: hierarchical clustering that stays put.

Public names are loaded on first use, so ``import holdfast`` is fast.
"""

import gc
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.chunks import fit_chunks, predict_chunks
    from holdfast.estimator import HierarchicalKMedian, load
    from holdfast.hierarchy import Hierarchy
    from holdfast.hierarchy.cost import k_median_cost, k_median_cost_to
    from holdfast.lineage import Lineage
    from holdfast.report import build_report
    from holdfast.stability import (
        average_sensitivity,
        cluster_stability,
        clustering_distance,
        match_labels,
        membership,
        row_influence,
        suggest_k,
        tune_epsilon,
    )
    from holdfast.tables.preparer import TablePreparer

__all__ = [
    "HierarchicalKMedian",
    "Hierarchy",
    "Lineage",
    "TablePreparer",
    "__version__",
    "average_sensitivity",
    "build_report",
    "cluster_stability",
    "clustering_distance",
    "fit_chunks",
    "k_median_cost",
    "k_median_cost_to",
    "load",
    "match_labels",
    "membership",
    "predict_chunks",
    "row_influence",
    "suggest_k",
    "tune_epsilon",
]

_HOMES = {
    "HierarchicalKMedian": "holdfast.estimator",
    "Hierarchy": "holdfast.hierarchy",
    "Lineage": "holdfast.lineage",
    "TablePreparer": "holdfast.tables.preparer",
    "average_sensitivity": "holdfast.stability",
    "build_report": "holdfast.report",
    "cluster_stability": "holdfast.stability",
    "clustering_distance": "holdfast.stability",
    "fit_chunks": "holdfast.chunks",
    "k_median_cost": "holdfast.hierarchy.cost",
    "k_median_cost_to": "holdfast.hierarchy.cost",
    "load": "holdfast.estimator",
    "match_labels": "holdfast.stability",
    "membership": "holdfast.stability",
    "predict_chunks": "holdfast.chunks",
    "row_influence": "holdfast.stability",
    "suggest_k": "holdfast.stability",
    "tune_epsilon": "holdfast.stability",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("holdfast")
    if name in _HOMES:
        return getattr(_import_without_collecting(_HOMES[name]), name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")


def _import_without_collecting(module: str) -> ModuleType:
    """Import a module with the garbage collector disabled.

    scikit-learn and numba create hundreds of thousands of permanent objects. Searching them for
    garbage would delay the first result. Freezing and unfreezing moves
    them to the oldest generation, which the next collections skip.
    """
    if not gc.isenabled():
        return import_module(module)
    gc.disable()
    try:
        return import_module(module)
    finally:
        if not gc.get_freeze_count():  # otherwise, objects that the user froze would thaw
            gc.freeze()
            gc.unfreeze()
        gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
