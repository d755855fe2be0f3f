"""The dictionary -> one HTML file that contains everything and requests nothing.

Style and script are fixed before any data are known: the page's Content-Security-Policy lists their
hashes, so no other script can run even if one got in, and it forbids every request. The data are
JSON text inside a ``script`` element that no browser executes.
"""

import base64
import hashlib
import html
import json
import math
import os
import tempfile
import webbrowser
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdfast._machine.files import write_whole

_SCRIPTS = {
    "report": (
        "elements", "marks", "hierarchy", "names", "axes", "charts", "dots", "scatter", "segments",
        "stability", "choosing", "page",
    ),
    "lineage": (
        "elements", "marks", "names", "axes", "charts", "segments", "alluvial", "lineage",
    ),
}  # fmt: skip
"""Scripts of each kind of page; the last one starts it."""

_FRAME_HEIGHT = 720  # pixels, in a notebook

# Characters that could end the element, start a comment, or end a line of a script.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The results of a report, as a page and as a dictionary.

    Attributes
    ----------
    content : dict
        Strings, numbers, lists, dictionaries and None only. docs/report.md describes it.
    """

    content: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The main finding, in one or two sentences."""
        sentence: str = self.content["verdict"]["sentence"]
        return sentence

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the dictionary."""
        copy: dict[str, Any] = json.loads(self.to_json())
        return copy

    def to_json(self) -> str:
        """Return the dictionary as JSON text."""
        return json.dumps(self.content, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Render the page: one self-contained HTML file that requests nothing.

        Parameters
        ----------
        path : path, default=None
            Where to write the page. An existing file is replaced completely or not at all.

        Returns
        -------
        str
            The HTML.
        """
        page = render_page(self.content)
        if path is not None:
            write_whole(path, lambda file: file.write(page.encode("utf-8")))
        return page

    def show(self) -> None:
        """Open the page in a web browser; a notebook shows a report by itself.

        The page is written to a temporary file, which only its owner can read and which is not
        deleted.
        """
        handle, name = tempfile.mkstemp(prefix="holdfast-", suffix=".html")
        with os.fdopen(handle, "wb") as file:
            file.write(self.to_html().encode("utf-8"))
        webbrowser.open(Path(name).as_uri())

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, so that its style stays inside it."""
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" sandbox="allow-scripts" '
            f'title="{html.escape(self.content["title"])}" width="100%" height="{_FRAME_HEIGHT}" '
            f'style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        """Name the data and the main finding."""
        return f"Report({self.content['title']!r}: {self.verdict})"


def render_page(content: dict[str, Any]) -> str:
    """Fill the template with what docs/report.md describes: a complete HTML document."""
    kind = content["kind"]
    style, script = _read("page.css"), _join_scripts(kind)
    policy = (
        f"default-src 'none'; script-src '{_hash_source(script)}'; "
        f"style-src '{_hash_source(style)}'; base-uri 'none'; form-action 'none'"
    )
    title, data = html.escape(content["title"]), embed_json(content)
    return Template(_read("page.html")).substitute(
        title=title, policy=policy, style=style, script=script, data=data,
        parts=_read(f"{kind}.html"),
    )  # fmt: skip


def embed_json(content: Any) -> str:
    r"""Return JSON that cannot leave its element: ``<`` is written ``\u003c``."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


DATE_DIGITS = 10
"""Digits of a date in seconds since 1970: five would be off by a day."""


def round_number(value: Any, digits: int = 5) -> float | int | None:
    """Round to significant digits; None for NaN and infinity, which JSON does not have."""
    number = float(value)
    if not math.isfinite(number):
        return None
    rounded = float(f"{number:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def list_numbers(values: ArrayLike, digits: int = 5) -> list[float | int | None]:
    """Round every element of an array."""
    return [round_number(value, digits) for value in np.asarray(values).ravel().tolist()]


def format_fraction(fraction: float) -> str:
    """Format as a percentage such as ``3.0%`` or ``27%``; only an exact zero is ``0%``."""
    percent = 100.0 * fraction
    if percent == 0.0:
        return "0%"
    if abs(percent) < 0.01:
        return "<0.01%" if percent > 0 else ">-0.01%"
    digits = 2 if abs(percent) < 0.1 else 1 if abs(percent) < 9.95 else 0
    return f"{percent:.{digits}f}%"


@cache
def _join_scripts(kind: str) -> str:
    parts = "\n".join(_read(f"{name}.js") for name in _SCRIPTS[kind])
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


@cache
def _read(name: str) -> str:
    return files("holdfast.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
