"""The standard error of a mean over trials and seeds that are crossed.

Every trial (perturbed data set) is run with every seed, so values share a trial or share a seed,
and the usual formula, which takes all of them as independent, is too small. With y[t, r] the value
of trial t and seed r, T trials and R seeds, and the two-way analysis of variance

    y[t, r] = mean + trial[t] + seed[r] + rest[t, r],

the variance of the overall mean is var(trial) / T + var(seed) / R + var(rest) / (T R), estimated
from the mean squares, each component at least 0. Degrees of freedom are Satterthwaite's. With one
seed, the error is that of the trials alone, for that seed. When the trials are all there are
(every row deleted in turn), they add no error: it is the standard error of the R means by seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MeanError", "mean_error", "subtract_errors"]


@dataclass(frozen=True)
class MeanError:
    """A mean with its standard error.

    Attributes
    ----------
    mean, standard_error, degrees_of_freedom : float
        NaN where too few values are there.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: float


def mean_error(values: NDArray[np.float64], exhaustive: bool) -> MeanError:
    """Mean over trials and seeds, and its standard error.

    Parameters
    ----------
    values : ndarray of shape (n_trials, n_repeats), dtype float64
        NaN where a fit failed or was not reached. The error is computed from the trials that have
        a value for every seed (seeds without any value left out), the mean from all values.
    exhaustive : bool
        Whether the trials are all there are.
    """
    present = np.isfinite(values)
    if not present.any():
        return MeanError(np.nan, np.nan, np.nan)
    mean = float(values[present].mean())
    whole = values[:, present.any(axis=0)]
    reached = np.isfinite(whole).all(axis=1)
    table = whole[reached]
    n_trials, n_repeats = table.shape
    if exhaustive and reached.all():
        if n_repeats == 1:
            return MeanError(mean, 0.0, np.inf)
        by_seed = table.mean(axis=0)
        return MeanError(mean, float(by_seed.std(ddof=1)) / n_repeats**0.5, n_repeats - 1.0)
    if n_trials < 2:
        return MeanError(mean, np.nan, np.nan)
    if n_repeats == 1:
        return MeanError(mean, float(table.std(ddof=1)) / n_trials**0.5, n_trials - 1.0)
    return _crossed(mean, table)


def subtract_errors(first: MeanError, second: MeanError) -> MeanError:
    """Difference of two independent means; degrees of freedom as Welch's."""
    variances = (first.standard_error**2, second.standard_error**2)
    total = variances[0] + variances[1]
    freedom = np.inf
    if total > 0.0:
        spread = variances[0] ** 2 / first.degrees_of_freedom
        freedom = total**2 / (spread + variances[1] ** 2 / second.degrees_of_freedom)
    return MeanError(first.mean - second.mean, total**0.5, freedom)


def _crossed(mean: float, table: NDArray[np.float64]) -> MeanError:
    n_trials, n_repeats = table.shape
    by_trial, by_seed = table.mean(axis=1), table.mean(axis=0)
    rest = table - by_trial[:, None] - by_seed[None, :] + table.mean()
    rest_freedom = (n_trials - 1) * (n_repeats - 1)
    of_trials = n_repeats * float(by_trial.var(ddof=1))  # the mean squares
    of_seeds = n_trials * float(by_seed.var(ddof=1))
    of_rest = float((rest**2).sum()) / rest_freedom
    total = of_rest + max(of_trials - of_rest, 0.0) + max(of_seeds - of_rest, 0.0)
    if total == 0.0:
        return MeanError(mean, 0.0, np.inf)
    spread = (
        of_trials**2 / (n_trials - 1) + of_seeds**2 / (n_repeats - 1) + of_rest**2 / rest_freedom
    )
    return MeanError(mean, (total / (n_trials * n_repeats)) ** 0.5, total**2 / spread)
