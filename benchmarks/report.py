"""Rows of the table of results, and the files they are written to: Markdown, JSON and a figure."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from tasks import Group, Results, Settings

YEAR = 365.25 * 86400.0
HEADER = ["what", "holdfast", "compared with", "its figure", "ratio", "wanted", "aim", "met"]
_WIDTHS = [62, 25, 21, 25, 9, 9, 7, 12]
_TEXT = ("what", "compared with", "met")

_HOW = """\
Each time is the best of {repeats} fresh processes, and in each process of two runs or more after a
warm-up on few rows (except where the start itself is measured); memory is the largest. In brackets:
the smallest and the largest figure of the processes. The first run of a process also pays for memory
that it has not had before. holdfast and its peer take turns, with `OMP_WAIT_POLICY=passive`. holdfast's figure is that of
`HierarchicalKMedian(...).fit(X)`, including validation and the labels of one cut. Inputs are eight
Gaussian groups unless stated otherwise. What is wanted is a ratio where there is a peer, else
holdfast's own figure. Peers: `Genie(n_clusters=8)` of genieclust, `BisectingKMeans` of scikit-learn
with as many clusters as holdfast has centers, `linkage_vector(method="ward")` of fastcluster."""


class Measured(float):
    """A figure, and the smallest and largest value that its runs gave."""

    low: float
    high: float

    def __new__(cls, figure: float, low: float | None = None, high: float | None = None) -> Self:
        measured = super().__new__(cls, figure)
        measured.low = figure if low is None else low
        measured.high = figure if high is None else high
        return measured

    @classmethod
    def over(cls, figure: float, runs: Iterable[float]) -> Self:
        """A figure that summarizes some runs."""
        listed = list(runs)
        return cls(figure, min(listed), max(listed))

    def per(self, unit: float) -> "Measured":
        """The figure in other units."""
        return Measured(self / unit, self.low / unit, self.high / unit)

    def beyond(self, base: float) -> "Measured":
        """The figure above a base."""
        return Measured(self - base, self.low - base, self.high - base)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    What is wanted (and the aim) is a ratio where there is a peer, else holdfast's own figure.
    """

    what: str
    value: float | None = None
    peer: float | None = None
    against: str = ""
    unit: str = "s"
    wanted: float | None = None
    aim: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.value is None or self.peer is None else self.value / self.peer

    @property
    def judged(self) -> float | None:
        return self.value if self.peer is None else self.ratio

    @property
    def met(self) -> bool | None:
        if self.wanted is None or self.judged is None:
            return None
        return self.judged <= self.wanted

    @property
    def verdict(self) -> str:
        if self.met is None:
            return ""
        if not self.met:
            return "MISSED"
        if self.aim is None or self.judged is None:
            return "met"
        return "met, aim too" if self.judged <= self.aim else "met, aim not"

    def format_cells(self) -> list[str]:
        """Return the cells of this row, as `HEADER` names them."""
        judged_unit = self.unit if self.peer is None else ""
        return [
            self.what,
            format_range(self.value, self.unit),
            self.against,
            format_range(self.peer, self.unit),
            format_figure(self.ratio, ""),
            format_figure(self.wanted, judged_unit),
            format_figure(self.aim, judged_unit),
            self.verdict,
        ]


def format_figure(figure: float | None, unit: str) -> str:
    """Three significant digits and the unit; very long times in years."""
    if figure is None:
        return ""
    if unit == "s" and figure >= YEAR:
        return f"{figure / YEAR:,.3g} years"
    text = f"{figure:,.0f}" if abs(figure) >= 1000.0 else f"{figure:.3g}"
    return f"{text} {unit}".rstrip()


def format_range(figure: float | None, unit: str) -> str:
    """Format a figure and, if its runs differ in three digits, the smallest and largest in brackets."""
    text = format_figure(figure, unit)
    if not isinstance(figure, Measured):
        return text
    low, high = (format_figure(end, "") for end in (figure.low, figure.high))
    return text if low == high else f"{text} ({low} to {high})"


