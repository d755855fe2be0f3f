"""What a fit on a Dask cluster costs: constants measured here, and what follows for more rows.

docs/distributed.md includes what it prints. Assumes equal cores and a network of 1 GB/s for each worker.
``python cluster_model.py ROLE FILE...`` measures the peak memory of one process of a cluster: the
files are pickled sketches, which a worker merges, or of which the driver builds the hierarchy.
"""

import argparse
import json
import math
import pickle
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from inputs import Rows, make_rows
from tasks import HERE, run_python

from holdfast_paper.draws import normal

FAN_IN = 4
BANDWIDTH = 1e9  # bytes a second into a worker
PARTS = (4, 2, 1)  # memory is measured at a quarter, a half and all of the rows
CLUSTERS = 100
UNCAPPED = 1e8  # distinct rows for which the driver is the limit
# rows in all, rows of a partition, workers of one core each
CASES = ((1e8, 5e6, 20), (1e9, 1e7, 100), (1e11, 1e8, 1000))


def measure(n: int, max_cells: int) -> dict[str, float]:
    """Seconds of one core for a row and a cell, and bytes of a cell; three columns."""
    from holdfast import HierarchicalKMedian
    from holdfast.rows.log import Cap, CappedSketch

    cap = Cap(max_cells, 0)
    parts = np.array_split(make_rows(Rows(n)), 8)
    ones = np.ones(parts[0].shape[0] + 1, dtype=np.int64)
    CappedSketch.empty(cap, 3).add_rows(parts[0][:5000], ones[:5000])
    halves, sketch_seconds = [], []
    for half in (parts[:4], parts[4:]):
        sketch = CappedSketch.empty(cap, 3)
        for part in half:
            start = time.process_time()
            sketch = sketch.add_rows(part, ones[: part.shape[0]])
            sketch_seconds.append((time.process_time() - start) / part.shape[0])
        halves.append(sketch)
    start = time.process_time()
    whole = halves[0] + halves[1]
    merged = time.process_time()
    rows, weight = whole.settle().content()
    model = HierarchicalKMedian(CLUSTERS, method="tree").fit(
        rows[:5000], sample_weight=weight[:5000]
    )
    settled = time.process_time()
    locator = model.fit(rows, sample_weight=weight).hierarchy_.locator.first(100)
    built = time.process_time()
    locator.finest(parts[0])
    labeled = time.process_time()
    return {
        "sketch": float(np.median(sketch_seconds)),
        "merge": (merged - start) / (len(halves[0]) + len(halves[1])),
        "bytes": len(pickle.dumps(whole)) / len(whole),
        "tree": (built - settled) / len(whole),
        "label": (labeled - built) / parts[0].shape[0],
    }


