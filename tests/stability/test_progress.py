"""Progress: only when asked for, only when the work is long, with the time left."""

import numpy as np
import pytest
from stability.clusterers import by_sign

from holdfast import HierarchicalKMedian, average_sensitivity, tune_epsilon
from holdfast._machine import work as progress

ROWS = np.random.RandomState(0).standard_normal((20, 2))


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", {True: 0.0, False: 0.0})


def test_short_work_shows_nothing(capsys):
    average_sensitivity(by_sign, ROWS, n_clusters=2, trials=5, progress=True, n_jobs=1)
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_the_time_left_only_if_asked(impatient, capsys):
    average_sensitivity(by_sign, ROWS, n_clusters=2, trials=5, repeats=2, n_jobs=1)
    assert capsys.readouterr() == ("", "")
    average_sensitivity(by_sign, ROWS, n_clusters=2, trials=5, repeats=2, progress=True, n_jobs=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert any(line.startswith("1 of 12 fits (8%), ") for line in lines)
    assert lines[-1].startswith("12 of 12 fits (100%), 0 s left")
    average_sensitivity(
        HierarchicalKMedian(method="tree"),
        ROWS,
        n_clusters=2,
        trials="all",
        repeats=2,
        progress=True,
    )
    assert "2 of 2 seeds (100%)" in capsys.readouterr().err


def test_lines_count_seeds_or_values_of_epsilon(impatient, capsys):
    tune_epsilon(
        HierarchicalKMedian(method="tree"), ROWS, 3, target_sensitivity=0.5, repeats=2, refinements=1,
        progress=True, n_jobs=1,
    )  # fmt: skip
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("12 of 13 values of epsilon (92%), ")


@pytest.mark.parametrize(("elapsed", "left"), [(10.0, "30 s"), (100.0, "5 min"), (3600.0, "3.0 h")])
def test_time_left(elapsed, left):
    line = progress._StderrLine("fits")
    line.skipped = 100.0
    assert line.describe("", 200.0, 500.0, elapsed) == f"200 of 500 fits (40%), {left} left"
    assert line.describe("reading", 7.0, None, elapsed).startswith("reading, ")


def test_a_part_fills_its_round():
    told = []
    whole = progress.Progress(lambda *now: told.append(now), 4, what="all")
    whole.advance(1)
    inner = progress.Progress(whole.part("second", 2.0), 10, what="inner")
    inner.advance(5)
    whole.advance(2)
    whole.skip(1)
    assert told[0] == ("all", 0.0, 4)
    assert told[1] == ("all", 1.0, 4)
    assert told[-3] == ("second", 2.0, 4)
    assert told[-1] == ("second", 4.0, 4)
    assert not progress.Progress(False, 3).part()
