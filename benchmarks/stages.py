"""Where the time of one piece of work goes: ``python benchmarks/stages.py greedy`` prints its parts.

Work: ``whole`` (every k, epsilon 1), ``greedy`` (every k, epsilon 0), ``hundred`` (100 centers),
``update`` (1,000 rows removed, then ``cut(100)`` of 100 centers), all by the tree on 1,000,000 x 3;
``means`` (1,000,000 x 10, 100 centers); ``first`` (the first fit of a process, 1,000 x 3, means).
Seconds by function, without those of the functions it calls, from Python's profiler: it sees the main
thread, which does its part of the work and then waits for the others. The least of some runs counts.
"""

import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inputs import Rows, make_rows

RUNS = 5
LISTED = 16


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
        where = f"{place.parent.name}/{place.stem}." if path not in ("~", "") else ""
        found[f"{where}{name}"] = found.get(f"{where}{name}", 0.0) + seconds
    return {**found, "all": sum(found.values())}


def plan_work(name: str) -> Callable[[], Callable[[], Any]]:
    """Return what prepares a run and returns it."""
    from holdfast import HierarchicalKMedian

    if name == "first":
        few = make_rows(Rows(1_000))
        return lambda: lambda: HierarchicalKMedian(8).fit(few)
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


def main() -> None:
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in ("whole", "greedy", "hundred", "update", "means", "first"):
        sys.exit(__doc__)
    prepare = plan_work(name)
    runs = [profile_run(prepare()) for _ in range(1 if name == "first" else RUNS)]
    least = {part: min(run.get(part, 0.0) for run in runs) for part in runs[0]}
    for part, seconds in sorted(least.items(), key=lambda item: -item[1])[:LISTED]:
        print(f"{seconds:8.4f} s  {seconds / least['all']:6.1%}  {part}")


if __name__ == "__main__":
    main()
