"""A thousand fits at a time in one process give what they give one by one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from laws.digests import digest
from models import build_model

FITS = 1000
KINDS = (
    {"epsilon": 0.0},
    {"epsilon": 1.0},
    {"epsilon": np.inf},
    {"method": "medoids"},
    {"max_centers": 5},
)


def fit(number: int) -> str:
    """Fit rows, weights and parameters of their own; every 500th is large enough for threads."""
    rng = np.random.RandomState(number)
    n = 300_000 if number % 500 == 7 else rng.randint(2, 400)
    rows = rng.standard_normal((n, rng.randint(1, 6)))
    parameters = {"max_centers": 20} if n > 1000 else KINDS[number % len(KINDS)]
    weight = rng.randint(1, 4, size=n) if number % 3 == 0 else None
    model = build_model(1, random_state=number, **parameters)
    return digest(model.fit(rows, sample_weight=weight).hierarchy_)


def test_a_thousand_fits_at_once():
    expected = [fit(number) for number in range(FITS)]
    assert len(set(expected)) == FITS
    together = threading.Barrier(FITS)

    def fit_together(number: int) -> str:
        together.wait(timeout=300)  # all threads are there before the first fit begins
        return fit(number)

    with ThreadPoolExecutor(FITS) as pool:
        found = list(pool.map(fit_together, range(FITS)))
    assert found == expected
