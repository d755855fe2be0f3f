"""The bytes of an archive around its data: ZIP records, `.npy` headers, the JSON description.

ZIP files can store the same content in many ways, and readers disagree on which part to trust.
Archives of holdfast have exactly one form, which these functions compute. A reader compares a file
with this form and never follows what the file says about itself.
"""

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DESCRIPTION = "holdfast.json"
"""Name of the first member."""

MAX_DESCRIPTION = 1 << 22
"""Maximum number of bytes of the description."""

MAX_DEPTH = 32
"""Maximum number of nested lists and objects in the description."""

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
_TOKEN = re.compile(rb'[\[\]{}"]|\\.', re.DOTALL)


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
    """Compute the header of a `.npy` file, version 1.0: C order, padded to 64 bytes.

    NumPy writes the same header, but its padding differs between versions.
    """
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
    depth = 0
    quoted = False
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token == b'"':
            quoted = not quoted
        elif not quoted and token in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif not quoted and token in b"]}":
            depth -= 1
    return False
