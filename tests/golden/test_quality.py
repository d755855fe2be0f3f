"""Nothing becomes worse, or less steady, unnoticed: the table of quality.py stands.

A failure here means that clusterings of real data cost or move more, or less, than they did by more
than the standard error of the figure. If that is meant, see quality.py.
"""

import json

import pytest
from golden.quality import CASES, FIGURES, KS, measure_case, moved_figures, stored


def test_the_table_is_complete():
    rows = [(row["data"], row["method"], row["k"]) for row in stored()]
    assert rows == [(name, method, k) for name, method in CASES for k in KS]
    assert len(rows) == 5 * 3 * 2


@pytest.mark.parametrize(("name", "method"), CASES, ids=map(", ".join, CASES))
def test_no_figure_moves_by_more_than_its_standard_error(name: str, method: str):
    before = [row for row in stored() if (row["data"], row["method"]) == (name, method)]
    after = measure_case(name, method)
    assert [row["input"] for row in after] == [row["input"] for row in before], "other rows"
    for was, now in zip(before, after, strict=True):
        assert moved_figures(was, now) == [], f"k={now['k']}"


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_figure_that_moves_is_seen_in_both_directions(figure: str, sign: float):
    for was in stored():
        now = json.loads(json.dumps(was))
        assert moved_figures(was, now) == []
        now[figure][0] += sign * (1.01 * was[figure][1] + 1e-6)
        (found,) = moved_figures(was, now)
        assert found.startswith(f"{figure}: ")
        now[figure][0] = float("nan")
        assert len(moved_figures(was, now)) == 1
