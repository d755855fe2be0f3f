"""The two pictures of the front page, drawn from the recorded tables of the benchmarks."""

import re
from pathlib import Path

from holdfast_paper.label_dots import Dot, freeze_layout, label_dots
from holdfast_paper.style import new_figure, save_figure, styled

ROOT = Path(__file__).resolve().parents[2]
_OWN, _OTHER = "#D55E00", "#555555"
# The rows of the tables to draw, and how the front page calls them.
REMOVED = {
    "holdfast means": "holdfast",
    "holdfast medoids": "holdfast medoids",
    "holdfast tree": "holdfast tree",
    "CLNSS": "CLNSS",
    "Ward linkage": "Ward",
    "k-means": "k-means",
    "bisecting k-means": "bisecting k-means",
    "complete linkage": "complete linkage",
    "average linkage": "average linkage",
    "single linkage": "single linkage",
    "HDBSCAN": "HDBSCAN",
    "BIRCH": "BIRCH",
    "FasterPAM": "FasterPAM",
}
WEEKLY = {
    "follow, price 0.25": "holdfast follow",
    "follow, budget 1%": "holdfast follow, budget 1%",
    "k-means, fitted again": "k-means",
    "Ward linkage, fitted again": "Ward",
    "bisecting k-means, fitted again": "bisecting k-means",
    "mini-batch k-means, fitted again": "mini-batch k-means",
    "k-means from yesterday's centers": "k-means from yesterday's centers",
    "k-means, frozen": "k-means, frozen",
    "k-means, frozen, fitted again at 5%": "k-means, frozen until 5% worse",
    "mini-batch k-means, partial_fit": "partial_fit",
}


def draw_pictures(folder: Path) -> None:
    """Draw removed.png and weekly.png."""
    folder.mkdir(exist_ok=True)
    removed = read_table("benchmarks/frontier/frontier.md", "## All small data that judge")
    points = {name: (row[0], row[2]) for name, row in removed.items()}
    _draw(
        folder, "removed", points, REMOVED, "cost, relative to Ward", "movement, relative to Ward"
    )
    weekly = read_table("benchmarks/drift/drift.md", "## Windows")
    points = {name: (row[6], sum(row[:3]) / 3) for name, row in weekly.items()}
    labels = "cost, relative to fitting again", "rows that change cluster per step, in %"
    _draw(folder, "weekly", points, WEEKLY, *labels)


def read_table(path: str, heading: str) -> dict[str, list[float]]:
    """Return the numbers of each row of the table below a heading, without their errors."""
    _, _, text = (ROOT / path).read_text(encoding="utf-8").partition(f"\n{heading}")
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", text.partition("\n#")[0], re.MULTILINE)[2:]
    numbers = {name.strip("*"): re.split(r" \| ", row) for name, row in rows}
    return {
        name: [float(re.sub(r"[^\d.].*", "", cell) or "nan") for cell in row]
        for name, row in numbers.items()
    }


def _draw(
    folder: Path,
    name: str,
    points: dict[str, tuple[float, float]],
    shown: dict[str, str],
    across: str,
    up: str,
) -> None:
    with styled():
        figure, (ax,) = new_figure(1, "")
        figure.set_size_inches(5.4, 4.6)
        dots = []
        for method, title in shown.items():
            own = title.startswith("holdfast")
            color = _OWN if own else _OTHER
            x, y = points[method]
            ax.plot(x, y, "o", color=color, markersize=11 if own else 7, zorder=3)
            dots.append(Dot(title, x, y, color, own, 6.5 if own else 4.5))
        ax.set(xlabel=f"{across} (lower is better)", ylabel=f"{up} (lower is better)")
        ax.margins(0.14, 0.1)
        ax.set_ylim(bottom=-0.03 * max(points[method][1] for method in shown))
        ax.grid(alpha=0.25)
        freeze_layout(ax)
        label_dots(ax, dots, size=9.5)
        save_figure(figure, folder, name, formats=("png",))
