"""Time of the tree and of medoids against their peers'."""

from dataclasses import replace
from typing import Any

from inputs import Rows, scale_size
from report import Row
from tasks import Fit, Group, Results, Settings, Task

MILLION = 1e6


def fit_holdfast(rows: Rows, method: str, quantity: str = "seconds", **options: Any) -> Fit:
    given = tuple(sorted({"method": method, **options}.items()))
    return Fit("holdfast", rows, given, quantity)  # type: ignore[arg-type]


def fit_tree(rows: Rows, epsilon: float = 1.0, quantity: str = "seconds") -> Fit:
    """The whole hierarchy of the tree, down to single rows."""
    return fit_holdfast(rows, "tree", quantity, n_clusters=8, epsilon=epsilon)


def fit_hundred(rows: Rows, quantity: str = "seconds") -> Fit:
    return fit_holdfast(rows, "tree", quantity, n_clusters=100, max_centers=100)


def fit_genie(rows: Rows) -> Fit:
    return Fit("genie", rows, (("n_clusters", 8),))


def fit_bisecting(rows: Rows) -> Fit:
    return Fit("bisecting", rows, (("n_clusters", 100),))


def compare(
    what: str,
    results: Results,
    task: Fit,
    peer: Fit,
    *,
    wanted: float | None = None,
    aim: float | None = None,
) -> Row:
    """One row: holdfast's best time against the peer's, and what the first runs took."""
    note = ""
    if wanted is not None and results.has(task, "first") and results.has(peer, "first"):
        first, theirs = results.best(task, "first"), results.best(peer, "first")
        note = (
            f"the first run of a process, with memory it has not had before: {first:.3g} s against "
            f"{theirs:.3g} s, ratio {first / theirs:.3g}"
        )
    row = Row(what, results.best(task), results.best(peer), peer.name, note=note)
    return replace(row, wanted=wanted, aim=aim)


def compare_first(
    what: str, results: Results, task: Fit, peer: Fit, wanted: float, aim: float
) -> Row:
    """One row: the first run of a process, with memory it has not had before."""
    first, theirs = results.best(task, "first"), results.best(peer, "first")
    return Row(f"{what}, first run", first, theirs, peer.name, wanted=wanted, aim=aim)


def _million(settings: Settings, d: int = 3) -> Rows:
    return Rows(scale_size(MILLION, settings.scale), d)


def plan_genie(settings: Settings) -> list[Task]:
    rows = _million(settings)
    fits = [fit_tree(rows, epsilon) for epsilon in (1.0, 0.0, 0.1, 10.0)]
    return [*fits, fit_genie(rows)]


def list_genie(settings: Settings, results: Results) -> list[Row]:
    rows, peer = _million(settings), fit_genie(_million(settings))
    listed = []
    for epsilon, first, best in (
        (1.0, (0.20, 0.15), (0.16, 0.12)),
        (0.0, (0.08, 0.05), (0.07, 0.03)),
    ):
        greedy = " (greedy)" if epsilon == 0.0 else ""
        what, task = (
            f"{rows.title}, whole hierarchy, epsilon {epsilon:g}{greedy}",
            fit_tree(rows, epsilon),
        )
        listed += [
            compare_first(what, results, task, peer, *first),
            replace(compare(what, results, task, peer), wanted=best[0], aim=best[1]),
        ]
    for epsilon in (0.1, 10.0):
        what = f"{rows.title}, whole hierarchy, epsilon {epsilon:g}"
        listed.append(compare(what, results, fit_tree(rows, epsilon), peer))
    return listed


def plan_bisecting(settings: Settings) -> list[Task]:
    rows = _million(settings)
    return [fit_hundred(rows), fit_bisecting(rows)]


def list_bisecting(settings: Settings, results: Results) -> list[Row]:
    rows = _million(settings)
    what, task, peer = f"{rows.title}, tree, 100 centers", fit_hundred(rows), fit_bisecting(rows)
    return [
        compare_first(what, results, task, peer, 0.18, 0.10),
        replace(compare(what, results, task, peer), wanted=0.12, aim=0.10),
    ]


def _fit_medoids(rows: Rows) -> Fit:
    return fit_holdfast(rows, "medoids", n_clusters=100, max_centers=100)


