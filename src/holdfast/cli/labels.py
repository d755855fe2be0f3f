"""Hierarchies -> tables of labels, one row for each row of the file."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.cli.console import Console
from holdfast.cli.problems import InputProblem

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.hierarchy import Hierarchy

__all__ = ["CENTER_COLUMN", "build_label_table", "describe_cuts", "name_centers", "predict_cuts"]
__all__ += ["show_labels"]

CENTER_COLUMN = "center_from"
"""The smallest k for which a row is the center of its cluster: it is for every larger one too."""

_MOST_SIZES = 12
_BLOCK_ROWS = 1 << 16  # labelled between two pieces of news


def build_label_table(
    id_name: str | None,
    ids: "pa.ChunkedArray | pa.Array | None",
    used: NDArray[np.bool_],
    labels: dict[int, NDArray[np.int32]],
    center_indices: NDArray[np.int64] | None = None,
) -> "pa.Table":
    """Put ids, one column of labels for each k and the mark of centers side by side.

    Parameters
    ----------
    id_name : str or None
        None calls it "row".
    ids : pyarrow array of length n_rows, or None
        None numbers the rows from 0.
    used : ndarray of shape (n_rows,), dtype bool
        Rows that have labels.
    labels : dict of int to ndarray of shape (n_used,), dtype int32
        For each k.
    center_indices : ndarray of shape (n_centers,), dtype int64, default=None
        Among the used rows; None leaves the mark out.
    """
    import pyarrow as pa

    name = id_name or "row"
    columns: dict[str, Any] = {name: pa.array(np.arange(used.size)) if ids is None else ids}
    added: dict[str, NDArray[np.int32]] = {f"cluster_{k}": label for k, label in labels.items()}
    if center_indices is not None:
        first = np.full(np.count_nonzero(used), -1, dtype=np.int32)
        most = max(labels)
        first[center_indices[:most]] = np.arange(1, most + 1, dtype=np.int32)
        added[CENTER_COLUMN] = first
    for column, values in added.items():
        if column == name:
            raise InputProblem(f"--id {name}: that is the name of a result; rename the column.")
        everywhere = np.full(used.size, -1, dtype=np.int32)
        everywhere[used] = values
        columns[column] = pa.array(everywhere, mask=everywhere < 0)
    return pa.table(columns)


def predict_cuts(
    hierarchy: "Hierarchy",
    rows: NDArray[np.float64],
    ks: tuple[int, ...],
    tell: Callable[[float, float], None],
) -> dict[int, NDArray[np.int32]]:
    """Label rows for each k, block by block: `tell` learns how many of how many are done."""
    found = {k: np.empty(rows.shape[0], dtype=np.int32) for k in ks}
    done = 0
    for k, labels in found.items():
        for first in range(0, rows.shape[0], _BLOCK_ROWS):
            block = slice(first, first + _BLOCK_ROWS)
            labels[block] = hierarchy.predict(rows[block], k)
            done += labels[block].size
            tell(done, len(found) * rows.shape[0])
    return found


def describe_cuts(
    hierarchy: "Hierarchy", ks: tuple[int, ...], names: "list[Any]"
) -> list[dict[str, Any]]:
    """Say for each k what it cost, and each cluster's size and center.

    Parameters
    ----------
    hierarchy : Hierarchy
    ks : tuple of int
    names : list of length max(ks)
        Ids of the centers, in their order.
    """
    return [
        {
            "k": k,
            "cost": float(hierarchy.costs[k - 1]),
            "sizes": hierarchy.sizes(k).tolist(),
            "centers": names[:k],
        }
        for k in ks
    ]


def name_centers(
    table: "pa.Table", used: NDArray[np.bool_], hierarchy: "Hierarchy", count: int
) -> list[Any]:
    """Ids of the first centers."""
    names: list[Any] = table.column(0).to_numpy()[used][hierarchy.center_indices[:count]].tolist()
    return names


def show_labels(
    console: Console,
    record: dict[str, Any],
    table: "pa.Table",
    out: str,
    others: dict[str, str | None],
) -> None:
    """Print labels, or a summary of them where they went into a file, or JSON of both.

    Parameters
    ----------
    console : Console
    record : dict
        What JSON says besides files and rows. Its "cuts" make the summary.
    table : pyarrow.Table
        From `build_label_table`; already written, unless `out` is "-".
    out : str
    others : dict of str to path or None
        Other files that were written.
    """
    from holdfast.cli.outputs import write_table

    files = {"out": None if out == "-" else out, **others}
    if console.talk.json:
        rows = {"rows": table.to_pydict()} if out == "-" else {}
        console.show_json({**record, "files": files, **rows})
        return
    if out == "-":
        write_table("-", table)
    elif "cuts" in record:
        _show_cuts(record["cuts"], console)
    for path in files.values():
        if path is not None:
            console.notice(f"wrote {path}")


def _show_cuts(cuts: list[dict[str, Any]], console: Console) -> None:
    """Print the clusters of one k, or a line for each of several."""
    if len(cuts) == 1:
        total = sum(cuts[0]["sizes"])
        console.show_table(
            ["cluster", "rows", "share", "center"],
            [
                [str(t), f"{size:,}", f"{size / total:.1%}", str(center)]
                for t, (size, center) in enumerate(
                    zip(cuts[0]["sizes"], cuts[0]["centers"], strict=True)
                )
            ],
        )
        return
    rows = []
    for cut in cuts:
        sizes = [f"{size:,}" for size in cut["sizes"][:_MOST_SIZES]]
        more = len(cut["sizes"]) - len(sizes)
        listed = " ".join(sizes) + (f" and {more:,} more" if more else "")
        rows.append([str(cut["k"]), f"{cut['cost']:.6g}", listed])
    console.show_table(["clusters", "cost", "rows in each"], rows)
