"""Memory that a fit needs beyond its input."""

from inputs import Rows, scale_size
from table import Row
from tasks import Fit, Group, Results, Settings

MILLION = 1e6


def plan(settings: Settings) -> list[Fit]:
    rows = Rows(scale_size(MILLION, settings.scale))
    return [Fit("holdfast", rows, (("epsilon", 1.0), ("n_clusters", 8)), "memory")]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    (task,) = plan(settings)
    how = "growth of the resident set, the kernel's peak reset before the fit"
    if results.best(task, "reset") == 0:
        how = "growth of the peak resident set of the process (it cannot be reset here)"
    # The largest of all repeats: no luck of the allocator may hide a peak.
    peak = results.worst(task, "peak") / task.rows.n
    what = f"{task.rows.title}, whole hierarchy: memory beyond the input"
    rows = [Row(what, peak, unit="B/row", limit=250.0, note=how)]
    if results.has(task, "kept"):
        kept = results.worst(task, "kept") / task.rows.n
        rows.append(Row("kept after the fit, labels included", kept, unit="B/row"))
    return rows


GROUP = Group("memory", "memory beyond the input", plan, list_rows)
