"""The report page in a real browser. Every test ends by checking the console and the network."""

import base64
import json

import numpy as np
import pytest
from browser_page import Page
from report_builder import EVIL, build, make_ids, make_rows

from holdfast.hierarchy.rules import Column
from holdfast.report import Report

PARTS = [
    "Segments", "How stable they are", "Rows to look at", "Choosing k", "How they were found",
    "Appendix",
]  # fmt: skip


def classes_of_points(page):
    return page.run(
        "return [...document.querySelectorAll('#scatter .point')].map(p => p.getAttribute('class'))"
    )


def cut(content, k):
    """Labels of the points at k clusters, from the page's own data."""
    labels = []
    for label in content["segments"]["points"]["labels"]:
        while label >= k:
            label = content["segments"]["parent"][label]
        labels.append(label)
    return labels


@pytest.fixture
def content(page):
    return json.loads(page.text("#data"))


def test_all_parts_are_there_segments_first(page):
    assert [e.text for e in page.find_all("section h2")] == PARTS
    assert page.text("#headline").startswith("4 segments with ")
    assert page.text("#sentence").startswith("When 5% of the rows are removed")
    assert len(page.find_all("#numbers .card")) == 4
    assert len(page.find_all("#findings li")) == 1
    page.wait("return document.querySelectorAll('#comparison-charts svg path.line').length === 9")
    assert len(page.find_all("#comparison-charts figure")) == 4
    assert len(page.find_all("#choosing-parts figure")) == 1
    page.keep_picture("light")


def test_epsilon_waits_in_the_appendix(page):
    assert not page.find("#epsilon-charts").is_displayed()
    page.click(page.find("#appendix summary"))
    page.wait("return document.querySelectorAll('#epsilon-charts svg').length === 2")
    assert page.find("#epsilon-charts").is_displayed()


def test_hostile_names_are_shown_as_text(page, content):
    assert page.run("return window.broken") is None
    assert page.run("return document.scripts.length") == 2
    assert page.run("return document.images.length") == 0
    assert page.text("h1") == EVIL[1]
    heads = page.run(
        "return [...document.querySelectorAll('#clusters th.name')].map(e => e.textContent)"
    )
    assert [head.replace("\u00ad", "") for head in heads] == EVIL
    center = content["segments"]["centers"][0]["row"]
    assert page.text("#center-table tbody td.id") == make_ids(center + 1)[center]
    options = page.run(
        "return [...document.querySelector('select').options].map(o => o.textContent)"
    )
    assert options[2:] == EVIL


def test_slider_shows_every_cut_and_colors_stay(page, content):
    for key, k in ((None, 4), ("ARROW_RIGHT", 5), ("END", 32), ("ARROW_LEFT", 31), ("HOME", 1)):
        if key:
            page.press("#k", key)
        assert page.text("#k-now") == str(k)
        assert len(page.find_all("#clusters tbody tr")) == k
        expected = [f"point c{label % 8}" for label in cut(content, k)]
        assert classes_of_points(page) == expected
    page.click(page.find("#more"))
    assert page.text("#k-now") == "2"
    assert "splits segment 1 off segment 0" in page.text("#step")
    sizes = page.run(
        "return [...document.querySelectorAll('#clusters tbody td:nth-child(2) b')].map(e => e.textContent)"
    )
    labels = cut(content, 2)
    assert [int(s.split()[0]) for s in sizes] == [labels.count(0), labels.count(1)]


def test_shapes_tell_clusters_of_one_color_apart(page, content):
    page.press("#k", "END")
    shapes = page.run(
        "return [...document.querySelectorAll('#scatter .point')].map(p => p.getAttribute('d'))"
    )
    seen = {(label % 8, shape) for label, shape in zip(cut(content, 32), shapes, strict=True)}
    assert len(seen) == 32


def test_hover_names_the_row(page, content):
    point = page.find_all("#scatter .point")[17]
    page.hover(point)
    page.wait("return !document.getElementById('tip').hidden")
    named = page.text("#tip b")
    assert named in content["segments"]["points"]["ids"]
    assert page.text("#tip span").endswith("of 4")
    assert len(page.find_all("#tip tr")) == 4
    page.hover(page.find("#segments h2"))
    page.wait("return document.getElementById('tip').hidden")


def test_click_on_a_block_marks_its_rows(page, content):
    block = page.find("#icicle .block[aria-label^='Segment 2:']")
    page.click(block)
    marked = ["faded" not in c for c in classes_of_points(page)]
    first = [label == 2 for label in cut(content, 3)]  # where cluster 2 appears
    assert marked == first
    assert 0 < sum(marked) < len(marked)
    assert block.get_attribute("aria-pressed") == "true"
    page.keep_picture("marked")
    page.click(page.find("#clear"))
    assert not [c for c in classes_of_points(page) if "faded" in c]


