"""Ids of rows -> arrays of an archive, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_unique", "pack_ids", "unpack_ids"]


def pack_ids(ids: NDArray[Any] | None, prefix: str = "ids") -> tuple[str, dict[str, NDArray[Any]]]:
    """Convert ids to arrays whose names start with a prefix; return their kind and the arrays.

    Integers and hashes stay as they are. Texts are concatenated in UTF-8, with the end of each.
    """
    if ids is None:
        return "none", {}
    if ids.dtype.kind == "u":
        return "keys", {f"{prefix}.keys": ids.astype(np.uint64)}
    if ids.dtype.kind == "i":
        return "integers", {f"{prefix}.integers": ids.astype(np.int64)}
    listed = [str(text) for text in ids.tolist()]
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
    starts = np.concatenate(([0], ends[:-1]))
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
