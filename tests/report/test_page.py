"""The page holds everything, asks for nothing, and runs nothing that came with the data."""

import base64
import hashlib
import json
import os
import re
import tempfile
import webbrowser
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from report_builder import EVIL, build

from holdfast.report.page import embed_json

TEMPLATES = files("holdfast.report").joinpath("templates")


class Elements(HTMLParser):
    """Every element of a page, and the text of script, style and title."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.texts = [], {"script": [], "style": [], "title": []}
        self.inside = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.inside = tag if tag in self.texts else None
        if self.inside:
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside][-1] += data


@pytest.fixture(scope="module")
def page(report):
    return Elements(report.to_html())


def test_data_come_back_whole_from_the_page(page, report):
    data, _ = page.texts["script"]
    assert json.loads(data) == report.content
    assert report.content["data"]["names"] == EVIL


def test_names_add_no_element_to_the_page(page, report_without_rows):
    harmless = Elements(report_without_rows.to_html())
    assert page.found[1:] == harmless.found[1:]
    assert page.texts["title"] == [f"{EVIL[1]} · holdfast"]
    assert len(page.texts["script"]) == 2


def test_json_cannot_leave_its_element():
    text = embed_json({"</script>": "<!-- & \u2028 \u2029 ]]>"})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"</script>": "<!-- & \u2028 \u2029 ]]>"}


def test_policy_allows_exactly_this_style_and_script(page):
    (policy,) = [a["content"] for t, a in page.found if a.get("http-equiv")]
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert {*directives} == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for name, text in (
        ("script-src", page.texts["script"][1]),
        ("style-src", page.texts["style"][0]),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[name] == f"'sha256-{digest}'"


def test_page_names_no_address_and_no_file(page):
    for _, attributes in page.found:
        assert not {"src", "srcset", "action", "style", "onload"} & {*attributes}
        assert attributes.get("href", "#").startswith("#")
    for text in (page.texts["script"][1], page.texts["style"][0]):
        assert {*re.findall(r"https?://[^\"'\s]+", text)} <= {"http://www.w3.org/2000/svg"}
        assert "@import" not in text


def test_scripts_never_parse_text_as_html_or_code():
    banned = (
        r"innerHTML|outerHTML\s*=[^=]|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|"
        r"XMLHttpRequest|createContextualFragment|DOMParser|srcdoc|import\("
    )
    scripts = [f for f in TEMPLATES.iterdir() if f.name.endswith(".js")]
    assert len(scripts) == 14
    for file in scripts:
        assert not re.findall(banned, file.read_text(encoding="utf-8")), file.name


def test_page_is_written_whole(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    html = report.to_html(path)
    assert path.read_bytes() == html.encode("utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_notebooks_show_the_page_in_a_frame_of_its_own(report):
    frame = Elements(report._repr_html_())
    ((tag, attributes),) = frame.found
    assert tag == "iframe"
    assert attributes["srcdoc"] == report.to_html()
    assert attributes["sandbox"] == "allow-scripts"  # never allow-same-origin beside it


def test_show_opens_a_file_that_only_its_owner_can_read(report, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", opened.append)
    report.show()
    (path,) = tmp_path.iterdir()
    assert opened == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == report.to_html()
    assert path.stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_repr_is_one_line(report):
    assert repr(report).startswith(f"Report({report.content['title']!r}: When 5% of the rows")
    assert "\n" not in repr(report)


def test_ten_thousand_rows_stay_below_six_megabytes():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10_000, 20)) + 5.0 * rng.integers(4, size=(10_000, 1))
    report = build(
        rows, n_clusters=8, names=[f"a rather long name of column {j}" for j in range(20)],
        ids=[f"customer number {i:05d}" for i in range(10_000)], methods=["ward"], delete=[0.05],
        trials=2, repeats=1,
    )  # fmt: skip
    assert 100_000 < len(report.to_html().encode()) < 6_000_000
