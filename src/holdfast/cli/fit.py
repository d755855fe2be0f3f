"""``holdfast fit``: a table -> labels, and a model for later."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from holdfast.cli.console import Console
from holdfast.cli.cut import append_labels, describe_cuts, describe_profile, show_labels
from holdfast.cli.errors import InputError, input_errors
from holdfast.cli.inputs import (
    load_model,
    read_dataset,
    save_model,
    show_preparation,
    table_of,
)
from holdfast.cli.options import (
    CLUSTERS,
    COLUMNS,
    EPSILON,
    METHOD,
    METRIC,
    OUTPUT,
    SEED,
    Append,
    Chunked,
    ColumnOptions,
    DataFile,
    DisplayOptions,
    OutputOptions,
    ReadOptions,
    Weights,
    check_counts,
    check_method,
    check_seed,
    option,
    parse_counts,
    parse_epsilon,
)
from holdfast.cli.predict import check_parts, label_parts, prepare_parts_like
from holdfast.tables.errors import ignore

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.tables.dataset import Dataset
    from holdfast.tables.preparation import Preparation
    from holdfast.tables.read import DataTable

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = (
    "holdfast fit wine.csv --clusters 4",
    "holdfast fit wine.csv -k 4,8,16 --out labels.csv --model wine.holdfast",
    "holdfast fit wine.csv -k 3 --drop hue --method medoids -o labels.parquet",
    "cat wine.csv | holdfast fit - -k 2-6 --quiet | head -n 3",
)


@dataclass(frozen=True)
class FitOptions:
    """What decides a hierarchy besides the rows; None is the default, or with --like the model's."""

    clusters: str | None = option(None, *CLUSTERS, show_default="8")
    method: str | None = option(None, *METHOD, show_default="means")
    metric: str | None = option(None, *METRIC, show_default="euclidean")
    epsilon: str | None = option(None, *EPSILON, show_default="auto")
    seed: int | None = option(None, *SEED, show_default="0")
    max_centers: str | None = option(
        None,
        "--max-centers N|all",
        "Most clusters that a model can be cut into; by default 256, or one for each row "
        "with --method tree.",
    )

    def settle(self, like: "HierarchicalKMedian | None", console: Console) -> "FitOptions":
        """Fill in defaults, or what the model has; tell what differs from the model."""
        if like is None:
            usual = FitOptions("8", "means", "euclidean", "auto", 0, self.max_centers)
        else:
            cuts = ",".join(map(str, table_of(like).cuts))
            # After the number of clusters is known, a model without a limit has none here either.
            most = None if like.max_centers is None else str(like.max_centers)
            usual = FitOptions(
                cuts, like.method, like.metric, repr(float(like.epsilon_)), like.seed_, most
            )
        chosen = {f.name: getattr(self, f.name) for f in fields(self)}
        settled = replace(usual, **{name: v for name, v in chosen.items() if v is not None})
        for name, value in chosen.items():
            before = getattr(usual, name)
            if like is not None and value is not None and not _says_the_same(name, value, before):
                option = f"--{name.replace('_', '-')}"
                console.notice(f"{option} {value} replaces {before or 'the default'} of the model.")
        return settled


def _says_the_same(name: str, value: Any, before: Any) -> bool:
    if name == "clusters":
        return parse_counts(value) == parse_counts(before)
    if name == "epsilon" and value != "auto":
        return bool(parse_epsilon(value) == parse_epsilon(before))
    return bool(value == before)


@dataclass(frozen=True)
class SaveOptions:
    """What a fit writes besides labels."""

    model: str | None = option(
        None, "--model FILE", "Save the fit, for predict, cut, update, diff and --like.", OUTPUT
    )
    no_rows: bool = option(False, "--no-rows", "Leave the rows out of the model file.", OUTPUT)
    linkage: str | None = option(
        None, "--linkage FILE.npy", "Write the hierarchy as a SciPy linkage matrix.", OUTPUT
    )
    like: str | None = option(
        None,
        "--like MODEL",
        "Repeat everything of that model: columns, scales, method, numbers of clusters, "
        "seed and ids.",
        COLUMNS,
    )


