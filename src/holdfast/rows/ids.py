"""Ids by which rows are found again, also in files; rows that left."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.jit import Floats, Ints

MOST_REMEMBERED = 1 << 20
"""Rows that left and are remembered, at most; and at most as many as today's rows."""

_AHEAD = 64  # ids among which the next one is looked for
_STRIDE = 16  # ids that are compared at once


@dataclass(frozen=True, eq=False)
class DepartedRows:
    """Rows that left, the latest first: who they were, and the name of their finest cluster."""

    ids: NDArray[Any]  # (n,): ids, or hashes (uint64) of rows without ids
    names: Ints  # (n,)
    level: int  # the number of clusters among which the names are


def check_ids(X: Any, ids: ArrayLike | None, n_rows: int, name: str = "ids") -> NDArray[Any] | None:
    """Check ids: unique integers or strings, one per row; errors call them by `name`.

    Without ids, those of prepared rows or the index of a DataFrame is taken if it is unique and does
    more than count rows.
    """
    if ids is None:
        index = getattr(X, "index", None) if hasattr(X, "iloc") else getattr(X, "ids", None)
        if type(index).__module__.partition(".")[0] not in ("pandas", "numpy"):
            return None
        if type(index).__name__ == "RangeIndex":
            return None
        with contextlib.suppress(ValueError):
            return check_ids(None, np.asarray(index), n_rows)
        return None
    # NumPy would turn a list of texts with a missing one, or with a number, into texts.
    array = np.asarray(ids, dtype=None if hasattr(ids, "dtype") else object)
    if np.ma.is_masked(ids):
        raise ValueError(f"{name} must be integers or strings, none missing; got masked ones.")
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have one id per row, shape ({n_rows},); got {array.shape}.")
    found = normal_ids(array, name)
    if not _are_unique(found):
        values, counts = np.unique(found, return_counts=True)
        (most,) = values[[counts.argmax()]].tolist()
        shown = str.__repr__(most) if isinstance(most, str) else most
        raise ValueError(
            f"{name} must be unique; got {shown} {counts.max()} times. Keep one row of each."
        )
    _check_text(found, name)
    return found


def identify_rows(ids: NDArray[Any] | None, keyed_by: Any, n_rows: int) -> Floats:
    """Identify rows of distances: by `keyed_by`, or ids, or positions, in halves of 32 bits."""
    if keyed_by is not None:
        from sklearn.utils import check_array

        values: Floats = check_array(keyed_by, dtype=np.float64, input_name="keyed_by", order="C")
        if values.shape[0] != n_rows:
            raise ValueError(
                f"keyed_by must have one row for each of the {n_rows} rows of X; got "
                f"{values.shape[0]}."
            )
        return values
    known: NDArray[Any] = np.arange(n_rows) if ids is None else ids
    if known.dtype == object:
        digests = (blake2b(str(name).encode(), digest_size=8).digest() for name in known)
        known = np.frombuffer(b"".join(digests), dtype="<i8")
    numbers = known.astype(np.int64).view(np.uint64)
    halves = (numbers >> np.uint64(32), numbers & np.uint64(0xFFFFFFFF))
    return np.column_stack(halves).astype(np.float64)


def normal_ids(array: NDArray[Any], name: str = "ids") -> NDArray[Any]:
    """Integers as int64, strings as objects; anything else raises an error."""
    if array.dtype.kind in "iu":
        return _as_int64(array, name)
    if array.dtype.kind == "U":
        return array.astype(object)
    if array.dtype.kind == "O":
        kinds = {str if issubclass(kind, str) else int if _is_integer(kind) else kind
                 for kind in set(map(type, array.tolist()))}  # fmt: skip
        if kinds <= {str}:
            return array
        if kinds == {int}:
            return _as_int64(array, name)
        types = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"{name} must be all integers or all strings, none missing; got {types}. Convert them."
        )
    raise ValueError(
        f"{name} must be integers or strings, none missing; got dtype {array.dtype}. Convert them."
    )


def _as_int64(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if not -(1 << 63) <= low <= high < 1 << 63:
        wrong = high if high >= 1 << 63 else low
        raise ValueError(
            f"{name} that are integers must be from -2^63 to 2^63 - 1; got {wrong}. Use strings."
        )
    return array.astype(np.int64)


def _check_text(ids: NDArray[Any], name: str) -> None:
    """Refuse texts that cannot be written to a file."""
    if ids.dtype.kind != "O":
        return
    try:
        "".join(ids.tolist()).encode()
    except UnicodeEncodeError:
        for text in ids.tolist():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"{name} must be valid Unicode; got {str.__repr__(text)}. Replace its surrogates."
                ) from None


