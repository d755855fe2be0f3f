"""What was measured: every value, means with errors, tables, pictures, the consensus of all fits."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from holdfast._machine.jit import Floats
from holdfast.hierarchy.model import new_axes
from holdfast.stability.measures import (
    MeanError,
    check_measure,
    mean_error,
    mean_present,
    subtract_errors,
    value_of,
)
from holdfast.stability.trials import Failure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_FORMAT = 2
_ARRAYS = ("n_before", "n_after", "n_kept", "matched", "rand", "information", "found", "jaccard",
           "matched_self")  # fmt: skip
_TUPLES = ("changes", "n_clusters", "seeds")


_MOST_ROWS = 5000  # of a consensus matrix

AXIS_TITLES = {
    "moved_fraction": "fraction of the remaining rows that move",
    "moved": "rows that move",
    "symmetric_difference": "average sensitivity (symmetric difference, rows)",
}


def format_value(measure: str, value: float, error: float | None = None) -> str:
    """Format a value of a measure, with its standard error: "2.1% ± 0.3%" or "5.2 ± 0.4"."""
    scale, unit = (100.0, "%") if measure == "moved_fraction" else (1.0, "")
    text = f"{scale * value:.3g}{unit}"
    return text if error is None else f"{text} ± {scale * error:.2g}{unit}"


def html_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], note: str = ""
) -> str:
    """Build a table for notebooks; everything is escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    foot = f"<p>{escape(note)}</p>" if note else ""
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead>{line(header, 'th')}</thead>"
        f"<tbody>{body}</tbody></table>{foot}</div>"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    """A consensus matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows), dtype float64
        For each pair of rows, the fraction of the fits with both in which they are in the same
        cluster; NaN for pairs that were never fitted together. Two rows of noise are in no common
        cluster. The diagonal is 1.
    """

    matrix: NDArray[np.float64]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Row indices in an order that puts rows with the same clusters next to each other."""
        distance = 1.0 - np.nan_to_num(self.matrix, nan=0.0)
        np.fill_diagonal(distance, 0.0)
        merges = linkage(squareform(distance, checks=False), "average")
        return np.asarray(leaves_list(merges), dtype=np.int64)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the matrix in `order`: clear blocks are stable clusters. Needs matplotlib."""
        axes: Axes = new_axes(ax)
        ordered = self.matrix[np.ix_(self.order, self.order)]
        style: Any = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, "interpolation": "nearest"}
        shown = axes.imshow(ordered, **style)
        axes.figure.colorbar(shown, ax=axes, label="fraction of fits in the same cluster")
        axes.set(xlabel="rows, similar ones together", ylabel="rows", xticks=[], yticks=[])
        return axes

    def __repr__(self) -> str:
        """Say how many pairs are undecided."""
        pairs = self.matrix[np.triu_indices(self.matrix.shape[0], 1)]
        unsure = np.mean((pairs > 0.1) & (pairs < 0.9)) if pairs.size else 0.0
        return f"Consensus({self.matrix.shape[0]} rows, {unsure:.1%} of pairs between 0.1 and 0.9)"


