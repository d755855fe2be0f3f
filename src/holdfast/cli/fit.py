"""``holdfast fit``: a table -> labels, and a model for later."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.console import Console
from holdfast.cli.cut import describe_cuts, load_model, save_model, show_labels, table_of
from holdfast.cli.errors import InputError, input_errors
from holdfast.cli.options import (
    Chunked,
    Clusters,
    ColumnOptions,
    DataFile,
    DisplayOptions,
    Epsilon,
    MethodOption,
    MetricOption,
    OutputOptions,
    ReadOptions,
    Seed,
    Weights,
    check_counts,
    check_method,
    check_seed,
    parse_counts,
    parse_epsilon,
)
from holdfast.cli.predict import check_parts, label_parts, prepare_parts_like

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.tables.dataset import Dataset
    from holdfast.tables.preparation import Preparation
    from holdfast.tables.read import DataTable

__all__ = ["EXAMPLES", "fit", "read_dataset"]

EXAMPLES = (
    "holdfast fit wine.csv --clusters 4",
    "holdfast fit wine.csv -k 4,8,16 --out labels.csv --model wine.holdfast",
    "holdfast fit wine.csv -k 3 --drop hue --method medoids -o labels.parquet",
    "cat wine.csv | holdfast fit - -k 2-6 --quiet | head -n 3",
)

_OUTPUT = "Output"


@dataclass(frozen=True)
class FitOptions:
    """What decides a hierarchy besides the rows."""

    method: MethodOption = "means"
    metric: MetricOption = "euclidean"
    epsilon: Epsilon = "auto"
    seed: Seed = 0
    max_centers: Annotated[
        str | None,
        typer.Option(
            "--max-centers",
            metavar="N|all",
            help="Most clusters that a model can be cut into; by default 256, or one for each row "
            "with --method tree.",
        ),
    ] = None


@dataclass(frozen=True)
class SaveOptions:
    """What a fit writes besides labels."""

    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Save the fit, for predict, cut, update, diff and --like.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    no_rows: Annotated[
        bool,
        typer.Option(
            "--no-rows", help="Leave the rows out of the model file.", rich_help_panel=_OUTPUT
        ),
    ] = False
    linkage: Annotated[
        str | None,
        typer.Option(
            "--linkage",
            metavar="FILE.npy",
            help="Write the hierarchy as a SciPy linkage matrix.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="MODEL",
            help="Prepare the columns exactly as that model did: the most stable way to fit again.",
            rich_help_panel="Columns and rows",
        ),
    ] = None


def fit(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    chosen: FitOptions,
    save: SaveOptions,
    output: OutputOptions,
    display: DisplayOptions,
    clusters: Clusters = "8",
    weights: Weights = None,
    chunked: Chunked = False,
) -> None:
    """Cluster a table: one row out for each row in, one column of labels for each K.

    Columns that are not numeric are ignored with a notice. The others are divided by their standard
    deviation, rounded to a power of two (--like MODEL repeats the scales of a model);
    --no-standardize keeps them as they are. The column center_from marks centers: a row is the
    center of its cluster for every K from that number on.
    """
    from holdfast.tables.write import TABLE_ENDINGS, check_outputs

    console = Console("fit", display, table_on_stdout=output.out == "-" and not display.json)
    ks = parse_counts(clusters)
    estimator = _build_estimator(ks, chosen, whole=bool(save.model or save.linkage))
    outputs: dict[str, tuple[str | None, tuple[str, ...]]] = {
        "--out": (output.out, TABLE_ENDINGS),
        "--model": (save.model, ()),
        "--linkage": (save.linkage, (".npy",)),
    }
    inputs = (data,) if save.like is None else (data, save.like)
    check_outputs(outputs, force=output.force, inputs=inputs)
    if save.like and (column.columns or column.drop or column.impute or column.drop_missing):
        raise InputError(
            "--like repeats the columns and the treatment of missing values of a model; leave out "
            "--columns, --drop, --drop-missing and --impute."
        )
    if chunked:
        _fit_parts(estimator, data, read, column, weights, save, output.out, ks, console)
        return
    dataset = read_dataset(data, read, column, console, weights=weights, like=save.like)
    check_counts(ks, dataset.rows.shape[0])
    with (
        console.progress(f"clustering {dataset.rows.shape[0]:,} rows") as progress,
        input_errors(),
    ):
        estimator.set_params(verbose=progress).fit(dataset.rows, sample_weight=dataset.weight)
    _write(estimator, dataset, ks, output.out, save, console)


def read_dataset(
    path: str,
    read: ReadOptions,
    column: ColumnOptions,
    console: Console,
    *,
    weights: str | None = None,
    like: str | None = None,
) -> "Dataset":
    """Read a table and prepare its rows, as the options say."""
    from holdfast.tables.dataset import prepare_like, prepare_table
    from holdfast.tables.errors import count, list_names
    from holdfast.tables.read import read_table

    choice, missing = column.choice(weights), column.missing
    with console.progress(f"reading {path}") as progress:
        table = read_table(path, read.text, notify=console.notice, progress=progress)
    if like is None:
        dataset = prepare_table(
            table, choice, standardize=column.standardize, missing=missing, notify=console.notice
        )
    else:
        preparation = table_of(load_model(like)).preparation
        dataset = prepare_like(
            table, preparation, id_name=column.id, weights=weights, notify=console.notice
        )
    rows, columns = (
        count(n, what) for n, what in zip(dataset.rows.shape, ("row", "column"), strict=True)
    )
    scaled = "each divided by a power of two near its standard deviation"
    console.notice(
        f"{rows}, {columns}: {list_names(dataset.preparation.columns)}; "
        f"{scaled if dataset.preparation.scale else 'not scaled'}."
    )
    return dataset


def _build_estimator(
    ks: tuple[int, ...], chosen: FitOptions, *, whole: bool
) -> "HierarchicalKMedian":
    """Check the options before the data are read.

    Unless the whole hierarchy is wanted, the fit stops at the last cut; the centers are the same.
    """
    check_method(chosen.method, chosen.metric)
    check_seed(chosen.seed)
    epsilon = parse_epsilon(chosen.epsilon)
    most: Any = chosen.max_centers
    if most is None and not whole:
        most = max(ks)
    elif most not in (None, "all"):
        if not most.isdecimal() or int(most) < max(ks):
            raise InputError(
                f"--max-centers must be all or a number of at least {max(ks)}, the largest of "
                f"--clusters; got {most!r}."
            )
        most = int(most)
    from holdfast.estimator import HierarchicalKMedian

    options: dict[str, Any] = {"method": chosen.method, "metric": chosen.metric}
    return HierarchicalKMedian(
        max(ks), epsilon=epsilon, max_centers=most, random_state=chosen.seed, **options
    )


def _write(
    estimator: "HierarchicalKMedian",
    dataset: "Dataset",
    ks: tuple[int, ...],
    out: str,
    save: SaveOptions,
    console: Console,
) -> None:
    """Write files first, then print: a closed pipe must not cost anybody a file."""
    import numpy as np

    from holdfast.storage.model import TableRecord
    from holdfast.tables.write import build_label_table, write_file

    hierarchy = estimator.hierarchy_
    labels = {k: hierarchy.cut(k) for k in ks}
    table = build_label_table(
        dataset.id_name, dataset.ids, dataset.used, labels, hierarchy.center_indices
    )
    if save.model is not None:
        with console.progress(f"writing {save.model}"):
            estimator.table_ = TableRecord(
                dataset.preparation,
                dataset.id_name,
                None if dataset.ids is None else dataset.ids.to_numpy(),
                dataset.used,
                ks,
            )
            save_model(estimator, save.model, include_rows=not save.no_rows)
    if save.linkage is not None:
        merges = hierarchy.linkage()
        write_file(save.linkage, lambda file: np.save(file, merges))
    record = {
        "n_rows": int(dataset.used.size),
        "n_used": int(dataset.rows.shape[0]),
        "preparation": dataset.preparation.to_json(),
        "method": estimator.method,
        "metric": estimator.metric,
        "epsilon": estimator.epsilon_,
        "seed": estimator.seed_,
        "cuts": describe_cuts(hierarchy, ks, table.column(0).to_numpy()[dataset.used]),
    }
    show_labels(console, record, table, out, {"model": save.model, "linkage": save.linkage})


def _fit_parts(
    estimator: "HierarchicalKMedian",
    data: str,
    read: ReadOptions,
    column: ColumnOptions,
    weights: str | None,
    save: SaveOptions,
    out: str,
    ks: tuple[int, ...],
    console: Console,
) -> None:
    """Fit a file in parts, and write labels as a stream."""
    import numpy as np

    from holdfast.storage.model import TableRecord

    check_parts(data, out)
    if save.linkage:
        raise InputError("--linkage does not go with --chunked.")
    preparation = _prepare_parts(data, read, column, weights, save.like, console)
    columns = None
    if save.like is None:
        others = (name for name in (column.id, weights) if name is not None)
        columns = (*preparation.columns, *others)

    def prepare(progress: Any, what: str) -> "Iterator[Dataset]":
        return prepare_parts_like(
            data, read.text, preparation, console, progress, what,
            id=column.id, weights=weights, columns=columns,
        )  # fmt: skip

    _fit_chunks(estimator, prepare, data, weights is not None, console)
    capped = estimator._held.extent is not None
    if capped:
        console.notice(
            f"{len(estimator.rows_):,} cells of the grid stand for the distinct rows; see "
            "docs/changing_data.md."
        )
    with console.progress(f"writing {out}") as progress:
        parts = prepare(progress, f"writing {out}")
        n_rows, n_used = label_parts(estimator.hierarchy_, ks, parts, out)
    if save.model is not None:
        used = np.ones(len(estimator.rows_), dtype=np.bool_)
        estimator.table_ = TableRecord(preparation, column.id, None, used, ks)
        save_model(estimator, save.model, include_rows=not (save.no_rows or capped))
    record = {
        "n_rows": n_rows,
        "n_used": n_used,
        "n_distinct": len(estimator.rows_),
        "capped": capped,
        "files": {"out": out, "model": save.model},
    }
    if console.display.json:
        console.show_json(record)
    else:
        console.show_line(f"labeled {n_rows:,} rows: {out}")


def _fit_chunks(
    estimator: "HierarchicalKMedian",
    prepare: "Callable[[Any, str], Iterator[Dataset]]",
    data: str,
    weighted: bool,
    console: Console,
) -> None:
    from holdfast.chunks import fit_chunks

    with console.progress(f"reading {data}") as progress, input_errors():

        def read_rows() -> Iterator[Any]:
            for part in prepare(progress, f"reading {data}"):
                yield (part.rows, part.weight) if weighted else part.rows
            if callable(progress):
                progress("clustering", 0.0, None)

        fit_chunks(estimator.set_params(verbose=progress), read_rows)


def _prepare_parts(
    data: str,
    read: ReadOptions,
    column: ColumnOptions,
    weights: str | None,
    like: str | None,
    console: Console,
) -> "Preparation":
    from holdfast._machine.progress import Progress
    from holdfast.tables.dataset import prepare_parts
    from holdfast.tables.read import read_parts

    if like is not None:
        return table_of(load_model(like)).preparation
    with (
        console.progress(f"measuring columns of {data}") as progress,
        Progress(progress, 1.0, "", f"measuring columns of {data}") as shown,
    ):

        def open_parts(columns: tuple[str, ...] | None) -> "Iterator[DataTable]":
            for part in read_parts(data, read.text, columns=columns, notify=console.notice):
                yield part
                shown.advance(part.fraction_read - shown.done)

        return prepare_parts(
            open_parts,
            column.choice(weights),
            standardize=column.standardize,
            missing=column.missing,
            notify=console.notice,
        )