def measure_memory(n: int) -> dict[str, float]:
    """Peak memory of a worker and of the driver: bytes of a process, and bytes a cell.

    Each is a line through three sizes. A worker merges four sketches of equal size, which come
    from different rows; the driver builds the hierarchy of one.
    """
    points: dict[str, list[tuple[int, int]]] = {"worker": [], "driver": []}
    for part_of in PARTS:
        parts = np.array_split(make_rows(Rows(n // part_of)), FAN_IN)
        cap = parts[0].shape[0] // 2
        with tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder) / f"{i}.pickle") for i in range(FAN_IN)]
            cells = [write_sketch(part, cap, file) for part, file in zip(parts, files, strict=True)]
            for role, used in (("worker", FAN_IN), ("driver", 1)):
                peak = json.loads(run_python([str(HERE / "cluster_model.py"), role, *files[:used]]))
                points[role].append((sum(cells[:used]) // used, peak))
    found = {}
    for role, listed in points.items():
        cells_of, peaks = np.array(listed, dtype=np.float64).T
        slope, base = np.polyfit(cells_of, peaks, 1)
        found |= {f"{role} cell": float(slope), f"{role} base": float(base)}
    return found


def write_sketch(rows: np.ndarray, max_cells: int, file: str) -> int:
    """Write the pickled sketch of rows; return its number of cells."""
    from holdfast.rows.log import Cap, CappedSketch

    ones = np.ones(rows.shape[0], dtype=np.int64)
    sketch = CappedSketch.empty(Cap(max_cells, 0), rows.shape[1]).add_rows(rows, ones)
    Path(file).write_bytes(pickle.dumps(sketch))
    return len(sketch)


def extrapolate(
    constants: dict[str, float], rows: float, part: float, workers: int, max_cells: int
) -> dict[str, float]:
    """Bytes moved, seconds and memory of one fit and one predict."""
    partitions = math.ceil(rows / part)
    cells = min(part, max_cells)
    sketches, levels, waiting = 0, 0, partitions
    while waiting > 1:
        sketches += waiting
        waiting = math.ceil(waiting / FAN_IN)
        levels += 1
    moved = sketches * cells * constants["bytes"]
    merging = levels * FAN_IN * cells * (constants["merge"] + constants["bytes"] / BANDWIDTH)
    return {
        "moved": moved,
        "sketch": math.ceil(partitions / workers) * part * constants["sketch"],
        "merge": max(merging, sketches * cells * constants["merge"] / workers),
        "tree": min(rows, max_cells) * constants["tree"],
        "label": math.ceil(partitions / workers) * part * constants["label"],
        "worker": cells * constants["worker cell"] + constants["worker base"],
        "driver": min(rows, max_cells) * constants["driver cell"] + constants["driver base"],
    }


def play_role(role: str, sketches: list[Any]) -> None:
    from holdfast import HierarchicalKMedian
    from holdfast.chunks import Chunk, fit_sketch
    from holdfast.distributed import merge_parts

    if role == "worker":
        like = Chunk("", None, ("float64",), np.empty((1, sketches[0].n_features)))
        merge_parts([(sketch, like) for sketch in sketches])
    else:
        (sketch,) = sketches
        estimator = HierarchicalKMedian(CLUSTERS, method="tree")
        fit_sketch(estimator, sketch, HierarchicalKMedian(CLUSTERS, method="tree"), None)


def measure_role(role: str, files: list[str]) -> None:
    """Print the peak memory of a process with this role; all that it has loaded counts."""
    import distributed  # noqa: F401  # as any process of a cluster does

    from holdfast.rows.log import Cap, CappedSketch

    few = normal(np.random.default_rng(0), (5000, 3))
    small = CappedSketch.empty(Cap(1000, 0), 3).add_rows(few, np.ones(5000, dtype=np.int64))
    play_role(role, [small] * len(files))
    play_role(role, [pickle.loads(Path(file).read_bytes()) for file in files])
    print(json.dumps(read_peak()))


def read_peak() -> int:
    """Largest resident memory so far, in bytes; getrusage would count that of the parent too."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise KeyError("VmHWM")


def main() -> None:
    if sys.argv[1:2] in (["worker"], ["driver"]):
        measure_role(sys.argv[1], sys.argv[2:])
        return
    from holdfast.rows.log import MAX_CELLS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--max-cells", type=int, default=MAX_CELLS)
    options = parser.parse_args()
    constants = measure(options.rows, options.max_cells) | measure_memory(options.rows)
    print(
        f"Time of one core, {options.rows:,} x 3 rows: {constants['sketch'] * 1e6:.2f} µs per row for the "
        f"sketch, {constants['merge'] * 1e6:.2f} µs per cell for a merge, "
        f"{constants['tree'] * 1e6:.2f} µs per cell for the tree, {constants['label'] * 1e6:.2f} µs per "
        f"row for labels. A cell of a sketch has {constants['bytes']:.0f} bytes. Peak memory of a worker: "
        f"{constants['worker base'] / 1e6:.0f} MB, plus {constants['worker cell']:.0f} bytes per cell of "
        f"one sketch. Peak memory of the driver: {constants['driver base'] / 1e6:.0f} MB, plus "
        f"{constants['driver cell']:.0f} bytes per cell.\n"
    )
    print(
        "| rows | partitions | workers | moved | sketch | merge | tree | labels | worker | driver |"
    )
    print("| --- " * 10 + "|")
    for rows, part, workers in CASES:
        found = extrapolate(constants, rows, part, workers, MAX_CELLS)
        print(
            f"| 1e{math.log10(rows):.0f} | {rows / part:,.0f} | {workers:,} | {found['moved'] / 1e9:,.1f} GB "
            f"| {found['sketch']:,.0f} s | {found['merge']:,.0f} s | {found['tree']:,.0f} s "
            f"| {found['label']:,.0f} s | {found['worker'] / 1e9:.1f} GB "
            f"| {found['driver'] / 1e9:.1f} GB |"
        )
    driver = UNCAPPED * constants["driver cell"] + constants["driver base"]
    print(
        f"\nWithout a cap, 1e{math.log10(UNCAPPED):.0f} distinct rows need {driver / 1e9:.0f} GB in the "
        f"driver and {UNCAPPED * constants['tree']:.0f} s for the tree."
    )


if __name__ == "__main__":
    main()
