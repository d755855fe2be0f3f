"""Numbers with standard errors, and Markdown tables of them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from holdfast._machine.files import write_whole


@dataclass(frozen=True)
class Figure:
    """A number with its standard error; NaN where there is none (such as a ratio to 0)."""

    value: float
    error: float = 0.0

    @property
    def known(self) -> bool:
        return math.isfinite(self.value)

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}" if self.known else "-"

    @property
    def precise(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}" if self.known else "-"


NONE = Figure(math.nan, math.nan)


def mean_of(units: ArrayLike) -> Figure:
    """Mean of independent units."""
    numbers = np.asarray(units, dtype=np.float64)
    if numbers.size < 2:
        return Figure(float(numbers.mean())) if numbers.size else NONE
    return Figure(float(numbers.mean()), float(numbers.std(ddof=1)) / math.sqrt(numbers.size))


def divide(a: Figure, b: Figure) -> Figure:
    """Ratio of independent means, with the error of the first-order expansion."""
    if not b.value > 0.0:
        return NONE
    ratio = a.value / b.value
    return Figure(ratio, math.sqrt(a.error**2 + (ratio * b.error) ** 2) / b.value)


def average(groups: Iterable[Sequence[Figure]]) -> Figure:
    """Mean of all known figures.

    Errors of one group, such as several k on one data set, are added as they are, the worst case;
    groups are independent.
    """
    values, variance = [], 0.0
    for figures in groups:
        known = [figure for figure in figures if figure.known]
        values += [figure.value for figure in known]
        variance += sum(figure.error for figure in known) ** 2
    if not values:
        return NONE
    return Figure(float(np.mean(values)), math.sqrt(variance) / len(values))


def markdown_table(header: list[str], lines: Iterable[list[str]], text: int = 1) -> str:
    """Return a Markdown table; the first `text` columns are text, the others numbers."""
    rule = ["---"] * text + ["---:"] * (len(header) - text)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines])


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


def fill_marks(path: Path, marks: tuple[str, str], parts: Iterable[str]) -> None:
    """Write parts of a report between the marks of a page, its headings one level lower."""
    text = path.read_text()
    start, end = text.index(marks[0]) + len(marks[0]), text.index(marks[1])
    lower = [part.replace("\n## ", "\n### ") for part in parts]
    lower = [f"#{part}" if part.startswith("## ") else part for part in lower]
    write_text(path, text[:start] + "\n\n" + "\n\n".join(lower) + "\n\n" + text[end:])
