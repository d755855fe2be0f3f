"""How little could rows move in slow panels? Rules for single rows, and labels chosen in hindsight.

On the slow panels for choosing. `follow` at several prices; then flat clusters, one k at a time, whose
rows move one by one from the first clusters of `follow`. A row moves if a saving exceeds a threshold, a
multiple of the mean distance of a row to its center: today's saving; the sum of all savings since they
began; or the saving at other values: the mean of today's and yesterday's; the same after yesterday's were
carried along with the center of their cluster; the mean of both savings; the same with an average of all
earlier values, the latest of which count most; or the saving at today's values carried on by half of the
last change. *Foresight* knows the next releases as they will be: each row takes the first step of the path
through them that minimizes its distances plus the threshold for each move. No forecast can do better.
*Hindsight* knows all releases, and means and paths are chosen in turns.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for what the benchmarks share

from costs import cost_to_means
from estimates import markdown_table
from measure import Histories, count_moves, run_states
from methods import METHODS, REFERENCE, TOLERANCE, WARM, Follow
from planted import Release
from series import KS, SERIES, SLOW

Array = NDArray[np.float64]
Labels = NDArray[np.integer]
Rule = Callable[[Array, Array], tuple[Array, Array]]
Places = Callable[[Array, Array, Array], list[Array]]
Run = Callable[[str, int], list[Labels]]  # of a panel and a k
ROUNDS = 12
LAGS = (0, 1)
COSTS = (1.0, 1.01, 1.02)


def distances(X: Array, centers: Array) -> Array:
    return np.sqrt(((X[:, None] - centers[None]) ** 2).sum(axis=2))


def means_of(X: Array, labels: Labels, otherwise: Array) -> Array:
    return np.stack([X[labels == c].mean(axis=0) if (labels == c).any() else otherwise[c]
                     for c in range(len(otherwise))])  # fmt: skip


def by_saving(saved: Array, _sum: Array) -> tuple[Array, Array]:
    """Return the evidence for a move, and the sum of savings that is remembered: none."""
    return saved, np.zeros_like(saved)


def by_sum(saved: Array, total: Array) -> tuple[Array, Array]:
    total = np.maximum(0.0, total + saved)
    return np.where(saved > 0.0, total, 0.0), total


def at_today(X: Array, _before: Array, _shift: Array) -> list[Array]:
    """Return where a row is looked at; `shift` is by how much the center of its cluster moved."""
    return [X]


def at_mean(X: Array, before: Array, _shift: Array) -> list[Array]:
    return [0.5 * (X + before)]


def at_carried_mean(X: Array, before: Array, shift: Array) -> list[Array]:
    return [0.5 * (X + before + shift)]


def at_both(X: Array, before: Array, shift: Array) -> list[Array]:
    return [X, before + shift]


def at_trend(X: Array, before: Array, _shift: Array) -> list[Array]:
    return [X + 0.5 * (X - before)]


RULES: tuple[tuple[str, Rule, Places, float, tuple[float, ...]], ...] = (
    ("today's saving", by_saving, at_today, 1.0, (0.3, 0.4, 0.5, 0.6)),
    ("sum of savings", by_sum, at_today, 1.0, (0.5, 0.6, 0.8, 1.0, 1.2)),
    ("saving at the mean of two releases", by_saving, at_mean, 1.0, (0.2, 0.3, 0.4, 0.5)),
    ("the same, carried along", by_saving, at_carried_mean, 1.0, (0.2, 0.3, 0.4, 0.5)),
    ("mean of today's and yesterday's saving", by_saving, at_both, 1.0, (0.2, 0.3, 0.4, 0.5)),
    ("mean of today's saving and an earlier average", by_saving, at_both, 0.3, (0.1, 0.15, 0.2, 0.3)),
    ("saving where the trend leads", by_saving, at_trend, 1.0, (0.4, 0.5, 0.6, 0.7, 0.8)),
)  # fmt: skip
"""What is printed; rule; where it looks; the weight of the last values; thresholds."""


def move_online(
    releases: list[Release],
    first: Labels,
    threshold: float,
    rule: Rule,
    where: Places = at_today,
    latest: float = 1.0,
) -> list[Labels]:
    """Labels of all releases, each decided without the later ones; new rows go to the nearest center.

    Of each row, an average is remembered in which `latest` is the weight of the last values.
    """
    table = Histories.of([one.ids for one in releases])
    k, n = int(first.max()) + 1, table.n_rows
    label, total = np.full(n, -1), np.zeros(n)
    values = np.full((n, releases[0].X.shape[1]), np.nan)
    label[table.places[0]], values[table.places[0]] = first, releases[0].X
    centers = means_of(releases[0].X, first, np.zeros((k, releases[0].X.shape[1])))
    found = [first]
    for place, release in zip(table.places[1:], releases[1:], strict=True):
        X, home, new = release.X, label[place].copy(), label[place] < 0
        before, old = np.where(np.isnan(values[place]), X, values[place]), centers
        home[new] = distances(X[new], centers).argmin(axis=1)
        labels, rows = home, np.arange(place.size)
        for _ in range(ROUNDS):
            centers = means_of(X, labels, centers)
            looked_at = where(X, before, (centers - old)[home])
            away = sum(distances(each, centers) for each in looked_at) / len(looked_at)
            best = np.where(np.arange(k) == home[:, None], np.inf, away).argmin(axis=1)
            evidence, summed = rule(away[rows, home] - away[rows, best], total[place])
            scale = distances(X, centers)[rows, home].mean()
            go = (evidence > threshold * scale) & ~new
            after = np.where(go, best, home)
            if (after == labels).all():
                break
            labels = after
        carried = before + (centers - old)[home] * (latest < 1.0)
        values[place] = latest * X + (1.0 - latest) * carried
        label[place], total[place] = labels, np.where(go | new, 0.0, summed)
        found.append(labels)
    return found


def cheapest_paths(
    near: Array, there: NDArray[np.bool_], paid: float, home: Labels | None = None
) -> Labels:
    """Return the clusters of each row, release by release, that minimize its distances and what moves cost.

    `near` is the distance of each row to each center in each release, 0 where the row is not `there`. A
    move costs `paid` if the row is in both releases. `home` is the cluster before the first one, -1: none.
    """
    count, n, k = near.shape
    value, came = near[0], np.zeros((count, n, k), dtype=np.intp)
    if home is not None:
        value = value + paid * ((home >= 0)[:, None] & (np.arange(k) != home[:, None]))
    for t in range(1, count):
        best = value.argmin(axis=1)
        toll = np.where(there[t] & there[t - 1], paid, 0.0)
        other = (value.min(axis=1) + toll)[:, None]
        came[t] = np.where(other < value, best[:, None], np.arange(k))
        value = np.minimum(value, other) + near[t]
    path = [value.argmin(axis=1)]
    for t in range(count - 1, 0, -1):
        path.append(came[t][np.arange(n), path[-1]])
    return np.array(path[::-1])


def look_at(
    releases: list[Release], places: list[NDArray[np.intp]], label: Labels, centers: list[Array]
) -> tuple[Array, NDArray[np.bool_]]:
    """Distances of all rows to the means of each release, and who is there; `centers` are brought up to date."""
    near = np.zeros((len(releases), label.shape[1], centers[0].shape[0]))
    there = np.zeros(near.shape[:2], dtype=bool)
    for t, (place, release) in enumerate(zip(places, releases, strict=True)):
        centers[t] = means_of(release.X, label[t, place], centers[t])
        near[t, place], there[t, place] = distances(release.X, centers[t]), True
    return near, there


def move_with_foresight(
    releases: list[Release], first: Labels, threshold: float, known: int
) -> list[Labels]:
    """Labels of all releases, each decided with the next `known` ones at hand: the first step of each path."""
    table = Histories.of([one.ids for one in releases])
    k, home = int(first.max()) + 1, np.full(table.n_rows, -1)
    home[table.places[0]] = first
    start = means_of(releases[0].X, first, np.zeros((k, releases[0].X.shape[1])))
    found = [first]
    for t in range(1, len(releases)):
        window, places = releases[t : t + 1 + known], table.places[t : t + 1 + known]
        centers, label = [start] * len(window), home
        for _ in range(ROUNDS):
            near, there = look_at(window, places, np.tile(label, (len(window), 1)), centers)
            paid = threshold * near[0].min(axis=1)[there[0]].mean()
            after = np.where(there[0], cheapest_paths(near, there, paid, home)[0], home)
            if (after == label).all():
                break
            label = after
        home, start = label, centers[0]
        found.append(home[table.places[t]])
    return found


def move_in_hindsight(
    releases: list[Release], labels: list[Labels], threshold: float
) -> list[Labels]:
    """Labels of all releases that minimize all costs and moves: each row takes its cheapest path."""
    table = Histories.of([one.ids for one in releases])
    places, path = table.places, np.full((len(releases), table.n_rows), -1)
    for t, place in enumerate(places):
        path[t, place] = labels[t]
    k = int(labels[0].max()) + 1
    centers = [np.zeros((k, releases[0].X.shape[1]))] * len(releases)
    for _ in range(ROUNDS):
        near, there = look_at(releases, places, path, centers)
        path = cheapest_paths(near, there, threshold * near.min(axis=2)[there].mean())
    return [path[t, place] for t, place in enumerate(places)]


def explain_next(releases: list[Release], lags: int) -> float:
    """Fraction of the variance of the next changes that a linear forecast explains, in the later half.

    The forecast is fitted to all earlier changes of all rows: a change follows from a row's values and its
    last `lags` changes. Values are relative to the mean of all rows, which moves nobody.
    """
    table = Histories.of([one.ids for one in releases])
    values = np.full((len(releases), table.n_rows, releases[0].X.shape[1]), np.nan)
    for t, (place, release) in enumerate(zip(table.places, releases, strict=True)):
        values[t, place] = release.X - release.X.mean(axis=0)
    step = np.diff(values, axis=0)
    missed = total = 0.0
    for t in range(max(lags + 1, len(releases) // 2), len(releases) - 1):
        known = [np.hstack([values[u], *step[u - lags : u]]) for u in range(lags, t + 1)]
        before, after = np.concatenate(known[:-1]), np.concatenate(step[lags:t])
        there = ~np.isnan(np.hstack([before, after])).any(axis=1)
        rule = np.linalg.lstsq(before[there], after[there], rcond=None)[0]
        there = ~np.isnan(np.hstack([known[-1], step[t]])).any(axis=1)
        missed += float(((known[-1][there] @ rule - step[t][there]) ** 2).sum())
        total += float((step[t][there] ** 2).sum())
    return 1.0 - missed / total


def measure(releases: list[Release], labels: list[Labels]) -> tuple[float, Array]:
    """Fraction that moves in a step, and costs."""
    names = Histories.of([one.ids for one in releases]).spread(labels)
    costs = [cost_to_means(one.X, each) for one, each in zip(releases, labels, strict=True)]
    return float(np.mean(count_moves(names))), np.array(costs)


@dataclass(frozen=True)
class Panels:
    """The slow panels for choosing, with what is compared: the first clusters, costs and movement."""

    releases: dict[str, list[Release]]
    first: dict[tuple[str, int], Labels]  # of following, for each panel and k
    cost: dict[tuple[str, int], Array]  # of a new fit of each release
    warm: float  # movement of k-means from yesterday's centers, added up

    @classmethod
    def load(cls) -> "Panels":
        releases = {one.name: one.make(0) for one in SERIES if one.group == SLOW and one.chosen_on}
        steppers = {one.name: one.build() for one in METHODS}
        first, cost, warm = {}, {}, 0.0
        for name, each in releases.items():
            fitted, moved = (run_states(steppers[one], each) for one in (REFERENCE, WARM))
            start = Follow({}).start(each[0])
            for k in KS:
                first[name, k] = np.unique(start.names[k], return_inverse=True)[1]
                cost[name, k] = measure(each, [one.names[k] for one in fitted])[1]
                warm += measure(each, [one.names[k] for one in moved])[0]
        return cls(releases, first, cost, warm)

    def compare(self, run: Run) -> tuple[float, float]:
        """Movement relative to that of k-means, and cost relative to a new fit; means over panels and k."""
        found = {(name, k): measure(self.releases[name], run(name, k)) for name, k in self.first}
        costs = [float(np.mean(cost / self.cost[which])) for which, (_, cost) in found.items()]
        return sum(moved for moved, _ in found.values()) / self.warm, float(np.mean(costs))

    def follow(self, **options: float) -> Run:
        """Run following on all panels."""
        states = {n: run_states(Follow(options), each) for n, each in self.releases.items()}
        return lambda name, k: [one.names[k] for one in states[name]]

    def list_rules(self) -> Iterator[tuple[str, Callable[[float], Run], tuple[float, ...]]]:
        """List what is compared, with thresholds whose costs lie around those of the table."""
        yield "follow, by price", lambda h: self.follow(price=h), (0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
        for told, rule, where, latest, thresholds in RULES:
            yield told, partial(self._by_rule, rule, where, latest), thresholds
        for ahead, thresholds in (
            (1, (0.6, 0.8, 1.0, 1.4)),
            (3, (1.0, 1.3, 1.7, 2.2)),
            (12, (1, 1.5, 2, 3)),
        ):
            told = "the next release" if ahead == 1 else f"the next {ahead} releases"
            yield f"foresight of {told}", partial(self._by_foresight, ahead), thresholds
        yield "hindsight", self._by_hindsight, (1.0, 2.0, 4.0, 8.0)

    def _by_rule(self, rule: Rule, where: Places, latest: float, h: float) -> Run:
        return lambda name, k: move_online(
            self.releases[name], self.first[name, k], h, rule, where, latest
        )

    def _by_foresight(self, ahead: int, h: float) -> Run:
        return lambda name, k: move_with_foresight(
            self.releases[name], self.first[name, k], h, ahead
        )

    def _by_hindsight(self, h: float) -> Run:
        start = self._by_rule(by_saving, at_today, 1.0, 0.3)
        return lambda name, k: move_in_hindsight(self.releases[name], start(name, k), h)


def main() -> None:
    panels = Panels.load()
    lines = []
    for told, run, thresholds in panels.list_rules():
        points = sorted(panels.compare(run(h))[::-1] for h in thresholds)
        cost, moved = np.array(points).T
        at = np.interp(COSTS, cost, moved, left=np.nan, right=np.nan)
        lines.append([told, *("-" if np.isnan(one) else f"{one:.2f}" for one in at)])
    moved, cost = panels.compare(panels.follow(tolerance=TOLERANCE))
    heads = [f"at cost {cost:.2f}" for cost in COSTS]
    print(f"Movement, relative to k-means from yesterday's centers, at equal costs. With a tolerance of "
          f"{TOLERANCE:.0%}, following moves {moved:.2f} at {cost:.3f}.\n")  # fmt: skip
    print(markdown_table(["rule", *heads], lines))
    print("\nWhat a linear forecast explains of the next changes, in % of their variance:\n")
    skill = [[name, *(f"{100.0 * explain_next(each, lags):.0f}" for lags in LAGS)]
             for name, each in panels.releases.items()]  # fmt: skip
    print(markdown_table(["panel", *(f"from values and {n} changes" for n in LAGS)], skill))


if __name__ == "__main__":
    main()
