"""Panels -> the cells that they need, with the rows of each; and which data sets are missing."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast_paper.config import Panel, Series
from holdfast_paper.datasets import DATASETS, DatasetNotAvailable, load_dataset, prepare_dataset
from holdfast_paper.instances import (
    make_clnss_instance,
    make_growing_line,
    make_regression_rows,
)
from holdfast_paper.methods import METHODS

_SYNTHETIC = ("line", "clnss", "regression")
_TITLES = {
    "iris": "Iris", "wine": "Wine", "wholesale": "Wholesale", "diabetes": "Diabetes",
    "wdbc": "WDBC", "digits": "Digits", "yeast": "Yeast", "yeast_mulan": "Yeast (2417 rows)",
    "line": "growing line", "clnss": "CLNSS instance", "regression": "regression data",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One piece of work: a data set, a method, a parameter and a block of trials.

    Attributes
    ----------
    panel : str
        The figure it is for.
    kind : {"trials", "all_deletions", "cost", "clusterability", "datasets"}
    data : str
    digest : str
        Of the rows.
    seed : int
    draw : int
        Number of a synthetic instance.
    method : str
        "" where there is none.
    series : str
        "same_seed", "fixed_tree" or "earth_mover"; "" where there is none.
    delete : int or float
        0 where nothing is deleted.
    n_clusters : tuple of int
    first, last : int
        Trials (or, for costs, seeds) from `first` to below `last`.
    trials, repeats : int
        Of the whole series.
    options : tuple of (str, float)
        What else the numbers depend on.
    """

    panel: str
    kind: str
    data: str
    digest: str
    seed: int
    draw: int = 0
    method: str = ""
    series: str = ""
    delete: float = 0
    n_clusters: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    trials: int = 0
    repeats: int = 0
    options: tuple[tuple[str, float], ...] = ()

    @property
    def title(self) -> str:
        """The readable part of its file's name."""
        parts = (self.panel, self.kind, self.data, self.draw, self.method, self.series)
        return "-".join(str(part) for part in (*parts, self.delete, self.first) if part != "")


