"""Crafted files, with all checksums right: refused in bounded time and memory.

Checksums find damage, not forgery, so each of these must be found by what it says.
"""

import io
import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from golden.saved import FOLDER
from storage.forge import bounded, change, describe, npy, pack, to_text

import holdfast
from holdfast.storage.archive import DamagedFile, read_archive

TREE, EUCLIDEAN = FOLDER / "tree-1.holdfast", FOLDER / "euclidean-1.holdfast"
SPEC = {"dtype": "<f8", "shape": [2], "blake2b": "0" * 64}
LITTLE = 1_000_000  # bytes
DESCRIBED = 10_000_000  # for the descriptions below that are parsed, of at most 0.3 MB


def refuse(tmp_path, content: bytes, problem: str, n_bytes: int = LITTLE) -> None:
    path = tmp_path / "h"
    path.write_bytes(content)
    with bounded(n_bytes), pytest.raises(DamagedFile) as caught:
        holdfast.load(path)
    assert problem in str(caught.value)


# name: (array description, what the message says)
SPECS = {
    "huge": ({**SPEC, "shape": [2**40]}, "according to its description"),
    "huge in two": ({**SPEC, "shape": [2**29, 2**29]}, "according to its description"),
    "beyond 64 bits": ({**SPEC, "shape": [2**70]}, "invalid shape"),
    "product beyond 64 bits": ({**SPEC, "shape": [2**32, 2**32]}, "invalid shape"),
    "hidden by a zero": ({**SPEC, "shape": [0, 2**62]}, "invalid shape"),
    "negative": ({**SPEC, "shape": [-2]}, "invalid shape"),
    "negative twice": ({**SPEC, "shape": [-2, -1]}, "invalid shape"),
    "fraction": ({**SPEC, "shape": [2.0]}, "invalid shape"),
    "boolean": ({**SPEC, "shape": [True, 2]}, "invalid shape"),
    "text": ({**SPEC, "shape": "2"}, "invalid shape"),
    "many dimensions": ({**SPEC, "shape": [1] * 9}, "invalid shape"),
    "object dtype": ({**SPEC, "dtype": "|O"}, "must have a dtype"),
    "other byte order": ({**SPEC, "dtype": ">f8"}, "must have a dtype"),
    "text dtype": ({**SPEC, "dtype": "<U8"}, "must have a dtype"),
    "record dtype": ({**SPEC, "dtype": [["a", "<f8"]]}, "must have a dtype"),
    "no checksum": ({"dtype": "<f8", "shape": [2]}, "a checksum"),
    "more": ({**SPEC, "offset": 0}, "must have a dtype"),
    "not a dict": ([], "describes an array"),
    "checksum of nothing": (SPEC, "does not match its checksum"),
}


@pytest.mark.parametrize("name", SPECS)
def test_arrays_that_are_not_there(name, tmp_path):
    spec, problem = SPECS[name]
    text = to_text(describe(arrays={"x": spec}))
    refuse(tmp_path, pack(text, {"x": npy(np.zeros(2))}), problem)


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        (describe(version=2), "a newer holdfast wrote it, in format version 2"),
        (describe(version=10**6, surprise=1, arrays=None), "a newer holdfast wrote it"),
        (describe(version=0), "positive integer"),
        (describe(version=True), "positive integer"),
        (describe(version="1"), "positive integer"),
        (describe(format="other"), "not a holdfast file"),
        (describe(kind="picture"), "it contains a picture, not a hierarchy"),
        (describe(kind="../x"), "must have the fields"),
        (describe(kind=["hierarchy"]), "must have the fields"),
        (describe(holdfast=1), "must have the fields"),
        (describe(metadata=[]), "must have the fields"),
        (describe(arrays=[]), "must have the fields"),
        (describe(metadata=None), "must have the fields"),
        (describe(surprise=1), "must have the fields"),
        (describe(arrays={"../../x": SPEC}), "describes an array with the invalid name"),
        (describe(arrays={f"x{i}": SPEC for i in range(300)}), "must have the fields"),
        ([], "not a holdfast file"),
        ("holdfast", "not a holdfast file"),
        (describe(), "it must have an array 'center_indices'"),
    ],
)
def test_descriptions_that_say_something_else(description, problem, tmp_path):
    refuse(tmp_path, pack(to_text(description)), problem)


