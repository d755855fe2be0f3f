"""load_dataset: name -> rows, raw or prepared as the experiments of [LHBP25] prepare them.

Five sets come with scikit-learn. The others are looked for in a local folder, then on OpenML
(through scikit-learn, which caches them). Whatever the source, the SHA-256 of the rows is compared
with the one recorded here: a copy that differs is refused.
"""

import csv
import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]

DATA_VARIABLE = "HOLDFAST_DATA"
"""Environment variable that names the folder with the CSV files."""

_OPENML_ERRORS = (OSError, ValueError, KeyError)  # no network, a bad cache, no such data set


class DatasetNotAvailable(RuntimeError):
    """A data set is neither in a local folder nor on OpenML, or its content is wrong."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, what is in it, and how the experiments prepare it.

    Attributes
    ----------
    title : str
    shape : tuple of (int, int)
        Rows and columns of the features.
    sha256 : str
        Of the features: little-endian doubles, row by row.
    sklearn_loader : str
        Function of `sklearn.datasets`; "" where there is none.
    columns : tuple of (str, str)
        First and last feature column of the CSV file `<name>.csv`.
    target : str
        Its target column; "" for none.
    openml_id : int
        Number of the data set on OpenML; 0 for none.
    drop_duplicates : bool
        Whether only the first of equal rows is kept.
    n_components : int
        Principal components kept after standardizing; 0 keeps the columns.
    """

    title: str
    shape: tuple[int, int]
    sha256: str
    sklearn_loader: str = ""
    columns: tuple[str, str] = ("", "")
    target: str = ""
    openml_id: int = 0
    drop_duplicates: bool = False
    n_components: int = 0


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "iris": Source(
            "Iris",
            (150, 4),
            "012f498fe9c8b3b34212c3c5d98e1f03f2f79931cd49349beb1bad64dcf164a7",
            "load_iris",
            drop_duplicates=True,
        ),
        "wine": Source(
            "Wine",
            (178, 13),
            "8edcf3903afd97c64d51e0212eb10b213f7943da650574d1c055b836c5c35d37",
            "load_wine",
        ),
        "wholesale": Source(
            "Wholesale customers",
            (440, 6),
            "bcf891b401958204d4d7a7178c4b0a78f3a6e41565ddb17472cc633ee550fb1a",
            columns=("Fresh", "Delicassen"),
            target="Channel",
            openml_id=1511,
            n_components=3,
        ),
        "diabetes": Source(
            "Diabetes",
            (442, 10),
            "6b93b2556c8942c79d8374838768047adf9d1f4044510b9f948ddace62567d75",
            "load_diabetes",
            n_components=3,
        ),
        "wdbc": Source(
            "Breast cancer (WDBC)",
            (569, 30),
            "6b202a2072f9a0385f405a8f8605b1b06f6f36ae6d23d9cd6cbbc0974a416bc7",
            "load_breast_cancer",
            n_components=3,
        ),
        "digits": Source(
            "Digits",
            (1797, 64),
            "20def7f70a702f0af9732fbba4375e147a7d54fe70d8c45569b8e7c1c7010c10",
            "load_digits",
            n_components=3,
        ),
        "yeast": Source(
            "Yeast (UCI)",
            (1484, 8),
            "5c055cf5aa327c411397153c508b0a78e32fa56797d60159e2f64482a1b20f4d",
            columns=("mcg", "nuc"),
            target="class",
            openml_id=181,
            drop_duplicates=True,
        ),
        # The paper's text reduces it like the other large sets; its scripts do not use it.
        "yeast_mulan": Source(
            "Yeast (Mulan)",
            (2417, 103),
            "6d73f6e26d7c2671ad5790bfa654afe441d06b47fb5f5beb83e431851d126fee",
            columns=("Att1", "Att103"),
            openml_id=40597,
            drop_duplicates=True,
            n_components=3,
        ),
    }
)

DATASETS = tuple(SOURCES)
"""All data sets that can be loaded."""

PAPER_DATASETS = ("iris", "wine", "wholesale", "diabetes", "wdbc", "digits", "yeast")
"""The seven data sets of the experiments of [LHBP25], by number of rows."""


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
        Integers for classes, numbers for a regression; None where the source has no target.
    description : str
        Where the rows came from and how they were prepared.
    """

    name: str
    title: str
    X: Rows
    target: NDArray[Any] | None
    description: str


def load_dataset(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    prepared: bool = True,
    download: bool = True,
) -> Dataset:
    """Load a data set of the experiments of [LHBP25]_.

    Iris, Wine, Diabetes, WDBC and Digits come with scikit-learn. The others are read from
    ``<name>.csv`` in a folder, else downloaded from OpenML. The content is checked by SHA-256.

    Parameters
    ----------
    name : str
        One of `DATASETS`: "iris", "wine", "wholesale" (spending in six categories), "diabetes",
        "wdbc", "digits", "yeast" (UCI, 1484 x 8) or "yeast_mulan" (2417 x 103).
    data_dir : path, default=None
        Folder with the CSV files; None uses the one named by the environment variable
        HOLDFAST_DATA.
    prepared : bool, default=True
        Whether to prepare the rows as the paper's experiments do: standardized; Iris and Yeast
        without repeated rows; Wholesale, Diabetes, WDBC and Digits reduced to three principal
        components. False returns the rows as they are.
    download : bool, default=True
        Whether to ask OpenML for what no folder has.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotAvailable
        If the data set cannot be found, or its content is not the expected one.

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
    raw = read_raw(name, data_dir, download)
    return prepare_dataset(raw) if prepared else raw


