"""What was measured: every value, the mean over trials and seeds, and its standard error.

Every trial (perturbed data set) is run with every seed, so values share a trial or share a seed,
and the usual formula, which takes all of them as independent, is too small. With y[t, r] the value
of trial t and seed r, T trials and R seeds, and the two-way analysis of variance

    y[t, r] = mean + trial[t] + seed[r] + rest[t, r],

the variance of the overall mean is var(trial) / T + var(seed) / R + var(rest) / (T R), estimated
from the mean squares, each component at least 0. Degrees of freedom are Satterthwaite's. With one
seed, the error is that of the trials alone, for that seed. If the trials are exhaustive (every row
removed in turn), they add no error: it is the standard error of the R means by seed.
"""

import json
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from holdfast.stability.display import (
    Consensus,
    draw_sensitivity,
    find_consensus,
    format_value,
    html_table,
)
from holdfast.stability.measures import check_measure, floor_of, value_of
from holdfast.stability.trials import Failure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["MeanError", "SensitivityResult", "mean_error", "subtract_errors"]

Numbers = NDArray[np.float64]

_FORMAT = 2
_ARRAYS = ("n_before", "n_after", "n_kept", "matched", "rand", "information", "found", "jaccard",
           "matched_self")  # fmt: skip
_NOT_STORED = ("labels",)
_TUPLES = ("changes", "n_clusters", "seeds")


@dataclass(frozen=True)
class MeanError:
    """A mean with its standard error.

    Attributes
    ----------
    mean, standard_error, degrees_of_freedom : float
        NaN if there are too few values.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval by Student's t distribution."""
        reach = student.ppf(0.5 + level / 2.0, self.degrees_of_freedom) * self.standard_error
        return float(self.mean - reach), float(self.mean + reach)


def mean_error(values: Numbers, exhaustive: bool) -> MeanError:
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


