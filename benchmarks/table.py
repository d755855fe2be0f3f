"""Rows of the table of results, and how they are written."""

from dataclasses import dataclass

YEAR = 365.25 * 86400.0


@dataclass(frozen=True)
class Row:
    """One line of the table.

    A limit (and an aim) is on the ratio where there is a peer, else on our own figure.
    """

    what: str
    ours: float | None = None
    peer: float | None = None
    against: str = ""
    unit: str = "s"
    limit: float | None = None
    aim: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.ours is None or self.peer is None else self.ours / self.peer

    @property
    def judged(self) -> float | None:
        """What the limit is on."""
        return self.ours if self.peer is None else self.ratio

    @property
    def met(self) -> bool | None:
        if self.limit is None or self.judged is None:
            return None
        return self.judged <= self.limit

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
            format_figure(self.ours, self.unit),
            self.against,
            format_figure(self.peer, self.unit),
            format_figure(self.ratio, ""),
            format_figure(self.limit, judged_unit),
            format_figure(self.aim, judged_unit),
            self.verdict,
        ]


HEADER = ["what", "ours", "against", "theirs", "ratio", "limit", "aim", "met"]
_WIDTHS = [62, 11, 21, 14, 9, 9, 7, 12]


def format_figure(figure: float | None, unit: str) -> str:
    """Three significant digits and the unit; very long times in years."""
    if figure is None:
        return ""
    if unit == "s" and figure >= YEAR:
        return f"{figure / YEAR:,.3g} years"
    text = f"{figure:,.0f}" if abs(figure) >= 1000.0 else f"{figure:.3g}"
    return f"{text} {unit}".rstrip()


def format_line(cells: list[str]) -> str:
    """One line of the table for the terminal: text to the left, numbers to the right."""
    aligned = [
        cell.ljust(width) if name in ("what", "against", "met") else cell.rjust(width)
        for name, cell, width in zip(HEADER, cells, _WIDTHS, strict=True)
    ]
    return " ".join(aligned).rstrip()


def format_markdown(rows: list[Row]) -> str:
    """Return a Markdown table; the notes of rows are numbered below it."""
    rule = ["---" if name in ("what", "against", "met") else "---:" for name in HEADER]
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


def count_limits(rows: list[Row]) -> str:
    """Return ``N of M limits met``."""
    judged = [row.met for row in rows if row.met is not None]
    return f"{sum(judged)} of {len(judged)} limits met"
