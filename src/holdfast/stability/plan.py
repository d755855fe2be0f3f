"""Arguments -> what to fit: validated once, the same in every process.

A plan has *bases* (the rows of the unperturbed fits), *changes* (ways to perturb a base) and
*units*, pairs (change, trial): the smallest piece of work, all repeats and all k of one perturbed
data set. Nothing is drawn from a shared stream: every seed and generator is keyed by the plan's
seed, a purpose and a trial, so a trial depends neither on the order of trials nor on the others.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.hash import combine_arrays, purpose_key, seed_from
from holdfast.clusterers import Clusterer, as_clusterer
from holdfast.clusterers.adapt import EstimatorClusterer, FunctionClusterer, Rows
from holdfast.clusterers.data import SelectingClusterer, as_selectable, check_rows
from holdfast.stability.measures import check_kept
from holdfast.stability.perturb import Delete, Jitter, Perturbation, as_perturbation, draw_rows

__all__ = [
    "CHOSEN",
    "Base",
    "Change",
    "Plan",
    "Unit",
    "build_plan",
    "check_count",
    "check_ks",
    "check_rows",
    "keyed_generator",
    "keyed_seed",
    "repeat_seeds",
]

_COUPLINGS = ("same_seed", "earth_mover")
_MOST_SELF_SETS = 20
_TRIALS_WANTED = 'an integer of at least 1, or "all"'

CHOSEN = 0
"""Stands for the number of clusters that a clusterer chooses itself."""

Unit = tuple[int, int]
"""(change, trial)"""

_key_of_purpose = lru_cache(maxsize=256)(purpose_key)


@dataclass(frozen=True, eq=False)
class Base:
    """Rows that are fitted unperturbed, and those held back.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    spare : ndarray of shape (n_spare, n_features)
    """

    rows: Rows
    spare: Rows


@dataclass(frozen=True)
class Change:
    """One way to perturb one base.

    Attributes
    ----------
    name : str
    base : int
        Index of the base.
    perturbation : Perturbation
    """

    name: str
    base: int
    perturbation: Perturbation


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that the numbers depend on, and nothing else.

    Attributes
    ----------
    clusterer : Clusterer
    bases : tuple of Base
    changes : tuple of Change
    ks : tuple of int
        `CHOSEN` alone if the clusterer chooses the number of clusters.
    n_trials : int
    exhaustive : bool
        Whether trial t removes row t, for every row.
    repeats : int
    coupling : {"same_seed", "earth_mover"}
    seed : int
        64 bits.
    limit : int or None
        How many rows an exhaustive plan removes in turn; None for all of them.
    """

    clusterer: Clusterer
    bases: tuple[Base, ...]
    changes: tuple[Change, ...]
    ks: tuple[int, ...]
    n_trials: int
    exhaustive: bool
    repeats: int
    coupling: str
    seed: int
    limit: int | None = None

    @cached_property
    def base_seeds(self) -> tuple[int, ...]:
        """Seeds of the unperturbed fits that trials are compared with."""
        return repeat_seeds(self.seed, self.repeats)

    @property
    def n_self_sets(self) -> int:
        """Number of sets of outputs of the unperturbed rows, for the self-distance."""
        if self.coupling == "same_seed":
            return 0
        return min(max(self.n_trials, 2), _MOST_SELF_SETS)

    def self_seeds(self, number: int) -> tuple[int, ...]:
        """Seeds of one such set, independent of all others."""
        return tuple(keyed_seed(self.seed, "self", number, r) for r in range(self.repeats))

    @property
    def n_base_fits(self) -> int:
        """Number of fits of unperturbed rows."""
        return len(self.bases) * self.repeats * (1 + self.n_self_sets)

    def trial_seeds(self, trial: int) -> tuple[int, ...]:
        """Seeds of a trial's fits: those of the base, or independent ones."""
        if self.coupling == "same_seed":
            return self.base_seeds
        return tuple(keyed_seed(self.seed, "output", trial, r) for r in range(self.repeats))

    def units(self) -> list[Unit]:
        """List all units: in order, or in random order if every row is removed in turn.

        An interrupted run is then a fair sample even if the rows are sorted.
        """
        trials = np.arange(self.n_trials)
        if self.exhaustive:
            trials = keyed_generator(self.seed, "order").permutation(trials)[: self.limit]
        return [(c, int(t)) for t in trials for c in range(len(self.changes))]

    def limit_to(self, trials: Any) -> "Plan":
        """Return a plan that removes only `trials` of the rows in turn, unless that is "all"."""
        if isinstance(trials, str) and trials == "all":
            return self
        check_count("trials", trials, _TRIALS_WANTED)
        return replace(self, limit=int(trials))

    def perturbed(self, unit: Unit) -> tuple[Rows, NDArray[np.int64]]:
        """Rows of a unit, and the index in the base of each one (-1: none)."""
        change = self.changes[unit[0]]
        base = self.bases[change.base]
        if self.exhaustive:
            kept = np.delete(np.arange(base.rows.shape[0]), unit[1])
            return base.rows[kept], kept
        rng = keyed_generator(self.seed, f"perturb: {change.name}", unit[1])
        rows, kept = change.perturbation.perturb(base.rows, base.spare, rng)
        return rows, check_kept(kept, base.rows.shape[0], rows.shape[0])


