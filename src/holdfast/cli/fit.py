"""``holdfast fit``: a table -> labels, and a model for later."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine import np
from holdfast.cli import inputs
from holdfast.cli import options as opt
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.labels import describe_cuts, describe_profile, show_labels
from holdfast.cli.options import option
from holdfast.cli.parts import FitJob, SaveOptions, append_labels, column_scale_as, fit_parts
from holdfast.tables.write import write_file

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.tables.dataset import Dataset

EXAMPLES = (
    "holdfast fit wine.csv --clusters 4",
    "holdfast fit wine.csv -k 4,8,16 --out labels.csv --model wine.holdfast",
    "holdfast fit wine.csv -k 3 --drop hue --method medoids -o labels.parquet",
    "cat wine.csv | holdfast fit - -k 2-6 --quiet | head -n 3",
)


@dataclass(frozen=True)
class FitOptions:
    """What decides a hierarchy besides the rows; None is the default, or with --like the model's."""

    clusters: str | None = option(*opt.CLUSTERS, show_default="8")
    method: str | None = option(*opt.METHOD, show_default="means")
    metric: str | None = option(*opt.METRIC, show_default="euclidean")
    epsilon: str | None = option(*opt.EPSILON, show_default="auto")
    seed: int | None = option(*opt.SEED, show_default="0")
    max_centers: str | None = option(
        "--max-centers N|all",
        "Largest number of clusters that the model can be cut into; by default 256, or one per row "
        "with --method tree.",
    )

    def settle(self, like: "HierarchicalKMedian | None", console: Console) -> "FitOptions":
        """Fill in defaults, or what the model has; tell what differs from the model."""
        if like is None:
            usual = FitOptions("8", "means", "euclidean", "auto", 0, self.max_centers)
        else:
            cuts = ",".join(map(str, inputs.table_of(like).cuts))
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
        return opt.parse_counts(value) == opt.parse_counts(before)
    if name == "epsilon" and value != "auto":
        return bool(opt.parse_epsilon(value) == opt.parse_epsilon(before))
    return bool(value == before)


def fit(
    data: opt.DataFile,
    read: opt.ReadOptions,
    column: opt.ColumnOptions,
    given: FitOptions,
    save: SaveOptions,
    output: opt.OutputOptions,
    display: opt.DisplayOptions,
    append: opt.Append = False,
    weights: opt.Weights = None,
    chunked: opt.Chunked = False,
    polish: bool = option(
        "--polish",
        "Let the clusters of all K settle together. They cost less, and fewer rows move when the model "
        "is followed. The model then ends at the largest K.",
        False,
    ),
) -> None:
    """Cluster a table. Each row gets one label for each number of clusters.

    All usable columns are used: numbers, true and false, categories and dates. A table shows what is
    done with each. Numbers are divided by their deviation, in which extreme values count less;
    --no-standardize keeps them as they are, and --like MODEL repeats the scales of a model. Missing
    values are filled and marked. The column center_from marks centers: a row is the center of its
    cluster in every cut with at least that many clusters.
    """
    sources = (data,) if save.like is None else (data, save.like)
    others = {"model": (save.model, ()), "linkage": (save.linkage, (".npy",))}
    console = output.open("fit", display, sources, **others)
    like = None if save.like is None else _load_like(save.like, column)
    chosen = given.settle(like, console)
    ks = opt.parse_counts(str(chosen.clusters))
    estimator = _build_estimator(ks, chosen, whole=bool(save.model or save.linkage))
    if like is not None and column.id is None:
        column = replace(column, id=inputs.table_of(like).id_name)
    job = FitJob(data, read, column, weights, like, save, output.out, append)
    announce_compiling(str(chosen.method), console)
    if chunked:
        if polish:
            raise InputError("--polish needs all rows at once; leave out --chunked.")
        fit_parts(estimator, job, ks, console)
        return
    dataset = inputs.read_dataset(
        data, read, column, console, method=str(chosen.method), weights=weights, like=like,
        keep_written=append,
    )  # fmt: skip
    inputs.check_counts(ks, dataset.rows.shape[0])
    ks = inputs.limit_counts(ks, [dataset], console)
    what = f"clustering {dataset.rows.shape[0]:,} rows"
    with console.progress(what) as progress, input_errors():
        scale = column_scale_as(like, dataset.preparation)
        estimator.set_params(n_clusters=max(ks), verbose=progress, column_scale=scale)
        estimator.fit(np.asarray(dataset.rows), sample_weight=dataset.weight)
        estimator = estimator.polish(ks) if polish else estimator
    _write(estimator, dataset, ks, job, console)


def _load_like(path: str, column: opt.ColumnOptions) -> "HierarchicalKMedian":
    """Load the model to repeat; refuse options that would change how it prepares columns."""
    changed = column.changed(("id", "strict"))
    if changed:
        raise InputError(
            f"--like repeats how the model prepares columns; {', '.join(changed)} would change it. "
            "Leave out one of the two."
        )
    return inputs.load_model(path)


def announce_compiling(method: str, console: Console) -> None:
    """Say why the first fit takes longer than the next."""
    from holdfast._machine.jit import is_compiled
    from holdfast.centers import _distance_kernels, _member_kernels
    from holdfast.tree import _kernels as tree_kernels

    kernels: dict[str, Any] = {
        "means": _member_kernels.split_members,
        "medoids": _distance_kernels.score_candidates,
        "tree": tree_kernels.link_ranges,
    }
    if not is_compiled(kernels[method]):
        console.notice("compiling once, for a few seconds; later fits start at once.")


def _build_estimator(
    ks: tuple[int, ...], chosen: FitOptions, *, whole: bool
) -> "HierarchicalKMedian":
    """Check the options before the data are read.

    Unless the whole hierarchy is wanted, the fit stops at the last cut; the centers are the same.
    """
    inputs.check_method(str(chosen.method), str(chosen.metric))
    seed = int(chosen.seed or 0)
    opt.check_seed(seed)
    epsilon = opt.parse_epsilon(str(chosen.epsilon))
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
    options: dict[str, Any] = {"method": chosen.method, "metric": chosen.metric}
    return holdfast.HierarchicalKMedian(
        max(ks), epsilon=epsilon, max_centers=most, random_state=seed, **options
    )


def _write(
    estimator: Any, dataset: "Dataset", ks: tuple[int, ...], job: FitJob, console: Console
) -> None:
    """Write files first, then print: a closed pipe must not cost anybody a file."""
    from holdfast.storage.model import TableRecord

    save, hierarchy = job.save, estimator.hierarchy_
    labels = {k: hierarchy.cut(k) for k in ks}
    table = dataset.label(labels, hierarchy.center_indices)
    centers = table.column(0).to_numpy()[dataset.used]
    if job.append:
        table = append_labels(dataset.table, table)
    if save.model is not None:
        with console.progress(f"writing {save.model}"):
            ids = None if dataset.ids is None else dataset.ids.to_numpy()
            of_rows = (dataset.id_name, ids, dataset.used)
            estimator.table_ = TableRecord(dataset.preparation, *of_rows, ks)
            inputs.save_model(estimator, save.model, include_rows=not save.no_rows)
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
