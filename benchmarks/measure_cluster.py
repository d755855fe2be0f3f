"""Peak memory of one process of a cluster: ``python measure_cluster.py ROLE FILE...`` prints JSON.

The files are pickled sketches. A worker merges them, as one task does; the driver builds the
hierarchy of the only one. Everything that the process has loaded counts. Linux only.
"""

import json
import pickle
import sys
from pathlib import Path

import distributed  # noqa: F401  # as any process of a cluster does
import numpy as np

from holdfast import HierarchicalKMedian
from holdfast.chunks.fit import fit_sketch
from holdfast.distributed.fit import PartSketch, merge_parts
from holdfast.rows.capped import Cap, CappedSketch
from holdfast.tables.chunks import Chunk

CLUSTERS = 100


def run(role: str, sketches: list[CappedSketch]) -> None:
    if role == "worker":
        like = Chunk("", None, ("float64",), np.empty((1, sketches[0].n_features)))
        merge_parts([PartSketch(like, sketch) for sketch in sketches])
    else:
        (sketch,) = sketches
        estimator = HierarchicalKMedian(CLUSTERS, method="tree")
        fit_sketch(estimator, sketch, HierarchicalKMedian(CLUSTERS, method="tree"), None)


def main() -> None:
    role, *files = sys.argv[1:]
    few = np.random.default_rng(0).standard_normal((5000, 3))
    small = CappedSketch.empty(Cap(1000, 0), 3).add_rows(few, np.ones(5000, dtype=np.int64))
    run(role, [small] * len(files))
    run(role, [pickle.loads(Path(file).read_bytes()) for file in files])
    print(json.dumps(read_peak()))


def read_peak() -> int:
    """Largest resident memory so far, in bytes; getrusage would count that of the parent too."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise KeyError("VmHWM")


if __name__ == "__main__":
    main()
