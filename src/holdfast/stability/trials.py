"""Units of work -> numbers: fit, cut, compare. Runs in any process.

Data flow: `fit_bases` (once, unperturbed) -> `Job` -> `run_block` (some units of the plan) ->
`Block`, arrays with a row for each unit.

Invariant: a unit's numbers depend on the plan and on that unit alone, so blocks may be cut and
ordered in any way. A fit that fails leaves NaN and a `Failure`; the others go on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.clusterers import Cuttable
from holdfast.clusterers.protocol import Rows
from holdfast.stability.blocks import Block, Failure
from holdfast.stability.earth_mover import mean_matched
from holdfast.stability.measures import (
    Labels,
    adjusted_rand,
    cluster_jaccard,
    encode_labels,
    match_clusters,
    overlap_table,
    survivors,
)
from holdfast.stability.plan import Plan, Unit

__all__ = ["BaseLabels", "Job", "WrongLabelsError", "empty_block", "fit_bases", "run_block"]

Cuts = tuple[Labels | None, ...]
"""What one fit gives: labels for each k, None where it failed."""

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


class WrongLabelsError(ValueError):
    """A clusterer returned something that is not one label for each row."""


@dataclass(frozen=True, eq=False)
class BaseLabels:
    """Labels of the unperturbed rows of one base.

    Attributes
    ----------
    labels : tuple of tuple of Labels or None
        For each seed and each k; None where the fit or cut failed.
    """

    labels: tuple[Cuts, ...]


@dataclass(frozen=True, eq=False)
class Job:
    """What every process needs to run any unit.

    Attributes
    ----------
    plan : Plan
    bases : tuple of BaseLabels
    most_clusters : int
        The largest number of clusters of an unperturbed cut.
    matched_self : ndarray of shape (n_bases, K, n_self_sets), dtype float64
        For the earth mover's distance: the matched rows between the outputs that trials are
        compared with and other outputs of the same rows.
    per_row : bool
        Whether to count, for each row, how often it changed cluster.
    """

    plan: Plan
    bases: tuple[BaseLabels, ...]
    most_clusters: int
    matched_self: Numbers
    per_row: bool = False


def fit_bases(
    plan: Plan, after_fit: Callable[[int], None], per_row: bool = False
) -> tuple[Job, tuple[Failure, ...]]:
    """Fit all bases with all seeds; `after_fit` is called with the number of fits done.

    A clusterer that returns the wrong number of labels, or fails with every seed, is an error.
    """
    failures: list[Failure] = []

    def fit_all(rows: Rows, seeds: tuple[int, ...]) -> tuple[Cuts, ...]:
        outputs = []
        for repeat, seed in enumerate(seeds):
            outputs.append(_fit_and_cut(plan, rows, seed, _Notes("", -1, repeat, failures)))
            after_fit(1)
        return tuple(outputs)

    bases = []
    matched_self = np.full((len(plan.bases), len(plan.ks), plan.n_self_sets), np.nan)
    for b, base in enumerate(plan.bases):
        outputs = fit_all(base.rows, plan.base_seeds)
        if all(labels is None for output in outputs for labels in output):
            raise RuntimeError(f"the clusterer failed with every seed on {failures[-1]}")
        bases.append(BaseLabels(outputs))
        for number in range(plan.n_self_sets):
            others = fit_all(base.rows, plan.self_seeds(number))
            matched_self[b, :, number] = _transport(outputs, others)
    most = max(
        labels.count
        for base_labels in bases
        for output in base_labels.labels
        for labels in output
        if labels is not None
    )
    return Job(plan, tuple(bases), most, matched_self, per_row), tuple(failures)


def empty_block(job: Job, units: list[Unit], failures: tuple[Failure, ...] = ()) -> Block:
    """Build a block without numbers yet."""
    n_units, n_ks = len(units), len(job.plan.ks)
    repeats = 1 if job.plan.coupling == "earth_mover" else job.plan.repeats
    n_rows = job.plan.bases[0].rows.shape[0] if job.per_row else 0
    return Block(
        units=np.array(units, dtype=np.int64).reshape(n_units, 2),
        n_after=np.full(n_units, np.nan),
        n_kept=np.full(n_units, np.nan),
        matched=np.full((n_units, n_ks, repeats), np.nan),
        rand=np.full((n_units, n_ks, repeats), np.nan),
        jaccard=np.full((n_units, n_ks, repeats, job.most_clusters), np.nan),
        compared=np.zeros(n_rows, dtype=np.int64),
        moved=np.zeros(n_rows, dtype=np.int64),
        failures=failures,
    )


def run_block(job: Job, units: list[Unit]) -> Block:
    """Perturb, fit, cut and compare for each unit."""
    failures: list[Failure] = []
    block = empty_block(job, units)
    for i, unit in enumerate(units):
        change, trial = job.plan.changes[unit[0]], unit[1]
        try:
            rows, source = job.plan.perturbed(unit)
        except Exception as error:  # noqa: BLE001  # a user's code: any
            failures.append(Failure(change.name, trial, -1, -1, _describe(error)))
            continue
        compared = survivors(source)
        block.n_kept[i] = compared.size
        block.n_after[i] = compared.size + np.count_nonzero(source < 0)
        outputs = [
            _fit_and_cut(job.plan, rows, seed, _Notes(change.name, trial, repeat, failures))
            for repeat, seed in enumerate(job.plan.trial_seeds(trial))
        ]
        base = job.bases[change.base].labels
        if job.plan.coupling == "earth_mover":
            block.matched[i, :, 0] = _transport(
                [[_at(labels, source[compared]) for labels in output] for output in base],
                [[_at(labels, compared) for labels in output] for output in outputs],
            )
        else:
            _compare_same_seed(block, i, base, outputs, source, compared)
    return replace(block, failures=tuple(failures))


def _compare_same_seed(
    block: Block,
    i: int,
    base: tuple[Cuts, ...],
    outputs: list[Cuts],
    source: Counts,
    compared: Counts,
) -> None:
    """Fill row i of a block: every seed's cuts before against the same seed's after."""
    old_rows = source[compared]
    for repeat, (cuts_before, cuts_after) in enumerate(zip(base, outputs, strict=True)):
        for j, (labels_before, labels_after) in enumerate(
            zip(cuts_before, cuts_after, strict=True)
        ):
            if labels_before is None or labels_after is None:
                continue
            before, after = labels_before[old_rows], labels_after[compared]
            table = overlap_table(before, after)
            match = match_clusters(table)
            block.matched[i, j, repeat] = match.matched
            block.rand[i, j, repeat] = adjusted_rand(table)
            block.jaccard[i, j, repeat, : table.shape[0]] = cluster_jaccard(table)
            if block.moved.size:
                partner = np.full(table.shape[0], -1)
                partner[match.before] = match.after
                block.compared[old_rows] += 1
                block.moved[old_rows] += partner[before.codes] != after.codes


def _transport(
    before: Sequence[Sequence[Labels | None]], after: Sequence[Sequence[Labels | None]]
) -> list[float]:
    """For each k, the mean matched rows under the best assignment of outputs."""
    by_k = zip(zip(*before, strict=True), zip(*after, strict=True), strict=True)
    return [mean_matched(cuts_before, cuts_after) for cuts_before, cuts_after in by_k]


def _at(labels: Labels | None, rows: Counts) -> Labels | None:
    return None if labels is None else labels[rows]


@dataclass(frozen=True)
class _Notes:
    """Where a failure happens, and the list that it goes to."""

    change: str
    trial: int
    repeat: int
    failures: list[Failure]

    def add(self, error: Exception, k: int = -1) -> None:
        self.failures.append(Failure(self.change, self.trial, self.repeat, k, _describe(error)))


def _fit_and_cut(plan: Plan, rows: Rows, seed: int, notes: _Notes) -> Cuts:
    """Labels for each k; None, and a note, where the clusterer fails."""
    try:
        fitted = plan.clusterer.fit(rows, seed)
    except Exception as error:  # noqa: BLE001
        notes.add(error)
        return (None,) * len(plan.ks)
    cuts: list[Labels | None] = []
    for k in plan.ks:
        try:
            cuts.append(_cut(plan, fitted, k, rows.shape[0]))
        except Exception as error:
            if isinstance(error, WrongLabelsError) and notes.trial < 0:
                raise
            notes.add(error, k)
            cuts.append(None)
    return tuple(cuts)


def _cut(plan: Plan, fitted: Cuttable, k: int, n_rows: int) -> Labels:
    labels = fitted.cut(k)
    try:
        return encode_labels(labels, n_rows)
    except (TypeError, ValueError) as error:
        raise WrongLabelsError(
            f"{plan.clusterer.name} returned wrong labels for k={k}: {error}"
        ) from None


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
