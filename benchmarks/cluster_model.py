"""What a fit on a Dask cluster costs: constants measured here, and what follows for more rows.

Prints the table of docs/distributed.md. Assumes equal cores and a network of 1 GB/s for each worker.
"""

import argparse
import math
import pickle
import time

import numpy as np
from inputs import Rows, make_rows

FAN_IN = 4
BANDWIDTH = 1e9  # bytes a second into a worker
DRIVER_BYTES = 330.0  # a cell, at the peak of a fit: from one run of the chunks group, by hand
# rows in all, rows of a partition, workers of one core each
CASES = ((1e8, 5e6, 20), (1e9, 1e7, 100), (1e11, 1e8, 1000))


def measure(n: int, max_cells: int) -> dict[str, float]:
    """Seconds of one core for a row and a cell, and bytes of a cell; three columns."""
    from holdfast import HierarchicalKMedian
    from holdfast.grid.capped import Cap, CappedSketch

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
    model = HierarchicalKMedian(100).fit(rows[:5000], sample_weight=weight[:5000])
    settled = time.process_time()
    locator = model.fit(rows, sample_weight=weight).hierarchy_.locator.first(100)
    built = time.process_time()
    locator.finest(parts[0])
    labelled = time.process_time()
    return {
        "sketch": float(np.median(sketch_seconds)),
        "merge": (merged - start) / (len(halves[0]) + len(halves[1])),
        "bytes": len(pickle.dumps(whole)) / len(whole),
        "tree": (built - settled) / len(whole),
        "label": (labelled - built) / parts[0].shape[0],
    }


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
        "worker": (FAN_IN + 2) * cells * constants["bytes"] + 0.4e9,
        "driver": min(rows, max_cells) * DRIVER_BYTES + 0.3e9,
    }


def main() -> None:
    from holdfast.grid.capped import MAX_CELLS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--max-cells", type=int, default=MAX_CELLS)
    options = parser.parse_args()
    constants = measure(options.rows, options.max_cells)
    print(
        f"sketch {constants['sketch'] * 1e6:.2f} us a row, merge {constants['merge'] * 1e6:.2f} us "
        f"and {constants['bytes']:.0f} bytes a cell, tree {constants['tree'] * 1e6:.2f} us a cell, "
        f"labels {constants['label'] * 1e6:.2f} us a row\n"
    )
    print(
        "| rows | partitions | workers | moved | sketch | merge | tree | labels | worker | driver |"
    )
    print("| --- " * 10 + "|")
    for rows, part, workers in CASES:
        found = extrapolate(constants, rows, part, workers, MAX_CELLS)
        print(
            f"| {rows:.0e} | {rows / part:,.0f} | {workers:,} | {found['moved'] / 1e9:,.1f} GB "
            f"| {found['sketch']:,.0f} s | {found['merge']:,.0f} s | {found['tree']:,.0f} s "
            f"| {found['label']:,.0f} s | {found['worker'] / 1e9:.1f} GB "
            f"| {found['driver'] / 1e9:.1f} GB |"
        )


if __name__ == "__main__":
    main()
