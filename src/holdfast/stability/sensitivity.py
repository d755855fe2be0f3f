"""What a clusterer's results are worth: how much they move, and what they cost.

The whole data flow of this package is in `average_sensitivity` and `measure_plan`: arguments ->
plan -> unperturbed fits -> trials -> result.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.progress import Progress, Shown
from holdfast.clusterers.adapt import KMedianClusterer, as_clusterer
from holdfast.clusterers.protocol import Rows
from holdfast.hierarchy.cost import k_median_cost
from holdfast.stability.assemble import put_together, report_gaps
from holdfast.stability.blocks import Block
from holdfast.stability.checkpoint import Checkpoint, describe_plan
from holdfast.stability.measures import check_measure
from holdfast.stability.plan import Plan, build_plan, check_ks
from holdfast.stability.result import SensitivityResult
from holdfast.stability.schedule import check_n_jobs, limit_threads, run_units
from holdfast.stability.trials import Job, fit_bases

__all__ = [
    "Measured",
    "average_sensitivity",
    "check_checkpoint",
    "cost_by_seed",
    "has_exact_deletions",
    "mean_cost",
    "measure_plan",
]


def average_sensitivity(
    clusterer: Any,
    X: ArrayLike,
    n_clusters: int | ArrayLike,
    *,
    delete: Any = None,
    perturb: Any = None,
    trials: Any = 100,
    repeats: int = 10,
    measure: str = "moved_fraction",
    coupling: str = "same_seed",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: Shown = False,
    checkpoint: str | os.PathLike[str] | None = None,
    refit: bool = False,
) -> SensitivityResult:
    """How much a clustering moves when rows come and go, for any clusterer.

    Fits the rows, perturbs them, fits again with the same seed, matches the clusters of the two
    results and counts the rows that moved; on average over trials and seeds.

    Parameters
    ----------
    clusterer : object
        `HierarchicalKMedian`; a scikit-learn clusterer or a pipeline that ends in one; an object
        with ``fit(X)`` and ``cut(k)``; a function ``(X, k, seed) -> labels``; one of
        `holdfast.clusterers`. Never changed; its own `random_state` is replaced.
    X : array-like of shape (n_samples, n_features)
    n_clusters : int or sequence of int
        Hierarchical clusterers are fitted once and cut for all of them.
    delete : int, float or sequence of these, default=None
        Rows to delete at random: counts (integers) or fractions between 0 and 1. None is 1 where
        `perturb` is not given.
    perturb : Perturbation, function or list of these, default=None
        Other ways for rows to come and go, measured after `delete`: `Add`, `Replace`, `Bootstrap`,
        `Jitter` of `holdfast.stability`, or a function ``(X, rng) -> (rows, kept)``.
    trials : int or "all", default=100
        Perturbed data sets for each kind of change. "all" deletes every row in turn, with
        ``delete=1``: the exact average of [LHBP25]_, Eq. 1, not a sample.
    repeats : int, default=10
        Seeds; deterministic clusterers get one. With ``coupling="earth_mover"``, outputs a side.
    measure : {"symmetric_difference", "moved", "moved_fraction"}
        n_before + n_after - 2 matched ([LHBP25]_, Eq. 1); n_before - matched (its figures); the
        share of the surviving rows that changed cluster.
    coupling : {"same_seed", "earth_mover"}
        "same_seed" gives both sides the same seed, as the experiments of [LHBP25]_: an upper bound
        of "earth_mover", Eq. 2, the distance between the distributions of outputs, from
        independent seeds. The latter is biased upward; the result's `mean` has the self-distance
        subtracted.
    n_jobs : int, default=-1
        Processes, -1 for all cores. They start only if the work proves to take seconds, and never
        change a number.
    random_state : int, RandomState, Generator or None, default=0
        One 64-bit seed comes out of it; trial j is a function of it, of the kind of change and
        of j.
    progress : bool or callable, default=False
        Show the time left on standard error, from two seconds on. A function is called with the
        number of fits done and of all fits instead.
    checkpoint : path, default=None
        A folder for finished blocks of trials: the same call continues where it was interrupted,
        also with more `trials` or another `measure`. Needs an integer `random_state`. Not used
        where nothing is refitted.
    refit : bool, default=False
        Fit again for each deletion even where `HierarchicalKMedian` (``method="tree"``, ``trials="all"``)
        can do without: all numbers are the same, and the adjusted Rand and Jaccard indices are
        computed as well.

    Returns
    -------
    SensitivityResult
        `mean`, `standard_error`, `interval`, `to_frame`, `to_json`, `plot` and all values. After
        Ctrl-C, what was computed so far, with `complete` False and a `note`.

    Warns
    -----
    UserWarning
        When some fits failed (their values are missing, `failures` says where), the run was
        interrupted, or worker processes died and their trials were computed again. When all
        failed, that is a RuntimeError.

    Notes
    -----
    Costs the clusterer's own fits, repeats x (1 + changes x trials) of them (times the number of
    `n_clusters` for clusterers that must be fitted for each), and little else.

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import average_sensitivity
    >>> from holdfast.clusterers import single_linkage
    >>> X = np.array([[0.0], [1], [2], [10], [11], [12]])
    >>> r = average_sensitivity(single_linkage(), X, n_clusters=[2], trials="all")
    >>> r.mean
    array([[0.]])
    """
    check_measure(measure)
    plan = build_plan(
        clusterer, X, n_clusters=n_clusters, delete=delete, perturb=perturb, trials=trials,
        repeats=repeats, coupling=coupling, random_state=random_state,
    )  # fmt: skip
    n_processes = check_n_jobs(n_jobs)
    check_checkpoint(checkpoint, random_state)
    if not refit and has_exact_deletions(plan):
        return _exact_deletions(plan, measure, progress)
    return measure_plan(plan, measure, n_processes, progress, checkpoint).result


@dataclass(frozen=True, eq=False)
class Measured:
    """A result, with what `row_influence` needs besides.

    Attributes
    ----------
    result : SensitivityResult
    job : Job
    compared, moved : ndarray of shape (n_rows,), dtype int64
        How often each row was compared, and had changed cluster; empty unless asked for.
    """

    result: SensitivityResult
    job: Job
    compared: NDArray[np.int64]
    moved: NDArray[np.int64]


def measure_plan(
    plan: Plan,
    measure: str,
    n_processes: int,
    progress: Shown,
    checkpoint: str | os.PathLike[str] | None = None,
    per_row: bool = False,
) -> Measured:
    """Fit the bases, run all units that no checkpoint holds, put the numbers together."""
    store = None if checkpoint is None else Checkpoint(checkpoint, describe_plan(plan, per_row))
    blocks = [] if store is None else store.load()
    units = plan.units()
    known = {(int(c), int(t)) for block in blocks for c, t in block.units}
    todo = [unit for unit in units if unit not in known]
    shown = Progress(progress, plan.n_base_fits + len(units) * plan.repeats)
    shown.skip((len(units) - len(todo)) * plan.repeats)

    def take(block: Block) -> None:
        if store is not None:
            store.store(block)
        blocks.append(block)
        shown.advance(block.units.shape[0] * plan.repeats)

    try:
        with limit_threads():
            job, base_failures = fit_bases(plan, shown.advance, per_row)
            ending = run_units(job, todo, n_processes, take)
    finally:
        shown.close()
    if not blocks and ending.note and not ending.deaths:
        raise KeyboardInterrupt
    blocks.extend(ending.deaths)
    result = put_together(job, measure, blocks, base_failures, ending.note)
    report_gaps(result, len(units) * plan.repeats * len(plan.ks), ending.retried)
    n_rows = plan.bases[0].rows.shape[0] if per_row else 0
    nothing = np.zeros(n_rows, dtype=np.int64)
    return Measured(
        result=result,
        job=job,
        compared=sum((block.compared for block in blocks), start=nothing),
        moved=sum((block.moved for block in blocks), start=nothing),
    )


def check_checkpoint(checkpoint: Any, random_state: Any) -> None:
    """Reject a checkpoint that no other run could continue."""
    if checkpoint is not None and not isinstance(random_state, int | np.integer):
        raise ValueError(
            f"checkpoint needs an integer random_state, so that another run can continue; got "
            f"{random_state!r}."
        )


def has_exact_deletions(plan: Plan) -> bool:
    """Whether all deletions of this plan follow from the structure of the tree."""
    return (
        plan.exhaustive
        and plan.coupling == "same_seed"
        and isinstance(plan.clusterer, KMedianClusterer)
        and plan.clusterer.estimator.method == "tree"
    )


def _exact_deletions(plan: Plan, measure: str, progress: Shown) -> SensitivityResult:
    """All single deletions for each seed, without refits."""
    from holdfast.stability.deletions import matched_after_deletions

    assert isinstance(plan.clusterer, KMedianClusterer)
    rows = np.ascontiguousarray(plan.bases[0].rows, dtype=np.float64)
    n_rows = rows.shape[0]
    matched = np.full((1, len(plan.ks), n_rows, plan.repeats), np.nan)
    shown = Progress(progress, plan.repeats, "seeds")
    note = ""
    try:
        for repeat, seed in enumerate(plan.base_seeds):
            counts = matched_after_deletions(plan.clusterer.estimator, rows, list(plan.ks), seed)
            matched[0, :, :, repeat] = counts.T
            shown.advance(1)
    except KeyboardInterrupt:
        if not np.isfinite(matched).any():
            raise
        note = "interrupted by the keyboard"
    finally:
        shown.close()
    result = SensitivityResult(
        clusterer=plan.clusterer.name,
        measure=measure,
        coupling=plan.coupling,
        changes=tuple(change.name for change in plan.changes),
        n_clusters=plan.ks,
        exhaustive=True,
        seeds=plan.base_seeds,
        n_before=np.array([float(n_rows)]),
        n_after=np.full((1, n_rows), n_rows - 1.0),
        n_kept=np.full((1, n_rows), n_rows - 1.0),
        matched=matched,
        complete=not note,
        note=note,
    )
    report_gaps(result, matched.size)
    return result


def mean_cost(
    clusterer: Any, X: Rows, *, n_clusters: int | ArrayLike, seeds: Sequence[int]
) -> NDArray[np.float64]:
    """k-median cost of a clusterer's cuts, averaged over seeds.

    Parameters
    ----------
    clusterer : object
        As for `average_sensitivity`.
    X : ndarray of shape (n_samples, n_features)
    n_clusters : int or sequence of int
    seeds : sequence of int
        The random states of the fits, such as `SensitivityResult.seeds`. Deterministic clusterers
        are fitted once.

    Returns
    -------
    ndarray of shape (n_values,), dtype float64
        One cost for each number of clusters; see `holdfast.k_median_cost`.
    """
    mean: NDArray[np.float64] = cost_by_seed(clusterer, X, n_clusters=n_clusters, seeds=seeds).mean(
        axis=0
    )
    return mean


def cost_by_seed(
    clusterer: Any, X: Rows, *, n_clusters: int | ArrayLike, seeds: Sequence[int]
) -> NDArray[np.float64]:
    """k-median cost for each seed and number of clusters; see `mean_cost`.

    Returns
    -------
    ndarray of shape (n_seeds, n_values), dtype float64
    """
    ks = check_ks(n_clusters)
    adapted = as_clusterer(clusterer, max_clusters=max(ks))
    used = seeds if adapted.randomized else seeds[:1]
    costs = np.empty((len(seeds), len(ks)))
    for i, seed in enumerate(used):
        fitted = adapted.fit(X, seed)
        known: dict[bytes, float] = {}  # nested cuts have most clusters in common
        costs[i:] = [_cost_of_cut(X, np.asarray(fitted.cut(k)), known) for k in ks]
    return costs


def _cost_of_cut(X: Rows, labels: NDArray[Any], known: dict[bytes, float]) -> float:
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    total = 0.0
    for members in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        key = members.tobytes()
        if key not in known:
            known[key] = k_median_cost(X[members], np.zeros(members.size, dtype=np.int64))
        total += known[key]
    return total
