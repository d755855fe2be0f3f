"""load_dataset: name -> rows, raw or prepared as the experiments of [LHBP25] do it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.datasets.sources import SOURCES, read_raw

__all__ = [
    "DATASETS",
    "PAPER_DATASETS",
    "Dataset",
    "Preparation",
    "load_dataset",
    "prepare_dataset",
]

PAPER_DATASETS = ("iris", "wine", "wholesale", "diabetes", "wdbc", "digits", "yeast")
"""The seven data sets of the experiments of [LHBP25], by number of rows."""

DATASETS = tuple(SOURCES)
"""All data sets that can be loaded."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with a name.

    Attributes
    ----------
    name : str
    title : str
        For tables and figures.
    X : ndarray of shape (n_rows, n_features), dtype float64
        Read-only.
    target : ndarray of shape (n_rows,) or None
        What the source says about each row: integers for classes, numbers for a regression. None
        where the source has none.
    description : str
        Where the rows came from and what was done to them.
    """

    name: str
    title: str
    X: NDArray[np.float64]
    target: NDArray[Any] | None
    description: str


@dataclass(frozen=True)
class Preparation:
    """What the experiments of [LHBP25] do to a data set before they cluster it.

    Every column is standardised (mean 0, variance 1) besides.

    Attributes
    ----------
    drop_duplicates : bool
        Keep the first of equal rows.
    n_components : int
        Principal components kept after standardising; 0 keeps the columns.
    """

    drop_duplicates: bool = False
    n_components: int = 0


PREPARATIONS: Mapping[str, Preparation] = MappingProxyType(
    {
        "iris": Preparation(drop_duplicates=True),
        "wine": Preparation(),
        "wholesale": Preparation(n_components=3),
        "diabetes": Preparation(n_components=3),
        "wdbc": Preparation(n_components=3),
        "digits": Preparation(n_components=3),
        "yeast": Preparation(drop_duplicates=True),
        # Not in the released scripts: as its text says, reduced like the other large sets.
        "yeast_mulan": Preparation(drop_duplicates=True, n_components=3),
    }
)
"""For each data set, what `prepare_dataset` does."""


def load_dataset(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    prepared: bool = True,
    download: bool = True,
) -> Dataset:
    """Load a data set of the experiments of [LHBP25]_.

    Iris, Wine, Diabetes, WDBC and Digits come with scikit-learn. The others are read from
    ``<name>.csv`` in a folder, else fetched from OpenML. Content is checked by SHA-256, so the rows
    are the same wherever they come from.

    Parameters
    ----------
    name : str
        One of `DATASETS`: "iris", "wine", "wholesale" (spending in six categories), "diabetes",
        "wdbc", "digits", "yeast" (UCI, 1484 x 8) or "yeast_mulan" (2417 x 103).
    data_dir : path, default=None
        Folder with the CSV files; None takes the one that the environment variable HOLDFAST_DATA
        names.
    prepared : bool, default=True
        Whether to prepare the rows as the paper's experiments do: standardised; Iris and Yeast
        without repeated rows; Wholesale, Diabetes, WDBC and Digits reduced to three principal
        components. False gives the rows as they are.
    download : bool, default=True
        Whether to ask OpenML for what no folder has.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotAvailable
        When the set is not at hand, or its content is not the expected one. Never a substitute.

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> from holdfast_paper.datasets import load_dataset
    >>> load_dataset("wdbc").X.shape, load_dataset("wdbc", prepared=False).X.shape
    ((569, 3), (569, 30))
    """
    if name not in SOURCES:
        raise ValueError(f"name must be one of {', '.join(SOURCES)}; got {name!r}.")
    source = SOURCES[name]
    raw = read_raw(name, data_dir, download)
    X = raw.X.copy()
    X.flags.writeable = False
    dataset = Dataset(name, source.title, X, raw.target, f"{source.title}, from {raw.origin}")
    return prepare_dataset(dataset) if prepared else dataset


def prepare_dataset(dataset: Dataset, *, reduce_dimensions: bool = True) -> Dataset:
    """Prepare raw rows as the experiments of [LHBP25] do.

    Parameters
    ----------
    dataset : Dataset
        Raw, from `load_dataset` with ``prepared=False``.
    reduce_dimensions : bool, default=True
        False keeps all columns, standardised: holdfast needs no fewer.

    Returns
    -------
    Dataset
    """
    # Here: scikit-learn's decompositions take a while to import.
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    preparation = PREPARATIONS[dataset.name]
    X, target, done = dataset.X, dataset.target, []
    if preparation.drop_duplicates:
        first = np.sort(np.unique(X, axis=0, return_index=True)[1])
        X, target = X[first], None if target is None else target[first]
        done.append("repeated rows dropped")
    X = StandardScaler().fit_transform(X)
    done.append("standardised")
    if preparation.n_components and reduce_dimensions:
        X = PCA(preparation.n_components, svd_solver="full").fit_transform(X)
        done.append(f"reduced to {preparation.n_components} principal components")
    X = np.ascontiguousarray(X, dtype=np.float64)
    X.flags.writeable = False
    description = f"{dataset.description}; {', '.join(done)}"
    return replace(dataset, X=X, target=target, description=description)
