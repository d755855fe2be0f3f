"""Every link inside the built site leads to a file and a place in it that exist.

``python docs/_site/check_links.py FOLDER`` prints those that do not and fails.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}


class _Page(HTMLParser):
    """Ids and addresses of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what others may link to, and what this page links to."""
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        address = given.get(_ADDRESSES.get(tag, ""))
        if address:
            self.addresses.append(address)


def check(folder: Path) -> tuple[int, list[str]]:
    """Return the number of links inside the site, and a line for each that leads nowhere."""
    paths = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in paths}
    checked, wrong = 0, []
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                wrong.append(f"{path.relative_to(folder)}: no file {address}")
            elif place and target in pages and place not in pages[target].ids:
                wrong.append(f"{path.relative_to(folder)}: no place {address}")
    return checked, wrong


def main() -> int:
    """Check the folder that was given."""
    checked, wrong = check(Path(sys.argv[1]).resolve())
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{checked} links inside the site, {len(wrong)} lead nowhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
