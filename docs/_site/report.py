"""The live report of the front page: the real page of `build_report`, not a picture of it."""

from pathlib import Path

from _site.freshness import digest_of_package
from holdfast.cli.demo import report_wine


def write_wine_report(path: Path) -> None:
    """Write the report that ``make demo`` writes, unless it is there and the package is the same."""
    stamp = path.with_suffix(".sha256")
    if path.exists() and stamp.exists() and stamp.read_text() == digest_of_package():
        return
    path.parent.mkdir(exist_ok=True)
    report_wine().to_html(path)
    stamp.write_text(digest_of_package())
