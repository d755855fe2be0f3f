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
from collections.abc import Callable
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
ROUNDS = 12
LAGS = (0, 1)


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


def main() -> None:
    series = [one for one in SERIES if one.group == SLOW and one.chosen_on]
    panels = [one.make(0) for one in series]
    steppers = {one.name: one.build() for one in METHODS}
    known, first = {}, {}
    for i, releases in enumerate(panels):
        for name in (REFERENCE, WARM):
            states = run_states(steppers[name], releases)
            for k in KS:
                known[i, name, k] = measure(releases, [one.names[k] for one in states])
        start = Follow({}).start(releases[0])
        for k in KS:
            first[i, k] = np.unique(start.names[k], return_inverse=True)[1]

    def line(what: str, option: str, run: Callable[[int, int], list[Labels]]) -> list[str]:
        moved = cost = 0.0
        for i, releases in enumerate(panels):
            for k in KS:
                found = measure(releases, run(i, k))
                moved += found[0]
                cost += float(np.mean(found[1] / known[i, REFERENCE, k][1]))
        warm = sum(value[0] for (_, name, _), value in known.items() if name == WARM)
        return [what, option, f"{moved / warm:.2f}", f"{cost / (len(panels) * len(KS)):.3f}"]

    lines = []
    for options in ({"price": 0.25}, {"price": 0.4}, {"price": 0.5}, {"tolerance": TOLERANCE}):
        runs = [run_states(Follow(options), releases) for releases in panels]
        told = ", ".join(f"{name} {value:g}" for name, value in options.items())
        lines.append(line("follow", told, lambda i, k, r=runs: [one.names[k] for one in r[i]]))
    rules: dict[str, tuple[Rule, Places, float, tuple[float, ...]]] = {
        "flat: today's saving": (by_saving, at_today, 1.0, (0.3, 0.4, 0.5)),
        "flat: sum of savings": (by_sum, at_today, 1.0, (0.6, 0.8, 1.0)),
        "flat: saving at the mean of two releases": (by_saving, at_mean, 1.0, (0.2, 0.3, 0.4)),
        "flat: the same, carried along": (by_saving, at_carried_mean, 1.0, (0.2, 0.3, 0.4)),
        "flat: mean of today's and yesterday's saving": (by_saving, at_both, 1.0, (0.3, 0.4, 0.5)),
        "flat: mean of today's saving and an earlier average": (
            by_saving,
            at_both,
            0.3,
            (0.2, 0.3, 0.4),
        ),
        "flat: saving where the trend leads": (by_saving, at_trend, 1.0, (0.5, 0.6, 0.7)),
    }
    for what, (rule, where, latest, thresholds) in rules.items():
        for h in thresholds:
            run = lambda i, k, h=h, rule=rule, where=where, latest=latest: move_online(  # noqa: E731
                panels[i], first[i, k], h, rule, where, latest
            )
            lines.append(line(what, f"threshold {h:g}", run))
    for ahead, thresholds in ((1, (0.3, 0.5, 0.7)), (3, (0.5, 0.8, 1.2)), (12, (0.8, 1.2, 2.0))):
        told = "the next release" if ahead == 1 else f"the next {ahead} releases"
        for h in thresholds:
            lines.append(
                line(f"flat: foresight of {told}", f"threshold {h:g}", lambda i, k, h=h, ahead=ahead: (
                    move_with_foresight(panels[i], first[i, k], h, ahead)))
            )  # fmt: skip
    for h in (0.5, 1.0, 2.0):
        lines.append(
            line("flat: hindsight", f"threshold {h:g}", lambda i, k, h=h: move_in_hindsight(
                panels[i], move_online(panels[i], first[i, k], 0.3, by_saving), h))
        )  # fmt: skip
    print(markdown_table(["rule", "option", "moved / warm k-means'", "cost"], lines))
    print("\nWhat a linear forecast explains of the next changes, in % of their variance:\n")
    skill = [[one.name, *(f"{100.0 * explain_next(panel, lags):.0f}" for lags in LAGS)]
             for one, panel in zip(series, panels, strict=True)]  # fmt: skip
    print(markdown_table(["panel", *(f"from values and {n} changes" for n in LAGS)], skill))


if __name__ == "__main__":
    main()
