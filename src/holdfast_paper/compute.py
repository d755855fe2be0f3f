"""Cell -> its numbers; in any process, from the cell and its rows alone."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist

from holdfast.stability import cost_by_seed
from holdfast.stability.plan import build_plan, repeat_seeds
from holdfast.stability.run import limit_threads
from holdfast.stability.trials import fit_bases, run_block
from holdfast_paper.methods import build_clusterer, build_estimator
from holdfast_paper.plan import Cell, Input, InputSource


def compute_cell(cell: Cell, source: InputSource) -> dict[str, Any]:
    """Compute what a cell asks for: numbers and nested lists of them, ready for JSON."""
    data = source.load(cell.data, cell.draw)
    with limit_threads():
        if cell.kind == "trials":
            return _run_trials(cell, data)
        if cell.kind == "all_deletions":
            return _delete_each_row(cell, data)
        if cell.kind == "cost":
            return _measure_costs(cell, data)
        if cell.kind == "clusterability":
            return _measure_clusterability(cell, data)
        return _describe_data(cell, data, source)


def _run_trials(cell: Cell, data: Input) -> dict[str, Any]:
    """Delete rows, fit, compare: trials `first` to `last` with every seed."""
    clusterer = build_clusterer(
        cell.method,
        data.X,
        max(cell.n_clusters),
        root_box=data.root_box,
        fixed_tree=cell.series == "fixed_tree",
    )
    plan = build_plan(
        clusterer,
        data.X,
        n_clusters=list(cell.n_clusters),
        delete=[cell.delete],
        perturb=None,
        trials=cell.trials,
        repeats=cell.repeats,
        coupling="earth_mover" if cell.series == "earth_mover" else "same_seed",
        random_state=cell.seed,
    )
    job, failures = fit_bases(plan, lambda count: None)
    block = run_block(job, [(0, trial) for trial in range(cell.first, cell.last)])
    if failures or block.failures:
        raise RuntimeError(f"{cell.title}: {[*failures, *block.failures][0]}")
    return {
        "n_before": data.X.shape[0],
        "n_after": int(block.n_after[0]),
        "matched": block.matched.tolist(),  # trials x ks x seeds
        "matched_self": job.matched_self[0].tolist(),  # ks x sets
    }


def _delete_each_row(cell: Cell, data: Input) -> dict[str, Any]:
    """Every single deletion, exactly, without refits."""
    # Here: its kernels take a while to load.
    from holdfast.stability.deletions import match_deletions

    estimator = build_estimator(cell.method, data.root_box)
    X = np.ascontiguousarray(data.X)
    fixed = cell.series == "fixed_tree"
    matched = [
        match_deletions(
            X,
            list(cell.n_clusters),
            estimator.set_params(random_state=seed)._settings_for(X),
            fixed_root=fixed,
        )
        for seed in repeat_seeds(cell.seed, cell.repeats)[cell.first : cell.last]
    ]
    return {
        "n_before": X.shape[0],
        "n_after": X.shape[0] - 1,
        "matched": np.stack(matched, axis=2).tolist(),
        "matched_self": [],
    }


def _measure_costs(cell: Cell, data: Input) -> dict[str, Any]:
    """k-median cost for k = 1 .. max(n_clusters), one curve a seed."""
    ks = list(cell.n_clusters)
    clusterer = build_clusterer(cell.method, data.X, max(ks), root_box=data.root_box)
    seeds = repeat_seeds(cell.seed, cell.repeats)[cell.first : cell.last]
    return {"costs": cost_by_seed(clusterer, data.X, n_clusters=ks, seeds=seeds).tolist()}


def _measure_clusterability(cell: Cell, data: Input) -> dict[str, Any]:
    """Longest step inside each DBSCAN cluster, and its least distance to another one."""
    from sklearn.cluster import DBSCAN

    options = dict(cell.options)
    model = DBSCAN(eps=options["radius"], min_samples=int(options["min_samples"]))
    labels = model.fit_predict(data.X)
    clusters = [data.X[labels == label] for label in range(labels.max() + 1)]
    inter = np.full((len(clusters), len(clusters)), np.inf)
    for i, rows in enumerate(clusters):
        for j in range(i):
            inter[i, j] = inter[j, i] = cdist(rows, clusters[j]).min()
    return {
        "sizes": [len(rows) for rows in clusters],
        "max_intra": [float(linkage(rows, "single")[-1, 2]) for rows in clusters],
        "min_inter": [float(row.min()) for row in inter] if len(clusters) > 1 else [None],
        "noise": int((labels < 0).sum()),
        "n_rows": int(data.X.shape[0]),
    }


def _describe_data(cell: Cell, data: Input, source: InputSource) -> dict[str, Any]:
    """Numbers of rows, columns and classes, raw and prepared."""
    from holdfast_paper.datasets import load_dataset

    raw = load_dataset(cell.data, data_dir=source.data_dir, prepared=False)
    classes = None
    if raw.target is not None and raw.target.dtype.kind in "iu":
        classes = int(np.unique(raw.target).size)
    return {
        "raw": list(raw.X.shape),
        "prepared": list(data.X.shape),
        "classes": classes,
        "prepared_sha256": data.digest,
    }
