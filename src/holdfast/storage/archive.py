"""Arrays and JSON in one checksummed file: the format of model files.

An archive is an uncompressed `.npz` file with a description in JSON. ZIP files can store the same content
in many ways, and readers disagree on which part to trust. Archives have exactly one form. A reader
computes it, compares a file with it, and never follows what the file says about itself.
``numpy.load(path, allow_pickle=False)`` reads its arrays without holdfast. docs/file_format.md
documents every byte.
"""

import hashlib
import json
import math
import os
import re
import stat
import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import accumulate
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.files import write_whole

DESCRIPTION = "holdfast.json"  # the name of the first member
MAX_DESCRIPTION = 1 << 22  # bytes
MAX_DEPTH = 32  # nested lists and objects in the description

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")
_VERSION = 45  # the first version of the ZIP specification with 64-bit sizes
_UNIX = 3 << 8
_MODE = 0o100644 << 16
_DAY = (1 << 5) | 1  # 1 January 1980, so that equal contents give equal bytes
_IN_64 = 0xFFFFFFFF  # "see the 64-bit field", which is always present: one form for all sizes
# A string, also one without an end, or a bracket: after a quote it never fails, and takes linear time.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)

FORMAT_VERSION = 1
"""Increased when an older holdfast could misread new files; see docs/file_format.md."""

_FORMAT = "holdfast"
_FIELDS = {"arrays", "format", "holdfast", "kind", "metadata", "version"}
_DTYPES = {
    np.dtype(code).str: np.dtype(code)
    for code in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
}
_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
_MAX_NAME = 100
_MAX_ARRAYS = 256
_MAX_NDIM = 8
_MAX_BYTES = 1 << 62
_AGAIN = "Restore a copy of the file, or create it again"
_NEWER = "Upgrade holdfast to read it"


class DamagedFile(ValueError):
    """Raised if a file is damaged, of another kind, or written by a newer holdfast.

    Attributes
    ----------
    path : str
    problem : str
        What is wrong with the file.
    advice : str
        What to do.
    """

    def __init__(self, path: str | os.PathLike[str], problem: str, advice: str = _AGAIN) -> None:
        self.path, self.problem, self.advice = os.fspath(path), problem, advice
        super().__init__(self.path, problem, advice)

    def __str__(self) -> str:
        """Say which file is wrong, why, and what to do."""
        return f"{self.path} cannot be loaded: {self.problem}. {self.advice}."


class _Problem(Exception):
    """A problem and what to do; becomes a DamagedFile as soon as the path is known."""


@dataclass(frozen=True)
class Member:
    """One file in the archive: its name, where its header begins, its bytes and their CRC-32."""

    name: str
    offset: int
    size: int
    crc: int

    @property
    def end(self) -> int:
        """Offset of the next member."""
        return self.offset + len(local_header(self)) + self.size


@dataclass(frozen=True, eq=False)
class Archive:
    """The content of an archive."""

    kind: str  # what the archive contains, such as ``"hierarchy"``
    version: int  # format version
    metadata: dict[str, Any]  # plain JSON
    arrays: dict[str, NDArray[Any]]  # arrays by name, in the byte order of the machine
    digest: str  # checksum of the description, and so of all that it has checksums of


@dataclass(frozen=True)
class _Spec:
    """The description of one array."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    checksum: str

    @property
    def header(self) -> bytes:
        return array_header(self.dtype, self.shape)

    def member(self, offset: int, crc: int = 0) -> Member:
        size = len(self.header) + math.prod(self.shape) * self.dtype.itemsize
        return Member(f"{self.name}.npy", offset, size, crc)


def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays and plain JSON to one file, whole or not at all; equal contents, equal bytes."""
    stored = {name: _to_stored(name, arrays[name]) for name in sorted(arrays)}
    description = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "kind": kind,
        "holdfast": version("holdfast"),
        "metadata": metadata,
        "arrays": {
            name: {"dtype": a.dtype.str, "shape": list(a.shape), "blake2b": _digest(_bytes_of(a))}
            for name, a in stored.items()
        },
    }
    text = encode_description(description)
    try:
        specs = _read_description(text, None)[1]
        if json.loads(text)["metadata"] != metadata:
            raise _Problem("metadata must be plain JSON that reads back unchanged")
    except _Problem as problem:
        raise ValueError(f"The archive cannot be written: {problem.args[0]}.") from None

    def write(file: IO[bytes]) -> None:
        members = [Member(DESCRIPTION, 0, len(text), zlib.crc32(text))]
        file.write(local_header(members[0]) + text)
        for spec in specs:
            data = _bytes_of(stored[spec.name])
            members.append(spec.member(members[-1].end, zlib.crc32(data, zlib.crc32(spec.header))))
            file.write(local_header(members[-1]) + spec.header)
            file.write(data)
        file.write(directory(members))

    write_whole(path, write)


