"""Arguments -> what to fit: validated once, the same in every process.

A `Perturbation` is one way to change a data set. A function ``(X, rng) -> (rows, kept)`` works as
well. A perturbation may have a method ``check(n_rows, n_spare)``: it returns the number of rows left
or raises ValueError.

A plan has *bases* (the rows of the unperturbed fits), *changes* (perturbations of a base) and
*units*, pairs (change, trial): all repeats and all k of one perturbed data set. Every seed and
generator is keyed by the plan's seed, a purpose and a trial, so trials do not depend on each other.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._machine.hash import combine_arrays, purpose_key, seed_from
from holdfast.clusterers import Clusterer, as_clusterer
from holdfast.clusterers.adapt import (
    EstimatorClusterer,
    FunctionClusterer,
    Rows,
    SelectingClusterer,
    as_selectable,
)
from holdfast.parameters import check_integer
from holdfast.stability.measures import check_kept

_COUPLINGS = ("same_seed", "earth_mover")
_MOST_SELF_SETS = 20

# The number of clusters that a clusterer chooses itself.
CHOSEN = 0

# (change, trial)
Unit = tuple[int, int]

# Rows, and the index of each one before the change; -1 for a new row.
Perturbed = tuple[Rows, NDArray[np.int64]]

_key_of_purpose = lru_cache(maxsize=256)(purpose_key)


@runtime_checkable
class Perturbation(Protocol):
    """One way to change a data set."""

    @property
    def name(self) -> str:
        """Label in results, and key of the random draws."""

    @property
    def held_back(self) -> float:
        """Fraction of the rows, below 1, that the first fit does not see; 0 for none."""

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Change `X`, with draws from `rng` only; `spare` has the rows held back.

        Returns
        -------
        rows : ndarray of shape (n_after, n_features)
        kept : ndarray of shape (n_after,), dtype int64
            The index in `X` of each row, or -1.
        """


@dataclass(frozen=True)
class Delete:
    """Remove rows at random.

    Parameters
    ----------
    amount : int or float
        Number of rows, or a fraction between 0 and 1 (rounded, at least one row).
    """

    amount: float
    held_back: ClassVar[float] = 0.0

    @property
    def name(self) -> str:
        """Such as ``"delete 5"`` or ``"delete 10%"``."""
        return f"delete {describe_amount(self.amount)}"

    def check(self, n_rows: int, n_spare: int) -> int:
        """Return the number of rows that remain."""
        count = _count_rows(self.amount, n_rows, "delete")
        if count >= n_rows:
            raise ValueError(
                f"delete must leave at least one row; got {count} deletions from {n_rows} rows."
            )
        return n_rows - count

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Keep all rows but `amount` of them, in their order."""
        removed = _draw_rows(X.shape[0], _count_rows(self.amount, X.shape[0], "delete"), rng)
        kept = np.delete(np.arange(X.shape[0]), removed)
        return X[kept], kept


@dataclass(frozen=True)
class Add:
    """Add rows that were held back from the first fit.

    Parameters
    ----------
    amount : int or float
        Number of rows, or a fraction of the rows of the first fit.
    held_back : float, default=0.2
        Fraction of the data to hold back.
    """

    amount: float
    held_back: float = 0.2

    @property
    def name(self) -> str:
        """Such as ``"add 5 (0.2 held back)"``."""
        what = type(self).__name__.lower()
        return f"{what} {describe_amount(self.amount)} ({self.held_back:.6g} held back)"

    def check(self, n_rows: int, n_spare: int) -> int:
        """Return the smallest number of rows."""
        count, what = self._count(n_rows), type(self).__name__
        if count > n_spare:
            raise ValueError(
                f"{what} needs {count} rows, but only {n_spare} are held back; increase held_back."
            )
        if what == "Replace" and count > n_rows:
            raise ValueError(f"Replace can replace at most all {n_rows} rows; got {count}.")
        return n_rows

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Append `amount` of the spare rows."""
        count = self._count(X.shape[0])
        new = spare[_draw_rows(spare.shape[0], count, rng)]
        kept = np.concatenate((np.arange(X.shape[0]), np.full(count, -1)))
        return np.concatenate((X, new)), kept

    def _count(self, n_rows: int) -> int:
        return _count_rows(self.amount, n_rows, type(self).__name__)


@dataclass(frozen=True)
class Replace(Add):
    """Replace rows by rows that were held back from the first fit; parameters as `Add`."""

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Overwrite `amount` of the rows."""
        count = self._count(X.shape[0])
        replaced = _draw_rows(X.shape[0], count, rng)
        rows, kept = X.copy(), np.arange(X.shape[0])
        rows[replaced] = spare[_draw_rows(spare.shape[0], count, rng)]
        kept[replaced] = -1
        return rows, kept


@dataclass(frozen=True)
class Bootstrap:
    """Draw as many rows as there are, with replacement.

    About 63% of the rows remain. A row drawn twice counts once when clusterings are compared.
    """

    name: ClassVar[str] = "bootstrap"
    held_back: ClassVar[float] = 0.0

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Draw rows, in their order."""
        kept = np.sort(rng.integers(X.shape[0], size=X.shape[0]))
        return X[kept], kept


