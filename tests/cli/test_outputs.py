"""Files are whole or not there, and never replaced unasked."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.cli import inputs
from holdfast.tables import write

OUTPUTS = ("-o", "labels.csv", "--model", "m.holdfast", "--linkage", "z.npy")


def test_nothing_is_replaced_without_force(holdfast, people, folder):
    for taken in ("labels.csv", "m.holdfast", "z.npy"):
        (folder / taken).write_text("mine")
        done = holdfast("fit", people, *OUTPUTS)
        assert done.code == 2
        assert f"{taken} exists; add --force" in done.err
        assert (folder / taken).read_text() == "mine"
        assert sorted(os.listdir(folder)) == sorted(["people.csv", taken])
        assert holdfast("fit", people, *OUTPUTS, "--force").code == 0
        for name in ("labels.csv", "m.holdfast", "z.npy"):
            assert (folder / name).read_bytes()[:4] != b"mine"
            (folder / name).unlink()


def test_outputs_are_checked_before_the_work(holdfast, people, folder, monkeypatch):
    monkeypatch.setattr(inputs, "read_table", None)  # any use of it would fail
    (folder / "m.holdfast").write_text("mine")
    assert holdfast("fit", people, *OUTPUTS).code == 2
    assert holdfast("fit", people, "-o", "a.csv", "--model", "a.csv").code == 2


def test_a_failing_write_leaves_nothing(holdfast, people, folder, monkeypatch):
    def fail(file, table, separator):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_write_text", fail)
    done = holdfast("fit", people, "-o", "labels.csv")
    assert done.code == 1
    assert "labels.csv cannot be written: no space left on device" in done.err
    assert os.listdir(folder) == ["people.csv"]


def test_links_stay_and_devices_are_not_replaced(holdfast, people, folder):
    (folder / "real.csv").write_text("old")
    (folder / "labels.csv").symlink_to("real.csv")
    assert holdfast("fit", people, "-o", "labels.csv", "--force").code == 0
    assert (folder / "labels.csv").is_symlink()
    assert (folder / "real.csv").read_text().startswith("row,cluster_8")
    os.mkfifo(folder / "pipe.csv")
    reader = os.open(folder / "pipe.csv", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert holdfast("fit", people, "-o", "pipe.csv").code == 0
        assert os.read(reader, 13) == b"row,cluster_8"
        model = holdfast("fit", people, "--model", "pipe.csv", "-o", "more.csv")
        assert model.code == 2
        assert "is not a regular file and cannot be replaced by one" in model.err
    finally:
        os.close(reader)
    assert not (folder / "pipe.csv").is_file()


@contextmanager
def as_nobody():
    """Give up the rights of root, which may read and write everything, for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_no_permission(holdfast, people, monkeypatch, request):
    place = Path(tempfile.mkdtemp())  # pytest's folders are closed to others
    request.addfinalizer(lambda: shutil.rmtree(place))
    place.chmod(0o755)
    shutil.copy(people, place)
    monkeypatch.chdir(place)
    closed = place / "closed"
    closed.mkdir()
    (closed / "data.csv").write_bytes(people.read_bytes())
    (closed / "model.holdfast").write_bytes(b"")
    for command in ("fit", "predict"):  # whatever they import is read while that is allowed
        holdfast(command, "people.csv", "people.csv", "-o", "before.csv")
    assert holdfast("fit", "closed/data.csv", "-o", "closed/before.csv").code == 0
    (closed / "data.csv").chmod(0)
    (closed / "model.holdfast").chmod(0)
    closed.chmod(0o555)
    try:
        with as_nobody():
            read = holdfast("fit", "closed/data.csv", "-o", "-")
            load = holdfast("cut", "closed/model.holdfast", "-k", 2)
            write = holdfast("fit", "people.csv", "-o", "closed/labels.csv")
            keep = holdfast("fit", "people.csv", "-o", "-", "--model", "closed/m.holdfast")
    finally:
        closed.chmod(0o700)
    for done in (read, load):
        assert (done.code, done.out) == (2, "")
        assert "cannot be read: permission denied" in done.err
    for done in (write, keep):
        assert (done.code, done.out) == (2, ""), done.err
        assert f"no permission to write into {closed}" in done.err
    assert sorted(path.name for path in closed.iterdir()) == [
        "before.csv", "data.csv", "model.holdfast"
    ]  # fmt: skip
