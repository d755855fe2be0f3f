"""reproduce: configuration -> cells -> tables -> figures -> verdicts. The whole flow is here."""

import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from holdfast._machine.files import write_whole
from holdfast._machine.work import Progress
from holdfast.stability.run import check_n_jobs
from holdfast_paper.cells import CellStore, Stored, run_cells
from holdfast_paper.claims import Verdict, describe_verdicts, judge_claims
from holdfast_paper.compute import compute_cell
from holdfast_paper.config import PANELS, Panel, read_claims, read_panels
from holdfast_paper.figures import draw_panel, draw_summary, select_series
from holdfast_paper.plan import InputSource, LaidOut, estimate_effort, lay_out_panel
from holdfast_paper.records import Record, join_costs, tidy_panel, write_csv
from holdfast_paper.style import save_figure, styled

SEED = 2025
"""The seed of the committed results."""

_VERSIONS = ("holdfast", "numpy", "scipy", "scikit-learn", "numba", "fastcluster", "matplotlib")


@dataclass(frozen=True)
class Reproduction:
    """What a run found.

    Attributes
    ----------
    verdicts : list of Verdict
        On every claim; "not measured" where its figure was not asked for and no earlier run has it.
    records : dict of str to list of Record
        The points of each figure.
    missing : dict of str to dict
        For each figure, the data sets that were not found, and why.
    seconds : dict of str to float
        By the clock, for each figure.
    """

    verdicts: list[Verdict]
    records: dict[str, list[Record]]
    missing: dict[str, dict[str, str]]
    seconds: dict[str, float]


def reproduce(
    out: str | os.PathLike[str] = "results",
    *,
    quick: bool = False,
    data_dir: str | os.PathLike[str] | None = None,
    n_jobs: int | None = -1,
    panels: list[str] | None = None,
    raw: bool = False,
    progress: bool = True,
    seed: int = SEED,
    profile: str | None = None,
) -> Reproduction:
    """Run the experiments of [LHBP25]_ and write tables, figures and verdicts.

    Finished cells are kept in ``out/cells``: after an interruption the same call continues, and a
    killed run loses only the cells in flight.

    Parameters
    ----------
    out : path, default="results"
        Folder for everything that is written; created if it does not exist.
    quick : bool, default=False
        A first look: fewer sizes, deletions and trials.
    data_dir : path, default=None
        Folder with the data sets that do not come with scikit-learn; None uses HOLDFAST_DATA.
        Figures say which data sets are missing.
    n_jobs : int, default=-1
        Number of processes, -1 for all cores. It changes no result.
    panels : list of str, default=None
        Figures to run, of `holdfast_paper.PANELS`; None for all.
    raw : bool, default=False
        Keep all columns of the data sets (standardized, no principal components).
    progress : bool, default=True
        Print the time left and how long each figure took, on standard error.
    seed : int, default=2025
    profile : {"full", "quick", "test"}, default=None
        Instead of `quick`: the table of the configuration files to use.

    Returns
    -------
    Reproduction

    References
    ----------
    .. [LHBP25] Li, He, Bai, Peng. Average Sensitivity of Hierarchical k-Median Clustering.
       ICML 2025.
    """
    folder = Path(out)
    chosen = profile if profile is not None else "quick" if quick else "full"
    wanted = read_panels(panels, chosen)
    source = InputSource(None if data_dir is None else str(data_dir), raw)
    n_processes = check_n_jobs(n_jobs)
    store = CellStore(folder / "cells", f"holdfast {version('holdfast')}")
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    records: dict[str, list[Record]] = {}
    missing: dict[str, dict[str, str]] = {}
    seconds: dict[str, float] = {}
    work: dict[str, float] = {}
    for panel in wanted:
        began = time.perf_counter()
        laid_out = lay_out_panel(panel, source, seed)
        _say_missing(laid_out, missing, progress)
        stored = _run_panel(laid_out, store, source, n_processes, progress)
        records[panel.name] = tidy_panel(panel, stored)
        if panel.kind == "summary":
            _find_others(records, chosen, source, store, seed)
            records[panel.name] = _join(panel, records)
        _write_panel(folder, panel, records[panel.name], missing[panel.name])
        seconds[panel.name] = time.perf_counter() - began
        work[panel.name] = sum(one.seconds for one in stored)
        if progress:
            told = f"{panel.name}: {seconds[panel.name]:.1f} s for {len(stored)} cells"
            print(f"{told}, {work[panel.name]:.1f} s of work in all runs", file=sys.stderr)
    _find_others(records, chosen, source, store, seed)
    verdicts = judge_claims(read_claims(), records, missing)
    about = _describe_run(folder, chosen, raw, seed, panels)
    about |= {
        "processes": n_processes,
        "missing": sorted({name for found in missing.values() for name in found}),
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "seconds_of_work": {name: round(value, 1) for name, value in work.items()},
    }
    _write_verdicts(folder, verdicts, about)
    if progress:
        print(f"all: {time.perf_counter() - start:.1f} s; see {folder}/claims.md", file=sys.stderr)
    return Reproduction(verdicts, records, missing, seconds)


