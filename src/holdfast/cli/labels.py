"""``holdfast cut`` and ``holdfast predict``: a model -> labels of its rows, or of new rows."""

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast._machine import np, pa
from holdfast._machine.work import Progress, ProgressOption
from holdfast.cli import inputs
from holdfast.cli import options as opt
from holdfast.cli.console import Console
from holdfast.cli.options import option
from holdfast.cli.parts import Parts, append_labels, show_parts
from holdfast.tables.errors import count, show_name
from holdfast.tables.write import build_label_table, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.estimator import HierarchicalKMedian
    from holdfast.hierarchy import Hierarchy
    from holdfast.tables.dataset import Dataset

CUT_EXAMPLES = (
    "holdfast cut wine.holdfast --clusters 12 --out twelve.csv",
    "holdfast cut wine.holdfast --clusters 2,3 | head -n 4",
)
PREDICT_EXAMPLES = (
    "holdfast predict wine.holdfast wine.csv --out predicted.csv",
    "tail -n 5 wine.csv | holdfast predict wine.holdfast - --no-header -k 4",
)

_BLOCK_ROWS = 1 << 16  # labeled between two reports of progress
_MOST_SIZES = 12
_CLUSTERS = (
    ("cluster", "names", ""), ("rows", "sizes", ","), ("fraction", "fraction", ".1%"),
    ("center", "centers", ""),
)  # fmt: skip
_CUTS = (
    ("clusters", "k", ""), ("cost", "cost", ".4g"), ("of one", "cost_of_one", ".0%"),
    ("rows in each", "listed", ""),
)  # fmt: skip
_MOST_COLUMNS = 7
_MOST_CATEGORIES = 3  # of them


def cut(
    model: opt.ModelFile,
    clusters: opt.Clusters,
    output: opt.OutputOptions,
    display: opt.DisplayOptions,
) -> None:
    """Cut a fitted hierarchy into any number of clusters, without fitting again."""
    ks = opt.parse_counts(clusters)
    console = output.open("cut", display, (model,))
    fitted = inputs.load_model(model)
    inputs.check_cuts(fitted, ks, model)
    hierarchy, source = fitted.hierarchy_, inputs.table_of(fitted)
    table = build_label_table(
        None if source.ids is None else source.id_name,
        None if source.ids is None else pa.array(source.ids),
        source.used,
        {k: hierarchy.names(k)[hierarchy.cut(k)] for k in ks},
        hierarchy.center_indices,
    )
    cuts = describe_cuts(fitted, ks, table.column(0).to_numpy()[source.used])
    record = {"n_rows": table.num_rows, "n_used": hierarchy.n_rows, "cuts": cuts}
    show_labels(console, record, table, output.out, {})


def predict(
    model: opt.ModelFile,
    data: opt.DataFile,
    read: opt.ReadOptions,
    output: opt.OutputOptions,
    display: opt.DisplayOptions,
    clusters: str | None = option(
        "--clusters -k K,K,...", "Numbers of clusters; by default those of the fit."
    ),
    id: str | None = option("--id COLUMN", opt.ID),
    append: opt.Append = False,
    chunked: opt.Chunked = False,
) -> None:
    """Label new rows without moving any center.

    Columns are found by name, in any order (by position in files without names), and prepared as
    they were for the fit.
    """
    asked = None if clusters is None else opt.parse_counts(clusters)
    console = output.open("predict", display, (model, data))
    fitted = inputs.load_model(model)
    source = inputs.table_of(fitted)
    ks = source.cuts if asked is None else asked
    inputs.check_cuts(fitted, ks, model)
    if chunked:
        parts = Parts.of(data, read, output.out, console, keep_written=append)
        id = inputs.choose_id(id, source, parts.first())
        parts = replace(parts, preparation=source.preparation, id=id)
        keep = partial(_keep_fitted, fitted)
        record = parts.write_labels(fitted.hierarchy_, ks, output.out, console, keep)
        show_parts(record, {"out": output.out}, console)
        return
    dataset = inputs.read_as(data, read, fitted, console, id, keep_written=append)
    with console.progress(f"labeling {dataset.rows.shape[0]:,} rows") as progress:
        labels = predict_cuts(fitted.hierarchy_, dataset.rows, ks, progress)
    _keep_fitted(fitted, dataset, labels)
    names = {k: fitted.hierarchy_.names(k)[found] for k, found in labels.items()}
    result = dataset.label(names)
    if append:
        result = append_labels(dataset.table, result)
    record = {"n_rows": result.num_rows, "n_used": int(dataset.rows.shape[0])}
    show_labels(console, record, result, output.out, {})


