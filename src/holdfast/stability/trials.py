"""Units of work -> numbers: perturb, fit, cut, compare. Runs in any process.

Data flow: `fit_bases` (once, unperturbed) -> `Job` -> `run_block` (some units of the plan) ->
`Block`, arrays with one row per unit.

Invariant: a unit's numbers depend on the plan and on that unit alone, so units can be split into
blocks and ordered in any way. A fit that fails leaves NaN and a `Failure`; the others go on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats
from holdfast.clusterers.adapt import Cuttable, Rows
from holdfast.stability.measures import (
    Labels,
    adjusted_rand,
    cluster_jaccard,
    encode_labels,
    match_labels_of,
    match_outputs,
    mutual_information,
    remaining_rows,
)
from holdfast.stability.plan import Plan, Unit

Cuts = Sequence[Labels | None]
"""The result of one fit: labels for each k, None where it failed."""

Counts = NDArray[np.int64]


class WrongLabelsError(ValueError):
    """A clusterer did not return one label for each row."""


@dataclass(frozen=True)
class Failure:
    """A fit or cut that raised an exception, or a worker process that died.

    Attributes
    ----------
    change : str
        Name of the change; "" for a fit of the unperturbed rows.
    trial : int
        -1 for a fit of the unperturbed rows.
    repeat : int
        Index of the seed; -1 for all of them.
    n_clusters : int
        Number of clusters of the cut; -1 for all of them.
    error : str
        Type and message of the exception.
    """

    change: str
    trial: int
    repeat: int
    n_clusters: int
    error: str

    def __str__(self) -> str:
        """Say where it happened, then what."""
        where = "the unperturbed rows" if self.trial < 0 else f"trial {self.trial} ({self.change})"
        seed = "" if self.repeat < 0 else f", repeat {self.repeat}"
        cut = "" if self.n_clusters < 0 else f", k={self.n_clusters}"
        return f"{where}{seed}{cut}: {self.error}"


PER_FIT = ("matched", "rand", "information", "found")
"""What is measured of each fit; see `SensitivityResult`."""


@dataclass(frozen=True, eq=False)
class Block:
    """Numbers of some units; R repeats, or 1 with the earth mover's distance."""

    units: Counts
    n_after: Floats
    n_kept: Floats
    matched: Floats  # units, K, R; so are the next three
    rand: Floats
    information: Floats
    found: Floats
    jaccard: Floats  # units, K, R, most clusters
    compared: Counts  # by row, over all units: how often it was compared, and had moved
    moved: Counts
    labels: NDArray[np.int32]  # units, K, R, rows; -1 is noise, -2 a row without a label
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """What every process needs to run any unit."""

    plan: Plan
    base_labels: tuple[tuple[Cuts, ...], ...]  # of the unperturbed rows by base, seed and k
    most_clusters: int  # of an unperturbed cut
    matched_self: Floats  # bases, K, sets; see `SensitivityResult`
    per_row: bool = False  # whether to count for each row how often it changed cluster
    keep_labels: bool = False


def fit_bases(
    plan: Plan, after_fit: Callable[[int], None], per_row: bool = False, keep_labels: bool = False
) -> tuple[Job, tuple[Failure, ...]]:
    """Fit all bases with all seeds; an error if labels are wrong or every seed fails."""
    failures: list[Failure] = []

    def fit_all(rows: Rows, seeds: tuple[int, ...]) -> tuple[Cuts, ...]:
        outputs = []
        for repeat, seed in enumerate(seeds):
            outputs.append(_fit_and_cut(plan, rows, seed, ("", -1, repeat), failures))
            after_fit(1)
        return tuple(outputs)

    base_labels = []
    matched_self = np.full((len(plan.bases), len(plan.ks), plan.n_self_sets), np.nan)
    for b, base in enumerate(plan.bases):
        outputs = fit_all(base.rows, plan.base_seeds)
        if all(labels is None for output in outputs for labels in output):
            raise RuntimeError(f"the clusterer failed with every seed on {failures[-1]}")
        base_labels.append(outputs)
        for number in range(plan.n_self_sets):
            others = fit_all(base.rows, plan.seeds_of("self", number))
            matched_self[b, :, number] = _match_by_k(outputs, others)
    cuts = (labels for outputs in base_labels for output in outputs for labels in output)
    most = max(labels.count for labels in cuts if labels is not None)
    job = Job(plan, tuple(base_labels), most, matched_self, per_row, keep_labels)
    return job, tuple(failures)


