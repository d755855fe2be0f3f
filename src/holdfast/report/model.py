"""The report: a dictionary, and what can be made of it."""

import json
import os
from dataclasses import dataclass
from typing import Any

from holdfast._machine.files import write_whole
from holdfast.report.page import render_page

__all__ = ["Report"]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What was found out about a clustering, ready to be read by a person or a program.

    Attributes
    ----------
    content : dict
        Strings, numbers, lists, dictionaries and None only. docs/report.md has its shape.
    """

    content: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The one sentence."""
        sentence: str = self.content["verdict"]["sentence"]
        return sentence

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the dictionary, which may be changed."""
        copy: dict[str, Any] = json.loads(self.to_json())
        return copy

    def to_json(self) -> str:
        """Return the dictionary as JSON text."""
        return json.dumps(self.content, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Make the page: one self-contained HTML file that requests nothing from anywhere.

        Parameters
        ----------
        path : path, default=None
            Where to write it as well; an existing file is replaced as a whole or not at all.

        Returns
        -------
        str
            The HTML.
        """
        html = render_page(self.content)
        if path is not None:
            write_whole(path, lambda file: file.write(html.encode("utf-8")))
        return html

    def __repr__(self) -> str:
        """Give the verdict."""
        return f"Report({self.verdict!r})"