@dataclass(frozen=True)
class Jitter:
    """Add normal noise to every value; no row is added or removed.

    Parameters
    ----------
    scale : float, default=0.01
        Standard deviation of the noise, as a fraction of each column's standard deviation.
    """

    scale: float = 0.01
    held_back: ClassVar[float] = 0.0

    @property
    def name(self) -> str:
        """Such as ``"jitter 0.01"``."""
        return f"jitter {self.scale:.6g}"

    def check(self, n_rows: int, n_spare: int) -> int:
        """Return the number of rows, which stays the same."""
        if not 0.0 < self.scale < np.inf:
            raise ValueError(f"scale of Jitter must be positive and finite; got {self.scale!r}.")
        return n_rows

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Move every row a little."""
        noise = rng.standard_normal(X.shape) * (self.scale * X.std(axis=0))
        return X + noise, np.arange(X.shape[0])


@dataclass(frozen=True)
class _FunctionPerturbation:
    function: Callable[[Rows, np.random.Generator], Perturbed]
    name: str
    held_back: ClassVar[float] = 0.0

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        return self.function(X, rng)


def _as_perturbation(perturb: Any) -> Perturbation:
    """Accept a `Perturbation` or a function ``(X, rng) -> (rows, kept)``."""
    if isinstance(perturb, Perturbation) and not isinstance(perturb, type):
        return perturb
    if callable(perturb) and not isinstance(perturb, type):
        return _FunctionPerturbation(perturb, getattr(perturb, "__name__", repr(perturb)))
    raise TypeError(
        f"perturb must be a Perturbation, such as Delete(1) or Bootstrap(), or a function "
        f"(X, rng) -> (rows, kept); got {perturb!r}."
    )


def _draw_rows(n_rows: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `count` different rows out of `n_rows`."""
    return rng.choice(n_rows, size=count, replace=False, shuffle=False).astype(np.int64)


def _count_rows(amount: Any, n_rows: int, what: str) -> int:
    """Turn a count or a fraction into a number of rows, at least one."""
    number = isinstance(amount, Real) and not isinstance(amount, bool)
    whole = isinstance(amount, Integral)
    if not number or not (amount >= 1 if whole else 0.0 < float(amount) < 1.0):
        raise ValueError(
            f"{what} must be an integer or a fraction of the rows: at least 1, or between 0 and 1; got "
            f"{amount!r}. Write 1, not 1.0, for one row."
        )
    return int(amount) if whole else max(1, round(float(amount) * n_rows))


def describe_amount(amount: Any) -> str:
    """Name an amount of rows: ``5%`` or ``1``."""
    if isinstance(amount, Real) and not isinstance(amount, Integral):
        return f"{100.0 * float(amount):.6g}%"
    return str(amount)


@dataclass(frozen=True, eq=False)
class Base:
    """Rows that are fitted unperturbed, and those held back."""

    rows: Rows
    spare: Rows


