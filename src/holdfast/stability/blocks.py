"""What comes out of trials: numbers of some units, and what failed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "Failure"]

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Failure:
    """A fit or cut that raised an exception, or a worker process that died.

    Attributes
    ----------
    change : str
        Name of the change; "" for a fit of the unperturbed rows.
    trial : int
        -1 for a fit of the unperturbed rows.
    repeat : int
        Number of the seed; -1 for all of them.
    n_clusters : int
        The k of the cut; -1 for all of them.
    error : str
        Type and message of the exception.
    """

    change: str
    trial: int
    repeat: int
    n_clusters: int
    error: str

    def __str__(self) -> str:
        """Say where it happened, then what."""
        where = "the unperturbed rows" if self.trial < 0 else f"trial {self.trial} ({self.change})"
        seed = "" if self.repeat < 0 else f", repeat {self.repeat}"
        cut = "" if self.n_clusters < 0 else f", k={self.n_clusters}"
        return f"{where}{seed}{cut}: {self.error}"


@dataclass(frozen=True, eq=False)
class Block:
    """Numbers of some units; K numbers of clusters, R repeats (1 with the earth mover's distance).

    Attributes
    ----------
    units : ndarray of shape (n_units, 2), dtype int64
    n_after, n_kept : ndarray of shape (n_units,), dtype float64
        Different rows after the change, and how many of them were there before.
    matched, rand : ndarray of shape (n_units, K, R), dtype float64
    jaccard : ndarray of shape (n_units, K, R, most_clusters), dtype float64
    compared, moved : ndarray of shape (n_rows,), dtype int64
        How often each row was compared and had moved, over all units; empty unless asked for.
    failures : tuple of Failure
    """

    units: Counts
    n_after: Numbers
    n_kept: Numbers
    matched: Numbers
    rand: Numbers
    jaccard: Numbers
    compared: Counts
    moved: Counts
    failures: tuple[Failure, ...] = ()