TEXTS = {
    "not JSON": (b"{", "not JSON"),
    "not text": (b"\xff\xfe\x00", "not JSON"),
    "other spacing": (json.dumps(describe()).encode(), "not in the form that holdfast writes"),
    "a key twice": (
        to_text(describe()).replace(b'"kind"', b'"kind": "model",\n "kind"'),
        "not in the form that holdfast writes",
    ),
    "not a number": (to_text(describe(metadata={"x": float("nan")})), "not in the form"),
    "a number beyond doubles": (
        to_text(describe(metadata={"x": 0})).replace(b": 0", b": 1e999"),
        "not in the form",
    ),
    "a number of a million digits": (b"1" * 1_000_000, "not JSON"),
    "deep": (b"[" * 33 + b"]" * 33, "bytes or 32 levels"),
    "very deep": (b"[" * 2_000_000 + b"]" * 2_000_000, "bytes or 32 levels"),
    "very deep, never closed": (b'{"a":' * 800_000, "bytes or 32 levels"),
    "deep inside quotes": (b'"' + b"[" * 150_000 + b'"', "not a holdfast file"),
    "escaped quotes, never closed": (b'"' + b'\\"[' * 90_000, "not JSON"),
    "many empty lists": (b"[" + b"[]," * 90_000 + b"[]]", "not a holdfast file"),
    "too long": (b" " * ((1 << 22) + 1), "does not begin like"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_no_description(name, tmp_path):
    text, problem = TEXTS[name]
    refuse(tmp_path, pack(text), problem, DESCRIBED)


def test_deep_nesting_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    """A large recursion limit must not let a file use up the machine's stack."""
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("parsed"))
    refuse(tmp_path, pack(b"[" * 1_000_000), "bytes or 32 levels", DESCRIBED)


def rezip(compression: int = zipfile.ZIP_STORED, more: bytes = b"", **members: bytes) -> bytes:
    """Write a saved file again as another program would."""
    target = io.BytesIO()
    with zipfile.ZipFile(TREE) as source, zipfile.ZipFile(target, "w", compression) as packed:
        for name in source.namelist():
            packed.writestr(name, members.get(name, source.read(name)))
        if more:
            packed.writestr("more.npy", more)
        packed.comment = b""
    return target.getvalue()


def test_zip_files_in_another_form(tmp_path):
    begin = "does not begin like a holdfast file"
    refuse(tmp_path, rezip(), begin)
    refuse(tmp_path, rezip(zipfile.ZIP_DEFLATED), begin)
    refuse(tmp_path, rezip(more=b"x"), begin)


def test_zip_bombs(tmp_path):
    bomb = rezip(zipfile.ZIP_DEFLATED, **{"finest.npy": bytes(50_000_000)})
    assert len(bomb) < 200_000
    refuse(tmp_path, bomb, "does not begin like a holdfast file")


def edit_headers(whole: bytes, name: bytes, offset: int, value: bytes) -> list[bytes]:
    """Change a field in the local header of a member, in the central one, in both."""
    local = whole.find(name) - 30
    central = whole.rfind(name) - 46
    found = []
    for local_too, central_too in ((True, False), (False, True), (True, True)):
        edited = bytearray(whole)
        if local_too:
            edited[local + offset : local + offset + len(value)] = value
        if central_too:
            edited[central + offset + 2 : central + offset + 2 + len(value)] = value
        found.append(bytes(edited))
    return found


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (6, b"\x01\x00"),  # encrypted
        (6, b"\x08\x00"),  # sizes follow the data
        (8, b"\x08\x00"),  # deflated
        (14, b"\x00\x00\x00\x00"),  # CRC
        (18, b"\x10\x00\x00\x00"),  # compressed size
        (22, b"\x10\x00\x00\x00"),  # size
        (26, b"\x00\x00"),  # length of the name
        (28, b"\xff\xff"),  # length of the extra field
        (30, b"../../a.npy"[:10]),  # name
    ],
)
@pytest.mark.parametrize("member", [b"finest.npy", b"parent.npy"])
def test_headers_that_lie(member, offset, value, tmp_path):
    for edited in edit_headers(TREE.read_bytes(), member, offset, value):
        refuse(tmp_path, edited, "")


def test_sizes_in_64_bits_that_lie(tmp_path):
    whole = TREE.read_bytes()
    place = whole.find(b"finest.npy") + 10
    assert whole[place : place + 4] == struct.pack("<2H", 1, 16)
    for size in (0, 2**31, 2**63 - 1, 2**64 - 1):
        lie = whole[: place + 4] + struct.pack("<2Q", size, size) + whole[place + 20 :]
        refuse(tmp_path, lie, "headers of the array 'finest'")
        first = whole.find(b"holdfast.json") + 13
        lie = whole[: first + 4] + struct.pack("<2Q", size, size) + whole[first + 20 :]
        refuse(tmp_path, lie, "")


