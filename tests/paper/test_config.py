"""Configuration files: all committed ones are read, wrong ones are refused with a reason."""

from pathlib import Path

import pytest

from holdfast_paper import reproduce
from holdfast_paper.claims import RULES
from holdfast_paper.config import (
    PANELS,
    PROFILES,
    ConfigError,
    read_claims,
    read_panel,
    read_panels,
)

GOOD = """
title = "t"
kind = "sensitivity"
x = "delete"
data = ["iris"]
methods = ["tree_1"]
n_clusters = [4]
delete = [1]
trials = 5
repeats = 2
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_committed_files_are_read(profile):
    panels = read_panels(None, profile)
    assert [panel.name for panel in panels] == list(PANELS)


def test_full_run_has_the_trials_of_the_paper():
    panels = {panel.name: panel for panel in read_panels(None, "full")}
    for name in ("sensitivity", "wine"):
        assert panels[name]["trials"] == 100
    for name in ("line", "clnss", "regression"):
        assert (panels[name]["trials"], panels[name]["repeats"]) == (50, 10)
    assert panels["regression"]["n_clusters"] == list(range(2, 17))
    assert panels["cost"]["repeats"] == 100
    assert panels["cost"]["max_clusters"] == 32
    assert len(panels["cost"]["data"]) == len(panels["sensitivity"]["data"]) == 7
    assert panels["sensitivity"]["delete"] == [1, 0.01, 0.05, 0.1]
    assert panels["sensitivity"].shows("iris", 4)
    assert panels["sensitivity"].shows("yeast", 12)
    assert not panels["sensitivity"].shows("yeast", 4)
    assert panels["wine"]["n_clusters"] == [3, 6, 9, 12]


def test_every_claim_has_a_criterion_and_a_rule():
    claims = read_claims()
    assert len({claim["id"] for claim in claims}) == len(claims)
    assert {claim["id"][0] for claim in claims} == set("1234567")
    for claim in claims:
        assert claim["criterion"]
        assert claim["rule"] in RULES
        assert claim["panel"] in PANELS


def test_profile_and_series_change_what_they_name(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        GOOD + "[fixed_tree]\nrepeats = 7\n[quick]\ntrials = 2\nfixed_tree.trials = 1\n"
    )
    full, quick = read_panel(path, "full"), read_panel(path, "quick")
    assert [(s.name, s.trials, s.repeats) for s in full.series] == [
        ("same_seed", 5, 2),
        ("fixed_tree", 5, 7),
    ]
    assert [(s.name, s.trials, s.repeats) for s in quick.series] == [
        ("same_seed", 2, 2),
        ("fixed_tree", 1, 7),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("trials = 5", "trials = 0"), r"trials must be an integer of at least 1; got 0"),
        (("trials = 5\n", ""), r"the key 'trials' is missing"),
        (('"sensitivity"', '"stability"'), r"kind must be one of .*got 'stability'"),
        (('["tree_1"]', '["alg3"]'), r"methods must be among .*got 'alg3'"),
        (('data = ["iris"]', "data = []"), r"data must be a list with something in it"),
        (('x = "delete"', 'x = "rows"'), r"x must be .*got 'rows'"),
        (("repeats = 2", "repeats = 2\n[earth_mover]\noutputs = 3"), r"\[earth_mover\] takes"),
        (("title", "title = = 1 #"), r"is not TOML"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, change, message):
    path = tmp_path / "p.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(ConfigError, match=message):
        read_panel(path)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"panels must be among .*got figure9"):
        read_panels(["figure9"], "full")
    path = tmp_path / "p.toml"
    path.write_text(GOOD)
    with pytest.raises(ConfigError, match=r"profile must be one of .*got 'fast'"):
        read_panel(path, "fast")
    with pytest.raises(ConfigError, match="figure9"):
        reproduce(tmp_path, panels=["figure9"])
