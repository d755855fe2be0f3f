"""What a clusterer's results are worth: how much they move, and what they cost.

The data flow of this package is in `average_sensitivity` and `measure_plan`: arguments -> plan ->
unperturbed fits -> trials -> result.
"""

from __future__ import annotations  # short names in help()

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.jit import Floats
from holdfast._machine.work import Progress, ProgressOption
from holdfast.clusterers.adapt import KMedianClusterer, Rows, as_clusterer, hold_stages, is_pairwise
from holdfast.hierarchy.cost import k_median_cost
from holdfast.stability.measures import check_measure, mean_present
from holdfast.stability.plan import Plan, build_plan, check_ks
from holdfast.stability.result import SensitivityResult
from holdfast.stability.run import Checkpoint, check_n_jobs, describe_plan, limit_threads, run_units
from holdfast.stability.trials import PER_FIT, Block, Failure, Job, fit_bases


def average_sensitivity(
    clusterer: Any,
    X: Any,
    n_clusters: int | ArrayLike | None = None,
    *,
    delete: Any = None,
    perturb: Any = None,
    trials: Any = 100,
    repeats: int = 10,
    measure: str = "moved_fraction",
    coupling: str = "same_seed",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressOption = False,
    checkpoint: str | os.PathLike[str] | None = None,
    pairwise: bool | None = None,
    by_stage: bool = False,
    keep_labels: bool = False,
) -> SensitivityResult:
    """Measure how much a clustering moves when rows are added or removed, for any clusterer.

    Fits the rows, perturbs them, fits again with the same seed, matches the clusters of the two
    results and counts the rows that moved, on average over trials and seeds.

    Parameters
    ----------
    clusterer : object
        A `HierarchicalKMedian`; a scikit-learn clusterer or a pipeline that ends in one; an object
        with ``fit(X)`` and ``cut(k)``; a function ``(X, k, seed) -> labels``; or a clusterer of
        `holdfast.clusterers`. It is never changed, and its `random_state` is replaced.
    X : array-like of shape (n_samples, n_features), or other data
        An array of numbers, or anything that can be indexed by rows and that the clusterer
        accepts: a table, a sparse matrix, a list of texts, a matrix of distances. Rows of data
        that is not an array are passed to functions in `perturb` by their numbers.
    n_clusters : int or sequence of int, default=None
        Hierarchical clusterers are fitted once and cut for each number of clusters. None is for
        clusterers that choose the number themselves, such as HDBSCAN. Clusters without a partner
        then count as moved. Noise (the label -1) is matched with noise only.
    delete : int, float or sequence of these, default=None
        Rows to remove at random: numbers of rows (integers) or fractions between 0 and 1. None
        means 1, unless `perturb` is given.
    perturb : Perturbation, callable or list of these, default=None
        Other changes, measured after `delete`: `Add`, `Replace`, `Bootstrap` and `Jitter` of
        `holdfast.stability`, or a function ``(X, rng) -> (rows, kept)``.
    trials : int or "all", default=100
        Number of perturbed data sets for each change. "all" removes every row in turn, with
        ``delete=1``: the exact average of [LHBP25]_, Eq. 1.
    repeats : int, default=10
        Number of seeds; deterministic clusterers use one. With ``coupling="earth_mover"``, the
        number of outputs on each side.
    measure : {"moved_fraction", "moved", "symmetric_difference"}, default="moved_fraction"
        As for `clustering_distance`.
    coupling : {"same_seed", "earth_mover"}, default="same_seed"
        "same_seed" fits both sides with the same seed, as the experiments of [LHBP25]_ do: an
        upper bound on "earth_mover" (Eq. 2), the distance between the distributions of outputs,
        estimated from independent seeds. That estimate is biased upward; the result's `mean` has
        the self-distance subtracted.
    n_jobs : int, default=-1
        Number of processes, -1 for all cores. They start only if the work takes seconds, and never
        change a result.
    random_state : int, RandomState, Generator or None, default=0
        Determines the seeds and the perturbations.
    progress : bool or callable, default=False
        Whether to show the time left on standard error, if the work takes more than two seconds.
        A function is called with a description, the number of fits done and the number of all fits
        instead.
    checkpoint : str or path-like, default=None
        A folder for finished trials. The same call continues where it was interrupted, also with
        more `trials` or another `measure`. Needs an integer `random_state`. Not used if no fits
        are needed.
    pairwise : bool, default=None
        Whether `X` is a matrix of distances, whose rows and columns are removed together. None asks
        the clusterer (``metric="precomputed"``).
    by_stage : bool, default=False
        Whether to measure a pipeline once more for each of its steps, with all steps before it
        held: fitted once to all rows, and not again after a change. See `SensitivityResult.stages`.
    keep_labels : bool, default=False
        Whether to keep the labels of all fits, for `SensitivityResult.consensus`. Also fits again
        after each deletion where `HierarchicalKMedian` can do without (``method="tree"``,
        ``trials="all"``): the adjusted Rand and Jaccard indices need that, the other values do not.

    Returns
    -------
    SensitivityResult
        Has `mean`, `standard_error`, `interval`, `to_frame`, `to_json`, `plot` and all values.
        After Ctrl-C, the result so far, with `complete` False and a `note`.

    Warns
    -----
    UserWarning
        If some fits failed (their values are missing, and `failures` lists them), the run was
        interrupted, or worker processes died and their trials were computed again. If all fits
        failed, RuntimeError is raised.

    Notes
    -----
    The time is that of the clusterer's own fits, repeats x (1 + changes x trials) of them, and
    times the number of `n_clusters` for clusterers that are not hierarchical.

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import average_sensitivity
    >>> from holdfast.clusterers import METHODS
    >>> X = np.array([[0.0], [1], [2], [10], [11], [12]])
    >>> average_sensitivity(METHODS["single"].build(), X, n_clusters=2, trials="all").mean
    array([[0.]])
    """
    check_measure(measure)
    n_processes = check_n_jobs(n_jobs)
    check_checkpoint(checkpoint, random_state)
    arguments: dict[str, Any] = {
        "n_clusters": n_clusters, "delete": delete, "perturb": perturb, "trials": trials,
        "repeats": repeats, "coupling": coupling, "random_state": random_state,
    }  # fmt: skip
    plan = build_plan(clusterer, X, pairwise=pairwise, **arguments)
    if keep_labels and (len(plan.bases) > 1 or coupling != "same_seed"):
        raise ValueError(
            'keep_labels needs coupling="same_seed" and changes that hold no rows back, or all of '
            "which hold back the same fraction."
        )
    if not keep_labels and _has_exact_deletions(plan):
        return _exact_deletions(plan, measure, progress)
    result = measure_plan(
        plan, measure, n_processes, progress, checkpoint, keep_labels=keep_labels
    ).result
    if not by_stage:
        return result
    stages = {}
    for name, rest, held in hold_stages(clusterer, X, plan.base_seeds[0]):
        folder = None if checkpoint is None else os.path.join(checkpoint, f"after {name}")
        plan = build_plan(rest, held, **arguments)
        stages[name] = measure_plan(plan, measure, n_processes, progress, folder).result
    return replace(result, stages=stages)


