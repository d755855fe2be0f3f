"""Bars show on a terminal, after two seconds, and nowhere else."""

import io
import sys
import time

from holdfast.cli import progress
from holdfast.cli.progress import make_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_for(monkeypatch):
    """Put a terminal in the place of standard error; in a fixture, pytest would undo it."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def wait_for(text, screen):
    deadline = time.monotonic() + 60.0
    while text not in screen.getvalue():
        assert time.monotonic() < deadline, f"{text!r} is not shown"
        time.sleep(0.05)


def test_long_work_shows_share_and_time_left(monkeypatch):
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.05)
    with make_bar("measuring", shown=True) as bar:
        bar.update(1, 4)
        wait_for("25%, ", terminal)
    text = terminal.getvalue()
    assert "measuring" in text
    assert "s left" in text


def test_work_without_news_moves_by_the_clock(monkeypatch):
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.05)
    with make_bar("clustering", shown=True, expected_seconds=1.0) as bar:
        wait_for("s left", terminal)
        bar.rename("writing")
        wait_for("writing", terminal)
    assert "clustering" in terminal.getvalue()


def test_short_work_and_pipes_show_nothing(monkeypatch):
    terminal = terminal_for(monkeypatch)
    with make_bar("short", shown=True) as bar:
        bar.update(1, 2)
    with make_bar("hidden", shown=False) as bar:
        bar.update(1, 2)
        bar.rename("still hidden")
    assert terminal.getvalue() == ""


def test_times_are_said_in_one_unit():
    said = [progress.describe_seconds(s) for s in (3.2, 100.0, 7200.0)]
    assert said == ["3 s", "2 min", "2.0 h"]
