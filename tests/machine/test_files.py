"""Files are whole or not there."""

import os
import stat

import pytest

from holdfast._machine.files import write_whole


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, lambda file: file.write(b"one"))
    write_whole(path, lambda file: file.write(b"two"))
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_error_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(path, fail)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_permissions_follow_the_umask(tmp_path):
    path = tmp_path / "a.txt"
    mask = os.umask(0o027)
    try:
        write_whole(path, lambda file: file.write(b"x"))
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
