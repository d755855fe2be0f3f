"""Labels of charts collide with nothing, on pages of real tables and for the worst of positions.

`collisions.js` reads the boxes of what the browser has drawn: text against text, marks, bars, lines and
the edge of the chart, and lines that lead to names against all of these.
"""

import copy
import os
from pathlib import Path

import numpy as np
import pytest
from browser_page import Page
from report_builder import EVIL, build, build_evil, make_rows
from sklearn.datasets import load_digits, load_iris, load_wine

from holdfast.hierarchy.rules import Column
from holdfast.report import Report

WIDTHS = (1300, 768, 390)
PICTURES = {1300: "light", 390: "dark"}  # `make pictures` takes all of them, of larger tables
METHODS = ["medoids", "ward", "average", "complete", "single", "bisecting_kmeans"]
TABLES = ("few", "many", "plane", "large", "mixed")
DATA = Path(os.environ.get("HOLDFAST_DATA", "data"))


def read_table(name):
    """Rows and the names of their columns: few columns, many columns, a plane, many rows, mixed types."""
    if name == "plane":
        data = load_iris()
        return data.data[:, :2], data.feature_names[:2]
    if name == "many":
        data = load_digits()
        return data.data[::3], data.feature_names
    if name == "large":
        rows = np.tile(make_rows(2000), (4, 1)) * 1e6
        return rows + np.arange(rows.size).reshape(rows.shape) % 977, ["a", "b", "c", "d"]
    if name == "few" and (DATA / "wholesale.csv").exists():
        rows = np.loadtxt(DATA / "wholesale.csv", delimiter=",", skiprows=1)
        return rows, [f"column {j}" for j in range(rows.shape[1])]
    data = load_wine()
    if name == "few":
        return data.data[:, :5], data.feature_names[:5]
    marks = data.target[:, None] == np.arange(3)
    kinds = [Column("cultivar", category=str(name)) for name in data.target_names]
    return np.hstack([data.data, marks]), [*data.feature_names, *kinds]


def build_table(name):
    rows, names = read_table(name)
    spread = np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 1.0)
    return build(
        rows / spread, values=rows, names=names, title=name, trials=2, methods=METHODS,
    )  # fmt: skip


def choose_k(page, k):
    page.run(
        "const s = document.getElementById('k'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input'))",
        k,
    )


def count_numbers(page):
    return len(page.find_all("#scatter .badge"))


@pytest.mark.parametrize("name", TABLES)
def test_real_tables_at_every_width(browser, tmp_path, name):
    """Nothing is wider than the page, no table scrolls sideways, and labels collide with nothing."""
    path = tmp_path / f"{name}.html"
    build_table(name).to_html(path)
    opened = Page(browser)
    for width in WIDTHS:
        opened.open(path, width)
        assert opened.run("return document.documentElement.scrollWidth") <= width
        widths = opened.run(
            """return [...document.querySelectorAll("#clusters .scroll, #rows-tables .scroll")].map(
              (box) => box.scrollWidth - box.clientWidth);"""
        )
        assert widths
        assert max(widths) <= 1, width
        if width in PICTURES:
            scheme = {"name": "prefers-color-scheme", "value": PICTURES[width]}
            opened.send("Emulation.setEmulatedMedia", features=[scheme])
            opened.keep_picture(f"{name}-{width}-{PICTURES[width]}")
        assert count_numbers(opened) == 4
        for k in (4, 32) if width != 768 else (4,):
            choose_k(opened, k)
            assert opened.find_collisions() == [], (width, k)
            assert count_numbers(opened) >= 0.4 * k
    opened.check_silent()


POSITIONS = {
    "one place": lambda i: (1.0, 0.1, 0.1, 0.1),
    "one place, long bars": lambda i: (1.0, 0.1, 0.0, 0.3),
    "a row": lambda i: (1 + 0.001 * i, 0.0, 0.0, 0.0),
    "a column": lambda i: (1.0, 0.01 * i, 0.01 * i, 0.01 * i),
    "a fence of bars": lambda i: (1 + 0.01 * i, 0.15, 0.0, 0.3),
    "a diagonal": lambda i: (1 + 0.003 * i, 0.005 * i, 0.004 * i, 0.006 * i),
    "anywhere": lambda i: (1 + 0.002 * (7919 * i % 101), *(b * (104729 * i % 97) for b in (3e-3, 2e-3, 5e-3))),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain_content():
    return build(make_rows(), methods=METHODS, trials=2).content


def place_methods(content, place, count):
    """Copy a page, with `count` methods and all centers at the given places."""
    changed = copy.deepcopy(content)
    methods = changed["comparison"]["methods"]
    several = [copy.deepcopy(methods[i % len(methods)]) for i in range(count)]
    for i, method in enumerate(several):
        cost, moved, low, high = place(i)
        title = method["title"] if i < len(methods) else f"{method['title']}, variant {i}"
        method |= {"name": f"method {i}", "title": title, "moved": moved, "low": low, "high": high}
        method["relative_cost"] = cost
    changed["comparison"]["methods"] = several
    points = changed["segments"]["points"]
    for i, center in enumerate(changed["segments"]["centers"]):
        at = points["rows"].index(center["row"])
        x, y, *_ = place(i)
        points["axes"][0]["values"][at], points["axes"][1]["values"][at] = 10 * x, 10 * y
    return Report(changed)


@pytest.mark.parametrize("count", [8, 15])
@pytest.mark.parametrize("name", POSITIONS)
def test_the_worst_positions(browser, tmp_path, plain_content, name, count):
    path = tmp_path / "page.html"
    place_methods(plain_content, POSITIONS[name], count).to_html(path)
    page = Page(browser)
    chart = "#comparison-charts figure:first-child .chart"
    for width in WIDTHS if count > 8 else (390,):
        page.open(path, width)
        assert page.find_collisions() == [], width
        labels = page.run(
            f"return [...document.querySelectorAll('{chart} .halo')].map(e => e.textContent)"
        )
        listed = len(page.find_all(f"{chart} .legend li"))
        if listed:  # numbers, of which dots at one place share one label
            assert listed == count
            assert 1 <= len(labels) <= count
            assert all(set(label) <= set("0123456789–, ") for label in labels)
        else:
            assert len(labels) == count
    page.check_silent()


def test_long_names_and_numbers(browser, tmp_path):
    """Names of columns are cut where they are too long, and large values widen the left margin."""
    report = build_evil(make_rows() * 1e9)
    report.content["segments"]["names"] = {}
    report.to_html(tmp_path / "page.html")
    page = Page(browser)
    for width in WIDTHS:
        page.open(tmp_path / "page.html", width)
        for choice in (2, 3, 5):
            page.run(
                "document.querySelectorAll('#axes select').forEach((s) => { s.value = arguments[0];"
                "s.dispatchEvent(new Event('change')) })",
                choice,
            )
            assert page.find_collisions() == [], (width, EVIL[choice - 2])
    page.check_silent()
