"""One self-contained page about a clustering: how it looks, how steady it is, what to look at.

Data flow: arguments -> `inputs` (validated) -> `summarise` (one file a part of the page: `explorer`
with `nodes` and `points`, `comparison`, `rows`, `choosing`, `verdict`, `made`) -> a plain dictionary
-> `page` (templates) -> HTML. docs/report.md has the shape of the dictionary.
"""

from holdfast.clusterers import METHODS
from holdfast.report.build import build_report
from holdfast.report.model import Report

__all__ = ["METHODS", "Report", "build_report"]
