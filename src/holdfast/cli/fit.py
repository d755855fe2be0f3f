"""``holdfast fit``: a table -> labels, and a model for later."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.console import Console
from holdfast.cli.options import (
    Chunked,
    Clusters,
    ColumnOptions,
    DataFile,
    FitOptions,
    KeepOptions,
    OutputOptions,
    ReadOptions,
    TalkOptions,
    Weights,
)
from holdfast.cli.parse import (
    check_counts,
    name_cost,
    parse_cost,
    parse_counts,
    parse_epsilon,
    parse_seed,
)
from holdfast.cli.problems import InputProblem, blame_input

if TYPE_CHECKING:
    from holdfast.cli.dataset import Dataset
    from holdfast.estimator import HierarchicalKMedian

__all__ = ["EXAMPLES", "build_estimator", "fit"]

EXAMPLES = (
    "holdfast fit wine.csv --clusters 4",
    "holdfast fit wine.csv -k 4,8,16 --out labels.csv --model wine.holdfast",
    "holdfast fit wine.csv -k 3 --drop hue --cost euclidean -o labels.parquet",
    "cat wine.csv | holdfast fit - -k 2-6 --quiet | head -n 3",
)

_MODEL_BYTES_A_SECOND = 5e7  # of the rows: sorted, hashed, written and flushed, on a plain disk


def fit(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    chosen: FitOptions,
    keep: KeepOptions,
    output: OutputOptions,
    talk: TalkOptions,
    clusters: Clusters = "8",
    weights: Weights = None,
    chunked: Chunked = False,
) -> None:
    """Cluster a table: one row out for each row in, one column of labels for each K.

    Columns that are not numeric are left out with a notice. The others are divided by their
    standard deviation, rounded to a power of two (--like MODEL repeats those of a model);
    --no-standardize leaves them alone. Column center_from marks centers: a row is the center of its
    cluster for every K from that number on.
    """
    from holdfast.cli.outputs import TABLE_ENDINGS, check_targets
    from holdfast.cli.pace import expect_fit_seconds

    console = Console("fit", talk, table_on_stdout=output.out == "-" and not talk.json)
    ks = parse_counts(clusters)
    estimator = build_estimator(ks, chosen, whole=bool(keep.model or keep.linkage))
    targets: dict[str, tuple[str | None, tuple[str, ...]]] = {
        "--out": (output.out, TABLE_ENDINGS),
        "--model": (keep.model, ()),
        "--linkage": (keep.linkage, (".npy",)),
    }
    inputs = (data,) if keep.like is None else (data, keep.like)
    check_targets(targets, force=output.force, inputs=inputs)
    if chunked:
        from holdfast.cli.chunked import fit_in_parts

        if weights:
            raise InputProblem("--weights does not go with --chunked.")
        fit_in_parts(estimator, data, column, keep, output.out, ks, console)
        return
    dataset = _read(data, read, column, weights, keep.like, console)
    check_counts(ks, dataset.rows.shape[0])
    with console.bar(f"clustering {dataset.rows.shape[0]:,} rows") as bar, blame_input():
        if console.shows_bars:
            bar.expect(expect_fit_seconds(estimator, dataset.rows))
        estimator.fit(dataset.rows, sample_weight=dataset.weight)
    _write(estimator, dataset, ks, output, keep, console)


def build_estimator(
    ks: tuple[int, ...], chosen: FitOptions, *, whole: bool
) -> "HierarchicalKMedian":
    """Check the options before the data are read.

    Unless the whole hierarchy is wanted, the fit stops at the last cut; the centers are the same.
    """
    epsilon, cost = parse_epsilon(chosen.epsilon), parse_cost(chosen.cost)
    parse_seed(chosen.seed)
    most: Any = chosen.max_centers
    if most is None and not whole:
        most = max(ks)
    elif most not in (None, "all"):
        if not most.isdecimal() or int(most) < max(ks):
            raise InputProblem(
                f"--max-centers must be all or a number of at least {max(ks)}, the largest of "
                f"--clusters; got {most!r}."
            )
        most = int(most)
    from holdfast.estimator import HierarchicalKMedian

    return HierarchicalKMedian(
        max(ks), epsilon=epsilon, max_centers=most, random_state=chosen.seed, **cost
    )


def _read(
    path: str,
    read: ReadOptions,
    column: ColumnOptions,
    weights: str | None,
    like: str | None,
    console: Console,
) -> "Dataset":
    from holdfast.cli.dataset import announce, prepare_like, prepare_table
    from holdfast.cli.tables import read_table

    table = read_table(path, read, console)
    if like is None:
        dataset = prepare_table(table, column, console, weights)
    else:
        from holdfast.cli.models import load_model

        if column.columns or column.drop or column.impute or column.drop_missing:
            raise InputProblem(
                "--like repeats the columns and the treatment of missing values of a model; leave "
                "out --columns, --drop, --drop-missing and --impute."
            )
        dataset = prepare_like(
            table,
            load_model(like).preparation,
            console,
            id_name=column.id,
            weights=weights,
            positional=not table.named,
        )
    announce(dataset, console)
    return dataset


def _write(
    estimator: "HierarchicalKMedian",
    dataset: "Dataset",
    ks: tuple[int, ...],
    output: OutputOptions,
    keep: KeepOptions,
    console: Console,
) -> None:
    """Files first, then what is printed: a closed pipe must not cost anybody a file."""
    import numpy as np

    from holdfast.cli.labels import build_label_table, describe_cuts, name_centers, show_labels
    from holdfast.cli.models import keep_model
    from holdfast.cli.outputs import write_file, write_table

    hierarchy = estimator.hierarchy_
    labels = {k: hierarchy.cut(k) for k in ks}
    table = build_label_table(
        dataset.id_name, dataset.ids, dataset.used, labels, hierarchy.center_indices
    )
    if output.out != "-":
        write_table(output.out, table)
    if keep.model is not None:
        with console.bar(f"writing {keep.model}", dataset.rows.nbytes / _MODEL_BYTES_A_SECOND):
            keep_model(keep.model, estimator, dataset, ks, not keep.no_rows)
    if keep.linkage is not None:
        merges = hierarchy.linkage()
        write_file(keep.linkage, lambda file: np.save(file, merges))
    cuts = describe_cuts(hierarchy, ks, name_centers(table, dataset.used, hierarchy, max(ks)))
    record: dict[str, Any] = {
        "n_rows": int(dataset.used.size),
        "n_used": int(dataset.rows.shape[0]),
        "preparation": dataset.preparation.to_json(),
        "cost": name_cost(estimator),
        "epsilon": estimator.epsilon_,
        "seed": estimator.seed_,
        "cuts": cuts,
    }
    show_labels(console, record, table, output.out, {"model": keep.model, "linkage": keep.linkage})
