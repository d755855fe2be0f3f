"""The sentences say what the numbers say, and never contradict each other."""

import math
import re

import numpy as np
import pytest

from holdfast.report.page import format_fraction, round_number
from holdfast.report.verdict import compose_verdict, find_most_separated, is_giant


def method(name, title, moved, cost, error=0.001, kind="other", largest=0.3, own=0.02):
    """A method with an error of its mean, and of its difference from the report's own method."""
    return {
        "name": name, "title": title, "moved": moved, "cost": cost, "standard_error": error,
        "low": max(0.0, moved - 2 * error), "high": moved + 2 * error, "kind": kind,
        "largest": largest,
        "difference": {"low": moved - own - 2 * error, "high": moved - own + 2 * error},
    }  # fmt: skip


def segments_of(sizes=(40, 30, 20, 10), separation=0.3, k=4, found=0.7):
    return {
        "stability": [[found] * k for k in range(1, len(sizes) + 1)],
        "k": k, "max_k": len(sizes), "sizes": list(sizes), "parent": [-1, *[0] * (len(sizes) - 1)],
        "separation": [None, *[separation] * (len(sizes) - 1)], "separation_rows": 100,
    }  # fmt: skip


def verdict_of(
    *peers, moved=0.02, cost=110.0, main="5%", error=0.001, segments=None, command="build_report()",
    sampled_from=None,
):  # fmt: skip
    own = method("means", "holdfast means", moved, cost, error, kind="own")
    comparison = {
        "k": 4, "main": main, "sampled_from": sampled_from, "n_rows": 100, "methods": [own, *peers],
    }  # fmt: skip
    return compose_verdict(comparison, segments or segments_of(), command)


WARD = method("ward", "Ward linkage", 0.1, 100.0)
AVERAGE = method("average", "average linkage", 0.0201, 150.0)


def test_sentence_compares_with_ward_and_average():
    single = method("single", "single linkage", 0, 1)
    assert verdict_of(single, AVERAGE, WARD)["sentence"] == (
        "When 5% of the rows are removed at random, 2.0% (95% interval 1.8% to 2.2%) of the "
        "remaining rows change cluster (k = 4), fewer than with Ward linkage (10%); no clear difference from average linkage "
        "(2.0%, 95% interval 1.8% to 2.2%). Its k-median cost is 10% higher than that of Ward linkage."
    )


def test_sentence_admits_what_is_worse():
    ward = method("ward", "Ward linkage", 0.1, 100.0, own=0.4)
    sentence = verdict_of(ward, moved=0.4, cost=131.0)["sentence"]
    assert "40% of the remaining rows change cluster (k = 4), more than with Ward link" in sentence
    assert sentence.endswith("Its k-median cost is 31% higher than that of Ward linkage.")


def test_sentence_names_the_sample_that_all_its_numbers_are_from():
    verdict = verdict_of(WARD, sampled_from=1_680_000)
    assert verdict["sentence"].endswith("Measured on a sample of 100 of 1,680,000 rows.")
    assert "same 100 rows" in verdict["numbers"][1]["detail"]


def test_difference_that_chance_explains_is_none():
    ward = method("ward", "Ward linkage", 0.1, 100.0, error=0.041)
    assert (
        "no clear difference from Ward linkage (10%, 95% interval 1.8% to 18%)"
        in (verdict_of(ward, error=0.001)["sentence"])
    )
    ward["difference"]["low"] = 0.001  # in nearly every trial Ward linkage moves more
    assert "fewer than with Ward linkage (10%)" in verdict_of(ward, error=0.001)["sentence"]


def test_intervals_that_do_not_overlap_are_a_difference():
    """Whatever the trials say, words may not contradict the intervals that the page shows."""
    ward = method("ward", "Ward linkage", 0.1, 100.0)
    ward["difference"] = {"low": -0.01, "high": 0.3}
    assert "fewer than with Ward" in verdict_of(ward)["sentence"]
    ward["low"] = 0.021
    assert "no clear difference from Ward" in verdict_of(ward)["sentence"]
    ward["difference"] = {"low": None, "high": None}
    assert "no clear difference from Ward" in verdict_of(ward)["sentence"]


def test_trials_that_contradict_the_means_are_no_difference():
    """A method measured in fewer trials may move more on average and less in the common trials."""
    ward = method("ward", "Ward linkage", 0.021, 100.0)
    ward["difference"] = {"low": -0.05, "high": -0.01}
    assert "no clear difference from Ward" in verdict_of(ward)["sentence"]