def prepare_dataset(dataset: Dataset, *, reduce_dimensions: bool = True) -> Dataset:
    """Prepare raw rows as the experiments of [LHBP25] do.

    Parameters
    ----------
    dataset : Dataset
        Raw, from `load_dataset` with ``prepared=False``.
    reduce_dimensions : bool, default=True
        False keeps all columns, standardized.

    Returns
    -------
    Dataset
    """
    # Here: scikit-learn's decompositions take a while to import.
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    source = SOURCES[dataset.name]
    X, target, done = dataset.X, dataset.target, []
    if source.drop_duplicates:
        first = np.sort(np.unique(X, axis=0, return_index=True)[1])
        X, target = X[first], None if target is None else target[first]
        done.append("repeated rows dropped")
    X = StandardScaler().fit_transform(X)
    done.append("standardized")
    if source.n_components and reduce_dimensions:
        X = PCA(source.n_components, svd_solver="full").fit_transform(X)
        done.append(f"reduced to {source.n_components} principal components")
    description = f"{dataset.description}; {', '.join(done)}"
    return replace(dataset, X=_freeze(X), target=target, description=description)


def read_raw(name: str, data_dir: str | os.PathLike[str] | None, download: bool) -> Dataset:
    """Find the rows of a data set and check their content."""
    source = SOURCES[name]
    if source.sklearn_loader:
        return _read_sklearn(name)
    folder = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    tried = []
    if folder:
        path = Path(folder) / f"{name}.csv"
        if path.is_file():
            return _read_csv(name, path)
        tried.append(f"{path} does not exist")
    else:
        tried.append(f"neither data_dir nor the environment variable {DATA_VARIABLE} is set")
    if download:
        try:
            return _read_openml(name)
        except _OPENML_ERRORS as error:
            tried.append(f"OpenML could not be read ({type(error).__name__}: {error})")
    first, last = source.columns
    raise DatasetNotAvailable(
        f"the data set {name!r} ({source.title}) was not found: {'; '.join(tried)}. Put {name}.csv "
        f"(a header, then {source.shape[0]} rows with the columns {first} to {last}) into a folder "
        f"and pass that folder as data_dir or {DATA_VARIABLE}; or go online once: scikit-learn "
        f"downloads data set {source.openml_id} from OpenML and caches it."
    )


def _digest_rows(X: Rows) -> str:
    """SHA-256 of the values, as little-endian doubles, row by row."""
    return hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes()).hexdigest()


def _freeze(X: Any) -> Rows:
    rows = np.array(X, dtype=np.float64, order="C")
    rows.flags.writeable = False
    return rows


def _build(name: str, X: Rows, target: NDArray[Any] | None, origin: str) -> Dataset:
    """Check the content of raw rows, and name them."""
    source, found = SOURCES[name], _digest_rows(X)
    if X.shape != source.shape or found != source.sha256:
        raise DatasetNotAvailable(
            f"{origin} does not hold the data set {source.title}: expected {source.shape[0]} x "
            f"{source.shape[1]} values with SHA-256 {source.sha256}, got {X.shape[0]} x "
            f"{X.shape[1]} with {found}. Replace it with an unchanged copy, rows in their order."
        )
    description = f"{source.title}, from {Path(origin).name}"
    return Dataset(name, source.title, _freeze(X), target, description)


def _read_sklearn(name: str) -> Dataset:
    loader = SOURCES[name].sklearn_loader
    scaled = {"scaled": False} if loader == "load_diabetes" else {}
    bunch = getattr(import_module("sklearn.datasets"), loader)(**scaled)
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    return _build(name, X, np.asarray(bunch.target), "scikit-learn")


def _read_csv(name: str, path: Path) -> Dataset:
    source = SOURCES[name]
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    first, last = source.columns
    try:
        features = slice(header.index(first), header.index(last) + 1)
        X = np.array([line[features] for line in lines], dtype=np.float64)
    except ValueError as error:
        raise DatasetNotAvailable(
            f"{path} does not hold the data set {source.title}: {error}. Expected a header and "
            f"numbers in the columns {first} to {last}."
        ) from None
    target = None
    if source.target in header:
        column = header.index(source.target)
        target = np.unique([line[column] for line in lines], return_inverse=True)[1]
    return _build(name, X, target, str(path))


def _read_openml(name: str) -> Dataset:
    """Download from OpenML; the features are the columns with the recorded content.

    Columns are not found by name: OpenML renames and reorders some. The target is left out: its
    coding differs from the file's.
    """
    source = SOURCES[name]
    with warnings.catch_warnings():
        # Of the retry: if that fails too, the error says all.
        warnings.filterwarnings("ignore", message="A network error occurred")
        bunch = import_module("sklearn.datasets").fetch_openml(
            data_id=source.openml_id,
            as_frame=False,
            target_column=None,
            parser="liac-arff",
            n_retries=1,  # the smallest number that is accepted
        )
    table = np.asarray(bunch.data, dtype=np.float64)
    width = source.shape[1]
    for first in range(table.shape[1] - width + 1):
        X = np.ascontiguousarray(table[:, first : first + width])
        if _digest_rows(X) == source.sha256:
            return _build(name, X, None, f"OpenML, data set {source.openml_id}")
    raise ValueError(
        f"data set {source.openml_id} there has {table.shape[0]} x {table.shape[1]} values, but no "
        f"{width} columns with the SHA-256 {source.sha256}"
    )
