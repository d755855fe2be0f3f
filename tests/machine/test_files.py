"""Files are whole or not there; pipes are read to their end, unless a signal comes."""

import io
import os
import signal
import stat
import sys
import threading

import pytest

from holdfast._machine import files
from holdfast._machine.files import hold_file, read_pipe, write_whole


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


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_reader_delays_a_replacement_on_windows(tmp_path, monkeypatch, seconds):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    rename, refusals = os.replace, [PermissionError(13, "in use")]

    def replace(source, target):
        if refusals:
            raise refusals.pop()
        rename(source, target)

    monkeypatch.setattr(files, "_REPLACE_SECONDS", seconds)
    monkeypatch.setattr(os, "replace", replace)
    if seconds:
        write_whole(path, lambda file: file.write(b"new"))
    else:
        with pytest.raises(PermissionError, match="in use"):
            write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == (b"new" if seconds else b"old")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_without_locks_a_file_is_held_by_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)  # as on Windows
    with hold_file(tmp_path, waiting=pytest.fail):
        pass


def test_permissions_follow_the_umask(tmp_path):
    path = tmp_path / "a.txt"
    mask = os.umask(0o027)
    try:
        write_whole(path, lambda file: file.write(b"x"))
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_pipes_are_read_to_their_end():
    content = bytes(range(256)) * 10_000  # more than a pipe holds
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb") as file:
        assert read_pipe(file) == content
    writer.join()
    assert read_pipe(io.BytesIO(b"in memory")) == b"in memory"


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_a_signal_that_does_not_wake_the_reader_is_handled_nevertheless():
    class Requested(Exception):
        pass

    def stop(number, frame):
        raise Requested

    def send():  # to this thread: a read of the main thread goes on, as it does just before it waits
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    reading, writing = (os.fdopen(*end) for end in zip(os.pipe(), ("rb", "wb"), strict=True))
    sender = threading.Timer(0.1, send)
    give_up = threading.Timer(60.0, writing.close)  # else a failure would hang
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with reading, writing:
            sender.start()
            give_up.start()
            with pytest.raises(Requested):
                read_pipe(reading)
            assert not writing.closed
    finally:
        give_up.cancel()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
