"""Files that are either whole or not there."""

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under another name in its folder, then rename it.

    Whatever happens on the way (an error, a full disk, an interrupt), the old file stays as it was
    and nothing half-written remains.

    Parameters
    ----------
    path : str or path-like
        The file to make or to replace.
    write : callable
        Gets the open binary file.
    """
    target = Path(path)
    part = target.with_name(f".{target.name[:200]}.{uuid.uuid4().hex}.part")
    try:
        # Not tempfile: its files are for their owner alone, whatever the umask says.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
