"""Finished cells -> tidy tables: one record a point of a figure, with its standard error."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from holdfast._machine.files import write_whole
from holdfast.stability.measures import MeanError, mean_error, subtract_errors
from holdfast_paper.cells import Stored
from holdfast_paper.config import Panel
from holdfast_paper.methods import METHODS

Record = dict[str, Any]
"""One point. Keys that begin with an underscore are for claims and are not written."""

_LEVEL = 0.975  # upper end of a 95% interval


def tidy_panel(panel: Panel, stored: Sequence[Stored]) -> list[Record]:
    """Turn the cells of a panel into records, in the order of the cells."""
    if panel.kind == "sensitivity":
        records = _tidy_sensitivity(stored)
        for record in records:
            record["_shown"] = panel.shows(record["data"], record["n_clusters"])
        return records
    if panel.kind == "cost":
        return _tidy_costs(stored)
    if panel.kind == "clusterability":
        return [record for one in stored for record in _tidy_clusters(one)]
    return [_tidy_dataset(panel, one) for one in stored]


def write_csv(path: Path, records: Iterable[Record]) -> None:
    """Write records; numbers with six significant digits."""
    rows = [
        {key: _plain(value) for key, value in record.items() if not key.startswith("_")}
        for record in records
    ]
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, lambda file: file.write(text.getvalue().encode()))


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value


def _tidy_sensitivity(stored: Sequence[Stored]) -> list[Record]:
    groups: dict[tuple[Any, ...], list[Stored]] = defaultdict(list)
    for one in stored:
        cell = one.cell
        groups[cell.series, cell.data, cell.method, cell.delete].append(one)
    return [
        _sensitivity_record(parts, j, k)
        for parts in groups.values()
        for j, k in enumerate(parts[0].cell.n_clusters)
    ]


def _sensitivity_record(parts: list[Stored], j: int, k: int) -> Record:
    """Average sensitivity of one method at one k: Eq. 1 (or 2), moved rows, their errors."""
    cell, result = parts[0].cell, parts[0].result
    before, after = result["n_before"], result["n_after"]
    by_draw = [_join_blocks(parts, draw, j, before + after) for draw in _draws(parts)]
    error, self_distance = _average(parts, by_draw, j)
    reach = float(student.ppf(_LEVEL, error.degrees_of_freedom)) * error.standard_error
    deleted = before - after
    corrected = cell.series == "earth_mover"
    floor = 0.0 if corrected else float(deleted)
    mean = error.mean
    return {
        "data": cell.data,
        "n_rows": before,
        "method": cell.method,
        "title": METHODS[cell.method].title,
        "protocol": "fixed_tree" if cell.series == "fixed_tree" else "rebuild",
        "coupling": "earth_mover" if corrected else "same_seed",
        "delete": cell.delete,
        "n_deleted": deleted,
        "n_clusters": k,
        "sensitivity": mean,
        "standard_error": error.standard_error,
        "low": mean - reach if corrected else max(mean - reach, floor),
        "high": mean + reach,
        "floor": float(deleted),
        "self_distance": self_distance,
        "moved": np.nan if corrected else (mean + deleted) / 2.0,
        "moved_fraction": np.nan if corrected else (mean - deleted) / (2.0 * after),
        "moved_fraction_error": np.nan if corrected else error.standard_error / (2.0 * after),
        "trials": by_draw[0].shape[0],
        "seeds": cell.repeats if by_draw[0].shape[1] > 1 or corrected else 1,
        "draws": len(by_draw),
        "exhaustive": cell.kind == "all_deletions",
        "_by_seed": by_draw[0].mean(axis=0),
    }


def _draws(parts: list[Stored]) -> list[int]:
    return sorted({one.cell.draw for one in parts})


def _join_blocks(parts: list[Stored], draw: int, j: int, total: int) -> NDArray[np.float64]:
    """Symmetric differences of one draw, of shape (trials, seeds)."""
    blocks = [one for one in parts if one.cell.draw == draw]
    blocks.sort(key=lambda one: one.cell.first)
    matched = [np.array(one.result["matched"], dtype=np.float64)[:, j, :] for one in blocks]
    return total - 2.0 * np.concatenate(matched)


def _average(
    parts: list[Stored], by_draw: list[NDArray[np.float64]], j: int
) -> tuple[MeanError, float]:
    """Mean and error: crossed trials and seeds of one data set, or the means of several draws."""
    cell = parts[0].cell
    errors, own_means = [], []
    for draw, values in zip(_draws(parts), by_draw, strict=True):
        error = mean_error(values, cell.kind == "all_deletions")
        if cell.series == "earth_mover":
            (one,) = (part for part in parts if part.cell.draw == draw)
            n_rows = one.result["n_before"]
            sets = 2.0 * n_rows - 2.0 * np.array(one.result["matched_self"][j], dtype=np.float64)
            own = mean_error(sets[:, None], exhaustive=False)
            error = subtract_errors(error, own)
            own_means.append(own.mean)
        errors.append(error)
    own_mean = float(np.mean(own_means)) if own_means else np.nan
    if len(errors) == 1:
        return errors[0], own_mean
    means = np.array([error.mean for error in errors])
    spread = float(means.std(ddof=1)) / means.size**0.5
    return MeanError(float(means.mean()), spread, means.size - 1.0), own_mean


def _tidy_costs(stored: Sequence[Stored]) -> list[Record]:
    groups: dict[tuple[str, str], list[Stored]] = defaultdict(list)
    for one in stored:
        groups[one.cell.data, one.cell.method].append(one)
    records = []
    for (data, method), parts in groups.items():
        parts.sort(key=lambda one: one.cell.first)
        costs = np.concatenate([np.array(one.result["costs"]) for one in parts])
        n_seeds = costs.shape[0]
        error = costs.std(axis=0, ddof=1) / n_seeds**0.5 if n_seeds > 1 else 0.0 * costs[0]
        reach = student.ppf(_LEVEL, n_seeds - 1) * error if n_seeds > 1 else error
        for j, k in enumerate(parts[0].cell.n_clusters):
            mean = float(costs[:, j].mean())
            records.append(
                {
                    "data": data,
                    "method": method,
                    "title": METHODS[method].title,
                    "n_clusters": k,
                    "cost": mean,
                    "standard_error": float(error[j]),
                    "low": mean - float(reach[j]),
                    "high": mean + float(reach[j]),
                    "seeds": n_seeds,
                }
            )
    return records


def _tidy_clusters(one: Stored) -> list[Record]:
    result = one.result
    options = dict(one.cell.options)
    common = {
        "data": one.cell.data,
        "radius": options["radius"],
        "min_samples": int(options["min_samples"]),
        "n_rows": result["n_rows"],
        "noise": result["noise"],
    }
    if not result["sizes"]:  # all rows are noise: a finding, not a gap
        return [{**common, "cluster": None, "size": 0, "max_intra": None, "min_inter": None}]
    return [
        {
            **common,
            "cluster": i,
            "size": size,
            "max_intra": result["max_intra"][i],
            "min_inter": result["min_inter"][i],
        }
        for i, size in enumerate(result["sizes"])
    ]


def _tidy_dataset(panel: Panel, one: Stored) -> Record:
    paper = panel["paper"][one.cell.data]
    return {
        "data": one.cell.data,
        "paper_rows": paper[0],
        "paper_columns": paper[1],
        "paper_clusters": paper[2],
        "rows": one.result["raw"][0],
        "columns": one.result["raw"][1],
        "classes": one.result["classes"],
        "prepared_rows": one.result["prepared"][0],
        "prepared_columns": one.result["prepared"][1],
    }


def join_costs(panel: Panel, sensitivity: list[Record], costs: list[Record]) -> list[Record]:
    """Join both: moved fraction at one deletion, and cost over the lowest cost of any method."""
    cost = {(r["data"], r["method"], r["n_clusters"]): r for r in costs}
    records = []
    for record in sensitivity:
        k = record["n_clusters"]
        place = (record["data"], record["method"], k)
        wanted = (
            record["delete"] == panel["delete"]
            and k in panel["n_clusters"]
            and record["protocol"] == "rebuild"
            and record["coupling"] == "same_seed"
        )
        if not wanted or place not in cost:
            continue
        least = min(r["cost"] for (data, _, ks), r in cost.items() if (data, ks) == (place[0], k))
        records.append(
            {
                "data": record["data"],
                "method": record["method"],
                "title": record["title"],
                "n_clusters": k,
                "delete": record["delete"],
                "moved_fraction": record["moved_fraction"],
                "moved_fraction_error": record["moved_fraction_error"],
                "cost": cost[place]["cost"],
                "cost_ratio": cost[place]["cost"] / least,
                "cost_ratio_error": cost[place]["standard_error"] / least,
            }
        )
    return records