@dataclass(frozen=True)
class Change:
    """One way to perturb one base, given by its index."""

    name: str
    base: int
    perturbation: Perturbation


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that the numbers depend on, and nothing else."""

    clusterer: Clusterer
    bases: tuple[Base, ...]
    changes: tuple[Change, ...]
    ks: tuple[int, ...]  # `CHOSEN` alone if the clusterer chooses the number of clusters
    n_trials: int
    exhaustive: bool  # whether trial t removes row t, for every row
    repeats: int
    coupling: str
    seed: int
    limit: int | None = None  # how many rows an exhaustive plan removes in turn; None for all

    @cached_property
    def base_seeds(self) -> tuple[int, ...]:
        """Seeds of the unperturbed fits that trials are compared with."""
        return repeat_seeds(self.seed, self.repeats)

    @property
    def n_self_sets(self) -> int:
        """Number of sets of outputs of the unperturbed rows, for the self-distance."""
        return 0 if self.coupling == "same_seed" else min(max(self.n_trials, 2), _MOST_SELF_SETS)

    def seeds_of(self, what: str, number: int) -> tuple[int, ...]:
        """Seeds of a trial ("output") or of a set for the self-distance ("self")."""
        if self.coupling == "same_seed":
            return self.base_seeds
        return tuple(keyed_seed(self.seed, what, number, r) for r in range(self.repeats))

    def units(self) -> list[Unit]:
        """List all units; exhaustive ones at random, so that an interrupted run is a sample."""
        trials = np.arange(self.n_trials)
        if self.exhaustive:
            trials = keyed_generator(self.seed, "order").permutation(trials)[: self.limit]
        return [(c, int(t)) for t in trials for c in range(len(self.changes))]

    def perturbed(self, unit: Unit) -> tuple[Rows, NDArray[np.int64]]:
        """Rows of a unit, and the index in the base of each one (-1: none)."""
        base = self.bases[(change := self.changes[unit[0]]).base]
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
    random_state: Any,
    delete: Any = None,
    perturb: Any = None,
    trials: Any = "all",
    repeats: Any = 1,
    coupling: Any = "same_seed",
    pairwise: bool | None = None,
) -> Plan:
    """Validate the arguments of `average_sensitivity` and its relatives."""
    ks = (CHOSEN,) if n_clusters is None else check_ks(n_clusters)
    adapted, rows = as_selectable(_adapt(clusterer, ks), X, pairwise)
    if coupling not in _COUPLINGS:
        raise ValueError(f"coupling must be one of {', '.join(_COUPLINGS)}; got {coupling!r}.")
    check_integer("repeats", repeats)
    wanted = _list_perturbations(delete, perturb)
    if isinstance(adapted, SelectingClusterer) and any(isinstance(p, Jitter) for p in wanted):
        raise ValueError(
            f"Jitter changes values and needs an array of numbers; got X of type "
            f"{type(X).__name__}{' with distances' if adapted.pairwise else ''}. Use delete, Add, "
            "Replace or Bootstrap."
        )
    seed = seed_from(random_state)
    bases, changes = _assign_bases(rows, wanted, ks, seed)
    exhaustive = isinstance(trials, str) and trials == "all"
    if not exhaustive:
        check_integer("trials", trials, ', or "all"')
    elif [c.perturbation for c in changes] != [Delete(1)]:
        raise ValueError(
            'trials="all" removes every row in turn and needs delete=1 and nothing else; got '
            f"{', '.join(change.name for change in changes)}."
        )
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


def _adapt(clusterer: Any, ks: tuple[int, ...]) -> Clusterer:
    adapted = as_clusterer(clusterer, max_clusters=max(ks) or None)
    needs_k = not isinstance(adapted, EstimatorClusterer) or adapted.count_parameters
    if ks == (CHOSEN,) and needs_k and not isinstance(adapted, FunctionClusterer):
        raise ValueError(
            f"n_clusters may be left out only for clusterers that choose the number of clusters "
            f"themselves; {adapted.name} does not. Pass n_clusters."
        )
    return adapted


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


def check_ks(n_clusters: Any) -> tuple[int, ...]:
    """Accept one number of clusters or several."""
    several = isinstance(n_clusters, Iterable) and not isinstance(n_clusters, str)
    ks = tuple(n_clusters) if several else (n_clusters,)
    if not ks:
        raise ValueError("n_clusters must be one or more integers; got none.")
    for k in ks:
        check_integer("n_clusters", k)
    return tuple(map(int, ks))


def _list_perturbations(delete: Any, perturb: Any) -> list[Perturbation]:
    if delete is None:
        delete = (1,) if perturb is None else ()
    found: list[Perturbation] = [Delete(amount) for amount in _as_list(delete)]
    found += [_as_perturbation(p) for p in ([] if perturb is None else _as_list(perturb))]
    if not found:
        raise ValueError("no change to measure; pass delete, perturb, or both.")
    name, times = Counter(p.name for p in found).most_common(1)[0]
    if times > 1:
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
        left = n_rows = base.rows.shape[0]
        if hasattr(perturbation, "check"):
            left = min(n_rows, perturbation.check(n_rows, base.spare.shape[0]))
        if max(ks) > left:
            raise ValueError(
                f"n_clusters must be at most the number of rows left, {left} of {rows.shape[0]} "
                f"with {perturbation.name!r}; got n_clusters={max(ks)}."
            )
        changes.append(Change(perturbation.name, list(bases).index(fraction), perturbation))
    return tuple(bases.values()), tuple(changes)


def _hold_back(rows: Rows, fraction: float, seed: int) -> Base:
    n_rows, n_spare = rows.shape[0], round(fraction * rows.shape[0])
    if not 0.0 <= fraction < 1.0 or n_spare > n_rows - 1:
        raise ValueError(
            f"held_back must be at least 0, less than 1, and leave a row to fit; got {fraction!r} of "
            f"{n_rows} rows."
        )
    held = np.zeros(n_rows, dtype=np.bool_)
    held[_draw_rows(n_rows, n_spare, keyed_generator(seed, f"hold back {fraction!r}"))] = True
    return Base(rows[~held], rows[held])
