"""Sketches in files: the same again, in any process; whatever is wrong is one clear error."""

import hashlib
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.grid.sketch import Sketch
from holdfast.grid.sketch_file import (
    SketchFileError,
    read_sketch,
    sketch_from_bytes,
    sketch_to_bytes,
    write_sketch,
)

RNG = np.random.RandomState(0)
SKETCH = Sketch.from_rows(RNG.randint(9, size=(200, 2)) / 4.0 - 1.0)
CONTENT = sketch_to_bytes(SKETCH)
MAGIC = b"HOLDFAST-SKETCH"


def seal(stream: bytes, version: int = 1) -> bytes:
    content = stream + MAGIC + bytes([version])
    return content + hashlib.sha256(content).digest()


def stream_of(columns: dict[str, pa.Array], batches: int = 1, **options) -> bytes:
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        for _ in range(batches):
            out.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("sketch", [SKETCH, Sketch.empty(3), Sketch.from_rows([[5e-324]], [9])])
def test_round_trip(sketch, tmp_path):
    write_sketch(tmp_path / "sketch.arrow", sketch)
    found = read_sketch(tmp_path / "sketch.arrow")
    assert found == sketch
    assert found.rows.tobytes() == sketch.rows.tobytes()
    assert sketch_to_bytes(found) == sketch_to_bytes(sketch)
    assert [path.name for path in tmp_path.iterdir()] == ["sketch.arrow"]


def test_arrow_readers_open_it(tmp_path):
    write_sketch(tmp_path / "sketch.arrow", SKETCH)
    with pa.memory_map(str(tmp_path / "sketch.arrow")) as file:
        table = pa.ipc.open_stream(file).read_all()
    assert table.column_names == ["x0", "x1", "weight"]
    np.testing.assert_array_equal(table["weight"], SKETCH.weight)


def test_sketches_of_other_processes_merge(tmp_path):
    script = (
        "import sys, numpy as np; from holdfast.grid.sketch import Sketch;"
        "from holdfast.grid.sketch_file import write_sketch;"
        "rows = np.random.RandomState(int(sys.argv[1])).randint(9, size=(50, 2)) / 2.0;"
        "write_sketch(sys.argv[2], Sketch.from_rows(rows))"
    )
    total, rows = Sketch.empty(2), []
    for seed in ("1", "2"):
        path = str(tmp_path / seed)
        subprocess.run([sys.executable, "-W", "error", "-c", script, seed, path], check=True)
        total = total + read_sketch(path)
        rows.append(np.random.RandomState(int(seed)).randint(9, size=(50, 2)) / 2.0)
    assert total == Sketch.from_rows(np.concatenate(rows))


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_any_changed_byte_is_noticed(place, change):
    damaged = bytearray(CONTENT)
    damaged[place] ^= change
    with pytest.raises(SketchFileError):
        sketch_from_bytes(bytes(damaged))


@given(st.integers(0, len(CONTENT) - 1))
@settings(max_examples=100, deadline=None)
def test_any_end_in_the_middle_is_noticed(size):
    with pytest.raises(SketchFileError):
        sketch_from_bytes(CONTENT[:size])


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_crafted_bytes_with_a_right_checksum_are_a_clear_error_or_a_sketch(data):
    """Damage before sealing: the checksum says nothing, all other checks must hold."""
    stream = bytearray(CONTENT[: -len(MAGIC) - 33])
    for _ in range(data.draw(st.integers(1, 8))):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = sketch_from_bytes(seal(bytes(stream)))
    except SketchFileError:
        return
    assert found == Sketch.from_rows(found.rows, found.weight)


GOOD = {"x0": pa.array([1.0, 2.0]), "weight": pa.array([1, 1])}
CRAFTED = {
    "no columns": {"weight": GOOD["weight"]},
    "no weight": {"x0": GOOD["x0"]},
    "other names": {"y": GOOD["x0"], "weight": GOOD["weight"]},
    "other dtype": {**GOOD, "x0": pa.array([1, 2])},
    "gaps": {**GOOD, "x0": pa.array([1.0, None])},
    "gaps in weights": {**GOOD, "weight": pa.array([1, None])},
    "NaN": {**GOOD, "x0": pa.array([1.0, np.nan])},
    "minus zero": {**GOOD, "x0": pa.array([-0.0, 1.0])},
    "not sorted": {**GOOD, "x0": pa.array([2.0, 1.0])},
    "repeated": {**GOOD, "x0": pa.array([1.0, 1.0])},
    "zero weight": {**GOOD, "weight": pa.array([1, 0])},
    "negative weight": {**GOOD, "weight": pa.array([1, -1])},
    "total weight": {**GOOD, "weight": pa.array([2**53, 2**53])},
}


@pytest.mark.parametrize("case", CRAFTED)
def test_unsound_content_is_refused(case):
    with pytest.raises(SketchFileError, match="Write it again"):
        sketch_from_bytes(seal(stream_of(CRAFTED[case])))


def test_good_content_is_accepted():
    assert sketch_from_bytes(seal(stream_of(GOOD))) == Sketch.from_rows([[1.0], [2.0]])


def test_other_versions_are_named(tmp_path):
    path = tmp_path / "sketch.arrow"
    path.write_bytes(seal(stream_of(GOOD), version=2))
    with pytest.raises(SketchFileError, match=r"sketch.arrow: its version is 2.*version 1"):
        read_sketch(path)


def test_compressed_content_is_refused_before_it_grows():
    zeros = {"x0": pa.array(np.zeros(10**7)), "weight": pa.array(np.ones(10**7, dtype=np.int64))}
    small = seal(stream_of(zeros, compression="zstd"))
    assert len(small) < 4_000_000  # of 160 million
    del zeros
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        with pytest.raises(SketchFileError, match="plain record batch"):
            sketch_from_bytes(small)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 10**6
