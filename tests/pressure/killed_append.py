"""Kill appends at many moments, and see what is left: ``python killed_append.py FOLDER``.

Each append runs in a process of its own that kills itself (SIGKILL) before it runs a certain line of
the library. Prints JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lineage.chain import build_chain

from holdfast import Lineage

_MOST_KILLS = 40


def append(folder: Path, number: int, last_line: int) -> int:
    """Append release `number`; be killed before the given line. Returns the number of lines."""
    lines = 0

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        if "holdfast" not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines += 1
            if lines == last_line:
                os.kill(os.getpid(), signal.SIGKILL)
        return watch

    model = build_chain()[number]
    sys.settrace(watch)
    Lineage(folder).append(model, label=f"week {number}", levels=[2, 3])
    sys.settrace(None)
    return lines


def in_child(folder: Path, number: int, last_line: int) -> bool:
    """Append in a process of its own; whether it was killed."""
    child = os.fork()
    if child == 0:
        append(folder, number, last_line)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main() -> None:
    folder = Path(sys.argv[1])
    for number in range(2):
        append(folder, number, -1)
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    n_lines = append(folder, 2, -1)
    third = folder / "000002.release"
    found: dict[str, Any] = {"kills": 0, "before": 0, "after": 0, "parts": 0}
    for line in range(1, n_lines, max(1, n_lines // _MOST_KILLS)):
        third.unlink()
        found["kills"] += in_child(folder, 2, line)
        opened = Lineage(folder)
        assert opened.labels == [release.label for release in opened], "all of it can be read"
        found["before" if len(opened) == 2 else "after"] += 1
        found["parts"] += any(path.suffix == ".part" for path in folder.iterdir())
        append(folder, 2, -1)  # the same again completes it
        now = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert now.keys() == {*kept, third.name}, "nothing else remains"
        assert all(now[name] == data for name, data in kept.items()), "old files are unchanged"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
