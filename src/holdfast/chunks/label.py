"""A fitted model and chunks -> labels, as a stream."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from holdfast._machine.files import write_whole
from holdfast.estimator import HierarchicalKMedian
from holdfast.tables.chunks import CHUNK_ROWS, Source, open_source

__all__ = ["check_labels_path", "open_writer", "predict_chunks", "write_labels"]

_ENDINGS = (".parquet", ".pq", ".csv", ".arrow", ".ipc", ".feather")


def predict_chunks(
    estimator: HierarchicalKMedian,
    batches: Any,
    *,
    columns: Iterable[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[NDArray[np.int32]]:
    """Label rows that need not fit into memory, one chunk at a time.

    Parameters
    ----------
    estimator : HierarchicalKMedian
        Fitted.
    batches, columns, chunk_rows
        As in :func:`fit_chunks`.

    Yields
    ------
    ndarray of shape (n_rows of the chunk,), dtype int32
        What ``estimator.predict`` gives.
    """
    check_is_fitted(estimator)
    source = open_source(batches, columns, chunk_rows)
    return _label_source(estimator, source)


def _label_source(estimator: HierarchicalKMedian, source: Source) -> Iterator[NDArray[np.int32]]:
    # Only the centers of this cut: a few kilobytes to search instead of the whole hierarchy.
    k = estimator.cluster_centers_.shape[0]
    locator = estimator.hierarchy_.locator.first(k)
    names = getattr(estimator, "feature_names_in_", None)
    for chunk in source:
        if chunk.rows.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"{chunk.place}: must have {estimator.n_features_in_} columns, as the rows that "
                f"were clustered; got {chunk.rows.shape[1]}."
            )
        if names is not None and chunk.names is not None and tuple(names) != chunk.names:
            raise ValueError(
                f"{chunk.place}: must have the columns {list(names)}; got {list(chunk.names)}."
            )
        yield locator.finest(chunk.rows)


def check_labels_path(path: str | os.PathLike[str]) -> None:
    """Check, before any work, that labels can be written there."""
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:
        raise ValueError(f"labels must end in one of {', '.join(_ENDINGS)}; got {target}.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no such folder.")


def write_labels(
    estimator: HierarchicalKMedian, source: Source, path: str | os.PathLike[str], n_rows: int
) -> None:
    """Write the labels of all rows as a stream; the file is there whole, or not at all."""

    def write(file: IO[bytes]) -> None:
        written = 0
        with open_writer(Path(path), file, _schema()) as writer:
            for labels in _label_source(estimator, source):
                writer.write(_to_batch(labels))
                written += labels.size
        if written != n_rows:
            raise ValueError(
                f"The second pass gave {written} rows, the first {n_rows}: the chunks changed in "
                "between. No labels were written."
            )

    write_whole(path, write)


def open_writer(path: Path, file: IO[bytes], schema: Any) -> Any:
    """Open a writer of record batches, of the kind that the name's ending says."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    kinds: dict[str, Callable[[Any, Any], Any]] = {
        ".parquet": pa.parquet.ParquetWriter,
        ".pq": pa.parquet.ParquetWriter,
        ".csv": pa.csv.CSVWriter,
    }
    return kinds.get(path.suffix.lower(), pa.ipc.new_file)(file, schema)


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema([pa.field("label", pa.int32(), nullable=False)])


def _to_batch(labels: NDArray[np.int32]) -> Any:
    import pyarrow as pa

    return pa.record_batch([pa.array(labels)], schema=_schema())
