"""The dictionary -> one HTML file that holds everything and asks nobody for anything.

Style and script are known before any data: the page's Content-Security-Policy names their hashes,
so that no other script could run even if one got in, and forbids every request. The data are JSON
text inside a ``script`` element that no browser executes.
"""

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

__all__ = ["embed_json", "render_page"]

_SCRIPTS = (
    "elements.js",
    "marks.js",
    "hierarchy.js",
    "charts.js",
    "scatter.js",
    "icicle.js",
    "clusters.js",
    "parts.js",
    "page.js",
)

# Characters that could end the element, start a comment, or end a line of a script.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def render_page(content: dict[str, Any]) -> str:
    """Fill the template.

    Parameters
    ----------
    content : dict
        See docs/report.md.

    Returns
    -------
    str
        A whole HTML document.
    """
    style, script = _read("page.css"), _join_scripts()
    policy = (
        f"default-src 'none'; script-src '{_hash_source(script)}'; "
        f"style-src '{_hash_source(style)}'; base-uri 'none'; form-action 'none'"
    )
    return Template(_read("page.html")).substitute(
        title=html.escape(content["title"]),
        policy=policy,
        style=style,
        script=script,
        data=embed_json(content),
    )


def embed_json(content: Any) -> str:
    r"""JSON that stays inside its element whatever it holds: ``<`` is written ``\u003c``."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


@cache
def _join_scripts() -> str:
    parts = "\n".join(_read(f"{name}") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


@cache
def _read(name: str) -> str:
    return files("holdfast.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