def test_cards_agree_with_the_sentence():
    """A ratio is shown exactly where the sentence says fewer or more."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        moved, other, error = rng.uniform(0, 0.3, size=3)
        peer = method("ward", "Ward linkage", other, 100.0, error / 5, own=moved)
        verdict = verdict_of(peer, moved=moved, error=error / 5)
        card = verdict["numbers"][1]
        side = re.search("fewer than|more than|no clear difference", verdict["sentence"])[0]
        seen.add(side)
        assert (card["value"] == "≈") == (side == "no clear difference")
        if card["value"] != "≈":
            ratio = float(card["value"].rstrip("×"))
            assert (ratio < 1) == (side == "fewer than") or math.isclose(ratio, 1, abs_tol=0.01)
    assert len(seen) == 3


def test_numbers():
    moved, compared, cost, separation = verdict_of(WARD, AVERAGE)["numbers"]
    assert moved["value"] == "2.0%"
    assert "1.8% to 2.2%" in moved["detail"]
    assert compared["value"] == "0.20×"
    assert cost["value"] == "+10%"
    assert separation["value"] == "0.30"


def test_zero_movement_and_zero_cost_need_no_division():
    still = method("ward", "Ward linkage", 0.0, 0.0, error=0.0, own=0.0)
    numbers = verdict_of(still, moved=0.0, cost=0.0, error=0.0)["numbers"]
    assert [n["value"] for n in numbers[:3]] == ["0%", "≈", "±0%"]
    still = method("ward", "Ward linkage", 0.0, 0.0, error=0.0, own=0.1)
    worse = verdict_of(still, moved=0.1, cost=5.0)["numbers"]
    assert [n["value"] for n in worse[1:3]] == ["∞", "∞"]


def test_without_peers_the_sentence_stands_alone():
    verdict = verdict_of(main="1")
    assert verdict["sentence"] == (
        "When one row is removed at random, 2.0% of the remaining rows change cluster (k = 4)."
    )
    assert len(verdict["numbers"]) == 2


@pytest.mark.parametrize(
    ("silhouette", "word", "tone"),
    [
        (0.6, "clearly", "good"),
        (0.496, "clearly", "good"),
        (0.3, "partly", "fair"),
        (0.1, "hardly", "poor"),
    ],
)
def test_separation_enters_the_verdict(silhouette, word, tone):
    verdict = verdict_of(WARD, segments=segments_of(separation=silhouette))
    assert verdict["headline"] == f"4 segments with 10% to 40% of the rows, {word} separated."
    (finding,) = verdict["findings"]
    assert f"{word} separated" in finding["text"]
    assert finding["tone"] == tone


def test_segments_that_are_found_again_are_not_called_unnatural():
    """In many columns silhouettes are low, however far the groups are apart."""
    verdict = verdict_of(WARD, segments=segments_of(separation=0.1, found=0.95))
    assert verdict["headline"].endswith("of the rows, each found again.")
    (finding,) = verdict["findings"]
    assert finding["tone"] == "fair"
    assert "Jaccard index at least 0.95" in finding["text"]


def test_segments_that_are_not_found_again_are_named():
    """Little movement when few rows are removed does not make them reliable."""
    segments = segments_of()
    segments["stability"][3] = [0.9, 0.29, None, 0.594]
    verdict = verdict_of(WARD, moved=0.0, error=0.0, segments=segments)
    assert verdict["findings"][1] == {
        "tone": "poor",
        "text": "Segments 1 and 3 are not reliably found again when rows are drawn with replacement "
        "(Jaccard index down to 0.29).",
    }
    segments["stability"][3] = [0.9, 0.9, 0.9, 0.596]
    assert len(verdict_of(WARD, segments=segments)["findings"]) == 1


def test_giant_segment_earns_no_praise():
    giant = segments_of(sizes=(4, 1, 1, 2, 46, 46), separation=0.9)
    verdict = verdict_of(WARD, moved=0.0006, segments=giant)
    assert "one of them contains 96% of the rows" in verdict["headline"]
    assert "separated" not in verdict["headline"]
    (first,) = verdict["findings"]
    assert first["tone"] == "poor"
    assert "says little" in verdict["numbers"][-1]["detail"]
    assert "Segment 0 contains 96% of the rows" in first["text"]
    assert "From k = 5 on" in first["text"]
    assert is_giant(0.8)
    assert not is_giant(0.79)


def test_missing_separation_is_not_judged():
    verdict = verdict_of(WARD, segments=segments_of(separation=None))
    assert verdict["findings"] == []
    assert verdict["headline"] == "4 segments with 10% to 40% of the rows."


def test_better_method_is_named_with_its_command():
    medoids = method("medoids", "holdfast medoids", 0.005, 101.0, kind="holdfast")
    command = "holdfast report wine.csv --method means -k 4"
    better = verdict_of(WARD, medoids, command=command, cost=100.0)["better"]
    assert "holdfast medoids does better: 0.5% of the remaining rows" in better["text"]
    assert better["command"] == "holdfast report wine.csv -k 4 --method medoids"
    better = verdict_of(WARD, medoids, cost=100.0)["better"]
    assert better["command"] == "HierarchicalKMedian(4, method='medoids').fit(X)"


def test_better_peer_is_named_in_python():
    ward = method("ward", "Ward linkage", 0.02, 90.0)
    better = verdict_of(ward, cost=100.0)["better"]
    assert "Ward linkage does better" in better["text"]
    assert "10% lower k-median cost" in better["text"]
    assert better["command"] == "holdfast.clusterers.METHODS['ward'].build().fit(X, seed=0).cut(4)"
    assert "from Python" not in better["text"]
    better = verdict_of(ward, cost=100.0, command="holdfast report wine.csv")["better"]
    assert better["text"].endswith("It is called from Python:")


def test_peer_that_moves_more_is_not_called_better_even_if_that_is_unclear():
    ward = method("ward", "Ward linkage", 0.21, 90.0, error=0.2)
    verdict = verdict_of(ward, cost=100.0)
    assert "no clear difference from Ward" in verdict["sentence"]
    assert verdict["better"] is None


def test_peer_with_a_giant_cluster_is_not_called_better():
    single = method("single", "single linkage", 0.0, 100.0, largest=0.97)
    verdict = verdict_of(single, cost=100.0)
    assert verdict["better"] is None
    assert "single linkage (0%, with 97% of the rows in one cluster)" in verdict["sentence"]


def test_better_peer_that_cannot_take_all_rows_has_no_command():
    ward = method("ward", "Ward linkage", 0.02, 90.0)
    better = verdict_of(ward, cost=100.0, sampled_from=30_001)["better"]
    assert better["text"].startswith("On the sampled rows, Ward linkage does better")
    assert "too many for 30,001 rows" in better["text"]
    assert better["command"] is None
    means = method("bisecting_kmeans", "bisecting k-means", 0.02, 94.0)
    better = verdict_of(ward, means, cost=100.0, sampled_from=30_001)["better"]
    assert "bisecting k-means does better" in better["text"]
    assert "bisecting_kmeans" in better["command"]


@pytest.mark.parametrize(
    ("moved", "cost"),
    [(0.1, 80.0), (0.005, 130.0), (0.0199, 100.0)],
    ids=["closer but less stable", "more stable but costly", "no clear difference"],
)
def test_mixed_results_are_not_called_better(moved, cost):
    peer = method("ward", "Ward linkage", moved, cost)
    assert verdict_of(peer, cost=100.0)["better"] is None


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, "0%"),
        (0.00001, "<0.01%"),
        (0.0005, "0.05%"),
        (0.0099, "1.0%"),
        (0.0996, "10%"),
        (1, "100%"),
    ],
)
def test_fractions_are_short_and_never_a_false_zero(fraction, text):
    assert format_fraction(fraction) == text


def test_missing_numbers_are_none():
    assert round_number(float("nan")) is None
    assert round_number(float("inf")) is None
    assert round_number(1234.56, 3) == 1230


def test_the_best_separated_k_is_the_same_everywhere_and_no_giant():
    """The cut into two has the largest silhouette, but 90% of the rows are in one cluster."""
    segments = segments_of(sizes=(40, 10, 40, 10), separation=0.4, k=4)
    segments["separation"] = [None, 0.9, 0.6, 0.4]
    assert find_most_separated(segments) == 3
    (finding,) = verdict_of(WARD, segments=segments)["findings"]
    assert finding["text"].endswith("Separation is best at k = 3.")


def test_separation_that_still_grows_has_no_best_k():
    segments = segments_of(sizes=(40, 30, 20, 10), k=3)
    segments["separation"] = [None, 0.2, 0.3, 0.4]
    (finding,) = verdict_of(WARD, segments=segments)["findings"]
    assert finding["text"].endswith("still grows at k = 4, the last k on this page.")