def empty_block(job: Job, units: list[Unit], failures: tuple[Failure, ...] = ()) -> Block:
    """Build a block without numbers yet."""
    n_units, n_ks = len(units), len(job.plan.ks)
    repeats = 1 if job.plan.coupling == "earth_mover" else job.plan.repeats
    n_rows = job.plan.bases[0].rows.shape[0]
    counted, kept = n_rows * job.per_row, n_rows * job.keep_labels
    shape = (n_units, n_ks, repeats)
    return Block(
        units=np.array(units, dtype=np.int64).reshape(n_units, 2),
        n_after=np.full(n_units, np.nan),
        n_kept=np.full(n_units, np.nan),
        **{name: np.full(shape, np.nan) for name in PER_FIT},
        jaccard=np.full((*shape, job.most_clusters), np.nan),
        compared=np.zeros(counted, dtype=np.int64),
        moved=np.zeros(counted, dtype=np.int64),
        labels=np.full((*shape, kept), -2, dtype=np.int32),
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
            failures.append(Failure(change.name, trial, -1, -1, _say(error)))
            continue
        compared = remaining_rows(source)
        block.n_kept[i] = compared.size
        block.n_after[i] = compared.size + np.count_nonzero(source < 0)
        after = [
            _fit_and_cut(job.plan, rows, seed, (change.name, trial, repeat), failures)
            for repeat, seed in enumerate(job.plan.seeds_of("output", trial))
        ]
        before = _select_rows(job.base_labels[change.base], source[compared])
        after = _select_rows(after, compared)
        if job.plan.coupling == "earth_mover":
            block.matched[i, :, 0] = _match_by_k(before, after)
        else:
            _compare_same_seed(block, i, before, after, source[compared])
    return replace(block, failures=tuple(failures))


def _compare_same_seed(
    block: Block, i: int, before: list[Cuts], after: list[Cuts], rows: Counts
) -> None:
    """Fill row i of a block: each seed's cuts before against the same seed's cuts after."""
    for repeat, (cuts_before, cuts_after) in enumerate(zip(before, after, strict=True)):
        for j, (a, b) in enumerate(zip(cuts_before, cuts_after, strict=True)):
            if a is None or b is None:
                continue
            table, match = match_labels_of(a, b)
            block.matched[i, j, repeat] = match.matched
            block.rand[i, j, repeat] = adjusted_rand(table)
            block.information[i, j, repeat] = mutual_information(table)
            block.found[i, j, repeat] = np.count_nonzero(table.sum(axis=0)[: b.n_clusters])
            block.jaccard[i, j, repeat, : a.count] = cluster_jaccard(table)[: a.count]
            if block.labels.size:
                noise = b.count - 1 if b.noise else -1
                block.labels[i, j, repeat, rows] = np.where(b.codes == noise, -1, b.codes)
            if block.moved.size:
                partner = np.full(table.shape[0], -1)
                partner[match.before] = match.after
                block.compared[rows] += 1
                block.moved[rows] += partner[a.codes] != b.codes


def _match_by_k(before: Sequence[Cuts], after: Sequence[Cuts]) -> list[float]:
    """For each k, the mean matched rows under the best assignment of outputs."""
    by_k = zip(zip(*before, strict=True), zip(*after, strict=True), strict=True)
    return [match_outputs(cuts_before, cuts_after) for cuts_before, cuts_after in by_k]


def _select_rows(outputs: Sequence[Cuts], rows: Counts) -> list[Cuts]:
    return [[None if labels is None else labels[rows] for labels in output] for output in outputs]


def _fit_and_cut(
    plan: Plan, rows: Rows, seed: int, where: tuple[str, int, int], failures: list[Failure]
) -> Cuts:
    """Labels for each k; None, and a failure, where the clusterer raises an exception."""
    try:
        fitted = plan.clusterer.fit(rows, seed)
    except Exception as error:  # noqa: BLE001
        failures.append(Failure(*where, -1, _say(error)))
        return (None,) * len(plan.ks)
    cuts: list[Labels | None] = []
    for k in plan.ks:
        try:
            cuts.append(_cut(plan, fitted, k, rows.shape[0]))
        except Exception as error:
            if isinstance(error, WrongLabelsError) and where[1] < 0:
                raise
            failures.append(Failure(*where, k, _say(error)))
            cuts.append(None)
    return tuple(cuts)


def _say(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _cut(plan: Plan, fitted: Cuttable, k: int, n_rows: int) -> Labels:
    labels = fitted.cut(k)
    try:
        return encode_labels(labels, n_rows)
    except (TypeError, ValueError) as error:
        raise WrongLabelsError(
            f"{plan.clusterer.name} returned wrong labels for k={k}: {error}"
        ) from None
