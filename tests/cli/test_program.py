"""The installed program, as shells see it."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.cli import app
from holdfast.cli.options import EPSILON
from holdfast.parameters import AUTO_EPSILON

PROGRAM = Path(sys.executable).with_name("holdfast")


STARTED: list[subprocess.Popen] = []


@pytest.fixture(autouse=True)
def _leave_no_program():
    """End what a failed test left running: its pipes would warn in the middle of a later test."""
    yield
    while STARTED:
        with STARTED.pop() as process:
            process.kill()


def start(*arguments: object, **options) -> subprocess.Popen:
    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    STARTED.append(process)
    return process


def run(*arguments: object, **options) -> tuple[int, str, str]:
    process = start(*arguments, **options)
    out, err = process.communicate()
    return process.returncode, out or "", err


@pytest.fixture
def many(folder) -> Path:
    """A table whose labels fill more than one pipe."""
    path = folder / "many.csv"
    path.write_text("x,y\n" + "".join(f"{i % 997},{i * i % 1009}\n" for i in range(40_000)))
    return path


def test_exit_codes_and_streams(people):
    code, out, err = run("fit", people, "-k", 3, "--id", "id")
    assert code == 0, err
    assert out.startswith("id,cluster_3,center_from\np0,")
    assert out.count("\n") == 61
    assert err.startswith(
        "holdfast: 60 rows, 4 columns: town, height, width, count; numbers divided"
    )
    code, out, err = run("fit", "nothing.csv")
    assert (code, out) == (2, "")
    assert err == "holdfast: there is no file nothing.csv.\n"


def test_debug_shows_the_traceback(people):
    code, _, err = run("fit", people, "--columns", "none", "--debug")
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("holdfast: --columns")


def test_a_reader_that_leaves_early_hurts_nobody(many):
    process = start("fit", many, "-k", 5, "--model", "m.holdfast", "--quiet")
    assert process.stdout.readline() == "row,cluster_5,center_from\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 141
    assert Path("m.holdfast").exists()


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_long_results_are_written_whole(many, form):
    process = start("fit", many, "-k", 5, "-q", *form, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout.read(1) in ("r", "{")
    time.sleep(0.5)  # the pipe is full now
    rest = process.stdout.read()
    assert process.communicate() == ("", "")
    if form:
        assert len(json.loads("{" + rest)["rows"]["cluster_5"]) == 40_000
    else:
        assert rest.count("\n") == 40_001


def test_pipes_on_both_sides(many):
    command = f"head -n 501 {many} | {PROGRAM} fit - -k 2 -q | head -n 2; echo ${{PIPESTATUS[1]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines()[0] == "row,cluster_2,center_from"
    assert done.stdout.splitlines()[-1] in ("0", "141")  # 500 rows may fit into the pipe
    assert done.stderr == ""


def test_interrupt_leaves_no_file_and_no_traceback(folder):
    # The program waits for its standard input, which stays open.
    process = start("fit", "-", "-o", "labels.csv", stdin=subprocess.PIPE)
    time.sleep(0.2)
    process.stdin.write("a,b\n1,2\n")
    process.stdin.flush()
    _wait_until_reading(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err == "holdfast: interrupted.\n"
    assert os.listdir(folder) == []


def _wait_until(what, process) -> None:
    deadline = time.monotonic() + 120.0
    while not what():
        assert process.poll() is None, f"it ended too early: {process.stderr.read()}"
        assert time.monotonic() < deadline, "it does not get there"
        time.sleep(0.02)


def _processes_of(session: int) -> list[int]:
    """Running processes of a session, zombies left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def test_a_terminated_fit_leaves_no_part_of_a_file(many, folder):
    process = start("fit", many, "-k", "2-100", "-o", "l.csv", "-q")
    written = folder / "l.csv"
    _wait_until(lambda: len(os.listdir(folder)) > 1, process)  # under its temporary name
    assert not written.exists()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (143, "")
    assert set(os.listdir(folder)) <= {"many.csv", "l.csv"}
    if written.exists():  # the request came after the last row
        with written.open("rb") as file:
            assert sum(1 for _ in file) == 40_001