def build_plan(
    clusterer: Any,
    X: ArrayLike,
    *,
    n_clusters: Any,
    delete: Any,
    perturb: Any,
    trials: Any,
    repeats: Any,
    coupling: Any,
    random_state: Any,
    pairwise: bool | None = None,
) -> Plan:
    """Validate the arguments of `average_sensitivity` and its relatives."""
    ks = (CHOSEN,) if n_clusters is None else check_ks(n_clusters)
    adapted = as_clusterer(clusterer, max_clusters=max(ks) or None)
    if n_clusters is None and not _chooses_k(adapted):
        raise ValueError(
            f"n_clusters may be left out only for clusterers that choose the number of clusters "
            f"themselves; {adapted.name} does not. Pass n_clusters."
        )
    adapted, rows = as_selectable(adapted, X, pairwise)
    if coupling not in _COUPLINGS:
        raise ValueError(f"coupling must be one of {', '.join(_COUPLINGS)}; got {coupling!r}.")
    check_count("repeats", repeats)
    perturbations = _list_perturbations(delete, perturb)
    if isinstance(adapted, SelectingClusterer):
        _refuse_jitter(perturbations, X, adapted.pairwise)
    seed = seed_from(random_state)
    bases, changes = _assign_bases(rows, perturbations, ks, seed)
    exhaustive = isinstance(trials, str) and trials == "all"
    if exhaustive and [c.perturbation for c in changes] != [Delete(1)]:
        raise ValueError(
            'trials="all" removes every row in turn and needs delete=1 and nothing else; got '
            f"{', '.join(change.name for change in changes)}."
        )
    if not exhaustive:
        check_count("trials", trials, _TRIALS_WANTED)
    return Plan(
        clusterer=adapted,
        bases=bases,
        changes=changes,
        ks=ks,
        n_trials=rows.shape[0] if exhaustive else int(trials),
        exhaustive=exhaustive,
        repeats=int(repeats) if adapted.randomized else 1,
        coupling=coupling,
        seed=seed,
    )


def _refuse_jitter(perturbations: list[Perturbation], X: Any, pairwise: bool) -> None:
    if any(isinstance(perturbation, Jitter) for perturbation in perturbations):
        raise ValueError(
            f"Jitter changes values and needs an array of numbers; got X of type "
            f"{type(X).__name__}{' with distances' if pairwise else ''}. Use delete, Add, Replace or "
            "Bootstrap."
        )


