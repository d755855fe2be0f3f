"""Data to try claims on: the data sets of [LHBP25] and generators of its instances.

[LHBP25]: Li, He, Bai, Peng, *Average Sensitivity of Hierarchical k-Median Clustering*, ICML 2025.
"""

from holdfast_paper.datasets.instances import (
    BoxedRows,
    ClusteredRows,
    make_clnss_instance,
    make_growing_line,
    make_well_clusterable,
)
from holdfast_paper.datasets.load import (
    DATASETS,
    PAPER_DATASETS,
    Dataset,
    load_dataset,
    prepare_dataset,
)
from holdfast_paper.datasets.sources import DatasetNotAvailable

__all__ = [
    "DATASETS",
    "PAPER_DATASETS",
    "BoxedRows",
    "ClusteredRows",
    "Dataset",
    "DatasetNotAvailable",
    "load_dataset",
    "make_clnss_instance",
    "make_growing_line",
    "make_well_clusterable",
    "prepare_dataset",
]
