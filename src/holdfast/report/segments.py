"""The segments: every cut of the hierarchy, with a profile and the quality of each cluster.

A cluster changes only when it is split. So the cuts 1 .. K have 2K - 1 different clusters: node 0 is
all rows, and split t makes node 2t - 1 (what is left of the cluster it splits) and node 2t (the new
cluster t). The page finds the nodes of a cut from `parent` alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances, silhouette_samples

from holdfast._machine.hash import keyed_sample
from holdfast._machine.work import ProgressOption
from holdfast.clusterers.adapt import Rows as AnyRows
from holdfast.estimator import HierarchicalKMedian
from holdfast.hierarchy import Hierarchy
from holdfast.hierarchy.cost import cost_sample, k_median_cost
from holdfast.hierarchy.explain import OTHER, Category, Fractions, Means, rank_levels
from holdfast.hierarchy.rules import Rule, find_other_rule, find_rules
from holdfast.report.inputs import Inputs
from holdfast.report.page import DATE_DIGITS, list_numbers, round_number
from holdfast.stability import Bootstrap, average_sensitivity

MAX_COLUMNS = 12
"""Columns shown: those that differ most between clusters."""

MIN_DESCRIBED = 5
"""Without rows on the page, smaller clusters are not described: their mean is nearly a row."""

MAX_POINTS = 3000

_MAX_CATEGORIES = 3  # of the columns shown
_MAX_LEVELS = 3  # categories named of a column in a segment
_DISTINGUISHING = 3  # columns named for each segment
_MIN_DIFFERENCE = 0.3  # standard deviations
_RULE_ROWS = 3000
_MAX_CONDITIONS = 3
_LEAST_COVERAGE = 0.1  # of a segment, by rules after the first
_MAX_BOOTSTRAPPED_ROWS = 600_000  # in all bootstrap samples together
_MIN_BOOTSTRAPS = 3

Rows = NDArray[np.float64]
Labels = NDArray[np.int32]
Node = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shown:
    """The columns that the page shows."""

    numbers: NDArray[np.int64]  # of prepared columns, in their own order
    categories: tuple[Category, ...]  # the most different first
    for_rules: NDArray[np.int64]  # of prepared columns, indicators among them

    def describe_row(self, inputs: Inputs, row: int) -> dict[str, Any]:
        """List the values and the categories of a row."""
        return {
            "values": [_list_values(inputs, [row], j)[0] for j in self.numbers],
            "levels": [category.levels[category.codes[row]] for category in self.categories],
        }


def choose_columns(inputs: Inputs, labels: Labels) -> Shown:
    """Choose the columns that differ most between clusters."""
    k = int(labels.max()) + 1
    differences = [Fractions.count(c, labels, k).difference for c in inputs.categories]
    order = np.argsort(-np.array(differences), kind="stable")[:_MAX_CATEGORIES]
    categories = tuple(inputs.categories[i] for i in order) if inputs.show_rows else ()
    ranked = Means(inputs.values, labels, k).rank_columns()
    numbers = ranked[np.isin(ranked, inputs.numbers)][: MAX_COLUMNS - len(categories)]
    return Shown(np.sort(numbers), categories, np.sort(ranked[:MAX_COLUMNS]))


def summarise_segments(
    inputs: Inputs, hierarchy: Hierarchy, shown: Shown, named_rows: Node, progress: ProgressOption
) -> dict[str, Any]:
    """Summarise every cut; the scatter plot draws `named_rows`, which another part names."""
    centers = hierarchy.center_indices[: inputs.max_k]
    last = hierarchy.cut(inputs.max_k)
    nodes = _list_nodes(hierarchy.parent, inputs.max_k)
    points = listed = None
    if inputs.show_rows:
        points = _list_points(inputs, last, shown.numbers, np.union1d(centers, named_rows))
        listed = [{"row": int(row), **shown.describe_row(inputs, row)} for row in centers]
    costed = cost_sample(inputs.rows, inputs.seed)
    return {
        "k": inputs.k,
        "max_k": inputs.max_k,
        "parent": hierarchy.parent[: inputs.max_k].tolist(),
        "sizes": np.bincount(last, minlength=inputs.max_k).tolist(),
        "costs": list_numbers(
            _cut_costs(inputs.rows[costed], last[costed], nodes) * (last.size / costed.size)
        ),
        "cost_rows": int(costed.size),
        **_describe_nodes(inputs, last, nodes, shown),
        "stability": _bootstrap_clusters(inputs, progress),
        "stability_trials": count_bootstraps(inputs),
        **_measure_separation(inputs, hierarchy),
        "names": {},  # readers give them
        "centers": listed,
        "points": points,
    }


def count_bootstraps(inputs: Inputs) -> int:
    """Return how many bootstrap samples are drawn: fewer where rows are many."""
    affordable: int = _MAX_BOOTSTRAPPED_ROWS // inputs.rows.shape[0]
    return min(inputs.trials, max(_MIN_BOOTSTRAPS, affordable))


def _list_nodes(parent: NDArray[np.int32], max_k: int) -> list[NDArray[np.int64]]:
    """Return, for each node, the clusters of the last cut that it consists of."""
    nodes = [np.arange(max_k)]
    for t in range(1, max_k):
        owner = np.arange(max_k)
        for cluster in range(t + 1, max_k):
            owner[cluster] = owner[parent[cluster]]
        nodes += [np.flatnonzero(owner == parent[t]), np.flatnonzero(owner == t)]
    return nodes


def _describe_nodes(
    inputs: Inputs, last: Labels, nodes: Sequence[Node], shown: Shown
) -> dict[str, Any]:
    """Describe every node, in the order of `nodes`."""
    means = Means(inputs.values, last, inputs.max_k)
    with_rows = inputs.show_rows
    hidden = [not with_rows and means.sizes[node].sum() < MIN_DESCRIBED for node in nodes]
    described = list(zip(nodes, hidden, strict=True))
    return {
        "distinguishing": [
            None if h else _distinguish(inputs, means, node) for node, h in described
        ],
        "profiles": [
            None if h else _profile(means, node, shown.numbers, with_rows) for node, h in described
        ],
        "categories": [_describe_category(c, last, nodes) for c in shown.categories],
        "rules": _find_rules(inputs, last, nodes, shown) if with_rows else [[]] * len(nodes),
        "min_described": None if with_rows else MIN_DESCRIBED,
    }


def _distinguish(inputs: Inputs, means: Means, node: Node) -> list[list[Any]]:
    """List ``[column, difference, mean]`` of the columns that differ most.

    The indicator of a category counts only where most rows of the node have this category.
    """
    own, differences = means.of(node), means.differences(node)
    is_named = [c.category is None or own[j] >= 0.5 for j, c in enumerate(inputs.columns)]
    is_named = [n and c.category != OTHER for n, c in zip(is_named, inputs.columns, strict=True)]
    size = np.where(is_named, np.abs(differences), 0.0)
    with_means = inputs.show_rows
    return [
        [
            int(j),
            round(float(differences[j]), 2 if with_means else 1),
            _shorten(own[j], means.deviation[j]) if with_means else None,
        ]
        for j in np.argsort(-size, kind="stable")[:_DISTINGUISHING]
        if size[j] >= _MIN_DIFFERENCE
    ]


def _profile(means: Means, node: Node, columns: Node, with_means: bool) -> dict[str, Any]:
    """Give differences and means of the columns shown."""
    own = means.of(node)
    differences = means.differences(node)[columns].round(2 if with_means else 1)
    return {
        "differences": list_numbers(differences),
        "means": [_shorten(own[j], means.deviation[j]) for j in columns] if with_means else None,
    }


def _shorten(mean: float, deviation: float) -> float | int | None:
    """Round a mean to a tenth of the leading digit of the column's standard deviation."""
    if not (np.isfinite(mean) and deviation > 0.0):
        return round_number(mean, 4)
    decimals = max(0, 1 - int(f"{deviation:e}".partition("e")[2]))
    return round_number(round(float(mean), decimals) + 0.0, 12)


