"""The page of a lineage: its dictionary, and that nothing in it runs."""

import json

import numpy as np
import pytest
from lineage.chain import build_chain
from lineage.weeks import follow_weeks
from report_builder import EVIL

from holdfast import Lineage
from holdfast.report import build_lineage_report
from holdfast.report import lineage as lineage_page


@pytest.fixture(scope="module")
def lineage(tmp_path_factory):
    """Three releases with hostile names of columns, rows and releases."""
    found = Lineage(tmp_path_factory.mktemp("page") / "series")
    names = {id: f"{EVIL[i % 4]} {i}" for i, id in enumerate("abcdefghijk")}
    for i, model in enumerate(build_chain()):
        model.feature_names_in_ = np.array(EVIL[:2], dtype=object)
        model.ids_ = np.array([names[id] for id in model.ids_], dtype=object)
        if i:
            model.moves_["id"] = [names[id] for id in model.moves_["id"]]
        found.append(model, label=f"{EVIL[i]}", levels=[2, 3])
    return found


def test_the_dictionary_says_what_the_lineage_says(lineage):
    content = build_lineage_report(lineage, level=3).to_dict()
    assert content["lineage"]["labels"] == EVIL[:3]
    assert content["lineage"]["level"] == 3
    clusters = {c["name"]: c for c in content["lineage"]["clusters"]["3"]}
    assert clusters[0]["sizes"] == lineage.history(0)["size"].tolist()
    assert (clusters[2]["releases"], clusters[3]["releases"]) == ([0, 1], [2])
    last = lineage[-1]
    means = [c["means"][-1] for c in clusters.values() if c["releases"][-1] == 2]
    np.testing.assert_allclose(means, last.centers[last.clusters["level"] == 3], rtol=1e-4)
    moves = content["moves"]["3"]
    assert (moves["total"], moves["pairs"]) == (3, [[2, 3, 3]])
    assert {move["id"] for move in moves["shown"]} == set(lineage.moves(since=2, level=3)["id"])
    assert content["verdict"]["headline"] == (
        f"Since {EVIL[1]}, 3 of 9 rows (33.33%) changed segment at 3 segments; 1 row was "
        "added, 1 removed. Segment 2 ended; segment 3 is new."
    )


def test_columns_that_carried_rows_have_both_values(lineage, tmp_path):
    shorter = Lineage(tmp_path / "shorter")
    for model, label in zip(build_chain()[:2], "ab", strict=True):
        shorter.append(model, label=label, levels=[2, 3])
    (move,) = build_lineage_report(shorter).content["moves"]["3"]["shown"]
    assert move["columns"] == [["spend", 1, 8]]
    assert move["reason"] == "values changed"


def test_the_page_keeps_the_rows_of_one_release_in_memory(tmp_path, monkeypatch):
    lineage, kept = follow_weeks(tmp_path / "weeks", 3, 100), []
    see = lineage_page._see
    monkeypatch.setattr(lineage_page, "_see", lambda r: kept.append(see(r)) or kept[-1])
    build_lineage_report(lineage)
    assert lineage[0].record.rows is not None
    assert len(kept) == 3
    assert all(one.release.rows is one.release.record is None for one in kept)


def test_rows_that_moved_most_often_are_listed_with_their_ways(tmp_path):
    weeks = follow_weeks(tmp_path / "weeks", 8, 100, levels=(4,), price=0.0)
    lists = {
        found["title"]: found["lines"] for found in build_lineage_report(weeks).content["rows"]
    }
    ways = {}
    for id, source, target in weeks.moves(level=4)[["id", "from", "to"]].tolist():
        ways.setdefault(id, [source]).append(target)
    often = {id: way for id, way in ways.items() if len(way) > 2}
    assert often
    shown = lists["Moved most often"]
    assert [line[1] for line in shown] == sorted(
        (len(w) - 1 for w in often.values()), reverse=True
    )[:20]
    assert all(line[2] == " → ".join(map(str, often[line[0]])) for line in shown)


def test_without_rows_the_page_has_no_ids_and_no_values(lineage):
    page = build_lineage_report(lineage, rows=False)
    assert page.content["rows"] == []
    assert all(not moves["shown"] for moves in page.content["moves"].values())
    small = page.content["lineage"]["clusters"]["3"][0]
    assert small["means"][-1] == [None, None]
    ids = {json.dumps(id)[1:-1] for release in lineage for id in release.ids}
    assert not [id for id in ids if id in page.to_json()]


def test_the_page_has_its_own_parts_in_the_common_frame(lineage):
    page = build_lineage_report(lineage).to_html()
    assert 'id="alluvial"' in page
    assert 'id="stability"' not in page
    assert page.count("<script") == 2
    assert page.count("</script>") == 2


def test_one_release_has_a_page_too(tmp_path):
    lineage = Lineage(tmp_path / "one")
    with pytest.raises(ValueError, match="no releases; append a model first"):
        build_lineage_report(lineage)
    lineage.append(build_chain()[0], label="first")
    assert build_lineage_report(lineage).verdict == "First release: 10 rows in 3 segments."
