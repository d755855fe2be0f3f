"""Today's clusters against yesterday's: the same cluster, the same name."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.stability.measures import Labels, match_clusters, overlap_table

__all__ = ["match_labels"]


def match_labels(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    reference_ids: ArrayLike | None = None,
    new_ids: ArrayLike | None = None,
    noise: Any = None,
) -> NDArray[Any]:
    """Rename the clusters of `new` so that they keep the names they had in `reference`.

    Clusters are matched one to one with the largest number of rows in common. A cluster of `new`
    without a partner gets a name that `reference` does not have: the next integers, or "new 1",
    "new 2", ... among strings.

    Parameters
    ----------
    reference : array-like of shape (n_reference,)
        Yesterday's labels: integers or strings.
    new : array-like of shape (n_new,)
        Today's labels.
    reference_ids, new_ids : array-like of shape (n_reference,) and (n_new,), default=None
        What identifies a row, each once. None: row i is row i on both sides, which must be equally
        long.
    noise : int or str, default=None
        A label that means "no cluster", such as -1: it stays itself and is never matched.

    Returns
    -------
    ndarray of shape (n_new,)
        `new`, renamed; of the dtype of `reference`, longer where the names need it.
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
    match = match_clusters(table)
    partner: dict[int, Any] = {
        int(b): old_names[a]
        for a, b in zip(match.before, match.after, strict=True)
        if table[a, b] > 0
    }
    fresh = _fresh_names(old_names)
    renamed = [
        noise if name == noise else partner[b] if b in partner else next(fresh)
        for b, name in enumerate(new_names.tolist())
    ]
    return np.array(renamed)[new_codes]


def _differ(names: NDArray[Any], noise: Any) -> NDArray[np.bool_]:
    return np.array([name != noise for name in names.tolist()], dtype=np.bool_)


def _check_labels(what: str, labels: ArrayLike) -> NDArray[Any]:
    array = np.asarray(labels)
    if array.dtype.kind == "O" and all(isinstance(label, str) for label in array.flat):
        array = array.astype(np.str_)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuUb":
        raise ValueError(
            f"{what} must be a list of labels, integers or strings, at least one; got {array.dtype} "
            f"of shape {array.shape}."
        )
    return array


def _common_rows(
    old: NDArray[Any], new: NDArray[Any], old_ids: ArrayLike | None, new_ids: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the same rows in both."""
    if (old_ids is None) != (new_ids is None):
        raise ValueError("give ids for both sides or for none.")
    if old_ids is None or new_ids is None:
        if old.size != new.size:
            raise ValueError(
                f"reference has {old.size} labels and new has {new.size}; pass reference_ids and "
                "new_ids to say which rows are the same."
            )
        return np.arange(old.size), np.arange(old.size)
    known = _check_ids("reference_ids", old_ids, old.size)
    today = _check_ids("new_ids", new_ids, new.size)
    _, old_rows, new_rows = np.intersect1d(known, today, assume_unique=True, return_indices=True)
    if old_rows.size == 0:
        raise ValueError("reference_ids and new_ids have no id in common: nothing can be matched.")
    return old_rows, new_rows


def _check_ids(what: str, ids: ArrayLike, n_rows: int) -> NDArray[Any]:
    array = np.asarray(ids)
    if array.shape != (n_rows,):
        raise ValueError(
            f"{what} must have one id for each of {n_rows} labels; got shape {array.shape}."
        )
    distinct, counts = np.unique(array, return_counts=True)
    if distinct.size < n_rows:
        raise ValueError(f"{what} must differ; {distinct[counts.argmax()]!r} occurs again.")
    return array


def _fresh_names(taken: NDArray[Any]) -> Iterator[Any]:
    """Names that are not taken: the next integers, or numbered strings."""
    if taken.dtype.kind == "U":
        known = set(taken.tolist())
        return (name for i in count(1) if (name := f"new {i}") not in known)
    return count(int(taken.max()) + 1)