def keyed_seed(seed: int, what: str, *numbers: int) -> int:
    """Derive a seed for a clusterer: 32 bits, the range that scikit-learn accepts."""
    return _key(seed, what, numbers) >> 32


def repeat_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Derive the seeds of the unperturbed fits."""
    return tuple(keyed_seed(seed, "repeat", repeat) for repeat in range(count))


def keyed_generator(seed: int, what: str, *numbers: int) -> np.random.Generator:
    """Build a generator for one purpose, such as one trial of one kind of change."""
    return np.random.Generator(np.random.Philox(key=_key(seed, what, numbers)))


def _key(seed: int, what: str, numbers: tuple[int, ...]) -> int:
    key = np.array([_key_of_purpose(seed, f"stability: {what}")])
    for number in numbers:
        key = combine_arrays(key, np.array([number], dtype=np.uint64))
    return int(key[0])


def _chooses_k(clusterer: Clusterer) -> bool:
    """Whether a clusterer needs no k: an estimator without such a parameter, or any function."""
    if isinstance(clusterer, EstimatorClusterer):
        return not clusterer.count_parameters
    return isinstance(clusterer, FunctionClusterer)


def check_ks(n_clusters: Any) -> tuple[int, ...]:
    """Accept one number of clusters or several."""
    several = isinstance(n_clusters, Iterable) and not isinstance(n_clusters, str)
    ks = tuple(n_clusters) if several else (n_clusters,)
    if not ks:
        raise ValueError("n_clusters must be one or more integers; got none.")
    for k in ks:
        check_count("n_clusters", k)
    return tuple(int(k) for k in ks)


def check_count(name: str, value: Any, wanted: str = "an integer of at least 1") -> None:
    """Raise ValueError unless `value` is a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def _list_perturbations(delete: Any, perturb: Any) -> list[Perturbation]:
    if delete is None:
        delete = (1,) if perturb is None else ()
    found: list[Perturbation] = [Delete(amount) for amount in _as_list(delete)]
    found += [as_perturbation(p) for p in ([] if perturb is None else _as_list(perturb))]
    if not found:
        raise ValueError("no change to measure; pass delete, perturb, or both.")
    names = [p.name for p in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"each change must occur once; got {name!r} twice.")
    return found


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | np.ndarray | range) else [value]


def _assign_bases(
    rows: Rows, perturbations: list[Perturbation], ks: tuple[int, ...], seed: int
) -> tuple[tuple[Base, ...], tuple[Change, ...]]:
    """Hold rows back where a perturbation needs that; equal fractions use the same base."""
    bases: dict[float, Base] = {}
    changes = []
    for perturbation in perturbations:
        fraction = perturbation.held_back
        if fraction not in bases:
            bases[fraction] = _hold_back(rows, fraction, seed)
        base = bases[fraction]
        n_rows = base.rows.shape[0]
        check = getattr(perturbation, "check", None)
        left = n_rows if check is None else min(n_rows, check(n_rows, base.spare.shape[0]))
        if max(ks) > left:
            raise ValueError(
                f"n_clusters must be at most the number of rows left, {left} of {rows.shape[0]} "
                f"with {perturbation.name!r}; got n_clusters={max(ks)}."
            )
        changes.append(Change(perturbation.name, list(bases).index(fraction), perturbation))
    return tuple(bases.values()), tuple(changes)


def _hold_back(rows: Rows, fraction: float, seed: int) -> Base:
    if not 0.0 <= fraction < 1.0:
        raise ValueError(f"held_back must be at least 0 and less than 1; got {fraction!r}.")
    n_rows = rows.shape[0]
    n_spare = round(fraction * n_rows)
    if n_spare > n_rows - 1:
        raise ValueError(f"held_back must leave a row to fit; got {fraction!r} of {n_rows} rows.")
    held = np.zeros(n_rows, dtype=np.bool_)
    held[draw_rows(n_rows, n_spare, keyed_generator(seed, f"hold back {fraction!r}"))] = True
    return Base(rows[~held], rows[held])
