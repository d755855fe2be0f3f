"""What to do with missing values: how many rows change cluster against the table without gaps.

One value in ten is removed: any, or only among the larger half of each column, as where people do not
answer. Ways: fill with the median; fill and mark (weighing like a mismatch of categories, or half as
much); cluster the complete rows, and give each other row to the nearest mean by its known values (a
partial distance). The last leaves most rows out of the fit where there are many columns.

    python benchmarks/gaps.py    # HOLDFAST_DATA has the paper's data
"""

import numpy as np
from numpy.typing import NDArray
from scales import load

from holdfast import HierarchicalKMedian, clustering_distance
from holdfast.tables.summary import Distinct, core_deviation

Array = NDArray[np.float64]
K = 4
TRIALS = 10
CHOSEN_ON = ("wine", "breast cancer")
JUDGING = ("iris", "diabetes", "wholesale", "yeast")
WAYS = ("filled", "marked, half", "marked", "partial")


def remove_values(rows: Array, any_value: bool, rng: np.random.Generator) -> Array:
    chosen = rng.random(rows.shape) < (0.1 if any_value else 0.2)
    if not any_value:
        chosen &= rows > np.median(rows, axis=0)
    return np.where(chosen, np.nan, rows)


def cluster(rows: Array) -> NDArray[np.int32]:
    return HierarchicalKMedian(K).fit(rows).labels_


def cluster_with_gaps(rows: Array, way: str) -> NDArray[np.int32]:
    gaps = np.isnan(rows)
    if way != "partial":
        filled = np.where(gaps, np.nanmedian(rows, axis=0), rows)
        size = {"filled": 0.0, "marked, half": 0.5, "marked": 1.0}[way] * 2.0**0.5
        return cluster(np.hstack((filled, size * gaps[:, gaps.any(axis=0)])))
    complete = ~gaps.any(axis=1)
    found = cluster(rows[complete])
    means = np.array([rows[complete][found == t].mean(axis=0) for t in range(K)])
    away = np.nanmean((rows[:, None] - means[None]) ** 2, axis=2)
    labels = away.argmin(axis=1).astype(np.int32)
    labels[complete] = found
    return labels


def measure(name: str, any_value: bool) -> list[str]:
    rows = load(name)
    rows = rows / [core_deviation(Distinct.of(column)) for column in rows.T]
    whole = cluster(rows)
    moved: dict[str, list[float]] = {way: [] for way in WAYS}
    for trial in range(TRIALS):
        given = remove_values(rows, any_value, np.random.default_rng(trial))
        given[np.isnan(given).all(axis=1), 0] = 0.0
        for way in WAYS:
            if way == "partial" and np.isnan(given).any(axis=1).mean() > 0.9:
                continue
            moved[way].append(clustering_distance(whole, cluster_with_gaps(given, way)))
    return [f"{np.mean(found):.1%}" if found else "-" for found in moved.values()]


def main() -> None:
    ways = [f"{way} ({what})" for what in ("any", "large") for way in WAYS]
    print(f"| table | {' | '.join(ways)} |")
    print("| --- " + "| ---: " * len(ways) + "|")
    for name in CHOSEN_ON + JUDGING:
        cells = measure(name, True) + measure(name, False)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