def test_click_in_the_table_marks_the_cluster_of_this_cut(page, content):
    page.click(page.find("[data-cluster='3']"))
    marked = ["faded" not in c for c in classes_of_points(page)]
    assert marked == [label == 3 for label in cut(content, 4)]
    assert page.run("return document.activeElement.dataset.cluster") == "3"
    assert page.find("[data-cluster='3']").get_attribute("aria-pressed") == "true"


def test_blocks_are_reached_by_keys(page):
    page.press("#icicle .block[tabindex='0']", "ARROW_DOWN")
    label = "return document.activeElement.getAttribute('aria-label')"
    assert page.run(label).startswith("Segment 0:")
    assert "k = 2" in page.run(label)
    page.press("#icicle .block[tabindex='0']", "ARROW_RIGHT")
    assert page.run(label).startswith("Segment ")
    page.press("#icicle .block[tabindex='0']", "ENTER")
    assert [c for c in classes_of_points(page) if "faded" in c]
    page.press("#icicle .block[tabindex='0']", "ESCAPE")
    assert not [c for c in classes_of_points(page) if "faded" in c]
    assert len(page.find_all("#icicle [tabindex='0']")) == 1


def test_charts_are_walked_by_keys_and_read_as_tables(page):
    page.wait("return document.querySelectorAll('#comparison-charts svg[tabindex]').length === 3")
    page.press("#comparison-charts svg[tabindex]", "ARROW_RIGHT")
    assert page.text("#tip b") == "rows removed: 1 row"
    page.press("#comparison-charts svg[tabindex]", "ARROW_RIGHT")
    assert page.text("#tip b") == "rows removed: 5%"
    assert page.text("#tip td") == "holdfast tree"
    page.press("#comparison-charts svg[tabindex]", "ESCAPE")
    assert page.run("return document.getElementById('tip').hidden")
    page.press("#scatter svg", "ARROW_RIGHT")
    assert "segment" in page.text("#tip span")
    assert len(page.find_all("#comparison-charts details table")) == 4


