"""A fitted model and the release before -> the next release."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.recfunctions import require_fields
from numpy.typing import NDArray

from holdfast._machine.jit import read_only
from holdfast.centers._distance_kernels import unit_rows
from holdfast.estimator.checking import refuse_sparse
from holdfast.follow._kernels import measure_paths
from holdfast.follow.report import Staleness
from holdfast.follow.state import Levels, levels_of
from holdfast.hierarchy.cost import distance_to_own
from holdfast.lineage import release as tables
from holdfast.lineage.release import N_CARRIED, Release
from holdfast.parameters import check_levels
from holdfast.rows.ids import find_ids

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian


Rows = NDArray[np.float64]
Places = tuple[NDArray[np.int64], NDArray[np.int64]]

_OUTSIDE = -1


def compose_release(
    model: "HierarchicalKMedian",
    before: Release | None,
    *,
    label: str,
    time: str,
    levels: Sequence[int] | None = None,
    staleness: Any = None,
    include_rows: bool = True,
) -> Release:
    """Describe a model as the release after `before`, or raise ValueError; see `Lineage.append`."""
    if not hasattr(model, "rows_"):
        raise ValueError(f"model must be a fitted HierarchicalKMedian; got {model!r}.")
    refuse_sparse("a lineage", model.rows_)
    follow, table = getattr(model, "follow_", None), model.table_
    ks = _choose_levels(model, levels)
    # Rows of weight 0 are labeled as by `predict` and have no history.
    present = np.flatnonzero(model.row_weights_ > 0.0)
    clusters, centers, assigned = _describe_clusters(model, ks, present)
    columns, unit = _columns_of(model)
    ids = None if model.ids_ is None else model.ids_[present]
    n_rows = assigned.shape[0]
    held = getattr(model, "held_", None)
    release = Release(
        number=0,
        label=label,
        time=time,
        levels=_describe_levels(model, ks, staleness),
        clusters=clusters,
        centers=centers * unit,
        columns=columns,
        unit=unit,
        events=_table(getattr(model, "events_", None), tables.EVENTS),
        moves=_with_rows(getattr(model, "moves_", None), ids, present),
        next_moves=_with_rows(None if follow is None else follow.next_moves, ids, present),
        carried=np.empty(0, dtype=tables.CARRIED),
        flows=np.empty(0, dtype=tables.FLOWS),
        assigned=assigned,
        held=np.zeros(n_rows, dtype=np.bool_) if held is None else np.asarray(held)[present],
        ids=ids,
        id_name=None if table is None else table.id_name,
        rows=_take(model.rows_, present) * unit if include_rows else None,
        **_count_changes(follow, n_rows),
        record=model._to_record(include_rows),
    )
    if before is None:
        return release
    both = _match_rows(before, release)
    _check_next(release, before, both, followed=follow is not None)
    flows, carried = _find_flows(release, before, both), _explain_moves(release, before, both)
    return replace(release, flows=flows, carried=carried)


def _choose_levels(model: "HierarchicalKMedian", levels: Sequence[int] | None) -> tuple[int, ...]:
    """Take the levels that were asked for, followed, polished or fitted."""
    follow, table = getattr(model, "follow_", None), model.table_
    if levels is None:  # those of a polished fit are in its names
        named = follow or model.hierarchy_.naming
        fitted: Sequence[int] = (model.n_clusters,) if table is None else table.cuts
        levels = fitted if named is None else named.levels
    ks = check_levels(levels)
    if not ks:
        raise ValueError("levels must have at least one number of clusters; got none.")
    if follow is not None and ks != tuple(follow.levels):
        raise ValueError(
            f"levels must be those that the model followed, {follow.levels}; got {ks}."
        )
    return ks


def _count_changes(follow: Any, n_rows: int) -> dict[str, Any]:
    """Say how many rows came, stayed and left, and whether a limit was reached."""
    if follow is None:
        return {"n_survivors": 0, "n_new": n_rows, "n_left": 0}
    names = ("n_survivors", "n_new", "n_left", "budget", "budget_binds", "tolerance_exceeded")
    return {name: getattr(follow, name) for name in names}


def _match_rows(before: Release, after: Release) -> Places:
    """Return the positions of the rows in both releases, by id."""
    if before.ids is None or after.ids is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    found = find_ids(after.ids, before.ids, unique=True)
    rows = np.flatnonzero(found >= 0)
    return found[rows], rows


def _explain_moves(release: Release, before: Release, both: Places) -> NDArray[Any]:
    """Find the columns whose change carried each moved row over the boundary.

    A row is as far on the side of its new cluster b as its distance to the mean of its old
    cluster a exceeds that to b, both squared: a sum over the columns. A change of the row's values
    from x to y changes the term of a column by 2 (y - x)(b - a), in the units of the clustering.
    The columns with the largest positive changes carried the row.
    """
    moves = release.moves
    found = np.zeros(moves.size, dtype=tables.CARRIED)
    found["column"] = -1
    if release.rows is None or before.rows is None or not moves.size:
        return found
    place = np.full(release.n_rows, -1)
    place[both[1]] = both[0]
    known = np.flatnonzero(place[moves["row"]] >= 0)
    y = release.rows[moves["row"][known]]
    x = before.rows[place[moves["row"][known]]]
    gain = (y - x) * _steps(release, before)[known] / release.unit**2
    order = np.argsort(-gain, axis=1, kind="stable")[:, :N_CARRIED]
    width = order.shape[1]
    carried = np.take_along_axis(gain, order, axis=1) > 0.0
    found["column"][known, :width] = np.where(carried, order, -1)
    for field, values in (("before", x), ("after", y)):
        shown = np.take_along_axis(values, order, axis=1)
        found[field][known, :width] = np.where(carried, shown, 0.0)
    return found


def _steps(release: Release, before: Release) -> NDArray[np.float64]:
    """For each move, the way from the mean of the old cluster to that of the new one.

    A cluster that has ended has its mean of the release before; one that neither has is not a way.
    """
    nowhere = np.full((1, release.unit.size), np.nan)
    centers = np.concatenate((before.centers, release.centers, nowhere))
    keys = [key for side in (before, release) for key in side.clusters[["level", "name"]].tolist()]
    place = {key: i for i, key in enumerate(keys)}
    moves, ends = release.moves, []
    for end in ("from", "to"):
        pairs = zip(moves["level"].tolist(), moves[end].tolist(), strict=True)
        ends.append(centers[[place.get(pair, -1) for pair in pairs]])
    step: NDArray[np.float64] = np.nan_to_num(ends[1] - ends[0])
    return step


def _check_next(release: Release, before: Release, both: Places, *, followed: bool) -> None:
    where = f"release {before.number} ({before.label})"
    if release.columns != before.columns or not np.array_equal(release.unit, before.unit):
        raise ValueError(
            f"the model and {where} have different columns or scales: it belongs to another "
            "segmentation. Append it to a lineage of its own."
        )
    if not followed:
        raise ValueError(
            f"the model was fitted without following {where}, so its clusters have other names. "
            "Use model.follow, or append it to a lineage of its own."
        )
    if (release.ids is None) != (before.ids is None):
        raise ValueError(f"only one of the model and {where} has ids; expected both or neither.")
    if release.ids is None:
        known = set(before.clusters[["level", "name"]].tolist())
        was = release.events[release.events["size_before"] > 0.0]
        expected = {(level, name) for level, name in was[["level", "name"]].tolist()}
        shared = set(release.levels["level"]) & set(before.levels["level"])
        wrong = sum(level in shared and (level, name) not in known for level, name in expected)
        what = "clusters"
    else:
        wrong, what = _count_strangers(release, before, both), "rows in both"
    if wrong:
        raise ValueError(
            f"{wrong:,} {what} do not start where {where} left them: the model follows another one. "
            "Follow the latest model, as `holdfast follow LINEAGE` does, append the models in between "
            "first, or use another lineage."
        )


def _count_strangers(release: Release, before: Release, both: Places) -> int:
    """Count surviving rows whose cluster before the moves was not that of the release before."""
    old, new = both
    wrong = np.zeros(release.n_rows, dtype=np.bool_)
    for level in set(release.levels["level"].tolist()) & set(before.levels["level"].tolist()):
        start = release.names(level).copy()
        moves = release.moves[release.moves["level"] == level]
        start[moves["row"]] = moves["from"]
        wrong[new] |= start[new] != before.names(level)[old]
    return int(np.count_nonzero(wrong))


def _find_flows(release: Release, before: Release, both: Places) -> NDArray[Any]:
    """Count the rows that each cluster before gave to each cluster now."""
    flows: list[tuple[int, int, int, int]] = []
    for level in release.levels["level"].tolist():
        if level not in before.levels["level"]:
            continue
        if release.ids is None:
            flows += _guess_flows(level, release, before)
            continue
        names, codes = [], []
        for side in (before, release):
            place = np.flatnonzero(side.clusters["level"] == level)
            place = place[np.argsort(side.clusters["name"][place])]
            names.append([*side.clusters["name"][place].tolist(), _OUTSIDE])
            code = np.empty(side.clusters.size, dtype=np.int64)
            code[place] = np.arange(place.size)
            codes.append(code[side.assigned[:, side.column(level)]])
        outside = [len(known) - 1 for known in names]
        (old, new), shape = both, (len(names[0]), len(names[1]))
        pairs = codes[0][old] * shape[1] + codes[1][new]
        table = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        whole = [np.bincount(c, minlength=n) for c, n in zip(codes, outside, strict=True)]
        table[:-1, outside[1]] = whole[0] - table[:-1, :-1].sum(axis=1)
        table[outside[0], :-1] = whole[1] - table[:-1, :-1].sum(axis=0)
        for a, b in np.argwhere(table > 0).tolist():
            flows.append((level, names[0][a], names[1][b], int(table[a, b])))
    return np.array(flows, dtype=tables.FLOWS)


def _guess_flows(level: int, release: Release, before: Release) -> list[tuple[int, int, int, int]]:
    """Without ids only moves are known: of the others, as many as fit stay."""
    moves = release.moves[release.moves["level"] == level]
    pairs, counts = np.unique(
        np.stack((moves["from"], moves["to"]), axis=1), axis=0, return_counts=True
    )
    flows = {(a, b): n for (a, b), n in zip(pairs.tolist(), counts.tolist(), strict=True)}
    sizes = [
        dict(zip(table["name"].tolist(), table["size"].tolist(), strict=True))
        for table in (r.clusters[r.clusters["level"] == level] for r in (before, release))
    ]
    for (a, b), n in list(flows.items()):
        sizes[0][a] = sizes[0].get(a, n) - n
        sizes[1][b] = sizes[1].get(b, n) - n
    for name in sorted(set(sizes[0]) | set(sizes[1])):
        gave, took = max(sizes[0].get(name, 0), 0), max(sizes[1].get(name, 0), 0)
        stay = min(gave, took)
        for pair, n in (((name, name), stay), ((name, _OUTSIDE), gave - stay),
                        ((_OUTSIDE, name), took - stay)):  # fmt: skip
            if n:
                flows[pair] = n
    return [(level, a, b, n) for (a, b), n in flows.items()]


def _describe_clusters(
    model: "HierarchicalKMedian", ks: tuple[int, ...], present: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]]:
    """Measure the clusters of all levels in one pass over the rows."""
    levels = levels_of(model.hierarchy_, ks)
    leaf, rows = model.hierarchy_.cut(ks[-1])[present], _take(model.rows_, present)
    weight = _take(model.row_weights_, present)
    sums = [np.bincount(leaf, weights=weight * column, minlength=ks[-1]) for column in rows.T]
    total = levels.collect(np.bincount(leaf, weights=weight, minlength=ks[-1]) * 1.0)
    means = levels.collect(np.stack(sums, axis=1)) / np.where(total > 0.0, total, 1.0)[:, None]
    clusters = np.zeros(sum(ks), dtype=tables.CLUSTERS)
    clusters["level"], clusters["name"] = np.repeat(ks, ks), levels.names
    clusters["size"] = levels.collect(np.bincount(leaf, minlength=ks[-1]))
    clusters["cost"] = _costs_of(model, rows, weight, leaf, levels, means)
    clusters["parent"] = -1
    for j in range(1, len(ks)):
        part = slice(*levels.offsets[j : j + 2])
        clusters["parent"][part] = levels.names[levels.above(j)]
    return clusters, means, levels.path[leaf]


def _costs_of(
    model: "HierarchicalKMedian", rows: Rows, weight: Rows, leaf: NDArray[np.int32],
    levels: Levels, means: Rows,
) -> Rows:  # fmt: skip
    """Sum the distances of the rows of each cluster to its mean."""
    metric, costs = model._fitted_metric, np.zeros(means.shape[0])
    if metric == "manhattan":  # which cannot be followed
        for labels in levels.path[leaf].T:
            distance = distance_to_own(rows, means, labels, metric)
            costs += np.bincount(labels, weight * distance, costs.size)
        return costs
    if metric == "cosine":
        rows, means = unit_rows(rows), unit_rows(means)
    counts = weight.astype(np.int64)
    measure_paths(
        read_only(rows), counts if (counts == weight).all() else weight, read_only(leaf),
        levels.path, means, metric == "cosine", costs,
    )  # fmt: skip
    return costs


def _take(values: NDArray[np.float64], present: NDArray[np.int64]) -> NDArray[np.float64]:
    """Take some rows, without a copy if these are all."""
    whole = np.asarray(values, dtype=np.float64)
    return whole if present.size == whole.shape[0] else whole[present]


def _describe_levels(
    model: "HierarchicalKMedian", ks: tuple[int, ...], staleness: Any
) -> NDArray[Any]:
    follow = getattr(model, "follow_", None)
    levels = np.zeros(len(ks), dtype=tables.LEVELS)
    levels["level"] = ks
    levels["cost"] = model.hierarchy_.costs[np.array(ks) - 1]
    for field in ("cost_of_staying", "fresh_cost", "fresh_moved"):
        levels[field] = np.nan
    if follow is not None:
        for field in ("moved", "cost", "cost_of_staying", "fresh_cost"):
            levels[field] = getattr(follow, field)
    if staleness is not None:
        if not isinstance(staleness, Staleness):
            raise TypeError(f"staleness must be what model.staleness() returns; got {staleness!r}.")
        for k, cost, moved in zip(staleness.levels, staleness.cost, staleness.moved, strict=True):
            here = levels["level"] == k
            levels["fresh_cost"][here] = levels["cost"][here] / cost
            levels["fresh_moved"][here] = moved
    return levels


def _columns_of(model: "HierarchicalKMedian") -> tuple[tuple[str, ...], NDArray[np.float64]]:
    table = model.table_
    if table is not None:
        scale = table.preparation.scale
        d = len(table.preparation.columns)
        return table.preparation.columns, np.ones(d) if scale is None else np.array(scale)
    numbered = [f"column_{j}" for j in range(model.n_features_in_)]
    names = tuple(str(name) for name in getattr(model, "feature_names_in_", numbered))
    return names, np.ones(len(names))


def _with_rows(moves: Any, ids: NDArray[Any] | None, present: NDArray[np.int64]) -> NDArray[Any]:
    table = _table(moves, tables.MOVES)
    if table.size:
        table["row"] = find_ids(moves["id"], present if ids is None else ids)
    return table


def _table(found: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Copy the fields that both have."""
    return np.zeros(0, dtype=dtype) if found is None else require_fields(found, dtype)
