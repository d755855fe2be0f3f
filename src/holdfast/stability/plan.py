"""Arguments -> what is to be fitted: validated once, the same in every process.

A plan has *bases* (the rows of the unperturbed fits), *changes* (ways to perturb a base) and
*units*, pairs (change, trial): the smallest piece of work, all repeats and all k of one perturbed
data set. A unit's data are a function of the plan's seed, the change's name and the trial.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from holdfast._machine.hash import seed_from
from holdfast.clusterers import Clusterer, as_clusterer
from holdfast.clusterers.protocol import Rows
from holdfast.stability.keys import keyed_generator, keyed_seed, repeat_seeds
from holdfast.stability.measures import check_kept
from holdfast.stability.perturb import Delete, Perturbation, as_perturbation, draw_rows

__all__ = ["COUPLINGS", "Base", "Change", "Plan", "Unit", "build_plan", "check_count", "check_rows"]

COUPLINGS = ("same_seed", "earth_mover")

_MOST_SELF_SETS = 20

Unit = tuple[int, int]
"""(change, trial)"""


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
    """One way to change one base.

    Attributes
    ----------
    name : str
    base : int
        Which base.
    perturbation : Perturbation
    """

    name: str
    base: int
    perturbation: Perturbation


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that decides the numbers, and nothing else.

    Attributes
    ----------
    clusterer : Clusterer
    bases : tuple of Base
    changes : tuple of Change
    ks : tuple of int
    n_trials : int
    exhaustive : bool
        Trial t deletes row t, for every row.
    repeats : int
    coupling : {"same_seed", "earth_mover"}
    seed : int
        64 bits.
    limit : int or None
        So many of the rows are deleted in turn; None for all of them.
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
        """Sets of outputs of the unperturbed rows that the earth mover's distance is checked on."""
        if self.coupling == "same_seed":
            return 0
        return min(max(self.n_trials, 2), _MOST_SELF_SETS)

    def self_seeds(self, number: int) -> tuple[int, ...]:
        """Seeds of one such set, independent of all others."""
        return tuple(keyed_seed(self.seed, "self", number, r) for r in range(self.repeats))

    @property
    def n_base_fits(self) -> int:
        """Fits of unperturbed rows."""
        return len(self.bases) * self.repeats * (1 + self.n_self_sets)

    def trial_seeds(self, trial: int) -> tuple[int, ...]:
        """Seeds of a trial's fits: those of the base, or independent ones."""
        if self.coupling == "same_seed":
            return self.base_seeds
        return tuple(keyed_seed(self.seed, "output", trial, r) for r in range(self.repeats))

    def units(self) -> list[Unit]:
        """List all units: in order, or, where every row is deleted in turn, at random.

        What an interrupted run has done is then a fair sample even if the rows are sorted.
        """
        trials = np.arange(self.n_trials)
        if self.exhaustive:
            trials = keyed_generator(self.seed, "order").permutation(trials)[: self.limit]
        return [(c, int(t)) for t in trials for c in range(len(self.changes))]

    def limit_to(self, trials: Any) -> "Plan":
        """Return a plan that deletes only some rows, at random, where `trials` is a number."""
        if isinstance(trials, str) and trials == "all":
            return self
        check_count("trials", trials, 'an integer of at least 1, or "all"')
        return replace(self, limit=int(trials))

    def perturbed(self, unit: Unit) -> tuple[Rows, NDArray[np.int64]]:
        """Rows of a unit, and the row of the base that each one is (-1: none)."""
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
) -> Plan:
    """Validate the arguments of `average_sensitivity` and its relatives."""
    rows = check_rows(X)
    ks = check_ks(n_clusters)
    adapted = as_clusterer(clusterer, max_clusters=max(ks))
    if coupling not in COUPLINGS:
        raise ValueError(f"coupling must be one of {', '.join(COUPLINGS)}; got {coupling!r}.")
    check_count("repeats", repeats)
    perturbations = _list_perturbations(delete, perturb)
    seed = seed_from(random_state)
    bases, changes = _lay_out(rows, perturbations, ks, seed)
    exhaustive = isinstance(trials, str) and trials == "all"
    if exhaustive and [c.perturbation for c in changes] != [Delete(1)]:
        raise ValueError(
            'trials="all" deletes every row in turn: it needs delete=1 and nothing else; got '
            f"{', '.join(change.name for change in changes)}."
        )
    if not exhaustive:
        check_count("trials", trials, 'an integer of at least 1, or "all"')
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


def check_rows(X: ArrayLike) -> Rows:
    """Numbers, finite, at least two rows: with one, nothing can go."""
    rows: Rows = check_array(X, dtype="numeric", input_name="X", ensure_min_samples=2)
    return rows


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
    """Reject what is not a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be {wanted}; got {value!r}.")


def _list_perturbations(delete: Any, perturb: Any) -> list[Perturbation]:
    if delete is None:
        delete = (1,) if perturb is None else ()
    found: list[Perturbation] = [Delete(amount) for amount in _as_list(delete)]
    found += [as_perturbation(p) for p in ([] if perturb is None else _as_list(perturb))]
    if not found:
        raise ValueError("nothing to measure: give delete, perturb, or both.")
    names = [p.name for p in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"each change must be asked for once; got {name!r} twice.")
    return found


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | np.ndarray | range) else [value]


def _lay_out(
    rows: Rows, perturbations: list[Perturbation], ks: tuple[int, ...], seed: int
) -> tuple[tuple[Base, ...], tuple[Change, ...]]:
    """Hold rows back where a perturbation needs that; equal shares use the same base."""
    number: dict[float, int] = {}
    bases: list[Base] = []
    changes = []
    for perturbation in perturbations:
        share = perturbation.held_back
        if share not in number:
            number[share] = len(bases)
            bases.append(_hold_back(rows, share, seed))
        base = bases[number[share]]
        n_rows = base.rows.shape[0]
        check = getattr(perturbation, "check", None)
        left = n_rows if check is None else min(n_rows, check(n_rows, base.spare.shape[0]))
        if max(ks) > left:
            raise ValueError(
                f"n_clusters must be at most the number of rows left, {left} of {rows.shape[0]} "
                f"with {perturbation.name!r}; got n_clusters={max(ks)}."
            )
        changes.append(Change(perturbation.name, number[share], perturbation))
    return tuple(bases), tuple(changes)


def _hold_back(rows: Rows, share: float, seed: int) -> Base:
    if not 0.0 <= share < 1.0:
        raise ValueError(f"held_back must be at least 0 and less than 1; got {share!r}.")
    n_rows = rows.shape[0]
    n_spare = round(share * n_rows)
    if n_spare > n_rows - 1:
        raise ValueError(f"held_back={share!r} leaves none of {n_rows} rows for the base fit.")
    aside = np.zeros(n_rows, dtype=np.bool_)
    aside[draw_rows(n_rows, n_spare, keyed_generator(seed, f"hold back {share!r}"))] = True
    return Base(rows[~aside], rows[aside])
