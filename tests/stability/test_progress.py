"""Progress: only when asked for, only when the work is long, with the time left."""

import numpy as np
import pytest
from stability.clusterers import by_sign

from holdfast import HierarchicalKMedian, average_sensitivity
from holdfast.stability import progress

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
    assert lines[0].startswith("1 of 12 fits (8%), ")
    assert lines[-1].startswith("12 of 12 fits (100%), 0 s left")
    average_sensitivity(
        HierarchicalKMedian(), ROWS, n_clusters=2, trials="all", repeats=2, progress=True
    )
    assert "2 of 2 seeds (100%)" in capsys.readouterr().err


@pytest.mark.parametrize(("elapsed", "left"), [(10.0, "30 s"), (100.0, "5 min"), (3600.0, "3.0 h")])
def test_time_left(elapsed, left):
    shown = progress.Progress(total=500, enabled=True)
    shown.skip(100)
    shown.done = 100
    assert shown.describe(elapsed) == f"200 of 500 fits (40%), {left} left"
