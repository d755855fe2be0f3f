"""Picture of the top of a report page, as in the README.

make demo browser
PYTHONPATH=tests .venv/bin/python tests/browser/take_picture.py demo-report.html docs/report.png
"""

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from browser_page import Page, start_browser

WIDTH, HEIGHT = 1180, 1400


def main(source: str, target: str) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        program, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if program is None or driver is None:
            raise SystemExit("Chromium or its driver is missing: run 'make browser' first.")
        browser = start_browser(program, driver, Path(profile))
        try:
            page = Page(browser)
            page.open(Path(source).resolve(), WIDTH, HEIGHT)
            shot = page.send("Page.captureScreenshot", format="png")
        finally:
            browser.quit()
    Path(target).write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
