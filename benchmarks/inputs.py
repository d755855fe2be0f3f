"""What is clustered: seeded rows of a kind, a number and a dimension."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

GROUPS = 8
_CHUNK = 1 << 16  # rows made at a time, so that no second array of full size raises the peak memory


@dataclass(frozen=True)
class Rows:
    """Which rows: ``gaussian`` is eight round groups, ``cauchy`` has heavy tails."""

    n: int
    d: int = 3
    kind: Literal["gaussian", "cauchy"] = "gaussian"

    @property
    def title(self) -> str:
        tails = ", heavy-tailed (Cauchy)" if self.kind == "cauchy" else ""
        return f"{self.n:,} x {self.d}{tails}"


def make_rows(rows: Rows) -> NDArray[np.float64]:
    """Return the rows, the same every time; shape (n, d)."""
    generator = np.random.default_rng([rows.d, rows.n])
    centers = generator.uniform(-10.0, 10.0, size=(GROUPS, rows.d))
    X = np.empty((rows.n, rows.d))
    for start in range(0, rows.n, _CHUNK):
        part = X[start : start + _CHUNK]
        if rows.kind == "cauchy":
            part[:] = generator.standard_cauchy(part.shape)
        else:
            generator.standard_normal(out=part)
            part += centers[generator.integers(GROUPS, size=part.shape[0])]
    return X


def scale_size(n: float, scale: float) -> int:
    """Size of an input in a run at `scale`; 1 is the full benchmark."""
    return round(n * scale)