@dataclass(frozen=True, eq=False)
class Measured:
    """A result, with what `row_influence` and `cluster_stability` need besides."""

    result: SensitivityResult
    job: Job
    compared: NDArray[np.int64]  # by row, how often; empty unless asked for
    moved: NDArray[np.int64]


def measure_plan(
    plan: Plan,
    measure: str,
    n_processes: int,
    progress: ProgressOption,
    checkpoint: str | os.PathLike[str] | None = None,
    per_row: bool = False,
    keep_labels: bool = False,
) -> Measured:
    """Fit the bases, run all units that are not in the checkpoint, and put the numbers together."""
    store = None
    if checkpoint is not None:
        store = Checkpoint(checkpoint, describe_plan(plan, per_row, keep_labels))
    blocks = [] if store is None else store.load()
    units = plan.units()
    known = {(int(c), int(t)) for block in blocks for c, t in block.units}
    todo = [unit for unit in units if unit not in known]

    def take(block: Block) -> None:
        if store is not None:
            store.store(block)
        blocks.append(block)
        shown.advance(block.units.shape[0] * plan.repeats)

    n_base_fits = len(plan.bases) * plan.repeats * (1 + plan.n_self_sets)
    with Progress(progress, n_base_fits + len(units) * plan.repeats) as shown:
        shown.skip((len(units) - len(todo)) * plan.repeats)
        with limit_threads():
            job, base_failures = fit_bases(plan, shown.advance, per_row, keep_labels)
            outcome = run_units(job, todo, n_processes, take)
    if not blocks and outcome.note and not outcome.deaths:
        raise KeyboardInterrupt
    blocks.extend(outcome.deaths)
    result = _assemble(job, measure, blocks, base_failures, outcome.note)
    _warn_of_gaps(result, len(units) * plan.repeats * len(plan.ks), outcome.retried)
    compared = np.sum([block.compared for block in blocks], axis=0)
    return Measured(result, job, compared, np.sum([block.moved for block in blocks], axis=0))