def _find_consensus(labels: NDArray[np.int32]) -> Consensus:
    """Count pairs of rows in the same cluster; one fit a row, as in `SensitivityResult.labels`."""
    n_rows = labels.shape[1]
    if n_rows > _MOST_ROWS:
        raise ValueError(
            f"a consensus matrix has an entry for each pair of rows, and X has {n_rows:,} rows; "
            f"at most {_MOST_ROWS:,} are supported. Measure on a sample of the rows."
        )
    together, both = np.zeros((n_rows, n_rows)), np.zeros((n_rows, n_rows))
    for fit in labels:
        present = np.flatnonzero(fit > -2)
        both[np.ix_(present, present)] += 1.0
        members = np.flatnonzero(fit >= 0)
        one = np.ones(members.size)
        shape = (n_rows, int(fit.max(initial=0)) + 1)
        indicator = csr_array((one, (members, fit[members])), shape=shape)
        together += (indicator @ indicator.T).toarray()
    matrix = np.where(both > 0.0, together / np.maximum(both, 1.0), np.nan)
    np.fill_diagonal(matrix, 1.0)
    return Consensus(matrix)


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
    rand, information, found : ndarray of shape (C, K, T, R), dtype float64, or None
        Adjusted Rand index and normalized mutual information of the remaining rows, and the number
        of clusters after the change, without noise; None if not computed.
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
        row that was removed or a fit that was not reached. Not part of `to_json`.
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
    n_before: Floats
    n_after: Floats
    n_kept: Floats
    matched: Floats
    rand: Floats | None = None
    information: Floats | None = None
    found: Floats | None = None
    jaccard: Floats | None = None
    matched_self: Floats | None = None
    failures: tuple[Failure, ...] = ()
    complete: bool = True
    note: str = ""
    labels: NDArray[np.int32] | None = None
    stages: dict[str, "SensitivityResult"] = field(default_factory=dict)

    @cached_property
    def values(self) -> Floats:
        """All values, of shape (C, K, T, R), before any self-distance is subtracted."""
        n_before = self.n_before[:, None, None, None]
        n_after, n_kept = self.n_after[:, None, :, None], self.n_kept[:, None, :, None]
        return np.asarray(value_of(self.measure, self.matched, n_before, n_after, n_kept))

    @property
    def distance(self) -> Floats:
        """Mean of `values` over trials and repeats, of shape (C, K)."""
        return self._summary("mean", self._errors)

    @property
    def self_distance(self) -> Floats:
        """Distance between two sets of outputs for the same rows, of shape (C, K).

        The bias from a finite number of outputs. 0 with ``coupling="same_seed"``, where equal rows
        give equal outputs.
        """
        if self.matched_self is None:
            return np.zeros_like(self.distance)
        return self._summary("mean", self._self_errors)

    @property
    def mean(self) -> Floats:
        """Average sensitivity, of shape (C, K): `distance` minus `self_distance`."""
        return self._summary("mean", self._corrected)

    @property
    def standard_error(self) -> Floats:
        """Standard error of `mean`, of shape (C, K), for crossed trials and seeds.

        With the earth mover's distance, the errors of both means, given the outputs for the
        unperturbed rows that both are compared with.
        """
        return self._summary("standard_error", self._corrected)

    @property
    def floor(self) -> Floats:
        """The smallest possible `distance`, of shape (C,): every remaining row stays."""
        n_kept = self.n_kept
        floors = value_of(self.measure, n_kept, self.n_before[:, None], self.n_after, n_kept)
        return np.asarray(mean_present(floors, axis=1))

    def interval(self, level: float = 0.95) -> Floats:
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
        ends = np.array([[error.interval(level) for error in row] for row in self._corrected])
        if self.matched_self is None:
            ends[..., 0] = np.maximum(ends[..., 0], self.floor[:, None])
        return ends

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
        return _find_consensus(self.labels[self.changes.index(c), self.n_clusters.index(k)])

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
        record = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "labels"}
        for name in _ARRAYS:
            if (array := record[name]) is not None:
                record[name] = np.where(np.isfinite(array), array, np.array(None)).tolist()
        record["failures"] = [asdict(failure) for failure in self.failures]
        record["stages"] = {
            name: json.loads(stage.to_json()) for name, stage in self.stages.items()
        }
        return json.dumps({"format": _FORMAT, **record})

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
        stages = record.pop("stages").items()
        found: Any = {name: cls.from_json(json.dumps(stage)) for name, stage in stages}
        return cls(**record, stages=found)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean with its 95% interval, and the floor; needs matplotlib.

        Drawn against the number of clusters with one line per change, or against the changes if
        there is only one number of clusters.
        """
        axes: Axes = new_axes(ax)
        mean = self.mean
        reach = np.abs(np.moveaxis(self.interval(0.95), -1, 0) - mean)
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.2}
        if len(self.n_clusters) == 1 and len(self.changes) > 1:
            places = np.arange(len(self.changes))
            axes.errorbar(
                places, mean[:, 0], reach[:, :, 0], label=f"k = {self.n_clusters[0]}", **style
            )
            axes.plot(places, self.floor, linestyle=":", color="0.5", label="floor")
            axes.set_xticks(places, self.changes)
        else:
            for c, change in enumerate(self.changes):
                lines = axes.errorbar(self.n_clusters, mean[c], reach[:, c], label=change, **style)
                axes.axhline(self.floor[c], linestyle=":", color=lines.lines[0].get_color())
            axes.set_xlabel("number of clusters")
        axes.set_ylabel(AXIS_TITLES[self.measure])
        axes.set_title(self.clusterer, loc="left")
        axes.legend(frameon=False)
        return axes

    def __repr__(self) -> str:
        """Summarize: one line for each change and number of clusters."""
        title = f"SensitivityResult({self.clusterer}, {self.measure}, {self.coupling})"
        lines = [f"  {change}, k={k}: {mean}" for change, k, mean, _ in self._summary_rows()]
        for name, stage in self.stages.items():
            rows = stage._summary_rows()
            lines.append(f"  with {name} and all steps before it held:")
            lines += [f"    {change}, k={k}: {mean}" for change, k, mean, _ in rows]
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
        return [
            [
                record["change"],
                str(record["n_clusters"] or "chosen"),
                format_value(self.measure, record["mean"], record["standard_error"]),
                format_value(self.measure, record["floor"]),
            ]
            for record in self._records()
        ]

    def _records(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One record for each change and number of clusters: the rows of `to_frame`."""
        numbers = {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "low": self.interval(level)[..., 0],
            "high": self.interval(level)[..., 1],
            "floor": np.broadcast_to(self.floor[:, None], self.mean.shape),
        }
        for name in ("rand", "information", "jaccard", "found"):
            values = getattr(self, name)
            means = np.full(self.mean.shape, np.nan)
            numbers[name] = means if values is None else mean_present(values, axis=(2, 3))
        numbers["n_values"] = np.isfinite(self.matched).sum(axis=(2, 3))
        return [
            {"clusterer": self.clusterer, "change": change, "n_clusters": k}
            | {"measure": self.measure}
            | {name: values[c, j] for name, values in numbers.items()}
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

    def _summary(self, name: str, errors: list[list[MeanError]]) -> Floats:
        return np.array([[getattr(error, name) for error in row] for row in errors])
