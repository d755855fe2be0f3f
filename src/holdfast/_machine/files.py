"""Files that are written completely or not at all, by one program at a time; pipes."""

import contextlib
import io
import os
import select
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_TURN_SECONDS = 0.2
# Windows refuses to replace a file while anybody reads it, if only a virus scanner.
_REPLACE_SECONDS = 2.0 if os.name == "nt" else 0.0
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


def file_state(path: str | os.PathLike[str] | int) -> tuple[int, ...]:
    """Return numbers that differ after a file was replaced or written to; none without a file."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextlib.contextmanager
def hold_file(path: str | os.PathLike[str], waiting: Callable[[], object]) -> Iterator[None]:
    """Hold an existing file or folder, so that nobody else who holds it reads or replaces it meanwhile.

    It may be replaced while it is held. `waiting` is called once if another program holds it. Where
    the system or the file system has no such locks, this does nothing.
    """
    with contextlib.ExitStack() as stack:
        while fcntl is not None:
            try:
                held = os.open(path, os.O_RDONLY)
                stack.callback(os.close, held)
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(held, fcntl.LOCK_EX)
            except OSError:  # as on some network file systems
                break
            if file_state(held)[:2] == file_state(path)[:2]:
                break  # otherwise, it was replaced while this waited
        yield


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any]) -> None:
    """Let `write` fill a temporary file, then rename it: the old file stays until it is whole."""
    target = Path(path)
    part = target.with_name(f".{target.name[:200]}.{uuid.uuid4().hex}.part")
    try:
        # tempfile would ignore the umask: only the owner could read its files.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        _replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _replace(part: Path, target: Path) -> None:
    """Rename a file over another one; where a reader can forbid it, try for a while."""
    end = time.monotonic() + _REPLACE_SECONDS
    while True:
        try:
            os.replace(part, target)
            return
        except PermissionError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.05)