def _assemble(
    job: Job, measure: str, blocks: list[Block], base_failures: tuple[Failure, ...], note: str
) -> SensitivityResult:
    """Sort the units of all blocks into arrays; their order leaves no trace."""
    plan = job.plan
    n_changes, n_ks, n_trials = len(plan.changes), len(plan.ks), plan.n_trials
    same_seed = plan.coupling == "same_seed"
    repeats = plan.repeats if same_seed else 1
    by_trial = np.full((2, n_changes, n_trials), np.nan)
    by_fit = np.full((4, n_changes, n_ks, n_trials, repeats), np.nan)
    jaccard = np.full((n_changes, n_ks, n_trials, repeats, job.most_clusters), np.nan)
    n_rows = plan.bases[0].rows.shape[0] * job.keep_labels
    labels = np.full((n_changes, n_ks, n_trials, repeats, n_rows), -2, dtype=np.int32)
    failures = list(base_failures)
    for block in blocks:
        wanted = block.units[:, 1] < n_trials  # a checkpoint may hold more trials
        c, t = block.units[wanted].T
        by_trial[:, c, t] = block.n_after[wanted], block.n_kept[wanted]
        for i, name in enumerate(PER_FIT):
            by_fit[i, c, :, t] = getattr(block, name)[wanted]
        jaccard[c, :, t] = block.jaccard[wanted]
        labels[c, :, t] = block.labels[wanted]
        failures += [failure for failure in block.failures if failure.trial < n_trials]
    order = {change.name: c for c, change in enumerate(plan.changes)}
    failures.sort(key=lambda f: (f.trial, order.get(f.change, -1), f.repeat, f.n_clusters))
    return SensitivityResult(
        **_describe_measurement(plan, measure, note),
        n_after=by_trial[0],
        n_kept=by_trial[1],
        matched=by_fit[0],
        rand=by_fit[1] if same_seed else None,
        information=by_fit[2] if same_seed else None,
        found=by_fit[3] if same_seed else None,
        jaccard=mean_present(jaccard, axis=2) if same_seed else None,
        matched_self=None if same_seed else job.matched_self[[c.base for c in plan.changes]],
        failures=tuple(failures),
        labels=labels.reshape(n_changes, n_ks, -1, n_rows) if job.keep_labels else None,
    )


def _describe_measurement(plan: Plan, measure: str, note: str) -> dict[str, Any]:
    """Fields of a result that follow from the plan."""
    bases = [plan.bases[change.base] for change in plan.changes]
    return {
        "clusterer": plan.clusterer.name,
        "measure": measure,
        "coupling": plan.coupling,
        "changes": tuple(change.name for change in plan.changes),
        "n_clusters": plan.ks,
        "exhaustive": plan.exhaustive,
        "seeds": plan.base_seeds,
        "n_before": np.array([base.rows.shape[0] for base in bases], dtype=np.float64),
        "complete": not note,
        "note": note,
    }


