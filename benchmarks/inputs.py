"""What is clustered: seeded rows of a kind, a number and a dimension."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.draws import heavy_tail, normal, uniform

GROUPS = 8
UNIT_GROUPS = 60
UNIT_NOISE = 0.6
_KINDS = {"gaussian": "", "heavy": ", heavy-tailed", "unit": " unit rows"}
_CHUNK = 1 << 16  # rows made at a time, so that no second array of full size raises the peak memory


@dataclass(frozen=True)
class Rows:
    """Which rows.

    ``gaussian`` is eight round groups, ``heavy`` has the tails of a Cauchy distribution, ``unit`` is sixty groups of rows
    of length 1, like embeddings.
    """

    n: int
    d: int = 3
    kind: Literal["gaussian", "heavy", "unit"] = "gaussian"

    @property
    def title(self) -> str:
        return f"{self.n:,} x {self.d}{_KINDS[self.kind]}"


def make_rows(rows: Rows) -> NDArray[np.float64]:
    """Return the rows, the same every time; shape (n, d)."""
    generator = np.random.default_rng([rows.d, rows.n])
    if rows.kind == "unit":
        return make_embeddings(rows.n, rows.d, generator)
    centers = uniform(generator, -10.0, 10.0, (GROUPS, rows.d))
    X = np.empty((rows.n, rows.d))
    for start in range(0, rows.n, _CHUNK):
        part = X[start : start + _CHUNK]
        if rows.kind == "heavy":
            part[:] = heavy_tail(generator, part.shape)
        else:
            part[:] = normal(generator, part.shape)
            part += centers[generator.integers(GROUPS, size=part.shape[0])]
    return X


def make_embeddings(
    n: int,
    d: int,
    generator: np.random.Generator,
    groups: int = UNIT_GROUPS,
    noise: float = UNIT_NOISE,
) -> NDArray[np.float64]:
    """Rows of length 1 in groups of different sizes; shape (n, d).

    A row is its group's direction plus noise in all directions, `noise` times as long.
    """
    centers = normal(generator, (groups, d))
    centers /= np.sqrt((centers**2).sum(axis=1))[:, None]
    sizes = uniform(generator, 0.2, 1.0, groups)
    group = generator.choice(groups, size=n, p=sizes / sizes.sum())
    X = np.empty((n, d))
    for start in range(0, n, _CHUNK):
        part = X[start : start + _CHUNK]
        part[:] = noise / np.sqrt(d) * normal(generator, part.shape)
        part += centers[group[start : start + _CHUNK]]
        part /= np.sqrt((part**2).sum(axis=1))[:, None]
    return X


def scale_size(n: float, scale: float) -> int:
    """Return the size of an input in a run at `scale`; 1 is the full benchmark."""
    return round(n * scale)
