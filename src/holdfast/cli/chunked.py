"""``fit --chunked`` and ``predict --chunked``: files larger than memory, read in parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from holdfast.cli.console import Console, list_names
from holdfast.cli.options import ColumnOptions, KeepOptions
from holdfast.cli.parse import name_cost
from holdfast.cli.problems import InputProblem, blame_input
from holdfast.cli.progress import Bar

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy
    from holdfast.tables.preparation import Preparation

__all__ = ["fit_in_parts", "predict_in_parts"]

_READ = (".parquet", ".csv", ".arrow", ".feather")
_WRITTEN = (".parquet", ".csv", ".arrow", ".feather")


def fit_in_parts(
    estimator: "HierarchicalKMedian",
    data: str,
    column: ColumnOptions,
    keep: KeepOptions,
    out: str,
    ks: tuple[int, ...],
    console: Console,
) -> None:
    """Fit a file in parts, and write labels as a stream."""
    from holdfast.chunks import fit_chunks

    _check_files(data, out)
    for option, given in (
        ("--id", column.id),
        ("--drop-missing", column.drop_missing),
        ("--impute", column.impute),
        ("--linkage", keep.linkage),
    ):
        if given:
            raise InputProblem(f"{option} does not go with --chunked.")
    with console.bar(f"reading {data}") as bar, blame_input():
        preparation = _prepare(data, column, keep.like, console, bar)
        bar.restart()
        fit_chunks(estimator, lambda: _read_to_fit(data, preparation, estimator, console, bar))
    capped = estimator._held.extent is not None
    if capped:
        console.notice(
            f"{len(estimator.rows_):,} cells of the grid stand for the distinct rows; see "
            "docs/changing_data.md."
        )
    n_rows = _write_labels(estimator.hierarchy_, data, preparation, out, ks, console)
    if keep.model is not None:
        _keep_model(estimator, preparation, ks, keep.model, with_rows=not (keep.no_rows or capped))
    record = {"n_rows": n_rows, "n_distinct": len(estimator.rows_), "capped": capped}
    _report(console, {**record, "files": {"out": out, "model": keep.model}})


def predict_in_parts(
    hierarchy: "Hierarchy",
    preparation: "Preparation",
    data: str,
    out: str,
    ks: tuple[int, ...],
    console: Console,
) -> None:
    """Label a file in parts."""
    _check_files(data, out)
    n_rows = _write_labels(hierarchy, data, preparation, out, ks, console)
    _report(console, {"n_rows": n_rows, "files": {"out": out}})


def _report(console: Console, record: dict[str, Any]) -> None:
    if console.talk.json:
        console.show_json(record)
    else:
        console.say(f"{record['n_rows']:,} rows labelled: {record['files']['out']}")


def _check_files(data: str, out: str) -> None:
    if Path(data).suffix.lower() not in _READ:
        raise InputProblem(f"--chunked reads {', '.join(_READ)} files; got {data}.")
    if not Path(data).is_file():
        raise InputProblem(f"there is no file {data}.")
    if Path(out).suffix.lower() not in _WRITTEN:
        raise InputProblem(f"--chunked writes to an --out of {', '.join(_WRITTEN)}; got {out}.")


def _read_rows(data: str, columns: tuple[str, ...], bar: Bar) -> Iterator[Any]:
    """Rows of a file, part by part; the bar learns how far it is once a part is worked off."""
    from holdfast.tables.chunks import open_source

    whole, done = _count_rows(Path(data)), 0
    for chunk in open_source(data, columns):
        yield chunk.rows
        done += chunk.rows.shape[0]
        bar.update(done, whole)


def _count_rows(path: Path) -> int:
    """Count rows without reading them; of a CSV file, guessed from its first part."""
    import pyarrow.dataset as ds

    try:
        if path.suffix.lower() == ".csv":
            with path.open("rb") as file:
                head = file.read(1 << 20)
            return round(head.count(b"\n") * path.stat().st_size / max(len(head), 1))
        kind = "parquet" if path.suffix.lower() == ".parquet" else "ipc"
        return int(ds.dataset(path, format=kind).count_rows())
    except (OSError, ValueError):
        return 0  # whoever reads the file will tell what is wrong with it


def _read_prepared(data: str, preparation: "Preparation", bar: Bar) -> Iterator[Any]:
    for rows in _read_rows(data, preparation.columns, bar):
        yield preparation.apply(rows)


def _read_to_fit(
    data: str,
    preparation: "Preparation",
    estimator: "HierarchicalKMedian",
    console: Console,
    bar: Bar,
) -> Iterator[Any]:
    """Rows to cluster; after the last of them, the bar is that of the clustering."""
    from holdfast.cli.pace import expect_fit_seconds

    seconds, n_first, n_rows = None, 0, 0
    for rows in _read_prepared(data, preparation, bar):
        if n_rows == 0 and console.shows_bars:
            n_first, seconds = rows.shape[0], expect_fit_seconds(estimator, rows)
        n_rows += rows.shape[0]
        yield rows
    bar.rename(f"clustering {n_rows:,} rows")
    bar.restart()
    # The Euclidean cost looks at so many candidates, the tree at every row.
    growth = n_rows / max(n_first, 1) if estimator.method == "tree" else 1.0
    bar.expect(None if seconds is None else seconds * growth)


def _prepare(
    data: str, column: ColumnOptions, like: str | None, console: Console, bar: Bar
) -> "Preparation":
    """Choose columns by the types of the file, and scales in a pass of their own."""
    from holdfast.tables.preparation import Preparation

    if like is not None:
        from holdfast.cli.models import load_model

        return load_model(like).preparation
    names = _choose_columns(data, column, console)
    if not column.standardize:
        return Preparation(names)
    count, mean, squares, lowest, highest = 0, 0.0, 0.0, np.inf, -np.inf
    for rows in _read_rows(data, names, bar):
        size = rows.shape[0]
        if size:
            # Sums of squares about the mean, merged without cancellation.
            here = rows.mean(axis=0)
            squares = squares + ((rows - here) ** 2).sum(axis=0)
            squares = squares + (here - mean) ** 2 * (count * size / (count + size))
            mean = mean + (here - mean) * (size / (count + size))
            count += size
            lowest = np.minimum(lowest, rows.min(axis=0))
            highest = np.maximum(highest, rows.max(axis=0))
    if count == 0:
        raise InputProblem(f"{data} has no rows.")
    varies = np.asarray(lowest) < np.asarray(highest)
    spread = np.where(varies, np.sqrt(squares / count), 1.0)
    scale = np.exp2(np.clip(np.rint(np.log2(spread)), -1022, 1023))
    return Preparation(names, scale=tuple(scale.tolist()))


def _choose_columns(data: str, column: ColumnOptions, console: Console) -> tuple[str, ...]:
    import pyarrow as pa

    from holdfast.cli.parse import parse_names
    from holdfast.tables.chunks import is_pandas_index, read_schema

    schema = read_schema(Path(data))
    if column.columns and column.drop:
        raise InputProblem("give --columns or --drop, not both.")
    if column.columns:
        return parse_names("--columns", column.columns)
    dropped = parse_names("--drop", column.drop)
    absent = [name for name in dropped if name not in schema.names]
    if absent:
        raise InputProblem(f"--drop: {data} has no columns {list_names(absent)}.")
    numeric = [
        field.name
        for field in schema
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    ]
    left_out = [n for n in schema.names if n not in numeric and n not in dropped]
    if left_out and column.strict:
        raise InputProblem(f"not numeric: {list_names(left_out)}. Drop them with --drop.")
    if left_out:
        console.notice(f"left out, not numeric: {list_names(left_out)}.")
    index = [name for name in numeric if is_pandas_index(name)]
    if index:
        console.notice(f"left out, the index of a pandas table: {list_names(index)}.")
    chosen = tuple(name for name in numeric if name not in {*dropped, *index})
    if not chosen:
        raise InputProblem(f"{data} has no numeric columns to cluster by.")
    return chosen


def _write_labels(
    hierarchy: "Hierarchy",
    data: str,
    preparation: "Preparation",
    out: str,
    ks: tuple[int, ...],
    console: Console,
) -> int:
    import pyarrow as pa

    from holdfast.chunks.label import open_writer
    from holdfast.cli.outputs import write_file

    names = [f"cluster_{k}" for k in ks]
    schema = pa.schema([pa.field("row", pa.int64()), *(pa.field(n, pa.int32()) for n in names)])
    locators = [hierarchy.locator.first(k) for k in ks]
    n_rows = 0

    def write(file: IO[bytes]) -> None:
        nonlocal n_rows
        with open_writer(Path(out), file, schema) as writer:
            for rows in _read_prepared(data, preparation, bar):
                row = np.arange(n_rows, n_rows + rows.shape[0])
                labels = [locator.finest(rows) for locator in locators]
                writer.write(pa.record_batch([row, *labels], schema=schema))
                n_rows += rows.shape[0]

    with console.bar(f"writing {out}") as bar, blame_input():
        write_file(out, write)
    return n_rows


def _keep_model(
    estimator: "HierarchicalKMedian",
    preparation: "Preparation",
    ks: tuple[int, ...],
    path: str,
    *,
    with_rows: bool,
) -> None:
    from holdfast.cli.update import write_model
    from holdfast.model_file import FittedModel, StoredRows

    rows = estimator.rows_
    every = np.arange(rows.shape[0])
    write_model(
        path,
        FittedModel(
            hierarchy=estimator.hierarchy_,
            preparation=preparation,
            parameters={
                "cost": name_cost(estimator),
                "epsilon": estimator.epsilon_,
                "max_centers": estimator.max_centers,
                "seed": int(estimator.seed_),
            },
            n_clusters=ks,
            id_name=None,
            ids=None,
            used=np.ones(rows.shape[0], dtype=np.bool_),
            stored=StoredRows(rows, estimator.row_weights_, every) if with_rows else None,
        ),
    )