def find_ids(wanted: NDArray[Any], known: NDArray[Any], *, unique: bool = False) -> Ints:
    """Position of each id among known ones, or -1; `unique` texts in order are found faster."""
    place = np.full(wanted.size, -1, dtype=np.int64)
    if known.size == 0 or wanted.size == 0:
        return place
    if known.dtype.kind in "iu" and wanted.dtype.kind == known.dtype.kind:
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], wanted), known.size - 1)
        found = known[order[at]] == wanted
        place[found] = order[at[found]]
        return place
    if unique and 2 * wanted.size > known.size:
        walked = _walk_along(wanted.tolist(), known.tolist())
        if walked is not None:
            return walked
    listed, sought = zip(known.tolist(), range(known.size), strict=True), set()
    if 3 * wanted.size < known.size:  # a set of the few is faster than a dictionary of all
        sought = set(wanted.tolist())
    number = {who: i for who, i in listed if who in sought} if sought else dict(listed)
    found = map(number.get, wanted.tolist(), repeat(-1))
    return np.fromiter(found, dtype=np.int64, count=wanted.size)


def _walk_along(wanted: list[Any], known: list[Any]) -> Ints | None:
    """Find unique ids by walking along both lists; None if their orders differ too much."""
    missed: list[int] = []
    turns, shifts = [0], [0]  # from which wanted id on, the known one is so many places further
    i = p = 0
    while i < len(wanted):
        if wanted[i : i + _STRIDE] == known[p : p + _STRIDE]:
            i, p = i + _STRIDE, p + _STRIDE
            continue
        for who in wanted[i : i + _STRIDE]:
            if p >= len(known) or known[p] != who:
                turn = i
                try:
                    p = known.index(who, p, p + _AHEAD)
                except ValueError:
                    missed.append(i)
                    if len(missed) > _AHEAD + i // 8:
                        return None
                    turn, p = i + 1, p - 1  # the next one is looked for in the same place
                turns.append(turn)
                shifts.append(p - i)
            i, p = i + 1, p + 1
    found: Ints = np.arange(len(wanted))
    found += np.repeat(shifts, np.diff(turns, append=len(wanted)))
    passed = np.ones(len(known), dtype=np.bool_)
    found[missed] = -1
    passed[found[found >= 0]] = False
    number = {known[p]: p for p in np.flatnonzero(passed).tolist()}
    found[missed] = [number.get(wanted[i], -1) for i in missed]
    return found


def _are_unique(ids: NDArray[Any]) -> bool:
    if ids.dtype.kind == "O":
        return len(set(ids.tolist())) == ids.size
    ordered = np.sort(ids)
    return not (ordered[1:] == ordered[:-1]).any()


def _is_integer(kind: type) -> bool:
    return issubclass(kind, Integral) and not issubclass(kind, bool | np.bool_)


def pack_ids(ids: NDArray[Any] | None, prefix: str = "ids") -> tuple[str, dict[str, NDArray[Any]]]:
    """Convert ids to arrays with a prefix; return their kind, too. Texts are joined, in UTF-8."""
    if ids is None:
        return "none", {}
    if ids.dtype.kind == "u":
        return "keys", {f"{prefix}.keys": ids.astype(np.uint64)}
    if ids.dtype.kind == "i":
        return "integers", {f"{prefix}.integers": ids.astype(np.int64)}
    listed = ids.tolist()
    joined = "".join(listed)
    lengths = map(len, listed if joined.isascii() else (text.encode() for text in listed))
    ends = np.cumsum(np.fromiter(lengths, dtype=np.int64, count=len(listed)))
    texts = np.frombuffer(joined.encode(), dtype=np.uint8)
    return "texts", {f"{prefix}.texts": texts, f"{prefix}.ends": ends}


def unpack_ids(
    kind: Any, arrays: Mapping[str, NDArray[Any]], count: int, prefix: str = "ids"
) -> NDArray[Any] | None:
    """Convert arrays back to ids; nothing is trusted."""
    if kind == "none":
        return None
    if kind in ("integers", "keys"):
        ids, dtype = arrays.get(f"{prefix}.{kind}"), np.int64 if kind == "integers" else np.uint64
        if ids is None or ids.dtype != dtype or ids.shape != (count,):
            raise ValueError("it does not have one id for each row")
        return ids
    if kind != "texts":
        raise ValueError("its ids are of an unknown kind")
    texts, ends = arrays.get(f"{prefix}.texts"), arrays.get(f"{prefix}.ends")
    if texts is None or ends is None or texts.dtype != np.uint8 or texts.ndim != 1:
        raise ValueError("it has no ids")
    if ends.dtype != np.int64 or ends.shape != (count,):
        raise ValueError("it does not have one id for each row")
    starts = np.concatenate(([0], ends[:-1]))[:count]
    if (ends < starts).any() or (ends[-1] if count else 0) != texts.size:
        raise ValueError("the positions of its ids are not valid")
    whole = texts.tobytes()
    try:
        words = [whole[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    except UnicodeDecodeError:
        raise ValueError("an id is not UTF-8") from None
    return np.array(words, dtype=object)


def check_unique(ids: NDArray[Any] | None) -> NDArray[Any]:
    """Require ids without repeats."""
    if ids is None or len(set(ids.tolist())) < ids.size:
        raise ValueError("its ids are missing or not unique")
    return ids
