"""The container: what goes in comes out, in documented bytes."""

import json
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest

from holdfast.storage.archive import DamagedFile, read_archive, write_archive

ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "part.b": np.array([[-1], [2]], dtype=np.int32),
    "flags": np.array([True, False]),
    "nothing": np.empty((0, 5), dtype=np.uint64),
    "one": np.array(7, dtype=np.int64),
    "bytes": np.arange(256, dtype=np.uint8),
    "small": np.array([1.5], dtype=np.float32),
}
METADATA = {"name": "x \u2713", "list": [1, 2.5, None, True, {"deep": []}], "large": 2**70}


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "a.holdfast", "thing", METADATA, ARRAYS)
    return tmp_path / "a.holdfast"


def test_round_trip(path):
    found = read_archive(path)
    assert (found.kind, found.version, found.metadata) == ("thing", 1, METADATA)
    assert found.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert np.array_equal(found.arrays[name], array)


def test_numpy_and_zipfile_read_it_without_holdfast(path):
    with np.load(path, allow_pickle=False) as stored:
        for name, array in ARRAYS.items():
            assert stored[name].dtype == array.dtype
            assert np.array_equal(stored[name], array)
        description = json.loads(stored["holdfast.json"])
    assert description["metadata"] == METADATA
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
        assert packed.namelist()[0] == "holdfast.json"
        assert all(member.compress_type == zipfile.ZIP_STORED for member in packed.infolist())


def test_equal_contents_are_equal_bytes(path, tmp_path):
    reordered = {name: np.array(ARRAYS[name], order="F") for name in reversed(ARRAYS)}
    swapped = {
        name: array.astype(array.dtype.newbyteorder(">")) for name, array in reordered.items()
    }
    write_archive(tmp_path / "b", "thing", dict(reversed(METADATA.items())), swapped)
    assert (tmp_path / "b").read_bytes() == path.read_bytes()


def test_the_bytes_are_what_the_document_says(tmp_path):
    write_archive(tmp_path / "a", "thing", {}, {"x": np.array([1, 2], dtype=np.int32)})
    found = (tmp_path / "a").read_bytes()
    start = 30 + len("holdfast.json") + 20
    size = int.from_bytes(found[start - 8 : start], "little")
    assert found[:4] == b"PK\x03\x04"
    assert found[30:43] == b"holdfast.json"
    assert json.loads(found[start : start + size])["arrays"]["x"] == {
        "blake2b": "6087240931c736c98ccb5748ffe8b0a946fb1bb382db195ad826ec3e060db3d8",
        "dtype": "<i4",
        "shape": [2],
    }
    member = found[start + size :]
    assert member[30:35] == b"x.npy"
    assert member[55:63] == b"\x93NUMPY\x01\x00"
    assert member[55 + 128 : 55 + 136] == b"\x01\x00\x00\x00\x02\x00\x00\x00"
    assert found[-22:-18] == b"PK\x05\x06"


def test_permissions_and_replacement(path):
    old = path.read_bytes()
    write_archive(path, "thing", {}, {})
    assert path.read_bytes() != old
    assert os.listdir(path.parent) == [path.name]
    assert stat.S_ISREG(path.stat().st_mode)


@pytest.mark.parametrize(
    ("kind", "metadata", "arrays", "error"),
    [
        ("thing", {}, {"x": np.array([object()])}, TypeError),
        ("thing", {}, {"x": np.array(["text"])}, TypeError),
        ("thing", {}, {"x": np.array([1j])}, TypeError),
        ("thing", {}, {"x": np.zeros(2, dtype="i4,f8")}, TypeError),
        ("thing", {}, {"x": np.zeros(2, dtype="M8[s]")}, TypeError),
        ("thing", {}, {"../x": np.zeros(2)}, ValueError),
        ("thing", {}, {"x" * 101: np.zeros(2)}, ValueError),
        ("thing", {}, {f"x{i}": np.zeros(1) for i in range(257)}, ValueError),
        ("thing", {}, {"x": np.zeros((1,) * 9)}, ValueError),
        ("Thing", {}, {}, ValueError),
        ("", {}, {}, ValueError),
        ("thing", {"x": float("nan")}, {}, ValueError),
        ("thing", {"x": float("inf")}, {}, ValueError),
        ("thing", {"x": {1, 2}}, {}, TypeError),
        ("thing", {"x": (1, 2)}, {}, ValueError),
        ("thing", {"x": {1: 2}}, {}, ValueError),
        ("thing", {"x": "y" * (1 << 22)}, {}, ValueError),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_written(
    kind, metadata, arrays, error, tmp_path
):
    with pytest.raises(error):
        write_archive(tmp_path / "a", kind, metadata, arrays)
    assert os.listdir(tmp_path) == []


def test_kinds(path):
    assert read_archive(path, {"thing", "other"}).kind == "thing"
    with pytest.raises(DamagedFile, match="contains a thing, not a hierarchy or model"):
        read_archive(path, ["model", "hierarchy"])


def test_what_is_no_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        read_archive(tmp_path)
    with pytest.raises(DamagedFile, match="not a regular file"):
        read_archive("/dev/null")


def test_the_error_names_file_problem_and_advice():
    error = DamagedFile("x.holdfast", "it is empty", "Make it again")
    assert str(error) == "x.holdfast cannot be loaded: it is empty. Make it again."
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.problem) == (str(error), "x.holdfast", "it is empty")
    assert isinstance(error, ValueError)
