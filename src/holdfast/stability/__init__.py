"""How much a clustering moves when rows come and go, for any clusterer.

Data flow: arguments -> `plan` (what is fitted, validated, keyed) -> `trials` (perturb, fit, cut,
compare; scheduled over processes, stored in a checkpoint) -> `measures` (one matching of clusters)
-> `result` (means, errors, tables, pictures). `influence`, `clusters`, `suggest` and `tune` ask the
same flow other questions; `match` uses the same matching to carry names over.
"""

from holdfast.stability.blocks import Failure
from holdfast.stability.clusters import ClusterStability, cluster_stability
from holdfast.stability.influence import RowInfluence, row_influence
from holdfast.stability.match import match_labels
from holdfast.stability.measures import MEASURES, clustering_distance
from holdfast.stability.perturb import Add, Bootstrap, Delete, Jitter, Perturbation, Replace
from holdfast.stability.result import SensitivityResult
from holdfast.stability.sensitivity import average_sensitivity, cost_by_seed, mean_cost
from holdfast.stability.suggest import Suggestion, suggest_k
from holdfast.stability.tune import EpsilonSearch, tune_epsilon

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
    "mean_cost",
    "row_influence",
    "suggest_k",
    "tune_epsilon",
]
