"""Files that are written completely or not at all."""

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["write_whole"]


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
