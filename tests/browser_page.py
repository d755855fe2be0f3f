"""One page in a driven browser: what a person would do to it, and what it must never do."""

import base64
import json
import os
import shutil
from pathlib import Path

PICTURES = "HOLDFAST_PICTURES"
"""Name of the variable with a folder for screenshots; none are kept where it is not set."""


COLLISIONS = Path(__file__).parent / "browser" / "collisions.js"

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> tuple[str | None, str | None]:
    """Return the programs of the browser and of its driver; None where one is missing."""
    return next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")


def start_browser(program: str, driver: str, profile: Path):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
        "disable-dev-shm-usage", "force-color-profile=srgb", "hide-scrollbars",
        "window-size=1280,900", f"user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.get("about:blank")  # what the browser asks for at its start is no request of a page
    return browser


class Page:
    """A page under test."""

    def __init__(self, browser) -> None:
        self.browser = browser
        self.path: Path | None = None

    def open(self, path: Path, width: int = 1280, height: int = 900) -> None:
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.send("Emulation.setEmulatedMedia", features=[])
        self.resize(width, height)
        self.path = path
        self.browser.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.wait("return document.querySelectorAll('figure .chart svg').length >= 1")

    def resize(self, width: int, height: int = 900) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def send(self, command: str, **parameters):
        return self.browser.execute_cdp_cmd(command, parameters)

    def run(self, script: str, *arguments):
        return self.browser.execute_script(script, *arguments)

    def wait(self, script: str, seconds: float = 10.0) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, seconds, poll_frequency=0.05).until(
            lambda browser: browser.execute_script(script), message=script
        )

    def find(self, selector: str):
        return self.browser.find_element("css selector", selector)

    def find_all(self, selector: str):
        return self.browser.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, selector: str, key: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.run("document.querySelector(arguments[0]).focus()", selector)
        self.browser.switch_to.active_element.send_keys(getattr(Keys, key))

    def hover(self, element, x: int = 0, y: int = 0) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        # The header and the slider stick to the top: what is hovered must not lie below them.
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        ActionChains(self.browser).move_to_element_with_offset(element, x, y).perform()

    def click(self, element) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        self.hover(element)
        ActionChains(self.browser).click().perform()

    def color(self, selector: str, name: str) -> str:
        return self.run(
            "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]",
            selector, name,
        )  # fmt: skip

    def find_collisions(self) -> list[str]:
        """Say which labels of charts cover something, or are covered, in all charts of the page."""
        self.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        self.wait("""return [...document.querySelectorAll('.chart')].every((chart) => {
            const width = Math.floor(chart.clientWidth);
            const drawn = chart.querySelector('svg:not(.swatch)')?.viewBox.baseVal.width;
            return width < 40 || drawn === width || chart.matches('.wide-chart') && drawn > 0; });""")
        seen = self.run(COLLISIONS.read_text(encoding="utf-8"))
        assert seen["charts"] >= 1
        assert seen["texts"] >= 3 * seen["charts"]
        return seen["found"]

    def check_silent(self) -> None:
        """The console is empty, and nothing but the file itself was ever asked for."""
        assert self.browser.get_log("browser") == []
        assert self.path is not None
        assert self.requests() == {self.path.as_uri()}

    def requests(self) -> set[str]:
        """Addresses of all requests since the page was opened, fragments left off."""
        events = [json.loads(e["message"])["message"] for e in self.browser.get_log("performance")]
        return {
            event["params"]["request"]["url"].partition("#")[0]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        }

    def keep_picture(self, name: str) -> bytes:
        """Take a picture of the whole page, and keep it where HOLDFAST_PICTURES says."""
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        picture = base64.b64decode(shot["data"])
        if os.environ.get(PICTURES):
            folder = Path(os.environ[PICTURES])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.png").write_bytes(picture)
        return picture
