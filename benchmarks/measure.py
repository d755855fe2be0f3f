"""One measurement, in a process of its own: ``python measure.py JSON`` prints JSON.

Input: clusterer, rows, options and the quantity to measure: ``seconds``, ``memory`` or ``first``.
The clusterer is warmed up on few rows of the same kind, so that compilation and imports are not
counted; but not for ``first``, where only the import of its package comes before the first run.
"""

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterers import CLUSTERERS
from inputs import Rows, make_rows

WARM_UP_ROWS = 20_000
# A naive loop over as many rows as that would never end; its cost has nothing to warm up.
WARM_UP_ROWS_NAIVE = 20
# Runs are repeated up to this many seconds, at least twice unless one is very long, and the best
# counts: the first also pays for memory that the process has not had before. On a virtual machine
# that may take longer than the work, for reasons that have nothing to do with the clusterer.
LONG_ENOUGH = 0.3
VERY_LONG = 10.0

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def measure_seconds(run: Callable[[], Any]) -> dict[str, float]:
    """Return the least time of a run, that of the first, and how many there were."""
    seconds: list[float] = []
    gc.collect()
    while sum(seconds) < (LONG_ENOUGH if len(seconds) > 1 else VERY_LONG):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
        del result
    return {"seconds": min(seconds), "first": seconds[0], "runs": len(seconds)}


def measure_memory(run: Callable[[], Any]) -> dict[str, float]:
    """Return the growth in bytes of resident memory during a run: its peak, and what is kept.

    What is freed, but still resident because the allocator has not returned it, is counted apart:
    it depends on the order of allocations and serves the next run.

    Where the kernel can reset the peak (Linux) it is exact. Elsewhere the peak of the process so
    far is the base; rows are made in place, so that it is hardly above what is in use.
    """
    gc.collect()
    _return_freed_memory()
    if _reset_peak():
        before = _read_status("VmRSS")
        result = run()
        peak, after = _read_status("VmHWM"), _read_status("VmRSS")
        gc.collect()
        _return_freed_memory()
        held = _read_status("VmRSS")
        del result
        return {
            "peak": peak - before, "kept": held - before, "freed": after - held, "reset": 1
        }  # fmt: skip
    before = _peak_of_process()
    result = run()
    peak = _peak_of_process()
    del result
    return {"peak": peak - before, "reset": 0}


def _return_freed_memory() -> None:
    """Hand memory that is free but still resident back, or the run could use it unnoticed."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass  # not glibc


def _reset_peak() -> bool:
    try:
        _CLEAR_REFS.write_text("5")
        return _read_status("VmHWM") < 1.02 * _read_status("VmRSS")
    except (OSError, KeyError):
        return False


def _read_status(name: str) -> int:
    """Return a field of /proc/self/status, in bytes."""
    lines = (line.split() for line in _STATUS.read_text().splitlines())
    fields = {words[0].rstrip(":"): words[1:] for words in lines if words}
    return int(fields[name][0]) * 1024


def _peak_of_process() -> int:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


MEASURES = {"seconds": measure_seconds, "first": measure_seconds, "memory": measure_memory}


def main() -> None:
    task = json.loads(sys.argv[1])
    clusterer, options = CLUSTERERS[task["clusterer"]], task["options"]
    rows = Rows(**task["rows"])
    few = WARM_UP_ROWS_NAIVE if task["clusterer"] == "naive" else WARM_UP_ROWS
    prepare = clusterer.prepare or (lambda X, **options: X)
    if task["quantity"] == "first":
        clusterer.load()
    else:
        clusterer.run(prepare(make_rows(replace(rows, n=min(rows.n, few))), **options), **options)
    prepared = prepare(make_rows(rows), **options)
    print(json.dumps(MEASURES[task["quantity"]](lambda: clusterer.run(prepared, **options))))


if __name__ == "__main__":
    main()
