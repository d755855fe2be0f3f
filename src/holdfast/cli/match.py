"""``holdfast match``: give today's clusters the names they had yesterday."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

import holdfast
from holdfast._machine import np, pa
from holdfast.cli import options as opt
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.inputs import read_file
from holdfast.cli.labels import show_labels
from holdfast.cli.options import option
from holdfast.tables.errors import list_names
from holdfast.tables.read import DataTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = (
    "holdfast fit wine.csv -k 4 --seed 1 --quiet --out today.csv",
    "holdfast match labels.csv today.csv --id row --out renamed.csv",
)

_SUMMARY = (
    ("labels", "column", ""), ("in both", "n_common", ","), ("removed", "n_removed", ","),
    ("new", "n_new", ","), ("moved", "n_moved", ","), ("fraction", "moved_fraction", ".1%"),
    ("clusters removed", "clusters_removed", ""), ("clusters new", "clusters_new", ""),
)  # fmt: skip


def match(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="Yesterday's labels, as written by fit.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Today's labels.")],
    read: opt.ReadOptions,
    output: opt.OutputOptions,
    display: opt.DisplayOptions,
    id: str | None = option(
        "--id COLUMN", "Column that identifies rows in both tables; by default their position."
    ),
    columns: str | None = option(
        "--columns A,B,...", "Columns of labels; by default all cluster_... columns of both tables."
    ),
    noise: str | None = option("--noise LABEL", "Label that means no cluster, such as -1."),
) -> None:
    """Rename the clusters of NEW so that they keep the names they had in OLD.

    Clusters are matched one to one so that they have as many rows in common as possible; a cluster
    without a partner gets a name that OLD does not have. The output is NEW with its labels renamed.
    The summary shows how many of the rows in both tables changed cluster.
    """
    console = output.open("match", display, (old, new))
    if old == new == "-":
        raise InputError("only one of the two tables can be standard input.")
    before, after = (read_file(path, read, console, exact=(id,)) for path in (old, new))
    names = _choose_columns(before, after, opt.parse_names("--columns", columns))
    renamed = after.data
    summaries = []
    for name in names:
        labels, summary = _match_column(before, after, name, id, noise)
        summaries.append({"column": name, **summary})
        renamed = renamed.set_column(renamed.column_names.index(name), name, labels)
    _show(summaries, renamed, output.out, console)


def _choose_columns(
    before: "DataTable", after: "DataTable", asked: tuple[str, ...]
) -> tuple[str, ...]:
    for table in (before, after):
        absent = [name for name in asked if name not in table.data.column_names]
        if absent:
            raise InputError(f"--columns: {table.source} has no column {list_names(absent)}.")
    if asked:
        return asked
    both = [name for name in after.data.column_names if name in before.data.column_names]
    found = tuple(name for name in both if name.startswith("cluster_"))
    if not found:
        raise InputError(
            f"{before.source} and {after.source} have no column cluster_... in common; name the "
            f"columns of labels with --columns. In common: {list_names(both) or 'none'}."
        )
    return found


def _match_column(
    before: "DataTable", after: "DataTable", name: str, id: str | None, noise: str | None
) -> "tuple[pa.Array, dict[str, Any]]":
    """Rename one column; rows without a label keep none."""
    (old, old_rows), (new, new_rows) = (_labels(table, name) for table in (before, after))
    old_ids, new_ids = _ids(before, id), _ids(after, id)
    if id is None and old_ids.size != new_ids.size:
        raise InputError(
            f"{before.source} has {old_ids.size:,} rows and {after.source} has {new_ids.size:,}; "
            "name the column that identifies rows with --id."
        )
    if old_ids.dtype.kind != new_ids.dtype.kind:
        old_ids, new_ids = old_ids.astype(np.str_), new_ids.astype(np.str_)
    old_ids, new_ids = old_ids[old_rows], new_ids[new_rows]
    if not np.isin(new_ids, old_ids).any():
        raise InputError(
            f"no row has a label in column {name} of both {before.source} and {after.source}. If "
            "their order differs, name the column that identifies rows with --id."
            if id is None
            else f"the labeled rows of {before.source} and {after.source} have no id in common in "
            f"column {id}, such as {old_ids[0]} and {new_ids[0]}; expected ids of the same rows. "
            "Check both tables, or name another column with --id."
        )
    plain: Any = noise
    if noise is not None and old.dtype.kind == "i":
        try:
            plain = int(noise)
        except ValueError:
            raise InputError(f"--noise: the labels are numbers; got {noise!r}.") from None
    with input_errors():
        found = holdfast.match_labels(old, new, reference_ids=old_ids, new_ids=new_ids, noise=plain)
    whole: NDArray[Any] = np.zeros(new_rows.size, dtype=found.dtype)
    whole[new_rows] = found
    return pa.array(whole, mask=~new_rows), _summarise(old, found, old_ids, new_ids)


def _labels(table: "DataTable", name: str) -> "tuple[NDArray[Any], NDArray[np.bool_]]":
    """Labels, and which rows have one."""
    column = table.data.column(name)
    present = column.is_valid().to_numpy()
    if not present.any():
        raise InputError(f"column {name} of {table.source} has no labels.")
    integer = pa.types.is_integer(column.type)
    if not (integer or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InputError(
            f"column {name} of {table.source} holds {column.type}; labels must be integers or text."
        )
    return column.drop_null().to_numpy().astype(np.int64 if integer else np.str_), present


def _ids(table: "DataTable", id: str | None) -> "NDArray[Any]":
    from holdfast.tables.columns import DistinctIds, take_ids

    column = take_ids(table, id)
    if column is None:
        return np.arange(table.data.num_rows)
    distinct = DistinctIds()
    distinct.see(column)
    distinct.check(table.source, id)
    ids = np.asarray(column.to_numpy())
    return ids if ids.dtype.kind == "i" else ids.astype(np.str_)


def _summarise(
    old: "NDArray[Any]", new: "NDArray[Any]", old_ids: "NDArray[Any]", new_ids: "NDArray[Any]"
) -> dict[str, Any]:
    _, rows_before, rows_after = np.intersect1d(
        old_ids, new_ids, assume_unique=True, return_indices=True
    )
    moved = int((old[rows_before] != new[rows_after]).sum())
    before, after = set(old.tolist()), set(new.tolist())
    return {
        "n_common": int(rows_before.size),
        "n_removed": int(old_ids.size - rows_before.size),
        "n_new": int(new_ids.size - rows_before.size),
        "n_moved": moved,
        "moved_fraction": moved / rows_before.size,
        "clusters_removed": sorted(before - after),
        "clusters_new": sorted(after - before),
    }


def _show(summaries: list[dict[str, Any]], renamed: "pa.Table", out: str, console: Console) -> None:
    show_labels(console, {"columns": summaries}, renamed, out, {})
    if console.display.json:
        return
    for summary in summaries:
        for name in ("clusters_removed", "clusters_new"):
            summary[name] = " ".join(map(str, summary[name])) or "-"
    console.show_records(_SUMMARY, summaries)
