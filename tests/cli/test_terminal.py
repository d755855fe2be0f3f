"""On a terminal, every command that can take long shows a bar, if it can be known with the time left."""

import os
import pty
import re
import sys
import threading

import numpy as np
import pytest

from holdfast.cli import console
from holdfast.cli.app import run_program


class Screen:
    """A pseudo-terminal in the place of standard error, read as it is written."""

    def __init__(self, monkeypatch):
        self.master, slave = pty.openpty()
        self.stream = os.fdopen(slave, "w")
        self.parts = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        monkeypatch.setattr(sys, "stderr", self.stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")

    def _read(self):
        while True:
            try:
                part = os.read(self.master, 1 << 16)
            except OSError:  # the other side is closed
                return
            if not part:
                return
            self.parts.append(part)

    def close(self) -> list[str]:
        """Lines that were ever shown, without the codes that move the cursor."""
        self.stream.close()
        self.reader.join(60.0)
        os.close(self.master)
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(self.parts).decode())
        return [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]


class PatientBar(console._Bar):
    """A bar that draws whatever it is told, however fast that is."""

    def __init__(self, what):
        super().__init__(what)
        self._start.join()

    def __call__(self, what, done, total):
        super().__call__(what, done, total)
        self._bar.refresh()


@pytest.fixture
def on_terminal(folder, monkeypatch):
    """Run the program on a terminal, with bars that show every step and every percent."""
    monkeypatch.setattr(console, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(console, "_Bar", PatientBar)

    def run(*arguments):
        with monkeypatch.context() as patch:
            screen = Screen(patch)
            try:
                code = run_program([str(argument) for argument in arguments])
            finally:
                lines = screen.close()
        assert code == 0, lines
        return lines

    return run


@pytest.fixture
def rows(folder):
    """Six hundred rows in three groups, as a table and as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3)) + 10.0 * rng.integers(3, size=(600, 1))
    np.savetxt(folder / "rows.csv", x, delimiter=",", header="a,b,c", comments="")
    pq.write_table(pa.table(dict(zip("abc", x.T, strict=True))), folder / "rows.parquet")
    return folder


def shown(lines, what):
    """Whether a bar of this name was ever there."""
    return any(re.match(rf"{what}.*\d:\d\d$", line) for line in lines)


def shown_left(lines, what):
    """Whether a bar of this name ever told the time left."""
    return any(re.match(rf"{what}.*\d+% \S+:\S\S \d:\d\d:\d\d$", line) for line in lines)


@pytest.mark.parametrize(("method", "what"), [("means", "fitting"), ("tree", "clustering")])
def test_fits_and_what_follows(on_terminal, rows, method, what):
    lines = on_terminal(
        "fit", "rows.csv", "-k", 3, "--method", method, "-o", "l.csv", "--model", "m.holdfast"
    )
    assert shown_left(lines, "reading rows.csv")
    assert shown(lines, what)
    assert shown(lines, "writing m.holdfast")
    assert shown_left(on_terminal("predict", "m.holdfast", "rows.csv", "-o", "p.csv"), "labeling")
    lines = on_terminal("update", "m.holdfast", "--add", "rows.csv", "--to", "n.holdfast")
    assert shown(lines, f"({what}|clustering the remaining rows)")
    assert shown_left(lines, "comparing")
    assert shown_left(on_terminal("diff", "m.holdfast", "n.holdfast"), "comparing")


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_files_in_parts(on_terminal, rows, name):
    lines = on_terminal("fit", name, "--chunked", "-k", 3, "-o", "l.csv", "--model", "m.holdfast")
    assert shown_left(lines, "measuring columns of")
    assert shown(lines, "(clustering|fitting)")
    assert shown_left(lines, "writing l.csv")
    lines = on_terminal("predict", "m.holdfast", name, "--chunked", "-o", "p.csv")
    assert shown_left(lines, "writing p.csv")


def test_an_audit_is_one_bar_over_all_methods(on_terminal, rows):
    lines = on_terminal(
        "audit", "rows.csv", "--methods", "medoids,tree", "-k", 3, "--delete", "5%",
        "--trials", 8, "--jobs", 1,
    )  # fmt: skip
    seen = re.findall(r"(medoids|tree) \(. of 2\).* (\d+)%", "\n".join(lines))
    shares = [int(share) for _, share in seen]
    assert {name for name, _ in seen} == {"medoids", "tree"}
    assert shares == sorted(shares), "the bar went back"
    assert 0 == shares[0] < 50 in shares
    assert shares[-1] == 100
    assert shown_left(lines, "medoids")


def test_a_search_tells_of_each_fit(on_terminal, rows):
    lines = on_terminal(
        "tune", "rows.csv", "-k", 3, "--target-moved", "50%", "--trials", 4, "--jobs", 1
    )
    assert shown_left(lines, "trying values of epsilon")


def test_reports_are_one_bar_over_all_parts(on_terminal, rows):
    lines = on_terminal(
        "report", "rows.csv", "-k", 3, "--methods", "ward", "--trials", 4, "--jobs", 1
    )
    shares = [int(share) for share in re.findall(r" (\d+)% ", "\n".join(lines))]
    for part in (
        "measuring holdfast",
        "measuring Ward linkage",
        "finding rows",
        "examining epsilon",
    ):
        assert shown_left(lines, part), part
    reading = [i for i, line in enumerate(lines) if line.startswith("reading")]
    assert shares[len(reading) :] == sorted(shares[len(reading) :]), "the bar went back"


def test_experiments_tell_the_time_left(on_terminal, folder, monkeypatch):
    from holdfast._machine import work as lines_of_library

    monkeypatch.setattr(lines_of_library, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(lines_of_library, "_SECONDS_BETWEEN", {True: 0.0, False: 0.0})
    lines = on_terminal(
        "reproduce", "--quick", "--panels", "clusterability", "--out", "r", "--jobs", 1
    )
    assert any(
        re.search(r"s of work for clusterability, estimated \(\d+%\), .* left", line)
        for line in lines
    )
