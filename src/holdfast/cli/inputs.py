"""Model files and tables as commands read them; what is wrong with them is wrong input."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine import np
from holdfast._machine.files import file_state, hold_file
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.options import ColumnOptions, ReadOptions
from holdfast.clusterers import HOLDFAST_METHODS
from holdfast.tables.errors import count, explain_writing, list_columns, list_names, show_name
from holdfast.tables.read import DataTable, read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.estimator import HierarchicalKMedian
    from holdfast.storage.model import TableRecord
    from holdfast.tables.dataset import Dataset
    from holdfast.tables.preparation import Preparation
    from holdfast.tables.summary import Treatment

_METRICS = ("euclidean", "manhattan", "cosine")
_MOST_TREATMENTS = 40


def load_model(path: str, *, rows_for: str = "") -> "HierarchicalKMedian":
    """Read a model that was saved; `rows_for` says what its rows are needed for, if they are."""
    if path == "-":
        raise InputError("a model is read from a file, not from standard input.")
    if os.path.isdir(path):
        raise InputError(
            f"{path} is a folder; expected a model file. If it is a lineage, `holdfast follow` with "
            "--model FILE saves its next model."
        )
    with input_errors(path):
        model = holdfast.load(path)
    if rows_for and "_held" not in vars(model):
        raise InputError(
            f"{path} was saved without its rows (--no-rows), so it cannot be {rows_for}. Fit again."
        )
    return model


def save_model(model: "HierarchicalKMedian", path: str, *, include_rows: bool = True) -> None:
    """Write a model file, whole or not at all; a link stays a link."""
    with explain_writing(path):
        model.save(os.path.realpath(path), include_rows=include_rows)


@contextmanager
def hold_model(path: str, console: Console, *, replaced: bool) -> Iterator[Callable[[], None]]:
    """Make other commands that replace this model wait, if it is to be replaced.

    Yields a function to call before the model is written: it refuses if it was replaced all the same.
    """

    def wait() -> None:
        console.notice(f"waiting until another command has finished with {path}.")

    with hold_file(path, wait) if replaced else nullcontext():
        state = file_state(path)

        def check() -> None:
            if replaced and file_state(path) != state:
                raise InputError(f"{path} was replaced while it was in use. Run the command again.")

        yield check


def table_of(model: "HierarchicalKMedian") -> "TableRecord":
    """Return what a model knows of its table; one saved from Python takes columns as they are."""
    from holdfast.storage.model import TableRecord
    from holdfast.tables.preparation import Preparation

    if model.table_ is not None:
        return model.table_
    numbered = [f"column_{j}" for j in range(model.n_features_in_)]
    names = tuple(str(name) for name in getattr(model, "feature_names_in_", numbered))
    used = np.ones(model.hierarchy_.n_rows, dtype=np.bool_)
    return TableRecord(Preparation(names), None, None, used, (model.n_clusters,))


def check_cuts(model: "HierarchicalKMedian", ks: tuple[int, ...], path: str) -> None:
    """Refuse numbers of clusters that the model does not reach."""
    most = model.hierarchy_.n_centers
    if max(ks) > most:
        ends = model.hierarchy_._ends_at_level
        more = f"--clusters {max(ks)}" if ends else "a larger --max-centers"
        raise InputError(
            f"{path} has at most {most:,} clusters; --clusters asks for {max(ks):,}. Ask for fewer, "
            f"or fit again with {more}."
        )


def read_file(path: str, read: ReadOptions, console: Console, **options: Any) -> "DataTable":
    """Read a table, with a bar; `options` are those of `read_table`."""
    with console.progress(f"reading {path}") as progress:
        return read_table(path, read.text, notify=console.notice, progress=progress, **options)


def choose_id(id: str | None, source: "TableRecord", table: "DataTable") -> str | None:
    """Take the id that was asked for, or that of the fit where the table has it."""
    if id in [column.name for column in source.preparation.sources if column.kind == "number"]:
        raise InputError(
            f"--id {id}: column {show_name(id)} is one of those that the model clusters by; name the "
            "one that identifies rows."
        )
    known = table.named and source.id_name in table.data.column_names
    return source.id_name if id is None and known else id


def read_as(
    path: str, read: ReadOptions, model: "HierarchicalKMedian", console: Console,
    id: str | None = None, *, weights: str | None = None, keep_written: bool = False,
) -> "Dataset":  # fmt: skip
    """Read a table and prepare its rows as those of the model."""
    from holdfast.tables.dataset import prepare_like

    source = table_of(model)
    exact = (id, source.id_name)  # ids are text as written, as in the fit
    table = read_file(path, read, console, exact=exact, keep_written=keep_written)
    id = choose_id(id, source, table)
    return prepare_like(
        table, source.preparation, id_name=id, weights=weights, notify=console.notice
    )


def read_dataset(
    path: str,
    read: ReadOptions,
    column: ColumnOptions,
    console: Console,
    *,
    method: str = "means",
    weights: str | None = None,
    like: "HierarchicalKMedian | None" = None,
    keep_written: bool = False,
) -> "Dataset":
    """Read a table and prepare its rows for a method, as the options say, or as for a model."""
    from holdfast.tables.dataset import prepare_table

    if like is not None:
        dataset = read_as(
            path, read, like, console, column.id, weights=weights, keep_written=keep_written
        )
    else:
        choice, missing = column.choice(weights), column.missing  # checked before the file is read
        table = read_file(path, read, console, exact=(column.id,), keep_written=keep_written)
        dataset = prepare_table(
            table, choice, scale=column.scale(method), missing=missing, notify=console.notice
        )
    dataset.check_ids()
    show_preparation(dataset.preparation, dataset.treatments, console, dataset.rows.shape[0])
    return dataset


def read_distances(
    path: str, read: ReadOptions, column: ColumnOptions, console: Console
) -> "NDArray[np.float64]":
    """Read a table of the distances between its rows."""
    from holdfast.parameters import check_distances
    from holdfast.tables.dataset import take_distances

    table = read_file(path, read, console, exact=(column.id,))
    with input_errors():
        return check_distances(take_distances(table, column.choice()), square=True)


def read_sparse_file(path: str, column: ColumnOptions) -> Any:
    """Read a sparse matrix from a .npz file, as CSR; it has no columns to choose by name."""
    from holdfast.tables.binary import read_sparse

    if column != ColumnOptions():
        raise InputError(
            f"{path} is a sparse matrix, which is used as it is; options about columns are for tables. "
            "Leave them out."
        )
    return read_sparse(path)


@dataclass(frozen=True, eq=False)
class RawData:
    """Data as a clusterer of a user gets them."""

    rows: Any  # DataFrame, pyarrow.Table, ndarray, csr_array or list of str
    kind: str  # what they are, in words
    pairwise: bool = False  # whether they are distances between rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows) if isinstance(self.rows, list) else int(self.rows.shape[0])

    def take(self, numbers: Any) -> "RawData":
        """Keep some rows, of distances also these columns."""
        from sklearn.utils import _safe_indexing

        if self.pairwise:
            return RawData(self.rows[np.ix_(numbers, numbers)], self.kind, True)
        return RawData(_safe_indexing(self.rows, numbers), self.kind)


def read_raw(
    path: str, read: ReadOptions, column: ColumnOptions, text: str | None, pairwise: bool,
    console: Console,
) -> RawData:  # fmt: skip
    """Read data without preparing them."""
    for name in column.changed(("columns", "drop", "id")):
        raise InputError(
            f"{name} prepares the table, but --clusterer gets it as it was read. Leave {name} out, "
            "and prepare in the clusterer, for example with holdfast.TablePreparer."
        )
    sparse = path.lower().endswith(".npz")
    if text is not None and (pairwise or sparse):
        raise InputError("--text names a column of a table; distances and .npz files have none.")
    if sparse:
        rows = read_sparse_file(path, column)
        return RawData(rows, f"a sparse matrix of {rows.shape[1]:,} columns")
    if pairwise:
        return RawData(read_distances(path, read, column, console), "distances", True)
    table = read_file(path, read, console, exact=(column.id,))
    return _to_texts(table, text) if text is not None else _to_frame(table, column)


def _to_frame(table: Any, column: ColumnOptions) -> RawData:
    from holdfast.tables.columns import choose_candidates, find_names, take_ids
    from holdfast.tables.preparation import to_doubles

    choice = find_names(table, column.choice())
    names = list(choose_candidates(table, choice))
    if table.source.lower().endswith(".npy"):
        rows = np.column_stack([to_doubles(table.data.column(name)) for name in names])
        return RawData(rows, f"an array of {len(names):,} columns")
    data, ids = table.data.select(names), take_ids(table, choice.id)
    try:
        import pandas as pd
    except ImportError:
        return RawData(data, f"a pyarrow table of {len(names):,} columns")
    frame = data.to_pandas()
    if ids is not None:
        frame.index = pd.Index(ids.to_pandas(), name=choice.id)
    return RawData(frame, f"a pandas table of {len(names):,} columns")


def _to_texts(table: Any, name: str) -> RawData:
    from holdfast.tables.preparation import to_texts

    shown = {show_name(column): column for column in table.data.column_names}
    found = shown.get(show_name(name))
    if found is None:
        known = list_names(table.data.column_names)
        raise InputError(f"--text: {table.source} has no column {name!r}; it has {known}.")
    texts = to_texts(table.data.column(found)).to_pylist()
    if None in texts:
        raise InputError(
            f"--text: column {show_name(found)} of {table.source} has "
            f"{count(texts.count(None), 'missing value')}, the first in row {texts.index(None):,} "
            "(from 0). Fill them."
        )
    return RawData(texts, f"the texts of column {show_name(found)}")


def choose_rows(
    rows: "NDArray[np.float64] | int", most: int | None, seed: int, console: Console
) -> "NDArray[np.int64]":
    """Sample rows to measure, by their content, or by number if only their count is given."""
    from holdfast._machine.hash import keyed_sample

    if isinstance(rows, int):
        rows = np.arange(rows, dtype=np.float64)[:, None]
    n_rows = rows.shape[0]
    if most is None or most >= n_rows:
        return np.arange(n_rows)
    console.notice(f"measuring on a sample of {most:,} of {n_rows:,} rows; --full uses all.")
    return keyed_sample(rows, most, seed, "audit")


def show_preparation(
    preparation: "Preparation",
    treatments: "tuple[Treatment, ...]",
    console: Console,
    n_rows: int | None = None,
) -> None:
    """Say what was done with the columns: in a line, and in a table if they are not all alike."""
    rows = "" if n_rows is None else f"{count(n_rows, 'row')}, "
    names = [source.name for source in preparation.sources]
    scaled = "numbers divided by a robust standard deviation" if preparation.scale else "not scaled"
    console.notice(f"{rows}{count(len(names), 'column')}: {list_columns(names)}; {scaled}.")
    plain = ("number", "-")
    told = any(t.kind not in plain or "tails" in t.how or "nearly" in t.how for t in treatments)
    if not told or console.display.quiet:
        return
    shown = treatments[:_MOST_TREATMENTS]
    lines = [[show_name(t.name) or "(no name)", t.kind, t.how] for t in shown]
    if len(treatments) > len(shown):
        lines.append([f"and {len(treatments) - len(shown):,} more", "", ""])
    console.show_table(["column", "kind", "what is done with it"], lines, notice=True)


def check_method(method: str, metric: str = "euclidean") -> None:
    """Refuse unknown methods and metrics before the data are read."""
    for option, value, known in (
        ("method", method, HOLDFAST_METHODS),
        ("metric", metric, _METRICS),
    ):
        if value not in known:
            raise InputError(f"--{option} must be one of {', '.join(known)}; got {value!r}.")


def check_counts(ks: tuple[int, ...], n_rows: int) -> None:
    """Refuse more clusters than there are rows."""
    if max(ks) > n_rows:
        raise InputError(
            f"--clusters asks for {max(ks):,} clusters of {count(n_rows, 'row')}; ask for at most "
            f"{n_rows:,}."
        )


def limit_counts(
    ks: tuple[int, ...], parts: "Iterable[Dataset]", console: Console
) -> tuple[int, ...]:
    """Ask for no more clusters than there are distinct rows, and say so."""
    most, n_rows = max(ks), 0
    found: Any = None
    for part in parts:
        counted = part.rows if part.weight is None else part.rows[part.weight > 0.0]
        for start in range(0, counted.shape[0], 4 * most):  # the first few rows suffice, as a rule
            block = counted[start : start + 4 * most]
            found = np.unique(block if found is None else np.vstack((found, block)), axis=0)
            n_rows += block.shape[0]
            if found.shape[0] >= most:
                return ks
    if found is None:
        return ks  # the fit says what is wrong
    distinct = int(found.shape[0])
    limited = tuple(sorted({min(k, distinct) for k in ks}))
    too_many = [str(k) for k in ks if k > distinct]
    console.notice(
        f"{distinct:,} of the {n_rows:,} rows are distinct, so there are at most {distinct:,} "
        f"clusters: {distinct:,} instead of {', '.join(too_many)}."
    )
    return limited