@dataclass(frozen=True, eq=False)
class Input:
    """Rows to cluster.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float64
    root_box : tuple or None
        The cube for which a synthetic instance is made.
    target : ndarray or None
    """

    X: NDArray[np.float64]
    root_box: tuple[NDArray[np.float64], float] | None = None
    target: NDArray[Any] | None = None

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell rows apart."""
        return hashlib.sha256(np.ascontiguousarray(self.X).tobytes()).hexdigest()[:12]


@dataclass(frozen=True)
class InputSource:
    """Where rows come from, in every process.

    Attributes
    ----------
    data_dir : str or None
    raw : bool
        Whether data sets keep all their columns (standardized, without principal components).
    """

    data_dir: str | None = None
    raw: bool = False

    def load(self, name: str, draw: int = 0) -> Input:
        """Load a data set, or make an instance such as "line-50"; once per process.

        Raises
        ------
        DatasetNotAvailable
        """
        return _load(name, draw, self.data_dir or os.environ.get("HOLDFAST_DATA"), self.raw)


def is_synthetic(name: str) -> bool:
    """Whether rows are made rather than loaded."""
    return name.partition("-")[0] in _SYNTHETIC


def title_of(name: str) -> str:
    """Name of a data set in figures."""
    return _TITLES[name.partition("-")[0]]


@lru_cache(maxsize=64)
def _load(name: str, draw: int, data_dir: str | None, raw: bool) -> Input:
    if name in DATASETS:
        if not raw:
            dataset = load_dataset(name, data_dir=data_dir)
        else:
            dataset = prepare_dataset(
                load_dataset(name, data_dir=data_dir, prepared=False), reduce_dimensions=False
            )
        return Input(dataset.X, target=dataset.target)
    what, _, size = name.partition("-")
    if what not in _SYNTHETIC or not size.isdigit():
        raise ValueError(
            f"data must be one of {', '.join(DATASETS)}, or line-N, clnss-N, regression-N with a "
            f"number of rows; got {name!r}."
        )
    return _make(what, int(size), draw)


def _make(what: str, n_rows: int, draw: int) -> Input:
    if what == "line":
        return Input(make_growing_line(n_rows, random_state=draw))
    if what == "clnss":
        instance = make_clnss_instance(round((n_rows - 2) / 3), random_state=draw)
        return Input(instance.rows, instance.root_box)
    return Input(make_regression_rows(n_rows, random_state=draw))


@dataclass(frozen=True)
class LaidOut:
    """The work of a panel.

    Attributes
    ----------
    panel : Panel
    cells : tuple of Cell
    missing : dict of str to str
        Data sets that were not found, and why.
    """

    panel: Panel
    cells: tuple[Cell, ...]
    missing: dict[str, str]


def lay_out_panel(panel: Panel, source: InputSource, seed: int) -> LaidOut:
    """List the cells of a panel; data sets that were not found are left out and named."""
    cells: list[Cell] = []
    missing: dict[str, str] = {}
    for name in panel.settings.get("data", ()):
        try:
            source.load(name)
        except DatasetNotAvailable as error:
            missing[name] = str(error)
            continue
        if panel.kind == "sensitivity":
            cells += _sensitivity_cells(panel, name, source, seed)
        elif panel.kind == "cost":
            cells += _cost_cells(panel, name, source, seed)
        else:
            cells.append(_single_cell(panel, name, source, seed))
    return LaidOut(panel, tuple(cells), missing)


def estimate_effort(cell: Cell, n_rows: int) -> float:
    """Estimate the seconds of a cell; only the order of work and the time left depend on it."""
    if not cell.method:
        return 0.1
    method = METHODS[cell.method]
    repeats = 1 if method.is_deterministic else cell.repeats
    growth = n_rows if method.is_tree else n_rows**2 / 1800
    one_fit = 0.0015 + 1e-6 * method.effort * growth
    if cell.kind == "cost":
        return (cell.last - cell.first) * (one_fit + 3e-5 * n_rows)
    if cell.kind == "all_deletions":
        return (cell.last - cell.first) * (0.02 + 1e-4 * n_rows)
    sets = min(max(cell.trials, 2), 20) if cell.series == "earth_mover" else 0
    return repeats * (1 + sets + cell.last - cell.first) * one_fit


def _sensitivity_cells(panel: Panel, name: str, source: InputSource, seed: int) -> Iterator[Cell]:
    for series in panel.series:
        for draw in range(series.draws if is_synthetic(name) else 1):
            digest = source.load(name, draw).digest
            for method in series.methods:
                for delete in panel["delete"]:
                    common = {
                        "panel": panel.name,
                        "data": name,
                        "draw": draw,
                        "digest": digest,
                        "method": method,
                        "series": series.name,
                        "delete": delete,
                        "n_clusters": tuple(panel["n_clusters"]),
                        "repeats": series.repeats_of.get(method, series.repeats),
                        "seed": seed + draw,
                    }
                    yield from _blocks_of_trials(panel, series, common)


def _blocks_of_trials(panel: Panel, series: Series, common: dict[str, Any]) -> Iterator[Cell]:
    method = common["method"]
    known = METHODS[method]
    randomized_tree = known.is_tree and not known.is_deterministic
    if series.name != "earth_mover" and common["delete"] == 1 and randomized_tree:
        yield Cell(kind="all_deletions", last=common["repeats"], **common)
        return
    trials = series.trials_of.get(method, series.trials)
    # The self-distance belongs to all trials together.
    size = trials if series.name == "earth_mover" else panel.settings.get("block", trials)
    for first in range(0, trials, size):
        yield Cell(
            kind="trials", first=first, last=min(first + size, trials), trials=trials, **common
        )


def _cost_cells(panel: Panel, name: str, source: InputSource, seed: int) -> Iterator[Cell]:
    digest = source.load(name).digest
    for method in panel["methods"]:
        repeats = panel.settings.get("repeats_of", {}).get(method, panel["repeats"])
        repeats = 1 if METHODS[method].is_deterministic else repeats
        size = panel.settings.get("block", repeats)
        for first in range(0, repeats, size):
            yield Cell(
                panel=panel.name,
                kind="cost",
                data=name,
                digest=digest,
                seed=seed,
                method=method,
                n_clusters=tuple(range(1, panel["max_clusters"] + 1)),
                first=first,
                last=min(first + size, repeats),
                repeats=repeats,
            )


def _single_cell(panel: Panel, name: str, source: InputSource, seed: int) -> Cell:
    options: tuple[tuple[str, float], ...] = ()
    if panel.kind == "clusterability":
        options = (
            ("min_samples", float(panel["min_samples"])),
            ("radius", float(panel["radius"][name])),
        )
    digest = source.load(name).digest
    return Cell(panel.name, panel.kind, name, digest, seed, options=options)