def format_line(cells: list[str]) -> str:
    """One line of the table for the terminal: text to the left, numbers to the right."""
    aligned = [
        cell.ljust(width) if name in _TEXT else cell.rjust(width)
        for name, cell, width in zip(HEADER, cells, _WIDTHS, strict=True)
    ]
    return " ".join(aligned).rstrip()


def format_markdown(rows: list[Row]) -> str:
    """Return a Markdown table; the notes of rows are numbered below it."""
    rule = ["---" if name in _TEXT else "---:" for name in HEADER]
    lines, notes = [HEADER, rule], []
    for row in rows:
        cells = row.format_cells()
        if row.note:
            notes.append(row.note)
            cells[0] += f" ({len(notes)})"
        if row.met is False:
            cells[-1] = f"**{cells[-1]}**"
        lines.append(cells)
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    numbered = [f"({i}) {note}." for i, note in enumerate(notes, start=1)]
    return "\n\n".join([text, *numbered])


@dataclass(frozen=True)
class Run:
    """What identifies a run."""

    settings: "Settings"
    command: str
    date: str
    commit: str
    load: float | None
    machine: dict[str, str]
    versions: dict[str, str]


def write_report(
    folder: Path, run: Run, tables: "list[tuple[Group, list[Row]]]", results: "Results"
) -> None:
    """Write results.md, results.json and results.png into `folder`."""
    from figure import draw_results  # needs matplotlib, whose absence is reported before this

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.md").write_text(describe_run(run, tables))
    (folder / "results.json").write_text(list_numbers(run, tables, results))
    draw_results(folder, [row for _, rows in tables for row in rows], results)


def describe_run(run: Run, tables: "list[tuple[Group, list[Row]]]") -> str:
    """Return the text of results.md."""
    rows = [row for _, listed in tables for row in listed]
    facts = {
        "date": run.date,
        "command": f"`{run.command}`",
        "commit": run.commit or "unknown",
        **run.machine,
        "load before the run": "unknown" if run.load is None else f"{run.load:.2f}",
        "versions": ", ".join(f"{name} {value}" for name, value in run.versions.items()),
    }
    where = f"{run.machine['CPU']}, {run.machine['cores']} cores"
    parts = [
        "# Benchmark results",
        f"Written by `make bench` on {where}; do not edit. **{summarize(rows, run.settings)}.**",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        _HOW.format(repeats=run.settings.repeats),
        "![Time against the number of rows, and everything wanted](results.png)",
    ]
    for group, listed in tables:
        parts += [f"## {group.title[0].upper()}{group.title[1:]}", format_markdown(listed)]
    return "\n\n".join(parts) + "\n"


def list_numbers(run: Run, tables: "list[tuple[Group, list[Row]]]", results: "Results") -> str:
    """Return the text of results.json: all rows, and the numbers of every single repeat."""
    content = {
        **asdict(run),
        "rows": [
            {
                "group": group.name,
                **asdict(row),
                "ratio": row.ratio,
                "met": row.met,
                "range": _range_of(row.value),
                "peer_range": _range_of(row.peer),
            }
            for group, listed in tables
            for row in listed
        ],
        "measurements": [
            {"task": task.title, "repeats": numbers} for task, numbers in results.repeats.items()
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _range_of(figure: float | None) -> list[float] | None:
    return [figure.low, figure.high] if isinstance(figure, Measured) else None


def summarize(rows: list[Row], settings: "Settings") -> str:
    """Say how many of the wanted figures are met, and whether that means anything here."""
    judged = [row.met for row in rows if row.met is not None]
    count = f"{sum(judged)} of {len(judged)} wanted figures met"
    if settings.scale == 1.0:
        return count
    return f"{count} (at scale {settings.scale:g}; they are meant for scale 1)"
