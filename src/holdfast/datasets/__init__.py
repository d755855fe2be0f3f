"""Data to try claims on: generators of the instances of [LHBP25].

[LHBP25]: Li, He, Bai, Peng, *Average Sensitivity of Hierarchical k-Median Clustering*, ICML 2025.
"""

from holdfast.datasets.instances import (
    BoxedRows,
    ClusteredRows,
    make_clnss_instance,
    make_growing_line,
    make_well_clusterable,
)

__all__ = [
    "BoxedRows",
    "ClusteredRows",
    "make_clnss_instance",
    "make_growing_line",
    "make_well_clusterable",
]