def test_members_that_overlap_or_are_hidden(tmp_path):
    """A second description at the end, and entries of the directory that point into others."""
    whole = TREE.read_bytes()
    refuse(tmp_path, whole[:-22] + b"hidden" + whole[-22:], "according to its description")
    entry = whole.rfind(b"parent.npy") + 10 + 4 + 16
    overlap = whole[:entry] + struct.pack("<Q", 0) + whole[entry + 8 :]
    refuse(tmp_path, overlap, "directory does not match")


def test_a_boolean_that_is_neither(tmp_path):
    data = np.array([0, 2], dtype=np.uint8)
    good = tmp_path / "good"
    holdfast.storage.archive.write_archive(good, "x", {}, {"x": data})
    spec = json.loads(np.load(good)["holdfast.json"])["arrays"]["x"]
    text = to_text(describe(arrays={"x": {**spec, "dtype": "|b1"}}))
    content = pack(text, {"x": (npy(data.view(np.bool_))[0], data.tobytes())})
    refuse(tmp_path, content, "neither 0 nor 1")


def test_memory_is_that_of_the_file(tmp_path):
    path = tmp_path / "large"
    holdfast.storage.archive.write_archive(path, "x", {}, {"x": np.zeros(4_000_000)})
    tracemalloc.start()
    try:
        read_archive(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < os.path.getsize(path) + LITTLE


def set_item(name: str, index: object, value: object):
    def edit(_metadata: dict, arrays: dict) -> None:
        arrays[name][index] = value

    return edit


def set_array(name: str, make):
    def edit(_metadata: dict, arrays: dict) -> None:
        arrays[name] = make(arrays[name])

    return edit


def set_metadata(**fields: object):
    return lambda metadata, _arrays: metadata.update(fields)


ANY = {
    "label out of range": set_item("finest", 3, 60),
    "label far out of range": set_item("finest", 3, 2**31 - 1),
    "negative label": set_item("finest", 3, -1),
    "center row out of range": set_item("center_indices", 3, 60),
    "center row far out of range": set_item("center_indices", 3, 2**62),
    "negative center row": set_item("center_indices", 3, -1),
    "the same center twice": lambda _, arrays: arrays["center_indices"].__setitem__(
        3, arrays["center_indices"][4]
    ),
    "parent of itself": set_item("parent", 3, 3),
    "parents in a circle": set_item("parent", slice(3, 5), [4, 3]),
    "parent after its child": set_item("parent", 3, 9),
    "parent out of range": set_item("parent", 3, 2**31 - 1),
    "second root": set_item("parent", 3, -1),
    "negative parent": set_item("parent", 3, -(2**31)),
    "root with a parent": set_item("parent", 0, 0),
    "cost not a number": set_item("costs", 3, np.nan),
    "infinite cost": set_item("costs", 0, np.inf),
    "negative cost": set_item("costs", -1, -1.0),
    "rising costs": set_item("costs", 1, 1e300),
    "costs missing": lambda _, arrays: arrays.pop("costs"),
    "fewer costs": set_array("costs", lambda a: a[:-1]),
    "fewer parents": set_array("parent", lambda a: a[:-1]),
    "fewer rows than centers": set_array("finest", lambda a: a[:-1]),
    "no rows": set_array("finest", lambda a: a[:0]),
    "no centers": lambda _, arrays: arrays.update(
        {name: arrays[name][:0] for name in ("center_indices", "costs", "parent")}
    ),
    "labels in 64 bits": set_array("finest", lambda a: a.astype(np.int64)),
    "unsigned labels": set_array("finest", lambda a: a.astype(np.uint32)),
    "labels in two dimensions": set_array("finest", lambda a: a.reshape(2, -1)),
    "a number of labels": set_array("finest", lambda a: a[0].reshape(())),
    "an array too many": lambda _, arrays: arrays.update({"more": np.zeros(3)}),
    "locator unknown": set_metadata(locator="pickle"),
    "locator a list": set_metadata(locator=["cells"]),
    "locator of the other kind": lambda metadata, _: metadata.update(
        locator="cells" if metadata["locator"] == "splits" else "splits"
    ),
}
CELLS = {
    "order out of range": set_item("cells.order", 3, 60),
    "negative order": set_item("cells.order", 3, -1),
    "order twice": set_item("cells.order", slice(None), 0),
    "cell larger than its parent's": set_item("cells.cell", 3, 255),
    "cells of one size": set_item("cells.cell", slice(1, None), 10),
    "root cell too small": set_item("cells.cell", 0, 63),
    "fewer cells": set_array("cells.cell", lambda a: a[:-1]),
    "no cells": lambda _, arrays: arrays.update(
        {name: arrays[name][:0] for name in arrays if name.startswith("cells")}
    ),
    "more cells than centers": lambda _, arrays: arrays.update(
        {
            name: np.concatenate((arrays[name], arrays[name][-1:]))
            for name in arrays
            if name.startswith("cells")
        }
    ),
    "cells not sorted": set_array("cells.coordinates", lambda a: a[::-1].copy()),
    "cells all equal": set_item("cells.coordinates", slice(None), 5),
    "no columns": set_array("cells.coordinates", lambda a: a[:, :0]),
    "fewer columns": set_array("cells.coordinates", lambda a: a[:, :2].copy()),
    "anchor of fewer columns": set_array("grid.anchor", lambda a: a[:-1]),
    "shift of fewer blocks": set_array("grid.shift", lambda a: a[:-1]),
    "shift of more blocks": set_array("grid.shift", lambda a: np.concatenate((a, a))),
    "origin not a number": set_item("grid.origin", 0, np.nan),
    "lowest infinite": set_item("grid.lowest", 0, np.inf),
    "scale zero": set_metadata(scale=0.0),
    "scale negative": set_metadata(scale=-1.0),
    "scale a word": set_metadata(scale="1"),
    "scale an integer": set_metadata(scale=1),
    "root exponent too large": set_metadata(root_exponent=1089),
    "root exponent too small": set_metadata(root_exponent=-1075),
    "root exponent huge": set_metadata(root_exponent=2**100),
    "root exponent a fraction": set_metadata(root_exponent=1.0),
    "root exponent a boolean": set_metadata(root_exponent=True),
}
SPLITS = {
    "center not a number": set_item("splits.centers", (3, 1), np.nan),
    "center infinite": set_item("splits.centers", (3, 1), np.inf),
    "center outside": set_item("splits.centers", (3, 1), 1.0000001),
    "no centers' places": set_array("splits.centers", lambda a: a[:0]),
    "no columns": set_array("splits.centers", lambda a: a[:, :0]),
    "more places than centers": set_array("splits.centers", lambda a: np.concatenate((a, a))),
    "metric unknown": set_metadata(metric="chebyshev"),
    "metric a number": set_metadata(metric=1),
    "exponent huge": set_metadata(exponent=2**40),
    "exponent a fraction": set_metadata(exponent=0.5),
}


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize("source", [TREE, EUCLIDEAN], ids=["tree", "euclidean"])
def test_tables_that_do_not_fit_together(source, name, tmp_path):
    content = change(source, tmp_path / "crafted", ANY[name]).read_bytes()
    refuse(tmp_path, content, "")


@pytest.mark.parametrize("label", [12, 2**31 - 1, -1, -(2**31)])
@pytest.mark.parametrize("name", ["tree-max-centers-1", "euclidean-max-centers-1"])
def test_labels_out_of_range_of_rows_that_are_no_centers(name, label, tmp_path):
    """Those of centers are found in two ways; these would be followed out of the tables."""

    def edit(_metadata: dict, arrays: dict) -> None:
        assert arrays["center_indices"].size == 12
        others = np.setdiff1d(np.arange(arrays["finest"].size), arrays["center_indices"])
        arrays["finest"][others[5]] = label

    content = change(FOLDER / f"{name}.holdfast", tmp_path / "crafted", edit).read_bytes()
    refuse(tmp_path, content, "a label is out of range")


@pytest.mark.parametrize("name", CELLS)
def test_cells_that_lead_nowhere(name, tmp_path):
    refuse(tmp_path, change(TREE, tmp_path / "crafted", CELLS[name]).read_bytes(), "")


@pytest.mark.parametrize("name", SPLITS)
def test_splits_that_lead_nowhere(name, tmp_path):
    refuse(tmp_path, change(EUCLIDEAN, tmp_path / "crafted", SPLITS[name]).read_bytes(), "")


def test_the_sources_load_when_nothing_is_changed(tmp_path):
    for source in (TREE, EUCLIDEAN):
        copy = change(source, tmp_path / "copy", lambda metadata, arrays: None)
        found, was = holdfast.load(copy).hierarchy_, holdfast.load(source).hierarchy_
        assert found.n_centers == was.n_centers
