"""Parameters of the estimator -> settings of the pipeline, each checked once; warnings, advice on memory."""

import contextlib
import math
import sys
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from holdfast._machine.hash import seed_from
from holdfast._machine.jit import Floats, Mask
from holdfast.centers.medoids import MAX_CANDIDATES

Method = Literal["means", "medoids", "tree"]
Metric = Literal["euclidean", "manhattan", "cosine", "precomputed"]

METRICS: dict[str, tuple[Metric, ...]] = {
    "means": ("euclidean", "cosine"),
    "medoids": ("euclidean", "manhattan", "cosine", "precomputed"),
    "tree": ("euclidean",),
}
"""The metrics that each method supports."""

AUTO_EPSILON = {"means": 0.001, "medoids": 0.05, "tree": 1.0}
"""The value of ``epsilon="auto"`` for each method."""

DEFAULT_CENTERS = 256
"""The number of centers of means and medoids if `max_centers` is None."""


@dataclass(frozen=True)
class Settings:
    """Everything besides the rows that determines a hierarchy."""

    seed: int  # 64 bits
    epsilon: float  # 0 is the greedy choice, infinity the uniform one
    max_centers: int
    method: str = "tree"  # "means", "medoids" or "tree"
    metric: str = "euclidean"
    max_candidates: int = MAX_CANDIDATES  # medoids only: rows among which centers are chosen
    random_shift: bool = True  # tree only: whether the grid is scaled and shifted at random
    root_box: tuple[Any, float] | None = None  # tree without a random shift only: the root cube
    column_scale: tuple[float, ...] | None = None  # means and medoids hash values times this


def settings_for(
    estimator: Any, rows: Floats, weight: Floats | None = None, seed: int | None = None
) -> Settings:
    """Check an estimator's parameters against validated rows; a `seed` replaces `random_state`."""
    n_rows = rows.shape[0] if weight is None else int(np.count_nonzero(weight))
    check_integer("n_clusters", estimator.n_clusters)
    if estimator.n_clusters > n_rows:
        of_weight = "" if weight is None else " of positive weight"
        raise ValueError(
            f"n_clusters must be at most the number of rows{of_weight}, n_samples={n_rows}; "
            f"got n_clusters={estimator.n_clusters}."
        )
    epsilon = check_choices(estimator, rows)
    return Settings(
        epsilon=epsilon,
        max_centers=_check_max_centers(estimator, n_rows),
        method=estimator.method,
        metric=estimator.metric,
        column_scale=check_column_scale(estimator.column_scale, rows, estimator.metric),
        # last: it may draw from a generator
        seed=seed_from(estimator.random_state) if seed is None else seed,
    )


def check_choices(estimator: Any, rows: Floats) -> float:
    """Check the parameters that do not depend on the number of rows; return the epsilon used."""
    check_integer("n_clusters", estimator.n_clusters)
    method, metric = estimator.method, estimator.metric
    if not isinstance(method, str) or method not in get_args(Method):
        names = ", ".join(f'"{name}"' for name in get_args(Method))
        raise ValueError(f"method must be one of {names}; got {method!r}.")
    if not isinstance(metric, str) or metric not in METRICS[method]:
        known = ", ".join(f'"{name}"' for name in METRICS[method])
        others = [name for name, metrics in METRICS.items() if metric in metrics]
        advice = f' Use method="{others[0]}" for it.' if others else ""
        raise ValueError(
            f'metric must be one of {known} for method="{method}"; got {metric!r}.{advice}'
        )
    if metric == "cosine":
        refuse_zeros(rows)
    if not (isinstance(estimator.verbose, bool | np.bool_) or callable(estimator.verbose)):
        message = f"verbose must be True, False or a callable; got {estimator.verbose!r}."
        raise ValueError(message)  # noqa: TRY004 - scikit-learn raises ValueError here
    _check_max_centers(estimator, rows.shape[0])
    return _check_epsilon(estimator.epsilon, method)


def check_column_scale(given: Any, rows: Any, metric: str) -> tuple[float, ...] | None:
    """Check what columns were divided by: a positive number for each column of dense features."""
    if given is None:
        return None
    try:
        scale = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        scale = np.empty(0)
    if scale.shape != (rows.shape[1],) or not (np.isfinite(scale) & (scale > 0.0)).all():
        raise ValueError(
            f"column_scale must be a positive number for each of the {rows.shape[1]} columns of X; "
            f"got {given!r}."
        )
    if issparse(rows) or metric == "precomputed":
        got = "X is sparse" if issparse(rows) else 'metric is "precomputed"'
        raise ValueError(f"column_scale is for dense rows of features; {got}. Leave it out.")
    return tuple(scale.tolist())


def refuse_zeros(rows: Any) -> None:
    """Raise an error if a row is all zeros, which has no direction."""
    if issparse(rows):
        counts = np.append(0, np.cumsum(rows.data != 0.0))[rows.indptr]
        used = np.diff(counts) > 0
    else:
        used = rows.any(axis=1)
    if not used.all():
        raise ValueError(
            f"Row {int(np.argmin(used))} of X is all zeros; "
            'metric="cosine" needs rows with a nonzero value. Remove such rows.'
        )


def _check_max_centers(estimator: Any, n_rows: int) -> int:
    given, n_clusters, method = estimator.max_centers, estimator.n_clusters, estimator.method
    if given is None and method != "tree":
        return int(min(max(DEFAULT_CENTERS, n_clusters), n_rows))
    if given is None or (isinstance(given, str) and given == "all"):
        return n_rows
    check_integer("max_centers", given, ', "all" or None')
    if given < n_clusters:
        raise ValueError(
            f'max_centers must be at least n_clusters={n_clusters}, or "all" for the whole '
            f"hierarchy; got max_centers={given}."
        )
    return min(int(given), n_rows)


