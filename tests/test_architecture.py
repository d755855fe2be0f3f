"""The rooms of the library: arrows point down, and the picture in the docs is the code's."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
_spec = importlib.util.spec_from_file_location("draw_rooms", DOCS / "draw_rooms.py")
draw_rooms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(draw_rooms)

# Arrows that still point up. Take each out when it is gone; add none.
STILL_UP: set[tuple[str, str]] = set()


@pytest.fixture(scope="module")
def arrows():
    return draw_rooms.read_arrows()


def test_every_room_has_its_place(arrows):
    rooms = {draw_rooms.room_of(name) for name in draw_rooms.find_modules(DOCS.parent / "src")}
    assert rooms - {"holdfast"} <= set(draw_rooms.ORDER)
    assert set(draw_rooms.rooms_of(arrows)) == rooms - {"holdfast"}


def test_arrows_point_down(arrows):
    """Down only, so there are no cycles between rooms either."""
    found = draw_rooms.pointing_up(arrows)
    assert {arrow: places for arrow, places in found.items() if arrow not in STILL_UP} == {}


def test_picture_is_what_the_imports_give(arrows):
    page = draw_rooms.PAGE.read_text()
    assert page == draw_rooms.redrawn(page, arrows), "run: python docs/draw_rooms.py"


def test_every_room_says_what_it_does(arrows):
    for room in draw_rooms.rooms_of(arrows):
        assert 20 < len(draw_rooms.sentence_of(room)) < 120, room


def write_package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in {"holdfast/__init__.py": "", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "from holdfast.report import page",
        "from holdfast.report.page import build",
        "import holdfast.report.page",
        "from holdfast import build",
        "def f():\n    from holdfast.report import page",
        "if TYPE_CHECKING:\n    from holdfast.report import page",
        "HOMES = {'page': 'holdfast.report.page'}",
        "HOMES = {'page': 'holdfast.report.page:build'}",
    ],
)
def test_an_import_upwards_is_seen(text: str, tmp_path: Path):
    files = {
        "holdfast/__init__.py": "if TYPE_CHECKING:\n    from holdfast.report.page import build",
        "holdfast/report/__init__.py": "",
        "holdfast/report/page.py": "from holdfast.grid import cells\nfrom holdfast import __version__",
        "holdfast/grid/__init__.py": "",
        "holdfast/grid/cells.py": text,
    }
    found = draw_rooms.read_arrows(write_package(tmp_path, files))
    assert set(found) == {("report", "grid"), ("grid", "report")}
    assert set(draw_rooms.pointing_up(found)) == {("grid", "report")}


def test_arrows_that_a_longer_path_implies_are_not_drawn():
    arrows = {("cli", "grid"): [], ("cli", "tree"): [], ("tree", "grid"): [], ("cli", "rows"): []}
    assert draw_rooms.without_detours(arrows) == [
        ("cli", "rows"),
        ("cli", "tree"),
        ("tree", "grid"),
    ]