def _keep_fitted(
    model: "HierarchicalKMedian", dataset: "Dataset", labels: "dict[int, NDArray[np.int32]]"
) -> None:
    """Give rows of a followed model, known by id and unchanged, their own labels: some are held."""
    if model.hierarchy_.naming is None or model.ids_ is None or dataset.ids is None:
        return
    if "_held" not in vars(model):  # saved without its rows: which are held is not known
        return
    same, place = model._find_fitted(dataset.rows, dataset.used_ids)
    for k, predicted in labels.items():
        predicted[same] = model.hierarchy_.cut(k)[place]


def predict_cuts(
    hierarchy: "Hierarchy",
    rows: "NDArray[np.float64]",
    ks: tuple[int, ...],
    progress: ProgressOption,
) -> "dict[int, NDArray[np.int32]]":
    """Label rows for each k, block by block."""
    found = {k: np.empty(rows.shape[0], dtype=np.int32) for k in ks}
    what = f"labeling {rows.shape[0]:,} rows"
    with Progress(progress, len(ks) * rows.shape[0], "rows", what) as shown:
        for k, labels in found.items():
            for first in range(0, rows.shape[0], _BLOCK_ROWS):
                block = slice(first, first + _BLOCK_ROWS)
                labels[block] = hierarchy.predict(rows[block], k)
                shown.advance(labels[block].size)
    return found


def describe_cuts(
    model: "HierarchicalKMedian", ks: tuple[int, ...], ids: Any
) -> list[dict[str, Any]]:
    """List for each k its cost, and the sizes and centers of its clusters; `ids` are those of rows."""
    hierarchy, costs = model.hierarchy_, describe_costs(model, ks)
    centers = ids[hierarchy.center_indices[: max(ks)]].tolist()
    return [
        {
            "k": k,
            **costs[k],
            "sizes": hierarchy.sizes(k).tolist(),
            "centers": centers[:k],
            "names": hierarchy.names(k).tolist(),
        }
        for k in ks
    ]


def describe_costs(
    model: "HierarchicalKMedian", ks: tuple[int, ...]
) -> dict[int, dict[str, float | None]]:
    """Estimate the k-median cost of each cut, and relative to one cluster; None without rows."""
    from holdfast.hierarchy.cost import estimate_cost

    if "_held" not in vars(model):
        return {k: {"cost": None, "cost_of_one": None} for k in ks}
    rows, weight, hierarchy = model.rows_, model.row_weights_, model.hierarchy_
    costs = {k: estimate_cost(rows, hierarchy.cut(k), model.seed_, weight) for k in {1, *ks}}
    one = costs[1]
    return {k: {"cost": costs[k], "cost_of_one": costs[k] / one if one else None} for k in ks}


