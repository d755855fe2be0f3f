"""Sketches in files: an Arrow IPC stream, with a trailer that tells whether it is whole.

The stream has one record batch: columns ``x0``, ``x1``, ... of doubles and ``weight`` of 64-bit
integers, without gaps and uncompressed; any Arrow reader opens it. After its end come 48 bytes:
``HOLDFAST-SKETCH`` and the version as one byte, then the SHA-256 of everything before.
"""

import hashlib
import os
import struct
from pathlib import Path
from typing import IO, Any

import numpy as np

from holdfast.files import write_whole
from holdfast.grid.sketch import MAX_WEIGHT, Sketch

__all__ = ["SketchFileError", "read_sketch", "sketch_from_bytes", "sketch_to_bytes", "write_sketch"]

VERSION = 1
_MAGIC = b"HOLDFAST-SKETCH"
_TRAILER = len(_MAGIC) + 1 + 32
# What pyarrow and struct raise for bytes that are no stream of Arrow.
_FOUND_WRONG = (OSError, ValueError, LookupError, OverflowError, StopIteration, struct.error)
_COMPRESSION = 3  # field of RecordBatch in Arrow's Message.fbs


class SketchFileError(ValueError):
    """A file or bytes that hold no sound sketch."""


def write_sketch(path: str | os.PathLike[str], sketch: Sketch) -> None:
    """Write a sketch; the file is there whole, or not at all."""

    def write(file: IO[bytes]) -> None:
        file.write(sketch_to_bytes(sketch))

    write_whole(path, write)


def read_sketch(path: str | os.PathLike[str]) -> Sketch:
    """Read a sketch and check all of it.

    Raises
    ------
    SketchFileError
        The file is damaged, cut off, of another version, or no sketch. Memory stays within twice
        the size of the file, whatever is in it.
    """
    try:
        return sketch_from_bytes(Path(path).read_bytes())
    except SketchFileError as error:
        raise SketchFileError(f"{os.fspath(path)}: {error}") from None


def sketch_to_bytes(sketch: Sketch) -> bytes:
    """Return what `write_sketch` writes; equal sketches give equal bytes."""
    import pyarrow as pa

    names = [*(f"x{j}" for j in range(sketch.n_features)), "weight"]
    columns = [*np.ascontiguousarray(sketch.rows.T), sketch.weight]
    batch = pa.record_batch([pa.array(column) for column in columns], names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes() + _MAGIC + bytes([VERSION])
    return content + hashlib.sha256(content).digest()


def sketch_from_bytes(content: bytes) -> Sketch:
    """Read a sketch from bytes and check all of it."""
    import pyarrow as pa

    stream = _check_whole(content)
    try:
        batch = _read_batch(stream)
        rows, weight = _check_columns(batch)
    except SketchFileError:
        raise
    except _FOUND_WRONG + (pa.ArrowException,) as error:
        raise SketchFileError(f"it holds no sketch ({error}). Write it again.") from None
    _check_content(rows, weight)
    return Sketch(rows, weight)


def _check_whole(content: bytes) -> memoryview:
    """Check magic, version and checksum; return what comes before them."""
    whole, digest = memoryview(content)[:-32], content[-32:]
    named = bytes(whole[-len(_MAGIC) - 1 : -1]) == _MAGIC
    if len(content) <= _TRAILER or not named:
        raise SketchFileError("it is cut off, or no sketch of holdfast. Write it again.")
    if whole[-1] != VERSION:
        raise SketchFileError(
            f"its version is {whole[-1]}; this holdfast reads version {VERSION}. Use a newer one."
        )
    if hashlib.sha256(whole).digest() != digest:
        raise SketchFileError("its checksum is wrong: it is damaged. Write it again.")
    return whole[: -len(_MAGIC) - 1]


def _read_batch(stream: memoryview) -> Any:
    """Read the one record batch, refusing compression: memory stays that of the bytes."""
    import pyarrow as pa

    source = pa.BufferReader(pa.py_buffer(stream))
    messages = pa.ipc.MessageReader.open_stream(source)
    schema = pa.ipc.read_schema(messages.read_next_message())
    message = messages.read_next_message()
    if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
        raise SketchFileError("it holds no sketch (not one plain record batch). Write it again.")
    return pa.ipc.read_record_batch(message, schema)


def _is_compressed(metadata: bytes) -> bool:
    """Whether a message's record batch says that its buffers are compressed.

    Flatbuffers: a table starts with the offset back to its list of fields, which has the place of
    each, or 0 where there is none. Field 2 of Message is the record batch.
    """

    def field(table: int, number: int) -> int:
        fields = table - struct.unpack_from("<i", metadata, table)[0]
        (size,) = struct.unpack_from("<H", metadata, fields)
        if 4 + 2 * number >= size:
            return 0
        place: int = struct.unpack_from("<H", metadata, fields + 4 + 2 * number)[0]
        return place and table + place

    root = struct.unpack_from("<I", metadata, 0)[0]
    header = field(root, 2)
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return field(batch, _COMPRESSION) != 0


def _check_columns(batch: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    import pyarrow as pa

    batch.validate(full=True)
    d = batch.num_columns - 1
    expected = [*((f"x{j}", pa.float64()) for j in range(d)), ("weight", pa.int64())]
    found = [(field.name, field.type) for field in batch.schema]
    if d < 1 or found != expected or any(column.null_count for column in batch.columns):
        raise SketchFileError("it holds no sketch (other columns). Write it again.")
    rows = np.empty((batch.num_rows, d))
    for j in range(d):
        rows[:, j] = batch.column(j).to_numpy()
    weight = batch.column(d).to_numpy().copy()
    rows.flags.writeable = weight.flags.writeable = False
    return rows, weight


def _check_content(rows: np.ndarray[Any, Any], weight: np.ndarray[Any, Any]) -> None:
    """Check what the code relies on: finite, sorted, distinct, counted."""
    sound = bool(np.isfinite(rows).all()) and not np.signbit(rows[rows == 0.0]).any()
    before, after = rows[:-1], rows[1:]
    differ = before != after
    first = differ.argmax(axis=1)
    every = np.arange(first.size)
    sound = sound and bool((before[every, first] < after[every, first]).all())
    total = float(weight.sum(dtype=np.float64))
    if not sound or (weight < 1).any() or total > MAX_WEIGHT:
        raise SketchFileError(
            "its rows are not finite, distinct and sorted, or its weights not positive. Write it "
            "again."
        )
