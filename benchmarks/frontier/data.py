"""What is clustered: the paper's data sets, prepared and raw, and six kinds of made-up data."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs, make_moons

from holdfast_paper.datasets import PAPER_DATASETS, load_dataset

Array = NDArray[np.float64]

PAPER, RAW, MADE = "paper", "raw", "made"
N_MADE = 300


@dataclass(frozen=True)
class Data:
    """Rows under a name.

    `tuned` marks what the refined splits were developed on; all other data only judged them.
    """

    name: str
    group: str
    make: Callable[[], Array]
    tuned: bool = False


def _loader(name: str, prepared: bool) -> Callable[[], Array]:
    return lambda: np.array(load_dataset(name, prepared=prepared).X, dtype=np.float64)


def make_nested_blobs() -> Array:
    """Three groups of three groups."""
    rng = np.random.default_rng(11)
    outer = 12.0 * rng.normal(size=(3, 1, 3))
    inner = (outer + 3.5 * rng.normal(size=(3, 3, 3))).reshape(9, 3)
    return inner[rng.integers(9, size=N_MADE)] + rng.normal(size=(N_MADE, 3))


def make_heavy_tails() -> Array:
    """Five groups with Student's t of two degrees of freedom around them."""
    rng = np.random.default_rng(12)
    centers = 6.0 * rng.normal(size=(5, 3))
    return centers[rng.integers(5, size=N_MADE)] + rng.standard_t(2, size=(N_MADE, 3))


def make_stretched() -> Array:
    """Five groups, all stretched in one direction."""
    rows = make_blobs(N_MADE, centers=5, random_state=13)[0]
    return rows @ np.array([[0.6, -0.6], [-0.4, 0.8]])


DATA = (
    *(Data(name, PAPER, _loader(name, True), tuned=name == "iris") for name in PAPER_DATASETS),
    *(
        Data(f"{name}, raw", RAW, _loader(name, False), tuned=name == "iris")
        for name in PAPER_DATASETS
    ),
    Data(
        "blobs",
        MADE,
        lambda: make_blobs(N_MADE, n_features=4, centers=6, random_state=10)[0],
        tuned=True,
    ),
    Data("nested blobs", MADE, make_nested_blobs, tuned=True),
    Data("moons", MADE, lambda: make_moons(N_MADE, noise=0.08, random_state=14)[0], tuned=True),
    Data("heavy tails", MADE, make_heavy_tails, tuned=True),
    Data("stretched", MADE, make_stretched),
    Data("uniform", MADE, lambda: np.random.default_rng(15).random((N_MADE, 2)), tuned=True),
)