def _say_missing(laid_out: LaidOut, missing: dict[str, dict[str, str]], progress: bool) -> None:
    known = {name for found in missing.values() for name in found}
    missing[laid_out.panel.name] = laid_out.missing
    for name, why in laid_out.missing.items():
        if progress and name not in known:
            print(f"missing: {why} Continuing without {name}.", file=sys.stderr)


def _run_panel(
    laid_out: LaidOut, store: CellStore, source: InputSource, n_processes: int, progress: bool
) -> list[Stored]:
    """Compute the cells of a panel that are not stored; count estimated seconds of work."""
    effort = {
        cell: estimate_effort(cell, source.load(cell.data, cell.draw).X.shape[0])
        for cell in laid_out.cells
    }
    noun = f"s of work for {laid_out.panel.name}, estimated"
    with Progress(progress, sum(effort.values()), noun) as shown:
        return run_cells(
            laid_out.cells,
            partial(compute_cell, source=source),
            store,
            shown,
            n_jobs=n_processes,
            effort=effort.__getitem__,
        )


def _find_others(
    records: dict[str, list[Record]], profile: str, source: InputSource, store: CellStore, seed: int
) -> None:
    """Add the figures that an earlier run has finished, so that every claim can be judged."""
    for panel in read_panels([name for name in PANELS if name not in records], profile):
        stored = [store.read(cell) for cell in lay_out_panel(panel, source, seed).cells]
        whole = [one for one in stored if one is not None]
        if whole and len(whole) == len(stored):
            records[panel.name] = tidy_panel(panel, whole)


def _join(panel: Panel, records: dict[str, list[Record]]) -> list[Record]:
    both = (panel["sensitivity"], panel["cost"])
    if not all(name in records for name in both):
        return []  # neither asked for nor found: nothing to join
    return join_costs(panel, records[both[0]], records[both[1]])


def _write_panel(
    folder: Path, panel: Panel, records: list[Record], missing: dict[str, str]
) -> None:
    """Write the tables and figures of a panel."""
    if panel.kind == "datasets":
        _write_text(folder / "datasets.md", _dataset_table(records, missing))
    with styled():
        if panel.kind == "summary":
            if not records:
                return
            save_figure(draw_summary(panel, records), folder, panel.name)
        for name, figure in draw_panel(panel, records, missing).items():
            save_figure(figure, folder, name)
            suffix = name.removeprefix(panel.name).lstrip("_")
            if panel.kind == "sensitivity" and suffix:
                write_csv(folder / f"{name}.csv", select_series(records, suffix))
    main = select_series(records, "same_seed") if panel.kind == "sensitivity" else records
    write_csv(folder / f"{panel.name}.csv", main)


def _dataset_table(records: list[Record], missing: dict[str, str]) -> str:
    lines = [
        "# Data sets",
        "",
        "| data set | paper: rows x columns, clusters | loaded | classes | prepared |",
        "| --- | --- | --- | --- | --- |",
    ]
    for r in records:
        paper = f"{r['paper_rows']} x {r['paper_columns']}, {r['paper_clusters']}"
        lines.append(
            f"| {r['data']} | {paper} | {r['rows']} x {r['columns']} | {r['classes'] or ''} | "
            f"{r['prepared_rows']} x {r['prepared_columns']} |"
        )
    lines += [f"| {name} | | missing: not found | | |" for name in missing]
    return "\n".join(lines) + "\n"


def _describe_run(
    folder: Path, profile: str, raw: bool, seed: int, panels: list[str] | None
) -> dict[str, Any]:
    """Everything that is needed to get the same numbers again."""
    parts = ["holdfast reproduce", f"--out {folder.name}", f"--seed {seed}"]
    parts += ["--quick"] if profile == "quick" else []
    parts += ["--raw"] if raw else []
    parts += [f"--panels {','.join(panels)}"] if panels else []
    versions = {}
    for package in _VERSIONS:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "command": " ".join(parts),
        "profile": profile,
        "seed": seed,
        "raw": raw,
        "python": platform.python_version(),
        "versions": versions,
    }


def _write_verdicts(folder: Path, verdicts: list[Verdict], about: dict[str, Any]) -> None:
    _write_text(folder / "run.json", json.dumps(about, indent=1) + "\n")
    run = f"profile {about['profile']}, seed {about['seed']}; versions in `run.json`"
    how = f"Made by `{about['command']}` ({run})."
    how += " Data sets keep all their columns." if about["raw"] else ""
    _write_text(folder / "claims.md", describe_verdicts(verdicts, how))


def _write_text(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))