def test_axes_can_be_columns(page, content):
    place = "return document.querySelector('#scatter .point').getAttribute('transform')"
    before = page.run(place)
    page.run(
        "const s = document.querySelector('#axes select'); s.value = '3';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert page.run(place) != before
    assert (
        page.run("return document.querySelector('#scatter text.axis').textContent")
        == content["data"]["names"][1]
    )


def test_row_of_a_table_is_shown_in_the_scatter_plot(page, content):
    row = content["rows"]["unstable"][0]
    button = page.find_all("#rows-tables .block-of:last-child td.id button")[0]
    assert page.run("return arguments[0].textContent", button) == row["id"]
    page.run("arguments[0].click()", button)
    page.wait("return !document.getElementById('tip').hidden")
    assert page.text("#tip b") == row["id"]


def test_dark_follows_the_system(page):
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 26, 33)"}
    assert page.color("body", "backgroundColor") == paper["light"]
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", features=dark)
    page.wait("return matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.color("body", "backgroundColor") == paper["dark"]
    assert page.color("#scatter .point.c0", "fill") == "rgb(86, 180, 233)"
    page.keep_picture("dark")


def test_phone_scrolls_in_one_direction_only(page):
    page.resize(400, 800)
    page.wait(
        "return innerWidth === 400 && document.querySelector('#scatter svg').viewBox.baseVal.width < 400"
    )
    assert page.run("return document.documentElement.scrollWidth") == 400
    wide = page.run(
        "return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') &&"
        " !e.closest('svg') && e.getBoundingClientRect().right > 401).map(e => e.outerHTML.slice(0, 90))"
    )
    assert wide == []
    small = page.run(
        "return [...document.querySelectorAll('main svg text')].filter(e =>"
        " !e.closest('details:not([open])') && e.getBoundingClientRect().height > 0 && e.getBoundingClientRect().height < 10).length"
    )
    assert small == 0
    page.press("#k", "ARROW_RIGHT")
    assert page.text("#k-now") == "5"
    page.keep_picture("phone")


def test_phone_shows_segments_as_cards_and_keeps_the_menu(page):
    page.resize(390, 800)
    page.wait("return innerWidth === 390")
    assert page.find("nav a").is_displayed()
    card = page.find("#clusters tbody tr")
    assert card.rect["x"] >= 0
    assert card.rect["x"] + card.rect["width"] <= 390
    assert not page.find("#clusters thead").is_displayed()
    label = (
        "return getComputedStyle(document.querySelector('#clusters td.heat'), '::before').content"
    )
    assert EVIL[0] in page.run(label).replace('\\"', '"')
    small = page.run(
        "return [...document.querySelectorAll('button, input, select, summary, nav a')].filter(e => {"
        " const box = e.getBoundingClientRect();"
        " return box.width && Math.min(box.width, box.height) < 24; }).map(e => e.outerHTML)"
    )
    assert small == []


def test_phone_shows_rows_to_look_at_as_paragraphs(page):
    page.resize(390, 800)
    page.wait("return innerWidth === 390")
    wide = page.run(
        "return [...document.querySelectorAll('#rows .scroll')].filter(e => e.scrollWidth >"
        " e.clientWidth || e.querySelector('thead').offsetHeight).length"
    )
    assert page.find_all("#rows .row-cards")
    assert wide == 0
    label = "return getComputedStyle(document.querySelector('#rows td[data-label]'), '::before').content"
    assert page.run(label) == '"Rows moved"'


def test_names_of_segments_are_kept_by_the_browser(page, evil_file):
    field = page.find("[aria-label='Name of segment 2']")
    field.send_keys("<b>big & red</b>")
    page.open(evil_file)
    value = "return document.querySelector('[aria-label=\"Name of segment 2\"]').value"
    assert page.run(value) == "<b>big & red</b>"
    page.press("#k", "ARROW_LEFT")
    page.press("#k", "ARROW_RIGHT")
    assert page.run(value) == "<b>big & red</b>"
    page.run("localStorage.clear()")


def test_names_go_with_a_saved_copy_of_the_page(page, tmp_path):
    assert not page.find("#save-names").is_displayed()
    page.find("#clusters .segment-name").send_keys("</script>Regulars")
    page.run("""
        HTMLAnchorElement.prototype.click = () => {};  // download nothing
        const create = URL.createObjectURL;
        URL.createObjectURL = (blob) => {
          blob.text().then((text) => { window.saved = text; });
          return create(blob);
        };
    """)
    page.click(page.find("#save-names"))
    page.wait("return Boolean(window.saved)")
    copy = tmp_path / "copy.html"
    copy.write_text(page.run("return window.saved"), encoding="utf-8")
    page.run("localStorage.clear()")
    page.open(copy)
    value = "return document.querySelector('#clusters .segment-name').value"
    assert page.run(value) == "</script>Regulars"
    assert page.find("#save-names").is_displayed()


def test_dates_are_shown_as_dates(browser, tmp_path):
    rows, path = make_rows(), tmp_path / "dates.html"
    values = np.column_stack((rows[:, :3], 1_372_636_800 + 86_400 * np.arange(len(rows))))
    build(rows, names=[*"abc", Column("since", date=True)], values=values).to_html(path)
    opened = Page(browser)
    opened.open(path)
    row = opened.find("#rows-tables .block-of:last-child tbody tr")
    _, number, *_, date = opened.run("return arguments[0].innerText", row).split()
    assert date == str(np.datetime64("2013-07-01") + int(number))
    opened.run("document.querySelector('#rows-tables td.id button').click()")
    opened.wait("return !document.getElementById('tip').hidden")
    assert "2013-" in opened.text("#tip table")
    for select in opened.find_all("#axes select"):
        axis = "arguments[0].value = [...arguments[0].options].at(-1).value;"
        opened.run(axis + "arguments[0].dispatchEvent(new Event('change'))", select)
    ticks = "return [...document.querySelectorAll('#scatter text')].map(e => e.textContent)"
    assert sum(text.startswith("2013-") for text in opened.run(ticks)) > 4
    opened.check_silent()


def test_rules_and_categories_describe_segments(browser, tmp_path):
    rows = make_rows()
    in_first = np.arange(90)[:, None] % 5 < 3
    X = np.hstack([rows, in_first, ~in_first])
    names = [*"abcd", *(Column(EVIL[1], category=town) for town in (EVIL[0], "Ulm"))]
    path = tmp_path / "categories.html"
    build(X, methods=["ward"], trials=3, names=names).to_html(path)
    opened = Page(browser)
    opened.open(path)
    assert len(opened.find_all("#clusters tbody .category")) == 4
    assert opened.text("#clusters tfoot .category").startswith(f"{EVIL[0]} 60%")
    assert "of the segment" in opened.text("#clusters .rule-text")
    lines = (
        "return [...document.querySelectorAll('#clusters .rule-text')].map(e => e.children.length)"
    )
    assert min(opened.run(lines)) >= 2  # two rules, or a sentence that says why not
    opened.keep_picture("categories")
    opened.check_silent()


def test_switches_add_and_remove_lines(page):
    page.wait("return document.querySelectorAll('#comparison-charts path.line').length === 9")
    switch = page.find_all(".switch")[1]
    page.click(switch)
    assert switch.get_attribute("aria-pressed") == "false"
    assert len(page.find_all("#comparison-charts .chart path.line")) == 6
    page.click(switch)
    assert len(page.find_all("#comparison-charts .chart path.line")) == 9


def test_page_runs_in_the_frame_of_a_notebook(browser, evil_file, tmp_path):
    """Without an origin there is no storage; nothing may fail for that."""
    report = Report(json.loads(evil_file.with_suffix(".json").read_text(encoding="utf-8")))
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><body>{report._repr_html_()}", encoding="utf-8")
    browser.get_log("browser")
    browser.get(notebook.as_uri())
    browser.switch_to.frame(0)
    page = Page(browser)
    page.wait("return document.documentElement.dataset.ready === 'true'")
    assert len(page.find_all("#clusters tbody tr")) == 4
    page.find("[aria-label='Name of segment 0']").send_keys("x")
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []


def test_everything_that_acts_has_a_name(page):
    nameless = page.run(
        "return [...document.querySelectorAll('button, input, select, a, [tabindex], [role]')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim()))"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert nameless == []
    assert page.run("return document.documentElement.lang") == "en"
    tree = page.send("Accessibility.getFullAXTree")["nodes"]
    sliders = [n for n in tree if n["role"]["value"] == "slider"]
    assert len(sliders) == 1
    assert "k" in sliders[0]["name"]["value"]


def test_prints_light_and_whole(page):
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", features=dark)
    printed = page.send("Page.printToPDF", printBackground=True)["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")
    page.send("Emulation.setEmulatedMedia", media="print", features=dark)
    assert page.color("body", "backgroundColor") == "rgb(255, 255, 255)"
    assert page.color("header", "display") == "none"
    page.send("Emulation.setEmulatedMedia", media="")


def test_policy_stops_requests_and_foreign_scripts(browser, evil_file):
    """A page that had been broken into could neither run a script nor call home."""
    page = Page(browser)
    page.open(evil_file)
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.broken = 2';"
        "document.body.append(s);"
        "const i = new Image(); i.src = 'https://example.invalid/x.png';"
        "fetch('https://example.invalid/y').catch(() => { window.refused = true; })"
    )
    page.wait("return window.refused === true")
    assert page.run("return window.broken") is None
    log = [entry["message"] for entry in browser.get_log("browser")]
    assert len([m for m in log if "Content Security Policy" in m]) >= 3
    assert page.requests() <= {
        evil_file.as_uri(),
        "https://example.invalid/x.png",
        "https://example.invalid/y",
    }


def test_page_without_rows(browser, bare_file):
    page = Page(browser)
    page.open(bare_file)
    titles = [e.text for e in page.find_all("section:not([hidden]) h2")]
    assert titles == [title for title in PARTS if title != "Rows to look at"]
    assert not page.find("#centers").is_displayed()
    assert not page.find("#scatter-figure").is_displayed()
    page.press("#k", "END")
    assert len(page.find_all("#clusters tbody tr")) == 32
    names = page.run(
        "return [...document.querySelectorAll('.segment-name')].map(e => e.placeholder)"
    )
    assert "not described: few rows" in names
    assert "sd" in page.text("#clusters td.heat")
    assert "no values, names or points of single rows" in page.text("#subtitle")
    page.keep_picture("no-rows")
    page.check_silent()


def make_poor_pages(folder):
    """Pages of data with hardly anything in them."""
    normal = np.random.default_rng(0).normal(size=(24, 2))
    few = {"n_clusters": 2, "trials": 2, "delete": [1]}
    build(np.zeros((16, 2)), methods=["ward"], **few).to_html(folder / "equal rows.html")
    build(normal[:, :1], methods=[], **few).to_html(folder / "one column, no method.html")


def test_poor_pages_are_whole(browser, tmp_path):
    make_poor_pages(tmp_path)
    pages = sorted(tmp_path.iterdir())
    assert len(pages) == 2
    for path in pages:
        page = Page(browser)
        page.open(path)
        page.wait(
            "return [...document.querySelectorAll('section:not([hidden]) .chart')]"
            ".every(c => c.firstElementChild)"
        )
        assert page.text("#sentence")
        broken = page.run(
            "return [...document.querySelectorAll('svg *')].filter(e => [...e.attributes]"
            ".some(a => /NaN|Infinity|undefined/.test(a.value))).map(e => e.outerHTML.slice(0, 99))"
        )
        assert broken == [], path.name
        assert page.find_collisions() == [], path.name
        page.keep_picture(path.stem)
        page.check_silent()
