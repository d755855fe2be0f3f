"""The picture of the rooms: architecture.md has it as Mermaid text, which needs a script from afar."""

import re
from pathlib import Path

import matplotlib.pyplot as plt

_BLOCK = re.compile(r"```mermaid\n(.*?)```\n", re.DOTALL)


def replace_drawing(text: str, picture: Path, address: str) -> str:
    """Draw the rooms of a page into a file, and put that in the place of the text."""
    (drawing,) = _BLOCK.findall(text)
    labels = dict(re.findall(r'(\w+)\["(.+?)"\]', drawing))
    arrows = re.findall(r"(\w+) --> (\w+)", drawing)
    picture.parent.mkdir(exist_ok=True)
    draw(labels, arrows, picture)
    return _BLOCK.sub(f"![The rooms, and which imports from which]({address})\n", text)


def draw(labels: dict[str, str], arrows: list[tuple[str, str]], picture: Path) -> None:
    """Draw each room below all rooms that import from it, near the middle of these."""
    above = {room: [start for start, end in arrows if end == room] for room in labels}
    level: dict[str, int] = {}
    for room in labels:  # listed from top to bottom
        level[room] = 1 + max((level[start] for start in above[room]), default=-1)
    place: dict[str, float] = {}
    for depth in range(max(level.values()) + 1):
        here = [room for room in labels if level[room] == depth]
        here.sort(key=lambda room: sum(place[s] for s in above[room]) / (len(above[room]) or 1))
        for number, room in enumerate(here):
            place[room] = number - (len(here) - 1) / 2
    figure, ax = plt.subplots(figsize=(7, 0.62 * (max(level.values()) + 1)), layout="constrained")
    for start, end in arrows:
        ends = {
            "xy": (place[end], -level[end] + 0.3),
            "xytext": (place[start], -level[start] - 0.3),
        }
        ax.annotate("", **ends, arrowprops={"arrowstyle": "->", "color": "0.55"})
    box = {"boxstyle": "round", "facecolor": "#e8f1f8", "edgecolor": "#8fb4cf"}
    for room, label in labels.items():
        ax.text(place[room], -level[room], label, ha="center", va="center", bbox=box, fontsize=9)
    ax.set_xlim(min(place.values()) - 0.7, max(place.values()) + 0.7)
    ax.set_ylim(-max(level.values()) - 0.5, 0.5)
    ax.set_axis_off()
    figure.savefig(picture)
    plt.close(figure)