def read_archive(
    path: str | os.PathLike[str], kinds: Collection[str] | None = None, *, with_arrays: bool = True
) -> Archive:
    """Read a file that :func:`write_archive` wrote; `kinds` are those to accept, None accepts any.

    Nothing in the file is executed, no length in it is trusted, and every byte is compared with its
    checksum or its only valid form; DamagedFile otherwise. Checksums detect no forgery: the
    caller must check the arrays. Without arrays, only the description and the length are checked.
    """
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise _Problem("it is not a regular file")
            return _read_from(file, about.st_size, kinds, with_arrays)
    except _Problem as problem:
        raise DamagedFile(path, *problem.args) from None


def _read_from(
    file: IO[bytes], size: int, kinds: Collection[str] | None, with_arrays: bool
) -> Archive:
    text = _read_text(file, size)
    description, specs = _read_description(text, kinds)
    first = Member(DESCRIPTION, 0, len(text), zlib.crc32(text))
    planned = [first]
    for spec in specs:
        planned.append(spec.member(planned[-1].end))
    whole = planned[-1].end + len(directory(planned))
    if whole != size:
        raise _Problem(f"it has {size} bytes, but {whole} according to its description")
    arrays, members = {}, [first]
    for spec in specs if with_arrays else ():
        array, crc = _read_array(file, spec, members[-1].end)
        arrays[spec.name] = array
        members.append(spec.member(members[-1].end, crc))
    tail = directory(members)
    if with_arrays and file.read(len(tail) + 1) != tail:
        raise _Problem("its directory does not match its contents")
    kind, written_as, metadata = (description[name] for name in ("kind", "version", "metadata"))
    return Archive(kind, written_as, metadata, arrays, _digest(text))


def _read_text(file: IO[bytes], size: int) -> bytes:
    """Read the first member, the description; its size is trusted up to a limit."""
    if size == 0:
        raise _Problem("it is empty")
    blank = local_header(Member(DESCRIPTION, 0, 0, 0))
    head = file.read(len(blank))
    length = int.from_bytes(head[-8:], "little")
    if len(head) < len(blank) or length > min(size, MAX_DESCRIPTION):
        raise _Problem("it does not begin like a holdfast file")
    text = file.read(length)
    if head != local_header(Member(DESCRIPTION, 0, length, zlib.crc32(text))):
        raise _Problem("its description is damaged, or it is not a holdfast file")
    return text


