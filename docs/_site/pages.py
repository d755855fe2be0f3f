"""Pages from files that lie outside docs/, and links to them that lead to these pages."""

import posixpath
import re
from pathlib import Path
from typing import Any

from _site.rooms import replace_drawing

ROOT = Path(__file__).resolve().parents[2]

# Files of the repository that the site shows as pages of its own.
SHOWN_AS = {
    "benchmarks/frontier/frontier.md": "explanation/frontier_tables.md",
    "benchmarks/drift/drift.md": "explanation/drift_tables.md",
    "benchmarks/drift/year.md": "explanation/drift_year.md",
    "benchmarks/results.md": "explanation/speed.md",
    "results/claims.md": "explanation/claims.md",
    "results/datasets.md": "explanation/datasets.md",
    "CHANGELOG.md": "explanation/changes.md",
    "CONTRIBUTING.md": "explanation/contributing.md",
    "RELEASING.md": "explanation/releasing.md",
    "SECURITY.md": "explanation/security.md",
}
_LINK = re.compile(r"(\]\()(?![a-z]+:)([^)#\s]+)")


def connect(app: Any) -> None:
    """Rewrite links while pages are read; leave to scikit-learn what is scikit-learn's."""
    app.connect("source-read", _redirect)
    app.connect("autodoc-skip-member", _skip_member)


def write_shown_files(docs: Path) -> None:
    """Write a page for each file of `SHOWN_AS`, its links as seen from there."""
    for source, page in SHOWN_AS.items():
        text = lead_links((ROOT / source).read_text(encoding="utf-8"), source, f"docs/{page}")
        if page.endswith("_tables.md"):  # the page that explains them has the same title
            text = text.replace("\n", ": every table\n", 1)
        target = docs / page
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def lead_links(text: str, source: str, page: str) -> str:
    """Rewrite the links of `source` for a reader of `page`; both are paths in the repository."""

    def lead(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        shown = SHOWN_AS.get(target)
        target = target if shown is None else f"docs/{shown}"
        return found[1] + posixpath.relpath(target, posixpath.dirname(page))

    return _LINK.sub(lead, text)


def _redirect(app: Any, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).suffix == ".md" and f"{docname}.md" not in SHOWN_AS.values():
        source[0] = lead_links(source[0], f"docs/{docname}.md", f"docs/{docname}.md")
    if docname == "architecture":
        source[0] = replace_drawing(
            source[0], ROOT / "docs" / "_made" / "rooms.svg", "_made/rooms.svg"
        )
    if docname == "explanation/index":
        source[0] += _list_others(ROOT / "docs")


def _list_others(docs: Path) -> str:
    """Return a table of contents of the pages that no section lists yet."""
    listed = "".join(
        (docs / s / "index.md").read_text() for s in ("howto", "reference", "explanation")
    )
    others = [p.stem for p in sorted(docs.glob("*.md")) if f"\n../{p.stem}\n" not in listed]
    names = "".join(f"../{name}\n" for name in others if name != "index")
    return f"\n```{{toctree}}\n:maxdepth: 1\n:caption: More\n\n{names}```\n" if names else ""


def _skip_member(
    app: Any, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    inherited = str(getattr(value, "__module__", "")).startswith("sklearn")
    return True if inherited or name.startswith("set_") else None
