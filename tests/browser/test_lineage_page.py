"""The page of a lineage in a real browser: 20 releases of 10,000 rows, and hostile names."""

import json
import warnings

import numpy as np
import pytest
from browser_page import Page
from lineage.chain import build_chain
from lineage.weeks import follow_weeks
from report_builder import EVIL

from holdfast import Lineage
from holdfast.report import build_lineage_report


@pytest.fixture(scope="module")
def content_and_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lineage")
    lineage = follow_weeks(folder / "series", n_weeks=20, n=10_000)
    report = build_lineage_report(lineage, level=8)
    report.to_html(folder / "page.html")
    assert (folder / "page.html").stat().st_size < 1_000_000
    return report.content, folder / "page.html"


@pytest.fixture
def content(content_and_file):
    return content_and_file[0]


@pytest.fixture
def page(browser, content_and_file):
    opened = Page(browser)
    opened.open(content_and_file[1], width=1300)
    yield opened
    opened.check_silent()


def set_theme(page, theme):
    page.send(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
    )
    page.wait(f"return matchMedia('(prefers-color-scheme: {theme})').matches")


def test_all_parts_are_there_and_the_change_comes_first(page, content):
    assert [e.text for e in page.find_all("section h2")] == [
        "What changed", "Segments over time", "Who moved, and why", "Rows to look at", "Staleness",
        "Where this comes from",
    ]  # fmt: skip
    assert page.text("#headline") == content["verdict"]["headline"]
    assert page.text("#headline").startswith("Since week 19, ")
    page.keep_picture("lineage-light")


def test_the_picture_has_all_releases_at_each_level(page, content):
    for k in (8, 4, 8):
        page.click(page.find(f"[data-level='{k}']"))
        picture = content["lineage"]["pictures"][str(k)]
        assert len(page.find_all("#alluvial .segment-bar")) == len(picture["bars"]) == 20 * k
        assert len(page.find_all("#alluvial .flow")) == len(picture["bands"])
        assert page.text("#alluvial-title") == f"{k} segments, 20 releases"
        assert len(page.find_all("#segment-table tbody tr")) == k
        pressed = page.find_all("#level-switches [aria-pressed='true']")
        assert [e.text for e in pressed] == [f"{k} segments"]


def test_numbers_can_be_read_without_the_picture(page, content):
    page.click(page.find("#changes summary"))
    lines = page.find_all("#release-table tbody tr")
    assert len(lines) == 20
    assert lines[0].text.startswith("week 20 10,000")
    release = content["lineage"]["releases"][-1]
    assert f"{release['n_new']:,}" in lines[0].text
    told = [line.text for line in lines if "is new" in line.text]
    assert told, "the new segment is told"


def test_keys_and_pointer_name_segments_and_moves(page):
    page.press("#alluvial svg", "ARROW_LEFT")
    page.wait("return !document.getElementById('tip').hidden")
    assert page.text("#tip b") == "week 20"
    assert len(page.find_all("#tip tr")) == 8
    page.press("#alluvial svg", "ARROW_LEFT")
    assert page.text("#tip b") == "week 19"
    page.hover(page.find_all("#alluvial .segment-bar")[-1])
    page.wait("return document.querySelector('#tip b').textContent.startsWith('Segment ')")
    assert "week 20" in page.text("#tip span")


def test_movers_have_the_columns_that_carried_them(page, content):
    moves = content["moves"]["8"]
    rows = page.find_all("#movers-tables .block-of:nth-child(2) > .scroll tbody tr")
    assert len(rows) == 20
    page.click(page.find("#more-movers summary"))
    assert len(page.find_all("#more-movers tbody tr")) == min(moves["total"], 200) - 20
    first = moves["shown"][0]
    assert first["id"] in rows[0].text
    assert first["columns"][0][0] in rows[0].text
    assert "→" in rows[0].text


