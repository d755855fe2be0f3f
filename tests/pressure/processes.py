"""Start a program in a session of its own, interrupt it, and see what it leaves behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 240.0  # seconds: far more than any of these programs needs, far less than for ever


@dataclass(frozen=True)
class Ended:
    """How an interrupted program ended."""

    code: int
    printed: str
    errors: str
    left_over: list[int]


def in_session(session: int) -> list[int]:
    """Processes of a session that are not gone: zombies count as well."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the program's name, which may hold anything: state, parent, group, session.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.append(int(entry.name))
    return found


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something that a program does; an error if it ends before."""
    end = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None:
            raise AssertionError(f"ended too early:\n{process.communicate()[1]}")
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def interrupt(
    command: list[str],
    ready: Callable[[int], bool],
    *,
    to_all: bool,
    delay: float = 0.0,
    folder: Path | None = None,
) -> Ended:
    """Run a command, press Ctrl-C when `ready` says so, and wait for its end.

    Parameters
    ----------
    command : list of str
    ready : callable
        Gets the process's number, which is that of its session too.
    to_all : bool
        Whether all processes get the signal, as from a terminal, or the first one only.
    delay : float
        Seconds to wait after `ready`.
    folder : Path
        To run it in.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=folder,
        # A shell that runs the tests in the background has switched Ctrl-C off for them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        wait_until(lambda: ready(process.pid), process)
        time.sleep(delay)
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        printed, errors = process.communicate(timeout=PATIENCE)
        end = time.monotonic() + 5.0  # workers notice that their parent is gone
        while in_session(process.pid) and time.monotonic() < end:
            time.sleep(0.05)
        return Ended(process.returncode, printed, errors, in_session(process.pid))
    finally:
        for number in in_session(process.pid):
            os.kill(number, signal.SIGKILL)
        process.wait()
