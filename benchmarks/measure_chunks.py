"""Fit a Parquet file in chunks, in a process of its own; prints seconds and peak memory as JSON."""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tasks import HERE, run_python

CLUSTERS = 100
SEEDS = 4


def measure_stages(path: Path, labels: Path) -> dict[str, float]:
    """Time the two passes and the tree between them, after a warm-up."""
    from holdfast import HierarchicalKMedian, fit_chunks, predict_chunks
    from holdfast.chunks.label import write_labels
    from holdfast.tables.chunks import open_source

    few = np.random.default_rng(0).standard_normal((20_000, 3))
    warm = fit_chunks(HierarchicalKMedian(CLUSTERS, method="tree"), [few], max_cells=1000)
    list(predict_chunks(warm, [few]))
    start = time.perf_counter()
    model = fit_chunks(HierarchicalKMedian(CLUSTERS, method="tree"), path)
    fitted = time.perf_counter()
    write_labels(model, open_source(path), labels, int(model.row_weights_.sum()))
    done = time.perf_counter()
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": done - start,
        "fit": fitted - start,
        "label": done - fitted,
        "cells": model.rows_.shape[0],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    }


def measure_cost(path: Path, max_cells: int) -> dict[str, float]:
    """k-median cost of capped and uncapped fits, over all rows, averaged over seeds."""
    import pyarrow.parquet as pq

    from holdfast import HierarchicalKMedian, fit_chunks, k_median_cost_to

    table = pq.read_table(path)
    X = np.stack([column.to_numpy() for column in table.columns], axis=1)
    totals = {"capped": 0.0, "whole": 0.0, "moved": 0.0}
    for seed in range(SEEDS):  # a hierarchy is one draw: only the average says what the cap does
        model = HierarchicalKMedian(
            CLUSTERS, method="tree", max_centers=CLUSTERS, random_state=seed
        )
        whole = model.fit(X).labels_
        totals["whole"] += k_median_cost_to(X, model.cluster_centers_) / SEEDS
        fit_chunks(model, [X], max_cells=max_cells)
        totals["capped"] += k_median_cost_to(X, model.cluster_centers_) / SEEDS
        totals["moved"] += float(np.mean(model.predict(X) != whole)) / SEEDS
    return {**totals, "cells": model.rows_.shape[0]}


def main() -> None:
    task = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # In a process of its own: making the rows must not count towards the peak.
        run_python([str(HERE / "generate_parquet.py"), str(path), "--rows", str(task["n"])])
        if "max_cells" in task:
            print(json.dumps(measure_cost(path, task["max_cells"])))
        else:
            print(json.dumps(measure_stages(path, Path(folder) / "labels.parquet")))


if __name__ == "__main__":
    main()