def _warn_of_gaps(result: SensitivityResult, n_fits: int, retried: tuple[str, ...] = ()) -> None:
    """Warn about what is missing and what was computed twice; raise if nothing is left."""
    failures = result.failures
    if retried:
        times = "once" if len(retried) == 1 else f"{len(retried)} times"
        warnings.warn(
            f"worker processes died {times}; the first error was: {retried[0]} Their trials were "
            "computed again, with the same results. If memory ran out, use a smaller n_jobs.",
            stacklevel=4,
        )
    if failures and not np.isfinite(result.matched).any():
        raise RuntimeError(f"all fits failed; the first in {failures[0]}")
    if failures:
        warnings.warn(
            f"{len(failures)} of about {n_fits} fits failed; the first in {failures[0]}. Their "
            "values are missing; see the attribute failures.",
            stacklevel=4,
        )
    if not result.complete:
        present = int(np.isfinite(result.matched).sum())
        warnings.warn(
            f"{result.note}: {present} of {result.matched.size} values were computed.", stacklevel=4
        )


def _has_exact_deletions(plan: Plan) -> bool:
    """Whether all deletions of this plan follow from the structure of the tree."""
    return (
        plan.exhaustive
        and plan.coupling == "same_seed"
        and isinstance(plan.clusterer, KMedianClusterer)
        and plan.clusterer.estimator.method == "tree"
    )


def _exact_deletions(plan: Plan, measure: str, progress: ProgressOption) -> SensitivityResult:
    """All single deletions for each seed, without refits."""
    from holdfast.stability.deletions import matched_after_deletions

    assert isinstance(plan.clusterer, KMedianClusterer)
    estimator, ks = plan.clusterer.estimator, list(plan.ks)
    rows = np.ascontiguousarray(plan.bases[0].rows, dtype=np.float64)
    n_rows, note = rows.shape[0], ""
    matched = np.full((1, len(ks), n_rows, plan.repeats), np.nan)
    try:
        with Progress(progress, plan.repeats, "seeds") as shown:
            for repeat, seed in enumerate(plan.base_seeds):
                matched[0, :, :, repeat] = matched_after_deletions(estimator, rows, ks, seed).T
                shown.advance(1)
    except KeyboardInterrupt:
        if not np.isfinite(matched).any():
            raise
        note = "interrupted by the keyboard"
    result = SensitivityResult(
        **_describe_measurement(plan, measure, note),
        n_after=np.full((1, n_rows), n_rows - 1.0),
        n_kept=np.full((1, n_rows), n_rows - 1.0),
        matched=matched,
    )
    _warn_of_gaps(result, matched.size)
    return result


def cost_by_seed(
    clusterer: Any, X: Rows, *, n_clusters: int | ArrayLike, seeds: Sequence[int]
) -> Floats:
    """Compute the k-median cost of a clusterer's cuts, for each seed and number of clusters.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`.
    X : ndarray of shape (n_samples, n_features)
    n_clusters : int or sequence of int
    seeds : sequence of int
        Random states of the fits, such as `SensitivityResult.seeds`. Deterministic clusterers are
        fitted once.

    Returns
    -------
    ndarray of shape (n_seeds, n_values), dtype float64
        See `holdfast.k_median_cost`.
    """
    ks = check_ks(n_clusters)
    adapted = as_clusterer(clusterer, max_clusters=max(ks))
    used = seeds if adapted.randomized else seeds[:1]
    costs = np.empty((len(seeds), len(ks)))
    by_distance = is_pairwise(adapted)
    with limit_threads():
        for i, seed in enumerate(used):
            fitted = adapted.fit(X, seed)
            known: dict[bytes, float] = {}  # nested cuts have most clusters in common
            cuts = [np.asarray(fitted.cut(k)) for k in ks]
            costs[i:] = [_cost_of_cut(X, cut, known, by_distance) for cut in cuts]
    return costs


def _cost_of_cut(
    X: Rows, labels: NDArray[Any], known: dict[bytes, float], by_distance: bool
) -> float:
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    total = 0.0
    for members in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        key = members.tobytes()
        if key not in known:
            rows = X[np.ix_(members, members)] if by_distance else X[members]
            metric: Any = "precomputed" if by_distance else "euclidean"
            known[key] = k_median_cost(rows, np.zeros(members.size), metric=metric)
        total += known[key]
    return total


def check_checkpoint(checkpoint: Any, random_state: Any) -> None:
    """Raise ValueError if another run could not continue from the checkpoint."""
    if checkpoint is not None and not isinstance(random_state, int | np.integer):
        raise ValueError(
            f"checkpoint needs an integer random_state, so that another run can continue; got "
            f"{random_state!r}."
        )
