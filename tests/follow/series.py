"""Small series of releases: rows leave, come and change, with ids."""

import numpy as np


def blobs(seed, n=240, d=3, groups=6):
    """Rows around a few places; only exact operations, so that results are the same everywhere."""
    rng = np.random.default_rng(seed)
    places = rng.integers(-64, 64, size=(groups, d)) / 8.0
    return places[rng.integers(groups, size=n)] + rng.integers(-64, 65, size=(n, d)) / 64.0


def releases(seed, count=4, n=240, d=3, leaving=0.1, changing=0.1):
    """Lists of (ids, rows): a tenth leaves, as many come beside it, a tenth changes a little."""
    rng = np.random.default_rng(seed)
    ids, rows = np.arange(n), blobs(seed, n, d)
    found = [(ids, rows)]
    for release in range(1, count):
        stay = rng.random(ids.size) >= leaving
        fresh = n - int(stay.sum())
        rows = rows[stay].copy()
        changed = rng.random(rows.shape[0]) < changing
        rows[changed] += rng.integers(-32, 33, size=(int(changed.sum()), d)) / 64.0
        rows = np.concatenate((rows, blobs(seed, n, d)[:fresh] + float(release)))
        ids = np.concatenate((ids[stay], np.arange(fresh) + 1000 * release))
        order = rng.permutation(ids.size)
        ids, rows = ids[order], rows[order]
        found.append((ids, rows))
    return found
