"""What was measured: every value, and the summaries that follow from them."""

import json
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from holdfast.stability.blocks import Failure
from holdfast.stability.measures import check_measure, floor_of, value_of
from holdfast.stability.standard_error import MeanError, mean_error, subtract_errors

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["SensitivityResult", "check_level"]

Numbers = NDArray[np.float64]

_FORMAT = 1
_ARRAYS = ("n_before", "n_after", "n_kept", "matched", "rand", "jaccard", "matched_self")
_TUPLES = ("changes", "n_clusters", "seeds")


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityResult:
    """How far a clusterer moves: C kinds of change x K numbers of clusters x T trials x R repeats.

    Attributes
    ----------
    clusterer : str
        Its name.
    measure : {"symmetric_difference", "moved", "moved_fraction"}
        What `values` and all summaries are in; `in_measure` gives the others without new fits.
    coupling : {"same_seed", "earth_mover"}
    changes : tuple of str
        Names of the C kinds of change, such as ``"delete 1"``.
    n_clusters : tuple of int
        The K numbers of clusters.
    exhaustive : bool
        Whether trial t is the deletion of row t, for every row.
    seeds : tuple of int
        What the unperturbed fits were seeded with.
    n_before : ndarray of shape (C,), dtype float64
        Rows before the change.
    n_after, n_kept : ndarray of shape (C, T), dtype float64
        Different rows after it, and how many of them were there before.
    matched : ndarray of shape (C, K, T, R), dtype float64
        The largest number of rows in common under a one-to-one matching of clusters; NaN where a
        fit failed or was not reached. With ``coupling="earth_mover"``, R is 1 and this is the mean
        over the best assignment of outputs.
    rand : ndarray of shape (C, K, T, R), dtype float64, or None
        Adjusted Rand index of the surviving rows; None where it was not computed.
    jaccard : ndarray of shape (C, K, R, J), dtype float64, or None
        How well each cluster of each unperturbed cut is found again: its largest Jaccard index
        with a cluster after the change, mean over trials. NaN beyond the last cluster. Cluster j
        is the one with the j-th smallest label.
    matched_self : ndarray of shape (C, K, S), dtype float64, or None
        For ``coupling="earth_mover"``: `matched` between the outputs for the unperturbed rows and
        S other sets of outputs for the same rows.
    failures : tuple of Failure
        Fits that failed; their values are NaN.
    complete : bool
        False after an interruption; then `note` says why.
    note : str
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
    jaccard: Numbers | None = None
    matched_self: Numbers | None = None
    failures: tuple[Failure, ...] = ()
    complete: bool = True
    note: str = ""

    @cached_property
    def values(self) -> Numbers:
        """All values, of shape (C, K, T, R); with the earth mover's distance, not yet corrected."""
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

        What is left of the distance when nothing changes: the bias of a finite number of outputs.
        0 with ``coupling="same_seed"``, where equal rows give equal outputs.
        """
        if self.matched_self is None:
            return np.zeros_like(self.distance)
        return np.array([[error.mean for error in row] for row in self._self_errors])

    @property
    def mean(self) -> Numbers:
        """Average sensitivity, of shape (C, K): `distance` less `self_distance`."""
        return self._summary("mean", self._corrected)

    @property
    def standard_error(self) -> Numbers:
        """Standard error of `mean`, of shape (C, K), for crossed trials and seeds.

        From a two-way analysis of variance, see `holdfast.stability.standard_error`. With the
        earth mover's distance, the errors of both means, given the outputs for the unperturbed
        rows that both are compared with.
        """
        return self._summary("standard_error", self._corrected)

    @property
    def floor(self) -> Numbers:
        """The least that `distance` can be, of shape (C,): every surviving row stays."""
        floors = floor_of(self.measure, self.n_before[:, None], self.n_after, self.n_kept)
        present = np.isfinite(floors)
        total = np.where(present, floors, 0.0).sum(axis=1)
        floor: Numbers = total / np.where(present.any(axis=1), present.sum(axis=1), np.nan)
        return floor

    def interval(self, level: float = 0.95) -> Numbers:
        """Confidence interval of `mean`, of shape (C, K, 2), by Student's t distribution.

        It ends at the floor, below which no average can be. Not so with the earth mover's distance,
        where the self-distance that is subtracted has an error of its own.

        Parameters
        ----------
        level : float, default=0.95
            Between 0 and 1.
        """
        check_level(level)
        freedom = self._summary("degrees_of_freedom", self._corrected)
        reach = student.ppf(0.5 + level / 2.0, freedom) * self.standard_error
        low, high = self.mean - reach, self.mean + reach
        if self.matched_self is None:
            low = np.maximum(low, self.floor[:, None])
        return np.stack((low, high), axis=-1)

    def in_measure(self, measure: str) -> Self:
        """Return the same results in another measure."""
        return replace(self, measure=check_measure(measure))

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """One row for each change and number of clusters; needs pandas.

        Columns: clusterer, change, n_clusters, measure, mean, standard_error, low, high, floor,
        rand, jaccard (mean over clusters), n_values.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install pandas. to_json and values need nothing."
            ) from error
        return pd.DataFrame(self._rows(level))

    def _rows(self, level: float) -> list[dict[str, Any]]:
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
                "jaccard": _mean_present(self.jaccard, c, j),
                "n_values": int(np.isfinite(self.matched[c, j]).sum()),
            }
            for c, change in enumerate(self.changes)
            for j, k in enumerate(self.n_clusters)
        ]

    def to_json(self) -> str:
        """All values as JSON text, which `from_json` reads again; missing values are null."""
        record: dict[str, Any] = {"format": _FORMAT}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in _ARRAYS and value is not None:
                value = _nested_lists(value)
            elif f.name == "failures":
                value = [asdict(failure) for failure in value]
            record[f.name] = value
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        record = json.loads(text)
        if not isinstance(record, dict) or record.pop("format", None) != _FORMAT:
            raise ValueError("this is not a sensitivity result that to_json wrote.")
        for name in _ARRAYS:
            if record[name] is not None:
                record[name] = np.array(record[name], dtype=np.float64)
        for name in _TUPLES:
            record[name] = tuple(record[name])
        record["failures"] = tuple(Failure(**failure) for failure in record["failures"])
        return cls(**record)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean with its 95% interval, and the floor; needs matplotlib.

        Against the number of clusters, one line a change; against the changes where there is one
        number of clusters only.
        """
        from holdfast.stability.draw import draw_sensitivity

        return draw_sensitivity(self, ax)

    def __repr__(self) -> str:
        """Summarise: one line for each change and number of clusters."""
        title = f"SensitivityResult({self.clusterer}, {self.measure}, {self.coupling})"
        lines = [
            f"  {row['change']}, k={row['n_clusters']}: {row['mean']:.4g} "
            f"± {row['standard_error']:.2g} (floor {row['floor']:.4g})"
            for row in self._rows(0.95)
        ]
        return "\n".join([title, *lines, *([f"  incomplete: {self.note}"] if self.note else [])])

    @cached_property
    def _errors(self) -> list[list[MeanError]]:
        shape = self.matched.shape
        return [
            [mean_error(self.values[c, j], self.exhaustive) for j in range(shape[1])]
            for c in range(shape[0])
        ]

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


def check_level(level: Any) -> None:
    """Reject what is not a confidence level."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")


def _mean_present(values: Numbers | None, c: int, j: int) -> float:
    if values is None or not np.isfinite(values[c, j]).any():
        return float("nan")
    return float(np.nanmean(values[c, j]))