def check_integer(name: str, value: Any, otherwise: str = "") -> None:
    """Check that a parameter is a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1{otherwise}; got {value!r}.")


def check_levels(levels: Any) -> tuple[int, ...]:
    """Check numbers of clusters; return them in order, each once."""
    given = list(levels) if isinstance(levels, Iterable) else None
    if given is None:
        raise ValueError(f"levels must be a list of numbers of clusters; got {levels!r}.")
    for level in given:
        check_integer("levels", level)
    return tuple(sorted({int(level) for level in given}))


def to_number(value: Any) -> float:
    """Convert a real number; NaN for anything else, such as an integer too large for float64."""
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        with contextlib.suppress(OverflowError):
            return float(value)
    return math.nan


def _check_epsilon(epsilon: Any, method: str) -> float:
    if isinstance(epsilon, str) and epsilon == "auto":
        return AUTO_EPSILON[method]
    value = to_number(epsilon)
    if not value >= 0.0:
        raise ValueError(
            f'epsilon must be a non-negative number, infinity or "auto"; got {epsilon!r}.'
        )
    return value


def check_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats | None:
    """Check weights: finite, non-negative, one per row, not all zero."""
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind == "c":
            raise TypeError
        weight = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"sample_weight must be real numbers; got {type(sample_weight).__name__} that cannot "
            "be converted to float64."
        ) from None
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one value per row, shape ({n_rows},); got {weight.shape}."
        )
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        raise ValueError(
            f"sample_weight must be finite and non-negative; got {wrong.sum()} values that are not, "
            f"the first is {weight[wrong.argmax()]} at row {wrong.argmax()}."
        )
    if not weight.any():
        raise ValueError("sample_weight must be positive for at least one row; got only zeros.")
    return weight


_ROUNDING = 1e-6  # of the largest distance: differences that are due to rounding
_TILE = 512  # rows and columns compared at a time: they fit the cache


def check_distances(X: Floats, square: bool) -> Floats:
    """Check distances, those of a fit for symmetry too; uneven rounding is averaged."""
    _refuse(~np.isfinite(X), X, "NaN or infinity in data passed", "finite")
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(
            'X must be a square matrix of distances between rows for metric="precomputed"; got shape '
            f"{X.shape}. Compute it with sklearn.metrics.pairwise_distances."
        )
    _refuse(X < 0.0, X, "Negative values in data passed", "at least 0")
    if not square:
        return X
    allowed = _ROUNDING * float(X.max())
    diagonal = X.diagonal()
    if diagonal.max() > allowed:
        wrong = np.diag(diagonal > allowed)
        _refuse(wrong, X, "A diagonal that is not 0", "0 on the diagonal")
    if _largest_difference(X, allowed) > 0.0 or diagonal.any():
        X = X / 2.0 + X.T / 2.0
        np.fill_diagonal(X, 0.0)
    return X


def _largest_difference(X: Floats, allowed: float) -> float:
    """Largest difference of the two distances of a pair; raises an error if that is too large."""
    most = 0.0
    tiles = [slice(start, start + _TILE) for start in range(0, X.shape[0], _TILE)]
    for number, rows in enumerate(tiles):
        for columns in tiles[number:]:
            uneven = np.abs(X[rows, columns] - X[columns, rows].T)
            most = max(most, float(uneven.max()))
            if most > allowed:
                place = np.argwhere(uneven > allowed)[0]
                i, j = int(rows.start + place[0]), int(columns.start + place[1])
                raise ValueError(
                    f'Distances must be symmetric for metric="precomputed"; got {X[i, j]} in row {i} '
                    f"and column {j}, and {X[j, i]} in row {j} and column {i}. Use (X + X.T) / 2 if "
                    "either will do."
                )
    return most


def _refuse(wrong: Mask, X: Floats, found: str, wanted: str) -> None:
    if wrong.any():
        i, j = map(int, np.argwhere(wrong)[0])
        raise ValueError(
            f"{found}: row {i}, column {j} of X is {X[i, j]}; distances must be {wanted} for "
            'metric="precomputed".'
        )


_BYTES_A_ROW = 110  # peak beyond the input; measured by benchmarks/growth.py
_BYTES_A_VALUE = 16  # coordinates, unsorted and sorted
_OWN = ("holdfast", "holdfast_paper", "sklearn", "joblib", "dask", "distributed")
"""Packages between the line of the user and the warning."""


def explain_memory_error(error: MemoryError, X: Any) -> MemoryError:
    """Convert the failed allocation of a fit to `X` to an error with advice, to raise from `error`.

    Also frees the arrays of the failed fit, which would otherwise stay in memory as long as the
    caller keeps the error.
    """
    traceback.clear_frames(error.__traceback__)
    shape: tuple[int, ...] = np.shape(X) if hasattr(X, "shape") else (len(X),)
    rows = f"{shape[0]:,} rows" + (f" of {shape[1]:,} columns" if len(shape) > 1 else "")
    need = shape[0] * (_BYTES_A_ROW + _BYTES_A_VALUE * (shape[1] if len(shape) > 1 else 1))
    reason = str(error).strip() or "an allocation failed"
    return MemoryError(
        f"Not enough memory to fit {rows} ({reason}). A fit needs about {_in_units(need)} beyond X. "
        "To reduce memory, pass equal rows once with sample_weight, drop columns, set max_centers, "
        "or fit a sample of the rows and label the others with predict. The estimator is unchanged."
    )


def _in_units(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"


def warn_user(message: str) -> None:
    """Warn at the first caller outside these packages."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _OWN or module in ("contextlib", "functools")
