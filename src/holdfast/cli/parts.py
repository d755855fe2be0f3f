"""Files larger than memory: read, prepared, fitted and labeled in parts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast._machine import np, pa
from holdfast._machine.work import Progress, ProgressOption
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.inputs import limit_counts, save_model, show_preparation, table_of
from holdfast.cli.options import COLUMNS, OUTPUT, ColumnOptions, ReadOptions, option
from holdfast.tables.errors import ignore
from holdfast.tables.read import DataTable, find_kinds, read_parts
from holdfast.tables.text import TextFormat
from holdfast.tables.write import STREAM_ENDINGS, write_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy
    from holdfast.tables.dataset import Dataset
    from holdfast.tables.preparation import Preparation

    Labels = dict[int, NDArray[np.int32]]


@dataclass(frozen=True)
class SaveOptions:
    """What a fit writes besides labels."""

    panel = OUTPUT
    model: str | None = option(
        "--model FILE", "Save the fit, for predict, cut, update, diff and --like."
    )
    no_rows: bool = option("--no-rows", "Leave the rows out of the model file.", False)
    linkage: str | None = option(
        "--linkage FILE.npy", "Write the hierarchy as a SciPy linkage matrix."
    )
    like: str | None = option(
        "--like MODEL",
        "Repeat everything of that model: columns, scales, method, numbers of clusters, "
        "seed and ids.",
        panel=COLUMNS,
    )


@dataclass(frozen=True)
class FitJob:
    """What is fitted, and what becomes of it."""

    data: str
    read: ReadOptions
    column: ColumnOptions
    weights: str | None
    like: "HierarchicalKMedian | None"
    save: SaveOptions
    out: str
    append: bool


@dataclass(frozen=True)
class Parts:
    """A file that is read in parts, each prepared as for the fit."""

    path: str
    text: "TextFormat"
    kinds: dict[str, str]  # of its columns, which no part could tell alone
    keep_written: bool  # whether labels are appended to the columns as they are written
    preparation: "Preparation | None" = None
    id: str | None = None
    weights: str | None = None
    columns: tuple[str, ...] | None = None  # to read; None reads all

    @classmethod
    def of(
        cls, path: str, read: ReadOptions, out: str, console: Console, *, keep_written: bool
    ) -> "Parts":
        """Open a file; refuse what cannot be read or written in parts."""
        if path == "-":
            raise InputError("--chunked reads a file, not standard input.")
        if Path(out).suffix.lower() not in STREAM_ENDINGS:
            raise InputError(
                f"--chunked needs an --out that ends in one of {', '.join(STREAM_ENDINGS)}; got "
                f"{out}."
            )
        kinds = find_kinds(path, read.text, notify=console.notice)
        return cls(path, read.text, kinds, keep_written)

    def read(self, **options: Any) -> "Iterator[DataTable]":
        """Read the file as it is."""
        return read_parts(self.path, self.text, exact=(self.id,), kinds=self.kinds, **options)

    def first(self) -> "DataTable":
        """Read the first part."""
        found = next(self.read(), None)
        if found is None:
            raise InputError(f"{self.path} has no rows; expected at least one.")
        return found

    def prepare(
        self, console: Console, progress: ProgressOption = False, what: str = ""
    ) -> "Iterator[Dataset]":
        """Read and prepare the parts."""
        from holdfast.tables.dataset import prepare_like

        assert self.preparation is not None
        told: list[str] = []  # about the first part
        with Progress(progress, 1.0, "", what) as shown:
            for part in self.read(columns=self.columns, keep_written=self.keep_written):
                if part.first_row > 0:  # there is more than one part
                    for text in told:
                        console.notice(f"of the first {part.first_row:,} rows: {text}")
                    told.clear()
                notify = ignore if part.first_row else told.append
                yield prepare_like(
                    part, self.preparation, id_name=self.id, weights=self.weights, notify=notify
                )
                shown.advance(part.fraction_read - shown.done)
        for text in told:
            console.notice(text)

    def write_labels(
        self, hierarchy: "Hierarchy", ks: tuple[int, ...], out: str, console: Console,
        keep: "Callable[[Dataset, Labels], None] | None" = None,
    ) -> dict[str, int]:  # fmt: skip
        """Write labels as a stream; return the number of rows, and of those that have labels.

        `keep` puts labels that rows have already in place of those that are predicted.
        """
        locators = {k: hierarchy.locator.first(k) for k in ks}
        counts = {"n_rows": 0, "n_used": 0}

        def label(progress: ProgressOption) -> Iterator[Any]:
            for part in self.prepare(console, progress, f"writing {out}"):
                counts["n_rows"] += part.used.size
                counts["n_used"] += part.rows.shape[0]
                labels = {k: locator.finest(part.rows) for k, locator in locators.items()}
                if keep is not None:
                    keep(part, labels)
                found = part.label({k: hierarchy.names(k)[own] for k, own in labels.items()})
                yield append_labels(part.table, found) if self.keep_written else found

        with console.progress(f"writing {out}") as progress:
            write_parts(out, label(progress))
        return counts


def append_labels(table: "DataTable", labels: "pa.Table") -> "pa.Table":
    """Put the columns of results beside all columns of the table, as they are written there."""
    found = table.data if table.written is None else table.written
    for name, column in zip(labels.column_names[1:], labels.columns[1:], strict=True):
        if name in table.data.column_names:
            raise InputError(
                f"--append: {table.source} has a column {name!r} already. Rename it, or leave out "
                "--append."
            )
        found = found.append_column(name, column)
    return found


def show_parts(record: dict[str, Any], files: dict[str, str | None], console: Console) -> None:
    """Print what was labeled."""
    if console.display.json:
        console.show_json({**record, "files": files})
    else:
        console.show_line(f"labeled {record['n_rows']:,} rows: {files['out']}")


def fit_parts(
    estimator: "HierarchicalKMedian", job: FitJob, ks: tuple[int, ...], console: Console
) -> None:
    """Fit a file in parts, and write labels as a stream."""
    from holdfast.storage.model import TableRecord

    save, out, id, weights = job.save, job.out, job.column.id, job.weights
    parts = Parts.of(job.data, job.read, out, console, keep_written=job.append)
    if save.linkage:
        raise InputError("--linkage cannot be combined with --chunked.")
    parts = replace(parts, id=id, weights=weights)
    if job.like is not None:
        preparation = table_of(job.like).preparation
    else:
        preparation = _find_preparation(parts, job, estimator.method, console)
        if not job.append:
            names = [source.name for source in preparation.sources]
            names += [name for name in (id, weights) if name is not None]
            parts = replace(parts, columns=tuple(names))
    parts = replace(parts, preparation=preparation)
    ks = limit_counts(ks, parts.prepare(console), console)
    scale = column_scale_as(job.like, preparation)
    _fit(estimator.set_params(n_clusters=max(ks), column_scale=scale), parts, console)
    capped = estimator._held.extent is not None
    if capped:
        console.notice(
            f"there are too many distinct rows; {len(estimator.rows_):,} cells of the grid represent "
            "them. See docs/changing_data.md."
        )
    counts = parts.write_labels(estimator.hierarchy_, ks, out, console)
    if save.model is not None:
        used = np.ones(len(estimator.rows_), dtype=np.bool_)
        estimator.table_ = TableRecord(preparation, id, None, used, ks)
        save_model(estimator, save.model, include_rows=not (save.no_rows or capped))
    record = {**counts, "n_distinct": len(estimator.rows_), "capped": capped}
    show_parts(record, {"out": out, "model": save.model}, console)


def _fit(estimator: "HierarchicalKMedian", parts: Parts, console: Console) -> None:
    from holdfast.chunks import fit_chunks
    from holdfast.tables.columns import DistinctIds

    what = f"reading {parts.path}"
    with console.progress(what) as progress, input_errors():

        def read_rows() -> Iterator[Any]:
            distinct = DistinctIds()
            for part in parts.prepare(console, progress, what):
                distinct.see(part.ids)
                yield part.rows if parts.weights is None else (part.rows, part.weight)
            distinct.check(parts.path, parts.id)
            if callable(progress):
                progress("clustering", 0.0, None)

        fit_chunks(estimator.set_params(verbose=progress), read_rows)


def column_scale_as(
    like: "HierarchicalKMedian | None", preparation: "Preparation"
) -> tuple[float, ...] | None:
    """Scales that random numbers do not depend on; none for the copy of a model without them."""
    return preparation.scale if like is None else like.column_scale_


def _find_preparation(parts: Parts, job: FitJob, method: str, console: Console) -> "Preparation":
    from holdfast.tables.dataset import find_preparation

    column, what = job.column, f"measuring columns of {parts.path}"
    with console.progress(what) as progress, Progress(progress, 1.0, "", what) as shown:

        def open_parts(columns: tuple[str, ...] | None) -> "Iterator[DataTable]":
            for part in parts.read(columns=columns, notify=ignore if columns else console.notice):
                yield part
                shown.advance(part.fraction_read - shown.done)

        preparation, treatments = find_preparation(
            open_parts,
            column.choice(job.weights),
            scale=column.scale(method),
            missing=column.missing,
            notify=console.notice,
        )
    show_preparation(preparation, treatments, console)
    return preparation
