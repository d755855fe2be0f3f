"""The unit tests of the page's JavaScript, in the browser that runs it.

``unit/test_*.js`` see the functions of all templates but ``page.js``, which starts the page.
"""

from pathlib import Path

from browser_page import Page

from holdfast.report import page as report_page

UNIT = Path(__file__).parent / "unit"


def test_scripts(browser, tmp_path):
    names = [name for name in report_page._SCRIPTS["report"] if name != "page"]
    templates = [report_page._read(f"{name}.js") for name in names]
    tests = sorted(UNIT.glob("test_*.js"))
    parts = [*templates, *(p.read_text(encoding="utf-8") for p in (UNIT / "runner.js", *tests))]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();"
    page = tmp_path / "unit.html"
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><div id="tip"></div><script>{script}</script>',
        encoding="utf-8",
    )
    browser.get(page.as_uri())
    results = Page(browser).run("return window.results")
    assert results is not None, browser.get_log("browser")
    failed = [f"{result['name']}: {result['error']}" for result in results if result["error"]]
    assert failed == []
    written = sum(path.read_text(encoding="utf-8").count("\ntest(") for path in tests)
    starts = sum(path.read_text(encoding="utf-8").startswith("test(") for path in tests)
    assert len(results) == written + starts
