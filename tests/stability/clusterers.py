"""Small clusterers with a known behaviour, importable in worker processes."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def by_sign(X: Array, k: int, seed: int) -> NDArray[np.int64]:
    """Label each row by itself alone: other rows make no difference."""
    return (X[:, 0] > 0.0).astype(np.int64)


def constant(X: Array, k: int, seed: int) -> NDArray[np.int64]:
    """Put all rows into one cluster."""
    return np.zeros(X.shape[0], dtype=np.int64)


def by_rank(X: Array, k: int, seed: int) -> NDArray[np.int64]:
    """Cut the rows, sorted by their first column, into k equal parts, shifted by the seed."""
    rank = np.argsort(np.argsort(X[:, 0], kind="stable"), kind="stable")
    return (rank + seed % 3) * k // (X.shape[0] + 3)


def at_random(X: Array, k: int, seed: int) -> NDArray[np.int64]:
    """Label rows by their position, whatever they hold: moves a lot."""
    return np.random.RandomState(seed).randint(0, k, size=X.shape[0])


class ByQuantile:
    """An object with `fit` and `cut`; counts nothing, remembers the rows it was fitted on."""

    def fit(self, X: Array) -> "ByQuantile":
        self.rows = X
        return self

    def cut(self, k: int) -> NDArray[np.int64]:
        return by_rank(self.rows, k, 0)


def name_of(value: object) -> str:
    """Name of a clusterer or parameter for test ids: the same in every process."""
    for name in (getattr(value, "__name__", None), getattr(value, "name", None)):
        if isinstance(name, str):
            return name
    return str(value) if " at 0x" not in str(value) else type(value).__name__