def _describe_category(category: Category, last: Labels, nodes: Sequence[Node]) -> dict[str, Any]:
    """Give the fractions of levels in all rows, and the most frequent levels of every node."""
    counted = Fractions.count(category, last, int(last.max()) + 1)
    fractions = [counted.of(node) for node in nodes]
    most = [rank_levels(category.levels, own.tolist())[:_MAX_LEVELS] for own in fractions]
    return {
        "name": category.name,
        "levels": list(category.levels),
        "overall": list_numbers(counted.of(np.arange(len(counted.counts))), 3),
        "most": [
            [[i, round_number(own[i], 3)] for i in order if own[i] > 0.0]
            for own, order in zip(fractions, most, strict=True)
        ],
    }


def _find_rules(
    inputs: Inputs, last: Labels, nodes: Sequence[Node], shown: Shown
) -> list[list[dict[str, Any]]]:
    """Find rules for every node on a sample of the rows."""
    columns = shown.for_rules
    sample = keyed_sample(inputs.rows, _RULE_ROWS, inputs.seed, "report: rules")
    values = inputs.values[np.ix_(sample, columns)]
    known = np.isfinite(values)
    middle = [np.median(v[k]) if k.any() else 0.0 for v, k in zip(values.T, known.T, strict=True)]
    values = np.where(known, values, np.array(middle))
    described = [inputs.columns[j] for j in columns]
    weight, keys = np.ones(sample.size), np.zeros(sample.size, dtype=np.uint64)
    found: list[list[dict[str, Any]]] = []
    for node in nodes:
        inside = np.isin(last[sample], node)
        if not inside.any() or inside.all():
            found.append([])
            continue
        rules = find_rules(values, weight, inside, described, keys, _MAX_CONDITIONS, halves=0)
        first, *more = rules
        kept = [first, *(rule for rule in more if rule.coverage >= _LEAST_COVERAGE)]
        listed = [_describe_rule(rule) for rule in kept if rule.conditions]
        if len(listed) == 1:
            other = find_other_rule(values, weight, inside, described, first, _MAX_CONDITIONS)
            listed += [] if other is None else [{**_describe_rule(other), "by_other_columns": True}]
        found.append(listed)
    return found


