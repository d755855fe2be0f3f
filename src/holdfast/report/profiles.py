"""What the rows of a segment have in common: means, fractions of categories, and a rule.

A node is a cluster of some cut, given by the last clusters that it consists of; see `segments`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import keyed_sample
from holdfast.hierarchy.rules import Column, find_rule
from holdfast.report.inputs import Category, Inputs
from holdfast.report.page import list_numbers, round_number

__all__ = ["choose_columns", "describe_nodes"]

MIN_DESCRIBED = 5
"""Without rows on the page, smaller clusters are not described: their mean is nearly a row."""

_DISTINGUISHING = 3  # columns named for each cluster
_MIN_DIFFERENCE = 0.3  # standard deviations
_MAX_CATEGORIES = 3  # columns of categories shown
_MAX_LEVELS = 6  # categories named of a column
_RULE_ROWS = 3000
_MAX_CONDITIONS = 3

Rows = NDArray[np.float64]
Labels = NDArray[np.int32]
Node = NDArray[np.int64]


def describe_nodes(
    inputs: Inputs, last: Labels, nodes: Sequence[Node], columns: NDArray[np.int64]
) -> dict[str, Any]:
    """Describe every node, in the order of `nodes`.

    Parameters
    ----------
    inputs : Inputs
    last : ndarray of shape (n,), dtype int32
        Labels of the last cut.
    nodes : sequence of ndarray of int64
        Last clusters of each node.
    columns : ndarray of shape (c,), dtype int64
        Columns to show.
    """
    means = _Means(inputs.values, last, inputs.max_k)
    shown = inputs.show_rows
    return {
        "distinguishing": [means.distinguish(node, shown) for node in nodes],
        "profiles": [means.profile(node, columns, shown) for node in nodes],
        "categories": _describe_categories(inputs, last, nodes) if shown else [],
        "rules": _find_rules(inputs, last, nodes, columns) if shown else [None] * len(nodes),
        "min_described": None if shown else MIN_DESCRIBED,
    }


def choose_columns(inputs: Inputs, labels: Labels, most: int) -> NDArray[np.int64]:
    """Choose the columns whose means differ most between clusters, in their own order.

    Columns of categories take the place of others.

    Parameters
    ----------
    inputs : Inputs
    labels : ndarray of shape (n,), dtype int32
    most : int

    Returns
    -------
    ndarray of shape (min(d, most),), dtype int64
    """
    d = inputs.values.shape[1]
    if inputs.show_rows:
        most -= min(len(inputs.categories), _MAX_CATEGORIES)
    if d <= most:
        return np.arange(d)
    n_clusters = int(labels.max()) + 1
    means = _Means(inputs.values, labels, n_clusters)
    between = np.zeros(d)
    for cluster in range(n_clusters):
        node = np.array([cluster])
        between += means.sizes[cluster] * means.differences(node) ** 2
    return np.sort(np.argsort(-between, kind="stable")[:most])


class _Means:
    """Means of columns in any union of last clusters, from one pass over the rows.

    Parameters
    ----------
    values : ndarray of shape (n, d), dtype float64
        NaN where missing.
    labels : ndarray of shape (n,), dtype int32
    n_clusters : int
    """

    def __init__(self, values: Rows, labels: Labels, n_clusters: int) -> None:
        present = np.isfinite(values)
        known = np.where(present, values, 0.0)
        self.sizes = np.bincount(labels, minlength=n_clusters)
        self._sums = _sum_by_label(known, labels, n_clusters)
        self._counts = _sum_by_label(present, labels, n_clusters)
        everything = np.arange(n_clusters)
        self.mean = self.of(everything)
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

    def distinguish(self, node: Node, show_means: bool) -> list[list[Any]] | None:
        """List ``[column, difference, mean]`` of the columns that differ most."""
        if self._is_hidden(node, show_means):
            return None
        own, differences = self.of(node), self.differences(node)
        largest = np.argsort(-np.abs(differences), kind="stable")[:_DISTINGUISHING]
        return [
            [
                int(j),
                round(float(differences[j]), 2 if show_means else 1),
                self._shorten(own[j], j) if show_means else None,
            ]
            for j in largest
            if abs(differences[j]) >= _MIN_DIFFERENCE
        ]

    def profile(
        self, node: Node, columns: NDArray[np.int64], show_means: bool
    ) -> dict[str, Any] | None:
        """Give differences and means of the columns shown."""
        if self._is_hidden(node, show_means):
            return None
        own = self.of(node)
        differences = self.differences(node)[columns].round(2 if show_means else 1)
        return {
            "differences": list_numbers(differences),
            "means": [self._shorten(own[j], j) for j in columns] if show_means else None,
        }

    def _shorten(self, mean: float, j: int) -> float | int | None:
        """Round a mean to a tenth of the leading digit of the column's standard deviation."""
        if not (np.isfinite(mean) and self.deviation[j] > 0.0):
            return round_number(mean, 4)
        decimals = max(0, 1 - int(f"{self.deviation[j]:e}".partition("e")[2]))
        return round_number(round(float(mean), decimals) + 0.0, 12)

    def _is_hidden(self, node: Node, show_means: bool) -> bool:
        return not show_means and int(self.sizes[node].sum()) < MIN_DESCRIBED


