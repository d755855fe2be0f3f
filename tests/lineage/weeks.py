"""Made-up customers over many weeks, followed by the library itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import HierarchicalKMedian, Lineage


def make_weeks(n_weeks: int, n: int, d: int = 4, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield ids and rows of each week: 2% leave, 2% come, 2% change a lot, all change a little.

    From the middle on, new customers also come to a place where nobody was.
    """
    rng = np.random.default_rng(seed)
    places = rng.integers(-64, 65, size=(9, d)) / 8.0
    home = rng.integers(0, 8, size=n)
    ids = np.arange(n)
    rows = places[home] + rng.integers(-96, 97, size=(n, d)) / 64.0
    following = n
    for week in range(n_weeks):
        yield np.array([f"C{i:06d}" for i in ids], dtype=object), rows.copy()
        stay = rng.random(ids.size) >= 0.02
        ids, rows, home = ids[stay], rows[stay], home[stay]
        changed = rng.random(ids.size) < 0.02
        home[changed] = rng.integers(0, 8, size=int(changed.sum()))
        rows[changed] = places[home[changed]] + rng.integers(-96, 97, (int(changed.sum()), d)) / 64
        rows = rows + rng.integers(-4, 5, size=rows.shape) / 64.0
        count = n - ids.size
        new = rng.integers(0, 9, size=count) if week >= n_weeks // 2 else rng.integers(0, 8, count)
        if week >= n_weeks // 2:
            new[: count // 2] = 8
        ids = np.concatenate((ids, following + np.arange(count)))
        rows = np.concatenate((rows, places[new] + rng.integers(-96, 97, (count, d)) / 64.0))
        home, following = np.concatenate((home, new)), following + count


def follow_weeks(
    folder: Path, n_weeks: int, n: int, levels: tuple[int, ...] = (4, 8), **options: Any
) -> Lineage:
    """Follow all weeks, and append each model to a lineage."""
    lineage = Lineage(folder)
    model: Any = None
    for week, (ids, rows) in enumerate(make_weeks(n_weeks, n)):
        if model is None:
            model = HierarchicalKMedian(max(levels), max_centers=max(levels)).fit(rows, ids=ids)
        else:
            model = model.follow(rows, ids=ids, levels=levels, **options)
        lineage.append(model, label=f"week {week + 1}", levels=levels if week == 0 else None)
    return lineage
