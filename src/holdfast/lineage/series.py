"""The releases of one segmentation in one folder: appended, never rewritten, and asked."""

from __future__ import annotations  # short names in help()

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.files import hold_file
from holdfast.lineage.compose import compose_release
from holdfast.lineage.release import CLUSTERS, EVENTS, LEVELS, MOVES, RESTORE, Release, read_entries
from holdfast.storage.archive import DamagedFile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from holdfast.estimator import HierarchicalKMedian


MOST_LABEL = 200
"""Characters of a label: every line of every table has room for the longest one."""

# Pages and pictures cannot have these.
_NOT_IN_LABEL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_PART = re.compile(r"\.[0-9]{6,}\.release\.[0-9a-f]{32}\.part")


class Lineage:
    """The releases of one segmentation: every model of a chain of follows, in one folder.

    The folder has one file for each release and nothing else. A file is written under a temporary
    name and renamed when it is complete; it is never written again. Each file has checksums, and
    contains the checksum of the file before. So a process that is killed at any moment leaves all
    releases intact, and a missing, damaged or foreign file is found.

    Parameters
    ----------
    path : str or path-like
        The folder. The first `append` creates it.

    Raises
    ------
    holdfast.storage.archive.DamagedFile
        If a release is missing, damaged or of another lineage. This is a ValueError. No file is
        changed.

    Examples
    --------
    >>> from holdfast import HierarchicalKMedian, Lineage
    >>> lineage = Lineage("segments.lineage")  # doctest: +SKIP
    >>> model = HierarchicalKMedian(8).fit(X, ids=ids)  # doctest: +SKIP
    >>> lineage.append(model, label="week 1")  # doctest: +SKIP
    >>> model = model.follow(X_next, ids=ids_next, budget=0.01)  # doctest: +SKIP
    >>> lineage.append(model, label="week 2")  # doctest: +SKIP
    >>> lineage.moves(since="week 2")  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._entries = read_entries(self.path)
        self._latest: Release | None = None  # what `append` wrote last, so as not to read it again

    def __len__(self) -> int:
        """Count the releases."""
        return len(self._entries)

    def __getitem__(self, number: int | str) -> Release:
        """Read a release by its number or label; -1 is the latest."""
        return self._read(self._find(number))

    def __iter__(self) -> Iterator[Release]:
        """Read one release after the other; only one is in memory."""
        for number in range(len(self)):
            yield self._read(number)

    def __repr__(self) -> str:
        """Name the folder and count the releases."""
        return f"Lineage({os.fspath(self.path)!r}, {len(self)} releases)"

    def _repr_html_(self) -> str:
        """Show the releases as a table."""
        from holdfast.lineage.show import lineage_html

        return lineage_html(self)

    @property
    def labels(self) -> list[str]:
        """The labels of the releases."""
        return [entry.label for entry in self._entries]

    def append(
        self,
        model: HierarchicalKMedian,
        *,
        label: str | None = None,
        time: str | None = None,
        levels: Sequence[int] | None = None,
        staleness: Any = None,
        include_rows: bool = True,
    ) -> Release:
        """Append a fitted model as the next release.

        The first model may come from `fit`, every other one from `follow` of the model before it.
        Appending the latest release once more under the same label changes nothing, so an
        interrupted run can be repeated.

        Parameters
        ----------
        model : HierarchicalKMedian
        label : str, default=None
            A new name for the release. None takes the date.
        time : str, default=None
            ISO 8601. None takes the current time in UTC.
        levels : sequence of int, default=None
            The numbers of clusters to keep of a first model, which follows none. None takes those
            that the model was fitted for.
        staleness : Staleness, default=None
            ``model.staleness()``, to record how far the model is from a new fit.
        include_rows : bool, default=True
            Whether to keep the rows, so that the next release can say which columns carried rows
            to other clusters.

        Returns
        -------
        Release

        Raises
        ------
        ValueError
            If the model does not follow the latest release, or the label is taken.

        Notes
        -----
        Processes that append at the same time wait for each other.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds") if time is None else _check_time(time)
        self.path.mkdir(exist_ok=True)
        with hold_file(self.path, lambda: None):
            self._entries = read_entries(self.path, self._entries)
            last = self._read_latest() if self._entries else None
            name = self._free_label(label, now)
            if last is not None and last.label == (now[:10] if label is None else label):
                name = last.label
            options = {"levels": levels, "staleness": staleness, "include_rows": include_rows}
            release = self._compose(model, last, label=name, time=now, **options)
            if last is not None and release is last:
                return last
            for stale in self.path.iterdir():
                if _PART.fullmatch(stale.name):  # of a process that was killed
                    stale.unlink()
            release.write(self.path / f"{release.number:06d}.release")
        self._entries = read_entries(self.path, self._entries)
        self._latest = replace(release, digest=self._entries[-1].digest)
        return self._latest

    def clusters(self, level: int | None = None) -> NDArray[Any]:
        """Describe each cluster of each release.

        Parameters
        ----------
        level : int, default=None
            A number of clusters; None gives all that were followed.

        Returns
        -------
        ndarray
            Fields `release`, `label`, `level`, `name`, `parent`, `size`, `fraction`, `cost`,
            `event`, `other`, `joined`, `left`, `new` and `removed`. `joined` and `left` count rows
            that came from and went to other clusters, `new` and `removed` those that came to and
            left the table.
        """
        lines = [line for release in self for line in _cluster_lines(release, level)]
        cluster = [*CLUSTERS.descr[:-1], ("fraction", "f8"), CLUSTERS.descr[-1], *EVENTS.descr[2:4]]
        counts = [(name, "i8") for name in ("joined", "left", "new", "removed")]
        return self._table(lines, cluster + counts)

    def history(self, cluster: int, level: int | None = None) -> NDArray[Any]:
        """Describe one cluster, release by release.

        Parameters
        ----------
        cluster : int
            Its lasting name.
        level : int, default=None
            None takes the largest number of clusters that has the name.

        Returns
        -------
        ndarray
            As from `clusters`.
        """
        found = self.clusters(level)
        found = found[found["name"] == cluster]
        if not found.size:
            where = "" if level is None else f" at level {level}"
            raise ValueError(f"no release has a cluster {cluster}{where}.")
        chosen = found["level"].max() if level is None else level
        history: NDArray[Any] = found[found["level"] == chosen]
        return history

    def moves(self, since: int | str | None = None, level: int | None = None) -> NDArray[Any]:
        """List the rows that changed cluster.

        Parameters
        ----------
        since : int or str, default=None
            Number or label of the first release to include. None includes all.
        level : int, default=None
            None includes all levels.

        Returns
        -------
        ndarray
            Fields `release`, `label`, `id`, `level`, `from`, `to`, `reason`, `gain`, and `column`,
            `before`, `after`: the column that most carried the row to its new cluster, with the
            value of the row before and after (empty and NaN if none did or rows are not stored).
            Dates are in seconds since 1970.
        """
        lines: list[tuple[Any, ...]] = []
        for number in range(0 if since is None else self._find(since), len(self)):
            release = self._read(number)
            chosen = slice(None) if level is None else release.moves["level"] == level
            moves, carried = release.moves[chosen], release.carried[chosen]
            ids = release.ids_of(moves["row"]).tolist()
            for id, move, why in zip(ids, moves.tolist(), carried.tolist(), strict=True):
                column = int(why[0][0])
                shown = ("", np.nan, np.nan)
                if column >= 0:
                    shown = (release.columns[column], float(why[1][0]), float(why[2][0]))
                lines.append((release.number, release.label, id, *move[1:], *shown))
        shown_fields = [("column", object), ("before", "f8"), ("after", "f8")]
        return self._table(lines, [("id", object), *MOVES.descr[1:], *shown_fields])

    def of(self, id: Any) -> NDArray[Any]:
        """List the clusters of one row, release by release.

        Parameters
        ----------
        id : int or str

        Returns
        -------
        ndarray
            Fields `release`, `label`, `level`, `name` and `held`, for the releases that have it. `held`
            says whether the price of moving held the row at `n_clusters`, not at the level of the line.
        """
        lines: list[tuple[Any, ...]] = []
        for release in self:
            if release.ids is None:
                raise ValueError(
                    f"release {release.number} has no ids. Fit the first model with ids, or with "
                    "--id on the command line."
                )
            wanted = _as_type_of(id, release.ids)
            for row in np.flatnonzero(release.ids == wanted).tolist():
                held = bool(release.held[row])
                for level in release.levels["level"].tolist():
                    name = int(release.names(level)[row])
                    lines.append((release.number, release.label, level, name, held))
        if not lines:
            raise ValueError(f"no release has a row with the id {id!r}.")
        return self._table(lines, [("level", "i4"), ("name", "i8"), ("held", "?")])

    def events(self, since: int | str | None = None) -> NDArray[Any]:
        """List what happened to clusters: kept, grown, shrunk, split, merged, new, ended.

        Returns
        -------
        ndarray
            Fields `release`, `label`, `level`, `name`, `event`, `other`, `size_before` and
            `size_after`.
        """
        first = 0 if since is None else self._find(since)
        chosen = [self._read(number) for number in range(first, len(self))]
        lines = [(r.number, r.label, *event) for r in chosen for event in r.events.tolist()]
        return self._table(lines, EVENTS.descr)

    def levels(self, *, fresh: bool = False) -> NDArray[Any]:
        """Describe each level of each release: what moved and what it costs.

        Parameters
        ----------
        fresh : bool, default=False
            Whether to fit the rows of each release again where the cost of a new fit is not
            stored. `append` does not make this fit, because it takes longer than following.

        Returns
        -------
        ndarray
            Fields `release`, `label`, `n_rows`, `n_survivors`, `n_new`, `n_left`, `budget_binds`,
            `tolerance_exceeded`, and those of `Release.levels`.
        """
        fields = [(name, "i8") for name in ("n_rows", "n_survivors", "n_new", "n_left")]
        fields += [("budget_binds", "?"), ("tolerance_exceeded", "?")]
        lines = [
            (r.number, r.label, *(getattr(r, name) for name, _ in fields), *line)
            for r in self
            for line in (r.compare_fresh() if fresh else r.levels).tolist()
        ]
        return self._table(lines, fields + LEVELS.descr)

    def to_pandas(self, what: str = "clusters") -> DataFrame:
        """Return a table as a data frame. Needs pandas.

        Parameters
        ----------
        what : {"clusters", "moves", "events", "levels"}, default="clusters"
        """
        known = ("clusters", "moves", "events", "levels")
        if what not in known:
            raise ValueError(f"what must be one of {', '.join(known)}; got {what!r}.")
        import pandas

        return pandas.DataFrame.from_records(getattr(self, what)())

    def plot(self, level: int | None = None, ax: Axes | None = None) -> Axes:
        """Draw the clusters of all releases beside each other, and who moved between them.

        Needs matplotlib.

        Parameters
        ----------
        level : int, default=None
            The number of clusters; None takes the smallest that was followed.
        ax : matplotlib.axes.Axes, default=None
            None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from holdfast.lineage.show import draw_lineage

        return draw_lineage(self, level, ax)

    def _compose(
        self, model: HierarchicalKMedian, last: Release | None, *, label: str, **options: Any
    ) -> Release:
        """Describe the next release; return `last` if the model is that one again."""
        if last is not None and label == last.label:
            again = compose_release(model, None, label=label, **options)
            if _has_same_content(again, last):
                return last
            raise ValueError(
                f"the label {label!r} belongs to release {last.number}, which has other clusters. "
                "Give the new release another label."
            )
        found = compose_release(model, last, label=label, **options)
        previous = None if last is None else last.digest
        origin = None if last is None else self._entries[0].digest
        return replace(found, number=len(self), previous=previous, origin=origin)

    def _free_label(self, label: str | None, time: str) -> str:
        if label is not None:
            if not isinstance(label, str) or not label.strip():
                raise ValueError(f"label must be text; got {label!r}.")
            if len(label) > MOST_LABEL or _NOT_IN_LABEL.search(label):
                raise ValueError(
                    f"label must be at most {MOST_LABEL} characters of valid Unicode on one line; got "
                    f"{len(label):,} characters: {label[:20]!r}."
                )
            if label in self.labels[:-1]:
                raise ValueError(
                    f"the label {label!r} belongs to release {self.labels.index(label)}. Give the "
                    "new release another label."
                )
            return label
        return time if time[:10] in self.labels[:-1] else time[:10]

    def _find(self, number: int | str) -> int:
        if isinstance(number, str):
            if number in self.labels:
                return self.labels.index(number)
            if not re.fullmatch(r"-?\d+", number):
                raise ValueError(
                    f"no release is called {number!r}. The latest are "
                    f"{', '.join(self.labels[-5:]) or 'none'}."
                )
        place = int(number)
        if not -len(self) <= place < len(self):
            raise IndexError(f"the lineage has {len(self)} releases; got the number {place}.")
        return place % len(self)

    def _read(self, number: int) -> Release:
        entry = self._entries[number]
        release = Release.read(entry.path)
        if release.digest != entry.digest:
            raise DamagedFile(entry.path, "it changed since the lineage was opened", RESTORE)
        return release

    def _read_latest(self) -> Release:
        if self._latest is not None and self._latest.digest == self._entries[-1].digest:
            return self._latest
        return self._read(len(self) - 1)

    def _table(self, lines: list[tuple[Any, ...]], fields: list[Any]) -> NDArray[Any]:
        width = max((len(label) for label in self.labels), default=1)
        return np.array(lines, dtype=[("release", "i4"), ("label", f"U{width}"), *fields])


def _check_time(time: Any) -> str:
    """Check that a time is ISO 8601."""
    try:
        datetime.fromisoformat(time)
    except (TypeError, ValueError):
        raise ValueError(
            f'time must be ISO 8601, such as "2026-01-31T06:00:00+00:00"; got {time!r}.'
        ) from None
    return str(time)


def _cluster_lines(release: Release, level: int | None) -> Iterator[tuple[Any, ...]]:
    events = {
        (line["level"], line["name"]): (str(line["event"]), int(line["other"]))
        for line in release.events
    }
    for line in release.clusters:
        if level is not None and line["level"] != level:
            continue
        flows = release.flows[release.flows["level"] == line["level"]]
        came, went = flows["to"] == line["name"], flows["from"] == line["name"]
        first = not release.number
        event = events.get((line["level"], line["name"]), ("new" if first else "", -1))
        counts = [
            flows["size"][came & ~went & (flows["from"] >= 0)].sum(),
            flows["size"][went & ~came & (flows["to"] >= 0)].sum(),
            line["size"] if first else flows["size"][came & (flows["from"] < 0)].sum(),
            flows["size"][went & (flows["to"] < 0)].sum(),
        ]
        size = line["size"]
        described = (line["level"], line["name"], line["parent"], size, size / release.n_rows)
        yield (release.number, release.label, *described, line["cost"], *event, *map(int, counts))


def _has_same_content(one: Release, other: Release) -> bool:
    """Whether two releases have the same rows, clusters and moves."""
    derived = ("flows.", "carried.", "levels.fresh_", "rows")
    left, right = (
        {name: a.tobytes() for name, a in arrays.items() if not name.startswith(derived)}
        for arrays in (one.to_archive()[1], other.to_archive()[1])
    )
    return left == right


def _as_type_of(id: Any, ids: NDArray[Any]) -> Any:
    """Take a text as a number where the ids are numbers, and the other way round."""
    if ids.dtype.kind == "i" and isinstance(id, str):
        return int(id) if re.fullmatch(r"-?\d+", id) else None
    return str(id) if ids.dtype.kind == "O" else id
