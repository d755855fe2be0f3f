"""Name and draw -> rows: data sets of the paper, and its synthetic instances."""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.datasets import (
    DATASETS,
    load_dataset,
    make_clnss_instance,
    make_growing_line,
    prepare_dataset,
)

__all__ = ["Input", "InputSource", "is_synthetic", "title_of"]

_SYNTHETIC = ("line", "clnss", "regression")
_TITLES = {
    "iris": "Iris", "wine": "Wine", "wholesale": "Wholesale", "diabetes": "Diabetes",
    "wdbc": "WDBC", "digits": "Digits", "yeast": "Yeast", "yeast_mulan": "Yeast (2417 rows)",
    "line": "growing line", "clnss": "CLNSS instance", "regression": "regression data",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Input:
    """Rows to cluster.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float64
    root_box : tuple or None
        The cube for which a synthetic instance is made.
    target : ndarray or None
    """

    X: NDArray[np.float64]
    root_box: tuple[NDArray[np.float64], float] | None = None
    target: NDArray[Any] | None = None

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell rows apart."""
        return hashlib.sha256(np.ascontiguousarray(self.X).tobytes()).hexdigest()[:12]


@dataclass(frozen=True)
class InputSource:
    """Where rows come from, in every process.

    Attributes
    ----------
    data_dir : str or None
    raw : bool
        Whether data sets keep all their dimensions (standardised, without principal components).
    """

    data_dir: str | None = None
    raw: bool = False

    def load(self, name: str, draw: int = 0) -> Input:
        """Load a data set, or make an instance such as "line-50"; each is made once a process.

        Raises
        ------
        DatasetNotAvailable
        """
        return _load(name, draw, self.data_dir or os.environ.get("HOLDFAST_DATA"), self.raw)


def is_synthetic(name: str) -> bool:
    """Whether rows are made rather than loaded."""
    return name.partition("-")[0] in _SYNTHETIC


def title_of(name: str) -> str:
    """Name of a data set in figures."""
    return _TITLES[name.partition("-")[0]]


@lru_cache(maxsize=64)
def _load(name: str, draw: int, data_dir: str | None, raw: bool) -> Input:
    if name in DATASETS:
        if not raw:
            dataset = load_dataset(name, data_dir=data_dir)
        else:
            dataset = prepare_dataset(
                load_dataset(name, data_dir=data_dir, prepared=False), reduce_dimensions=False
            )
        return Input(dataset.X, target=dataset.target)
    what, _, size = name.partition("-")
    if what not in _SYNTHETIC or not size.isdigit():
        raise ValueError(
            f"data must be one of {', '.join(DATASETS)}, or line-N, clnss-N, regression-N with a "
            f"number of rows; got {name!r}."
        )
    return _make(what, int(size), draw)


def _make(what: str, n_rows: int, draw: int) -> Input:
    if what == "line":
        return Input(make_growing_line(n_rows, random_state=draw))
    if what == "clnss":
        instance = make_clnss_instance(round((n_rows - 2) / 3), random_state=draw)
        return Input(instance.rows, instance.root_box)
    from sklearn.datasets import make_regression
    from sklearn.preprocessing import StandardScaler

    X, _ = make_regression(n_samples=n_rows, n_features=3, noise=0.1, random_state=draw)
    return Input(np.ascontiguousarray(StandardScaler().fit_transform(X)))
