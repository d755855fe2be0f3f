"""One release of a segmentation, in memory and as a file that is never written again.

The files of a folder are one unbroken chain: each says which one it follows.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.rows.ids import pack_ids, unpack_ids
from holdfast.storage.archive import Archive, DamagedFile, read_archive, write_archive
from holdfast.storage.model import ModelRecord, model_from_arrays, model_to_arrays

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy.rules import Column


KIND = "release"
_MODEL = "model."
N_CARRIED = 3
"""Columns that are kept for each row that moved."""

CLUSTERS = np.dtype(
    [("level", "i4"), ("name", "i8"), ("parent", "i8"), ("size", "i8"), ("cost", "f8")]
)
LEVELS = np.dtype(
    [("level", "i4"), ("moved", "f8"), ("cost", "f8"), ("cost_of_staying", "f8")]
    + [("fresh_cost", "f8"), ("fresh_moved", "f8")]
)
EVENTS = np.dtype(
    [("level", "i4"), ("name", "i8"), ("event", "U16"), ("other", "i8")]
    + [("size_before", "f8"), ("size_after", "f8")]
)
MOVES = np.dtype(
    [
        ("row", "i8"),
        ("level", "i4"),
        ("from", "i8"),
        ("to", "i8"),
        ("reason", "U32"),
        ("gain", "f8"),
    ]
)
CARRIED = np.dtype(
    [("column", "i4", (N_CARRIED,)), ("before", "f8", (N_CARRIED,)), ("after", "f8", (N_CARRIED,))]
)
FLOWS = np.dtype([("level", "i4"), ("from", "i8"), ("to", "i8"), ("size", "i8")])
_TABLES = {
    "clusters": CLUSTERS, "levels": LEVELS, "events": EVENTS, "moves": MOVES, "next_moves": MOVES,
    "carried": CARRIED, "flows": FLOWS,
}  # fmt: skip
_COUNTS = ("n_survivors", "n_new", "n_left")
_METADATA = (
    "number", "label", "time", "id_name", "budget", "budget_binds", "tolerance_exceeded",
    "previous", "origin", *_COUNTS,
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """One model of a lineage: its clusters, and what changed since the release before.

    Attributes
    ----------
    number : int
        From 0.
    label : str
        Name of the release, such as a date.
    time : str
        When it was appended, in UTC and ISO 8601.
    levels : ndarray, fields `level`, `moved`, `cost`, `cost_of_staying`, `fresh_cost`, `fresh_moved`
        One entry for each followed number of clusters. `moved` is the fraction of the surviving
        rows that changed cluster. The costs, sums of the distances to the means of the
        clusters, are those of this release, of nobody moving, and of a new fit; `fresh_moved` is
        the fraction that a new fit would move. NaN is unknown.
    clusters : ndarray, fields `level`, `name`, `parent`, `size`, `cost`
        `parent` is the name of the cluster one level up that contains this one, or -1. `cost` is
        the sum of the distances to the mean.
    centers : ndarray of shape (n_all_clusters, n_columns), dtype float64
        Means of the clusters, in the units of the table.
    columns : tuple of str
    unit : ndarray of shape (n_columns,), dtype float64
        What each column was divided by before it was clustered.
    events : ndarray, fields `level`, `name`, `event`, `other`, `size_before`, `size_after`
    moves, next_moves : ndarray, fields `row`, `level`, `from`, `to`, `reason`, `gain`
        Surviving rows that changed cluster, and those that would be next.
    carried : ndarray, fields `column`, `before`, `after`, each of three values
        For each of `moves`, the columns whose change carried the row to its new cluster, most
        important first, with the values of the row before and now; column -1 is none.
    flows : ndarray, fields `level`, `from`, `to`, `size`
        How many rows of each cluster before are in each cluster now; -1 is outside.
    assigned : ndarray of shape (n_rows, n_levels), dtype int32
        For each row and level, the position of its cluster in `clusters`.
    held : ndarray of shape (n_rows,), dtype bool
        Rows that the price of moving holds in their cluster.
    ids : ndarray of shape (n_rows,), dtype int64 or object, or None
    id_name : str or None
    rows : ndarray of shape (n_rows, n_columns), dtype float64, or None
        In the units of the table.
    n_survivors, n_new, n_left : int
    budget : float or None
    budget_binds, tolerance_exceeded : bool
    previous, origin : str or None
        Digests of the release before and of the first release.
    digest : str
        Checksum of this release; empty until it is written.
    record : ModelRecord or None
        The model itself; see `model`.
    """

    number: int
    label: str
    time: str
    levels: NDArray[Any]
    clusters: NDArray[Any]
    centers: NDArray[np.float64]
    columns: tuple[str, ...]
    unit: NDArray[np.float64]
    events: NDArray[Any]
    moves: NDArray[Any]
    next_moves: NDArray[Any]
    carried: NDArray[Any]
    flows: NDArray[Any]
    assigned: NDArray[np.int32]
    held: NDArray[np.bool_]
    ids: NDArray[Any] | None
    id_name: str | None
    rows: NDArray[np.float64] | None
    n_survivors: int
    n_new: int
    n_left: int
    budget: float | None = None
    budget_binds: bool = False
    tolerance_exceeded: bool = False
    previous: str | None = None
    origin: str | None = None
    digest: str = ""
    record: ModelRecord | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that were clustered."""
        return int(self.assigned.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns of the table; `columns` has one for each level of a category."""
        return len({c.name for c in self._describe_columns()}) or len(self.columns)

    @property
    def dates(self) -> tuple[str, ...]:
        """Names of the columns that hold dates, in seconds since 1970."""
        return tuple(c.name for c in self._describe_columns() if c.date)

    def _describe_columns(self) -> "list[Column]":
        from holdfast.estimator.explaining import columns_of

        table = None if self.record is None else self.record.table
        return columns_of(table.preparation) if table else []

    def __repr__(self) -> str:
        """Name the release and its size."""
        return f"Release({self.number}, {self.label!r}, n_rows={self.n_rows})"

    def names(self, level: int) -> NDArray[np.int64]:
        """Return the name of the cluster of each row."""
        found: NDArray[np.int64] = self.clusters["name"][self.assigned[:, self.column(level)]]
        return found

    def column(self, level: int) -> int:
        """Return the column of `assigned` that has the clusters of a level."""
        (j,) = np.flatnonzero(self.levels["level"] == level)
        return int(j)

    def model(self) -> "HierarchicalKMedian":
        """Return the fitted model, to follow it or to predict with it."""
        from holdfast.estimator import HierarchicalKMedian

        if self.record is None:
            raise ValueError(f"release {self.number} does not contain its model.")
        return HierarchicalKMedian._from_record(self.record)

    def compare_fresh(self) -> NDArray[Any]:
        """Return `levels` with the cost of a new fit and what it would move.

        Where they are not stored, the rows of the release are fitted again.
        """
        if np.isfinite(self.levels["fresh_moved"]).all():
            return self.levels
        found = self.model().staleness(levels=self.levels["level"].tolist())
        levels = self.levels.copy()
        levels["fresh_cost"], levels["fresh_moved"] = levels["cost"] / found.cost, found.moved
        return levels

    def ids_of(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of rows, or their numbers if there are none."""
        return rows if self.ids is None else self.ids[rows]

    def to_archive(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Convert the release to plain JSON and arrays, as they are written."""
        arrays: dict[str, NDArray[Any]] = {
            "centers": self.centers, "unit": self.unit, "assigned": self.assigned,
            "held": self.held,
        }  # fmt: skip
        texts: dict[str, list[str]] = {}
        for name, dtype in _TABLES.items():
            table = getattr(self, name)
            for field in dtype.names or ():
                array = table[field]
                if dtype[field].kind == "U":
                    words, codes = np.unique(array, return_inverse=True)
                    texts[f"{name}.{field}"] = words.tolist()
                    array = codes.ravel().astype(np.int32)
                arrays[f"{name}.{field}"] = array
        metadata = {name: getattr(self, name) for name in _METADATA}
        metadata |= {"columns": list(self.columns), "texts": texts, "ids": "model", "model": None}
        if self.record is not None:
            metadata["model"], model = model_to_arrays(self.record)
            arrays |= {_MODEL + name: array for name, array in model.items()}
        if self.record is None or self.record.rows is None:  # the model has neither rows nor ids
            metadata["ids"], named = pack_ids(self.ids)
            arrays |= named | ({} if self.rows is None else {"rows": self.rows})
        return metadata, arrays

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file, completely or not at all."""
        write_archive(path, KIND, *self.to_archive())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Release":
        """Read a release, and check all of it."""
        archive = read_archive(path, {KIND})
        try:
            return _check(cls._from_archive(archive))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            problem = f"its content is not that of a release ({error})"
            raise DamagedFile(path, problem) from None

    @classmethod
    def _from_archive(cls, archive: Archive) -> "Release":
        metadata, arrays = dict(archive.metadata), dict(archive.arrays)
        texts = metadata.pop("texts")
        tables: dict[str, Any] = {}
        for name, dtype in _TABLES.items():
            fields = {field: arrays[f"{name}.{field}"] for field in dtype.names or ()}
            (size,) = {array.shape[0] for array in fields.values()}
            table = np.empty(size, dtype=dtype)
            for field, array in fields.items():
                words = texts.get(f"{name}.{field}")
                if words is not None:
                    table[field] = np.array([*words, ""])[array] if array.size else ""
                else:
                    table[field] = array
            tables[name] = table
        assigned, unit = arrays["assigned"], arrays["unit"]
        columns = tuple(metadata.pop("columns"))
        kind, described = metadata.pop("ids"), metadata.pop("model")
        inside = {n.removeprefix(_MODEL): a for n, a in arrays.items() if n.startswith(_MODEL)}
        record = None if described is None else model_from_arrays(described, inside)
        if kind == "model" and record is not None and record.rows is not None:
            rows, ids = record.rows * unit, record.ids
            if ids is None and record.table is not None:
                ids = record.table.used_ids
            if record.weight is not None and not record.weight.all():  # only rows with a weight
                present = record.weight > 0.0
                rows, ids = rows[present], None if ids is None else ids[present]
        else:
            rows, ids = arrays.get("rows"), unpack_ids(kind, arrays, assigned.shape[0])
        return cls(
            **metadata, **tables, columns=columns, centers=arrays["centers"], unit=unit,
            assigned=assigned, held=arrays["held"], rows=rows, ids=ids, digest=archive.digest,
            record=record,
        )  # fmt: skip


def _check(release: Release) -> Release:
    """Raise ValueError where no index may be trusted."""
    n, k, d = release.n_rows, release.clusters.size, len(release.columns)
    shapes = {
        "centers": (k, d), "unit": (d,), "assigned": (n, release.levels.size), "held": (n,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if getattr(release, name).shape != shape:
            raise ValueError(f"{name} has the wrong shape")
    if release.rows is not None and release.rows.shape != (n, d):
        raise ValueError("rows have the wrong shape")
    ranges = [(release.assigned, 0, k), (release.carried["column"], -1, d)]
    ranges += [(table["row"], 0, n) for table in (release.moves, release.next_moves)]
    for array, low, high in ranges:
        if array.size and not low <= array.min() <= array.max() < high:
            raise ValueError("an index is out of range")
    if release.carried.size != release.moves.size or not release.levels.size:
        raise ValueError("its tables do not match")
    texts = (release.label, release.time, *release.columns)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a name is not text")
    numbers = (release.number, release.n_survivors, release.n_new, release.n_left)
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("a number is not a count")
    return release


RESTORE = "Restore it from a copy; the other releases are intact"

_FILE = re.compile(r"([0-9]{6}|[1-9][0-9]{6,})\.release")


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
    if not path.is_file():  # a folder, a link to nothing, a pipe
        what = "a folder" if path.is_dir() else "not a file"
        raise DamagedFile(path, f"it is {what}", RESTORE)
    found = read_archive(path, {KIND}, with_arrays=False)
    metadata = found.metadata
    expected = (before[-1].digest, before[0].digest) if before else (None, None)
    if not isinstance(metadata.get("label"), str):
        raise DamagedFile(path, "it has no label", RESTORE)
    if metadata.get("number") != number:
        advice = "Remove it if it is a copy; otherwise restore the right one"
        raise DamagedFile(path, f"it is release {metadata.get('number')}", advice)
    if before and metadata.get("origin") != expected[1]:
        advice = "Remove it, or restore the right one"
        if number == 1:  # either may be the wrong one
            advice = "Restore the one of the two that does not belong here"
        problem = "it is a release of another segmentation than release 0"
        raise DamagedFile(path, problem, advice)
    if metadata.get("previous") != expected[0]:
        raise DamagedFile(path, f"release {number - 1} is not the one that it follows", RESTORE)
    return Entry(path, metadata["label"], found.digest)
