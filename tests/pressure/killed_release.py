"""Write a lineage and a model in processes that are killed: ``python killed_release.py FOLDER``.

Each process is forked from this one, so that nothing is imported or fitted again. It kills itself
before its n-th call that changes files. Prints the number of processes.
"""

import itertools
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lineage.weeks import make_weeks

import holdfast
from holdfast import HierarchicalKMedian, Lineage

STEPS = {"mkdir", "open", "flock", "flush", "fsync", "close", "replace", "unlink"}
EVERY = 10  # of the many writes
NEW = "model.holdfast"
LABELS = ("first", "second")


def write_release(models: list[Any]) -> None:
    """Do what a scheduled run does: append what is missing, then replace the model."""
    lineage = Lineage("series")
    for label, model in list(zip(LABELS, models, strict=True))[max(len(lineage) - 1, 0) :]:
        lineage.append(model, label=label, time="2026-01-01T00:00:00+00:00", levels=(2, 3))
    models[-1].save(NEW)


def die_at(n: int) -> None:
    """Kill this process at its n-th call that changes files."""
    counts = {"write": itertools.count(), "other": itertools.count(1)}

    def look(_frame: Any, event: str, function: Any) -> None:
        name = getattr(function, "__name__", "") if event == "c_call" else ""
        counted = name in STEPS or (name == "write" and next(counts["write"]) % EVERY == 0)
        if counted and next(counts["other"]) == n:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(look)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def is_temporary(name: str) -> bool:
    return name.endswith(".part")


def check(after: dict[str, bytes], old: bytes, whole: dict[str, bytes]) -> None:
    """Every file is the old one or the new one; the lineage and the model can be read."""
    for name, content in after.items():
        known = {whole.get(name), old if name == NEW else None}
        assert is_temporary(name) or content in known, name
    assert len([release.model() for release in Lineage("series")]) <= len(LABELS)
    holdfast.load(NEW)


def main(folder: Path) -> None:
    weeks = list(make_weeks(2, 40, 2))
    first = HierarchicalKMedian(3, max_centers=3).fit(weeks[0][1], ids=weeks[0][0])
    models = [first, first.follow(weeks[1][1], ids=weeks[1][0], levels=(2, 3))]
    run = folder / "run"

    first.save(folder / NEW)
    old = (folder / NEW).read_bytes()

    def start() -> None:
        os.chdir(folder)
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        os.chdir(run)
        Path(NEW).write_bytes(old)

    start()
    write_release(models)
    whole, seen = files_of(run), set()
    for n in itertools.count(1):
        start()
        process = os.fork()
        if not process:
            die_at(n)
            write_release(models)
            os._exit(0)
        ended = os.waitpid(process, 0)[1]
        after = files_of(run)
        check(after, old, whole)
        seen.add(frozenset(name for name in after if not is_temporary(name)))
        write_release(models)  # again, as a scheduler would
        again = {name: content for name, content in files_of(run).items() if not is_temporary(name)}
        assert again == whole
        assert not any(map(is_temporary, os.listdir("series")))
        if not os.WIFSIGNALED(ended):
            assert ended == 0
            break
        assert os.WTERMSIG(ended) == signal.SIGKILL
    assert len(seen) == 3  # no release, one, both
    print(n)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
