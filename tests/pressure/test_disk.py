"""The disk is full: an error, the old file as it was, nothing half written."""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from stability.clusterers import by_rank

from holdfast import HierarchicalKMedian, average_sensitivity, load
from holdfast._machine.files import write_whole

ROWS = np.random.RandomState(0).standard_normal((3000, 3))
MODEL = HierarchicalKMedian(4, method="tree").fit(ROWS)


def measure(folder: Path) -> None:
    average_sensitivity(
        by_rank, ROWS, n_clusters=[2, 3], trials=200, repeats=5, n_jobs=1, checkpoint=folder
    )


WRITERS: dict[str, Callable[[Path], None]] = {
    "one large write": lambda path: write_whole(path, lambda file: file.write(bytes(1 << 20))),
    "many small writes": lambda path: write_whole(
        path, lambda file: [file.write(bytes(1000)) for _ in range(1000)]
    ),
    "model": MODEL.save,
}


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes: writing more is an OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("room", [0, 1, 4096, 20_000])
def test_an_old_file_outlives_a_full_disk(writer: str, room: int, tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with file_size_limit(room), pytest.raises(OSError, match="File too large") as raised:
        WRITERS[writer](path)
    assert raised.value.errno == errno.EFBIG
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
    WRITERS[writer](path)  # and once there is room, it works
    assert path.read_bytes() != b"old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_is_noticed_at_the_end_counts_too(step: str, tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    MODEL.save(path)
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        HierarchicalKMedian(4, method="tree", random_state=1).fit(ROWS).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["file"]
    np.testing.assert_array_equal(load(path).hierarchy_.cut(50), MODEL.hierarchy_.cut(50))


def test_a_checkpoint_keeps_its_whole_blocks(tmp_path: Path):
    with file_size_limit(1000), pytest.raises(OSError, match="File too large"):
        measure(tmp_path)
    assert os.listdir(tmp_path) == ["arguments.json"]
    measure(tmp_path)
    assert len(os.listdir(tmp_path)) > 1
