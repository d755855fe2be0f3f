"""Name -> the raw rows of a data set, and proof that they are the right ones.

Five sets come with scikit-learn. The others are looked for in a local folder, then on OpenML
(through scikit-learn, which keeps what it fetched). Whatever the source, the SHA-256 of the rows'
content is compared with the one recorded here: a copy that differs is refused, never used.
"""

import csv
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATA_VARIABLE", "SOURCES", "DatasetNotAvailable", "RawRows", "Source", "read_raw"]

DATA_VARIABLE = "HOLDFAST_DATA"
"""Environment variable that names the folder with the files of data sets."""

_OPENML_ERRORS = (OSError, ValueError, KeyError)  # no network, a bad cache, no such data set

Rows = NDArray[np.float64]


class DatasetNotAvailable(RuntimeError):
    """A data set is neither in a local folder nor to be had from OpenML, or is not the right one."""


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows as their source has them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float64
    target : ndarray of shape (n_rows,) or None
        What the source says about each row: integers for classes, numbers for a regression.
    origin : str
        Where the rows came from.
    """

    X: Rows
    target: NDArray[Any] | None
    origin: str


@dataclass(frozen=True)
class Source:
    """Where a data set comes from and what is in it.

    Attributes
    ----------
    title : str
    shape : tuple of (int, int)
        Rows and columns of the features.
    sha256 : str
        Of the features: little-endian doubles, row by row.
    sklearn_loader : str
        Function of `sklearn.datasets`; "" where there is none.
    first, last : str
        First and last feature column of the CSV file `<name>.csv`.
    target : str
        Its target column; "" for none.
    openml_id : int
        Number of the data set on OpenML; 0 for none.
    """

    title: str
    shape: tuple[int, int]
    sha256: str
    sklearn_loader: str = ""
    first: str = ""
    last: str = ""
    target: str = ""
    openml_id: int = 0


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "iris": Source(
            "Iris",
            (150, 4),
            "012f498fe9c8b3b34212c3c5d98e1f03f2f79931cd49349beb1bad64dcf164a7",
            "load_iris",
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
            first="Fresh",
            last="Delicassen",
            target="Channel",
            openml_id=1511,
        ),
        "diabetes": Source(
            "Diabetes",
            (442, 10),
            "6b93b2556c8942c79d8374838768047adf9d1f4044510b9f948ddace62567d75",
            "load_diabetes",
        ),
        "wdbc": Source(
            "Breast cancer (WDBC)",
            (569, 30),
            "6b202a2072f9a0385f405a8f8605b1b06f6f36ae6d23d9cd6cbbc0974a416bc7",
            "load_breast_cancer",
        ),
        "digits": Source(
            "Digits",
            (1797, 64),
            "20def7f70a702f0af9732fbba4375e147a7d54fe70d8c45569b8e7c1c7010c10",
            "load_digits",
        ),
        "yeast": Source(
            "Yeast (UCI)",
            (1484, 8),
            "5c055cf5aa327c411397153c508b0a78e32fa56797d60159e2f64482a1b20f4d",
            first="mcg",
            last="nuc",
            target="class",
            openml_id=181,
        ),
        "yeast_mulan": Source(
            "Yeast (Mulan)",
            (2417, 103),
            "6d73f6e26d7c2671ad5790bfa654afe441d06b47fb5f5beb83e431851d126fee",
            first="Att1",
            last="Att103",
            openml_id=40597,
        ),
    }
)
"""All data sets by name."""


def read_raw(name: str, data_dir: str | os.PathLike[str] | None, download: bool) -> RawRows:
    """Find the rows of a data set and check that they are the right ones."""
    source = SOURCES[name]
    if source.sklearn_loader:
        return _read_sklearn(source)
    folder = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    tried = []
    if folder:
        path = Path(folder) / f"{name}.csv"
        if path.is_file():
            return _read_csv(path, source)
        tried.append(f"{path} is not there")
    else:
        tried.append(f"neither data_dir nor the environment variable {DATA_VARIABLE} is set")
    if download:
        try:
            return _read_openml(source)
        except _OPENML_ERRORS as error:
            tried.append(f"OpenML could not be read ({type(error).__name__}: {error})")
    raise DatasetNotAvailable(
        f"the data set {name!r} ({source.title}) is not at hand: {'; '.join(tried)}. Put {name}.csv "
        f"(a header, then {source.shape[0]} rows with the columns {source.first} to {source.last}) "
        f"into a folder and name it by data_dir or {DATA_VARIABLE}, or go online once: scikit-learn "
        f"fetches data set {source.openml_id} from OpenML and keeps it."
    )


def digest_rows(X: Rows) -> str:
    """SHA-256 of the values, as little-endian doubles, row by row."""
    return hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes()).hexdigest()


def _check(X: Rows, source: Source, origin: str) -> Rows:
    found = digest_rows(X)
    if X.shape != source.shape or found != source.sha256:
        raise DatasetNotAvailable(
            f"{origin} does not hold the data set {source.title}: expected {source.shape[0]} x "
            f"{source.shape[1]} values with SHA-256 {source.sha256}, got {X.shape[0]} x "
            f"{X.shape[1]} with {found}. Replace it by an unchanged copy, rows in their order."
        )
    return X


def _read_sklearn(source: Source) -> RawRows:
    datasets: Any = import_module("sklearn.datasets")
    scaled = {"scaled": False} if source.sklearn_loader == "load_diabetes" else {}
    bunch = getattr(datasets, source.sklearn_loader)(**scaled)
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    return RawRows(_check(X, source, "scikit-learn"), np.asarray(bunch.target), "scikit-learn")


def _read_csv(path: Path, source: Source) -> RawRows:
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    try:
        features = slice(header.index(source.first), header.index(source.last) + 1)
        X = np.array([line[features] for line in lines], dtype=np.float64)
    except ValueError as error:
        raise DatasetNotAvailable(
            f"{path} does not hold the data set {source.title}: {error}. Expected a header and "
            f"numbers in the columns {source.first} to {source.last}."
        ) from None
    target = None
    if source.target in header:
        column = header.index(source.target)
        target = np.unique([line[column] for line in lines], return_inverse=True)[1]
    return RawRows(_check(X, source, str(path)), target, path.name)


def _read_openml(source: Source, fetch: Callable[..., Any] | None = None) -> RawRows:
    """Fetch from OpenML; the features are the columns whose content is the recorded one.

    Columns are not found by name: OpenML renames and reorders some, and the checksum knows better.
    Without a target: its coding differs from the file's.
    """
    if fetch is None:
        fetch = import_module("sklearn.datasets").fetch_openml
    with warnings.catch_warnings():
        # Of the retry: if that fails too, the error says all.
        warnings.filterwarnings("ignore", message="A network error occurred")
        bunch = fetch(
            data_id=source.openml_id,
            as_frame=False,
            target_column=None,
            parser="liac-arff",
            n_retries=1,  # the least that is taken
        )
    table = np.asarray(bunch.data, dtype=np.float64)
    width = source.shape[1]
    for first in range(table.shape[1] - width + 1):
        X = np.ascontiguousarray(table[:, first : first + width])
        if digest_rows(X) == source.sha256:
            return RawRows(X, None, f"OpenML, data set {source.openml_id}")
    raise ValueError(
        f"data set {source.openml_id} there has {table.shape[0]} x {table.shape[1]} values, but no "
        f"{width} columns with the SHA-256 {source.sha256}"
    )
