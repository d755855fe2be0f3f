"""The protocol that every clusterer follows."""

from __future__ import annotations  # short names in help()

from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike, NDArray

__all__ = ["Clusterer", "Cuttable", "Rows"]

Rows = NDArray[Any]
"""A two-dimensional array of numbers, one row per point."""


class Cuttable(Protocol):
    """The result of a fit."""

    def cut(self, k: int, /) -> ArrayLike:
        """Labels of the partition into k clusters, one per row: integers or strings."""
        ...


@runtime_checkable
class Clusterer(Protocol):
    """Rows and a seed -> something to cut.

    Attributes
    ----------
    name : str
        Name in tables and figures.
    randomized : bool
        Whether the seed matters. If not, one repeat is enough.
    hierarchical : bool
        Whether one fit serves every k. If not, `cut` fits when it is called.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def randomized(self) -> bool: ...  # noqa: D102

    @property
    def hierarchical(self) -> bool: ...  # noqa: D102

    def fit(self, X: Rows, seed: int) -> Cuttable:
        """Cluster the rows of `X`; `seed` is from 0 to 2^32 - 1."""
        ...
