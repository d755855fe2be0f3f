"""Two cuts of data that changed in between: what moved, cluster by cluster."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

__all__ = ["ClusterChange", "CutDifference", "LabelledRows", "compare_cuts"]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Distinct rows with weights, the cluster of each, and the center of each cluster.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features), dtype float64
    weight : ndarray of shape (n,), dtype float64
    labels : ndarray of shape (n,), dtype int32
        From 0 to the number of centers - 1.
    centers : ndarray of shape (k, n_features), dtype float64
    """

    rows: NDArray[np.float64]
    weight: NDArray[np.float64]
    labels: NDArray[np.int32]
    centers: NDArray[np.float64]


@dataclass(frozen=True)
class ClusterChange:
    """One cluster before and after; all counts are weights.

    Attributes
    ----------
    before, after : int or None
        Its label on either side; None where it has no partner there.
    size_before, size_after : float
    kept : float
        In both cuts, and in this cluster in both.
    left, came : float
        In both cuts, and gone to or come from another cluster.
    gone, new : float
        In one cut only.
    center_stays : bool
        Whether both centers are the same row.
    """

    before: int | None
    after: int | None
    size_before: float
    size_after: float
    kept: float
    left: float
    came: float
    gone: float
    new: float
    center_stays: bool


@dataclass(frozen=True)
class CutDifference:
    """What moved between two cuts.

    Attributes
    ----------
    n_before, n_after : float
        Weight of all rows.
    n_common : float
        Weight that is in both.
    n_moved : float
        Of it, what is not in the partner of its cluster.
    clusters : tuple of ClusterChange
        Those before in their order, then those without a partner before.
    """

    n_before: float
    n_after: float
    n_common: float
    n_moved: float
    clusters: tuple[ClusterChange, ...]


def compare_cuts(before: LabelledRows, after: LabelledRows) -> CutDifference:
    """Match clusters one to one by the weight they have in common, and count what moved.

    O(n log n + k^3) time.
    """
    both = np.concatenate((before.rows, after.rows)) + 0.0  # -0.0 becomes 0.0
    where = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    at_a, at_b = where[: before.rows.shape[0]], where[before.rows.shape[0] :]
    weight_a, weight_b = (np.zeros(int(where.max(initial=-1)) + 1) for _ in range(2))
    weight_a[at_a], weight_b[at_b] = before.weight, after.weight
    common = np.minimum(weight_a, weight_b)
    label_a, label_b = (np.zeros(common.size, dtype=np.int64) for _ in range(2))
    label_a[at_a], label_b[at_b] = before.labels, after.labels
    k_a, k_b = before.centers.shape[0], after.centers.shape[0]
    shared = _add_up(label_a * k_b + label_b, common, k_a * k_b).reshape(k_a, k_b)
    size_a = _add_up(before.labels, before.weight, k_a)
    size_b = _add_up(after.labels, after.weight, k_b)
    partner = dict(zip(*(side.tolist() for side in linear_sum_assignment(-shared)), strict=True))
    pairs: list[tuple[int | None, int | None]] = [
        (a, partner[a] if a in partner and shared[a, partner[a]] > 0.0 else None)
        for a in range(k_a)
    ]
    taken = {b for _, b in pairs}
    pairs += [(None, b) for b in range(k_b) if b not in taken]
    clusters = tuple(_describe(a, b, shared, size_a, size_b, before, after) for a, b in pairs)
    return CutDifference(
        n_before=float(before.weight.sum()),
        n_after=float(after.weight.sum()),
        n_common=float(common.sum()),
        n_moved=float(common.sum()) - sum(change.kept for change in clusters),
        clusters=clusters,
    )


def _add_up(
    place: NDArray[np.integer], weight: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    return np.bincount(place, weights=weight, minlength=size).astype(np.float64)


def _describe(
    a: int | None,
    b: int | None,
    shared: NDArray[np.float64],
    size_a: NDArray[np.float64],
    size_b: NDArray[np.float64],
    before: LabelledRows,
    after: LabelledRows,
) -> ClusterChange:
    kept = 0.0 if a is None or b is None else float(shared[a, b])
    stayed_a = 0.0 if a is None else float(shared[a].sum())
    stayed_b = 0.0 if b is None else float(shared[:, b].sum())
    total_a = 0.0 if a is None else float(size_a[a])
    total_b = 0.0 if b is None else float(size_b[b])
    same = a is not None and b is not None and np.array_equal(before.centers[a], after.centers[b])
    return ClusterChange(
        before=a,
        after=b,
        size_before=total_a,
        size_after=total_b,
        kept=kept,
        left=stayed_a - kept,
        came=stayed_b - kept,
        gone=total_a - stayed_a,
        new=total_b - stayed_b,
        center_stays=bool(same),
    )
