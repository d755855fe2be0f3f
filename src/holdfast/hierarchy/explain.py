"""What clusters have in common, and why rows are where they are.

Rows and labels -> means and fractions of categories in each cluster; rules for clusters and splits; the
boundaries around a row. A node is a union of clusters, given by their labels: a cluster of a coarser
cut, or all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.hierarchy.model import Hierarchy
from holdfast.hierarchy.rules import MAX_RULES, Column, Rule, find_rules, sample_rows

if TYPE_CHECKING:
    import pandas as pd


Rows = NDArray[np.float64]
Labels = NDArray[np.int32]
Node = NDArray[np.int64]

_MISSING = "(missing)"
OTHER = "(other)"
"""Stands for all levels that have no column of their own."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Rules for the clusters of one cut, and for the splits that led to it.

    Attributes
    ----------
    rules : tuple of tuple of Rule
        The rules of cluster t tell it from all other rows, the best first.
    splits : tuple of Rule
        Rule t - 1 tells cluster t, when it was split off, from the rest of cluster `parent[t]`.
    parent : ndarray of shape (n_clusters,), dtype int32
    sizes : ndarray of shape (n_clusters,), dtype int64
    n_sampled : int
        Number of rows that the rules were found on. Tables of more than 2^20 values are sampled.
    """

    rules: tuple[tuple[Rule, ...], ...]
    splits: tuple[Rule, ...]
    parent: Labels
    sizes: Node
    n_sampled: int

    @property
    def clusters(self) -> tuple[Rule, ...]:
        """The best rule of each cluster."""
        return tuple(rules[0] for rules in self.rules)

    def lines(self) -> list[str]:
        """One sentence for each rule of a cluster: rule, coverage and the fraction of other rows."""
        return [
            f"{rule}: {rule.coverage:.0%} of cluster {t}, {rule.others:.0%} of the others"
            for t, rules in enumerate(self.rules)
            for rule in rules
        ]

    def to_frame(self) -> "pd.DataFrame":
        """One row for each rule of a cluster or split; needs pandas.

        Columns: kind ("cluster" or "split"), cluster, number (of the rule, from 1), parent (-1 for
        clusters), rows, rule, precision, coverage, others, stability.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas.") from error
        return pd.DataFrame(self.records())

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of `to_frame` as dictionaries."""
        named = [
            ("cluster", t, number, -1, rule)
            for t, rules in enumerate(self.rules)
            for number, rule in enumerate(rules, start=1)
        ]
        named += [
            ("split", t, 1, int(self.parent[t]), rule)
            for t, rule in enumerate(self.splits, start=1)
        ]
        return [
            {
                "kind": kind,
                "cluster": t,
                "number": number,
                "parent": parent,
                "rows": int(self.sizes[t]),
                "rule": str(rule),
                "precision": rule.precision,
                "coverage": rule.coverage,
                "others": rule.others,
                "stability": rule.stability,
            }
            for kind, t, number, parent, rule in named
        ]

    def __repr__(self) -> str:
        """List the rules of the clusters."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        names = ("cluster", "rows", "rule", "of the cluster", "of the others", "stability")
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(
            f"<tr><td>{t}</td><td>{self.sizes[t]:,}</td><td>{escape(str(rule))}</td>"
            f"<td>{rule.coverage:.0%}</td><td>{rule.others:.0%}</td><td>{rule.stability:.2f}</td></tr>"
            for t, rules in enumerate(self.rules)
            for rule in rules
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Boundary:
    """One split that a row passed on the way to its cluster.

    Attributes
    ----------
    split : int
        The cluster that was split off.
    moved : bool
        Whether the row went into that cluster.
    distance : float
        Distance from the row to the boundary, in prepared units.
    neighbor : int
        The cluster that the row would be in on the other side of the boundary.
    columns : tuple of str
        The columns that decide most, the most important first.
    parts : tuple of float
        What each of them adds to the distance. Negative: it pulls the row to the other side.
    """

    split: int
    moved: bool
    distance: float
    neighbor: int
    columns: tuple[str, ...]
    parts: tuple[float, ...]

    def __str__(self) -> str:
        """Describe the boundary in one sentence."""
        by = ", ".join(
            f"{name} {part:+.3g}" for name, part in zip(self.columns, self.parts, strict=True)
        )
        return f"{self.distance:.3g} from cluster {self.neighbor} ({by})"


@dataclass(frozen=True, repr=False)
class RowExplanation:
    """Why a row is in its cluster, and how far the boundaries are.

    Attributes
    ----------
    cluster : int
    boundaries : tuple of Boundary
        In the order of the splits.
    """

    cluster: int
    boundaries: tuple[Boundary, ...]

    @property
    def nearest(self) -> Boundary | None:
        """The closest boundary; None if there is only one cluster."""
        return min(self.boundaries, key=lambda b: b.distance, default=None)

    def __repr__(self) -> str:
        """List the boundaries, the nearest first."""
        ordered = sorted(self.boundaries, key=lambda b: b.distance)
        return "\n".join([f"cluster {self.cluster}", *(f"  {boundary}" for boundary in ordered)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def explain_clusters(
    hierarchy: Hierarchy,
    X: Rows,
    weight: Rows,
    n_clusters: int,
    columns: Sequence[Column],
    seed: int,
    max_conditions: int,
    max_rules: int = MAX_RULES,
) -> Explanation:
    """Find rules for each cluster of a cut of the rows `X`, and one for each split that led to it."""
    chosen, keys = sample_rows(X, seed)
    rows, mass = np.asarray(X[chosen], dtype=np.float64), weight[chosen]
    labels = hierarchy.cut(n_clusters)[chosen]
    clusters = [
        find_rules(rows, mass, labels == t, columns, keys, max_conditions, max_rules)
        for t in range(n_clusters)
    ]
    splits = []
    for t in range(1, n_clusters):
        before = hierarchy.cut(t + 1)[chosen]
        here = (before == t) | (before == hierarchy.parent[t])
        inside = before[here] == t
        splits.append(
            find_rules(rows[here], mass[here], inside, columns, keys[here], max_conditions, 1)[0]
        )
    parent, sizes = hierarchy.parent[:n_clusters], hierarchy.sizes(n_clusters)
    return Explanation(tuple(clusters), tuple(splits), parent, sizes, int(chosen.size))


def explain_row(
    hierarchy: Hierarchy, row: Rows, n_clusters: int, names: Sequence[str], top: int = 3
) -> RowExplanation:
    """Find the planes that a row passed, and how far each is; name `top` columns for each."""
    planes = getattr(hierarchy.locator, "boundaries", None)
    if planes is None and hierarchy._ends_at_level:
        raise ValueError(
            "A single row cannot be explained after polish or follow: the boundaries between clusters "
            "are no longer splits. A lineage says why a row moved; `explain` describes the clusters."
        )
    if planes is None:
        raise ValueError(
            "The boundaries of this hierarchy are not planes, so a single row cannot be explained. "
            'Use method="means", or method="medoids" with the Euclidean or cosine distance.'
        )
    cluster = int(hierarchy.predict(row[None, :], n_clusters)[0])
    found = []
    for plane in planes(row, n_clusters):
        length = float(np.sqrt((plane.normal * plane.normal).sum()))
        parts = (plane.row - plane.point) * plane.normal / length
        signed = float(parts.sum())
        across = plane.row - signed * (1.0 + 2.0**-20) * plane.normal / length
        neighbor = int(hierarchy.predict(across[None, :], n_clusters)[0])
        towards = parts if signed > 0.0 else -parts
        order = np.argsort(-np.abs(towards), kind="stable")[:top]
        decide = tuple(names[j] for j in order), tuple(float(towards[j]) for j in order)
        found.append(Boundary(plane.split, signed > 0.0, abs(signed), neighbor, *decide))
    return RowExplanation(cluster, tuple(found))


class Means:
    """Means of columns in any node, without missing values (NaN), and in all rows."""

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
        return np.asarray(
            np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        )

    def differences(self, node: Node) -> Rows:
        """Return the difference to the mean of all rows, in standard deviations; 0 if unknown."""
        own = self.of(node)
        known = (self.deviation > 0.0) & np.isfinite(own)
        return np.asarray(
            np.divide(own - self.mean, self.deviation, out=np.zeros_like(own), where=known)
        )

    def rank_columns(self) -> Node:
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
    """A column of categories."""

    name: str
    levels: tuple[str, ...]  # its different values
    codes: Node  # (n,): number of each row's value in `levels`


@dataclass(frozen=True, eq=False)
class Fractions:
    """Counts of the levels of a category in each cluster."""

    counts: Node  # (n_clusters, n_levels)

    @classmethod
    def count(cls, category: Category, labels: Labels, n_clusters: int) -> "Fractions":
        """Count the levels of each cluster."""
        n_levels = len(category.levels)
        flat = np.bincount(labels * n_levels + category.codes, minlength=n_clusters * n_levels)
        return cls(flat.reshape(n_clusters, n_levels))

    def of(self, node: Node) -> Rows:
        """Return the fraction of each level in a node."""
        counts = self.counts[node].sum(axis=0)
        return np.asarray(counts / max(1, counts.sum()))

    @property
    def difference(self) -> float:
        """How much the clusters differ: the mean distance of their fractions from those of all."""
        overall = self.of(np.arange(len(self.counts)))
        sizes = self.counts.sum(axis=1)
        away = [np.abs(self.of(np.array([t])) - overall).sum() for t in range(len(sizes))]
        return float(np.average(away, weights=sizes))


def group_columns(columns: Sequence[Column], values: Rows) -> tuple[Node, tuple[Category, ...]]:
    """Return the numbers of columns that are no 0/1 indicators, and categories of the others."""
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
    return Category(name, tuple(levels), codes)


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