def _sum_by_label(values: NDArray[Any], labels: Labels, n_clusters: int) -> Rows:
    sums = [np.bincount(labels, weights=column, minlength=n_clusters) for column in values.T]
    return np.stack(sums, axis=1)


@dataclass(frozen=True, eq=False)
class _Fractions:
    """Fractions of the most frequent categories of one column.

    Attributes
    ----------
    name : str
    levels : tuple of str
        The most frequent first.
    n_others : int
        Number of other categories.
    counts : ndarray of shape (n_clusters, n_levels + 1), dtype int64
        The last is the number of rows with another category.
    """

    name: str
    levels: tuple[str, ...]
    n_others: int
    counts: NDArray[np.int64]

    def of(self, node: Node) -> Rows:
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


def _count_levels(category: Category, last: Labels, n_clusters: int) -> _Fractions:
    n_levels = len(category.levels)
    flat = np.bincount(last * n_levels + category.codes, minlength=n_clusters * n_levels)
    counts = flat.reshape(n_clusters, n_levels)
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    named, others = order[:_MAX_LEVELS], order[_MAX_LEVELS:]
    rest = counts[:, others].sum(axis=1, keepdims=True)
    return _Fractions(
        category.name,
        tuple(category.levels[i] for i in named),
        others.size,
        np.hstack((counts[:, named], rest)),
    )


def _describe_categories(
    inputs: Inputs, last: Labels, nodes: Sequence[Node]
) -> list[dict[str, Any]]:
    """Give the fractions of categories in every node, for the columns that differ most."""
    counted = [_count_levels(category, last, inputs.max_k) for category in inputs.categories]
    counted.sort(key=lambda column: -column.difference)
    return [
        {
            "name": column.name,
            "levels": list(column.levels),
            "n_others": column.n_others,
            "fractions": [list_numbers(column.of(node)[:-1], 3) for node in nodes],
        }
        for column in counted[:_MAX_CATEGORIES]
    ]


def _find_rules(
    inputs: Inputs, last: Labels, nodes: Sequence[Node], columns: NDArray[np.int64]
) -> list[dict[str, Any] | None]:
    """Find a rule for every node on a sample of the rows, in the columns shown."""
    sample = keyed_sample(inputs.rows, _RULE_ROWS, inputs.seed, "report: rules")
    values = inputs.values[np.ix_(sample, columns)]
    known = np.isfinite(values)
    middle = [np.median(v[k]) if k.any() else 0.0 for v, k in zip(values.T, known.T, strict=True)]
    values = np.where(known, values, np.array(middle))
    described = [Column(inputs.names[j]) for j in columns]
    weight, keys = np.ones(sample.size), np.zeros(sample.size, dtype=np.uint64)
    found: list[dict[str, Any] | None] = []
    for node in nodes:
        inside = np.isin(last[sample], node)
        if not inside.any() or inside.all():
            found.append(None)
            continue
        rule = find_rule(values, weight, inside, described, keys, _MAX_CONDITIONS, halves=0)
        found.append(
            {
                "text": str(rule),
                "coverage": round_number(rule.coverage, 3),
                "others": round_number(rule.others, 3),
            }
            if rule.conditions
            else None
        )
    return found
