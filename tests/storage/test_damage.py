"""Damaged files: one clear error, whatever byte is wrong."""

import numpy as np
import pytest
from golden.saved import FOLDER
from storage.forge import bounded

import holdfast
from holdfast.storage.archive import DamagedFile, read_archive, write_archive
from holdfast.storage.hierarchy import hierarchy_to_arrays

FILES = {name: FOLDER / f"{name}.holdfast" for name in ("tree-weights-1", "cosine-1")}


@pytest.fixture(params=FILES)
def whole(request) -> bytes:
    return FILES[request.param].read_bytes()


def assert_damaged(path, content: bytes, problem: str = "") -> None:
    path.write_bytes(content)
    with bounded(len(content) + 500_000), pytest.raises(DamagedFile) as caught:
        holdfast.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be loaded: ")
    assert message.endswith((". Restore a copy of the file, or create it again.", "to read it."))
    assert problem in message


def boundaries(whole: bytes) -> list[int]:
    """Where the parts of the file begin and end."""
    found = [0, len(whole)]
    for mark in (b"PK\x03\x04", b"PK\x01\x02", b"PK\x06\x06", b"PK\x06\x07", b"PK\x05\x06"):
        at = whole.find(mark)
        while at >= 0:
            found.append(at)
            at = whole.find(mark, at + 1)
    at = whole.find(b"\x93NUMPY")
    while at >= 0:
        found += [at, at + 128]
        at = whole.find(b"\x93NUMPY", at + 1)
    return sorted(found)


def test_cut_off_at_every_boundary_and_beside_it(whole, tmp_path):
    places = {b + step for b in boundaries(whole) for step in (-1, 0, 1, 7)}
    for place in sorted(places & set(range(len(whole)))):
        assert_damaged(tmp_path / "h", whole[:place])
    assert len(places) > 40


def test_cut_off_anywhere(whole, tmp_path):
    for place in range(0, len(whole), 61):
        assert_damaged(tmp_path / "h", whole[:place])


def test_something_appended_or_put_before(whole, tmp_path):
    assert_damaged(tmp_path / "h", whole + b"\x00", f"it has {len(whole) + 1} bytes")
    assert_damaged(tmp_path / "h", whole + whole)
    assert_damaged(tmp_path / "h", b"\x00" + whole)
    assert_damaged(tmp_path / "h", b"#!/bin/sh\n" + whole)


def test_every_flipped_bit_is_found(whole, tmp_path):
    """Each byte of the small parts, and every 5th of the rest; one bit each, in turn."""
    places = {b + step for b in boundaries(whole)[:-1] for step in range(8)}
    places |= set(range(0, len(whole), 5))
    path = tmp_path / "h"
    for count, place in enumerate(sorted(places)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (count % 8)
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            holdfast.load(path)
    assert count > 800


def test_zeroed_and_random_blocks(whole, tmp_path):
    random = np.random.RandomState(3)
    for start in range(0, len(whole), 512):
        stop = min(start + 512, len(whole))
        for block in (bytes(stop - start), random.bytes(stop - start)):
            assert_damaged(tmp_path / "h", whole[:start] + block + whole[stop:])


@pytest.mark.parametrize("content", [b"", b"PK", b"\x00" * 5000, b"\x80\x04N.", b"a,b\n1,2\n"])
def test_other_files(content, tmp_path):
    assert_damaged(tmp_path / "h", content)


def test_arrays_swapped_between_files_and_within_one(tmp_path):
    one = FILES["tree-weights-1"].read_bytes()
    other_path = tmp_path / "other"
    model = holdfast.HierarchicalKMedian(1, method="tree").fit(
        np.random.RandomState(1).random_sample((60, 2))
    )
    write_archive(other_path, "hierarchy", *hierarchy_to_arrays(model.hierarchy_))
    other = other_path.read_bytes()
    part, same = one.find(b"finest.npy"), other.find(b"finest.npy")
    assert one[part + 30 : part + 158] == other[same + 30 : same + 158]  # the same .npy header
    data = slice(part + 30 + 128, part + 30 + 128 + 240)
    moved = bytearray(one)
    moved[data] = other[same + 30 + 128 : same + 30 + 128 + 240]
    assert_damaged(tmp_path / "h", bytes(moved), "the array 'finest' does not match its checksum")
    with_headers = one[: part - 30] + other[same - 30 : same + 398] + one[part + 398 :]
    assert_damaged(tmp_path / "h", with_headers, "'finest' does not match its checksum")


def test_the_error_leaves_no_file_open_and_no_cause_behind(tmp_path):
    path = tmp_path / "h"
    path.write_bytes(FILES["cosine-1"].read_bytes()[:-1])
    with pytest.raises(DamagedFile) as caught:  # an open file would be a ResourceWarning
        read_archive(path)
    assert caught.value.__cause__ is None
    assert caught.value.path == str(path)
    path.rename(tmp_path / "moved")
