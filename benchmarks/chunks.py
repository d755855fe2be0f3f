"""Data larger than memory: time and peak memory of a fit in chunks, and what its cap costs.

``python chunks.py JSON`` is one measurement, in a process of its own; it prints JSON. ``python
chunks.py PATH ROWS`` writes the rows that are measured to a Parquet file.
"""

import json
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from growth import fit_exponent
from inputs import GROUPS, scale_size
from report import Row
from tasks import HERE, Group, Numbers, Results, Settings, Task, run_python

from holdfast_paper.draws import normal, uniform

SIZES = (5e5, 5e6, 5e7)
CAPPED_ROWS = 5e6
CAPS = (1 << 21, 1 << 18)
GIGABYTE = 1e9
CLUSTERS = 100
SEEDS = 4
PART = 1 << 20  # rows of a row group


@dataclass(frozen=True)
class ChunkedFit:
    """A Parquet file of n x 3 rows, sketched, clustered and labeled; its labels written."""

    n: int
    once = True  # of fifty million rows, one run says enough

    @property
    def title(self) -> str:
        return f"{self.n:,} x 3 in chunks"

    @property
    def packages(self) -> tuple[str, ...]:
        return ("holdfast", "pyarrow")

    def run(self) -> Numbers:
        numbers: Numbers = json.loads(
            run_python([str(HERE / "chunks.py"), json.dumps(asdict(self))])
        )
        return numbers


@dataclass(frozen=True)
class CapCost(ChunkedFit):
    """The k-median cost of 100 clusters under a cap and without one."""

    max_cells: int = 0

    @property
    def title(self) -> str:
        return f"{self.n:,} x 3 under a cap of {self.max_cells:,}"


def _fits(settings: Settings) -> list[ChunkedFit]:
    return [ChunkedFit(scale_size(n, settings.scale)) for n in SIZES]


def _costs(settings: Settings) -> list[CapCost]:
    n = scale_size(CAPPED_ROWS, settings.scale)
    return [CapCost(n, max(scale_size(cap, settings.scale), 200)) for cap in CAPS]


def plan(settings: Settings) -> list[Task]:
    return [*_fits(settings), *_costs(settings)]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    fits, costs = _fits(settings), _costs(settings)
    seconds = [results.best(fit) for fit in fits]
    largest = fits[-1]
    peak = results.worst(largest, "peak").per(GIGABYTE)
    cells = f"{results.best(largest, 'cells'):,.0f} cells"
    listed = [Row(fit.title, value=time) for fit, time in zip(fits, seconds, strict=True)]
    listed += [
        Row(f"{largest.title}: sketch and tree", value=results.best(largest, "fit")),
        Row(f"{largest.title}: labels", value=results.best(largest, "label")),
        Row(f"{largest.title}: peak memory", peak, unit="GB", wanted=2.0, note=cells),
        Row(
            f"exponent of time in chunks, {fits[0].n:,} to {largest.n:,} rows",
            value=fit_exponent([fit.n for fit in fits], seconds),
            unit="",
            wanted=1.15,
        ),
    ]
    for task in costs:
        moved = f"{results.best(task, 'moved'):.1%} of the rows under another label; 4 seeds"
        listed.append(
            Row(
                f"{task.title}: k-median cost, k = 100",
                results.best(task, "capped"),
                results.best(task, "whole"),
                "uncapped",
                unit="",
                note=f"{results.best(task, 'cells'):,.0f} cells; {moved}",
            )
        )
    return listed


GROUP = Group("chunks", "larger than memory: 100 clusters from Parquet", plan, list_rows)


def measure_stages(path: Path, labels: Path) -> dict[str, float]:
    """Time the two passes and the tree between them, after a warm-up."""
    from holdfast import HierarchicalKMedian, fit_chunks, predict_chunks
    from holdfast.chunks import open_source, write_labels

    few = normal(np.random.default_rng(0), (20_000, 3))
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


def generate_parquet(path: Path, n: int, d: int = 3) -> None:
    """Write seeded rows of eight Gaussian groups, a part at a time; the file is complete or absent."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng([d, n])
    centers = uniform(generator, -10.0, 10.0, (GROUPS, d))
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)])
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, n, PART):
            size = min(PART, n - start)
            rows = normal(generator, (size, d))
            rows += centers[generator.integers(GROUPS, size=size)]
            writer.write_batch(pa.record_batch(list(rows.T.copy()), schema=schema))
    part.replace(path)


def main() -> None:
    if len(sys.argv) == 3:
        generate_parquet(Path(sys.argv[1]), int(sys.argv[2]))
        return
    task = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # In a process of its own: making the rows must not count towards the peak.
        run_python([str(HERE / "chunks.py"), str(path), str(task["n"])])
        if "max_cells" in task:
            print(json.dumps(measure_cost(path, task["max_cells"])))
        else:
            print(json.dumps(measure_stages(path, Path(folder) / "labels.parquet")))


if __name__ == "__main__":
    main()
