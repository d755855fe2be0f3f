"""Small inputs of several kinds, as many as asked for, to compare with an oracle."""

import numpy as np

from holdfast_paper.draws import normal

FAMILIES = ("normal", "grid", "line", "repeats", "offset", "huge", "tiny")


def make_rows(family: str, number: int, n: int | None = None) -> np.ndarray:
    rng = np.random.default_rng([FAMILIES.index(family), number])
    n = n or int(rng.integers(2, 40))
    d = int(rng.integers(1, 7))
    X = normal(rng, (n, d))
    if family == "grid":
        X = rng.integers(0, 4, size=(n, d)).astype(float)
    elif family == "line":
        X = np.outer(normal(rng, n), normal(rng, d))
    elif family == "repeats":
        X = X[rng.integers(0, max(n // 2, 1), size=n)]
    elif family == "offset":
        X += 1e6
    elif family in ("huge", "tiny"):
        X *= 1e140 if family == "huge" else 1e-140
    return X