def test_a_fit_terminated_while_it_reads(folder):
    os.mkfifo(folder / "in.csv")
    process = start("fit", "in.csv", "-k", 3, "-o", "l.csv", "--model", "m.holdfast")
    with open(folder / "in.csv", "wb") as pipe:  # waits until somebody reads
        pipe.write(b"a,b\n1,2\n")
        pipe.flush()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (143, "")
    assert os.listdir(folder) == ["in.csv"]


def test_a_request_to_end_counts_whatever_comes_out_of_it(monkeypatch, capsys):
    """A library that is interrupted in its work may raise an error of its own."""

    def breaks(**values):
        app._end_requests.append(signal.SIGTERM)
        raise RuntimeError("cannot schedule new futures")

    monkeypatch.setattr(app, "_end_requests", [])
    with pytest.raises(SystemExit) as end:
        app.guard_command(breaks)()
    assert end.value.code == 143
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", -2)])
def test_a_request_to_end_that_python_ignores_is_repeated(name, code):
    """An exception in __del__ is ignored, as is one in a callback before or after a fork."""
    program = f"""
import signal, time
from holdfast.cli.app import unwind_on_termination

class Deaf:
    def __del__(self):
        signal.raise_signal(signal.{name})

unwind_on_termination()
Deaf()
for _ in range(600):
    time.sleep(0.1)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == code
    assert b"Deaf" not in done.stderr  # not told twice


def test_a_terminated_audit_leaves_no_worker(many, folder):
    process = start(
        "audit", many, "--methods", "ward", "--sample", 3000, "--jobs", 2, "--trials", 2000,
        "-o", "a.csv", "--checkpoint", "kept", start_new_session=True,
    )  # fmt: skip
    _wait_until(lambda: len(_processes_of(process.pid)) >= 3, process)  # itself and two workers
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 143
    assert "Traceback" not in err
    assert not (folder / "a.csv").exists()
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]
    deadline = time.monotonic() + 30.0
    while _processes_of(process.pid):
        assert time.monotonic() < deadline, "workers go on"
        time.sleep(0.1)


def _wait_until_reading(pid: int) -> None:
    """Wait until pyarrow is loaded: then the program is about to read, or reads."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        if "libarrow" in Path(f"/proc/{pid}/maps").read_text():
            time.sleep(1.0)
            return
        time.sleep(0.1)
    pytest.fail("the program did not start to read")


def test_full_disk(people, folder):
    if not Path("/dev/full").exists():
        pytest.fail("this test needs /dev/full, which Linux has")
    with open("/dev/full", "w") as full:
        code, _, err = run("fit", people, "-k", 3, "-q", stdout=full)
    assert code == 1
    assert err == "holdfast: standard output cannot be written: no space left on device.\n"


def test_file_size_limit(many, folder, holdfast):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    # Kernels that are not compiled yet would be stored now, and meet the limit too.
    assert holdfast("fit", many, "-k", 3, "-q").code == 0
    code, _, err = run("fit", many, "-k", 3, "-q", "-o", "l.csv", preexec_fn=limit)
    assert code == 1
    assert "l.csv cannot be written: file too large" in err
    assert os.listdir(folder) == ["many.csv"]


def test_completion(folder):
    environment = {
        **os.environ,
        "_HOLDFAST_COMPLETE": "complete_bash",
        "COMP_WORDS": "holdfast pre",
        "COMP_CWORD": "1",
    }
    code, out, _ = run(env=environment)
    assert (code, out.split()) == (0, ["predict"])
    # Which shell it is, is seen from the parent processes, unless this is set.
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    code, out, err = run("--show-completion", "bash", env=environment)
    assert code == 0, err
    assert "_HOLDFAST_COMPLETE" in out


def test_help_loads_nothing_heavy():
    script = (
        "import json, sys\n"
        "from holdfast.cli.app import run_program\n"
        "code = run_program(['--help'])\n"
        "print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    assert "predict" in done.stdout
    assert not {"numpy", "numba", "sklearn", "pyarrow", "scipy"} & set(modules)


def test_without_the_extra_one_line_says_what_to_do():
    script = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name: None if name == 'pyarrow' else find(name)\n"
        "from holdfast.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "pip install 'holdfast[cli]'" in done.stderr


def test_help_names_the_defaults_of_epsilon():
    text = EPSILON[1]
    for method, value in AUTO_EPSILON.items():
        assert f"{value:g} for {method}" in text
