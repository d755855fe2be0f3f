"""Lineages under pressure: processes that are killed or append at the same time."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pressure.processes import wait_until

from holdfast import Lineage

HERE = Path(__file__).parent

APPEND = """
import sys
from lineage.chain import build_chain
from holdfast import Lineage
lineage = Lineage(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    lineage.append(build_chain()[int(sys.argv[2])], label=sys.argv[3], levels=[2, 3])
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_releases_and_models_are_intact_after_a_kill_at_any_call(tmp_path):
    """The run that was killed is then repeated, and leaves the same bytes as one in peace."""
    command = [sys.executable, str(HERE / "killed_release.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


def test_processes_that_append_at_the_same_time_take_turns(tmp_path):
    folder = tmp_path / "series"
    from lineage.chain import build_chain

    Lineage(folder).append(build_chain()[0], label="week 0", levels=[2, 3])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", APPEND, str(folder), "1", f"run {i}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent,
        )
        for i in range(3)
    ]  # fmt: skip
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = [process.communicate("go\n")[0] for process in started]
    assert sorted(p.name for p in folder.iterdir()) == ["000000.release", "000001.release"]
    assert sorted("follows another one" in text for text in said) == [False, True, True]
    assert Lineage(folder)[-1].n_rows == 10


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_year_of_weekly_releases_survives_kills_with_flat_memory(tmp_path):
    """52 releases: killed, and continued from the latest; the same bytes as in one go."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, str(HERE / "follow_a_year.py")]
    done = subprocess.run([*command, str(whole)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    early, late = map(int, done.stdout.split())
    assert late < early + 3_000_000, "the models between take 14 MB, their releases 24 MB"
    process = subprocess.Popen(
        [*command, str(broken)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(list(broken.glob("*.release"))) >= 9, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    read = [release.label for release in Lineage(broken)]
    assert read == [f"week {i}" for i in range(len(read))]
    assert 9 <= len(read) < 52
    done = subprocess.run([*command, str(broken)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in (whole, broken)]
    assert len(files[0]) == 52
    assert files[0] == files[1]
    moved = Lineage(whole).levels()["moved"]
    assert (moved <= 0.05).all()
