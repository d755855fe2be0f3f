"""The tree without a random shift: for the lower bound of [LHBP25], Lemma 4.2, and nothing else."""

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.estimator import HierarchicalKMedian
from holdfast.parameters import Settings


class UnshiftedKMedian(HierarchicalKMedian):
    """``HierarchicalKMedian(method="tree")`` on a grid that is not shifted at random.

    Deterministic for ``epsilon=0``. [LHBP25], Lemma 4.2, shows that its sensitivity then grows
    with the number of rows.

    Parameters
    ----------
    n_clusters : int, default=8
    root_box : tuple of (array-like of shape (n_features,), float), default=None
        Lower corner and side of the root cube. It must contain all rows.
    epsilon, max_centers, random_state, verbose
        As for `HierarchicalKMedian`.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        root_box: tuple[ArrayLike, float] | None = None,
        epsilon: float | Literal["auto"] = "auto",
        max_centers: int | Literal["all"] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: Any = False,
    ) -> None:
        super().__init__(
            n_clusters,
            method="tree",
            epsilon=epsilon,
            max_centers=max_centers,
            random_state=random_state,
            verbose=verbose,
        )
        self.root_box = root_box

    @property
    def randomized(self) -> bool:
        """Whether the seed matters."""
        return self.epsilon != 0

    def _settings_for(
        self,
        rows: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        seed: int | None = None,
    ) -> Settings:
        box = _check_root_box(self.root_box, rows, weight)  # first: a seed may be drawn after it
        settings = super()._settings_for(rows, weight, seed)
        return replace(settings, random_shift=False, root_box=box)


def _check_root_box(
    root_box: Any, rows: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float] | None:
    if root_box is None:
        return None
    try:
        lower, width = root_box
        corner, side = np.asarray(lower, dtype=np.float64), float(width)
    except (TypeError, ValueError):
        raise ValueError(
            f"root_box must be a tuple (lower corner, side); got {root_box!r}."
        ) from None
    if corner.shape != (rows.shape[1],) or not np.isfinite(corner).all():
        raise ValueError(
            f"root_box's lower corner must be {rows.shape[1]} finite numbers, one per column; "
            f"got {root_box[0]!r}."
        )
    if not (math.isfinite(side) and side > 0.0 and math.isfinite(1.0 / side)):
        raise ValueError(
            f"root_box's side must be positive and finite, and so must be its inverse; "
            f"got {width!r}."
        )
    present = rows if weight is None else rows[weight > 0.0]
    outside = ((present < corner) | (present >= corner + side)).any(axis=1)
    if outside.any():
        raise ValueError(
            f"root_box must contain all rows (its upper faces excluded); {outside.sum()} lie "
            f"outside, the first is row {outside.argmax()}."
        )
    return corner, side
