"""For readers that are programs: a Markdown twin beside every page, and llms.txt that lists them."""

import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

_NOT_CONTENT = ", ".join(
    (".headerlink", ".sphx-glr-footer", ".sphx-glr-download-link-note", ".copybtn")
    + ("script", "style", ".sd-tab-set > input")
)
_ORDER = ("index", "tutorials", "gallery", "howto", "reference", "explanation")


def connect(app: Any) -> None:
    """Write the twins after the pages; tell each page the address of its twin."""
    app.connect("build-finished", _write_all)
    app.connect("html-page-context", _name_twin)


def _name_twin(
    app: Any, docname: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    if doctree is not None:
        context["markdown_twin"] = docname.rpartition("/")[2] + ".md"


def _write_all(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    listed = []
    for docname in sorted(app.env.found_docs, key=_place):
        page = Path(app.outdir) / f"{docname}.html"
        article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select_one(
            "article"
        )
        assert article is not None, page
        for part in article.select(_NOT_CONTENT):
            part.decompose()
        _lead_to_twins(article, page, Path(app.outdir), app.env.found_docs)
        converter = MarkdownConverter(heading_style="ATX", code_language_callback=_language)
        text = converter.convert_soup(article)
        text = re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
        page.with_suffix(".md").write_text(text, encoding="utf-8")
        listed.append((docname, app.env.titles[docname].astext(), _first_sentence(article)))
    (Path(app.outdir) / "llms.txt").write_text(_index_of(listed), encoding="utf-8")


def _lead_to_twins(article: Tag, page: Path, site: Path, docnames: set[str]) -> None:
    """From twin to twin: a reader of Markdown stays in Markdown."""
    pages = {(site / docname).resolve() for docname in docnames}
    for link in article.select("a[href]"):
        path, mark, place = str(link["href"]).partition("#")
        if path.endswith(".html") and (page.parent / path[:-5]).resolve() in pages:
            link["href"] = f"{path[:-5]}.md{mark}{place}"


def _language(block: Tag) -> str:
    holder = block.find_parent(class_=re.compile("^highlight-"))
    if holder is None:
        return ""
    (name, *_) = [c[10:] for c in holder.get("class", []) if c.startswith("highlight-")]
    return "" if name in ("default", "none") else name.lower()


def _place(docname: str) -> tuple[int, str]:
    first = docname.partition("/")[0]
    return (_ORDER.index(first) if first in _ORDER else len(_ORDER) - 1, docname)


def _first_sentence(article: Tag) -> str:
    for paragraph in article.find_all("p"):
        text = " ".join(paragraph.get_text().split())
        if text.endswith((".", ":")) or ". " in text:
            return re.split(r"(?<=\.) ", text)[0]
    return ""


def _index_of(listed: list[tuple[str, str, str]]) -> str:
    lines = [
        "# holdfast",
        "",
        "> Hierarchical clustering that stays put: a scikit-learn estimator and a",
    ]
    lines += ["> command-line tool. Each page below is the Markdown twin of an HTML page.", ""]
    section = ""
    for docname, title, sentence in listed:
        folder = docname.partition("/")[0] if "/" in docname else "pages"
        if folder != section:
            section = folder
            lines += ["", f"## {section}", ""]
        lines.append(f"- [{title}]({docname}.md)" + (f": {sentence}" if sentence else ""))
    return "\n".join(lines) + "\n"
