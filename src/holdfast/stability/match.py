"""Two clusterings of data that changed in between: which cluster is which, and what moved."""

from __future__ import annotations  # short names in help()

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.jit import Floats
from holdfast.follow.report import name_events, partners_of
from holdfast.rows.ids import check_ids, find_ids
from holdfast.stability.measures import Labels, overlap_table


def match_labels(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    reference_ids: ArrayLike | None = None,
    new_ids: ArrayLike | None = None,
    noise: Any = None,
) -> NDArray[Any]:
    """Rename the clusters of `new` so that they keep their names in `reference`.

    Clusters are matched one to one with the largest number of rows in common. A cluster of `new`
    without a partner gets a name that `reference` does not use: the next integer, or "new 1",
    "new 2", ... for strings.

    Parameters
    ----------
    reference : array-like of shape (n_reference,)
        The earlier labels, integers or strings.
    new : array-like of shape (n_new,)
        The labels to rename.
    reference_ids, new_ids : array-like of shape (n_reference,) and (n_new,), default=None
        Unique row ids, integers or strings. If None, the rows of `reference` and `new` are the
        same, in the same order.
    noise : int or str, default=None
        A label that means "no cluster", such as -1. It is never matched or renamed.

    Returns
    -------
    ndarray of shape (n_new,)
        `new`, renamed, with the dtype of `reference` (wider where the names need it).
        O(n log n + k^3) time.

    Examples
    --------
    >>> from holdfast import match_labels
    >>> match_labels([0, 0, 1, 1, 2, 2], [7, 7, 5, 5, 5, 6])
    array([0, 0, 1, 1, 1, 2])
    >>> match_labels(["a", "b", "b"], [1, 0, 0, 2], reference_ids=[1, 2, 3], new_ids=[1, 2, 3, 4])
    array(['a', 'b', 'b', 'new 1'], dtype='<U5')
    """
    old, today = _check_labels("reference", reference), _check_labels("new", new)
    old_rows, new_rows = _common_rows(old, today, reference_ids, new_ids)
    old_names, old_codes = np.unique(old, return_inverse=True)
    new_names, new_codes = np.unique(today, return_inverse=True)
    before, after = old_codes[old_rows], new_codes[new_rows]
    clustered = _differ(old_names, noise)[before] & _differ(new_names, noise)[after]
    table = overlap_table(
        Labels(before[clustered], old_names.size), Labels(after[clustered], new_names.size)
    )
    partner = {b: old_names[a] for a, b in partners_of(table).items()}
    unused = _unused_names(old_names)
    renamed = [
        noise if name == noise else partner[b] if b in partner else next(unused)
        for b, name in enumerate(new_names.tolist())
    ]
    return np.array(renamed)[new_codes]


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Distinct rows with weights, the cluster of each, and the center of each cluster."""

    rows: Floats  # (n, n_features)
    weight: Floats  # (n,)
    labels: NDArray[np.int32]  # (n,): from 0 to the number of centers - 1
    centers: Floats  # (k, n_features)
    names: NDArray[np.int64] | None = None  # (k,): if both sides have them, they match clusters


@dataclass(frozen=True)
class ClusterChange:
    """One cluster before and after; all counts are weights."""

    before: int | None  # its labels; None where it has no partner
    after: int | None
    size_before: float
    size_after: float
    kept: float  # rows that are in this cluster before and after
    left: float  # rows that moved to another cluster
    joined: float  # rows that came from another cluster
    removed: float  # rows that exist only before
    added: float  # rows that exist only after
    same_center: bool  # whether both centers are the same row
    event: str = "kept"  # in the words of `HierarchicalKMedian.events_`
    other: int | None = None  # the cluster that split off, or that it merged into or split from


@dataclass(frozen=True)
class CutDifference:
    """What moved between two cuts."""

    n_before: float  # weight of all rows
    n_after: float
    n_common: float  # weight of the rows in both
    n_moved: float  # weight of the rows in both that are not in the partner of their cluster
    clusters: tuple[ClusterChange, ...]  # those before, then those without a partner before


def compare_cuts(before: LabeledRows, after: LabeledRows) -> CutDifference:
    """Match clusters one to one, by name or by the weight in common, and count what moved."""
    both = np.concatenate((before.rows, after.rows)) + 0.0  # -0.0 becomes 0.0
    where = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    at_a, at_b = where[: before.rows.shape[0]], where[before.rows.shape[0] :]
    weight_a, weight_b = (np.zeros(int(where.max(initial=-1)) + 1) for _ in range(2))
    weight_a[at_a], weight_b[at_b] = before.weight, after.weight
    common = np.minimum(weight_a, weight_b)
    label_a, label_b = (np.zeros(common.size, dtype=np.int64) for _ in range(2))
    label_a[at_a], label_b[at_b] = before.labels, after.labels
    k_a, k_b = before.centers.shape[0], after.centers.shape[0]
    shared = _sum_by(label_a * k_b + label_b, common, k_a * k_b).reshape(k_a, k_b)
    sizes = _sum_by(before.labels, before.weight, k_a), _sum_by(after.labels, after.weight, k_b)
    if before.names is None or after.names is None:
        partner = partners_of(shared)
    else:
        place = {name: b for b, name in enumerate(after.names.tolist())}
        known = enumerate(before.names.tolist())
        partner = {a: place[name] for a, name in known if name in place}
    events: dict[tuple[int, int], tuple[str, int]] = {}
    for a, b, event, other in name_events(shared, *sizes, partner):
        events.setdefault((a, b), (event, other))  # of a split, the first part
    padded = np.pad(shared, ((0, 1), (0, 1)))  # -1 stands for no cluster
    size_a, size_b = (np.append(size, 0.0) for size in sizes)
    clusters = tuple(
        ClusterChange(
            before=None if a < 0 else a,
            after=None if b < 0 else b,
            size_before=float(size_a[a]),
            size_after=float(size_b[b]),
            kept=float(padded[a, b]),
            left=float(padded[a].sum() - padded[a, b]),
            joined=float(padded[:, b].sum() - padded[a, b]),
            removed=float(size_a[a] - padded[a].sum()),
            added=float(size_b[b] - padded[:, b].sum()),
            same_center=min(a, b) >= 0 and np.array_equal(before.centers[a], after.centers[b]),
            event=event,
            other=None if other < 0 else other,
        )
        for (a, b), (event, other) in events.items()
    )
    return CutDifference(
        n_before=float(before.weight.sum()),
        n_after=float(after.weight.sum()),
        n_common=float(common.sum()),
        n_moved=float(common.sum()) - sum(change.kept for change in clusters),
        clusters=clusters,
    )


def _sum_by(place: NDArray[np.integer], weight: Floats, size: int) -> Floats:
    return np.bincount(place, weights=weight, minlength=size).astype(np.float64)


def _differ(names: NDArray[Any], noise: Any) -> NDArray[np.bool_]:
    return np.array([name != noise for name in names.tolist()], dtype=np.bool_)


def _check_labels(what: str, labels: ArrayLike) -> NDArray[Any]:
    array = np.asarray(labels)
    if array.dtype.kind == "O" and all(isinstance(label, str) for label in array.flat):
        array = array.astype(np.str_)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuUb":
        raise ValueError(
            f"{what} must be a non-empty sequence of labels, integers or strings; got "
            f"{array.dtype} of shape {array.shape}."
        )
    return array


def _common_rows(
    old: NDArray[Any], new: NDArray[Any], old_ids: ArrayLike | None, new_ids: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the same rows in both."""
    if (old_ids is None) != (new_ids is None):
        raise ValueError("pass both reference_ids and new_ids, or neither; got one of them.")
    if old_ids is None or new_ids is None:
        if old.size != new.size:
            raise ValueError(
                f"reference and new must have the same length; got {old.size} and {new.size}. "
                "Pass reference_ids and new_ids to say which rows are the same."
            )
        return np.arange(old.size), np.arange(old.size)
    known = check_ids(None, old_ids, old.size, "reference_ids")
    today = check_ids(None, new_ids, new.size, "new_ids")
    assert known is not None
    assert today is not None
    place = find_ids(today, known, unique=True)
    new_rows = np.flatnonzero(place >= 0)
    if new_rows.size == 0:
        raise ValueError(
            "reference_ids and new_ids must have ids in common; got none. Check that both are integers "
            "or both strings."
        )
    return place[new_rows], new_rows


def _unused_names(used: NDArray[Any]) -> Iterator[Any]:
    """Names for new clusters: the next integers, or numbered strings."""
    if used.dtype.kind == "U":
        known = set(used.tolist())
        return (name for i in count(1) if (name := f"new {i}") not in known)
    return count(int(used.max()) + 1)
