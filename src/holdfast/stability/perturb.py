"""Ways to change a data set: the changes that stability is measured against.

One protocol, `Perturbation`: a name, the fraction of rows held back from the first fit, and
``perturb(X, spare, rng) -> (rows, kept)``, where ``kept[i]`` is the index in `X` of row i, or -1
for a new row. A function ``(X, rng) -> (rows, kept)`` works as well. A perturbation may have a
method ``check(n_rows, n_spare)``: it returns the number of rows left or raises ValueError.

Invariant: a perturbation draws only from the generator that it is passed. That generator is keyed
by (seed, name, trial), so trial j is the same whatever else is measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from holdfast.clusterers.adapt import Rows

__all__ = [
    "Add",
    "Bootstrap",
    "Delete",
    "Jitter",
    "Perturbation",
    "Perturbed",
    "Replace",
    "as_perturbation",
    "draw_rows",
]

Perturbed = tuple[Rows, NDArray[np.int64]]


@runtime_checkable
class Perturbation(Protocol):
    """One way to change a data set."""

    @property
    def name(self) -> str:
        """Label in results, and key of the random draws."""
        ...

    @property
    def held_back(self) -> float:
        """Fraction of the rows, below 1, that the first fit does not see; 0 for none."""
        ...

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Change `X`; `spare` has the rows held back.

        Returns
        -------
        rows : ndarray of shape (n_after, n_features)
        kept : ndarray of shape (n_after,), dtype int64
            The index in `X` of each row, or -1.
        """
        ...


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
        return f"delete {_describe_amount(self.amount)}"

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
        removed = draw_rows(X.shape[0], _count_rows(self.amount, X.shape[0], "delete"), rng)
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
        return f"add {_describe_amount(self.amount)} ({self.held_back:.6g} held back)"

    def check(self, n_rows: int, n_spare: int) -> int:
        """Return the smallest number of rows."""
        _check_spare(self.amount, n_rows, n_spare, "Add")
        return n_rows

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Append `amount` of the spare rows."""
        count = _count_rows(self.amount, X.shape[0], "Add")
        new = spare[draw_rows(spare.shape[0], count, rng)]
        kept = np.concatenate((np.arange(X.shape[0]), np.full(count, -1)))
        return np.concatenate((X, new)), kept


@dataclass(frozen=True)
class Replace:
    """Replace rows by rows that were held back from the first fit.

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
        """Such as ``"replace 5 (0.2 held back)"``."""
        return f"replace {_describe_amount(self.amount)} ({self.held_back:.6g} held back)"

    def check(self, n_rows: int, n_spare: int) -> int:
        """Return the number of rows, which stays the same."""
        _check_spare(self.amount, n_rows, n_spare, "Replace")
        return n_rows

    def perturb(self, X: Rows, spare: Rows, rng: np.random.Generator) -> Perturbed:
        """Overwrite `amount` of the rows."""
        count = _count_rows(self.amount, X.shape[0], "Replace")
        replaced = draw_rows(X.shape[0], count, rng)
        rows, kept = X.copy(), np.arange(X.shape[0])
        rows[replaced] = spare[draw_rows(spare.shape[0], count, rng)]
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


def as_perturbation(perturb: Any) -> Perturbation:
    """Accept a `Perturbation` or a function ``(X, rng) -> (rows, kept)``."""
    if isinstance(perturb, Perturbation) and not isinstance(perturb, type):
        return perturb
    if callable(perturb) and not isinstance(perturb, type):
        return _FunctionPerturbation(perturb, getattr(perturb, "__name__", repr(perturb)))
    raise TypeError(
        f"perturb must be a Perturbation, such as Delete(1) or Bootstrap(), or a function "
        f"(X, rng) -> (rows, kept); got {perturb!r}."
    )


def draw_rows(n_rows: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `count` different rows out of `n_rows`."""
    return rng.choice(n_rows, size=count, replace=False, shuffle=False).astype(np.int64)


def _count_rows(amount: Any, n_rows: int, what: str) -> int:
    """Turn a count or a fraction into a number of rows, at least one."""
    if isinstance(amount, Integral) and not isinstance(amount, bool):
        if amount < 1:
            raise ValueError(f"{what} must be a number of rows of at least 1; got {amount}.")
        return int(amount)
    if isinstance(amount, Real) and not isinstance(amount, bool):
        if not 0.0 < float(amount) < 1.0:
            raise ValueError(
                f"{what} must be an integer or a fraction between 0 and 1; got {amount!r}. Write "
                "1, not 1.0, for one row."
            )
        return max(1, round(float(amount) * n_rows))
    raise ValueError(f"{what} must be an integer or a fraction of the rows; got {amount!r}.")


def _check_spare(amount: Any, n_rows: int, n_spare: int, what: str) -> None:
    count = _count_rows(amount, n_rows, what)
    if count > n_spare:
        raise ValueError(
            f"{what} needs {count} rows, but only {n_spare} are held back; increase held_back."
        )
    if what == "Replace" and count > n_rows:
        raise ValueError(f"Replace can replace at most all {n_rows} rows; got {count}.")


def _describe_amount(amount: Any) -> str:
    if isinstance(amount, Real) and not isinstance(amount, Integral):
        return f"{100.0 * float(amount):.6g}%"
    return str(amount)
