"""Ctrl-C: it ends in a bounded time, no process stays behind, no file is half written."""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pressure.processes import interrupt

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("kind", "delay"), [("tree", 0.0), ("tree", 0.4), ("greedy", 0.0), ("euclidean", 0.2)]
)
def test_fit(kind: str, delay: float, tmp_path: Path):
    mark = tmp_path / "mark"
    command = [sys.executable, str(HERE / "interrupted_fit.py"), kind, str(mark)]
    ended = interrupt(command, lambda pid: mark.exists(), to_all=False, delay=delay)
    assert ended.code == 0, ended.errors
    assert json.loads(ended.printed) == {
        "interrupted": True,
        "whole": True,
        "threads": 0,
        "works": True,
    }
    assert ended.left_over == []


@pytest.mark.parametrize("to_all", [False, True], ids=["to the parent", "to all"])
def test_average_sensitivity_in_two_processes(to_all: bool, tmp_path: Path):
    folder, mark = tmp_path / "run", tmp_path / "mark"
    command = [sys.executable, str(HERE / "interrupted_audit.py"), str(folder), str(mark)]
    ended = interrupt(command, lambda pid: mark.exists(), to_all=to_all, delay=0.5)
    assert ended.code == 0, ended.errors
    found = json.loads(ended.printed)
    assert found["complete"] is not True
    assert found["workers"] == []
    assert ended.left_over == []
    check_whole(folder)


PROGRAM = [sys.executable, "-c", "import sys; from holdfast.cli import main; sys.exit(main())"]
COMMANDS = {
    "audit": (
        [*PROGRAM, "audit", "rows.csv", "--methods", "ward", "--trials", "100000", "--jobs", "2"]
        + ["--checkpoint", "kept", "--out", "table.csv"],
        "kept/**/block-*.npz",
        1.0,
    ),
    "reproduce": (
        [*PROGRAM, "reproduce", "--quick", "--panels", "clnss", "--jobs", "2", "--out", "out"],
        "out/cells/*.json",
        1.0,
    ),
    "fit": (
        [*PROGRAM, "fit", "many.csv", "--chunked", "-k", "3", "--out", "table.csv"],
        ".table.csv.*.part",
        0.0,
    ),
}
"""Programs, the files of which the first shows that they are in the middle of it, and how long to
wait then. The first two use several processes; the third writes a file as a stream."""


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name: str, tmp_path: Path):
    command, begun, delay = COMMANDS[name]
    rows = np.random.RandomState(0).standard_normal((1500, 3))
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,c", comments="")
    if name == "fit":
        header, *lines = (tmp_path / "rows.csv").read_text().splitlines()
        (tmp_path / "many.csv").write_text("\n".join([header, *lines * 500]) + "\n")
    ended = interrupt(
        command, lambda pid: any(tmp_path.glob(begun)), to_all=True, delay=delay, folder=tmp_path
    )
    assert ended.code == 130, ended.errors
    assert "interrupted" in ended.errors
    assert "Traceback" not in ended.errors.partition("interrupted")[2]
    assert ended.left_over == []
    assert not (tmp_path / "table.csv").exists()
    check_whole(tmp_path)


def check_whole(folder: Path) -> None:
    """Every file can be read, and none has the name of an unfinished one."""
    for path in folder.rglob("*"):
        assert not path.name.endswith(".part")
        if path.suffix == ".json":
            json.loads(path.read_text())
        if path.suffix == ".npz":
            assert zipfile.ZipFile(path).testzip() is None
            with np.load(path, allow_pickle=False) as arrays:
                assert arrays.files
