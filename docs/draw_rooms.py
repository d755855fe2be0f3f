"""Draw the rooms of the library from its imports: ``python docs/draw_rooms.py``.

Writes what stands between the two marks of architecture.md. A room is a folder of src/holdfast or a
module that lies there itself; what it is for is the first sentence of its docstring.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- Drawn by docs/draw_rooms.py. -->\n", "<!-- End of the drawing. -->\n"
PACKAGES = ("holdfast", "holdfast_paper")
# From top to bottom: a room imports only from rooms that are listed after it.
ORDER = (
    "cli", "holdfast_paper", "report", "distributed", "chunks", "stability", "clusterers",
    "lineage", "estimator", "following", "updates", "pipeline", "follow", "parameters", "storage",
    "rows", "hierarchy", "centers", "tree", "grid", "tables", "_machine",
)  # fmt: skip

Arrows = dict[tuple[str, str], list[str]]


def find_modules(source: Path) -> dict[str, Path]:
    """Name the files of both packages as they are imported."""
    found = {}
    for package in PACKAGES:
        for path in sorted((source / package).rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    """``holdfast.grid.cells`` -> ``grid``; the paper's package is one room."""
    package, *inside = module.split(".")
    if inside == ["__main__"]:
        return "cli"  # `python -m holdfast` is the program under another name
    return inside[0] if package == "holdfast" and inside else package


def read_arrows(source: Path = ROOT / "src") -> Arrows:
    """Find which room imports from which, and where.

    Imports inside functions, those for types only, and modules named in strings (to be imported
    late) count as all others. A public name counts as imported from the room that
    holdfast/__init__.py takes it from.
    """
    modules = find_modules(source)
    public = {name: module for module, name in _imports(modules["holdfast"])}
    arrows: Arrows = {}
    for importer, path in modules.items():
        if importer == "holdfast":
            continue
        for module, name in (*_imports(path), *_named(path, modules)):
            inside = f"{module}.{name}"
            home = public.get(name, module) if module == "holdfast" else module
            room, other = room_of(importer), room_of(inside if inside in modules else home)
            if other not in (room, "holdfast"):  # the package itself has its version only
                arrows.setdefault((room, other), []).append(f"{importer}: {module}.{name}")
    return arrows


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    """List module and name of each import from the two packages."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}: a relative import; write the module's full name.")
            found = [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        else:
            continue
        yield from (pair for pair in found if pair[0].split(".")[0] in PACKAGES)


def _named(path: Path, modules: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """List the modules whose full names stand in strings."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module = node.value.split(":")[0]  # "module" or "module:name"
            if module in modules and module not in PACKAGES:  # a package is named for its version
                yield module, ""


def pointing_up(arrows: Arrows) -> Arrows:
    """Select the arrows to a room that does not lie below."""
    return {
        (room, other): places
        for (room, other), places in arrows.items()
        if ORDER.index(room) >= ORDER.index(other)
    }


def rooms_of(arrows: Arrows) -> list[str]:
    """List all rooms from top to bottom."""
    return sorted({room for arrow in arrows for room in arrow}, key=ORDER.index)


def without_detours(arrows: Arrows) -> list[tuple[str, str]]:
    """Leave out each arrow whose end is also reached through a room in between."""
    below: dict[str, set[str]] = {}
    rooms = rooms_of(arrows)
    for room in reversed(rooms):
        direct = {other for start, other in arrows if start == room}
        below[room] = direct.union(*(below.get(other, set()) for other in direct))
    return [
        (room, other)
        for room in rooms
        for other in rooms
        if (room, other) in arrows
        and not any(
            (room, via) in arrows and other in below[via]
            for via in rooms
            if via not in (room, other)
        )
    ]


def _label(room: str) -> str:
    if room in PACKAGES:
        return f"{room}/"
    return f"{room}/" if (ROOT / "src" / "holdfast" / room).is_dir() else f"{room}.py"


def sentence_of(room: str) -> str:
    """First sentence of a room's docstring."""
    source = ROOT / "src" if room in PACKAGES else ROOT / "src" / "holdfast"
    path = source / room / "__init__.py"
    text = ast.get_docstring(
        ast.parse((path if path.exists() else source / f"{room}.py").read_text())
    )
    return " ".join(str(text).split("\n\n")[0].split()).split(". ")[0].rstrip(".") + "."


def draw(arrows: Arrows) -> str:
    """Picture and table, as Markdown."""
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {room.strip("_")}["{_label(room)}"]' for room in rooms_of(arrows)]
    lines += [f"    {a.strip('_')} --> {b.strip('_')}" for a, b in without_detours(arrows)]
    lines += ["```", "", "| Room | What it does | Imports from |", "|---|---|---|"]
    for room in rooms_of(arrows):
        others = sorted((b for a, b in arrows if a == room), key=ORDER.index)
        names = ", ".join(f"`{other}`" for other in others) or "nothing"
        lines.append(f"| `{_label(room)}` | {sentence_of(room)} | {names} |")
    return "\n".join(lines) + "\n"


def redrawn(page: str, arrows: Arrows) -> str:
    """Return the page with the drawing that fits the arrows."""
    before, rest = page.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}{draw(arrows)}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(), read_arrows()))