def fit(
    data: DataFile,
    read: ReadOptions,
    column: ColumnOptions,
    given: FitOptions,
    save: SaveOptions,
    output: OutputOptions,
    display: DisplayOptions,
    append: Append = False,
    weights: Weights = None,
    chunked: Chunked = False,
) -> None:
    """Cluster a table: one row out for each row in, one column of labels for each K.

    All columns are used that can be: numbers, true and false, categories and dates. A table says
    what is done with each. Numbers are divided by their deviation, in which far values count less
    (--like MODEL repeats the scales of a model); --no-standardize keeps them as they are. Gaps are
    filled and marked. The column center_from marks centers: a row is the center of its cluster for
    every K from that number on.
    """
    from holdfast.tables.write import TABLE_ENDINGS, check_outputs

    console = Console("fit", display, table_on_stdout=output.out == "-" and not display.json)
    outputs: dict[str, tuple[str | None, tuple[str, ...]]] = {
        "--out": (output.out, TABLE_ENDINGS),
        "--model": (save.model, ()),
        "--linkage": (save.linkage, (".npy",)),
    }
    inputs = (data,) if save.like is None else (data, save.like)
    check_outputs(outputs, force=output.force, inputs=inputs)
    like = None if save.like is None else _load_like(save.like, column)
    chosen = given.settle(like, console)
    ks = parse_counts(str(chosen.clusters))
    estimator = _build_estimator(ks, chosen, whole=bool(save.model or save.linkage))
    if like is not None and column.id is None:
        column = replace(column, id=table_of(like).id_name)
    job = _Job(data, read, column, weights, like, save, output.out, append, console)
    announce_compiling(str(chosen.method), console)
    if chunked:
        _fit_parts(estimator, job, ks)
        return
    dataset = read_dataset(
        data, read, column, console, weights=weights, like=like, keep_written=append
    )
    check_counts(ks, dataset.rows.shape[0])
    ks = limit_counts(ks, [dataset], console)
    with (
        console.progress(f"clustering {dataset.rows.shape[0]:,} rows") as progress,
        input_errors(),
    ):
        estimator.set_params(n_clusters=max(ks), verbose=progress)
        estimator.fit(dataset.rows, sample_weight=dataset.weight)
    _write(estimator, dataset, ks, job)


@dataclass(frozen=True)
class _Job:
    """What is fitted, and what becomes of it."""

    data: str
    read: ReadOptions
    column: ColumnOptions
    weights: str | None
    like: "HierarchicalKMedian | None"
    save: SaveOptions
    out: str
    append: bool
    console: Console


def _load_like(path: str, column: ColumnOptions) -> "HierarchicalKMedian":
    """Load the model to repeat; refuse options that would change how it prepares columns."""
    usual = ColumnOptions()
    names = [f.name for f in fields(usual) if f.name not in ("id", "strict")]
    changed = [name for name in names if getattr(column, name) != getattr(usual, name)]
    if changed:
        listed = ", ".join(
            "--no-standardize" if name == "standardize" else f"--{name.replace('_', '-')}"
            for name in changed
        )
        raise InputError(
            f"--like repeats how the model prepares columns; {listed} would change it. Leave out "
            "one of the two."
        )
    return load_model(path)


def limit_counts(
    ks: tuple[int, ...], parts: "Iterable[Dataset]", console: Console
) -> tuple[int, ...]:
    """Ask for no more clusters than there are distinct rows, and say so."""
    import numpy as np

    most, n_rows = max(ks), 0
    found: Any = None
    for part in parts:
        counted = part.rows if part.weight is None else part.rows[part.weight > 0.0]
        start = 0
        while start < counted.shape[0]:  # the first few rows suffice, as a rule
            block = counted[start : start + 4 * most]
            found = np.unique(block if found is None else np.vstack((found, block)), axis=0)
            start, n_rows = start + 4 * most, n_rows + block.shape[0]
            if found.shape[0] >= most:
                return ks
    distinct = 0 if found is None else int(found.shape[0])
    if distinct == 0:
        return ks  # the fit says what is wrong
    limited = tuple(sorted({min(k, distinct) for k in ks}))
    too_many = [str(k) for k in ks if k > distinct]
    console.notice(
        f"{distinct:,} of the {n_rows:,} rows are distinct, so there are at most {distinct:,} "
        f"clusters: {distinct:,} instead of {', '.join(too_many)}."
    )
    return limited


def announce_compiling(method: str, console: Console) -> None:
    """Say why the first fit takes longer than the next."""
    from holdfast._machine.jit import is_compiled
    from holdfast.centers import _distance_kernels, _means_kernels
    from holdfast.tree import _kernels as tree_kernels

    kernels: dict[str, Any] = {
        "means": _means_kernels.split_members,
        "medoids": _distance_kernels.score_candidates,
        "tree": tree_kernels.link_nodes,
    }
    if not is_compiled(kernels[method]):
        console.notice("compiling once, about 10 s; the next fit starts at once.")


