"""Parquet, Arrow and .npy files -> Arrow tables, whole or in parts; .npz files -> sparse rows."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from holdfast._machine import np, pa, parquet
from holdfast.tables.errors import MissingFile, TableError, describe_reason, list_names
from holdfast.tables.text import choose_names


def read_binary(kind: str, file: Any, source: str) -> "pa.Table":
    """Read a whole file."""
    if kind == "npy":
        return _to_table(_load_array(lambda: np.load(file, allow_pickle=False), source))
    if kind == "parquet":
        check_names(parquet.read_schema(file).empty_table(), source)
        file.seek(0)
        return parquet.read_table(file)
    found = _open_arrow(file).read_all()
    found.validate(full=True)  # Arrow trusts the offsets in a file unless it is asked
    return found


Parts = Iterator[tuple[Any, float]]
"""Parts of a file, and the fraction of the file that is read after each."""


def stream_binary(
    kind: str, file: Any, source: str, columns: tuple[str, ...] | None, part_rows: int
) -> Parts:
    """Read a file in parts."""
    if kind == "npy":
        return _stream_array(source, columns, part_rows)
    return (_stream_parquet if kind == "parquet" else _stream_arrow)(
        file, source, columns, part_rows
    )


def _stream_parquet(
    file: Any, source: str, columns: tuple[str, ...] | None, part_rows: int
) -> Parts:
    # Not by pyarrow.dataset, which decodes whole row groups, and these may be as large as the file;
    # pre_buffer would do the same.
    with parquet.ParquetFile(file, pre_buffer=False) as opened:
        chosen = _choose_distinct(opened.schema_arrow, source, columns)
        done, total = 0, max(opened.metadata.num_rows, 1)
        for batch in opened.iter_batches(part_rows, columns=chosen, use_threads=False):
            done += batch.num_rows
            yield batch, done / total


def _choose_distinct(schema: Any, source: str, columns: tuple[str, ...] | None) -> list[str]:
    """Choose columns by name; a name that several have would choose all of them."""
    check_names(schema.empty_table(), source)
    return choose_names(source, columns, schema.names)


def _stream_arrow(file: Any, source: str, columns: tuple[str, ...] | None, part_rows: int) -> Parts:
    opened = _open_arrow(file)
    chosen = _choose_distinct(opened.schema, source, columns)
    if hasattr(opened, "num_record_batches"):  # a file, not a stream
        n_batches = opened.num_record_batches
        batches = ((opened.get_batch(i), (i + 1) / n_batches) for i in range(n_batches))
    else:
        size = Path(source).stat().st_size
        batches = ((batch, min(file.tell() / size, 1.0)) for batch in opened)
    for batch, fraction in batches:
        found = batch.select(chosen)
        found.validate(full=True)  # Arrow trusts the offsets in a file unless it is asked
        yield found, fraction


def _stream_array(source: str, columns: tuple[str, ...] | None, part_rows: int) -> Parts:
    array = _load_array(lambda: np.load(source, mmap_mode="r", allow_pickle=False), source)
    for start in range(0, max(array.shape[0], 1), part_rows):
        part = _to_table(array[start : start + part_rows])
        chosen = part.select(choose_names(source, columns, part.column_names))
        done = (start + part_rows) / max(array.shape[0], 1)
        yield chosen, min(done, 1.0)


def _open_arrow(file: Any) -> Any:
    """Open an Arrow file, or else a stream."""
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def _load_array(load: Callable[[], Any], source: str) -> Any:
    try:
        array = load()
    except MemoryError:  # also of a shape that is a lie
        raise TableError(
            f"{source} describes an array larger than memory. Check the file."
        ) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise TableError(
            f"{source} holds {array.dtype} of shape {array.shape}; expected a two-dimensional "
            "array of real numbers."
        )
    return array


def _to_table(array: Any) -> "pa.Table":
    if array.dtype.kind == "f":
        array = array.astype(np.float64, copy=False)
    names = [f"column_{j}" for j in range(array.shape[1])]
    return pa.table([pa.array(np.ascontiguousarray(c)) for c in array.T], names=names)


def read_sparse(path: str) -> Any:
    """Read what `scipy.sparse.save_npz` wrote, as a CSR array of finite real numbers."""
    import zipfile
    import zlib

    from scipy.sparse import csr_array, load_npz

    try:
        with Path(path).open("rb") as file:
            found = load_npz(file)
            rows = csr_array(found.tocsr())
            rows.check_format(full_check=True)
    except FileNotFoundError:
        raise MissingFile(f"there is no file {path}.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {describe_reason(error)}.") from None
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        raise TableError(
            f"{path} holds no sparse matrix, or is damaged; expected a file of scipy.sparse.save_npz."
        ) from None
    if rows.dtype.kind not in "iufb" or 0 in rows.shape:
        raise TableError(
            f"{path} holds {rows.dtype} of shape {rows.shape}; expected real numbers, at least one row "
            "and one column."
        )
    rows.sum_duplicates()
    rows = rows.astype(np.float64)
    wrong = ~np.isfinite(rows.data)
    if wrong.any():
        at = int(wrong.argmax())
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        raise TableError(
            f"{path} has {rows.data[at]} in row {row:,}, column {rows.indices[at]:,} (from 0); expected "
            "finite numbers. Replace such values."
        )
    return rows


def check_names(data: "pa.Table", source: str) -> None:
    """Refuse a table without columns, or with a name that several columns have."""
    repeated = [name for name, times in Counter(data.column_names).items() if times > 1]
    if repeated:
        raise TableError(
            f"{source} has several columns with the same name: {list_names(repeated)}. Rename them."
        )
    if data.num_columns == 0:
        raise TableError(f"{source} has no columns.")
