"""The inputs that the laws run over: small, named, awkward on purpose, the same everywhere."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.draws import heavy_tail, normal


@dataclass(frozen=True, eq=False)
class Input:
    """Rows and their weights, under a name for test reports."""

    name: str
    rows: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def n_rows(self) -> int:
        return self.rows.shape[0]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a positive weight."""
        if self.weight is None:
            return np.ones(self.n_rows, dtype=np.bool_)
        return self.weight > 0.0

    @cached_property
    def location(self) -> NDArray[np.intp]:
        """Number of each row's location: equal for equal rows."""
        return np.unique(self.rows, axis=0, return_inverse=True)[1].reshape(-1)

    @property
    def n_locations(self) -> int:
        """Number of different rows of positive weight."""
        return np.unique(self.location[self.present]).size

    def reordered(self, order: NDArray[np.intp]) -> "Input":
        weight = None if self.weight is None else self.weight[order]
        return Input(f"{self.name}, reordered", self.rows[order], weight)


def _inputs() -> list[Input]:
    rng = np.random.RandomState(20250801)
    blobs = normal(rng, (90, 2)) + 12.0 * rng.randint(0, 4, size=(90, 1))
    ties = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    repeated = rng.randint(0, 4, size=(80, 2)).astype(np.float64)
    geometric = np.ldexp(1.0, -np.arange(56))[:, None]
    weight = rng.randint(1, 7, size=80).astype(np.float64)
    with_zeros = rng.randint(0, 3, size=80).astype(np.float64)
    fractions = rng.random_sample(80) * 0.02
    fractions[rng.random_sample(80) < 0.2] = 0.0
    return [
        Input("one row", np.array([[3.0, -1.0]])),
        Input("two rows", np.array([[0.0], [1.0]])),
        Input("all equal", np.full((12, 3), 0.1)),
        Input("two locations", np.repeat([[0.0, 0.0], [0.0, 1.0]], [9, 4], axis=0)),
        Input("blobs", blobs),
        Input("one column", normal(rng, (60, 1))),
        Input("collinear", normal(rng, (50, 1)) * np.array([[1.0, -2.0, 0.5]])),
        Input("grid with ties", ties),
        Input("repeated", repeated),
        Input("forty columns", normal(rng, (40, 40))),
        Input("geometric", geometric),
        Input("heavy tail", heavy_tail(rng, (70, 2))),
        Input("tiny", 1e-150 * normal(rng, (40, 2))),
        Input("huge", 1e150 * normal(rng, (40, 2))),
        Input("far away", 1e9 + np.round(normal(rng, (40, 2)) * 8.0) / 8.0),
        Input("weighted", normal(rng, (80, 2)), weight),
        Input("repeated, weighted", repeated, weight),
        Input("repeated, zero weights", repeated, with_zeros),
        Input("zero weights", normal(rng, (80, 3)), with_zeros),
        Input(
            "wide weights", normal(rng, (80, 2)), rng.randint(1, 2**30, size=80).astype(np.float64)
        ),
        Input("fractional weights", normal(rng, (80, 2)), fractions),
        Input("repeated, fractional weights", repeated, fractions),
    ]


INPUTS = _inputs()
