"""Files that are written completely or not at all; pipes that are read to their end."""

import io
import os
import select
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["read_pipe", "write_whole"]

_TURN_SECONDS = 0.2
_TURN_BYTES = 1 << 20


def read_pipe(file: IO[bytes]) -> bytes:
    """Read a pipe to its end; signals are handled meanwhile, whenever they come.

    ``file.read()`` does not see a signal that comes just before it waits, or in another thread, and
    waits on. This waits in short turns, and Python handles signals between them.
    """
    try:
        handle = file.fileno()
    except io.UnsupportedOperation:  # in memory
        return file.read()
    if os.name == "nt":  # which cannot wait for pipes
        return file.read()
    parts: list[bytes] = []
    while True:
        while not select.select([handle], [], [], _TURN_SECONDS)[0]:
            pass
        part = os.read(handle, _TURN_BYTES)
        if not part:
            return b"".join(parts)
        parts.append(part)


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under a temporary name in its folder, then rename it.

    After an error, a full disk or an interrupt, the old file is unchanged and no partial file
    remains.

    Parameters
    ----------
    path : str or path-like
        The file to create or replace.
    write : callable
        Receives the open binary file.
    """
    target = Path(path)
    part = target.with_name(f".{target.name[:200]}.{uuid.uuid4().hex}.part")
    try:
        # tempfile would ignore the umask: only the owner could read its files.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
