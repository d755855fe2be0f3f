"""Where the time of some work goes: ``python benchmarks/stages.py greedy`` prints its parts.

Work: ``whole`` (every k, epsilon 1), ``greedy`` (every k, epsilon 0), ``hundred`` (100 centers),
``update`` (1,000 rows removed, then ``cut(100)`` of 100 centers), all by the tree on 1,000,000 x 3;
``means`` (1,000,000 x 10, 100 centers). Seconds by function, without those of the functions it calls,
from Python's profiler: processor time of the main thread, which does its part of the work of all
threads. The least of some runs counts. ``first`` is the first fit of a process, of means and 1,000 x 3;
its parts are the imports, loading cached kernels, and the rest. Without a name: all of these.
"""

import cProfile
import pstats
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 5
LISTED = 9
WORK = ("whole", "greedy", "hundred", "update", "means", "first")


def profile_run(run: Callable[[], Any]) -> dict[str, float]:
    """Seconds in each function, and in all."""
    profiler = cProfile.Profile(time.thread_time)
    profiler.enable()
    run()
    profiler.disable()
    found: dict[str, float] = {}
    stats: Any = pstats.Stats(profiler)
    for (path, _, name), (_, _, seconds, _, _) in stats.stats.items():
        place = Path(path)
        where = f"{place.parent.name}/{place.stem}."
        part = f"`{where}{name}`"
        if path == "~":  # compiled code, such as <method 'take' of 'numpy.ndarray' objects>
            part = "`" + re.sub(r"<|>|built-in |method |'| of .*", "", name) + "`"
        found[part] = found.get(part, 0.0) + seconds
    return {**found, "all": sum(found.values())}


def time_first() -> dict[str, float]:
    """Processor time of the parts of the first fit of this process, and how many kernels it loads."""
    rows, loads = np.random.default_rng(0).random((1_000, 3)), list[float]()
    start = time.process_time()
    from holdfast._machine import jit

    load = jit._load

    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        try:
            return load(*arguments)
        finally:
            loads.append(time.process_time() - began)

    jit._load = timed
    from holdfast import HierarchicalKMedian

    imported = time.process_time()
    HierarchicalKMedian(8).fit(rows)
    first = time.process_time()
    HierarchicalKMedian(8).fit(rows)
    second = time.process_time() - first
    return {
        "import HierarchicalKMedian": imported - start,
        f"load {len(loads)} kernels": sum(loads),
        "the rest of the first fit": first - imported - sum(loads),
        "the second fit": second,
        "all": first - start,
    }


def plan_work(name: str) -> Callable[[], Callable[[], Any]]:
    """Return what prepares a run and returns it."""
    from inputs import Rows, make_rows  # imports much of holdfast

    from holdfast import HierarchicalKMedian

    rows = make_rows(Rows(1_000_000, 10 if name == "means" else 3))
    options: dict[str, dict[str, Any]] = {
        "whole": {"method": "tree", "epsilon": 1.0},
        "greedy": {"method": "tree", "epsilon": 0.0},
        "hundred": {"method": "tree", "max_centers": 100},
        "update": {"method": "tree", "max_centers": 100},
        "means": {"method": "means", "max_centers": 100},
    }
    model = HierarchicalKMedian(8, **options[name]).fit(rows)
    if name != "update":
        return lambda: lambda: HierarchicalKMedian(8, **options[name]).fit(rows)
    model.forget(rows[:1000]).hierarchy_.cut(100)
    starts = iter(range(1000, rows.shape[0], 1000))

    def prepare() -> Callable[[], Any]:
        start = next(starts)
        return lambda: model.forget(rows[start : start + 1000]).hierarchy_.cut(100)

    return prepare


def list_parts(name: str) -> list[str]:
    """Rows of a table: the largest parts of a piece of work."""
    if name == "first":
        import numba  # noqa: F401  # what an application has imported anyway
        import sklearn  # noqa: F401

        runs = [time_first()]
    else:
        prepare = plan_work(name)
        runs = [profile_run(prepare()) for _ in range(RUNS)]
    least = {part: min(run.get(part, 0.0) for run in runs) for part in runs[0]}
    listed = sorted(least.items(), key=lambda item: -item[1])[:LISTED]
    return [
        f"| `{name}` | {part} | {1e3 * seconds:.0f} ms | {seconds / least['all']:.0%} |"
        for part, seconds in listed
    ]


def main() -> None:
    names = sys.argv[1:]
    if not set(names) <= set(WORK):
        sys.exit(__doc__)
    if len(names) == 1:
        print("\n".join(list_parts(names[0])))
        return
    print("| work | part | time | of all |\n| --- | --- | ---: | ---: |")
    for name in names or WORK:
        # Each in a process of its own, which has loaded nothing before.
        run = subprocess.run(
            [sys.executable, __file__, name], stdout=subprocess.PIPE, text=True, check=True
        )
        print(run.stdout, end="")


if __name__ == "__main__":
    main()