def _crossed(mean: float, table: Numbers) -> MeanError:
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


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityResult:
    """Result of `average_sensitivity`: C changes x K numbers of clusters x T trials x R repeats.

    Attributes
    ----------
    clusterer : str
        Name of the clusterer.
    measure : {"moved_fraction", "moved", "symmetric_difference"}
        The measure of `values` and all summaries. `in_measure` converts without new fits.
    coupling : {"same_seed", "earth_mover"}
    changes : tuple of str
        Names of the C changes, such as ``"delete 1"``.
    n_clusters : tuple of int
        The K numbers of clusters; 0 if the clusterer chooses the number.
    exhaustive : bool
        Whether trial t removes row t, for every row.
    seeds : tuple of int
        Random states of the unperturbed fits.
    n_before : ndarray of shape (C,), dtype float64
        Number of rows before the change.
    n_after, n_kept : ndarray of shape (C, T), dtype float64
        Number of different rows after the change, and of those that were there before.
    matched : ndarray of shape (C, K, T, R), dtype float64
        The largest number of rows in common under a one-to-one matching of clusters; NaN where a
        fit failed or was not reached. With ``coupling="earth_mover"``, R is 1 and this is the mean
        over the best assignment of outputs.
    rand : ndarray of shape (C, K, T, R), dtype float64, or None
        Adjusted Rand index of the remaining rows; None if not computed.
    information : ndarray of shape (C, K, T, R), dtype float64, or None
        Normalized mutual information of the remaining rows; None if not computed.
    found : ndarray of shape (C, K, T, R), dtype float64, or None
        Number of clusters after the change, without noise; None if not computed.
    jaccard : ndarray of shape (C, K, R, J), dtype float64, or None
        For each cluster of each unperturbed cut, its largest Jaccard index with a cluster after the
        change, averaged over trials. Cluster j has the j-th smallest label, noise comes last; NaN
        beyond that.
    matched_self : ndarray of shape (C, K, S), dtype float64, or None
        For ``coupling="earth_mover"``: `matched` between the outputs for the unperturbed rows and
        S other sets of outputs for the same rows.
    failures : tuple of Failure
        Fits that failed; their values are NaN.
    complete : bool
        False after an interruption; `note` then says why.
    note : str
    labels : ndarray of shape (C, K, n_fits, n_rows), dtype int32, or None
        With ``keep_labels=True``: labels of the rows in each fit after a change; -1 is noise, -2 a
        row that was removed. Not part of `to_json`.
    stages : dict of str to SensitivityResult
        With ``by_stage=True``: for each step of the pipeline but the last, the result with this
        step and all steps before it held. The difference to the result before it is what the step
        adds.
    """

    clusterer: str
    measure: str
    coupling: str
    changes: tuple[str, ...]
    n_clusters: tuple[int, ...]
    exhaustive: bool
    seeds: tuple[int, ...]
    n_before: Numbers
    n_after: Numbers
    n_kept: Numbers
    matched: Numbers
    rand: Numbers | None = None
    information: Numbers | None = None
    found: Numbers | None = None
    jaccard: Numbers | None = None
    matched_self: Numbers | None = None
    failures: tuple[Failure, ...] = ()
    complete: bool = True
    note: str = ""
    labels: NDArray[np.int32] | None = None
    stages: dict[str, "SensitivityResult"] = field(default_factory=dict)

    @cached_property
    def values(self) -> Numbers:
        """All values, of shape (C, K, T, R), before any self-distance is subtracted."""
        values: Numbers = value_of(
            self.measure,
            self.matched,
            self.n_before[:, None, None, None],
            self.n_after[:, None, :, None],
            self.n_kept[:, None, :, None],
        )
        return values

    @property
    def distance(self) -> Numbers:
        """Mean of `values` over trials and repeats, of shape (C, K)."""
        return self._summary("mean", self._errors)

    @property
    def self_distance(self) -> Numbers:
        """Distance between two sets of outputs for the same rows, of shape (C, K).

        The bias from a finite number of outputs. 0 with ``coupling="same_seed"``, where equal rows
        give equal outputs.
        """
        if self.matched_self is None:
            return np.zeros_like(self.distance)
        return self._summary("mean", self._self_errors)

    @property
    def mean(self) -> Numbers:
        """Average sensitivity, of shape (C, K): `distance` minus `self_distance`."""
        return self._summary("mean", self._corrected)

    @property
    def standard_error(self) -> Numbers:
        """Standard error of `mean`, of shape (C, K), for crossed trials and seeds.

        With the earth mover's distance, the errors of both means, given the outputs for the
        unperturbed rows that both are compared with.
        """
        return self._summary("standard_error", self._corrected)

    @property
    def floor(self) -> Numbers:
        """The smallest possible `distance`, of shape (C,): every remaining row stays."""
        floors = floor_of(self.measure, self.n_before[:, None], self.n_after, self.n_kept)
        present = np.isfinite(floors)
        total = np.where(present, floors, 0.0).sum(axis=1)
        floor: Numbers = total / np.where(present.any(axis=1), present.sum(axis=1), np.nan)
        return floor

    def interval(self, level: float = 0.95) -> Numbers:
        """Confidence interval of `mean`, of shape (C, K, 2), by Student's t distribution.

        The interval is cut off at `floor`, since no average can be smaller; except with the earth
        mover's distance, where the subtracted self-distance has an error as well.

        Parameters
        ----------
        level : float, default=0.95
            Between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")
        freedom = self._summary("degrees_of_freedom", self._corrected)
        reach = student.ppf(0.5 + level / 2.0, freedom) * self.standard_error
        low, high = self.mean - reach, self.mean + reach
        if self.matched_self is None:
            low = np.maximum(low, self.floor[:, None])
        return np.stack((low, high), axis=-1)

    def in_measure(self, measure: str) -> Self:
        """Return the same result in another measure, without new fits."""
        stages = {name: stage.in_measure(measure) for name, stage in self.stages.items()}
        return replace(self, measure=check_measure(measure), stages=stages)

    def consensus(self, n_clusters: int | None = None, change: str | None = None) -> Consensus:
        """Compute how often each pair of rows is in the same cluster; needs ``keep_labels=True``.

        Parameters
        ----------
        n_clusters : int, default=None
            One of `n_clusters`. None means the first.
        change : str, default=None
            One of `changes`. None means the first.

        Returns
        -------
        Consensus
            Takes O(n^2) memory for n rows, and O(n^2) time for each fit.
        """
        if self.labels is None:
            raise ValueError("consensus needs the labels: measure again with keep_labels=True.")
        k = self.n_clusters[0] if n_clusters is None else n_clusters
        c = self.changes[0] if change is None else change
        if k not in self.n_clusters or c not in self.changes:
            raise ValueError(
                f"n_clusters must be one of {self.n_clusters} and change one of {self.changes}; "
                f"got {k!r} and {c!r}."
            )
        return find_consensus(self.labels[self.changes.index(c), self.n_clusters.index(k)])

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """One row for each change and number of clusters; needs pandas.

        Columns: clusterer, change, n_clusters, measure, mean, standard_error, low, high, floor,
        rand, information, jaccard (mean over clusters), found (mean number of clusters), n_values.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install pandas. to_json and values do not."
            ) from error
        return pd.DataFrame(self._records(level))

    def to_json(self) -> str:
        """All values as JSON, for `from_json`; missing values are null."""
        record: dict[str, Any] = {"format": _FORMAT}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in _NOT_STORED:
                continue
            if f.name == "stages":
                value = {name: json.loads(stage.to_json()) for name, stage in value.items()}
            elif f.name in _ARRAYS and value is not None:
                value = _nested_lists(value)
            elif f.name == "failures":
                value = [asdict(failure) for failure in value]
            record[f.name] = value
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the output of `to_json`."""
        record = json.loads(text)
        if not isinstance(record, dict) or record.pop("format", None) != _FORMAT:
            raise ValueError("text must be JSON written by to_json; got something else.")
        for name in _ARRAYS:
            if record[name] is not None:
                record[name] = np.array(record[name], dtype=np.float64)
        for name in _TUPLES:
            record[name] = tuple(record[name])
        record["failures"] = tuple(Failure(**failure) for failure in record["failures"])
        record["stages"] = {
            name: cls.from_json(json.dumps(stage)) for name, stage in record["stages"].items()
        }
        return cls(**record)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean with its 95% interval, and the floor; needs matplotlib.

        Drawn against the number of clusters with one line per change, or against the changes if
        there is only one number of clusters.
        """
        return draw_sensitivity(self, ax)

    def __repr__(self) -> str:
        """Summarize: one line for each change and number of clusters."""
        title = f"SensitivityResult({self.clusterer}, {self.measure}, {self.coupling})"
        lines = [f"  {change}, k={k}: {mean}" for change, k, mean, _ in self._summary_rows()]
        for name, stage in self.stages.items():
            lines.append(f"  with {name} and all steps before it held:")
            lines += [
                f"    {change}, k={k}: {mean}" for change, k, mean, _ in stage._summary_rows()
            ]
        return "\n".join([title, *lines, *([f"  incomplete: {self.note}"] if self.note else [])])

    def _repr_html_(self) -> str:
        title = f"Average sensitivity of {self.clusterer} ({self.measure}, {self.coupling})"
        note = f"Incomplete: {self.note}." if self.note else ""
        header = ("change", "clusters", "mean ± standard error", "floor")
        rows = self._summary_rows()
        for name, stage in self.stages.items():
            rows += [[f"{row[0]}, {name} held", *row[1:]] for row in stage._summary_rows()]
        return html_table(title, header, rows, note)

    def _summary_rows(self) -> list[list[str]]:
        """Change, number of clusters, mean with its error, and floor, as text."""
        mean, error, floor = self.mean, self.standard_error, self.floor
        return [
            [change, str(k or "chosen"), format_value(self.measure, mean[c, j], error[c, j])]
            + [format_value(self.measure, floor[c])]
            for c, change in enumerate(self.changes)
            for j, k in enumerate(self.n_clusters)
        ]

    def _records(self, level: float) -> list[dict[str, Any]]:
        interval, floor = self.interval(level), self.floor
        mean, error = self.mean, self.standard_error
        return [
            {
                "clusterer": self.clusterer,
                "change": change,
                "n_clusters": k,
                "measure": self.measure,
                "mean": mean[c, j],
                "standard_error": error[c, j],
                "low": interval[c, j, 0],
                "high": interval[c, j, 1],
                "floor": floor[c],
                "rand": _mean_present(self.rand, c, j),
                "information": _mean_present(self.information, c, j),
                "jaccard": _mean_present(self.jaccard, c, j),
                "found": _mean_present(self.found, c, j),
                "n_values": int(np.isfinite(self.matched[c, j]).sum()),
            }
            for c, change in enumerate(self.changes)
            for j, k in enumerate(self.n_clusters)
        ]

    @cached_property
    def _errors(self) -> list[list[MeanError]]:
        return [[mean_error(table, self.exhaustive) for table in by_k] for by_k in self.values]

    @cached_property
    def _self_errors(self) -> list[list[MeanError]]:
        if self.matched_self is None:
            return []
        n_rows = self.n_before[:, None, None]
        values = value_of(self.measure, self.matched_self, n_rows, n_rows, n_rows)
        return [[mean_error(sets[:, None], exhaustive=False) for sets in by_k] for by_k in values]

    @cached_property
    def _corrected(self) -> list[list[MeanError]]:
        if self.matched_self is None:
            return self._errors
        return [
            [subtract_errors(error, own) for error, own in zip(row, own_row, strict=True)]
            for row, own_row in zip(self._errors, self._self_errors, strict=True)
        ]

    def _summary(self, name: str, errors: list[list[MeanError]]) -> Numbers:
        return np.array([[getattr(error, name) for error in row] for row in errors])


def _nested_lists(values: Numbers) -> Any:
    present = values.astype(object)
    present[~np.isfinite(values)] = None
    return present.tolist()


def _mean_present(values: Numbers | None, c: int, j: int) -> float:
    if values is None or not np.isfinite(values[c, j]).any():
        return float("nan")
    return float(np.nanmean(values[c, j]))