def _build_estimator(
    ks: tuple[int, ...], chosen: FitOptions, *, whole: bool
) -> "HierarchicalKMedian":
    """Check the options before the data are read.

    Unless the whole hierarchy is wanted, the fit stops at the last cut; the centers are the same.
    """
    check_method(str(chosen.method), str(chosen.metric))
    seed = int(chosen.seed or 0)
    check_seed(seed)
    epsilon = parse_epsilon(str(chosen.epsilon))
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
        max(ks), epsilon=epsilon, max_centers=most, random_state=seed, **options
    )


def _write(
    estimator: "HierarchicalKMedian", dataset: "Dataset", ks: tuple[int, ...], job: _Job
) -> None:
    """Write files first, then print: a closed pipe must not cost anybody a file."""
    import numpy as np

    from holdfast.storage.model import TableRecord
    from holdfast.tables.write import build_label_table, write_file

    save, console = job.save, job.console
    hierarchy = estimator.hierarchy_
    labels = {k: hierarchy.cut(k) for k in ks}
    table = build_label_table(
        dataset.id_name, dataset.ids, dataset.used, labels, hierarchy.center_indices
    )
    centers = table.column(0).to_numpy()[dataset.used]
    if job.append:
        table = append_labels(dataset.table, table)
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
        "cuts": describe_cuts(estimator, ks, centers),
        "profile": describe_profile(dataset, labels[ks[0]], ks[0]),
    }
    show_labels(console, record, table, job.out, {"model": save.model, "linkage": save.linkage})


def _fit_parts(estimator: "HierarchicalKMedian", job: _Job, ks: tuple[int, ...]) -> None:
    """Fit a file in parts, and write labels as a stream."""
    import numpy as np

    from holdfast.storage.model import TableRecord
    from holdfast.tables.read import find_kinds

    data, column, weights, save = job.data, job.column, job.weights, job.save
    out, console = job.out, job.console
    check_parts(data, out)
    if save.linkage:
        raise InputError("--linkage does not go with --chunked.")
    kinds = find_kinds(data, job.read.text, notify=console.notice)
    preparation = _prepare_parts(job, kinds)
    columns = None
    if job.like is None and not job.append:
        others = (name for name in (column.id, weights) if name is not None)
        columns = (*(source.name for source in preparation.sources), *others)

    def prepare(progress: Any, what: str) -> "Iterator[Dataset]":
        return prepare_parts_like(
            data, job.read.text, preparation, console, progress, what,
            id=column.id, weights=weights, columns=columns, kinds=kinds, keep_written=job.append,
        )  # fmt: skip

    ks = limit_counts(ks, prepare(False, ""), console)
    estimator.set_params(n_clusters=max(ks))
    _fit_chunks(estimator, prepare, job)
    capped = estimator._held.extent is not None
    if capped:
        console.notice(
            f"{len(estimator.rows_):,} cells of the grid stand for the distinct rows; see "
            "docs/changing_data.md."
        )
    with console.progress(f"writing {out}") as progress:
        parts = prepare(progress, f"writing {out}")
        n_rows, n_used = label_parts(estimator.hierarchy_, ks, parts, out, append=job.append)
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
    job: _Job,
) -> None:
    from holdfast.chunks import fit_chunks
    from holdfast.tables.columns import DistinctIds

    with job.console.progress(f"reading {job.data}") as progress, input_errors():

        def read_rows() -> Iterator[Any]:
            distinct = DistinctIds()
            for part in prepare(progress, f"reading {job.data}"):
                distinct.see(part.ids)
                yield part.rows if job.weights is None else (part.rows, part.weight)
            distinct.check(job.data, job.column.id)
            if callable(progress):
                progress("clustering", 0.0, None)

        fit_chunks(estimator.set_params(verbose=progress), read_rows)


def _prepare_parts(job: _Job, kinds: dict[str, str]) -> "Preparation":
    from holdfast._machine.progress import Progress
    from holdfast.tables.dataset import find_preparation
    from holdfast.tables.read import read_parts

    if job.like is not None:
        return table_of(job.like).preparation
    data, column, console = job.data, job.column, job.console
    with (
        console.progress(f"measuring columns of {data}") as progress,
        Progress(progress, 1.0, "", f"measuring columns of {data}") as shown,
    ):

        def open_parts(columns: tuple[str, ...] | None) -> "Iterator[DataTable]":
            notify = ignore if columns else console.notice
            for part in read_parts(
                data,
                job.read.text,
                columns=columns,
                exact=(column.id,),
                kinds=kinds,
                notify=notify,
            ):
                yield part
                shown.advance(part.fraction_read - shown.done)

        preparation, treatments = find_preparation(
            open_parts,
            column.choice(job.weights),
            scale="core" if column.standardize else None,
            missing=column.missing,
            notify=console.notice,
        )
    show_preparation(preparation, treatments, console)
    return preparation
