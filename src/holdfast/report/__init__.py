"""One self-contained page about a clustering: its segments, how stable they are, how they were found.

Data flow: arguments -> `inputs` (validated) -> `build` -> one plain dictionary, each part from a
file of its own (`segments`, `movement`, `choosing`, `verdict`) -> `page` (templates) ->
HTML. `lineage` builds the dictionary of a lineage, for the same page. docs/report.md describes the dictionary.
"""

from holdfast.report.build import build_report
from holdfast.report.lineage import build_lineage_report
from holdfast.report.page import Report

__all__ = ["Report", "build_lineage_report", "build_report"]
