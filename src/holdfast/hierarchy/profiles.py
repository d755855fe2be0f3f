"""Rows and labels -> what the rows of each cluster have in common: means, fractions of categories.

A node is a union of clusters, given by their labels: a cluster of a coarser cut, or all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.hierarchy.rules import Column

__all__ = ["OTHER", "Category", "Fractions", "Means", "group_columns", "label_level", "rank_levels"]

Rows = NDArray[np.float64]
Labels = NDArray[np.int32]
Node = NDArray[np.int64]

_MISSING = "(missing)"
OTHER = "(other)"
"""Stands for all levels that have no column of their own."""


class Means:
    """Means of columns in any node, from one pass over the rows.

    Parameters
    ----------
    values : ndarray of shape (n, d), dtype float64
        NaN where missing.
    labels : ndarray of shape (n,), dtype int32
    n_clusters : int

    Attributes
    ----------
    sizes : ndarray of shape (n_clusters,), dtype int64
    mean, deviation : ndarray of shape (d,), dtype float64
        Of all rows.
    """

    def __init__(self, values: Rows, labels: Labels, n_clusters: int) -> None:
        present = np.isfinite(values)
        known = np.where(present, values, 0.0)
        self.sizes = np.bincount(labels, minlength=n_clusters)
        self._sums = _sum_by_label(known, labels, n_clusters)
        self._counts = _sum_by_label(present, labels, n_clusters)
        self.mean = self.of(np.arange(n_clusters))
        away = np.where(present, values - self.mean, 0.0)
        with np.errstate(invalid="ignore"):
            self.deviation = np.sqrt((away**2).sum(axis=0) / self._counts.sum(axis=0))

    def of(self, node: Node) -> Rows:
        """Return the mean of the values that are present; NaN where none is."""
        total, count = self._sums[node].sum(axis=0), self._counts[node].sum(axis=0)
        mean: Rows = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return mean

    def differences(self, node: Node) -> Rows:
        """Return the difference to the mean of all rows, in standard deviations; 0 if unknown."""
        own = self.of(node)
        known = (self.deviation > 0.0) & np.isfinite(own)
        away: Rows = np.divide(own - self.mean, self.deviation, out=np.zeros_like(own), where=known)
        return away

    def rank_columns(self) -> NDArray[np.int64]:
        """Return all columns, those whose means differ most between clusters first."""
        between = np.zeros(self.mean.size)
        for cluster, size in enumerate(self.sizes):
            between += size * self.differences(np.array([cluster])) ** 2
        return np.argsort(-between, kind="stable")


def _sum_by_label(values: NDArray[Any], labels: Labels, n_clusters: int) -> Rows:
    sums = [np.bincount(labels, weights=column, minlength=n_clusters) for column in values.T]
    return np.stack(sums, axis=1)


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories.

    Attributes
    ----------
    name : str
    levels : tuple of str
        Its different values.
    codes : ndarray of shape (n,), dtype int64
        Number of each row's value in `levels`.
    is_clustered : bool
        Whether the rows were clustered by it.
    """

    name: str
    levels: tuple[str, ...]
    codes: NDArray[np.int64]
    is_clustered: bool = False


@dataclass(frozen=True, eq=False)
class Fractions:
    """Counts of the levels of a category in each cluster.

    Attributes
    ----------
    counts : ndarray of shape (n_clusters, n_levels), dtype int64
    """

    counts: NDArray[np.int64]

    @classmethod
    def count(cls, category: Category, labels: Labels, n_clusters: int) -> "Fractions":
        """Count the levels of each cluster."""
        n_levels = len(category.levels)
        flat = np.bincount(labels * n_levels + category.codes, minlength=n_clusters * n_levels)
        return cls(flat.reshape(n_clusters, n_levels))

    def of(self, node: Node) -> Rows:
        """Return the fraction of each level in a node."""
        counts = self.counts[node].sum(axis=0)
        fractions: Rows = counts / max(1, counts.sum())
        return fractions

    @property
    def difference(self) -> float:
        """How much the clusters differ: the mean distance of their fractions from those of all."""
        overall = self.of(np.arange(len(self.counts)))
        sizes = self.counts.sum(axis=1)
        away = [np.abs(self.of(np.array([t])) - overall).sum() for t in range(len(sizes))]
        return float(np.average(away, weights=sizes))


def group_columns(
    columns: Sequence[Column], values: Rows
) -> tuple[NDArray[np.int64], tuple[Category, ...]]:
    """Tell numbers from indicators, and put the indicators of one category together.

    Parameters
    ----------
    columns : sequence of Column
    values : ndarray of shape (n, d), dtype float64
        In the units of the table: indicators are 0 or 1.

    Returns
    -------
    numbers : ndarray of shape (n_numbers,), dtype int64
        Numbers of the columns that are no indicators.
    categories : tuple of Category
    """
    indicators: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        if column.category is not None:
            indicators.setdefault(column.name, []).append(j)
    numbers = [j for j, column in enumerate(columns) if column.category is None]
    found = (
        _join_indicators(name, [columns[j].category or "" for j in where], values[:, where])
        for name, where in indicators.items()
    )
    return np.array(numbers, dtype=np.int64), tuple(found)


def _join_indicators(name: str, levels: list[str], values: Rows) -> Category:
    """Make one column of indicators; a row without any has what they do not mention."""
    has_any = (values > 0.5).any(axis=1)
    if levels == [_MISSING]:  # marks the gaps of a number, which has a column of that name
        name, levels = label_level(name, _MISSING), ["yes"]
    rest = "false" if "true" in levels else "no" if levels == ["yes"] else OTHER
    if rest not in levels and not has_any.all():
        levels = [*levels, rest]
    without = levels.index(rest) if rest in levels else 0
    codes = np.where(has_any, np.nan_to_num(values).argmax(axis=1), without)
    return Category(name, tuple(levels), codes, is_clustered=True)


def label_level(name: str, level: str) -> str:
    """Name a level together with its column, such as ``speed missing`` or ``engine: Turbo-fan``."""
    if level == _MISSING:
        return f"{name} missing"
    return f"{name}: {level}"


def rank_levels(levels: Sequence[str], fractions: Sequence[float]) -> list[int]:
    """Return levels, the most frequent first; rare levels together only if most rows have them."""

    def key(i: int) -> tuple[bool, float]:
        return levels[i] == OTHER and fractions[i] < 0.5, -fractions[i]

    return sorted(range(len(levels)), key=key)