def describe_profile(dataset: "Dataset", labels: Any, k: int) -> dict[str, Any]:
    """Describe the clusters in the units of the table, columns that differ most first.

    `dates` are columns whose means are seconds since 1970; `means` has a list over clusters for each
    column of numbers, `levels` the fractions of each level for each column of categories.
    """
    from holdfast.estimator.explaining import columns_of
    from holdfast.hierarchy.explain import Fractions, Means, group_columns

    columns = columns_of(dataset.preparation)
    numbers, categories = group_columns(columns, dataset.values)
    means = Means(dataset.values[:, numbers], labels, k)
    clusters = [np.array([t]) for t in range(k)]
    by_cluster = np.array([means.of(node) for node in clusters])
    counted = {c.name: (c.levels, Fractions.count(c, labels, k)) for c in categories}
    most_different = sorted(counted.items(), key=lambda item: -item[1][1].difference)
    return {
        "k": k,
        "dates": [column.name for column in columns if column.date],
        "means": {
            columns[numbers[j]].name: by_cluster[:, j].tolist() for j in means.rank_columns()
        },
        "levels": {
            name: dict(
                zip(levels, np.transpose([c.of(node) for node in clusters]).tolist(), strict=True)
            )
            for name, (levels, c) in most_different
        },
    }


def show_labels(
    console: Console,
    record: dict[str, Any],
    table: "pa.Table",
    out: str,
    others: dict[str, str | None],
) -> None:
    """Write a table of labels, then print a summary of `record`, or all of it as JSON."""
    files = {"out": None if out == "-" else out, **others}
    if out != "-" or not console.display.json:
        write_table(out, table)
    if console.display.json:
        rows = {"rows": table.to_pydict()} if out == "-" else {}
        console.show_json({**record, "files": files, **rows})
        return
    if out != "-" and "cuts" in record:
        _show_cuts(record["cuts"], console)
        if "profile" in record:
            _show_profile(record["profile"], console)
    console.show_files(files)


def _show_cuts(cuts: list[dict[str, Any]], console: Console) -> None:
    """Print the clusters of one k, or a line for each of several."""
    if len(cuts) == 1:
        cut = cuts[0]
        total, keys = sum(cut["sizes"]), ("names", "sizes", "centers")
        clusters = zip(*(cut[key] for key in keys), strict=True)
        records = [{**dict(zip(keys, c, strict=True)), "fraction": c[1] / total} for c in clusters]
        console.show_records(_CLUSTERS, records)
        if cut["cost_of_one"] is not None:
            console.show_line(
                f"k-median cost {cut['cost']:.4g} in prepared units, {cut['cost_of_one']:.0%} "
                "of the cost of one cluster"
            )
        return
    for cut in cuts:
        more = len(cut["sizes"]) - _MOST_SIZES
        sizes = " ".join(f"{size:,}" for size in cut["sizes"][:_MOST_SIZES])
        cut["listed"] = sizes + (f" and {more:,} more" if more > 0 else "")
    console.show_records(_CUTS, cuts)


def _show_profile(profile: dict[str, Any], console: Console) -> None:
    """Print the means of each cluster, and its most frequent categories."""
    from holdfast.hierarchy.explain import rank_levels

    cells = {
        name: [show_value(mean, name in profile["dates"]) for mean in means]
        for name, means in profile["means"].items()
    }
    categories: dict[str, list[str]] = {}
    for name, levels in profile["levels"].items():
        for fractions in zip(*levels.values(), strict=True):
            top = rank_levels(list(levels), list(fractions))[0]
            most = f"{show_name(list(levels)[top])} {fractions[top]:.0%}"
            categories.setdefault(name, []).append(most)
    first = dict(list(categories.items())[:_MOST_CATEGORIES])
    listed = {**first, **dict(list(cells.items())[: _MOST_COLUMNS - len(first)])}
    n_all = len(cells) + len(categories)
    which = f"{len(listed)} of {count(n_all, 'column')}, " if n_all > len(listed) else ""
    what = "Means and most frequent categories" if first else "Means"
    console.show_line(
        f"{what} of the {count(profile['k'], 'cluster')} ({which}most different first):"
    )
    console.show_table(
        ["cluster", *map(show_name, listed)],
        [[str(t), *(column[t] for column in listed.values())] for t in range(profile["k"])],
    )


def show_value(value: float, is_date: bool) -> str:
    """Write a value or a mean of a column in the units of the table."""
    from holdfast.hierarchy.rules import show_date

    if math.isnan(value):
        return "-"
    return show_date(value, "D") if is_date else f"{value:.4g}"
