"""Follow 52 weeks, from wherever the lineage ends: ``python follow_a_year.py FOLDER``.

Prints the bytes that objects and arrays take after 15 weeks and at the end, if no week was followed
before. Unlike the memory of the process, they do not depend on when the allocator returns memory or
on how threads share the work. Only what was created from week 5 on counts.
"""

import gc
import sys
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lineage.weeks import make_weeks

from holdfast import HierarchicalKMedian, Lineage

N_WEEKS, N_ROWS, LEVELS = 52, 3000, (3, 6)
TRACED, WARM = 4, 14


def main() -> None:
    lineage = Lineage(sys.argv[1])
    start = len(lineage)
    model = lineage[-1].model() if start else None
    used = []
    for week, (ids, rows) in enumerate(make_weeks(N_WEEKS, N_ROWS)):
        if week < start:
            continue
        if week == TRACED:
            tracemalloc.start()
        if model is None:
            model = HierarchicalKMedian(6, max_centers=6).fit(rows, ids=ids)
        else:
            model = model.follow(rows, ids=ids, levels=LEVELS, budget=0.05)
        levels = LEVELS if week == 0 else None
        lineage.append(model, label=f"week {week}", time="2026-01-01T00:00:00Z", levels=levels)
        if tracemalloc.is_tracing() and week in (WARM, N_WEEKS - 1):
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0])
    print(*used)


if __name__ == "__main__":
    main()
