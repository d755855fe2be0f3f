"""A headless Chromium with an empty profile. Run by `make browser`, never by `make test`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_page import Page, find_browser, start_browser
from report_builder import build, build_evil, make_rows

INSTRUCTION = (
    "these tests need Chromium and its driver: run 'make browser', which installs them from the "
    "system's packages, or install them yourself ('apt-get install chromium chromium-driver')"
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory):
    program, driver = find_browser()
    if program is None or driver is None:
        pytest.fail(f"No {'Chromium' if program is None else 'chromedriver'}: {INSTRUCTION}.")
    running = start_browser(program, driver, tmp_path_factory.mktemp("profile"))
    yield running
    running.quit()


@pytest.fixture(scope="session")
def evil_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "report.html"
    report = build_evil(make_rows())
    report.to_html(path)
    path.with_suffix(".json").write_text(report.to_json(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def bare_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page without anything about single rows."""
    path = tmp_path_factory.mktemp("pages") / "no-rows.html"
    build(make_rows(), methods=["ward"], trials=3, rows=False).to_html(path)
    return path


@pytest.fixture
def page(browser, evil_file: Path) -> Iterator[Page]:
    """The page of hostile names, opened again at 1280 pixels; silent and alone at the end."""
    opened = Page(browser)
    opened.open(evil_file)
    yield opened
    opened.check_silent()
