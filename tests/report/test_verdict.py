"""The sentence says what the numbers say."""

import pytest

from holdfast.report.numbers import format_share, round_number
from holdfast.report.verdict import compose_verdict


def method(name, moved, cost, error=0.001, ours=False):
    return {"name": name, "moved": moved, "cost": cost, "standard_error": error, "ours": ours}


def verdict_of(*peers, moved=0.02, cost=110.0, main="5%", error=0.001):
    comparison = {
        "k": 4, "main": main, "sampled_from": None, "n_rows": 100,
        "methods": [method("holdfast", moved, cost, error, ours=True), *peers],
    }  # fmt: skip
    return compose_verdict(comparison, {"moved": moved, "low": 0.01, "high": 0.03, "n_rows": 100})


WARD = method("Ward linkage", 0.1, 100.0)
AVERAGE = method("average linkage", 0.0201, 150.0)


def test_sentence_compares_with_ward_and_average():
    assert verdict_of(method("single linkage", 0, 1), AVERAGE, WARD)["sentence"] == (
        "When 5% of the rows go at random, 2.0% of those that stay change cluster (k = 4), about as "
        "many as with average linkage (2.0%), fewer than with Ward linkage (10%); its k-median cost "
        "is 27% below that of average linkage."
    )


def test_sentence_admits_what_is_worse():
    sentence = verdict_of(WARD, moved=0.4, cost=131.0)["sentence"]
    assert "40% of those that stay change cluster (k = 4), more than with Ward linkage" in sentence
    assert sentence.endswith("its k-median cost is 31% above that of Ward linkage.")


def test_difference_within_two_standard_errors_is_none():
    assert "fewer than with Ward" in verdict_of(WARD, error=0.039)["sentence"]
    assert "about as many as with Ward" in verdict_of(WARD, error=0.041)["sentence"]


def test_three_numbers():
    moved, compared, cost = verdict_of(WARD, AVERAGE)["numbers"]
    assert moved["value"] == "2.0%"
    assert "1.0% to 3.0%" in moved["detail"]
    assert compared["value"] == "0.20× / 1.00×"
    assert cost["value"] == "+10%"
    assert "lowest: Ward linkage, 100" in cost["detail"]


def test_zero_movement_and_zero_cost_need_no_division():
    still = method("Ward linkage", 0.0, 0.0, error=0.0)
    numbers = verdict_of(still, moved=0.0, cost=0.0, error=0.0)["numbers"]
    assert [n["value"] for n in numbers] == ["0%", "1.00×", "±0%"]
    worse = verdict_of(still, moved=0.1, cost=5.0)["numbers"]
    assert [n["value"] for n in worse[1:]] == ["∞", "∞"]


def test_without_peers_the_sentence_stands_alone():
    verdict = verdict_of(main="1")
    assert verdict["sentence"].startswith("When one row goes at random, 2.0% ")
    assert verdict["sentence"].endswith("(k = 4).")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (0.00001, "<0.01%"),
        (0.0005, "0.05%"),
        (0.0099, "1.0%"),
        (0.0996, "10%"),
        (1, "100%"),
    ],
)
def test_shares_are_short_and_never_a_false_zero(share, text):
    assert format_share(share) == text


def test_missing_numbers_are_none():
    assert round_number(float("nan")) is None
    assert round_number(float("inf")) is None
    assert round_number(1234.56, 3) == 1230
