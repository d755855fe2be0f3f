"""Picture of a report page, as in the README, or of the whole page to look at.

make demo browser
PYTHONPATH=tests .venv/bin/python tests/browser/take_picture.py demo-report.html docs/report.png
PYTHONPATH=tests .venv/bin/python tests/browser/take_picture.py demo-report.html phone.png \
    --width 390 --dark --whole
"""

import argparse
import base64
import shutil
import tempfile
from pathlib import Path

from browser_page import Page, start_browser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--width", type=int, default=1180)
    parser.add_argument("--height", type=int, default=1400)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--whole", action="store_true", help="all of the page, not only its top")
    parser.add_argument("--script", default="", help="JavaScript to run before the picture")
    given = parser.parse_args()
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit("Chromium or its driver is missing: run 'make browser' first.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = start_browser(program, driver, Path(profile))
        try:
            given.target.write_bytes(_take(Page(browser), given))
        finally:
            browser.quit()


def _take(page: Page, given: argparse.Namespace) -> bytes:
    page.open(given.source.resolve(), given.width, given.height)
    theme = "dark" if given.dark else "light"
    page.send(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": theme}],
    )
    page.wait(f"return document.documentElement.dataset.theme === '{theme}'")
    if given.script:
        page.run(given.script)
    if given.whole:
        return page.keep_picture(given.target.stem)
    shot = page.send("Page.captureScreenshot", format="png")
    return base64.b64decode(shot["data"])


if __name__ == "__main__":
    main()