def _read_description(
    text: bytes, kinds: Collection[str] | None
) -> tuple[dict[str, Any], list[_Spec]]:
    if len(text) > MAX_DESCRIPTION or is_deep(text):
        raise _Problem(
            f"its description has more than {MAX_DESCRIPTION} bytes or {MAX_DEPTH} levels"
        )
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _Problem("its description is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise _Problem("it is not a holdfast file")
    written_as = found.get("version")
    if type(written_as) is not int or written_as < 1:
        raise _Problem("its format version is not a positive integer")
    if written_as > FORMAT_VERSION:
        raise _Problem(
            f"a newer holdfast wrote it, in format version {written_as}; this holdfast reads "
            f"versions up to {FORMAT_VERSION}",
            _NEWER,
        )
    _check_fields(found, text)
    if kinds is not None and found["kind"] not in kinds:
        known = " or ".join(sorted(kinds))
        raise _Problem(
            f"it contains a {found['kind']}, not a {known}", "Pass a file of the expected kind"
        )
    return found, [_read_spec(name, found["arrays"][name]) for name in sorted(found["arrays"])]


def _check_fields(found: dict[str, Any], text: bytes) -> None:
    arrays = found.get("arrays")
    if (
        found.keys() != _FIELDS
        or not isinstance(found["holdfast"], str)
        or not isinstance(found["metadata"], dict)
        or not isinstance(arrays, dict)
        or len(arrays) > _MAX_ARRAYS
        or not _is_name(found["kind"])
    ):
        raise _Problem(f"its description must have the fields {sorted(_FIELDS)} with valid types")
    try:
        canonical = encode_description(found) == text
    except (ValueError, RecursionError):  # infinity, from a number too large for float64
        canonical = False
    if not canonical:  # repeated keys or other spellings, which readers could interpret differently
        raise _Problem("its description is not in the form that holdfast writes")


def _read_spec(name: str, found: object) -> _Spec:
    if not _is_name(name) or not isinstance(found, dict):
        raise _Problem(f"it describes an array with the invalid name {name[:_MAX_NAME]!r}")
    dtype, shape, checksum = found.get("dtype"), found.get("shape"), found.get("blake2b")
    if (
        found.keys() != {"dtype", "shape", "blake2b"}
        or not isinstance(dtype, str)
        or dtype not in _DTYPES
        or not isinstance(checksum, str)
    ):
        raise _Problem(f"the array {name!r} must have a dtype of {sorted(_DTYPES)} and a checksum")
    if (
        not isinstance(shape, list)
        or len(shape) > _MAX_NDIM
        or not all(type(length) is int and length >= 0 for length in shape)
        or math.prod(max(length, 1) for length in shape) > _MAX_BYTES // 8
    ):
        raise _Problem(f"the array {name!r} has an invalid shape")
    return _Spec(name, _DTYPES[dtype], tuple(shape), checksum)


def _read_array(file: IO[bytes], spec: _Spec, offset: int) -> tuple[NDArray[Any], int]:
    """Read one member, whose size is known to fit into the file, and its CRC-32."""
    head = file.read(len(local_header(spec.member(offset))))
    header = file.read(len(spec.header))
    array = np.empty(spec.shape, dtype=spec.dtype)
    data = _bytes_of(array)
    got = file.readinto(data) if len(data) else 0  # type: ignore[attr-defined]
    crc = zlib.crc32(data, zlib.crc32(header))
    if got != len(data) or _digest(data) != spec.checksum:
        raise _Problem(f"the array {spec.name!r} does not match its checksum")
    if header != spec.header or head != local_header(spec.member(offset, crc)):
        raise _Problem(f"the headers of the array {spec.name!r} are not valid")
    if array.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
        raise _Problem(f"the array {spec.name!r} has booleans that are neither 0 nor 1")
    return array.astype(spec.dtype.newbyteorder("="), copy=False), crc


def _to_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise TypeError(
            f"The array {name!r} has dtype {array.dtype}; it must be one of {sorted(_DTYPES)}."
        )
    return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _digest(data: bytes | memoryview) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def _is_name(name: object) -> bool:
    return isinstance(name, str) and len(name) <= _MAX_NAME and bool(_NAME.fullmatch(name))


def local_header(member: Member) -> bytes:
    """Compute the record before the bytes of a member, which are stored without compression."""
    name = member.name.encode("ascii")
    extra = struct.pack("<2H2Q", 1, 16, member.size, member.size)
    fixed = _LOCAL.pack(
        *(b"PK\x03\x04", _VERSION, 0, 0, 0, _DAY, member.crc),
        *(_IN_64, _IN_64, len(name), len(extra)),
    )
    return fixed + name + extra


def directory(members: Sequence[Member]) -> bytes:
    """Compute everything after the bytes of the last member."""
    entries = b"".join(map(_directory_entry, members))
    start, count = members[-1].end, len(members)
    end64 = _END64.pack(
        *(b"PK\x06\x06", _END64.size - 12, _UNIX | _VERSION, _VERSION, 0, 0),
        *(count, count, len(entries), start),
    )
    locator = _LOCATOR.pack(b"PK\x06\x07", 0, start + len(entries), 1)
    end = _END.pack(b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, _IN_64, _IN_64, 0)
    return entries + end64 + locator + end


def _directory_entry(member: Member) -> bytes:
    name = member.name.encode("ascii")
    extra = struct.pack("<2H3Q", 1, 24, member.size, member.size, member.offset)
    fixed = _CENTRAL.pack(
        *(b"PK\x01\x02", _UNIX | _VERSION, _VERSION, 0, 0, 0, _DAY, member.crc),
        *(_IN_64, _IN_64, len(name), len(extra), 0, 0, 0, _MODE, _IN_64),
    )
    return fixed + name + extra


def array_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Compute the header of a `.npy` file, padded to 64 bytes; NumPy's versions differ in that."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(text) + 1) % 64
    body = text.encode("ascii") + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


def encode_description(description: dict[str, Any]) -> bytes:
    """Compute the only valid JSON text of a description; NaN and infinity raise an error."""
    text = json.dumps(description, indent=1, sort_keys=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def is_deep(text: bytes) -> bool:
    """Whether a JSON text has more than `MAX_DEPTH` levels, without parsing it."""
    firsts = (text[token.start()] for token in _TOKEN.finditer(text))
    return any(n > MAX_DEPTH for n in accumulate((c in b"[{") - (c in b"]}") for c in firsts))
