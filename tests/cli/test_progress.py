"""Bars show on a terminal, after two seconds, and nowhere else."""

import io
import re
import sys
import time

from holdfast.cli import console as console_module
from holdfast.cli.console import Console
from holdfast.cli.options import DisplayOptions


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


def test_long_work_shows_the_fraction_done_and_the_time_left(monkeypatch):
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(console_module, "_QUIET_SECONDS", 0.05)
    with Console("audit", DisplayOptions()).progress("measuring") as progress:
        progress("measuring", 0.0, 4.0)
        progress("measuring", 1.0, 4.0)
        wait_for("25%", terminal)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert re.search(r"measuring .* 25% \S+:\S\S 0:00:\d\d", text)


def test_work_without_a_total_shows_a_moving_bar(monkeypatch):
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(console_module, "_QUIET_SECONDS", 0.05)
    with Console("fit", DisplayOptions()).progress("clustering") as progress:
        wait_for("clustering", terminal)
        progress("writing", 0.0, None)
        wait_for("writing", terminal)
    assert "%" not in terminal.getvalue()


def test_rounds_of_an_earlier_run_say_nothing_about_speed():
    bar = console_module._Bar("measuring")
    try:
        clock = [0.0]
        bar._bar.get_time = lambda: clock[0]
        bar("measuring", 90.0, 100.0)
        clock[0] = 10.0
        bar("measuring", 95.0, 100.0)
        assert bar._bar.tasks[0].time_remaining == 10.0
        bar("writing", 0.0, None)
        assert bar._bar.tasks[0].total is None
    finally:
        bar.close()


def test_short_work_and_pipes_show_nothing(monkeypatch):
    terminal = terminal_for(monkeypatch)
    with Console("fit", DisplayOptions()).progress("short") as progress:
        progress("short", 1, 2)
    with Console("fit", DisplayOptions(quiet=True)).progress("hidden") as progress:
        assert progress is False
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Console("fit", DisplayOptions()).progress("hidden") as progress:
        assert progress is False