def plan_medoids(settings: Settings) -> list[Task]:
    rows = _million(settings, 10)
    return [_fit_medoids(rows), fit_bisecting(rows)]


def list_medoids(settings: Settings, results: Results) -> list[Row]:
    rows = _million(settings, 10)
    what = f"{rows.title}, 100 centers, medoids"
    return [compare(what, results, _fit_medoids(rows), fit_bisecting(rows), wanted=20.0)]


def plan_ward(settings: Settings) -> list[Task]:
    rows = Rows(scale_size(20_000, settings.scale))
    return [fit_tree(rows), Fit("ward", rows)]


def list_ward(settings: Settings, results: Results) -> list[Row]:
    rows = Rows(scale_size(20_000, settings.scale))
    what = f"{rows.title}, whole hierarchy"
    return [compare(what, results, fit_tree(rows), Fit("ward", rows), wanted=0.03)]


def _pair_shapes(settings: Settings) -> list[tuple[Fit, Fit]]:
    """Other dimensions and tails.

    In 10 and 50 dimensions the peer is BisectingKMeans: from 5,000 to 20,000 rows Genie's time grew
    with about the square of n there, which would make 1e6 rows most of an hour, or many hours.
    """
    n = scale_size(MILLION, settings.scale)
    shapes = [Rows(n, 2), Rows(n, 3, "heavy"), Rows(n, 10), Rows(n, 50)]
    return [
        (fit_tree(rows), fit_genie(rows) if rows.d <= 3 else fit_bisecting(rows)) for rows in shapes
    ]


def plan_shapes(settings: Settings) -> list[Task]:
    return [task for pair in _pair_shapes(settings) for task in pair]


def list_shapes(settings: Settings, results: Results) -> list[Row]:
    return [
        compare(f"{task.rows.title}, whole hierarchy", results, task, peer)
        for task, peer in _pair_shapes(settings)
    ]


def _fit_large(settings: Settings) -> Fit:
    rows = Rows(scale_size(10 * MILLION, settings.scale))
    return fit_holdfast(rows, "tree", n_clusters=1000, max_centers=1000)


def plan_large(settings: Settings) -> list[Task]:
    return [_fit_large(settings), fit_tree(_million(settings))]


def list_large(settings: Settings, results: Results) -> list[Row]:
    large, reference = _fit_large(settings), fit_tree(_million(settings))
    row = compare(f"{large.rows.title}, tree, 1,000 centers", results, large, reference)
    return [replace(row, against=f"tree, {reference.rows.n:,} rows")]


def _pair_smaller(settings: Settings) -> list[tuple[Fit, Fit]]:
    pairs = []
    for peer, sizes in ((fit_genie, (1e4, 1e5)), (fit_bisecting, (1e4, 1e5))):
        for n in sizes:
            # BisectingKMeans is asked for 100 clusters, whatever the scale.
            rows = Rows(max(scale_size(n, settings.scale), 100))
            task = fit_tree(rows) if peer is fit_genie else fit_hundred(rows)
            pairs.append((task, peer(rows)))
    for n in (2_000, 6_000):
        rows = Rows(max(scale_size(n, settings.scale), 8))
        pairs.append((fit_tree(rows), Fit("ward", rows)))
    return pairs


def plan_smaller(settings: Settings) -> list[Task]:
    return [task for pair in _pair_smaller(settings) for task in pair]


def list_smaller(settings: Settings, results: Results) -> list[Row]:
    listed = []
    for task, peer in _pair_smaller(settings):
        extent = "tree, 100 centers" if peer.clusterer == "bisecting" else "whole hierarchy"
        listed.append(compare(f"{task.rows.title}, {extent}", results, task, peer))
    return listed


GROUPS = (
    Group("genie", "the tree: whole hierarchies of a million rows", plan_genie, list_genie),
    Group(
        "bisecting", "the tree: a hundred centers of a million rows", plan_bisecting, list_bisecting
    ),
    Group("medoids", "medoids of a million rows", plan_medoids, list_medoids),
    Group("ward", "the tree: 20,000 rows against Ward linkage", plan_ward, list_ward),
    Group("shapes", "the tree: other dimensions and tails", plan_shapes, list_shapes),
    Group("large", "the tree: ten million rows", plan_large, list_large),
    Group("smaller", "the tree: fewer rows against all peers", plan_smaller, list_smaller),
)