def test_means_of_a_column_have_the_same_decimals(page):
    cells = page.run(
        "return [...document.querySelectorAll('#segment-table tbody tr')].map(row =>"
        " [...row.querySelectorAll('.heat')].map(e => e.textContent.replace(/ [▲▼]/, '')))"
    )
    for column in zip(*cells, strict=True):
        assert len({len(text.partition(".")[2]) for text in column}) == 1, column


def test_the_picture_starts_at_the_latest_release(page):
    page.resize(390)
    page.wait(
        "const e = document.getElementById('alluvial');"
        "return e.scrollWidth > e.clientWidth + 99 && e.scrollLeft + e.clientWidth >= e.scrollWidth - 1"
    )


def test_the_profile_of_any_segment_is_shown(page):
    names = [option.get_attribute("value") for option in page.find_all("#profile-segment option")]
    page.run(
        "const s = document.getElementById('profile-segment'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change'))",
        names[-1],
    )
    page.wait(f"return document.body.textContent.includes('Profile of segment {names[-1]}')")


@pytest.mark.parametrize("width", [390, 768, 1300])
def test_labels_collide_with_nothing(page, width):
    page.resize(width)
    page.wait(f"return innerWidth === {width}")
    for k in (8, 4):
        page.click(page.find(f"[data-level='{k}']"))
        assert page.find_collisions() == []
        ends = page.run(
            "return [...document.querySelectorAll('#alluvial text:not(.tick)')].map(e => e.textContent)"
        )
        assert len(ends) == 2 * k


@pytest.mark.parametrize("width", [390, 1300])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_any_width_and_theme(page, width, theme):
    page.resize(width)
    set_theme(page, theme)
    page.wait("return document.querySelectorAll('#alluvial svg').length === 1")
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    paper = page.color("body", "backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if theme == "light" else "rgb(20, 26, 33)")
    page.keep_picture(f"lineage-{width}-{theme}")


def test_a_budget_that_binds_is_told_in_the_same_words(browser, tmp_path):
    lineage = follow_weeks(tmp_path / "series", n_weeks=2, n=400, price=0.0, budget=0.0025)
    build_lineage_report(lineage).to_html(tmp_path / "budget.html")
    page = Page(browser)
    page.open(tmp_path / "budget.html")
    assert "The budget of 0.25% binds." in page.text("#headline")
    assert "The budget of 0.25% binds: more rows would move without it." in page.text("#findings")
    assert "Without the budget, these rows would move, too." in page.text("#rows-tables")
    page.check_silent()


def test_dates_are_shown_as_dates(browser, tmp_path):
    report = build_lineage_report(follow_weeks(tmp_path / "series", n_weeks=2, n=200, price=0.0))
    report.content["data"]["dates"] = report.content["data"]["names"]
    report.to_html(tmp_path / "dates.html")
    page = Page(browser)
    page.open(tmp_path / "dates.html")
    cells = page.find_all("#segment-table tbody .heat") + page.find_all("#movers-tables td")
    texts = [page.run("return arguments[0].textContent", cell) for cell in cells]
    assert texts[0].startswith("19")
    assert any(" → 19" in text for text in texts)
    page.check_silent()


def test_hostile_names_are_shown_as_text(browser, tmp_path):
    lineage = Lineage(tmp_path / "series")
    for i, model in enumerate(build_chain()):
        model.feature_names_in_ = np.array(EVIL[:2], dtype=object)
        lineage.append(model, label=EVIL[i], levels=[2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_lineage_report(lineage, title=EVIL[1]).to_html(tmp_path / "evil.html")
    page = Page(browser)
    page.open(tmp_path / "evil.html")
    assert page.run("return window.broken") is None
    assert page.run("return document.scripts.length") == 2
    assert page.text("h1") == EVIL[1]
    assert EVIL[1] in page.text("#headline")
    heads = page.run("return [...document.querySelectorAll('th.name')].map(e => e.textContent)")
    assert [head.replace("\u00ad", "") for head in heads] == EVIL[:2]
    assert json.loads(page.text("#data"))["lineage"]["labels"] == EVIL[:3]
    for width in (1300, 390):  # long names of releases are cut
        page.resize(width)
        assert page.find_collisions() == []
    page.check_silent()
