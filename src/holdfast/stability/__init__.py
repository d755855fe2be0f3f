"""How much a clustering moves when rows are added or removed, for any clusterer.

Data flow: arguments -> `plan` (what to change and fit, validated, keyed) -> `trials` (perturb, fit,
cut, compare by the one matching of clusters), which `run` spreads over processes and stores in
checkpoints -> `result` (means, errors, tables, pictures). `sensitivity` is that flow; `inspection`
(rows, clusters, how sure each row is) and `selection` (number of clusters, epsilon) ask it other
questions. `deletions` gives all single deletions of the tree method without refits. `match` compares
two given clusterings.
"""

from holdfast.stability.inspection import (
    ClusterStability,
    RowInfluence,
    cluster_stability,
    membership,
    row_influence,
)
from holdfast.stability.match import match_labels
from holdfast.stability.measures import MEASURES, clustering_distance
from holdfast.stability.plan import Add, Bootstrap, Delete, Jitter, Perturbation, Replace
from holdfast.stability.result import SensitivityResult
from holdfast.stability.selection import EpsilonSearch, Suggestion, suggest_k, tune_epsilon
from holdfast.stability.sensitivity import average_sensitivity, cost_by_seed
from holdfast.stability.trials import Failure

__all__ = [
    "MEASURES",
    "Add",
    "Bootstrap",
    "ClusterStability",
    "Delete",
    "EpsilonSearch",
    "Failure",
    "Jitter",
    "Perturbation",
    "Replace",
    "RowInfluence",
    "SensitivityResult",
    "Suggestion",
    "average_sensitivity",
    "cluster_stability",
    "clustering_distance",
    "cost_by_seed",
    "match_labels",
    "membership",
    "row_influence",
    "suggest_k",
    "tune_epsilon",
]
