"""Blocks, in whatever order they came -> one result, and a word about what is missing."""

import warnings

import numpy as np
from numpy.typing import NDArray

from holdfast.stability.blocks import Block, Failure
from holdfast.stability.result import SensitivityResult
from holdfast.stability.trials import Job

__all__ = ["put_together", "report_gaps"]


def put_together(
    job: Job, measure: str, blocks: list[Block], base_failures: tuple[Failure, ...], note: str
) -> SensitivityResult:
    """Sort the units of all blocks into arrays; their order leaves no trace."""
    plan = job.plan
    n_changes, n_ks, n_trials = len(plan.changes), len(plan.ks), plan.n_trials
    same_seed = plan.coupling == "same_seed"
    repeats = plan.repeats if same_seed else 1
    by_trial = np.full((2, n_changes, n_trials), np.nan)
    by_fit = np.full((2, n_changes, n_ks, n_trials, repeats), np.nan)
    jaccard = np.full((n_changes, n_ks, n_trials, repeats, job.most_clusters), np.nan)
    failures = list(base_failures)
    for block in blocks:
        wanted = block.units[:, 1] < n_trials  # a checkpoint may hold more trials
        c, t = block.units[wanted].T
        by_trial[:, c, t] = block.n_after[wanted], block.n_kept[wanted]
        by_fit[0, c, :, t] = block.matched[wanted]
        by_fit[1, c, :, t] = block.rand[wanted]
        jaccard[c, :, t] = block.jaccard[wanted]
        failures += [failure for failure in block.failures if failure.trial < n_trials]
    order = {change.name: c for c, change in enumerate(plan.changes)}
    failures.sort(key=lambda f: (f.trial, order.get(f.change, -1), f.repeat, f.n_clusters))
    bases = [plan.bases[change.base] for change in plan.changes]
    return SensitivityResult(
        clusterer=plan.clusterer.name,
        measure=measure,
        coupling=plan.coupling,
        changes=tuple(change.name for change in plan.changes),
        n_clusters=plan.ks,
        exhaustive=plan.exhaustive,
        seeds=plan.base_seeds,
        n_before=np.array([base.rows.shape[0] for base in bases], dtype=np.float64),
        n_after=by_trial[0],
        n_kept=by_trial[1],
        matched=by_fit[0],
        rand=by_fit[1] if same_seed else None,
        jaccard=_mean_over_trials(jaccard) if same_seed else None,
        matched_self=None if same_seed else job.matched_self[[c.base for c in plan.changes]],
        failures=tuple(failures),
        complete=not note,
        note=note,
    )


def _mean_over_trials(jaccard: NDArray[np.float64]) -> NDArray[np.float64]:
    present = np.isfinite(jaccard)
    total = np.where(present, jaccard, 0.0).sum(axis=2)
    mean: NDArray[np.float64] = np.where(
        present.any(axis=2), total / np.maximum(present.sum(axis=2), 1), np.nan
    )
    return mean


def report_gaps(result: SensitivityResult, n_values: int, retried: tuple[str, ...] = ()) -> None:
    """Warn about what is missing and what was computed twice; where nothing is left, raise."""
    failures = result.failures
    if retried:
        times = "once" if len(retried) == 1 else f"{len(retried)} times"
        warnings.warn(
            f"worker processes died {times}, first like this: {retried[0]} What they were working "
            "on was computed again, with the same numbers as if nothing had happened. If memory "
            "ran out, a smaller n_jobs needs less.",
            stacklevel=4,
        )
    if failures and not np.isfinite(result.matched).any():
        raise RuntimeError(f"all fits failed; the first in {failures[0]}")
    if failures:
        warnings.warn(
            f"{len(failures)} of about {n_values} fits failed; the first in {failures[0]}. Their "
            "values are missing; `failures` lists them.",
            stacklevel=4,
        )
    if not result.complete:
        present = int(np.isfinite(result.matched).sum())
        warnings.warn(
            f"{result.note}: {present} of {result.matched.size} values were computed.", stacklevel=4
        )