def _describe_rule(rule: Rule) -> dict[str, Any]:
    return {
        "text": str(rule),
        "coverage": round_number(rule.coverage, 3),
        "others": round_number(rule.others, 3),
    }


def _cut_costs(rows: Rows, last: Labels, nodes: Sequence[Node]) -> Rows:
    """Return the k-median cost of every cut: each cluster with its best medoid."""
    max_k = (len(nodes) + 1) // 2
    of_cluster = np.zeros(max_k)
    costs = np.empty(max_k)
    for t in range(max_k):
        for node in nodes[max(0, 2 * t - 1) : 2 * t + 1]:
            members = rows[np.isin(last, node)]
            # The cluster that a node is keeps the smallest label in it.
            own = k_median_cost(members, np.zeros(len(members))) if len(members) else 0.0
            of_cluster[node[0]] = own
        costs[t] = of_cluster[: t + 1].sum()
    return costs


def _measure_separation(inputs: Inputs, hierarchy: Hierarchy) -> dict[str, Any]:
    """Silhouettes on the sample: the mean of every cut, and of every cluster in it."""
    distances = pairwise_distances(inputs.rows[inputs.sample])
    np.fill_diagonal(distances, 0.0)
    overall: list[Any] = [None]
    by_cluster: list[list[Any]] = [[None]]
    for k in range(2, inputs.max_k + 1):
        labels = hierarchy.cut(k)[inputs.sample]
        widths = np.full(labels.size, np.nan)
        if 2 <= np.unique(labels).size < labels.size:
            widths = silhouette_samples(distances, labels, metric="precomputed")
        totals, sizes = np.bincount(labels, widths, k), np.bincount(labels, minlength=k)
        overall.append(round_number(widths.mean(), 3))
        by_cluster.append(list_numbers(totals / np.where(sizes > 0, sizes, np.nan), 3))
    return {
        "separation": overall,
        "cluster_separation": by_cluster,
        "separation_rows": int(inputs.sample.size),
    }


@dataclass(frozen=True)
class _FixedSeed:
    """The clustering on the page: an estimator that keeps its own seed, whatever it is given."""

    estimator: HierarchicalKMedian
    name: str = "the clustering on the page"
    randomized: bool = field(default=False, init=False)
    hierarchical: bool = field(default=True, init=False)

    def fit(self, X: AnyRows, seed: int) -> Hierarchy:
        """Fit with the estimator's own seed."""
        hierarchy: Hierarchy = clone(self.estimator).set_params(n_clusters=1).fit(X).hierarchy_
        return hierarchy


def _bootstrap_clusters(inputs: Inputs, progress: ProgressOption) -> list[list[float | int | None]]:
    """Do as `cluster_stability`, but for all cuts of the hierarchy on the page at once."""
    ks = range(2, inputs.max_k + 1)
    measured = average_sensitivity(
        _FixedSeed(inputs.estimator), inputs.rows, n_clusters=ks, perturb=Bootstrap(),
        trials=count_bootstraps(inputs), n_jobs=inputs.n_jobs, random_state=inputs.seed,
        progress=progress,
    )  # fmt: skip
    assert measured.jaccard is not None  # it is refitted, never computed from the tree
    jaccard = measured.jaccard[0, :, 0]
    return [[1], *(list_numbers(jaccard[j, :k], 3) for j, k in enumerate(ks))]


def _list_points(inputs: Inputs, last: Labels, columns: Node, wanted: Node) -> dict[str, Any]:
    """List the points of the scatter plot: a sample, with the `wanted` rows always in it."""
    sample = keyed_sample(inputs.rows, MAX_POINTS, inputs.seed, "report: points")
    shown = np.union1d(sample, wanted)
    return {
        "n_rows": inputs.rows.shape[0],
        "rows": shown.tolist(),
        "ids": None if inputs.ids is None else [inputs.ids[row] for row in shown],
        "labels": last[shown].tolist(),
        "axes": _principal_axes(inputs.rows, shown),
        "values": [_list_values(inputs, shown, j) for j in columns],
    }


def _list_values(inputs: Inputs, rows: Any, column: int) -> list[float | int | None]:
    """List values of a column as the page shows them."""
    digits = DATE_DIGITS if inputs.columns[column].date else 5
    return list_numbers(inputs.values[rows, column], digits)


def _principal_axes(rows: Rows, shown: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Coordinates on two principal axes; none for one or two columns, which are axes themselves."""
    if rows.shape[1] <= 2 or not (rows != rows[0]).any():
        return []
    pca = PCA(n_components=2, random_state=0).fit(rows)
    coordinates = pca.transform(rows[shown])
    return [
        {"values": list_numbers(coordinates[:, i], 4), "explained": round_number(fraction, 3)}
        for i, fraction in enumerate(pca.explained_variance_ratio_)
    ]
