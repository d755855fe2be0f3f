"""Files that nobody should write: archives with right checksums and wrong contents, and ZIP tricks."""

import json
import signal
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.storage.archive import (
    DESCRIPTION,
    Member,
    array_header,
    directory,
    local_header,
    read_archive,
    write_archive,
)

SECONDS = 60.0
"""CPU time after which a reader counts as one that does not end."""


@contextmanager
def bounded(n_bytes: int) -> Iterator[None]:
    """Fail where the block allocates more than `n_bytes` at a time, or does not end."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {SECONDS} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    assert peak <= n_bytes, f"{peak} bytes at a time"


def change(source: Path, target: Path, edit: Callable[[dict, dict], object]) -> Path:
    """Copy an archive with its metadata and arrays edited in place, and all checksums right."""
    archive = read_archive(source)
    metadata = json.loads(json.dumps(archive.metadata))
    arrays = {name: array.copy() for name, array in archive.arrays.items()}
    edit(metadata, arrays)
    write_archive(target, archive.kind, metadata, arrays)
    return target


def pack(text: bytes, arrays: dict[str, tuple[bytes, bytes]] | None = None) -> bytes:
    """Make an archive of any description and any (header, data) per array, with right CRCs."""
    members = [Member(DESCRIPTION, 0, len(text), zlib.crc32(text))]
    out = [local_header(members[0]), text]
    for name, (header, data) in (arrays or {}).items():
        body = header + data
        members.append(Member(f"{name}.npy", members[-1].end, len(body), zlib.crc32(body)))
        out += [local_header(members[-1]), body]
    return b"".join([*out, directory(members)])


def describe(**fields: Any) -> dict[str, Any]:
    """A description that is right but for the given fields; None removes one."""
    found = {
        "format": "holdfast",
        "version": 1,
        "kind": "hierarchy",
        "holdfast": "0",
        "metadata": {},
        "arrays": {},
        **fields,
    }
    return {name: value for name, value in found.items() if value is not None}


def to_text(description: Any) -> bytes:
    """Write a description in the one form that is accepted."""
    return json.dumps(description, indent=1, sort_keys=True).encode() + b"\n"


def npy(array: np.ndarray) -> tuple[bytes, bytes]:
    return array_header(array.dtype, array.shape), array.tobytes()
