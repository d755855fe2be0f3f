"""Guesses of how long work takes, on a clock that the work itself moves."""

import numpy as np
import pytest

from holdfast import HierarchicalKMedian
from holdfast.cli import pace


@pytest.fixture
def clock(monkeypatch):
    """Hours that pass only when somebody adds to them."""
    hand = [0.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: hand[0])
    return hand


@pytest.mark.parametrize(
    ("linear", "square"), [(40.0, 0.0), (0.0, 40.0), (30.0, 500.0), (3.0, 0.5)]
)
def test_growth_is_told_from_small_shares(clock, linear, square):
    spent = []

    def work(share):
        seconds = 0.01 + linear * share + square * share**2
        spent.append(seconds)
        clock[0] += seconds

    guess = pace.expect_seconds(work)
    whole = 0.01 + linear + square
    assert guess == pytest.approx(whole)
    assert sum(spent) < 0.2 * whole + 0.05


def test_short_work_is_not_tried_twice(clock):
    shares = []

    def work(share):
        shares.append(share)
        clock[0] += 1e-3 * share

    assert pace.expect_seconds(work) < 2.0
    assert max(shares) < 0.1


def test_shares_of_methods_follow_each_other(clock):
    class Slow:
        name, randomized, hierarchical = "slow", True, True

        def fit(self, X, seed):
            clock[0] += 1.0
            return self

        def cut(self, k):
            return np.zeros(4, dtype=int)

    told = []
    shares = pace.share_work(
        {"a": Slow, "b": HierarchicalKMedian, "c": Slow},
        np.arange(80.0).reshape(40, 2),
        (2,),
        3,
        lambda *news: told.append(news),
    )
    assert shares == {"a": (0.0, 0.5), "b": (0.5, 0.5), "c": (0.5, 1.0)}
    assert told == [(1, 3), (2, 3), (3, 3)]
    pace.tell_share(lambda *news: told.append(news), 0.5, 1.0, 1, 4)
    assert told[-1] == (0.625, 1.0)
