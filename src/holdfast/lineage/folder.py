"""A folder of releases -> what each says of itself, checked to be one unbroken chain."""

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.lineage.release import KIND
from holdfast.storage.archive import DamagedFile, describe_archive

__all__ = ["RESTORE", "Entry", "read_entries"]

RESTORE = "Restore it from a copy; the other releases are intact"

_FILE = re.compile(r"(\d{6,})\.release")


@dataclass(frozen=True)
class Entry:
    """What the folder says about a release without reading its arrays."""

    path: Path
    label: str
    digest: str


def read_entries(folder: Path, known: list[Entry] | None = None) -> list[Entry]:
    """Read the descriptions of all releases, and check that each follows the one before.

    Those of `known` releases, whose files never change, are not read again.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise DamagedFile(folder, "it is not a folder of releases", "Pass the folder of a lineage")
    files = {int(m[1]): p for p in folder.iterdir() if (m := _FILE.fullmatch(p.name))}
    others = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
    if others and not files:
        raise DamagedFile(
            folder, f"it contains {others[0]} and no releases", "Pass the folder of a lineage"
        )
    entries = list(known or [])
    for number in range(max(len(entries), max(files, default=-1) + 1)):
        if number not in files:
            path = folder / f"{number:06d}.release"
            raise DamagedFile(path, "this release is missing", RESTORE)
        if number == len(entries):
            entries.append(_read_entry(files[number], number, entries))
    return entries


def _read_entry(path: Path, number: int, before: list[Entry]) -> Entry:
    found = describe_archive(path, {KIND})
    metadata = found.metadata
    expected = (before[-1].digest, before[0].digest) if before else (None, None)
    if not isinstance(metadata.get("label"), str):
        raise DamagedFile(path, "it has no label", RESTORE)
    if metadata.get("number") != number:
        raise DamagedFile(path, f"it is release {metadata.get('number')}", RESTORE)
    if before and metadata.get("origin") != expected[1]:
        raise DamagedFile(
            path, "it is a release of another segmentation", "Remove it, or restore the right one"
        )
    if metadata.get("previous") != expected[0]:
        raise DamagedFile(path, f"release {number - 1} is not the one that it follows", RESTORE)
    return Entry(path, metadata["label"], found.digest)
